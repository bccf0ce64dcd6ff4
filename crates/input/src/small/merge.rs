//! Parallel edges of a graph that has none by what it says of itself, merged into one.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use foldhash::fast::RandomState;
use welter_model::edges::Pair;

use super::Small;
use crate::error::InputError;

/// Bytes that an edge takes in the map.
const ENTRY_BYTES: u64 = 32;

impl Small<'_> {
    /// Keeps the first of parallel edges, each with the weight of the last one that has one; an
    /// undirected edge is parallel to its mirror.
    pub(super) fn merge_parallel(&mut self) -> Result<(), InputError> {
        if !self.rules.strict {
            return Ok(());
        }
        self.hold(ENTRY_BYTES * self.edges.len() as u64)?;
        let mut first: HashMap<(bool, Pair), usize, RandomState> = HashMap::default();
        let mut kept = 0;
        for place in 0..self.edges.len() {
            let edge = self.edges[place];
            let directed = self.is_directed(&edge);
            let [source, target] = edge.ends;
            let ends = if directed { edge.ends } else { [source.min(target), source.max(target)] };
            let into = match first.entry((directed, ends)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(free) => {
                    free.insert(kept);
                    self.edges[kept] = edge;
                    for weights in &mut self.weights {
                        weights.values[kept] = weights.values[place];
                    }
                    kept += 1;
                    continue;
                }
            };
            for weights in &mut self.weights {
                let [old, new] = [into, place].map(|place| weights.values[place]);
                if !new.is_nan() {
                    weights.numbers -= usize::from(!old.is_nan());
                    weights.values[into] = new;
                }
            }
        }
        let merged = self.edges.len() - kept;
        self.edges.truncate(kept);
        self.weights.iter_mut().for_each(|weights| weights.values.truncate(kept));
        if merged > 0 {
            self.note(format!("is strict; edges that were merged with others: {merged}"));
        }
        Ok(())
    }
}
