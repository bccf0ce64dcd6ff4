//! What a machine does with chunks, against the plain interpreter: every program by cells, by
//! update chunks and with what a stealer hands over, for chunks in all their forms; and chunks that
//! are damaged, or of another cell.

use std::cell::RefCell;
use std::fmt::Debug;

use bytemuck::{Zeroable, cast_slice};
use proptest::prelude::*;
use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Bfs, Cdlp, HyperBall, PageRank, Scc, Sssp, SumProduct, Wcc};
use welter_engine::EngineError;
use welter_engine::chunks::{
    Cell, EdgeWriter, Form, Scratch, Sources, UpdateCell, Vertices, apply, gather, group, init,
    open_updates, states, touched, with_states, write_updates,
};
use welter_model::edges::Reading;
use welter_model::extended::Extended;
use welter_model::group::Grouped;
use welter_model::program::{Next, Program, Total, Vertex};
use welter_model::stream::{Edge, Known, Stream};
use welter_store::header::{CellId, Encoding};
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret, interpret_extended};
use welter_testing::reading::read_as;
use welter_testing::strategies::dense_graphs;

/// How a graph is cut, and what becomes of updates.
#[derive(Clone, Copy, Debug)]
struct Way {
    form: Form,
    /// Partitions of the sources, and stripes.
    parts: [u64; 2],
    /// Edges of a chunk, at most.
    chunk_edges: usize,
    /// Whether updates wait in chunks, instead of being folded.
    spills: bool,
}

fn ways() -> impl Strategy<Value = Way> {
    let encoding = prop_oneof![Just(Encoding::Packed), Just(Encoding::Compressed)];
    let form =
        (encoding, 0_u32..8, 0_usize..9).prop_map(|(encoding, block_bits, tile_edges_least)| {
            Form { encoding, block_bits, tile_edges_least }
        });
    (form, [1_u64..5, 1_u64..5], 1_usize..400, any::<bool>())
        .prop_map(|(form, parts, chunk_edges, spills)| Way { form, parts, chunk_edges, spills })
}

/// The ranges that vertices are cut into.
fn cut(vertices: u64, parts: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    let width = vertices.div_ceil(parts);
    (0..parts).map(move |part| (part * width).min(vertices)..((part + 1) * width).min(vertices))
}

/// A pulled chunk.
type Bytes = Vec<u64>;

/// Bytes that are aligned.
fn aligned(bytes: &[u8]) -> Bytes {
    bytes
        .chunks(8)
        .map(|word| {
            let mut all = [0; 8];
            all[..word.len()].copy_from_slice(word);
            u64::from_le_bytes(all)
        })
        .collect()
}

/// The chunks of all cells, by stripes.
fn chunks(graph: &Graph, way: Way, weighted: bool) -> Vec<(Cell, Vec<Bytes>)> {
    let mut writer = EdgeWriter::new(way.form, weighted);
    let mut cells = Vec::new();
    let vertices = graph.slots() as u64;
    for (stripe, targets) in cut(vertices, way.parts[1]).enumerate() {
        for (source_partition, sources) in cut(vertices, way.parts[0]).enumerate() {
            let id = CellId { source_partition: source_partition as u32, stripe: stripe as u32 };
            let cell = Cell { graph: 7, id, sources: sources.clone(), targets: targets.clone() };
            let inside = graph.pairs.iter().enumerate().filter(|(_, [source, target])| {
                sources.contains(&u64::from(*source)) && targets.contains(&u64::from(*target))
            });
            let edges: Vec<Edge> = inside
                .map(|(edge, &[source, target])| {
                    let weight = if weighted { graph.weight(edge) } else { 1.0 };
                    Edge { source, target, weight }
                })
                .collect();
            let written = edges.chunks(way.chunk_edges).enumerate();
            let written = written
                .map(|(number, edges)| aligned(writer.write(&cell, number as u32, edges).unwrap()));
            let written = written.collect();
            cells.push((cell, written));
        }
    }
    cells
}

fn degrees(graph: &Graph) -> Vec<u32> {
    let mut degrees = vec![0; graph.slots()];
    graph.pairs.iter().for_each(|[source, _]| degrees[*source as usize] += 1);
    degrees
}

/// Runs a program by its chunks.
fn run<P: Program>(graph: &Graph, program: &P, way: Way) -> Vec<P::Value> {
    let cells = chunks(graph, way, P::WEIGHTED);
    let count = graph.slots();
    let scratch = &mut Scratch::default();
    let mut values = vec![P::Value::zeroed(); count];
    let mut signals = vec![P::Signal::zeroed(); count];
    let mut active = vec![1; if P::FRONTIER { count } else { 0 }];
    let columns = Vertices { values: &mut values, signals: &mut signals, active: &mut active };
    let mut made = init(program, 0, &degrees(graph), columns);
    let mut turn = 0;
    let all = |active: u64| if P::FRONTIER { active } else { count as u64 };
    while program.next(turn, &made.total) == Next::Iterate && all(made.active) > 0 {
        let mut accums = vec![program.identity(); count];
        for (stripe, targets) in cut(count as u64, way.parts[1]).enumerate() {
            let own = targets.start as usize..targets.end as usize;
            let at = UpdateCell { turn, stripe: stripe as u32, window: 0 };
            let (accums, mut told) = (&mut accums[own.clone()], (Vec::new(), Vec::new()));
            for (cell, chunks) in cells.iter().filter(|(cell, _)| cell.targets == targets) {
                let from = cell.sources.start as usize..cell.sources.end as usize;
                let sources = Sources {
                    signals: &signals[from.clone()],
                    active: P::FRONTIER.then(|| &active[from]),
                };
                for bytes in chunks {
                    let pulled = cell.open(cast_slice(bytes)).unwrap();
                    if P::GROUPS || way.spills {
                        let put = |target: u64, update| {
                            told.0.push((target - targets.start) as u32);
                            told.1.push(update);
                        };
                        pulled.scatter(program, sources, scratch, put).unwrap();
                    } else {
                        // A stealer takes every chunk, and hands over what it has.
                        let mut own = vec![program.identity(); accums.len()];
                        pulled.fold(program, sources, &mut own, scratch).unwrap();
                        let (targets, own) = touched(program, &own);
                        hand_over(program, at, (&targets, &own), accums).unwrap();
                    }
                }
            }
            if P::GROUPS {
                let bytes =
                    aligned(&write_updates((7, at), (&told.0, &told.1), told.0.len() as u64));
                let met = open_updates::<P::Update>((7, at), cast_slice(&bytes)).unwrap();
                group(program, (at, met.targets, met.accums), &values[own], accums).unwrap();
            } else {
                let update = |update: &P::Update| program.gather(program.identity(), *update);
                let updates: Vec<_> = told.1.iter().map(update).collect();
                hand_over(program, at, (&told.0, &updates), accums).unwrap();
            }
        }
        let columns = Vertices { values: &mut values, signals: &mut signals, active: &mut active };
        made = apply(program, &made.total, &accums, columns);
        turn += 1;
    }
    values
}

/// Updates as a chunk, that accumulators meet.
fn hand_over<P: Program>(
    program: &P,
    at: UpdateCell,
    (targets, updates): (&[u32], &[P::Accum]),
    accums: &mut [P::Accum],
) -> Result<(), EngineError> {
    let bytes = aligned(&write_updates((7, at), (targets, updates), targets.len() as u64));
    let records = open_updates((7, at), cast_slice(&bytes))?;
    assert_eq!(records.updates, targets.len() as u64);
    gather(program, &records, accums)
}

/// Bit by bit, or of floats nearly.
fn agrees<P: Program>(graph: &Graph, program: &P, way: Way, floats: bool)
where
    P::Value: Debug,
{
    let expected = interpret(graph, program);
    let found = run(graph, program, way);
    if floats {
        let numbers = |values| {
            Answer { values, iterations: 0, in_step: true, total: (), totals: vec![] }.numbers()
        };
        let error = welter_testing::relative_error(&numbers(expected.values), &numbers(found));
        assert!(error < 1e-9, "{error}");
    } else {
        assert_eq!(cast_slice::<_, u8>(&found), expected.bits());
    }
}

proptest! {
    #[test]
    fn programs_by_chunks_come_to_what_the_interpreter_does(
        graph in dense_graphs(70, 500), way in ways(),
    ) {
        let vertices = graph.slots() as u64;
        agrees(&graph, &Bfs::new(vec![0]), way, false);
        agrees(&graph, &HyperBall::<16>::new(1, Some(3)), way, false);
        agrees(&graph, &Sssp::<f64>::new(vec![0], 1.0), way, false);
        let ranks = PageRank::<f64>::new(vertices, 0.85, 4, 0.0, Dangling::Spread);
        agrees(&graph, &ranks, way, true);
        let both = read_as(&graph, Reading { undirected: true, ..Reading::default() });
        agrees(&both, &Grouped(Cdlp::new(3)), way, false);
    }

    #[test]
    fn stream_programs_are_shown_what_is_news(graph in dense_graphs(70, 500), way in ways()) {
        shows_news(&graph, &Wcc, way);
        shows_news(&graph, &Scc::with_rest(0), way);
    }

    #[test]
    fn extended_programs_rewrite_what_edges_hold(graph in dense_graphs(40, 200), way in ways()) {
        let graph = read_as(&graph, Reading { undirected: true, ..Reading::default() });
        let potential = Potential::<2>::coupled(0.6).unwrap();
        let priors = (0..graph.slots()).map(|vertex| [1.0, 1.0 + vertex as f64 / 9.0]).collect();
        let program = SumProduct::<2, 1>::new(potential, 3, 0.0).unwrap().with_priors(priors);
        let expected = interpret_extended(&graph, &program);
        let found = extend(&graph, &program, way);
        let found = Answer { values: found, iterations: 0, in_step: true, total: (), totals: vec![] };
        let error = welter_testing::relative_error(&expected.numbers(), &found.numbers());
        prop_assert!(error < 1e-4, "{}", error);
    }

    #[test]
    fn damaged_chunks_are_errors(
        graph in dense_graphs(70, 300), way in ways(), bit: prop::sample::Index, weighted: bool,
    ) {
        for (cell, chunks) in chunks(&graph, way, weighted) {
            for mut bytes in chunks {
                let bits = 64 * bytes.len();
                let bit = bit.index(bits);
                bytes[bit / 64] ^= 1 << (bit % 64);
                let error = cell.open(cast_slice(&bytes)).unwrap_err();
                prop_assert!(matches!(error, EngineError::Pulled { .. }), "{error}");
                let short = &cast_slice(&bytes)[..bit / 8];
                prop_assert!(cell.open(short).is_err());
            }
        }
    }

    #[test]
    fn damaged_updates_are_errors(
        records in prop::collection::vec((0_u32..9, any::<u64>()), 0..40), bit: prop::sample::Index,
    ) {
        let (targets, accums): (Vec<u32>, Vec<u64>) = records.into_iter().unzip();
        let at = UpdateCell { turn: 3, stripe: 1, window: 2 };
        let mut bytes = aligned(&write_updates((7, at), (&targets, &accums), 99));
        let found = open_updates::<u64>((7, at), cast_slice(&bytes)).unwrap();
        prop_assert_eq!((found.targets, found.accums), (&targets[..], &accums[..]));
        prop_assert_eq!((found.cell, found.updates), (at, 99));
        for other in [
            (8, at),
            (7, UpdateCell { turn: 4, ..at }),
            (7, UpdateCell { stripe: 0, ..at }),
        ] {
            prop_assert!(open_updates::<u64>(other, cast_slice(&bytes)).is_err());
        }
        prop_assert!(open_updates::<u32>((7, at), cast_slice(&bytes)).is_err());
        let bit = bit.index(64 * bytes.len());
        bytes[bit / 64] ^= 1 << (bit % 64);
        prop_assert!(open_updates::<u64>((7, at), cast_slice(&bytes)).is_err());
        prop_assert!(open_updates::<u64>((7, at), &cast_slice(&bytes)[..bit / 8]).is_err());
    }
}

/// Whether edges are shown that are news, all of them and no other, when nothing is learnt.
fn shows_news<S: Stream>(graph: &Graph, program: &S, way: Way) {
    let degrees = degrees(graph);
    let vertex = |(index, degree): (usize, &u32)| {
        // Cells of unlike vertices.
        let index = (index % 5) as u64;
        program.cell(Vertex { index, out_degree: (*degree).into() })
    };
    let (cells, notes): (Vec<_>, Vec<_>) = degrees.iter().enumerate().map(vertex).unzip();
    let known = Known::<S> { cells: &cells, notes: &notes };
    let Some(step) = first_step(program, known, graph.slots()) else { return };
    let shown = RefCell::new(Vec::new());
    for (cell, chunks) in chunks(graph, way, S::WEIGHTED) {
        for bytes in chunks {
            let pulled = cell.open(cast_slice(&bytes)).unwrap();
            let show = |edge: Edge| shown.borrow_mut().push([edge.source, edge.target]);
            pulled.sift(program, step, &cells, &mut Scratch::default(), show).unwrap();
            let short = &cells[..cells.len() / 2];
            let outside = |end: u32| end as usize >= short.len();
            let show = |edge: Edge| assert!(!outside(edge.source) && !outside(edge.target));
            let _ = pulled.sift(program, step, short, &mut Scratch::default(), show);
        }
    }
    let is_news = |&&[source, target]: &&[u32; 2]| {
        program.news(step, &cells[source as usize], &cells[target as usize])
    };
    let mut expected: Vec<_> = graph.pairs.iter().filter(is_news).copied().collect();
    expected.sort_unstable();
    let mut shown = shown.into_inner();
    shown.sort_unstable();
    assert_eq!(shown, expected);
}

/// The first step of a program in which edges are shown.
fn first_step<S: Stream>(program: &S, known: Known<'_, S>, vertices: usize) -> Option<S::Step> {
    use welter_model::stream::{Next, Seen};
    let mut next = program.first();
    loop {
        match next {
            Next::Few(step) | Next::Pass(step) | Next::Rest(step) => return Some(step),
            Next::Stop => return None,
            Next::Settle(step) => {
                let settle = |vertex| program.settle(step, known, vertex as u32);
                let total = (0..vertices).map(settle).fold(S::Total::default(), S::Total::merge);
                next = program.next(step, &Seen { total, ..Seen::default() });
            }
        }
    }
}

/// Runs an extended program by its chunks, and what lies behind them.
fn extend<E: Extended>(graph: &Graph, program: &E, way: Way) -> Vec<E::Value> {
    let count = graph.slots();
    let mut cells = chunks(graph, way, E::WEIGHTED);
    for (cell, chunks) in &mut cells {
        for bytes in chunks {
            let edges = cell.open(cast_slice(bytes)).unwrap().edges() as usize;
            *bytes = aligned(&with_states(cast_slice(bytes), &vec![E::State::zeroed(); edges]));
        }
    }
    let degrees = degrees(graph);
    let of = |(index, degree): (usize, &u32)| {
        program.init(Vertex { index: index as u64, out_degree: (*degree).into() })
    };
    let (mut values, totals): (Vec<_>, Vec<E::Total>) = degrees.iter().enumerate().map(of).unzip();
    let mut total = totals.into_iter().fold(E::Total::default(), E::Total::merge);
    let mut turn = 0;
    while program.next(turn, &total) == Next::Iterate {
        let signals: Vec<E::Signal> = values.iter().map(|value| program.signal(value)).collect();
        let mut accums = vec![program.identity(); count];
        for (cell, chunks) in &mut cells {
            let of =
                |range: &std::ops::Range<u64>| &signals[range.start as usize..range.end as usize];
            for bytes in chunks {
                let all = cast_slice(bytes);
                let size = cell.open(all).unwrap().bytes();
                let (pulled, held) = states::<E::State>(cell, all).unwrap();
                let mut held = held.to_vec();
                let first = cell.targets.start as usize;
                let tell = |target: usize, update| {
                    accums[first + target] = program.gather(accums[first + target], update);
                };
                let (ends, scratch) =
                    ([of(&cell.sources), of(&cell.targets)], &mut Scratch::default());
                pulled.extend(program, ends, &mut held, scratch, tell).unwrap();
                let rewritten = with_states(&all[..size], &held);
                *bytes = aligned(&rewritten);
            }
        }
        let sum = E::Total::default();
        let mut renewed = sum;
        for (value, accum) in values.iter_mut().zip(accums) {
            let (new, own) = program.apply(*value, accum, &total);
            *value = new;
            renewed = renewed.merge(own);
        }
        (total, turn) = (renewed, turn + 1);
    }
    values
}

#[test]
fn columns_that_are_too_short_are_errors() {
    let graph = Graph::new(40, (0..40).map(|vertex| [vertex, 39 - vertex]).collect());
    for encoding in [Encoding::Packed, Encoding::Compressed] {
        let form = Form { encoding, block_bits: 3, tile_edges_least: 4 };
        let way = Way { form, parts: [1, 1], chunk_edges: 100, spills: false };
        let (cell, chunks) = &chunks(&graph, way, false)[0];
        let pulled = cell.open(cast_slice(&chunks[0])).unwrap();
        let program = Bfs::new(vec![0]);
        let signal = program.signal(&program.init(Vertex { index: 0, out_degree: 1 }).value);
        let scratch = &mut Scratch::default();
        for (sources, flags, targets, fits) in
            [(40, 40, 40, true), (39, 40, 40, false), (40, 39, 40, false), (40, 40, 39, false)]
        {
            let (signals, active) = (vec![signal; sources], vec![1; flags]);
            let said = Sources { signals: &signals, active: Some(&active) };
            let mut accums = vec![program.identity(); targets];
            let folded = pulled.fold(&program, said, &mut accums, scratch);
            assert_eq!(folded.is_ok(), fits, "{sources} {flags} {targets}");
        }
        let narrow = Cell { targets: 0..64, ..cell.clone() };
        assert!(narrow.open(cast_slice(&chunks[0])).is_ok(), "as many bits");
        let others = [
            Cell { graph: 8, ..cell.clone() },
            Cell { targets: 0..65, ..cell.clone() },
            Cell { targets: 1..40, ..cell.clone() },
            Cell { sources: 1..40, ..cell.clone() },
            Cell { id: CellId { stripe: 1, ..cell.id }, ..cell.clone() },
        ];
        for other in others {
            assert!(other.open(cast_slice(&chunks[0])).is_err(), "{other:?}");
        }
    }
}

#[test]
fn edges_outside_their_cell_are_not_written() {
    let id = CellId { source_partition: 0, stripe: 0 };
    let mut writer = EdgeWriter::new(Form::usual(Encoding::Packed), false);
    let cell = Cell { graph: 7, id, sources: 4..8, targets: 0..8 };
    let mut write = |cell: &Cell, source, target| {
        writer.write(cell, 0, &[Edge { source, target, weight: 1.0 }]).map(<[u8]>::len)
    };
    assert!(write(&cell, 4, 7).is_ok());
    for [source, target] in [[3, 0], [8, 0], [4, 8]] {
        assert!(write(&cell, source, target).is_err());
    }
    let wide = Cell { targets: 0..1 << 33, ..cell };
    assert!(write(&wide, 4, 0).is_err());
}
