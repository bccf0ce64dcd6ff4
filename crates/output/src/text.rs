//! Fields of text, and files made of blocks of them.
//!
//! Floats are written with the fewest digits that read back as the same number. A name that would
//! not read back as one field is put between quotes, and quotes in it are doubled.

use std::io::Write;

use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::{Job, PIECE_BYTES, Turn, run};

/// Appends an integer in decimal digits.
pub(crate) fn integer(line: &mut Vec<u8>, value: impl itoa::Integer) {
    line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
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
        integer(line, whole);
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
