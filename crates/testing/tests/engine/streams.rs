//! Edges that a stream program is shown: every edge that may be a candidate once, with its weight,
//! and every vertex between two rounds.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use proptest::prelude::*;
use welter_model::edges::Reading;
use welter_model::limit::Limit;
use welter_model::program::{Value, Vertex};
use welter_model::stream::{self, Edge, Next, RevisitPolicy, StateView, Stream};
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, executors};
use welter_testing::graph::Graph;
use welter_testing::strategies::{cases, wide_graphs};

/// Adds up the edges that end at each vertex, each as its source times its weight, but for those
/// between two vertices with numbers of one kind.
struct Census<const WEIGHTED: bool>;

/// The kind of a vertex.
#[derive(Zeroable)]
struct Kind(u32);

/// Further state of a vertex.
#[derive(Zeroable)]
struct Note {
    settled: AtomicU32,
    sum: AtomicU64,
}

#[derive(Clone, Copy)]
enum Step {
    Few,
    Settle,
    Others,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Seen {
    sum: u64,
    settled: u64,
}

impl Value for Seen {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("sum", ColumnData::I64(values.iter().map(|seen| seen.sum as i64).collect()))]
    }
}

/// Vertices are of three kinds, and edges from the second to the third are no candidates.
fn kind(vertex: u32) -> u32 {
    vertex % 3
}

fn addend(source: u32, weight: f64) -> u64 {
    (u64::from(source) + 1) * weight as u64
}

impl<const WEIGHTED: bool> Stream for Census<WEIGHTED> {
    type Value = Seen;
    type VertexState = Kind;
    type Aux = Note;
    type Step = Step;
    type Total = ();

    const WEIGHTED: bool = WEIGHTED;

    fn init(&self, vertex: Vertex) -> (Kind, Note) {
        (Kind(kind(vertex.index as u32)), Note { settled: 0.into(), sum: 0.into() })
    }

    fn first(&self) -> Next<Step> {
        Next::SamplePass(Step::Few)
    }

    fn next(&self, step: Step, _: &stream::StepStats<()>) -> Next<Step> {
        match step {
            Step::Few => Next::Finalize(Step::Settle),
            Step::Settle => Next::Pass(Step::Others),
            Step::Others => Next::Stop,
        }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(1)
    }

    fn is_candidate(&self, _: Step, source: &Kind, target: &Kind) -> bool {
        source.0 != 1 || target.0 != 2
    }

    fn edge(&self, _: Step, view: StateView<'_, Self>, edge: Edge) -> bool {
        let note = &view.aux[edge.target as usize];
        note.sum.fetch_add(addend(edge.source, edge.weight), Ordering::Relaxed);
        true
    }

    fn finalize(&self, _: Step, view: StateView<'_, Self>, vertex: u32) {
        view.aux[vertex as usize].settled.fetch_add(1, Ordering::Relaxed);
    }

    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> Seen {
        let note = &view.aux[vertex as usize];
        let settled = note.settled.load(Ordering::Relaxed).into();
        Seen { sum: note.sum.load(Ordering::Relaxed), settled }
    }
}

/// Census by a plain loop.
fn census(graph: &Graph, weighted: bool) -> Vec<u64> {
    let numbers = graph.numbers();
    let mut sums = vec![0; graph.vertices()];
    for (edge, &[source, target]) in graph.pairs.iter().enumerate() {
        let (source, target) = (numbers[source as usize], numbers[target as usize]);
        if kind(source as u32) != 1 || kind(target as u32) != 2 {
            let weight = if weighted { graph.weight(edge) } else { 1.0 };
            sums[target] += addend(source as u32, weight);
        }
    }
    sums
}

fn judge<const WEIGHTED: bool>(graph: &Graph) {
    let expected = census(graph, WEIGHTED);
    for executor in executors() {
        let Executor::Memory(memory) = executor else { continue };
        let seen = memory.pass(graph, Reading::default(), &Census::<WEIGHTED>);
        let sums: Vec<u64> = seen.iter().map(|seen| seen.sum).collect();
        assert_eq!(sums, expected, "{memory:?}");
        assert!(seen.iter().all(|seen| seen.settled == 1), "{memory:?}");
    }
}

proptest! {
    #![proptest_config(cases(12))]

    // Some executors cut chunks of a few hundred edges, so that rounds have several.
    #[test]
    fn every_edge_is_shown_once(graph in wide_graphs(300, 2000)) {
        judge::<false>(&graph);
    }

    #[test]
    fn with_its_weight(
        (graph, weights) in wide_graphs(300, 2000).prop_flat_map(|graph| {
            let count = graph.pairs.len();
            (Just(graph), prop::collection::vec(1_u8..255, count))
        }),
    ) {
        let weights = Some(weights.into_iter().map(f64::from).collect());
        let graph = Graph { weights, ..graph };
        judge::<true>(&graph);
        judge::<false>(&graph);
    }
}

/// Hands the smallest number that reaches each vertex on along edges, and notes how many edges each
/// pass looked at.
#[derive(Default)]
struct Spread {
    looked: Mutex<Vec<u64>>,
}

impl Stream for Spread {
    type Value = Seen;
    type VertexState = AtomicU32;
    type Aux = ();
    type Step = ();
    type Total = ();

    fn init(&self, vertex: Vertex) -> (AtomicU32, ()) {
        (AtomicU32::new(vertex.index as u32), ())
    }

    fn first(&self) -> Next<()> {
        Next::Pass(())
    }

    fn next(&self, (): (), seen: &stream::StepStats<()>) -> Next<()> {
        self.looked.lock().unwrap().push(seen.looked);
        if seen.changes == 0 { Next::Stop } else { Next::Pass(()) }
    }

    fn limit(&self) -> Limit {
        Limit::Proved { most: |vertices| vertices, invariant: "a path visits a vertex once" }
    }

    fn revisit_policy(&self, (): ()) -> RevisitPolicy {
        RevisitPolicy::SourceChanged
    }

    fn is_candidate(&self, (): (), source: &AtomicU32, target: &AtomicU32) -> bool {
        source.load(Ordering::Relaxed) < target.load(Ordering::Relaxed)
    }

    fn edge(&self, (): (), view: StateView<'_, Self>, edge: Edge) -> bool {
        let [source, target] = [edge.source, edge.target].map(|end| &view.states[end as usize]);
        let least = source.load(Ordering::Relaxed);
        least < target.fetch_min(least, Ordering::Relaxed)
    }

    fn finalize(&self, (): (), _: StateView<'_, Self>, _: u32) {}

    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> Seen {
        Seen { sum: view.states[vertex as usize].load(Ordering::Relaxed).into(), settled: 0 }
    }
}

#[test]
fn what_cannot_be_news_is_not_looked_at() {
    // All of many edges say what is new in the first pass, and far away a path takes many passes,
    // because it goes to and fro.
    let (vertices, hub, places) = (1 << 16, 1 << 14, 200);
    let place = |step: u32| vertices - 1 - (step * 77 + 5) % places;
    let star = (1..hub).map(|leaf| [0, leaf]);
    let path = (1..places).map(|step| [place(step - 1), place(step)]);
    let graph = Graph::new(vertices as usize, star.chain(path).collect());
    let mut expected: Vec<u64> = (0..u64::from(vertices)).collect();
    expected[..hub as usize].fill(0);
    for step in 1..places {
        let before = expected[place(step - 1) as usize];
        let least = &mut expected[place(step) as usize];
        *least = before.min(*least);
    }
    for executor in executors() {
        let spread = Spread::default();
        let Some((seen, _)) = executor.pass(&graph, Reading::default(), &spread) else { continue };
        assert!(seen.iter().map(|seen| seen.sum).eq(expected.iter().copied()), "{executor:?}");
        let looked = spread.looked.into_inner().unwrap();
        let all = graph.pairs.len() as u64;
        assert!(looked.len() > 4 && looked[0] == all, "{looked:?} by {executor:?}");
        let Executor::Memory(memory) = &executor else { continue };
        // Where chunks are small, only a few of them have edges of the path.
        if memory.settings.chunk_bytes.is_some_and(|bytes| bytes <= 1 << 12) {
            let later = looked[3..].iter().max().copied().unwrap_or_default();
            assert!(later < all / 4, "{looked:?} by {executor:?}");
        }
    }
}
