//! Where bytes lie in a volume.

/// Offsets of places, addresses of memory and lengths of requests are multiples of this many bytes.
///
/// No common device asks for more. A file system that does is used through the page cache, because
/// then a volume that was written here can still be read there.
pub const ALIGN: usize = 4096;

/// Where bytes lie in a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Number of the file in the volume.
    pub file: u16,
    /// Where they begin; a multiple of [`ALIGN`].
    pub offset: u64,
    /// Bytes that were asked for. Requests move this rounded up to a multiple of [`ALIGN`].
    pub bytes: u32,
}

impl Place {
    /// Bytes that a request for this place moves, and that its memory must have.
    pub fn rounded_bytes(&self) -> usize {
        (self.bytes as usize).next_multiple_of(ALIGN)
    }
}
