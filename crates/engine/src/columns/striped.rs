//! Columns of vertices, in memory or on storage, that schedules use alike.
//!
//! A schedule takes a column apart by stripe. A worker opens the [part](ColumnPart) of a stripe
//! with its [`PartIo`], changes it, and puts it back: in memory nothing is moved by that, and on
//! storage it is read ahead, verified, and written behind.
//!
//! Invariant: a part in memory is open all along; one on storage has no bytes while it is closed.
//! Checked in `PartIo::open`. Tested by `every_task_gives_the_same_bits_as_in_memory`.

use std::ops::{Deref, DerefMut, Range};

use bytemuck::{Pod, cast_slice_mut};

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::storage::Storage;

/// A column of all vertices, as bytes.
pub(crate) enum StripedColumn {
    Memory {
        bytes: Buffer<u8>,
        /// Bytes of a vertex.
        width: usize,
    },
    Storage(StoredColumn),
}

impl StripedColumn {
    /// A column with `width` bytes a vertex: on storage, where one is given, or else in memory.
    /// The initial bytes are arbitrary.
    pub(crate) fn new(
        graph: &Graph,
        storage: Option<&Storage>,
        width: usize,
    ) -> Result<Self, EngineError> {
        if let Some(storage) = storage {
            return Ok(Self::Storage(graph.column(storage, width)?));
        }
        let bytes = Buffer::used(graph.vertices() as usize * width, &graph.arena)?;
        Ok(Self::Memory { bytes, width })
    }

    /// A column of no vertex.
    pub(crate) fn empty(width: usize) -> Result<Self, EngineError> {
        Ok(Self::Memory { bytes: Buffer::zeroed(0)?, width })
    }

    /// Whether it is on storage.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Self::Storage(_))
    }

    /// The values that are in memory: all, or none.
    pub(crate) fn elements_mut<V: Pod>(&mut self) -> &mut [V] {
        match self {
            Self::Memory { bytes, .. } => cast_slice_mut(bytes),
            // Bytes of none need not be where such values may begin.
            Self::Storage(_) => &mut [],
        }
    }

    /// All bytes, read into memory where they are on storage.
    pub(crate) fn into_memory(self) -> Result<Buffer<u8>, EngineError> {
        match self {
            Self::Memory { bytes, .. } => Ok(bytes),
            Self::Storage(stored) => stored.whole(),
        }
    }

    /// The parts of all stripes, in their order, and where they are opened.
    pub(crate) fn parts<'a>(
        &'a mut self,
        graph: &'a Graph,
    ) -> (impl Iterator<Item = ColumnPart<'a>>, ColumnPlace<'a>) {
        let (mut column, width, place) = match self {
            Self::Memory { bytes, width } => (Some(Slices(&mut bytes[..])), *width, None),
            Self::Storage(stored) => (None, 0, Some(&*stored)),
        };
        let parts = graph.stripes.iter().enumerate().map(move |(stripe, own)| {
            let bytes = match &mut column {
                Some(column) => PartBytes::Memory(column.take(own.width() * width)),
                None => PartBytes::Closed,
            };
            ColumnPart { stripe, bytes }
        });
        (parts, ColumnPlace(place))
    }

    /// A writer that sets the column, in any order and more than once.
    pub(crate) fn writer(&mut self) -> Result<ColumnWriter<'_>, EngineError> {
        match self {
            Self::Memory { bytes, width } => Ok(ColumnWriter::Memory(bytes, *width)),
            Self::Storage(stored) => ColumnWriter::stored(stored),
        }
    }
}

/// Where the parts of a column are opened.
#[derive(Clone, Copy)]
pub(crate) struct ColumnPlace<'a>(Option<&'a StoredColumn>);

impl<'a> ColumnPlace<'a> {
    /// A worker's way to the parts.
    pub(crate) fn io(self) -> Result<PartIo<'a>, EngineError> {
        Ok(PartIo(self.0.map(ColumnIo::new).transpose()?))
    }
}

/// The part of a column that belongs to a stripe: its bytes, once it is open. Those of the stripe
/// come first; a buffer may have more.
pub(crate) struct ColumnPart<'a> {
    stripe: usize,
    bytes: PartBytes<'a>,
}

enum PartBytes<'a> {
    Memory(&'a mut [u8]),
    Buffer(Buffer<u8>),
    Closed,
}

impl Deref for ColumnPart<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            PartBytes::Memory(bytes) => bytes,
            PartBytes::Buffer(bytes) => bytes,
            PartBytes::Closed => &[],
        }
    }
}

impl DerefMut for ColumnPart<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.bytes {
            PartBytes::Memory(bytes) => bytes,
            PartBytes::Buffer(bytes) => bytes,
            PartBytes::Closed => &mut [],
        }
    }
}

/// One worker's way to the parts of a column.
pub(crate) struct PartIo<'a>(Option<ColumnIo<'a, u8>>);

impl PartIo<'_> {
    /// Begins to read a part, which is opened next.
    pub(crate) fn fetch(&mut self, part: &ColumnPart<'_>) -> Result<(), EngineError> {
        match (&mut self.0, &part.bytes) {
            (Some(io), PartBytes::Closed) => io.fetch(part.stripe),
            _ => Ok(()),
        }
    }

    /// Opens the part that was fetched last, unless that was done.
    pub(crate) fn open(&mut self, part: &mut ColumnPart<'_>) -> Result<(), EngineError> {
        if let (Some(io), PartBytes::Closed) = (&mut self.0, &part.bytes) {
            part.bytes = PartBytes::Buffer(io.take(part.stripe)?);
        }
        Ok(())
    }

    /// Opens a part without reading it. Its bytes are anything.
    pub(crate) fn open_blank(&mut self, part: &mut ColumnPart<'_>) -> Result<(), EngineError> {
        if let (Some(io), PartBytes::Closed) = (&mut self.0, &part.bytes) {
            part.bytes = PartBytes::Buffer(io.blank()?);
        }
        Ok(())
    }

    /// Puts back a part, which is written some time before [`Self::finish`] returns.
    pub(crate) fn put(&mut self, part: ColumnPart<'_>) -> Result<(), EngineError> {
        match (&mut self.0, part.bytes) {
            (Some(io), PartBytes::Buffer(bytes)) => io.put(part.stripe, bytes),
            _ => Ok(()),
        }
    }

    /// Waits until all is written.
    pub(crate) fn finish(&mut self) -> Result<(), EngineError> {
        self.0.as_mut().map_or(Ok(()), ColumnIo::finish)
    }
}

/// A column that is set, stripe by stripe.
pub(crate) enum ColumnWriter<'a> {
    /// Bytes, and how many of them a vertex has.
    Memory(&'a mut [u8], usize),
    Storage(ColumnIo<'a, u8>, usize),
}

impl<'a> ColumnWriter<'a> {
    /// A writer of a column on storage.
    pub(crate) fn stored(stored: &'a StoredColumn) -> Result<Self, EngineError> {
        Ok(Self::Storage(ColumnIo::new(stored)?, stored.elements::<u8>()))
    }

    /// Sets the bytes of a stripe, of which these are the vertices, to what `fill` makes them.
    pub(crate) fn set(
        &mut self,
        (stripe, vertices): (usize, &Range<u64>),
        fill: impl FnOnce(&mut [u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let place = |width| vertices.start as usize * width..vertices.end as usize * width;
        match self {
            Self::Memory(bytes, width) => fill(&mut bytes[place(*width)]),
            Self::Storage(io, width) => {
                let mut column = io.blank()?;
                fill(&mut column[..place(*width).len()])?;
                io.put(stripe, column)
            }
        }
    }

    /// Waits until all is where it belongs.
    pub(crate) fn finish(&mut self) -> Result<(), EngineError> {
        match self {
            Self::Memory(..) => Ok(()),
            Self::Storage(io, _) => io.finish(),
        }
    }
}
