//! A cluster of one machine, by hand: a graph in chunks, and programs that run by these alone.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::cast_slice;
use proptest::prelude::*;
use proptest::sample::select;
use welter_engine::EngineError;
use welter_engine::chunks::{
    Cell, Column, DecodeBuffers, EdgeWriter, ExtendedKernel, FoldKernel, Form, Kernel, Sources,
    UpdateKey, Vertices, apply, gather, gather_extended, group, init, open_updates, states,
    touched, with_states, write_updates,
};
use welter_model::extended::Extended;
use welter_model::program::{Next, Program};
use welter_model::stream::Edge;
use welter_store::header::{CellId, Encoding};
use welter_testing::graph::Graph;

/// Name of chunks that were not touched.
pub(crate) const WRITTEN: &str = "what was written";

/// Cut of a graph, and what becomes of updates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraphCut {
    pub(crate) form: Form,
    /// Partitions of the sources, and stripes.
    pub(crate) parts: [u64; 2],
    /// Edges of a chunk, at most.
    pub(crate) chunk_edges: usize,
    /// Whether updates wait in chunks, instead of being folded.
    pub(crate) spills: bool,
}

pub(crate) fn ways() -> impl Strategy<Value = GraphCut> {
    let encoding = select(Encoding::ALL.to_vec());
    let form =
        (encoding, 0_u32..8, 0_usize..9).prop_map(|(encoding, block_bits, tile_edges_least)| {
            Form { encoding, block_bits, tile_edges_least }
        });
    (form, [1_u64..5, 1_u64..5], 1_usize..400, any::<bool>()).prop_map(
        |(form, parts, chunk_edges, spills)| GraphCut { form, parts, chunk_edges, spills },
    )
}

/// The ranges that vertices are cut into.
pub(crate) fn cut(vertices: u64, parts: u64) -> impl Iterator<Item = Range<u64>> {
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
pub(crate) fn chunks(graph: &Graph, way: GraphCut, weighted: bool) -> Vec<(Cell, Vec<Bytes>)> {
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
                    let [source, target] = [(source, &sources), (target, &targets)]
                        .map(|(end, range)| end - range.start as u32);
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

/// Bytes of a column from a vertex to another.
pub(crate) fn part<'a>(column: &'a [u8], width: usize, vertices: &Range<u64>) -> &'a [u8] {
    &column[vertices.start as usize * width..vertices.end as usize * width]
}

/// Runs a program by its chunks.
pub(crate) fn run<P>(graph: &Graph, program: Arc<P>, way: GraphCut) -> Vec<P::Value>
where
    P: Program + Send + 'static,
{
    let cells = chunks(graph, way, P::WEIGHTED);
    let fold = FoldKernel::of(program);
    let (kernel, shape) = (Kernel::Fold(fold.clone()), *fold.shape());
    let count = graph.slots();
    let scratch = &mut DecodeBuffers::default();
    let [mut values, mut signals] =
        [shape.value, shape.signal].map(|width| Column::zeroed(count * width));
    let mut active = vec![1; if P::FRONTIER { count } else { 0 }];
    let vertices = Vertices { values: &mut values, signals: &mut signals, active: &mut active };
    let mut made = init(&kernel, 0, &degrees(graph), vertices);
    let mut iteration = 0;
    let all = |active: u64| if P::FRONTIER { active } else { count as u64 };
    while kernel.next(iteration, &made.total) == Next::Iterate && all(made.active) > 0 {
        let mut accums = Column::zeroed(count * shape.accum);
        kernel.clear(&mut accums);
        for (stripe, targets) in cut(count as u64, way.parts[1]).enumerate() {
            let own = targets.start as usize * shape.accum..targets.end as usize * shape.accum;
            let at = UpdateKey::new(iteration, stripe as u32, 0);
            let accums = &mut accums[own];
            let mut pairs = (Vec::new(), Column::default());
            for (cell, chunks) in cells.iter().filter(|(cell, _)| cell.targets == targets) {
                let signals = part(&signals, shape.signal, &cell.sources);
                let active = P::FRONTIER.then(|| part(&active, 1, &cell.sources));
                let sources = Sources { signals, active };
                for bytes in chunks {
                    let pulled = cell.open(cast_slice(bytes)).expect(WRITTEN);
                    if !P::COMBINABLE || way.spills {
                        let put = |targets: &[u32], records: &[u8]| {
                            pairs.0.extend_from_slice(targets);
                            pairs.1.extend(records);
                        };
                        pulled.scatter(&fold, sources, scratch, put).expect(WRITTEN);
                    } else {
                        // A stealer takes every chunk, and hands over what it has.
                        let mut own = Column::zeroed(accums.len());
                        kernel.clear(&mut own);
                        pulled.fold(&fold, sources, &mut own, scratch).expect(WRITTEN);
                        let bytes = touched(&fold, (7, at), &mut own).expect(WRITTEN);
                        hand_over(&fold, at, &aligned(&bytes), accums).expect(WRITTEN);
                        let nothing = touched(&fold, (7, at), &mut own).expect(WRITTEN);
                        hand_over(&fold, at, &aligned(&nothing), accums).expect(WRITTEN);
                    }
                }
            }
            let updates = pairs.0.len() as u64;
            let bytes = write_updates(shape.record(), (7, at), (&pairs.0, &pairs.1), updates);
            let bytes = aligned(&bytes);
            if P::COMBINABLE {
                hand_over(&fold, at, &bytes, accums).expect(WRITTEN);
            } else {
                let met = open_updates(shape.record(), (7, at), cast_slice(&bytes)).expect(WRITTEN);
                let own = part(&values, shape.value, &targets);
                group(&fold, (at, met.targets, met.accums), own, accums).expect(WRITTEN);
            }
        }
        let vertices = Vertices { values: &mut values, signals: &mut signals, active: &mut active };
        made = apply(&kernel, &made.total, &accums, vertices);
        iteration += 1;
    }
    cast_slice(&values).to_vec()
}

/// Lets accumulators meet a chunk of updates.
fn hand_over(
    kernel: &FoldKernel,
    at: UpdateKey,
    bytes: &Bytes,
    accums: &mut [u8],
) -> Result<(), EngineError> {
    let records = open_updates(kernel.shape().accum, (7, at), cast_slice(bytes))?;
    assert_eq!(records.updates, records.targets.len() as u64);
    gather(kernel, &records, accums)
}

/// Runs an extended program by its chunks, and what lies behind them.
pub(crate) fn extend<E>(graph: &Graph, program: Arc<E>, way: GraphCut) -> Vec<E::Value>
where
    E: Extended + Send + 'static,
{
    let count = graph.slots();
    let extended = ExtendedKernel::of(program);
    let (kernel, shape) = (Kernel::Extended(extended.clone()), *extended.shape());
    let mut cells = chunks(graph, way, E::WEIGHTED);
    for (cell, chunks) in &mut cells {
        for bytes in chunks {
            let edges = cell.open(cast_slice(bytes)).expect(WRITTEN).edges() as usize;
            *bytes = aligned(&with_states(cast_slice(bytes), &vec![0; edges * shape.state]));
        }
    }
    let [mut values, mut signals] =
        [shape.value, shape.signal].map(|width| Column::zeroed(count * width));
    let vertices = Vertices { values: &mut values, signals: &mut signals, active: &mut [] };
    let mut made = init(&kernel, 0, &degrees(graph), vertices);
    let mut iteration = 0;
    while kernel.next(iteration, &made.total) == Next::Iterate {
        let mut accums = Column::zeroed(count * shape.accum);
        kernel.clear(&mut accums);
        for (cell, chunks) in &mut cells {
            for bytes in chunks {
                let all = cast_slice(bytes);
                let (pulled, held) = states(shape.state, cell, all).expect(WRITTEN);
                let mut states = Column::default();
                states.extend(held);
                let at = UpdateKey::new(iteration, cell.id.stripe, 0);
                let mut pairs = (Vec::new(), Column::default());
                let put = |targets: &[u32], updates: &[u8]| {
                    pairs.0.extend_from_slice(targets);
                    pairs.1.extend(updates);
                };
                let ends = [&cell.sources, &cell.targets];
                let ends = ends.map(|range| part(&signals, shape.signal, range));
                let scratch = &mut DecodeBuffers::default();
                pulled.extend(&extended, ends, &mut states, scratch, put).expect(WRITTEN);
                let own = cell.targets.start as usize * shape.accum;
                let own = &mut accums[own..cell.targets.end as usize * shape.accum];
                gather_extended(&extended, (at, &pairs.0, &pairs.1), own).expect(WRITTEN);
                *bytes = aligned(&with_states(&all[..pulled.bytes()], &states));
            }
        }
        let vertices = Vertices { values: &mut values, signals: &mut signals, active: &mut [] };
        made = apply(&kernel, &made.total, &accums, vertices);
        iteration += 1;
    }
    cast_slice(&values).to_vec()
}
