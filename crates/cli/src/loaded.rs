//! A graph that was read, before it is ingested.

use welter_input::FileSummary;
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;

/// A graph's edges, with the way back to its ids.
pub(crate) struct Loaded {
    /// Edges as pairs of slots.
    pub(crate) edges: Box<dyn EdgeStream>,
    /// Ids by slot.
    pub(crate) ids: IdMap,
    /// Files that were read, in the order of the inputs: name and format.
    pub(crate) files: Vec<(String, String)>,
    /// Summaries of how each file was read.
    pub(crate) readings: Vec<FileSummary>,
    /// Bytes as stored, where they are.
    pub(crate) bytes: Option<u64>,
    /// Whether each edge stands for both directions: what the user said, else what formats say.
    pub(crate) undirected: bool,
    /// Notes for a person about how it was read.
    pub(crate) notes: Vec<String>,
}
