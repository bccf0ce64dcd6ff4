//! `welter info`: what a graph is, without running anything on it.
//!
//! Self-loops are counted while edges pass on their way into the engine. Parallel edges are counted
//! by ingesting one of each; degrees are those of the graph that remains, so they are numbers of
//! neighbours.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_algorithms::spmv::{Spmv, Vector};
use welter_engine::plan::{FrontierMode, Layout, human_bytes};
use welter_engine::run;
use welter_input::WeightChoice;
use welter_model::edges::{Batch, Duplicates, EdgeStream, Reading, StreamError};
use welter_model::program::Value;
use welter_model::table::{ColumnData, VertexColumn};

use crate::args::InfoArgs;
use crate::failure::{Failure, printable};
use crate::load::Source;
use crate::run::print;
use crate::session::{Origin, Ready, Session, Wanted};
use crate::text::grouped;

/// Does it.
pub(crate) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources)?;
    let source = Source::of(&args.input)?;
    let options = |weight| args.input.options(weight, args.resources.threads);
    let weighted = source.estimate(&options(WeightChoice::IfPresent))?.weighted;
    let program = Spmv::<f64>::new(Vector::Ones, 1);
    let wanted = Wanted {
        source: &source,
        options: options(WeightChoice::Ignore),
        reading: Reading { duplicates: Duplicates::First, ..Reading::default() },
        layout: Layout::of::<Spmv<f64>>(),
        frontier: FrontierMode::Auto,
        weighs: false,
    };
    let loops = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&loops);
    let Ready { graph, loaded, workers } = session.graph_through(&wanted, |edges, reading| {
        // An edge between two vertices is two arcs, a loop is one: without loops, arcs tell.
        reading.drop_self_loops = reading.undirected;
        Box::new(Watched::new(edges, count))
    })?;
    let outcome = run(&graph, &program, &workers, &session.progress)?;
    session.end_progress();
    let figures = Figures {
        weighted,
        loops: loops.load(Ordering::Relaxed),
        distinct: graph.edges(),
        ids: graph.vertex_column(&loaded.ids),
        out_degrees: Degrees::of(graph.out_degrees().iter().map(|&degree| degree.into())),
        in_degrees: Degrees::of(in_degrees(&outcome.values)),
    };
    print(&figures.describe(&loaded))
}

/// Each vertex has as many in-edges as ones reach it.
fn in_degrees<V: Value>(values: &[V]) -> impl Iterator<Item = u64> {
    let columns = V::columns(values).into_iter();
    columns
        .flat_map(|(_, data)| match data {
            ColumnData::F64(values) => values,
            _ => Vec::new(),
        })
        .map(|degree| degree as u64)
}

/// A stream whose self-loops are counted when its parts are read.
struct Watched {
    edges: Box<dyn EdgeStream>,
    /// Self-loops of each part, and of those that were read whole.
    parts: Vec<AtomicU64>,
    total: Arc<AtomicU64>,
}

/// Stands for a part that was not read whole yet.
const UNREAD: u64 = u64::MAX;

impl Watched {
    fn new(edges: Box<dyn EdgeStream>, total: Arc<AtomicU64>) -> Self {
        let parts = (0..edges.parts()).map(|_| AtomicU64::new(UNREAD)).collect();
        Self { edges, parts, total }
    }
}

impl EdgeStream for Watched {
    fn parts(&self) -> usize {
        self.edges.parts()
    }

    fn edges(&self) -> u64 {
        self.edges.edges()
    }

    fn weighted(&self) -> bool {
        self.edges.weighted()
    }

    fn slots(&self) -> Option<u64> {
        self.edges.slots()
    }

    fn resident_bytes(&self) -> u64 {
        self.edges.resident_bytes()
    }

    fn costly(&self) -> bool {
        self.edges.costly()
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let (mut loops, mut whole) = (0, true);
        self.edges.read(part, &mut |batch| {
            loops += batch.pairs.iter().filter(|[source, target]| source == target).count() as u64;
            whole = visit(batch);
            whole
        })?;
        // A part may be read more than once; it counts once.
        if whole && self.parts[part].swap(loops, Ordering::Relaxed) == UNREAD {
            self.total.fetch_add(loops, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Degrees in one direction.
struct Degrees {
    average: f64,
    /// The largest degree, and the first row that has it.
    largest: (u64, usize),
    zeros: u64,
}

impl Degrees {
    fn of(degrees: impl Iterator<Item = u64>) -> Self {
        let (mut sum, mut count, mut zeros, mut largest) = (0, 0_u64, 0, (0, 0));
        for (row, degree) in degrees.enumerate() {
            sum += degree;
            count += 1;
            zeros += u64::from(degree == 0);
            if degree > largest.0 {
                largest = (degree, row);
            }
        }
        Self { average: sum as f64 / count.max(1) as f64, largest, zeros }
    }

    fn describe(&self, ids: &VertexColumn) -> String {
        let (degree, row) = self.largest;
        format!(
            "{:.2} on average, {} at most (vertex {}), {} vertices have none",
            self.average,
            grouped(degree),
            id(ids, row),
            grouped(self.zeros)
        )
    }
}

/// Said of degrees where it makes a difference.
const MERGED: &str = "parallel edges are counted once";

/// What is said of a graph.
struct Figures {
    weighted: bool,
    loops: u64,
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
        let rows = self.ids.len();
        row("vertices", grouped(rows as u64));
        let kind = match self.ids {
            VertexColumn::Names(_) => "names",
            VertexColumn::Range(_) | VertexColumn::Integers(_) => "integers",
        };
        let range = match rows {
            0 => String::new(),
            _ => format!(", from {} to {}", id(&self.ids, 0), id(&self.ids, rows - 1)),
        };
        row("ids", format!("{kind}{range}"));
        let direction = if origin.undirected { ", undirected" } else { "" };
        row("edges", format!("{}{direction}", grouped(origin.edges)));
        row("weights", if self.weighted { "yes" } else { "no" }.to_owned());
        row("self-loops", grouped(self.loops));
        if origin.undirected {
            let others = origin.edges - self.loops;
            row("duplicates", format!("{} beside self-loops", grouped(others - self.distinct / 2)));
            row("degrees", self.out_degrees.describe(&self.ids));
            if others > self.distinct / 2 {
                row("", MERGED.to_owned());
            }
        } else {
            row("duplicates", grouped(origin.edges - self.distinct));
            row("out-degrees", self.out_degrees.describe(&self.ids));
            row("in-degrees", self.in_degrees.describe(&self.ids));
            if self.distinct < origin.edges {
                row("", MERGED.to_owned());
            }
        }
        for (number, note) in origin.notes.iter().enumerate() {
            row(if number == 0 { "note" } else { "" }, printable(note));
        }
        text
    }
}

/// The id of a row.
fn id(ids: &VertexColumn, row: usize) -> String {
    match ids {
        VertexColumn::Range(ids) => (ids.start + row as u64).to_string(),
        VertexColumn::Integers(ids) => ids.get(row).map_or(String::new(), u64::to_string),
        VertexColumn::Names(names) if row < names.len() => printable(names.get(row)),
        VertexColumn::Names(_) => String::new(),
    }
}
