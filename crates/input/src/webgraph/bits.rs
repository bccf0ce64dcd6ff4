//! A stream of bits, highest bit of a byte first, and the codes for numbers in it.
//!
//! ```text
//! unary   n zeros and a one
//! γ       of n + 1: its number of bits after the first in unary, then these bits
//! δ       the same, but the number of bits in γ
//! ζ(k)    of n + 1: in how many steps of k bits it begins in unary, then its place in that step
//! nibble  groups of a bit, which says whether the group is the last, and three bits of n
//! ```

use crate::documents::bytes::Fill;
use crate::error::InputError;

/// Code of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Unary,
    Gamma,
    Delta,
    /// With this number of bits a step, from 1 to 16.
    Zeta(u32),
    Nibble,
}

impl Code {
    /// The code of a name; `k` is for ζ where the name does not say it.
    pub(super) fn by_name(name: &str, k: u32) -> Option<Self> {
        Some(match name {
            "UNARY" => Self::Unary,
            "GAMMA" => Self::Gamma,
            "DELTA" => Self::Delta,
            "ZETA" => Self::Zeta(k),
            "NIBBLE" => Self::Nibble,
            _ => {
                let k = name.strip_prefix("ZETA")?.parse().ok()?;
                (1..=16).contains(&k).then_some(Self::Zeta(k))?
            }
        })
    }
}

/// Reason why bits are no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The file ends.
    Cut,
    /// The file cannot be read; [`Bits::take_failure`] knows why.
    Unread,
    /// A list is longer than the memory that the run may take.
    Budget,
    /// Content that was expected.
    Wrong(&'static str),
}

const BUFFER_BYTES: usize = 64 << 10;

/// The most bits that are read as one number.
const NUMBER_BITS_MAX: u64 = 62;

/// The bits of a file.
pub(super) struct Bits<'a> {
    fill: Fill<'a>,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// The next bits, the first one highest; below them zeros.
    word: u64,
    /// Number of bits in `word`.
    held: u32,
    /// Bytes taken into words.
    taken: u64,
    failure: Option<InputError>,
}

impl<'a> Bits<'a> {
    /// The bits of the bytes that `fill` gives.
    pub(super) fn new(fill: Fill<'a>) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        Self { fill, buffer, at: 0, filled: 0, word: 0, held: 0, taken: 0, failure: None }
    }

    /// The bits of bytes in memory.
    pub(super) fn of_slice(mut slice: &'a [u8]) -> Self {
        Self::new(Box::new(move |buffer: &mut [u8]| {
            let count = slice.len().min(buffer.len());
            buffer[..count].copy_from_slice(&slice[..count]);
            slice = &slice[count..];
            Ok(count)
        }))
    }

    /// The byte that the next bit is in.
    pub(super) fn offset(&self) -> u64 {
        self.taken - u64::from(self.held.div_ceil(8))
    }

    /// Reason why the file could not be read.
    pub(super) fn take_failure(&mut self) -> Option<InputError> {
        self.failure.take()
    }

    /// Takes bytes until there is no room for another, or no byte.
    fn refill(&mut self) -> Result<(), Fault> {
        while self.held <= 56 {
            if self.at == self.filled {
                self.at = 0;
                self.filled = (self.fill)(&mut self.buffer).map_err(|failure| {
                    self.failure = Some(failure);
                    self.filled = 0;
                    Fault::Unread
                })?;
                if self.filled == 0 {
                    return Ok(());
                }
            }
            self.word |= u64::from(self.buffer[self.at]) << (56 - self.held);
            self.at += 1;
            self.held += 8;
            self.taken += 1;
        }
        Ok(())
    }

    /// Reads a number of at most [`NUMBER_BITS_MAX`] bits.
    fn number(&mut self, bits: u64) -> Result<u64, Fault> {
        let mut left = bits as u32;
        let mut number = 0;
        while left > 0 {
            if self.held < left {
                self.refill()?;
            }
            if self.held == 0 {
                return Err(Fault::Cut);
            }
            let taken = left.min(self.held).min(32);
            number = number << taken | self.word >> (64 - taken);
            self.word <<= taken;
            self.held -= taken;
            left -= taken;
        }
        Ok(number)
    }

    fn unary(&mut self) -> Result<u64, Fault> {
        let mut zeros = 0;
        loop {
            if self.word != 0 {
                let more = self.word.leading_zeros();
                // Shifted in two steps: all 64 bits may go.
                self.word = self.word << more << 1;
                self.held -= more + 1;
                return Ok(zeros + u64::from(more));
            }
            zeros += u64::from(self.held);
            self.held = 0;
            self.refill()?;
            if self.held == 0 {
                return Err(Fault::Cut);
            }
        }
    }

    /// Reads γ, which is by far the most frequent code.
    pub(super) fn gamma(&mut self) -> Result<u64, Fault> {
        let bits = fits(self.unary()?)?;
        Ok((1 << bits | self.number(bits)?) - 1)
    }

    /// Reads a number.
    pub(super) fn read(&mut self, code: Code) -> Result<u64, Fault> {
        match code {
            Code::Unary => self.unary(),
            Code::Gamma => self.gamma(),
            Code::Delta => {
                let bits = fits(self.gamma()?)?;
                Ok((1 << bits | self.number(bits)?) - 1)
            }
            Code::Zeta(k) => {
                let k = u64::from(k);
                let steps = self.unary()?;
                let bits = fits(steps.saturating_mul(k).saturating_add(k))? - 1;
                let first = 1 << (steps * k);
                let place = self.number(bits)?;
                // Places below `first` are a bit shorter than the others.
                if place < first {
                    return Ok(place + first - 1);
                }
                Ok((place << 1 | self.number(1)?) - 1)
            }
            Code::Nibble => {
                let mut number = 0;
                loop {
                    let group = self.number(4)?;
                    if number >> (NUMBER_BITS_MAX - 3) != 0 {
                        return Err(TOO_LARGE);
                    }
                    number = number << 3 | group & 7;
                    if group & 8 != 0 {
                        return Ok(number);
                    }
                }
            }
        }
    }
}

const TOO_LARGE: Fault = Fault::Wrong("expected numbers of at most 62 bits");

/// Refuses more bits than a number has here.
fn fits(bits: u64) -> Result<u64, Fault> {
    if bits <= NUMBER_BITS_MAX { Ok(bits) } else { Err(TOO_LARGE) }
}
