//! `welter info`: what a graph is, without running anything on it.
//!
//! Self-loops are counted while edges pass on their way into the engine, and how many of them are
//! distinct. Parallel edges are counted by ingesting one of each; degrees are those of the graph
//! that remains, so they are numbers of neighbours. A duplicate is an edge that was there before:
//! with the same ends in the same order, or, where edges have no direction, in any.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use welter_algorithms::spmv::{Spmv, Vector};
use welter_engine::plan::{FrontierMode, IndexMode, Layout, human_bytes};
use welter_engine::run;
use welter_input::WeightChoice;
use welter_model::edges::{Batch, Duplicates, EdgeStream, Reading, StreamError};
use welter_model::stream_wrapper::StreamWrapper;
use welter_model::table::{ColumnData, Columns, Id, VertexColumn};

use crate::args::InfoArgs;
use crate::directions::Directions;
use crate::failure::{Failure, printable};
use crate::kept_parts;
use crate::load::Source;
use crate::number_format::grouped;
use crate::parts::for_parts;
use crate::session::{GraphRequest, LoadedGraph, Origin, Session};
use crate::stdout::print;

/// Does it.
pub(crate) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    let source = Source::with(&args.input, &args.resources)?;
    if let Source::Parts(name, parts) = &source
        && !parts.are_all_here()
    {
        session.end_progress();
        return print(&kept_parts::description(name, parts));
    }
    let options = |weight| args.input.options(weight, args.resources.threads);
    let weighted = match source.estimate(&options(WeightChoice::IfPresent)) {
        Ok(estimate) => if estimate.weighted { "yes" } else { "no" }.to_owned(),
        // Other columns may still be edges; if not, reading says so.
        Err(refused) => refused.to_string(),
    };
    let program = Spmv::<f64>::new(Vector::Ones, 1);
    let wanted = GraphRequest {
        source: &source,
        options: options(WeightChoice::Ignore),
        reading: Reading { duplicates: Duplicates::First, ..Reading::default() },
        ways: Directions::Stated,
        layout: Layout::of::<Spmv<f64>>(),
        frontier: FrontierMode::Auto,
        index: IndexMode::Auto,
        weighs: false,
        ends: false,
    };
    let loops = Arc::new(Loops::default());
    let watching = Arc::clone(&loops);
    let LoadedGraph { graph, loaded, workers, .. } =
        session.graph_through(&wanted, |edges, reading| {
            // An edge between two vertices is two arcs, a loop one: without loops, half the arcs.
            reading.drop_self_loops = reading.undirected;
            Box::new(Watched::new(edges, watching))
        })?;
    let outcome = run(&graph, &program, &workers, &session.progress)?;
    let mut in_degrees = in_degrees(&outcome.values, outcome.values.len())?;
    drop(outcome);
    session.end_progress();
    let mut out_degrees = Degrees::default();
    for degree in graph.out_degrees() {
        out_degrees.add((*degree).into());
    }
    for degrees in [&mut out_degrees, &mut in_degrees] {
        degrees.add_zeros(graph.all_vertices() - graph.vertices());
    }
    let figures = Figures {
        weighted,
        loops: loops.count.load(Ordering::Relaxed),
        distinct: if loaded.undirected {
            graph.edges() / 2 + loops.distinct()
        } else {
            graph.edges()
        },
        ids: graph.vertex_column(&loaded.ids),
        out_degrees,
        in_degrees,
    };
    print(&figures.describe(&loaded))
}

/// Each vertex has as many in-edges as ones reach it.
fn in_degrees(columns: &dyn Columns, vertices: usize) -> Result<Degrees, Failure> {
    let mut degrees = Degrees::default();
    for_parts(columns, vertices, |_, part| {
        if let Some(ColumnData::F64(values)) = part.first().map(|column| &column.data) {
            for degree in values {
                degrees.add(*degree as u64);
            }
        }
    })?;
    Ok(degrees)
}

/// Self-loops that were seen.
#[derive(Default)]
struct Loops {
    /// Number of self-loops.
    count: AtomicU64,
    /// A bit for each slot that has a loop, in pages of those that have some.
    slots: Mutex<BTreeMap<u32, [u64; 16]>>,
}

impl Loops {
    /// Marks the slots of loops.
    fn mark(&self, slots: &[u32]) {
        let mut pages = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in slots {
            let page = pages.entry(slot >> 10).or_default();
            page[(slot >> 6 & 15) as usize] |= 1 << (slot & 63);
        }
    }

    /// Number of slots that are marked.
    fn distinct(&self) -> u64 {
        let pages = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        pages.values().flatten().map(|bits| u64::from(bits.count_ones())).sum()
    }
}

/// A stream whose self-loops are counted when its parts are read.
struct Watched {
    edges: Box<dyn EdgeStream>,
    /// Self-loops of each part.
    parts: Vec<AtomicU64>,
    /// Self-loops of all parts, once they were read whole.
    loops: Arc<Loops>,
}

/// Stands for a part that was not read whole yet.
const UNREAD: u64 = u64::MAX;

impl Watched {
    fn new(edges: Box<dyn EdgeStream>, loops: Arc<Loops>) -> Self {
        let parts = (0..edges.parts()).map(|_| AtomicU64::new(UNREAD)).collect();
        Self { edges, parts, loops }
    }
}

impl StreamWrapper for Watched {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let (mut count, mut whole, mut slots) = (0, true, Vec::new());
        self.edges.read(part, &mut |batch| {
            let loops = batch.pairs.iter().filter(|[source, target]| source == target);
            slots.extend(loops.map(|[source, _]| *source));
            if !slots.is_empty() {
                self.loops.mark(&slots);
                count += slots.len() as u64;
                slots.clear();
            }
            whole = visit(batch);
            whole
        })?;
        // A part may be read more than once; it counts once.
        if whole && self.parts[part].swap(count, Ordering::Relaxed) == UNREAD {
            self.loops.count.fetch_add(count, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Degrees in one direction.
#[derive(Default)]
struct Degrees {
    sum: u64,
    rows: u64,
    /// The largest degree, and the first row that has it.
    largest: (u64, u64),
    zeros: u64,
}

impl Degrees {
    /// Counts the degree of the next row.
    fn add(&mut self, degree: u64) {
        self.sum += degree;
        self.zeros += u64::from(degree == 0);
        if degree > self.largest.0 {
            self.largest = (degree, self.rows);
        }
        self.rows += 1;
    }

    /// Counts `count` more vertices without edges.
    fn add_zeros(&mut self, count: u64) {
        self.rows += count;
        self.zeros += count;
    }

    fn describe(&self, ids: &VertexColumn) -> String {
        let (degree, row) = self.largest;
        format!(
            "{:.2} on average, {} at most (vertex {}), {} vertices have none",
            self.sum as f64 / self.rows.max(1) as f64,
            grouped(degree),
            id(ids, row as usize),
            grouped(self.zeros)
        )
    }
}

/// Said of degrees where it makes a difference.
const MERGED: &str = "parallel edges are counted once";
const WITHOUT_LOOPS: &str = "self-loops are not counted";

/// Figures of a graph.
struct Figures {
    weighted: String,
    loops: u64,
    /// Edges of which no two are duplicates, self-loops among them.
    distinct: u64,
    ids: VertexColumn,
    out_degrees: Degrees,
    in_degrees: Degrees,
}

impl Figures {
    fn describe(&self, origin: &Origin) -> String {
        let mut text = String::new();
        let mut row = |name: &str, what: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<13}{what}");
        };
        for (number, (name, format)) in origin.files.iter().enumerate() {
            let bytes = origin.bytes.filter(|_| origin.files.len() == 1);
            let bytes = bytes.map_or(String::new(), |bytes| format!(", {}", human_bytes(bytes)));
            let label = if number == 0 { "input" } else { "" };
            row(label, format!("{} ({format}{bytes})", printable(name)));
        }
        for line in crate::readings::without_names(&origin.readings) {
            row("read as", line);
        }
        let rows = self.ids.len();
        row("vertices", grouped(self.ids.vertices()));
        let kind = if self.ids.are_names() { "strings" } else { "integers" };
        let range = match &self.ids {
            VertexColumn::NonCompact(ids) => {
                let all = ids.all();
                format!(", from {} to {}, non-compact", all.start, all.end - 1)
            }
            VertexColumn::TwoKinds(ids) => {
                let (sources, targets) = (ids.sources(), ids.len() as u64 - ids.sources());
                let (sources, targets) = (grouped(sources), grouped(targets));
                format!(", two kinds: {sources} of sources, {targets} of targets")
            }
            _ if rows == 0 => String::new(),
            _ => format!(", from {} to {}", id(&self.ids, 0), id(&self.ids, rows - 1)),
        };
        row("ids", format!("{kind}{range}"));
        let direction = if origin.undirected { ", undirected" } else { "" };
        row("edges", format!("{}{direction}", grouped(origin.edges)));
        row("weights", printable(&self.weighted));
        row("self-loops", grouped(self.loops));
        let duplicates = origin.edges - self.distinct;
        if origin.undirected {
            let either = if duplicates > 0 { ", whichever end is named first" } else { "" };
            row("duplicates", format!("{}{either}", grouped(duplicates)));
            row("degrees", self.out_degrees.describe(&self.ids));
        } else {
            row("duplicates", grouped(duplicates));
            row("out-degrees", self.out_degrees.describe(&self.ids));
            row("in-degrees", self.in_degrees.describe(&self.ids));
        }
        let without_loops = origin.undirected && self.loops > 0;
        match (duplicates > 0, without_loops) {
            (true, true) => row("", format!("{MERGED}, {WITHOUT_LOOPS}")),
            (true, false) => row("", MERGED.to_owned()),
            (false, true) => row("", WITHOUT_LOOPS.to_owned()),
            (false, false) => {}
        }
        for (number, note) in origin.notes.iter().enumerate() {
            row(if number == 0 { "note" } else { "" }, printable(note));
        }
        text
    }
}

/// The id of a row.
fn id(ids: &VertexColumn, row: usize) -> String {
    if row >= ids.len() {
        return String::new();
    }
    match ids.get(row) {
        Id::Integer(id) => id.to_string(),
        Id::Name(name) => printable(name),
        Id::Others(count) => format!("one of {}", grouped(count)),
    }
}
