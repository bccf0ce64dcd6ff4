//! METIS graphs: a line a vertex, with its neighbours.
//!
//! ```text
//! % a comment                 no vertex, wherever it stands
//! 3 2 11 1                    vertices, edges, format, weights a vertex
//! 5 2 0.5 3 7                 vertex 1: its weight 5; edges to 2 and 3 with theirs
//! 4 1 0.5                     vertex 2
//! 6 1 7                       vertex 3; a blank line is a vertex without edges
//! ```
//!
//! The digits of the format say which weights follow, from the right: weights of edges, weights of
//! vertices (as many as the fourth number says, else one), sizes of vertices. Weights and sizes of
//! vertices are skipped.
//!
//! Every edge stands at both of its ends, so the file lists arcs, and is read as those; it must
//! list twice as many as the header says. There is a second reading, of the GAP suite, in which the
//! header counts arcs: a file that lists as many as it says is taken for that. There, and in the
//! 10th DIMACS challenge, format 100 means something else than sizes; numbers are taken for sizes
//! only where the count of edges agrees with that.
//!
//! Vertices are numbered by their lines, so a part of a file does not know its vertices before all
//! earlier parts were read: parts count from 1, are set aside, and are put right at the end.

#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids, SLOTS_MAX, count_fits};
use crate::columns;
use crate::error::InputError;
use crate::head::{BoundedCount, Head, plausible, sample};
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::temp::parts::Aside;
use crate::text::allowed_ids::AllowedIds;
use crate::text::fields::{parse_id, parse_weight};
use crate::text::lines::Lines;
use crate::text::rows::Rows;
use crate::text::workers;
use crate::words::{show, words};

/// Bytes of the shortest arc: a digit and what separates it.
const ARC_BYTES_MIN: u64 = 2;

/// The reader of METIS files.
pub(crate) struct Metis;

/// Statements of the header.
#[derive(Clone, Copy, Debug)]
struct Header {
    vertices: u64,
    edges: u64,
    /// Format 100, where the first number of a line may be a size or a neighbour.
    ambiguous: bool,
    /// Numbers before the neighbours of a vertex.
    skipped: usize,
    /// Whether edges have weights.
    weighted: bool,
    /// Byte at which the next line begins.
    start: usize,
}

impl Reader for Metis {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let header = header(source, context.options)?;
        let weighted = columns::fixed(source.name(), header.weighted, context.options)?;
        collector.state(DeclaredVertices::Range { first: 1, count: header.vertices })?;
        collector.state_undirected(false);
        let sizes = if header.ambiguous { header.vertices } else { 0 };
        let arcs = BoundedCount::new(header.edges.saturating_mul(2).saturating_add(sizes));
        let file = source.name();
        let graph = Graph { header, weighted, arcs, file, parts: Mutex::default() };
        workers::read(source, &graph, context, collector)?;
        graph.finish(collector)
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let header = header(source, options)?;
        Ok(Estimate {
            bytes: source.bytes(),
            edges: Some(header.edges.saturating_mul(2)),
            exact: true,
            slots: Some(header.vertices),
            slots_seen: None,
            ids: IdKind::Integers,
            weighted: columns::fixed(source.name(), header.weighted, options)?,
            undirected: Some(false),
        })
    }
}

/// Reads up to the first line of a vertex.
fn header(source: &Source, options: &ReadOptions) -> Result<Header, InputError> {
    let sample = sample(source, &options.limits)?;
    let mut head = Head::new(source.name(), &sample);
    let line = loop {
        let line = head.next().ok_or_else(|| head.missing("a line with vertices and edges"))?;
        if !line.starts_with(b"%") && words(line).next().is_some() {
            break line;
        }
    };
    let stated = header_line(line).map_err(|what| head.error(what))?;
    let fits = count_fits(stated.vertices)
        .and_then(|()| plausible(source, &options.limits, stated.vertices, 1, "vertices"))
        .and_then(|()| plausible(source, &options.limits, stated.edges, ARC_BYTES_MIN, "edges"));
    fits.map_err(|what| head.error(what))?;
    Ok(Header { start: head.at(), ..stated })
}

fn header_line(line: &[u8]) -> Result<Header, String> {
    let fields: Vec<&[u8]> = words(line).take(5).collect();
    let wrong = || {
        format!(
            "expected vertices, edges, and perhaps a format of digits 0 and 1, found {}",
            show(line)
        )
    };
    let number = |place: usize| match fields.get(place) {
        Some(field) => parse_id(field).map(Some).map_err(|_| wrong()),
        None => Ok(None),
    };
    let (Some(vertices), Some(edges)) = (number(0)?, number(1)?) else { return Err(wrong()) };
    let format = number(2)?.unwrap_or(0);
    let weights = number(3)?;
    let [sizes, vertex, edge] = [format / 100, format / 10 % 10, format % 10];
    if sizes > 1 || vertex > 1 || edge > 1 || fields.len() > 4 {
        return Err(wrong());
    }
    let weights = match (vertex, weights) {
        (0, None | Some(0 | 1)) => 0,
        (1, None) => 1,
        (1, Some(weights @ 1..=1000)) => weights as usize,
        _ => {
            return Err(format!(
                "expected weights a vertex that go with the format, found {}",
                show(line)
            ));
        }
    };
    let ambiguous = format == 100;
    let skipped = weights + usize::from(sizes == 1 && !ambiguous);
    Ok(Header { vertices, edges, ambiguous, skipped, weighted: edge == 1, start: 0 })
}

/// The lines of vertices.
struct Graph<'a> {
    header: Header,
    /// Whether weights are kept.
    weighted: bool,
    /// Arcs found so far.
    arcs: BoundedCount,
    file: &'a str,
    /// Parts that were read: their numbers, lines, and arcs from vertices that count from 1.
    parts: Mutex<Vec<(u64, u64, Aside)>>,
}

impl Lines for Graph<'_> {
    fn start(&self) -> usize {
        self.header.start
    }

    fn rows(&self) -> Rows {
        let known = if self.header.ambiguous {
            AllowedIds::Any
        } else {
            AllowedIds::Range(1..self.header.vertices + 1)
        };
        Rows::new(false, self.header.weighted, known)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        if line.starts_with(b"%") {
            return Ok(());
        }
        rows.vertex_lines += 1;
        let vertex = rows.vertex_lines;
        let mut fields = words(line).peekable();
        if fields.peek().is_none() {
            return Ok(());
        }
        for _ in 0..self.header.skipped {
            let skipped = fields.next().ok_or("expected the weights of the vertex, found fewer")?;
            parse_weight(skipped)?;
        }
        while let Some(field) = fields.next() {
            let neighbour = parse_id(field)?;
            rows.known.check(neighbour)?;
            if rows.weights.is_some() {
                let cut = if cut { "; the file may be cut short" } else { "" };
                let weight = fields.next().ok_or_else(|| {
                    format!("expected a weight after the last neighbour, found none{cut}")
                })?;
                let weight = rows.weight(weight)?;
                rows.weights.get_or_insert_default().push(weight);
            }
            rows.ids.push(vertex, neighbour);
        }
        Ok(())
    }

    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let many = |what| InputError::content(self.file, format!("expected neighbours, {what}"));
        self.arcs.add(rows.len()).map_err(many)?;
        let lines = rows.vertex_lines;
        let mut part = rows.into_part();
        if !self.weighted {
            part.weights = None;
        }
        let part = collector.set_aside(part)?;
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.push((number, lines, part));
        Ok(())
    }
}

impl Graph<'_> {
    /// Checks what was found against the header, and numbers the vertices of all parts.
    fn finish(self, collector: &Collector) -> Result<(), InputError> {
        let Header { vertices, edges, ambiguous, .. } = self.header;
        let refuse = |what: String| Err(InputError::content(self.file, what));
        let mut parts = self.parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|(number, ..)| *number);
        let lines: u64 = parts.iter().map(|(_, lines, _)| lines).sum();
        if lines < vertices {
            return refuse(format!("expected {vertices} lines of vertices, found {lines}"));
        }
        let mut before = 0;
        let mut found = LineCounts::default();
        for (_, lines, part) in &parts {
            let part = part.look()?;
            found.add(&part, before);
            before += lines;
        }
        let sizes = ambiguous && !found.fits(edges) && found.without_sizes().fits(edges);
        if sizes {
            found = found.without_sizes();
        }
        if !found.fits(edges) {
            let found = found.arcs;
            return refuse(format!(
                "expected each of {edges} edges at both of its ends, found {found} neighbours"
            ));
        }
        if found.arcs == edges && edges > 0 {
            collector.note(&format!("the header counts {edges} arcs, and not edges"));
        }
        let mut before = 0;
        for (number, lines, part) in parts {
            let mut part = numbered(collector.take(part)?, before);
            before += lines;
            if sizes {
                part = drop_sizes(&part);
            }
            if let Some(foreign) = foreign(&part, vertices) {
                return refuse(format!(
                    "expected vertex ids from 1 to {vertices} and as many lines, found {foreign}"
                ));
            }
            collector.push(number, part)?;
        }
        Ok(())
    }
}

/// Numbers found in the lines of a file.
#[derive(Clone, Copy, Default)]
struct LineCounts {
    arcs: u64,
    loops: u64,
    /// Lines that are not blank.
    lines: u64,
}

impl LineCounts {
    /// Counts a part that comes after `before` vertices.
    fn add(&mut self, part: &EdgeRun, before: u64) {
        let (mut loops, mut lines, mut last) = (0, 0, None);
        each(&part.ids, |source, target| {
            loops += u64::from(source.saturating_add(before) == target);
            lines += u64::from(last.replace(source) != Some(source));
        });
        self.arcs += part.ids.len() as u64;
        self.loops += loops;
        self.lines += lines;
    }

    /// The numbers that are left if the first one of each line is a size.
    fn without_sizes(self) -> Self {
        Self { arcs: self.arcs - self.lines, loops: 0, ..self }
    }

    /// Whether a header that counts `edges` edges can be meant: each edge at both of its ends, a
    /// loop once or twice, or a header that counts arcs.
    fn fits(self, edges: u64) -> bool {
        let both = edges.checked_mul(2);
        Some(self.arcs) == both || Some(self.arcs + self.loops) == both || self.arcs == edges
    }
}

fn each(ids: &Ids, mut visit: impl FnMut(u64, u64)) {
    match ids {
        Ids::Narrow { pairs, .. } => {
            for [source, target] in pairs {
                visit((*source).into(), (*target).into());
            }
        }
        Ids::Wide { pairs, .. } => {
            for [source, target] in pairs {
                visit(*source, *target);
            }
        }
        Ids::Names { .. } => {}
    }
}

/// A source or neighbour beyond the last vertex.
fn foreign(part: &EdgeRun, vertices: u64) -> Option<u64> {
    let mut foreign = None;
    each(&part.ids, |source, target| {
        let larger = source.max(target);
        if larger > vertices || target == 0 {
            foreign = Some(if target == 0 { 0 } else { larger });
        }
    });
    foreign
}

/// Puts the vertices of a part right, of which `before` come before it.
fn numbered(part: EdgeRun, before: u64) -> EdgeRun {
    let EdgeRun { ids, weights } = part;
    let ids = match ids {
        Ids::Narrow { mut pairs, .. } if before < SLOTS_MAX / 2 => {
            for [source, _] in &mut pairs {
                *source = source.saturating_add(before as u32);
            }
            Ids::narrow(pairs)
        }
        ids => {
            let mut pairs = Vec::with_capacity(ids.len());
            each(&ids, |source, target| pairs.push([source.saturating_add(before), target]));
            Ids::integers(pairs)
        }
    };
    EdgeRun { ids, weights }
}

/// Leaves out the first neighbour of each vertex, which is a size.
fn drop_sizes(part: &EdgeRun) -> EdgeRun {
    let (mut pairs, mut last) = (Vec::with_capacity(part.ids.len()), None);
    each(&part.ids, |source, target| {
        if last.replace(source) == Some(source) {
            pairs.push([source, target]);
        }
    });
    // Format 100 has no weights.
    EdgeRun { ids: Ids::integers(pairs), weights: None }
}
