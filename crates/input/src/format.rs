//! The formats by name, by extension, and by their first bytes.
//!
//! A new format is a variant of [`Format`], a row of the table [`FORMATS`], an arm of
//! [`crate::reader::of`], and a file of its own.

use std::fmt;
use std::str::FromStr;

/// Format of a file, under its compression if it has any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Rows of text: SNAP, CSV, TSV and their relatives.
    Text,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream.
    Arrow,
    /// Little-endian records without a header.
    Raw(RawLayout),
    /// Packed edges of the Graph500 generator: records of two 48-bit ids.
    Graph500,
}

/// One record of a raw file: source, target, and the weight if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawLayout {
    /// Whether ids are 64-bit rather than 32-bit.
    pub wide: bool,
    /// Type of the weight that follows the two ids.
    pub weight: RawWeight,
}

/// Type of the weights of a raw file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawWeight {
    /// There are none.
    #[default]
    None,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

/// Whether a file that begins with these bytes (decompressed; up to [`HEAD_BYTES`]) is surely of a
/// format, whatever its name is.
type Begins = fn(&[u8]) -> bool;

/// Bytes of a file that are looked at to know its format.
pub(crate) const HEAD_BYTES: usize = 4 << 10;

/// Names of each format, which are also its extensions, and how its files begin. The first name is
/// the one shown.
const FORMATS: &[(Format, &[&str], Begins)] = &[
    (Format::Text, &["text", "txt", "tsv", "csv", "el", "wel", "edges", "edgelist"], never),
    (Format::Parquet, &["parquet", "pq"], |head| head.starts_with(b"PAR1")),
    (Format::Arrow, &["arrow", "arrows", "feather", "ipc"], |head| head.starts_with(b"ARROW1")),
    (raw(false, RawWeight::None), &["u32"], never),
    (raw(true, RawWeight::None), &["u64"], never),
    (raw(false, RawWeight::F32), &["u32f32"], never),
    (raw(false, RawWeight::F64), &["u32f64"], never),
    (raw(true, RawWeight::F32), &["u64f32"], never),
    (raw(true, RawWeight::F64), &["u64f64"], never),
    (Format::Graph500, &["graph500"], never),
];

const fn raw(wide: bool, weight: RawWeight) -> Format {
    Format::Raw(RawLayout { wide, weight })
}

/// For formats that have no magic bytes.
fn never(_head: &[u8]) -> bool {
    false
}

impl Format {
    /// The format whose name or extension this is, in any case.
    pub fn by_extension(extension: &str) -> Option<Self> {
        let known = |names: &&[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(extension));
        FORMATS.iter().find(|(_, names, _)| known(names)).map(|(format, ..)| *format)
    }

    /// The format whose magic bytes these are: the first of a file, decompressed.
    pub fn by_head(head: &[u8]) -> Option<Self> {
        FORMATS.iter().find(|(_, _, begins)| begins(head)).map(|(format, ..)| *format)
    }

    /// The name that is shown of each format.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().map(|(_, names, _)| names[0])
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::by_extension(text).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            format!("expected one of {}, found \"{text}\"", names.join(", "))
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = FORMATS.iter().find(|(format, ..)| format == self);
        f.write_str(known.map_or("raw", |(_, names, _)| names[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_name_and_shown_by_their_first() {
        for (format, names, _) in FORMATS {
            assert!(names.iter().all(|name| name.parse::<Format>() == Ok(*format)), "{names:?}");
            assert_eq!(format.to_string(), names[0]);
        }
        assert_eq!(Format::by_extension("CSV"), Some(Format::Text));
        assert!("bin".parse::<Format>().is_err());
    }

    #[test]
    fn a_name_means_one_format() {
        let mut names: Vec<_> = FORMATS.iter().flat_map(|(_, names, _)| *names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn magic_bytes_tell() {
        assert_eq!(Format::by_head(b"PAR1..."), Some(Format::Parquet));
        assert_eq!(Format::by_head(b"1 2\n"), None);
    }
}
