//! Formats for small graphs, in which nodes and edges are described one by one, with attributes and
//! in any order: GML, GraphML, GEXF, Pajek, DOT, JSON, TGF. They share what is here: the graph
//! while it is read, and the reader around their parsers.
//!
//! - A node has a key, by which edges name it. Keys are the ids, as integers where all of them are
//!   that and are written as they are printed: `007` is a name, unless the format says that ids are
//!   numbers. Where ids are read as names and the format has labels, labels are the ids.
//! - Every node is a vertex, with or without edges. An edge of a node that is not there is an
//!   error with its line, wherever in the file the node would have stood, but for formats in which
//!   edges bring their nodes with them.
//! - The weight is an attribute of edges ([`weights`]). If any edge has a number there, all must,
//!   but for formats that say what it is else.
//! - Edges may be directed or not, each by itself. If both kinds are there, an undirected edge
//!   becomes two arcs.
//!
//! Invariant: memory is that of the nodes and edges that were read, 16 bytes an edge and 8 for its
//! weight, whatever is stated, and is checked against the budget while it grows. Tested by
//! `memory_is_held_against_the_budget_while_it_grows`.

mod blocks;
pub(crate) mod bytes;
mod choice;
mod decode;
mod dom;
mod merge;
mod number;
mod weights;
#[cfg(feature = "xml")]
pub(crate) mod xml;

#[cfg(test)]
pub(crate) mod tests;

use welter_model::edges::Pair;
use welter_model::ids::Names;

use crate::error::InputError;
use crate::options::{IdKind, ReadOptions};
use crate::text::Dictionary;
use crate::text::fields::{FieldKind, looks};
use blocks::Blocks;
pub(crate) use dom::DocumentReader;
use weights::Attributes;
pub(crate) use weights::{Values, WeightKey};

/// Bytes that a node takes beside its name, about.
const NODE_BYTES: u64 = 48;

/// A graph while it is read.
pub(crate) struct Document<'a> {
    file: &'a str,
    options: &'a ReadOptions,
    /// Whether nodes may have labels beside their keys.
    labelled: bool,
    /// Whether edges are directed that do not say it themselves, where the file says so.
    directed: Option<bool>,
    rules: Rules,
    /// Notes for a person about how the file was read.
    notes: Vec<String>,
    keys: Dictionary,
    /// By the place of the key.
    nodes: Vec<Node>,
    labels: Names,
    /// Whether a node has a label that is another than its key and is not read.
    unread: bool,
    edges: Blocks<Edge>,
    attributes: Attributes<'a>,
    /// Whether a key is no number at all.
    named: bool,
    /// The first key that is an integer with zeros in front.
    padded: Option<u32>,
    /// Bytes held, about.
    bytes: u64,
}

/// Rules of a format or a file for its graph, beside nodes and edges.
#[derive(Default)]
struct Rules {
    /// Whether edges bring their nodes with them.
    implied: bool,
    /// Whether there is one edge at most from one node to another.
    strict: bool,
    /// Nodes are the integers from 1 to this one.
    count: Option<u64>,
    /// The weight of edges that have none, where others have one.
    default_weight: Option<f64>,
}

/// A node, or a key that only edges know so far.
#[derive(Clone, Copy)]
struct Node {
    /// Where it was stated, or else where it was met first.
    line: u64,
    stated: bool,
    /// Place of the node in the labels, plus one; 0 where it has none.
    label: u32,
}

/// An edge between two places.
#[derive(Clone, Copy, Debug)]
struct Edge {
    ends: Pair,
    /// Line of the edge, and in the two lowest bits whether it is directed: not said, no, or yes.
    packed: u64,
}

impl Edge {
    fn new(ends: Pair, directed: Option<bool>, line: u64) -> Self {
        Self { ends, packed: line << 2 | directed.map_or(0, |directed| 1 + u64::from(directed)) }
    }

    /// Whether it is directed, where it says so itself.
    fn directed(self) -> Option<bool> {
        match self.packed & 3 {
            0 => None,
            bits => Some(bits == 2),
        }
    }

    fn line(self) -> u64 {
        self.packed >> 2
    }
}

/// An edge as it is read.
#[derive(Default)]
pub(crate) struct Described {
    /// Key of the source.
    pub(crate) source: Option<Vec<u8>>,
    /// Key of the target.
    pub(crate) target: Option<Vec<u8>>,
    /// Whether the edge is directed, where it says so itself.
    pub(crate) directed: Option<bool>,
    /// Values of the attributes that [`Document::weight_rank`] knows.
    pub(crate) weights: Values,
    /// Line at which the edge begins.
    pub(crate) line: u64,
}

impl Described {
    /// Takes the defaults of attributes that may be weights where the edge has none.
    pub(crate) fn take_defaults(&mut self, keys: &[WeightKey]) {
        for WeightKey { rank, default, .. } in keys {
            if let (known @ None, Some(default)) = (self.weights.at(*rank), default) {
                *known = Some(default.clone());
            }
        }
    }
}

impl<'a> Document<'a> {
    /// An empty document. `labelled`: whether nodes may have labels that are their names.
    pub(crate) fn new(file: &'a str, options: &'a ReadOptions, labelled: bool) -> Self {
        Self {
            file,
            options,
            labelled,
            directed: Some(false),
            rules: Rules::default(),
            notes: Vec::new(),
            keys: Dictionary::default(),
            nodes: Vec::new(),
            labels: Names::new(),
            unread: false,
            edges: Blocks::default(),
            attributes: Attributes::new(&options.weight, options.bounds()),
            named: false,
            padded: None,
            bytes: 0,
        }
    }

    /// The options of the user.
    pub(crate) fn options(&self) -> &'a ReadOptions {
        self.options
    }

    /// The error for a line.
    pub(crate) fn wrong(&self, line: u64, what: impl Into<String>) -> InputError {
        InputError::Line { file: self.file.to_owned(), line, what: what.into() }
    }

    /// States whether edges are directed that do not say it themselves.
    pub(crate) fn state_directed(&mut self, directed: bool) {
        self.directed = Some(directed);
    }

    /// States nothing of whether edges are directed.
    pub(crate) fn leave_direction(&mut self) {
        self.directed = None;
    }

    /// The place of a node, if there is one with this key.
    pub(crate) fn known(&self, key: &[u8]) -> Option<u32> {
        let place = self.keys.find(self.key(key))?;
        self.nodes[place as usize].stated.then_some(place)
    }

    /// States that edges bring their nodes with them.
    pub(crate) fn imply_nodes(&mut self) {
        self.rules.implied = true;
    }

    /// States that of parallel edges there is one, with the weight of the last that has one.
    pub(crate) fn state_strict(&mut self) {
        self.rules.strict = true;
    }

    /// States that the nodes are the integers from 1 to `count`.
    pub(crate) fn state_count(&mut self, count: u64) {
        self.rules.count = Some(count);
    }

    /// States which weight edges have that do not say it, where others do.
    pub(crate) fn default_weight(&mut self, weight: f64) {
        self.rules.default_weight = Some(weight);
    }

    /// Notes something that a person should know, one sentence.
    pub(crate) fn note(&mut self, what: String) {
        self.notes.push(what);
    }

    /// Whether names are wanted, so that a label is of use.
    pub(crate) fn wants_labels(&self) -> bool {
        self.labelled && self.options.ids == IdKind::Names
    }

    /// Index in the possible weights of an attribute of edges, if it is one.
    pub(crate) fn weight_rank(&mut self, attribute: &[u8]) -> Option<usize> {
        self.attributes.rank(attribute)
    }

    /// Place of an attribute of edges that is reported where it holds numbers, and is no weight,
    /// whatever its name is.
    pub(crate) fn number_rank(&mut self, attribute: &[u8]) -> Option<usize> {
        self.attributes.rank_of_other(attribute)
    }

    /// Adds a node and returns its place.
    pub(crate) fn node(
        &mut self,
        key: &[u8],
        label: Option<&[u8]>,
        line: u64,
    ) -> Result<u32, InputError> {
        let known = self.place(key, line)?;
        let place = known as usize;
        let Node { line: first, stated, .. } = self.nodes[place];
        if stated {
            let what = format!("expected another id than that of the node in line {first}");
            return Err(self.wrong(line, what));
        }
        (self.nodes[place].line, self.nodes[place].stated) = (line, true);
        self.unread |= !self.wants_labels() && label.is_some_and(|label| label != key);
        if let Some(label) = label.filter(|label| !label.is_empty() && self.wants_labels()) {
            let label = std::str::from_utf8(label).map_err(|_| {
                self.wrong(line, "expected a label in UTF-8 (convert the file: iconv -t UTF-8)")
            })?;
            self.labels.push(label);
            self.nodes[place].label = self.labels.len() as u32;
            self.hold(label.len() as u64 + NODE_BYTES)?;
        }
        Ok(known)
    }

    /// Adds an edge.
    pub(crate) fn edge(&mut self, edge: &Described) -> Result<(), InputError> {
        let line = edge.line;
        let missing = |what: &str| self.wrong(line, format!("expected an edge with a {what}"));
        let source = edge.source.as_deref().ok_or_else(|| missing("source"))?;
        let target = edge.target.as_deref().ok_or_else(|| missing("target"))?;
        let ends = [self.place(source, line)?, self.place(target, line)?];
        self.edge_between(ends, edge)
    }

    /// Adds an edge whose ends have places.
    pub(crate) fn edge_between(&mut self, ends: Pair, edge: &Described) -> Result<(), InputError> {
        let bytes = self.attributes.push(self.edges.len(), &edge.weights, edge.line);
        self.edges.push(Edge::new(ends, edge.directed, edge.line));
        self.hold(bytes + size_of::<Edge>() as u64)
    }

    /// The place of a key, which is added where it is new.
    pub(crate) fn place(&mut self, key: &[u8], line: u64) -> Result<u32, InputError> {
        let key = self.key(key);
        let place = self.keys.place(key).map_err(|what| self.wrong(line, what))?;
        if place as usize == self.nodes.len() {
            self.nodes.push(Node { line, stated: false, label: 0 });
            match looks(key) {
                FieldKind::Name => self.named = true,
                FieldKind::Integer if plain(key) != key => {
                    self.padded.get_or_insert(place);
                }
                FieldKind::Integer | FieldKind::Number => {}
            }
            self.hold(key.len() as u64 + NODE_BYTES)?;
        }
        Ok(place)
    }

    /// A key as nodes are known by it: the value of an integer where the user says that ids are
    /// integers, else what is written.
    fn key<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        let is_stated = self.options.ids == IdKind::Integers && !self.options.guessed_ids;
        if is_stated { plain(key) } else { key }
    }

    /// Puts other places in the place of the ends of all edges: `places` has one for each of those.
    pub(crate) fn replace_ends(&mut self, places: &[u32]) {
        for number in 0..self.edges.len() {
            if let Some(edge) = self.edges.get(number) {
                self.edges
                    .set(number, Edge { ends: edge.ends.map(|end| places[end as usize]), ..edge });
            }
        }
    }

    /// Ends and lines of the edges so far.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Pair, u64)> {
        self.edges.iter().map(|edge| (edge.ends, edge.line()))
    }

    /// The line of an edge.
    fn line_of(&self, edge: usize) -> u64 {
        self.edges.get(edge).map_or(0, Edge::line)
    }

    /// Number of edges so far.
    pub(crate) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// Counts bytes that are held no longer.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Counts bytes that are held from now on.
    pub(crate) fn hold(&mut self, bytes: u64) -> Result<(), InputError> {
        self.bytes += bytes;
        match self.options.limits.memory_bytes_max {
            Some(allowed_bytes) if self.bytes > allowed_bytes => {
                Err(InputError::Budget { file: self.file.to_owned(), allowed_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// An integer without zeros in front: what formats whose ids are numbers mean by it.
pub(crate) fn plain(key: &[u8]) -> &[u8] {
    if !key.iter().all(u8::is_ascii_digit) {
        return key;
    }
    let zeros = key.iter().take_while(|byte| **byte == b'0').count();
    &key[zeros.min(key.len().saturating_sub(1))..]
}
