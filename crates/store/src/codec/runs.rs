//! Runs of short keys that have their highest byte in common, and where a decoder is in them.

use crate::encoding::{
    SHORT_BYTES as BYTES, SHORT_HEAD_BYTES as HEAD_BYTES, SHORT_LOW_BITS as LOW_BITS,
};

/// The rest of a tile of short keys.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    /// Heads of the runs that have not begun.
    heads: &'a [u8],
    /// Low bytes of keys that are still to come.
    data: &'a [u8],
    /// Keys that are still to come, and those of the open run.
    left: usize,
    run: usize,
    /// Highest byte of the open run, in its place.
    high: u32,
}

impl<'a> Runs<'a> {
    /// A decoder of `count` keys, the tile of which is at the front of `bytes`.
    pub(super) fn new(bytes: &'a [u8], count: usize) -> Self {
        let (runs, rest) = match bytes.split_first_chunk::<HEAD_BYTES>() {
            Some((head, rest)) => (u32::from_le_bytes(*head) as usize, rest),
            None => (0, &[][..]),
        };
        let (heads, data) = rest.split_at(runs.saturating_mul(BYTES).min(rest.len()));
        Self { heads, data, left: count, run: 0, high: 0 }
    }

    /// Leaves out some keys, and says how many.
    pub(super) fn skip(&mut self, keys: usize) -> usize {
        let keys = keys.min(self.left);
        let mut before = keys;
        while before > 0 {
            let part = self.open().min(before);
            self.run -= part;
            before -= part;
        }
        self.data = self.data.get(BYTES * keys..).unwrap_or_default();
        self.left -= keys;
        keys
    }

    /// Keys of the open run, or of the next one where that has ended. Those behind the last run, of
    /// which there are none in a tile that was not damaged, have a highest byte of zero.
    #[inline(always)]
    fn open(&mut self) -> usize {
        if self.run == 0 {
            (self.high, self.run) = (0, usize::MAX);
            if let Some(([high, low, more], rest)) = self.heads.split_first_chunk::<BYTES>() {
                self.high = u32::from(*high) << LOW_BITS;
                self.run = usize::from(u16::from_le_bytes([*low, *more])) + 1;
                self.heads = rest;
            }
        }
        self.run
    }

    /// The room for keys that are still there, which are then taken for decoded.
    #[inline(always)]
    pub(super) fn front<'o>(&mut self, out: &'o mut [u32]) -> &'o mut [u32] {
        let count = self.left.min(out.len());
        self.left -= count;
        &mut out[..count]
    }

    /// Fills all of `out`, whose keys are there. `spread` writes some of the first keys of a run,
    /// given the low bytes from the first one on, the byte above, room for more keys than the run
    /// has, and how many it has, and says how many it wrote; the room behind the run is its own.
    #[inline(always)]
    pub(super) fn fill_by(
        &mut self,
        mut out: &mut [u32],
        spread: impl Fn(&[u8], u32, &mut [u32], usize) -> usize,
    ) {
        while !out.is_empty() {
            let run = self.open().min(out.len());
            let done = spread(self.data, self.high, out, run);
            for (place, out) in out.iter_mut().enumerate().take(run).skip(done) {
                *out = self.high | low(self.data, place);
            }
            self.data = self.data.get(BYTES * run..).unwrap_or_default();
            self.run -= run;
            out = &mut out[run..];
        }
    }
}

/// The low bytes of a key; those that are missing are zero.
fn low(data: &[u8], place: usize) -> u32 {
    let byte = |at: usize| data.get(BYTES * place + at).copied().unwrap_or(0);
    u32::from_le_bytes([byte(0), byte(1), byte(2), 0])
}
