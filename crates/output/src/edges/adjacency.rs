//! Formats that list the neighbours of each vertex: METIS and adjacency lists.
//!
//! ```text
//! METIS, vertices 1 to V            adjacency list, ids as they came in
//! 3 2 001                           7 8 9
//! 2 5  3 1                          8
//! 1 5                               9 7
//! 1 1
//! ```
//!
//! Edges have to be sorted by vertex for that, which is done in memory: 4 bytes an arc, 8 more
//! for its weight, and 8 bytes a vertex, checked against the budget before any is taken. Neighbours
//! keep the order of the edges. Both arcs of an undirected edge are listed. METIS takes edges that
//! are directed too, if each has one back that weighs the same; their neighbours come ascending.

use std::io::Write;

use super::list::Edges;
use super::text;
use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::Job;
use crate::text::{integer, write};

/// Vertices whose lines are made at once.
const BLOCK_SLOTS: u64 = 1 << 14;

/// Refuses what adjacency lists cannot say.
pub(super) fn check_lists(edges: &Edges<'_>, name: &str) -> Result<(), OutputError> {
    text::check_snap(edges, name)?;
    if edges.weighted {
        let what = "adjacency lists have no weights; leave them out, or write another format";
        return Err(OutputError::unfit(name, what));
    }
    Ok(())
}

/// The arcs of each slot.
struct Lists {
    /// Where the arcs of a slot begin; one more at the end.
    starts: Vec<u64>,
    targets: Vec<u32>,
    /// Empty where there are none.
    weights: Vec<f64>,
    loops: u64,
}

impl Lists {
    fn of(edges: &Edges<'_>, job: &Job<'_>) -> Result<Self, OutputError> {
        let slots = edges.slots(job)?;
        let arcs = edges.stream.edges().saturating_mul(if edges.undirected { 2 } else { 1 });
        let arc_bytes = if edges.weighted { 12 } else { 4 };
        let needed_bytes = arcs.saturating_mul(arc_bytes).saturating_add((slots + 2) * 8);
        if let Some(allowed_bytes) = edges.memory_bytes_max.filter(|max| needed_bytes > *max) {
            return Err(OutputError::Budget {
                name: job.name.to_owned(),
                needed_bytes,
                allowed_bytes,
            });
        }
        let mut starts = vec![0_u64; slots as usize + 2];
        let mut loops = 0;
        // Counted two places further on: putting the arcs of a slot where they belong moves its
        // start to that of the next one.
        edges.visit_all(job, |batch| {
            for [source, target] in batch.pairs {
                starts[*source as usize + 2] += 1;
                loops += u64::from(source == target);
                if edges.undirected && source != target {
                    starts[*target as usize + 2] += 1;
                }
            }
            Ok(())
        })?;
        for slot in 2..starts.len() {
            starts[slot] += starts[slot - 1];
        }
        let arcs = starts.last().copied().unwrap_or(0) as usize;
        let mut targets = vec![0; arcs];
        let mut weights = vec![0.0; if edges.weighted { arcs } else { 0 }];
        edges.visit_all(job, |batch| {
            for (edge, [source, target]) in batch.pairs.iter().enumerate() {
                let mut put = |from: u32, to: u32| {
                    let place = &mut starts[from as usize + 1];
                    targets[*place as usize] = to;
                    if let Some(given) = batch.weights {
                        weights[*place as usize] = given[edge];
                    }
                    *place += 1;
                };
                put(*source, *target);
                if edges.undirected && source != target {
                    put(*target, *source);
                }
            }
            Ok(())
        })?;
        starts.pop();
        Ok(Self { starts, targets, weights, loops })
    }

    fn slots(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// Places of the arcs of a slot.
    fn arcs(&self, slot: u64) -> std::ops::Range<usize> {
        self.starts[slot as usize] as usize..self.starts[slot as usize + 1] as usize
    }

    /// Sorts the list of each slot, and finds an arc that has none back with its weight, if any.
    ///
    /// Slots are visited ascending, and so are the arcs of each; so the arcs that lead back to a
    /// slot are found ascending too, and one place a slot says which comes next.
    fn sort_and_find_one_way(&mut self) -> Option<[u32; 2]> {
        for slot in 0..self.slots() {
            let arcs = self.arcs(slot);
            if self.weights.is_empty() {
                self.targets[arcs].sort_unstable();
                continue;
            }
            let weighted = self.targets[arcs.clone()].iter().zip(&self.weights[arcs.clone()]);
            let mut sorted: Vec<(u32, f64)> = weighted.map(|(to, weight)| (*to, *weight)).collect();
            sorted.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            for (place, (to, weight)) in arcs.zip(sorted) {
                (self.targets[place], self.weights[place]) = (to, weight);
            }
        }
        let mut next = self.starts.clone();
        for from in 0..self.slots() {
            for arc in self.arcs(from) {
                let to = self.targets[arc];
                let back = next[to as usize] as usize;
                let found = self.arcs(to.into()).end > back && self.targets[back] == from as u32;
                let weigh = |place: usize| self.weights.get(place).map(|weight| weight.to_bits());
                if !found || weigh(arc) != weigh(back) {
                    return Some([from as u32, to]);
                }
                next[to as usize] += 1;
            }
        }
        None
    }

    /// Writes a header and a line a slot.
    fn write(
        &self,
        sink: &mut (dyn Write + Send),
        compression: Compression,
        header: &str,
        job: &Job<'_>,
        append: impl Fn(u64, &mut Vec<u8>) + Sync,
    ) -> Result<(), OutputError> {
        let blocks = self.slots().div_ceil(BLOCK_SLOTS);
        write(job, sink, compression, header.as_bytes(), blocks, |block, index, turn| {
            let first = index * BLOCK_SLOTS;
            for slot in first..self.slots().min(first + BLOCK_SLOTS) {
                append(slot, &mut block.text);
                crate::text::hand_on_if_large(block, turn)?;
            }
            Ok(())
        })
    }
}

pub(super) fn write_metis(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let mut lists = Lists::of(edges, job)?;
    if lists.loops > 0 {
        let what = format!("METIS holds no self-loops, found {}; drop them first", lists.loops);
        return Err(OutputError::unfit(job.name, what));
    }
    let whole = |weight: &f64| weight.fract() == 0.0 && (1.0..9e15).contains(weight);
    if let Some(other) = lists.weights.iter().find(|weight| !whole(weight)) {
        let what = format!("METIS has positive integers as weights, found {other}");
        return Err(OutputError::unfit(job.name, what));
    }
    let one_way = if edges.undirected { None } else { lists.sort_and_find_one_way() };
    if let Some(pair) = one_way {
        let [from, to] = pair.map(|slot| edges.ids.integer(slot));
        let what = format!(
            "METIS holds undirected graphs, and the edge from {from} to {to} has none back that \
             weighs the same; say --undirected if each edge stands for both directions"
        );
        return Err(OutputError::unfit(job.name, what));
    }
    debug_assert!(lists.targets.len().is_multiple_of(2), "each edge is two arcs");
    let format = if edges.weighted { " 001" } else { "" };
    let header = format!("{} {}{format}\n", lists.slots(), lists.targets.len() / 2);
    lists.write(sink, compression, &header, job, |slot, line| {
        for (number, arc) in lists.arcs(slot).enumerate() {
            if number > 0 {
                line.push(b' ');
            }
            integer(line, u64::from(lists.targets[arc]) + 1);
            if edges.weighted {
                line.push(b' ');
                integer(line, lists.weights[arc] as u64);
            }
        }
        line.push(b'\n');
    })
}

pub(super) fn write_lists(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let lists = Lists::of(edges, job)?;
    lists.write(sink, compression, "", job, |slot, line| {
        let arcs = lists.arcs(slot);
        // Where not all slots are vertices, one that has a line would become one.
        if arcs.is_empty() && !edges.all_present {
            return;
        }
        edges.ids.append(line, slot as u32, b' ');
        for arc in arcs {
            line.push(b' ');
            edges.ids.append(line, lists.targets[arc], b' ');
        }
        line.push(b'\n');
    })
}
