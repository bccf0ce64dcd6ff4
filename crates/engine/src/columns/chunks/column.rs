//! A column of bytes that elements of any kernel may lie in, as long as it has to be.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};

use super::ALIGN;
use crate::machine::advice::prefer_huge_pages;

/// A cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

const LINE_BYTES: usize = 64;

const _: () = assert!(align_of::<Line>().is_multiple_of(ALIGN));

/// Bytes that begin at a cache line.
///
/// ```
/// use welter_engine::chunks::Column;
///
/// let mut column = Column::default();
/// column.extend(&7_u64.to_ne_bytes());
/// column.extend(&[0; 8]);
/// assert_eq!((column.len(), column.as_ptr().addr() % 64), (16, 0));
/// column.resize(8);
/// assert_eq!(*column, 7_u64.to_ne_bytes());
/// ```
#[derive(Clone, Default)]
pub struct Column {
    /// As many as it ever had: what lies behind the length waits to be written over.
    lines: Vec<Line>,
    length: usize,
}

impl Column {
    /// A column of `length` zeros.
    pub fn zeroed(length: usize) -> Self {
        Self { lines: bytemuck::zeroed_vec(length.div_ceil(LINE_BYTES)), length }
    }

    /// Leaves out all bytes.
    pub fn clear(&mut self) {
        self.resize(0);
    }

    /// Makes it `length` bytes long: with bytes less, or with zeros more.
    pub fn resize(&mut self, length: usize) {
        let kept = length.min(self.length);
        self.set_length(length);
        self[kept..].fill(0);
    }

    /// Appends bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        let (start, end) = (self.length, self.length + bytes.len());
        self.set_length(end);
        self[start..].copy_from_slice(bytes);
    }

    /// Makes it `length` bytes long. Bytes more may be anything that was here before, or zeros: for
    /// callers that write all of them.
    #[inline]
    pub fn set_length(&mut self, length: usize) {
        let lines = length.div_ceil(LINE_BYTES);
        if lines > self.lines.len() {
            self.grow(lines);
        }
        self.length = length;
    }

    /// Has `lines` lines, in memory of its own that may be huge pages.
    fn grow(&mut self, lines: usize) {
        if lines > self.lines.capacity() {
            self.lines.reserve(lines - self.lines.len());
            prefer_huge_pages(self.lines.spare_capacity_mut());
        }
        self.lines.resize(lines, Line::zeroed());
    }
}

impl Deref for Column {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &cast_slice(&self.lines)[..self.length]
    }
}

impl DerefMut for Column {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut cast_slice_mut(&mut self.lines)[..self.length]
    }
}

impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({} bytes)", self.length)
    }
}
