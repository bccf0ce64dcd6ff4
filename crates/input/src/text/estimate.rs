//! Number of rows of a text, estimated from samples of it.
//!
//! Lines of many files grow longer towards the end, because ids do; so a file that can be read
//! anywhere is sampled in several places. Of a compressed one the beginning stands for the whole.

use super::beginning::sample;
use super::dialect::Dialect;
use super::records::RecordEnd;
use super::with_counts::Counted;
use crate::error::InputError;
use crate::options::ReadOptions;
use crate::reader::Estimate;
use crate::source::Source;

/// Decompressed bytes of the first sample.
const FIRST_BYTES: usize = 1 << 20;
/// Places of a large file that are looked at, the beginning included.
const PLACES: u64 = 8;
/// Bytes looked at in each later place.
const PLACE_BYTES: usize = 64 << 10;

/// Estimates a source without reading it whole; exact where it is small.
pub(super) fn estimate(source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
    let (dialect, sample) = sample(source, FIRST_BYTES, options)?;
    let text = sample.bytes.get(dialect.start..).unwrap_or_default();
    let (slots, undirected) = match dialect.counted {
        Counted::Graph { vertices, undirected, .. } => (Some(vertices), Some(undirected)),
        Counted::No | Counted::Perhaps(_) => (None, dialect.undirected),
    };
    let rows = rows(text, &dialect);
    let edges = match source.bytes() {
        _ if sample.whole => Some(rows),
        None => None,
        Some(bytes) if source.is_plain() && dialect.cut == RecordEnd::Lines => {
            let first = rows as f64 / text.len().max(1) as f64;
            let density = (first + later(source, bytes, &dialect)?) / PLACES as f64;
            Some((density * bytes as f64) as u64)
        }
        // The stored bytes of the sample stand for its rows.
        Some(bytes) => Some((rows as f64 * bytes as f64 / sample.stored.max(1) as f64) as u64),
    };
    Ok(Estimate {
        bytes: source.bytes(),
        edges,
        exact: sample.whole,
        slots,
        slots_seen: None,
        ids: dialect.ids,
        weighted: dialect.weighted(),
        undirected,
    })
}

/// The sum of the rows per byte in the later places of a large file.
fn later(source: &Source, bytes: u64, dialect: &Dialect) -> Result<f64, InputError> {
    let file = source.file()?;
    let mut buffer = vec![0; PLACE_BYTES];
    let mut sum = 0.0;
    for place in 1..PLACES {
        let at = bytes / PLACES * place;
        let read = file
            .read_at(&mut buffer, at)
            .map_err(|error| InputError::io(source.name(), format!("read at byte {at}"), error))?;
        // The place begins in the middle of a line, and ends in that of another.
        let start = memchr::memchr(b'\n', &buffer[..read]).map_or(read, |end| end + 1);
        let end = memchr::memrchr(b'\n', &buffer[..read]).map_or(start, |end| end + 1);
        sum += rows(&buffer[start..end], dialect) as f64 / (end - start).max(1) as f64;
    }
    Ok(sum)
}

fn rows(text: &[u8], dialect: &Dialect) -> u64 {
    let (mut at, mut rows) = (0, 0);
    while at < text.len() {
        let end = dialect.cut.end(text, at).unwrap_or(text.len());
        rows += u64::from(dialect.passes_over(&text[at..end]).is_none());
        at = end + 1;
    }
    rows
}
