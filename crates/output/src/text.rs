//! Fields of text, and files made of blocks of them.
//!
//! Floats are written with the fewest digits that read back as the same number. A name that would
//! not read back as one field is put between quotes, and quotes in it are doubled.

use std::io::Write;

use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::{Job, PIECE_BYTES, Turn, run};

/// Appends an integer in decimal digits.
///
/// Eight digits are made at once and appended as one word, of which the leading zeros are then cut
/// away: copying a fixed number of bytes is several times faster than copying as many as there are.
pub(crate) fn integer(line: &mut Vec<u8>, value: u64) {
    const EIGHT: u64 = 100_000_000;
    if value >= EIGHT {
        integer(line, value / EIGHT);
        line.extend_from_slice(&(eight_digits(value % EIGHT) | ZEROS).to_le_bytes());
        return;
    }
    let digits = eight_digits(value);
    let leading = (digits.trailing_zeros() / 8).min(7);
    line.extend_from_slice(&((digits | ZEROS) >> (8 * leading)).to_le_bytes());
    line.truncate(line.len() - leading as usize);
}

/// Eight times the character 0.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The digits of a number below 10^8, one a byte, the first in the lowest byte.
///
/// All lanes of a word are divided at once, by multiplying and shifting: two lanes of four digits
/// into four of two, and these into eight of one.
fn eight_digits(value: u64) -> u64 {
    let fours = (value / 10_000) | (value % 10_000) << 32;
    // n / 100 = n * 10486 >> 20 for n below 10^4; n / 10 = n * 103 >> 10 for n below 100.
    let hundreds = (fours * 10_486) >> 20 & 0x7f_0000_007f;
    let twos = hundreds | (fours - 100 * hundreds) << 16;
    let tens = (twos * 103) >> 10 & 0x000f_000f_000f_000f;
    tens | (twos - 10 * tens) << 8
}

/// Appends an integer with a sign where it is negative.
pub(crate) fn signed(line: &mut Vec<u8>, value: i64) {
    if value < 0 {
        line.push(b'-');
    }
    integer(line, value.unsigned_abs());
}

/// Appends a float; `NaN`, `inf` and `-inf` where it is no number.
pub(crate) fn float(line: &mut Vec<u8>, value: impl zmij::Float) {
    line.extend_from_slice(zmij::Buffer::new().format(value).as_bytes());
}

/// Appends a weight: without a decimal point where it is an integer.
pub(crate) fn weight(line: &mut Vec<u8>, value: f64) {
    let whole = value as i64;
    // Compared by their bits, -0.0 is no integer; below 2^53 all digits of an integer are exact.
    if (whole as f64).to_bits() == value.to_bits() && whole.unsigned_abs() < 1 << 53 {
        signed(line, whole);
    } else {
        float(line, value);
    }
}

/// Appends a name as one field of a row with this separator.
pub(crate) fn name(line: &mut Vec<u8>, name: &str, separator: u8) {
    let special = |&byte: &u8| byte == separator || matches!(byte, b'"' | b'\n' | b'\r');
    let bytes = name.as_bytes();
    // Readers take lines that begin with # or % for comments, and may strip space around a field.
    let edge =
        |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'#' | b'%'));
    if !bytes.iter().any(special) && !edge(bytes.first()) && !edge(bytes.last()) {
        line.extend_from_slice(bytes);
        return;
    }
    line.push(b'"');
    for byte in bytes {
        line.push(*byte);
        if *byte == b'"' {
            line.push(b'"');
        }
    }
    line.push(b'"');
}

/// A block of text on its way out.
#[derive(Default)]
pub(crate) struct Block {
    /// Lines so far.
    pub(crate) text: Vec<u8>,
    scratch: Vec<u8>,
    packed: bool,
}

/// Writes a header and then the blocks `0..count`, compressed. `make` appends the lines of a block
/// and may call [`hand_on_if_large`].
pub(crate) fn write(
    job: &Job<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    header: &[u8],
    count: u64,
    make: impl Fn(&mut Block, u64, &Turn<'_, '_, Block>) -> Result<(), OutputError> + Sync,
) -> Result<(), OutputError> {
    let pack = |block: &mut Block| compression.pack(&mut block.text, &mut block.scratch);
    let failed = |error| OutputError::write(job.name, error);
    // The header is a block of its own, so a file without rows is still one of its format.
    let fill = |block: &mut Block, index: u64, turn: &Turn<'_, '_, Block>| {
        match index.checked_sub(1) {
            None => block.text.extend_from_slice(header),
            Some(index) => make(block, index, turn)?,
        }
        pack(block).map_err(failed)?;
        block.packed = true;
        Ok(())
    };
    let mut write = |block: &mut Block| {
        if !std::mem::take(&mut block.packed) {
            pack(block).map_err(failed)?;
        }
        sink.write_all(&block.text).map_err(failed)?;
        job.phase.add_bytes(block.text.len() as u64);
        block.text.clear();
        Ok(())
    };
    run(job, count + 1, Block::default, fill, &mut write)
}

/// Keeps a block from growing beyond all bounds.
pub(crate) fn hand_on_if_large(
    block: &mut Block,
    turn: &Turn<'_, '_, Block>,
) -> Result<(), OutputError> {
    if block.text.len() < PIECE_BYTES { Ok(()) } else { turn.hand_on(block) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut line = Vec::new();
        write(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn integers_have_their_digits() {
        let check =
            |value: u64| assert_eq!(written(|line| integer(line, value)), value.to_string());
        (0..100_000).for_each(check);
        for power in 0..20 {
            let value = 10_u64.pow(power);
            for value in [value - 1, value, value + 1, value.wrapping_mul(7), u64::MAX / value] {
                check(value);
            }
        }
        let mut value = 1_u64;
        for _ in 0..100_000 {
            value = value.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            check(value >> (value & 63));
        }
        assert_eq!(written(|line| signed(line, i64::MIN)), i64::MIN.to_string());
    }

    #[test]
    fn weights_are_short_and_exact() {
        let text = |value| written(|line| weight(line, value));
        assert_eq!(text(255.0), "255");
        assert_eq!(text(-3.0), "-3");
        assert_eq!(text(0.1), "0.1");
        for value in [0.1 + 0.2, 1e300, -0.0, 2.0_f64.powi(53), 2.0_f64.powi(63), 5e-324, 0.0] {
            assert_eq!(text(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        let text = |value: &str| written(|line| name(line, value, b','));
        assert_eq!(text("libc6"), "libc6");
        assert_eq!(text("a b"), "a b");
        for (plain, quoted) in
            [("a,b", "\"a,b\""), ("say \"a\"", "\"say \"\"a\"\"\""), ("#a", "\"#a\""), ("", "\"\"")]
        {
            assert_eq!(text(plain), quoted);
        }
        assert_eq!(written(|line| name(line, "a,b", b'\t')), "a,b");
    }
}
