//! The properties of a graph: lines of a key and a value, as Java writes them.

use super::bits::Code;
use crate::collect::count_fits;
use crate::error::InputError;
use crate::words::show;

/// Coding of the lists of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Properties {
    /// Number of vertices.
    pub(super) nodes: u64,
    /// Number of edges.
    pub(super) arcs: u64,
    /// Distance, in lists, that a list may refer back.
    pub(super) window: u32,
    /// Length of the shortest interval; 0 where there are none.
    pub(super) interval_min: u64,
    pub(super) outdegrees: Code,
    pub(super) references: Code,
    pub(super) residuals: Code,
}

/// Lists that may be referred to: 7 is usual.
const WINDOW_MAX: u64 = 1 << 16;

/// Parts that may be coded otherwise, and how they are if nothing is said.
const CODED: [(&str, Code); 7] = [
    ("OUTDEGREES", Code::Gamma),
    ("REFERENCES", Code::Unary),
    ("RESIDUALS", Code::Zeta(3)),
    ("BLOCKS", Code::Gamma),
    ("BLOCK_COUNT", Code::Gamma),
    ("INTERVALS", Code::Gamma),
    ("OFFSETS", Code::Gamma),
];

impl Properties {
    /// Reads the text of a file of properties.
    pub(super) fn parse(file: &str, text: &[u8]) -> Result<Self, InputError> {
        let text = String::from_utf8_lossy(text);
        let pairs = Pairs { file, text: &text };
        let big = pairs.find("endianness").is_none_or(|(_, value)| value == "big");
        if !big {
            return Err(pairs.refuse("endianness", "big-endian bits"));
        }
        let nodes = pairs.number("nodes", u64::MAX)?;
        count_fits(nodes).map_err(|what| pairs.wrong("nodes", what))?;
        let k = match pairs.find("zetak") {
            Some(_) => pairs.number("zetak", 16)?.max(1) as u32,
            None => 3,
        };
        let mut codes = CODED.map(|(_, code)| code);
        codes[2] = Code::Zeta(k);
        for flag in pairs.find("compressionflags").map_or("", |(_, value)| value).split('|') {
            if flag.trim().is_empty() {
                continue;
            }
            let known = flag.trim().rsplit_once('_').and_then(|(name, code)| {
                let place = CODED.iter().position(|(known, _)| *known == name)?;
                Some((place, Code::by_name(code, k)?))
            });
            match known {
                Some((place, code)) if place < 3 || code == CODED[place].1 => codes[place] = code,
                _ => {
                    let what = format!(
                        "expected a code that is read here, found {}",
                        show(flag.trim().as_bytes())
                    );
                    return Err(pairs.wrong("compressionflags", what));
                }
            }
        }
        Ok(Self {
            nodes,
            arcs: pairs.number("arcs", u64::MAX)?,
            window: pairs.number("windowsize", WINDOW_MAX)? as u32,
            interval_min: pairs.number("minintervallength", u64::from(u32::MAX))?,
            outdegrees: codes[0],
            references: codes[1],
            residuals: codes[2],
        })
    }

    /// Some properties for bits of that many bytes.
    pub(super) fn for_fuzzing(choice: u8, bytes: u64) -> Self {
        let residuals = [Code::Zeta(3), Code::Gamma, Code::Delta, Code::Nibble];
        Self {
            nodes: bytes.min(1000),
            arcs: bytes * 20,
            window: u32::from(choice & 7),
            interval_min: u64::from(choice >> 3 & 3),
            outdegrees: if choice & 128 == 0 { Code::Gamma } else { Code::Delta },
            references: Code::Unary,
            residuals: residuals[usize::from(choice >> 5 & 3)],
        }
    }
}

/// Keys and values with their lines.
struct Pairs<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Pairs<'a> {
    /// The line and the value of a key.
    fn find(&self, key: &str) -> Option<(u64, &'a str)> {
        let pairs = (1..).zip(self.text.lines()).filter_map(|(line, text)| {
            let text = text.trim();
            let (key, value) = text.split_once(['=', ':'])?;
            (!text.starts_with(['#', '!'])).then_some((line, key.trim_end(), value.trim_start()))
        });
        // As in Java, the last one counts.
        let found = pairs.filter(|(_, other, _)| *other == key).last();
        found.map(|(line, _, value)| (line, value))
    }

    fn number(&self, key: &str, max: u64) -> Result<u64, InputError> {
        let value = self.find(key).and_then(|(_, value)| value.parse().ok());
        let number = value.filter(|number| *number <= max);
        number.ok_or_else(|| self.refuse(key, &format!("a number up to {max}")))
    }

    fn refuse(&self, key: &str, expected: &str) -> InputError {
        match self.find(key) {
            Some((_, value)) => {
                let found = show(value.as_bytes());
                self.wrong(key, format!("expected {expected} as {key}, found {found}"))
            }
            None => InputError::content(self.file, format!("expected {key}, found no such line")),
        }
    }

    fn wrong(&self, key: &str, what: String) -> InputError {
        let line = self.find(key).map_or(1, |(line, _)| line);
        InputError::Line { file: self.file.to_owned(), line, what }
    }
}
