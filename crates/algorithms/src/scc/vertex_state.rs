//! The state of a vertex while strong components are found by passes.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use bytemuck::Zeroable;

/// Part of vertices whose component is known.
pub(super) const DECIDED: u32 = u32::MAX;

/// State of a vertex.
#[derive(Zeroable)]
#[repr(C)]
pub struct VertexState {
    /// Part of the vertex, or [`DECIDED`]; at the end, of the vertices that components are known
    /// by, the smallest of their component.
    pub(super) part: AtomicU32,
    /// Decided: the vertex that its component is known by. While trimming: `LEAVES` and
    /// `ENTERS`, and above these its degree. While the pivot reaches: `FORTH` and `BACK`.
    /// While colouring: a colour. While reaching back: `REACHED` or `OTHER`.
    pub(super) colour: AtomicU32,
}

impl VertexState {
    #[inline]
    pub(super) fn is_decided(&self) -> bool {
        self.part.load(Relaxed) == DECIDED
    }

    /// Decides that the vertex is of the component that is known by another, or by itself.
    #[inline]
    pub(super) fn decide(&self, component: u32) {
        self.part.store(DECIDED, Relaxed);
        self.colour.store(component, Relaxed);
    }

    /// Sets a mark, and says whether it is new.
    #[inline]
    pub(super) fn mark(&self, bit: u32) -> bool {
        let is_new = self.colour.load(Relaxed) & bit == 0;
        if is_new {
            self.colour.fetch_or(bit, Relaxed);
        }
        is_new
    }
}
