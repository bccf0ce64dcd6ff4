//! The kernel for rows of two integers of one to eight digits, for machines with AVX2 or AVX-512.
//!
//! Text is taken in windows, each in two passes. The first writes down where numbers end: it
//! compares 64 bytes at a time with the digits, the separator and the line end, and checks with a
//! prefix parity that separators and line ends take turns. The second reads four rows at a time
//! from those places alone: the digits of a number are shifted to the upper end of a 64-bit lane,
//! so that no branch depends on their count, and three multiply-adds turn eight numbers into
//! integers. A row never waits for the end of the row before it.
//!
//! Invariant: a row is taken only if its bytes are 1-8 digits, the separator, 1-8 digits, the line
//! end, and no number has a zero in front. The kernel ends at the first row that is not, and a
//! little before the end of the text, where it could read beyond it. Tested by
//! `every_scanner_reads_a_prefix_of_what_the_model_reads`.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "vector loads and stores, with bounds checked once a window")
)]

mod steps;

use welter_model::edges::Pair;

use self::steps::{CHUNK_BYTES, SLACK_BYTES};
#[cfg(target_arch = "x86_64")]
use self::steps::{ROWS, Seek};

/// Steps in the largest window.
const CHUNKS_MAX: usize = 64;

/// Workspace: the places where the numbers of a window end, behind one that stands for the line end
/// before the window.
pub(super) struct Positions(Vec<u32>);

impl Default for Positions {
    fn default() -> Self {
        // Whole vectors are written and read, so there is room behind the last place.
        Self(vec![0; 1 + CHUNK_BYTES * CHUNKS_MAX + 2 * CHUNK_BYTES])
    }
}

/// Ends of the numbers of a row.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// After the first number; no digit and no line end.
    pub(super) separator: u8,
    /// Whether `\r\n` rather than `\n` comes after the second.
    pub(super) crlf: bool,
}

#[cfg(target_arch = "x86_64")]
impl Line {
    fn seek(self) -> Seek {
        if self.crlf { Seek::PairsCrlf } else { Seek::Pairs }
    }
}

/// Where separators and line ends stand in the first few kilobytes of a text, in order; without its
/// last bytes. Nothing where the machine has no kernel.
#[cfg(target_arch = "x86_64")]
pub(super) fn marks<'a>(separator: u8, text: &[u8], positions: &'a mut Positions) -> &'a [u32] {
    let Some(scan) = x86::scanners(Seek::Marks).first() else { return &[] };
    let chunks = (text.len() / CHUNK_BYTES).min(CHUNKS_MAX);
    // SAFETY: `scanners` answers only what this machine can run.
    let count = unsafe { scan(separator, text, chunks, &mut positions.0) };
    &positions.0[1..=count]
}

/// Nothing: there is no kernel for such machines.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn marks<'a>(_separator: u8, _text: &[u8], _positions: &'a mut Positions) -> &'a [u32] {
    &[]
}

/// Reads rows from `at` on, the beginning of a line; returns the beginning of the first that was
/// not read. `max` becomes the largest id.
#[cfg(target_arch = "x86_64")]
pub(super) fn run(
    line: Line,
    bytes: &[u8],
    at: usize,
    positions: &mut Positions,
    pairs: &mut Vec<Pair>,
    max: &mut u32,
) -> usize {
    match x86::scanners(line.seek()).first() {
        Some(scan) => run_with(*scan, line, bytes, at, positions, pairs, max),
        None => at,
    }
}

#[cfg(target_arch = "x86_64")]
fn run_with(
    scan: x86::Scan,
    line: Line,
    bytes: &[u8],
    mut at: usize,
    positions: &mut Positions,
    pairs: &mut Vec<Pair>,
    max: &mut u32,
) -> usize {
    let mut window = 1;
    loop {
        let text = &bytes[at..];
        let chunks = (text.len().saturating_sub(SLACK_BYTES) / CHUNK_BYTES).min(window);
        // SAFETY: `scanners` answers only what this machine can run.
        let places = unsafe { scan(line.separator, text, chunks, &mut positions.0) };
        let rows = places / 2;
        if rows == 0 {
            return at;
        }
        pairs.reserve(rows + ROWS);
        let places = &mut positions.0[..=2 * (rows + ROWS)];
        // SAFETY: every machine with a scanner has AVX2.
        let read = unsafe { x86::convert(line.crlf, text, rows, places, pairs, max) };
        at += read.bytes;
        if read.rows < rows {
            return at;
        }
        window = (2 * window).min(CHUNKS_MAX);
    }
}

/// Reads nothing: there is no kernel for such machines, and the scalar path reads the rows.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn run(
    _line: Line,
    _bytes: &[u8],
    at: usize,
    _positions: &mut Positions,
    _pairs: &mut Vec<Pair>,
    _max: &mut u32,
) -> usize {
    at
}

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads rows one by one, as far as they are plain and end before the slack.
    fn model(line: Line, text: &[u8]) -> (Vec<Pair>, usize) {
        let end: &[u8] = if line.crlf { b"\r\n" } else { b"\n" };
        let (mut pairs, mut at) = (Vec::new(), 0);
        let number = |at: usize| {
            let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let text = std::str::from_utf8(&text[at..at + digits]).unwrap();
            let printed = digits == 1 || !text.starts_with('0');
            (printed && (1..=8).contains(&digits))
                .then(|| (text.parse::<u32>().unwrap(), at + digits))
        };
        while let Some((source, middle)) = number(at) {
            if text.get(middle) != Some(&line.separator) {
                break;
            }
            let Some((target, last)) = number(middle + 1) else { break };
            if !text[last..].starts_with(end) {
                break;
            }
            pairs.push([source, target]);
            at = last + end.len();
        }
        (pairs, at)
    }

    fn rows() -> impl Strategy<Value = String> {
        let odd = "[0-9]{0,9}[\t,\r\n -~]{0,3}[0-9]{0,9}[\r\n]{0,2}";
        let row = prop_oneof![
            100 => "[1-9][0-9]{0,7}\t[1-9][0-9]{0,7}\n",
            100 => "0\t[1-9]0{0,7}\n",
            1 => "[0-9]{1,8}\t[0-9]{1,8}\n",
            1 => odd,
        ];
        prop::collection::vec(row, 0..400).prop_map(|rows| rows.concat())
    }

    proptest! {
        #[test]
        fn marks_are_all_separators_and_line_ends(text in "[0-9\t\r\n ]{0,300}") {
            let chunks = text.len() / CHUNK_BYTES;
            let whole = &text.as_bytes()[..chunks * CHUNK_BYTES];
            let mark = |&at: &u32| matches!(whole[at as usize], b'\t' | b'\n');
            let expected: Vec<u32> = (0..whole.len() as u32).filter(mark).collect();
            for scan in x86::scanners(Seek::Marks) {
                let mut positions = Positions::default();
                // SAFETY: `scanners` answers only what this machine can run.
                let count = unsafe { scan(b'\t', text.as_bytes(), chunks, &mut positions.0) };
                prop_assert_eq!(&positions.0[1..=count], &expected[..]);
            }
        }

        #[test]
        fn every_scanner_reads_a_prefix_of_what_the_model_reads(
            text in rows(),
            crlf in any::<bool>(),
        ) {
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            let line = Line { separator: b'\t', crlf };
            let (expected, end) = model(line, text.as_bytes());
            for scan in x86::scanners(line.seek()) {
                let (mut pairs, mut max) = (Vec::new(), 0);
                let mut positions = Positions::default();
                let bytes = text.as_bytes();
                let at = run_with(*scan, line, bytes, 0, &mut positions, &mut pairs, &mut max);
                prop_assert_eq!(&pairs[..], &expected[..pairs.len()]);
                prop_assert_eq!(max, pairs.iter().flatten().copied().max().unwrap_or(0));
                let rest = model(line, &bytes[at..]).0.len();
                prop_assert!(at <= end && rest == expected.len() - pairs.len());
                // Rows are left out only in the chunk of an odd one, and at the end of the text.
                prop_assert!(end - at <= CHUNK_BYTES + SLACK_BYTES + 20, "{} {}", at, end);
            }
        }
    }
}
