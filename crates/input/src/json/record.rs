//! An object while it is read: what it says that a graph can use, whatever it turns out to be.

use crate::documents::Values;

/// A number, a text or a truth value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    /// A text, or a number as it is printed.
    Text(Vec<u8>),
    /// A number whose last digits are lost, which may be a weight and is no id.
    Rounded(Vec<u8>),
    /// `true` or `false`.
    Truth(bool),
    /// `null`.
    Null,
}

impl Scalar {
    /// The text of a scalar that may be an id or a weight.
    fn text(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) | Self::Rounded(text) => Some(text),
            Self::Truth(_) | Self::Null => None,
        }
    }
}

/// Fields of an object.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// `id`, here or in the data of the object.
    pub(super) id: Option<Vec<u8>>,
    /// `key`, which is the id of a node of graphology and of no edge.
    pub(super) key: Option<Vec<u8>>,
    pub(super) label: Option<Vec<u8>>,
    pub(super) name: Option<Vec<u8>>,
    pub(super) source: Option<Vec<u8>>,
    pub(super) target: Option<Vec<u8>>,
    pub(super) directed: Option<bool>,
    pub(super) weights: Values,
    /// Whether there was data inside it, as in elements of Cytoscape.
    pub(super) has_data: bool,
    /// Items of a list that stands for an edge.
    pub(super) items: usize,
    pub(super) line: u64,
}

/// Keys of the source, and those of the target; the last ones are `ArangoDB`'s.
const ENDS: [&[&str]; 2] =
    [&["source", "from", "src", "_from"], &["target", "to", "dst", "dest", "_to"]];

/// End of an edge that a key is.
pub(super) fn end_of(key: &str) -> Option<usize> {
    ENDS.iter().position(|keys| keys.contains(&key))
}

impl Record {
    /// An empty record, of an object that begins on this line.
    pub(super) fn at(line: u64) -> Self {
        Self { line, ..Self::default() }
    }

    /// Keeps a value, if it is of use; `rank`: which of the possible weights the key is. What the
    /// object says itself wins over what is in its data, which comes later or says the same.
    pub(super) fn keep(&mut self, key: &str, rank: Option<usize>, value: Scalar) {
        if let Some(end) = end_of(key) {
            return self.keep_end(end, value);
        }
        match (key, value) {
            ("directed", Scalar::Truth(directed)) => self.directed = Some(directed),
            ("undirected", Scalar::Truth(undirected)) => self.directed = Some(!undirected),
            ("id", value) => keep_first(&mut self.id, value),
            ("key", value) => keep_first(&mut self.key, value),
            ("label", value) => keep_first(&mut self.label, value),
            ("name", value) => keep_first(&mut self.name, value),
            (_, value) => {
                if let Some(rank) = rank {
                    keep_first(self.weights.at(rank), value);
                }
            }
        }
    }

    /// Keeps an end of an edge.
    pub(super) fn keep_end(&mut self, end: usize, value: Scalar) {
        keep_first(if end == 0 { &mut self.source } else { &mut self.target }, value);
    }

    /// Keeps an item of a list that stands for an edge: source, target, weight.
    pub(super) fn keep_item(&mut self, rank: Option<usize>, value: Scalar) {
        match (self.items, rank) {
            (0 | 1, _) => self.keep_end(self.items, value),
            (2, Some(rank)) => keep_first(self.weights.at(rank), value),
            _ => {}
        }
        self.items += 1;
    }

    /// Whether it has both ends of an edge.
    pub(super) fn is_edge(&self) -> bool {
        self.source.is_some() && self.target.is_some()
    }
}

fn keep_first(into: &mut Option<Vec<u8>>, value: Scalar) {
    if into.is_none() {
        *into = value.text();
    }
}
