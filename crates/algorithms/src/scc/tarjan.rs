//! Tarjan's algorithm on a list of edges, without recursion.
//!
//! Vertices are visited depth first and numbered in that order. `low` of a vertex is the smallest
//! number on the stack of open components that it is known to reach; when it is left and that is
//! its own number, it and all above it on that stack are a component.
//!
//! Two circles, of which one leads to the other: after a pass that trims nothing, edges are so few
//! that all of them come here.
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, pass};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Scc;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 0], [1, 2], [2, 3], [3, 2]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of_stream::<Scc>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let passed = pass(&graph, &Scc::default(), &workers, &progress)?;
//! let columns = Value::columns(&passed.values.whole()?[..]);
//! assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 2, 2]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::Ordering::Relaxed;

use welter_model::edges::Pair;

use super::vertex_state::VertexState;

/// Number of vertices that were not visited.
const NEW: u32 = 0;
/// Number of vertices whose component is known: no smaller one than that of any other.
const CLOSED: u32 = u32::MAX;

/// Decides the components of all vertices that some of these edges leave. Who is not among them has
/// no edge within its part, and is not decided here.
pub(super) fn decide(states: &[VertexState], mut edges: Vec<Pair>) {
    edges.sort_unstable();
    let rows = Rows::of(states, &edges);
    let mut search = Search {
        states,
        edges: &edges,
        numbers: vec![NEW; rows.vertices.len()],
        low: vec![0; rows.vertices.len()],
        rows: &rows,
        open: Vec::new(),
        path: Vec::new(),
        visited: 0,
    };
    (0..rows.vertices.len()).for_each(|row| search.visit_all(row));
}

/// The edges by their sources.
struct Rows {
    /// The sources, ascending.
    vertices: Vec<u32>,
    /// Where the edges of each begin, and where the last ones end.
    starts: Vec<usize>,
}

impl Rows {
    /// Finds them in sorted edges. A state keeps the row of its vertex.
    fn of(states: &[VertexState], edges: &[Pair]) -> Self {
        let (mut vertices, mut starts) = (Vec::new(), Vec::new());
        for (place, &[source, _]) in edges.iter().enumerate() {
            if vertices.last() != Some(&source) {
                states[source as usize].colour.store(vertices.len() as u32, Relaxed);
                vertices.push(source);
                starts.push(place);
            }
        }
        starts.push(edges.len());
        Self { vertices, starts }
    }

    /// The row of a vertex that is not decided, if it has one.
    fn find(&self, states: &[VertexState], vertex: u32) -> Option<usize> {
        let row = states[vertex as usize].colour.load(Relaxed) as usize;
        (self.vertices.get(row) == Some(&vertex)).then_some(row)
    }
}

struct Search<'a> {
    states: &'a [VertexState],
    edges: &'a [Pair],
    rows: &'a Rows,
    /// By row; [`NEW`], [`CLOSED`].
    numbers: Vec<u32>,
    low: Vec<u32>,
    /// Visited rows whose component is not known yet.
    open: Vec<u32>,
    /// Rows from where the search began to where it is, with the next edge of each.
    path: Vec<(u32, usize)>,
    visited: u32,
}

impl Search<'_> {
    /// Visits all that a row reaches and that was not visited.
    fn visit_all(&mut self, row: usize) {
        if self.numbers[row] == NEW {
            self.enter(row);
        }
        while let Some((row, next)) = self.path.last_mut() {
            let (here, edge) = (*row as usize, *next);
            *next += 1;
            if edge == self.rows.starts[here + 1] {
                self.leave(here);
                continue;
            }
            // Of a decided vertex, which no edge of a part leads to, the row would be another's.
            let Some(there) = self.rows.find(self.states, self.edges[edge][1]) else { continue };
            if self.numbers[there] == NEW {
                self.enter(there);
            } else {
                self.low[here] = self.low[here].min(self.numbers[there]);
            }
        }
    }

    fn enter(&mut self, row: usize) {
        self.visited += 1;
        self.numbers[row] = self.visited;
        self.low[row] = self.visited;
        self.open.push(row as u32);
        self.path.push((row as u32, self.rows.starts[row]));
    }

    fn leave(&mut self, row: usize) {
        self.path.pop();
        if let Some(&(before, _)) = self.path.last() {
            let before = before as usize;
            self.low[before] = self.low[before].min(self.low[row]);
        }
        if self.low[row] < self.numbers[row] {
            return;
        }
        let root = self.rows.vertices[row];
        while let Some(member) = self.open.pop() {
            self.numbers[member as usize] = CLOSED;
            self.states[self.rows.vertices[member as usize] as usize].decide(root);
            if member as usize == row {
                break;
            }
        }
    }
}
