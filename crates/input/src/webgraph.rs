//! WebGraph: the compressed graphs (`BVGraph`) in which crawls of the web are handed around.
//!
//! `NAME.properties` is named as the input; it says how `NAME.graph`, beside it, is coded
//! ([`nodes`] draws that). Files of offsets, which serve random access, are not needed. Vertices
//! are the numbers from 0 on, with or without edges; edges are directed and have no weights. What
//! can be coded in many ways is read in those that published graphs use: outdegrees, references
//! and residuals in any code of [`bits`], blocks and intervals in γ, bits in big-endian order.
//! Others are refused by name.
//!
//! Each list of successors may refer to lists before it, so one thread decodes and nothing is
//! skipped.
//!
//! Invariant: the stated numbers of vertices and edges are checked against the size of the file
//! before anything is decoded, and against what was decoded while it is. Checked in `check_counts`.
//! Tested by `intervals_of_everything_in_a_few_bits_are_no_bomb` and
//! `damaged_lists_are_refused_with_their_place`.

mod bits;
mod nodes;
mod properties;

#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids};
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::source::stored::{StoredBytes, Whereabouts};
use crate::source::{Source, stored};
use bits::Bits;
use nodes::Lists;
use properties::Properties;

/// The reader of WebGraph's graphs.
pub(crate) struct WebGraph;

/// Edges of a part.
const PART_EDGES: usize = 1 << 20;

/// Bytes of the properties that are looked at.
const PROPERTIES_BYTES: usize = 64 << 10;

/// A graph whose properties were understood.
struct OpenGraph {
    properties: Properties,
    /// Name of the file with the lists.
    name: String,
    file: StoredBytes,
    bytes: u64,
}

impl OpenGraph {
    fn new(source: &Source, options: &ReadOptions) -> Result<Self, InputError> {
        let refuse = |what: &str| Err(InputError::content(source.name(), what));
        if options.ids == IdKind::Names {
            return refuse("expected names as ids, found a graph of WebGraph, which has numbers");
        }
        if let WeightChoice::Column(_) = options.weight {
            return refuse("expected weights, found a graph of WebGraph, which has none");
        }
        if source.bytes().is_none() {
            return refuse("the properties of a graph cannot be read from a pipe; name the file");
        }
        let text = source.sample(PROPERTIES_BYTES, &options.limits)?;
        let properties = Properties::parse(source.name(), &text.bytes)?;
        let path: PathBuf = source.path().with_extension("graph");
        let name = path.display().to_string();
        let unopened = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => {
                let what = format!("no such file, which {} describes", source.name());
                InputError::Missing { file: name.clone(), what }
            }
            _ => InputError::io(&name, "open", error),
        };
        let file = Whereabouts::of(&path)?.open().map_err(unopened)?;
        let bytes = file.bytes().map_err(unopened)?;
        let opened = Self { properties, name, file, bytes };
        opened.check_counts(source.name(), options)?;
        Ok(opened)
    }

    /// Refuses numbers that a file of this size cannot hold.
    fn check_counts(&self, file: &str, options: &ReadOptions) -> Result<(), InputError> {
        let Properties { nodes, arcs, .. } = self.properties;
        // A vertex takes a bit at least.
        if nodes > self.bytes.saturating_mul(8) {
            let what = format!(
                "expected at most 8 vertices a byte of {} with its {} bytes, found {nodes} stated",
                self.name, self.bytes
            );
            return Err(InputError::content(file, what));
        }
        let limits = &options.limits;
        let allowed = self.bytes.saturating_mul(limits.ratio_max).max(limits.ratio_free_bytes);
        if arcs.saturating_mul(8) > allowed {
            let what = format!(
                "states {arcs} edges, more than {} times the {} bytes of {}, \
                 which no graph is compressed to",
                limits.ratio_max, self.bytes, self.name
            );
            return Err(InputError::content(file, what));
        }
        Ok(())
    }
}

impl Reader for WebGraph {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let OpenGraph { properties, name, file, bytes } = OpenGraph::new(source, context.options)?;
        let ahead = stored::ahead(&context.options.limits);
        let mut file = file.onward(0..bytes, ahead).summed();
        context.phase.set_total(source.bytes().unwrap_or(0) + bytes);
        let fill = |buffer: &mut [u8]| loop {
            match file.read(buffer) {
                Ok(count) => return context.advance(count as u64).map(|()| count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(InputError::io(&name, "read", error)),
            }
        };
        let bits = Bits::new(Box::new(fill));
        read(&name, properties, bits, context.options, collector)
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let opened = OpenGraph::new(source, options)?;
        Ok(Estimate {
            bytes: source.bytes().map(|bytes| bytes + opened.bytes),
            edges: Some(opened.properties.arcs),
            exact: true,
            slots: Some(opened.properties.nodes),
            slots_seen: None,
            ids: IdKind::Integers,
            weighted: false,
            undirected: options.undirected.or(Some(false)),
        })
    }
}

/// Reads all lists, wherever their bits are.
fn read(
    name: &str,
    properties: Properties,
    bits: Bits<'_>,
    options: &ReadOptions,
    collector: &Collector,
) -> Result<(), InputError> {
    collector.state(DeclaredVertices::Range { first: 0, count: properties.nodes })?;
    collector.state_undirected(false);
    let mut lists = Lists::new(properties, bits, options.limits.memory_bytes_max);
    let (mut pairs, mut number) = (Vec::new(), 0);
    for node in 0..properties.nodes as u32 {
        let list = match lists.next() {
            Ok(list) => list,
            Err(fault) => return Err(lists.explain(name, node, fault)),
        };
        for target in list {
            pairs.push([node, *target]);
        }
        if pairs.len() >= PART_EDGES {
            let ids = Ids::narrow(std::mem::take(&mut pairs));
            collector.push(number, EdgeRun { ids, weights: None })?;
            number += 1;
        }
    }
    let missing = lists.left();
    if missing > 0 {
        let what = format!("expected {} edges as stated, found {missing} fewer", properties.arcs);
        return Err(InputError::content(name, what));
    }
    collector.push(number, EdgeRun { ids: Ids::narrow(pairs), weights: None })
}

/// Reads bytes as the lists of a graph, for the fuzz target.
pub(crate) fn read_for_fuzzing(
    choice: u8,
    bytes: &[u8],
    options: &ReadOptions,
    collector: &Collector,
) -> Result<(), InputError> {
    let properties = Properties::for_fuzzing(choice, bytes.len() as u64);
    read("fuzz", properties, Bits::of_slice(bytes), options, collector)
}
