//! A small graph when all of it was read, and the reader around its parser.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use welter_model::edges::Pair;
use welter_model::ids::Names;

use super::bytes::Bytes;
use super::weights::Weights;
use super::{Document, Edge, Node};
use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids};
use crate::error::InputError;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::reading::FileColumn;
use crate::source::Source;
use crate::tables::ColumnRef;
use crate::text::Dictionary;
use crate::text::fields::{Spelling, parse_id};
use crate::words::show;

/// Edges of a part.
const PART_EDGES: usize = 1 << 20;

/// Decompressed bytes to guess from.
const SAMPLE_BYTES: usize = 1 << 20;

/// The reader of a format for small graphs.
pub(crate) struct DocumentReader {
    /// The format, for messages.
    pub(crate) name: &'static str,
    /// Whether nodes may have labels beside their keys.
    pub(crate) labelled: bool,
    /// Whether edges name their ends by attributes, `source` and `target`.
    pub(crate) attributes: bool,
    /// Reads a file into the graph.
    pub(crate) parse: fn(Bytes<'_>, &mut Document<'_>) -> Result<(), InputError>,
}

impl DocumentReader {
    /// Reads bytes, wherever they come from.
    pub(crate) fn read_bytes(
        &self,
        file: &str,
        bytes: Bytes<'_>,
        options: &ReadOptions,
        collector: &Collector,
    ) -> Result<(), InputError> {
        self.check_options(options)?;
        let mut small = Document::new(file, options, self.labelled);
        (self.parse)(bytes, &mut small)?;
        small.finish(collector)
    }

    /// The beginning of a source, and whether that is all. What is wrong with it is found when it
    /// is read.
    fn peek<'a>(
        &self,
        source: &'a Source,
        options: &'a ReadOptions,
    ) -> Result<(Document<'a>, bool, u64), InputError> {
        let sample = source.sample(SAMPLE_BYTES, &options.limits)?;
        let mut small = Document::new(source.name(), options, self.labelled);
        let parsed = (self.parse)(Bytes::of_slice(source.name(), &sample.bytes), &mut small);
        Ok((small, sample.whole && parsed.is_ok(), sample.stored))
    }
}

impl DocumentReader {
    /// Refuses options that mean nothing here.
    fn check_options(&self, options: &ReadOptions) -> Result<(), InputError> {
        let name = self.name;
        let what = if options.source.is_some() || options.target.is_some() {
            format!("{name} has no columns; leave out which one is the source or the target")
        } else if matches!(options.weight, WeightChoice::Column(ColumnRef::Number(_))) {
            format!("{name} has no columns; say the weight by the name of the attribute")
        } else {
            return Ok(());
        };
        Err(InputError::Options { what })
    }
}

impl Reader for DocumentReader {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        Ok(self.peek(source, context.options)?.0.id_kind())
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let mut unpacked = source.unpack(&context.options.limits)?;
        let fill = move |buffer: &mut [u8]| {
            let stored = unpacked.stored();
            let count = unpacked.read(buffer)?;
            context.advance(unpacked.stored() - stored)?;
            Ok(count)
        };
        let bytes = Bytes::new(source.name(), Box::new(fill));
        if self.attributes {
            let end = |name: &str| Some(FileColumn { number: None, name: Some(name.to_owned()) });
            collector.describe(|file| (file.source, file.target) = (end("source"), end("target")));
        }
        self.read_bytes(source.name(), bytes, context.options, collector)
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        self.check_options(options)?;
        let (mut small, whole, stored) = self.peek(source, options)?;
        small.merge_parallel()?;
        let seen = small.arcs();
        let scaled =
            |bytes: u64| (u128::from(seen) * u128::from(bytes) / u128::from(stored.max(1))) as u64;
        Ok(Estimate {
            bytes: source.bytes(),
            edges: if whole { Some(seen) } else { source.bytes().map(scaled) },
            exact: whole,
            slots: whole.then_some(small.rules.count.unwrap_or(small.nodes.len() as u64)),
            slots_seen: None,
            ids: small.id_kind(),
            weighted: small.attributes.any(),
            undirected: options.undirected.or(small.undirected()),
        })
    }
}

impl Document<'_> {
    pub(super) fn is_directed(&self, edge: Edge) -> bool {
        edge.directed().or(self.directed).unwrap_or(true)
    }

    /// Whether some edges are directed and others are not, so that all become arcs.
    fn mixed(&self) -> bool {
        let arcs = self.edges.iter().filter(|edge| self.is_directed(*edge)).count();
        0 < arcs && arcs < self.edges.len()
    }

    /// Edges once those of both kinds are arcs.
    fn arcs(&self) -> u64 {
        let mixed = self.mixed();
        self.edges.iter().map(|edge| 1 + u64::from(mixed && self.is_double(edge))).sum()
    }

    /// Whether an edge becomes two arcs where there are edges of both kinds.
    fn is_double(&self, edge: Edge) -> bool {
        !self.is_directed(edge) && edge.ends[0] != edge.ends[1]
    }

    /// Whether edges stand for both directions, where the file says something of it.
    fn undirected(&self) -> Option<bool> {
        if self.edges.is_empty() {
            return self.directed.map(|directed| !directed);
        }
        let is_stated = |edge: Edge| edge.directed().or(self.directed).is_some();
        let any = self.edges.iter().any(is_stated);
        any.then(|| !self.edges.iter().any(|edge| self.is_directed(edge)))
    }

    fn id_kind(&self) -> IdKind {
        match self.options.ids {
            IdKind::Auto if self.named || self.padded.is_some() => IdKind::Names,
            IdKind::Auto => IdKind::Integers,
            kind => kind,
        }
    }

    /// Hands all over.
    fn finish(mut self, collector: &Collector) -> Result<(), InputError> {
        self.check_ends()?;
        self.merge_parallel()?;
        let weights = self.take_weights()?;
        let weight = weights.as_ref().map(|weights| weights.name.clone());
        let ids = self.options.ids;
        collector.describe(|file| {
            file.weight = weight.map(|name| FileColumn { number: None, name: Some(name) });
            file.ids = ids;
        });
        let mixed = self.mixed();
        if mixed {
            collector.note("holds edges of both kinds; undirected ones became two arcs each");
        }
        match self.undirected() {
            Some(undirected) => collector.state_undirected(undirected),
            None if self.options.undirected.is_some() => {}
            None => collector.note(
                "does not say whether edges are directed, and is read as if \
                                    they were (--undirected: they are not)",
            ),
        }
        if self.unread && self.labelled {
            collector
                .note("has labels beside ids, which are not read (--ids strings: labels are ids)");
        }
        self.note_padded();
        let names = (ids == IdKind::Names).then(|| self.names()).transpose()?;
        self.notes.iter().for_each(|note| collector.note(note));
        let ids = if names.is_none() { self.integers()? } else { Vec::new() };
        let count = self.arcs() as usize;
        let edges = std::mem::take(&mut self.edges).drain();
        let mut arcs = Arcs {
            edges,
            weights: weights.map(Weights::drain),
            is_double: |edge: Edge| mixed && self.is_double(edge),
        };
        if let Some(names) = names {
            collector.state(DeclaredVertices::Names(names.clone()))?;
            let (pairs, weights) = arcs.take(count);
            return collector.push(0, EdgeRun { ids: Ids::Names { names, pairs }, weights });
        }
        for number in 0..count.div_ceil(PART_EDGES) as u64 {
            let (pairs, weights) = arcs.take(PART_EDGES);
            let pairs = pairs.into_iter().map(|pair| pair.map(|place| ids[place as usize]));
            collector.push(number, EdgeRun { ids: Ids::integers(pairs.collect()), weights })?;
        }
        match self.rules.count {
            Some(count) => collector.state(DeclaredVertices::Range { first: 1, count }),
            None => collector.state(stated(ids)),
        }
    }

    /// Says why ids are strings that are all written with digits.
    fn note_padded(&mut self) {
        let guessed = self.options.ids == IdKind::Names && self.options.guessed_ids;
        if let Some(place) = self.padded.filter(|_| guessed && !self.named) {
            let id = show(self.keys.names().get(place as usize).as_bytes());
            self.note(format!(
                "ids are read as strings, because {id} is not an integer as it is printed (--ids \
                 integers takes it for one)"
            ));
        }
    }

    /// Refuses edges of nodes that are not there.
    fn check_ends(&self) -> Result<(), InputError> {
        if self.rules.implied {
            return Ok(());
        }
        if self.rules.count.is_some() {
            return self.check_count();
        }
        let unstated = |place: &u32| !self.nodes[*place as usize].stated;
        let unknown = self
            .edges
            .iter()
            .find_map(|edge| Some((edge.line(), *edge.ends.iter().find(|end| unstated(end))?)));
        let Some((line, place)) = unknown else { return Ok(()) };
        let what = format!(
            "expected an edge between nodes of the graph, found {:?}, which is none",
            self.keys.names().get(place as usize)
        );
        Err(self.wrong(line, what))
    }

    /// Refuses nodes and edges beyond the stated number of nodes.
    fn check_count(&self) -> Result<(), InputError> {
        let count = self.rules.count.unwrap_or(0);
        let keys = self.keys.names();
        let within = |place: u32| {
            let id = parse_id(keys.get(place as usize).as_bytes());
            id.is_ok_and(|id| (1..=count).contains(&id))
        };
        let nodes = (0..).zip(&self.nodes).filter(|(_, node)| node.stated);
        let nodes = nodes.map(|(place, node)| (node.line, place));
        let ends = self.edges.iter().flat_map(|edge| edge.ends.map(|end| (edge.line(), end)));
        let beyond = nodes.chain(ends).filter(|(_, place)| !within(*place)).min();
        if let Some((line, place)) = beyond {
            let found = keys.get(place as usize);
            let what = format!("expected a vertex from 1 to {count}, found {found:?}");
            return Err(self.wrong(line, what));
        }
        let listed = self.nodes.iter().filter(|node| node.stated).count() as u64;
        if self.options.ids == IdKind::Names && listed < count {
            let what = format!(
                "expected a label for each of {count} vertices, found {listed} (--ids integers \
                 reads their numbers)"
            );
            return Err(InputError::content(self.file, what));
        }
        Ok(())
    }

    /// Names by place: labels, where they are known and tell nodes apart.
    fn names(&mut self) -> Result<Names, InputError> {
        let keys = std::mem::take(&mut self.keys).into_names();
        if self.labels.is_empty() {
            return Ok(keys);
        }
        let mut names = Dictionary::default();
        for (place, node) in self.nodes.iter().enumerate() {
            let name = match node.label.checked_sub(1) {
                Some(label) => self.labels.get(label as usize),
                None => keys.get(place),
            };
            let known = names.place(name.as_bytes()).map_err(|what| self.wrong(node.line, what))?;
            if (known as usize) < place {
                let note = self.ambiguous(name, node.line)?;
                self.note(note);
                return Ok(keys);
            }
        }
        Ok(names.into_names())
    }

    /// Note for a person where labels do not tell nodes apart and ids are taken: an error if the
    /// user asked for labels.
    fn ambiguous(&self, label: &str, line: u64) -> Result<String, InputError> {
        if !self.options.guessed_ids {
            let what = format!(
                "expected labels that tell nodes apart, found {label:?} for the second time; read \
                 ids as integers"
            );
            return Err(self.wrong(line, what));
        }
        Ok(format!(
            "has labels that do not tell nodes apart, such as {label:?}; ids are read instead"
        ))
    }

    /// Integers by place.
    fn integers(&mut self) -> Result<Vec<u64>, InputError> {
        let keys = std::mem::take(&mut self.keys).into_names();
        let id = |(key, node): (&str, &Node)| {
            let id = Spelling::Printed.parse(key.as_bytes());
            id.map_err(|what| self.wrong(node.line, what))
        };
        keys.iter().zip(&self.nodes).map(id).collect()
    }
}

/// The arcs of edges in their order, with weights where there are some: some edges are two.
struct Arcs<E, W, D> {
    edges: E,
    weights: Option<W>,
    is_double: D,
}

impl<E, W, D> Arcs<E, W, D>
where
    E: Iterator<Item = Edge>,
    W: Iterator<Item = f64>,
    D: Fn(Edge) -> bool,
{
    /// The next ones, `most` or one more.
    fn take(&mut self, most: usize) -> (Vec<Pair>, Option<Vec<f64>>) {
        let mut pairs = Vec::with_capacity(most + 1);
        let mut kept = self.weights.as_ref().map(|_| Vec::with_capacity(most + 1));
        while pairs.len() < most
            && let Some(edge) = self.edges.next()
        {
            let [source, target] = edge.ends;
            let both = (self.is_double)(edge);
            pairs.push([source, target]);
            pairs.extend(both.then_some([target, source]));
            let weight = self.weights.as_mut().and_then(Iterator::next);
            if let (Some(kept), Some(weight)) = (&mut kept, weight) {
                kept.extend(std::iter::repeat_n(weight, 1 + usize::from(both)));
            }
        }
        (pairs, kept)
    }
}

/// The vertices as a range, where they are one.
fn stated(ids: Vec<u64>) -> DeclaredVertices {
    let first = ids.iter().copied().min().unwrap_or(0);
    let last = ids.iter().copied().max().unwrap_or(0);
    let distinct: HashSet<u64, RandomState> = ids.iter().copied().collect();
    debug_assert_eq!(distinct.len(), ids.len());
    if !ids.is_empty() && last - first == ids.len() as u64 - 1 {
        return DeclaredVertices::Range { first, count: ids.len() as u64 };
    }
    DeclaredVertices::Integers(ids)
}
