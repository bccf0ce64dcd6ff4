//! Encodings of keys, and the bytes that they take.

/// Width of the local key of an edge in a tile.
pub const KEY_BITS: u32 = 32;
/// Bits that short keys are written with for each.
pub const SHORT_LOW_BITS: u32 = 24;
/// Bytes of the low bits of a short key, and of a run of them.
pub const SHORT_BYTES: usize = 3;
/// Bytes of the number of runs in a tile of short keys.
pub const SHORT_HEAD_BYTES: usize = 4;
/// Bytes of a pair of source and destination.
pub const PAIR_BYTES: usize = 8;

/// Encoding of the keys of a chunk's tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// Keys as they are, a `u32` an edge.
    Packed = 0,
    /// Differences of the ascending keys, in stream-vbyte.
    Compressed = 1,
    /// Three bytes an edge, and the byte above them once for many.
    Short = 2,
    /// Source and destination apart, a `u32` each, as raw edge lists have them.
    Pairs = 3,
}

impl Encoding {
    /// List of all encodings.
    pub const ALL: [Self; 4] = [Self::Packed, Self::Short, Self::Compressed, Self::Pairs];

    /// The encoding that is written as this number.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Packed),
            1 => Some(Self::Compressed),
            2 => Some(Self::Short),
            3 => Some(Self::Pairs),
            _ => None,
        }
    }

    /// Whether edges of one source must be in the order of their destinations, which take the low
    /// `target_bits` of a key: so that keys ascend, or that what a run of them has in common does.
    pub fn needs_targets_sorted(self, target_bits: u32) -> bool {
        match self {
            Self::Packed | Self::Pairs => false,
            Self::Compressed => true,
            Self::Short => target_bits > SHORT_LOW_BITS,
        }
    }

    /// The most bytes that `keys` keys take, which ascend but for their destinations.
    pub fn bytes_most(self, keys: usize) -> usize {
        match self {
            Self::Packed => 4 * keys,
            // All differences together are below 2^32, so fewer than 256 take four bytes.
            Self::Compressed => keys.div_ceil(4) + 3 * keys + keys.min(1 << 8),
            Self::Short => {
                let runs = keys.min(1 << (KEY_BITS - SHORT_LOW_BITS)) + (keys >> 16);
                SHORT_HEAD_BYTES + SHORT_BYTES * (keys + runs)
            }
            Self::Pairs => PAIR_BYTES * keys,
        }
    }

    /// The fewest bytes that `keys` keys take.
    pub fn bytes_least(self, keys: usize) -> usize {
        match self {
            Self::Packed => 4 * keys,
            Self::Compressed => keys + keys.div_ceil(4),
            Self::Short => SHORT_HEAD_BYTES + SHORT_BYTES * (keys + keys.min(1)),
            Self::Pairs => PAIR_BYTES * keys,
        }
    }
}
