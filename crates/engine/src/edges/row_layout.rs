//! Laying edges out in rows.
//!
//! Rows by source are made by source partitions, rows by target by stripes, so that a worker writes
//! where no other worker does and mostly into its own cache.

use std::ops::Range;

use welter_progress::{Progress, Unit};
use welter_store::ChunkError;
use welter_store::weights::WeightKind;

use crate::EngineError;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::rows::Rows;
use crate::edges::slab_location::ChunkPlace;
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::workers::Workers;

/// Rows of targets, made at the first call; ascending where the reverse of each edge is an edge
/// too, because then they are rows of sources as well.
pub(crate) fn out_rows<'g>(
    graph: &'g Graph,
    workers: &Workers,
    progress: &Progress,
) -> Result<&'g Rows, EngineError> {
    if let Some(rows) = graph.out_rows.get() {
        return Ok(rows);
    }
    let rows = if graph.symmetric {
        by_target(graph, workers, progress)?
    } else {
        by_source(graph, workers, progress)?
    };
    Ok(graph.out_rows.get_or_init(|| rows))
}

/// Rows of targets, by source.
fn by_source(graph: &Graph, workers: &Workers, progress: &Progress) -> Result<Rows, EngineError> {
    let mut rows = empty(graph)?;
    let mut sum = 0;
    for (start, &degree) in rows.starts.iter_mut().zip(&*graph.degrees) {
        *start = sum;
        sum += degree;
    }
    rows.starts[graph.vertices() as usize] = sum;
    fill(rows, graph, by_partition(graph), (workers, progress))
}

/// Rows of sources, by target.
pub(crate) fn by_target(
    graph: &Graph,
    workers: &Workers,
    progress: &Progress,
) -> Result<Rows, EngineError> {
    let mut rows = empty(graph)?;
    count_targets(graph, &mut rows.starts, workers, progress)?;
    let parts = graph.stripes.iter().map(|stripe| {
        let chunks = stripe.chunks.iter().map(|place| (stripe, place)).collect();
        RowWriter { owned: stripe.vertices.clone(), chunks, by_source: false }
    });
    fill(rows, graph, parts.collect(), (workers, progress))
}

fn empty(graph: &Graph) -> Result<Rows, EngineError> {
    let edges = graph.edges() as usize;
    let kind = widest(graph)?;
    Ok(Rows {
        starts: Buffer::zeroed(graph.vertices() as usize + 1)?,
        ends: Buffer::zeroed(edges)?,
        kind,
        weights: Buffer::zeroed(edges * kind.bytes())?,
    })
}

/// Writes all rows when their starts are known.
fn fill(
    mut rows: Rows,
    graph: &Graph,
    parts: Vec<RowWriter<'_>>,
    (workers, progress): (&Workers, &Progress),
) -> Result<Rows, EngineError> {
    let phase = progress.phase("rows", Unit::Edges, Some(graph.edges()));
    let (starts, kind) = (&rows.starts[..], rows.kind);
    let mut ends = Slices(&mut rows.ends[..]);
    let mut weights = Slices(&mut rows.weights[..]);
    let parts: Vec<_> = parts
        .into_iter()
        .map(|part| {
            let edges = span(starts, &part.owned).len();
            (part, ends.take(edges), weights.take(edges * kind.bytes()))
        })
        .collect();
    let mut worker_states = workers.per_worker(|| Ok((DecodeBuffers::new(), Vec::new())))?;
    workers.for_each(parts, progress, &mut worker_states, |(scratch, next), part| {
        let (part, ends, weights) = part;
        part.write(graph, starts, ends, (kind, weights), next, scratch)?;
        phase.add(ends.len() as u64);
        Ok(())
    })?;
    Ok(rows)
}

/// The narrowest type that holds the weights of all chunks.
fn widest(graph: &Graph) -> Result<WeightKind, EngineError> {
    let mut kind = WeightKind::None;
    for stripe in &graph.stripes {
        for place in &stripe.chunks {
            kind = kind.with(graph.open(stripe, place)?.label().weights);
        }
    }
    Ok(kind)
}

/// The rows of each source partition, with its chunks in the order of their stripes.
fn by_partition(graph: &Graph) -> Vec<RowWriter<'_>> {
    let part = |owned: &Range<u64>| RowWriter {
        owned: owned.clone(),
        chunks: Vec::new(),
        by_source: true,
    };
    let mut parts: Vec<RowWriter<'_>> = graph.partitions.iter().map(part).collect();
    for stripe in &graph.stripes {
        for place in &stripe.chunks {
            parts[place.cell.source_partition as usize].chunks.push((stripe, place));
        }
    }
    parts
}

/// Sets the start of each row by target, and the number of edges behind the last.
fn count_targets(
    graph: &Graph,
    starts: &mut [u32],
    workers: &Workers,
    progress: &Progress,
) -> Result<(), EngineError> {
    let mut column = Slices(&mut starts[..]);
    let mut before = 0;
    let parts: Vec<_> = graph
        .stripes
        .iter()
        .map(|stripe| {
            let first = before;
            before += stripe.edges as u32;
            (stripe, first, column.take(stripe.width()))
        })
        .collect();
    if let Some(last) = column.0.last_mut() {
        *last = before;
    }
    let mut scratches = workers.per_worker(|| Ok(DecodeBuffers::new()))?;
    workers.for_each(parts, progress, &mut scratches, |scratch, (stripe, first, counts)| {
        for place in &stripe.chunks {
            let chunk = graph.open(stripe, place)?;
            let coding = Coding { weights: WeightKind::None, ..Coding::all(chunk.label()) };
            let mask = (1_u32 << coding.target_bits) - 1;
            for tile in chunk.tiles() {
                coding.keys(&tile, 0..tile.edges, scratch, |keys, _| {
                    for &key in keys {
                        if let Some(count) = counts.get_mut((key & mask) as usize) {
                            *count += 1;
                        }
                    }
                });
            }
        }
        let mut sum = first;
        for place in counts.iter_mut() {
            sum += std::mem::replace(place, sum);
        }
        Ok(())
    })
}

/// The edges of some vertices.
fn span(starts: &[u32], vertices: &Range<u64>) -> Range<usize> {
    starts[vertices.start as usize] as usize..starts[vertices.end as usize] as usize
}

/// Rows that one worker writes.
struct RowWriter<'g> {
    /// Vertices whose rows these are.
    owned: Range<u64>,
    /// All chunks with edges of theirs, and perhaps of others.
    chunks: Vec<(&'g Stripe, &'g ChunkPlace)>,
    by_source: bool,
}

impl RowWriter<'_> {
    fn write(
        &self,
        graph: &Graph,
        starts: &[u32],
        ends: &mut [u32],
        (kind, weights): (WeightKind, &mut [u8]),
        next: &mut Vec<u32>,
        scratch: &mut DecodeBuffers,
    ) -> Result<(), EngineError> {
        let owned = &starts[self.owned.start as usize..=self.owned.end as usize];
        next.clear();
        next.extend(owned[..owned.len() - 1].iter().map(|start| start - owned[0]));
        for &(stripe, place) in &self.chunks {
            let chunk = graph.open(stripe, place)?;
            let coding = Coding::all(chunk.label());
            let mask = (1_u32 << coding.target_bits) - 1;
            for tile in chunk.tiles() {
                // The block of a tile may begin before the vertices, whose keys do not: what wraps
                // here wraps back below.
                let before = if self.by_source { self.owned.start } else { 0 };
                let sources = tile.source.wrapping_sub(before) as u32;
                let targets = stripe.vertices.start as u32;
                coding.keys(&tile, 0..tile.edges, scratch, |keys, wide| {
                    for (edge, &key) in keys.iter().enumerate() {
                        let (source, target) = (key >> coding.target_bits, key & mask);
                        let (own, other) = if self.by_source {
                            (sources.wrapping_add(source), targets + target)
                        } else {
                            (target, sources.wrapping_add(source))
                        };
                        // A damaged key writes nothing, and is found below.
                        let Some(next) = next.get_mut(own as usize) else { continue };
                        let Some(end) = ends.get_mut(*next as usize) else { continue };
                        *end = other;
                        if let Some(wide) = wide {
                            kind.put(wide[edge], weights, *next as usize);
                        }
                        *next += 1;
                    }
                });
            }
        }
        let full = owned[1..].iter().zip(&*next).all(|(end, &next)| end - owned[0] == next);
        let within = ends.iter().all(|&end| u64::from(end) < graph.vertices());
        if full && within { Ok(()) } else { Err(self.damaged()) }
    }

    /// Keys of a chunk lead elsewhere than they did when they were counted.
    fn damaged(&self) -> EngineError {
        let place = self.chunks.first().map(|(_, place)| *place);
        let (what, value) = ("rows of its edges", self.owned.start);
        EngineError::Chunk {
            source_partition: place.map_or(0, |place| place.cell.source_partition),
            stripe: place.map_or(0, |place| place.cell.stripe),
            number: place.map_or(0, |place| place.number),
            error: ChunkError::Field { what, offset: 0, value },
        }
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::{EdgeList, EdgeStream, Reading};
    use welter_model::ids::IdMap;

    use std::ops::ControlFlow;

    use super::*;
    use crate::machine::figures::Machine;
    use crate::plan::{
        FoldLayout, FrontierKind, IndexMode, Layout, Plan, ProgramKind, Settings, Shape,
    };

    const VERTICES: u32 = 9000;

    /// Rows by source and by target of some edges whose weights are `weight` of their number.
    fn rows(undirected: bool, weight: impl Fn(usize) -> f64) -> (Graph, Vec<([u32; 2], f64)>) {
        let end = |edge: u32, factor: u32| edge.wrapping_mul(factor) >> 7 & 8191;
        let pairs: Vec<[u32; 2]> =
            (0..20_000).map(|edge| [end(edge, 0x9e37_79b1), end(edge, 0x85eb_ca77)]).collect();
        let weights: Vec<f64> = (0..pairs.len()).map(weight).collect();
        let mut edges: Vec<_> = pairs.iter().copied().zip(weights.iter().copied()).collect();
        if undirected {
            // A self-loop is one arc either way.
            let turned = edges.clone().into_iter().filter(|([from, to], _)| from != to);
            edges.extend(turned.map(|([from, to], weight)| ([to, from], weight)));
        }
        let mut list = EdgeList::new(Some(VERTICES.into()), true);
        list.push(pairs, weights);
        let shape = Shape {
            slots: VERTICES.into(),
            edges: edges.len() as u64,
            weighted: list.weighted(),
            estimated: false,
            input_bytes: 0,
        };
        let settings = Settings {
            threads: Some(2),
            stripe_bits: Some(12),
            chunk_bytes: Some(1 << 14),
            index: IndexMode::Rows,
            ..Settings::default()
        };
        let frontier = FrontierKind::Monotone { pulls: true, relaxes: false };
        let fold = FoldLayout { signal: 4, accum: 4, frontier, ..FoldLayout::default() };
        let layout = Layout { value: 4, kind: ProgramKind::Fold(fold), ..Layout::kept() };
        let plan = Plan::new(shape, layout, &settings, &Machine::detect()).unwrap();
        let workers = Workers::new(2).unwrap();
        let reading = Reading { undirected, ..Reading::default() };
        let progress = Progress::new();
        let graph =
            Graph::ingest(Box::new(list), &IdMap::Declared, reading, &plan, &workers, &progress);
        (graph.unwrap(), edges)
    }

    /// All edges of rows, `[owner, other]`, and their weights.
    fn all(rows: &Rows) -> Vec<([u32; 2], f64)> {
        let rows = rows.view();
        let mut edges = Vec::new();
        for vertex in 0..VERTICES {
            rows.visit(rows.range(vertex), true, |end, weight| {
                edges.push(([vertex, end], weight));
                ControlFlow::Continue(())
            });
        }
        edges
    }

    fn sorted(mut edges: Vec<([u32; 2], f64)>) -> Vec<([u32; 2], f64)> {
        edges.sort_by(|left, right| left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)));
        edges
    }

    #[test]
    fn every_edge_is_in_its_rows_with_its_weight() {
        type Weight = fn(usize) -> f64;
        let kinds: [(Weight, WeightKind); 4] = [
            (|edge| (edge % 200) as f64, WeightKind::U8),
            (|edge| if edge < 10_000 { 7.0 } else { (edge * 300) as f64 }, WeightKind::U32),
            (|edge| edge as f64 / 64.0 + 0.5, WeightKind::F32),
            (|edge| edge as f64 / 3.0, WeightKind::F64),
        ];
        for (weight, kind) in kinds {
            let (graph, edges) = rows(false, weight);
            let by_source = graph.out_rows.get().unwrap();
            let by_target = graph.in_rows.as_ref().unwrap();
            assert_eq!((by_source.kind, by_target.kind), (kind, kind));
            assert!(sorted(all(by_source)) == sorted(edges.clone()), "{kind:?}");
            let turned = edges.into_iter().map(|([from, to], weight)| ([to, from], weight));
            assert!(sorted(all(by_target)) == sorted(turned.collect()), "{kind:?}");
            assert!(all(by_target).is_sorted_by_key(|edge| edge.0));
        }
    }

    #[test]
    fn edges_that_run_both_ways_have_one_set_of_rows() {
        let (graph, edges) = rows(true, |edge| edge as f64);
        assert!(graph.in_rows.is_none());
        let rows = all(graph.out_rows.get().unwrap());
        assert!(rows.is_sorted_by_key(|edge| edge.0));
        assert!(sorted(rows) == sorted(edges));
    }
}
