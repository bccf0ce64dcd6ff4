//! Edges that go again: parallel ones of a graph that has none by what it says of itself, and the
//! mirrors of undirected ones.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use foldhash::fast::RandomState;
use welter_model::edges::Pair;

use super::Document;
use crate::error::InputError;

/// Bytes that an edge takes in the map.
const ENTRY_BYTES: u64 = 32;

impl Document<'_> {
    /// Leaves edges with such ends.
    pub(crate) fn keep_edges(&mut self, stays: impl Fn(Pair) -> bool) {
        let mut kept = 0;
        for place in 0..self.edges.len() {
            let Some(edge) = self.edges.get(place) else { break };
            if stays(edge.ends) {
                self.edges.set(kept, edge);
                self.attributes.copy(place, kept);
                kept += 1;
            } else {
                self.attributes.drop(place);
            }
        }
        self.edges.truncate(kept);
        self.attributes.truncate(kept);
    }

    /// Keeps the first of parallel edges, each with the weight of the last one that has one; an
    /// undirected edge is parallel to its mirror.
    pub(super) fn merge_parallel(&mut self) -> Result<(), InputError> {
        if !self.rules.strict {
            return Ok(());
        }
        self.hold(ENTRY_BYTES * self.edges.len() as u64)?;
        let mut first: HashMap<(bool, Pair), usize, RandomState> = HashMap::default();
        let (mut kept, count) = (0, self.edges.len());
        for place in 0..count {
            let Some(edge) = self.edges.get(place) else { break };
            let directed = self.is_directed(edge);
            let [source, target] = edge.ends;
            let ends = if directed { edge.ends } else { [source.min(target), source.max(target)] };
            match first.entry((directed, ends)) {
                Entry::Occupied(known) => self.attributes.merge(place, *known.get()),
                Entry::Vacant(free) => {
                    free.insert(kept);
                    self.edges.set(kept, edge);
                    self.attributes.copy(place, kept);
                    kept += 1;
                }
            }
        }
        let merged = count - kept;
        self.edges.truncate(kept);
        self.attributes.truncate(kept);
        if merged > 0 {
            self.note(format!("is strict; edges that were merged with others: {merged}"));
        }
        Ok(())
    }
}
