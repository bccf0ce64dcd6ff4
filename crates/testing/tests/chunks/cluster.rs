//! A cluster of one machine, by hand: a graph in chunks, and programs that run by these alone.

use bytemuck::{Zeroable, cast_slice};
use proptest::prelude::*;
use proptest::sample::select;
use welter_engine::EngineError;
use welter_engine::chunks::{
    Cell, EdgeWriter, Form, Scratch, Sources, UpdateCell, Vertices, apply, apply_extended, gather,
    gather_extended, group, init, init_extended, open_updates, states, touched, with_states,
    write_updates,
};
use welter_model::extended::Extended;
use welter_model::program::{Next, Program};
use welter_model::stream::Edge;
use welter_store::header::{CellId, Encoding};
use welter_testing::graph::Graph;

/// Name of chunks that nobody touched.
pub(crate) const WRITTEN: &str = "what was written";

/// How a graph is cut, and what becomes of updates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) form: Form,
    /// Partitions of the sources, and stripes.
    pub(crate) parts: [u64; 2],
    /// Edges of a chunk, at most.
    pub(crate) chunk_edges: usize,
    /// Whether updates wait in chunks, instead of being folded.
    pub(crate) spills: bool,
}

pub(crate) fn ways() -> impl Strategy<Value = Way> {
    let encoding = select(vec![Encoding::Packed, Encoding::Compressed, Encoding::Short]);
    let form =
        (encoding, 0_u32..8, 0_usize..9).prop_map(|(encoding, block_bits, tile_edges_least)| {
            Form { encoding, block_bits, tile_edges_least }
        });
    (form, [1_u64..5, 1_u64..5], 1_usize..400, any::<bool>())
        .prop_map(|(form, parts, chunk_edges, spills)| Way { form, parts, chunk_edges, spills })
}

/// The ranges that vertices are cut into.
pub(crate) fn cut(vertices: u64, parts: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    let width = vertices.div_ceil(parts);
    (0..parts).map(move |part| (part * width).min(vertices)..((part + 1) * width).min(vertices))
}

/// A pulled chunk.
pub(crate) type Bytes = Vec<u64>;

/// Bytes that are aligned.
pub(crate) fn aligned(bytes: &[u8]) -> Bytes {
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
pub(crate) fn chunks(graph: &Graph, way: Way, weighted: bool) -> Vec<(Cell, Vec<Bytes>)> {
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
            let written = written.map(|(number, edges)| {
                aligned(writer.write(&cell, number as u32, edges).expect("edges of the cell"))
            });
            let written = written.collect();
            cells.push((cell, written));
        }
    }
    cells
}

pub(crate) fn degrees(graph: &Graph) -> Vec<u32> {
    let mut degrees = vec![0; graph.slots()];
    graph.pairs.iter().for_each(|[source, _]| degrees[*source as usize] += 1);
    degrees
}

/// Runs a program by its chunks.
pub(crate) fn run<P: Program>(graph: &Graph, program: &P, way: Way) -> Vec<P::Value> {
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
                    let pulled = cell.open(cast_slice(bytes)).expect(WRITTEN);
                    if !P::COMBINABLE || way.spills {
                        let put = |target: u64, update| {
                            told.0.push((target - targets.start) as u32);
                            told.1.push(update);
                        };
                        pulled.scatter(program, sources, scratch, put).expect(WRITTEN);
                    } else {
                        // A stealer takes every chunk, and hands over what it has.
                        let mut own = vec![program.identity(); accums.len()];
                        pulled.fold(program, sources, &mut own, scratch).expect(WRITTEN);
                        let (targets, own) = touched(program, &own);
                        hand_over(program, at, (&targets, &own), accums).expect(WRITTEN);
                    }
                }
            }
            if P::COMBINABLE {
                let update = |update: &P::Update| program.gather(program.identity(), *update);
                let updates: Vec<_> = told.1.iter().map(update).collect();
                hand_over(program, at, (&told.0, &updates), accums).expect(WRITTEN);
            } else {
                let bytes =
                    aligned(&write_updates((7, at), (&told.0, &told.1), told.0.len() as u64));
                let met = open_updates::<P::Update>((7, at), cast_slice(&bytes)).expect(WRITTEN);
                group(program, (at, met.targets, met.accums), &values[own], accums).expect(WRITTEN);
            }
        }
        let columns = Vertices { values: &mut values, signals: &mut signals, active: &mut active };
        made = apply(program, &made.total, &accums, columns);
        turn += 1;
    }
    values
}

/// Updates as a chunk, that accumulators meet.
pub(crate) fn hand_over<P: Program>(
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

/// Runs an extended program by its chunks, and what lies behind them.
pub(crate) fn extend<E: Extended>(graph: &Graph, program: &E, way: Way) -> Vec<E::Value> {
    let count = graph.slots();
    let mut cells = chunks(graph, way, E::WEIGHTED);
    for (cell, chunks) in &mut cells {
        for bytes in chunks {
            let edges = cell.open(cast_slice(bytes)).expect(WRITTEN).edges() as usize;
            *bytes = aligned(&with_states(cast_slice(bytes), &vec![E::State::zeroed(); edges]));
        }
    }
    let mut values = vec![E::Value::zeroed(); count];
    let mut signals = vec![E::Signal::zeroed(); count];
    let mut total = init_extended(program, 0, &degrees(graph), (&mut values, &mut signals));
    let mut turn = 0;
    while program.next(turn, &total) == Next::Iterate {
        let mut accums = vec![program.identity(); count];
        for (cell, chunks) in &mut cells {
            let of =
                |range: &std::ops::Range<u64>| &signals[range.start as usize..range.end as usize];
            for bytes in chunks {
                let all = cast_slice(bytes);
                let size = cell.open(all).expect(WRITTEN).bytes();
                let (pulled, held) = states::<E::State>(cell, all).expect(WRITTEN);
                let mut held = held.to_vec();
                let at = UpdateCell { turn, stripe: cell.id.stripe, window: 0 };
                let mut told = (Vec::new(), Vec::new());
                let tell = |target: usize, update| {
                    told.0.push(target as u32);
                    told.1.push(update);
                };
                let (ends, scratch) =
                    ([of(&cell.sources), of(&cell.targets)], &mut Scratch::default());
                pulled.extend(program, ends, &mut held, scratch, tell).expect(WRITTEN);
                let own = &mut accums[cell.targets.start as usize..cell.targets.end as usize];
                gather_extended(program, (at, &told.0, &told.1), own).expect(WRITTEN);
                let rewritten = with_states(&all[..size], &held);
                *bytes = aligned(&rewritten);
            }
        }
        total = apply_extended(program, &total, &accums, (&mut values, &mut signals));
        turn += 1;
    }
    values
}
