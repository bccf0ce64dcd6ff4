//! Ingest: from an unsorted edge list to chunks.
//!
//! Three passes: a survey of the vertices, a partition of the edges into bins (one for each group
//! of sources and stripe of destinations), and the sort of each bin into tiles. A group's bins are
//! freed as soon as its tiles are written.

use std::sync::{Mutex, OnceLock};

use welter_model::edges::{EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_progress::{Progress, Unit};
use welter_store::chunk::Chunk;

use crate::EngineError;
use crate::arena::Buffer;
use crate::bins::{self, Grid, GroupBins};
use crate::cuts::Cuts;
use crate::graph::{Graph, Stripe};
use crate::index::SourceIndex;
use crate::plan::{IndexMode, Plan};
use crate::record::{Narrow, Waiting, Wide, WideWeighted};
use crate::rows::Rows;
use crate::survey;
use crate::tiles::{ChunkPlace, Recipe, Span, TileWriter};
use crate::vertices::Vertices;
use crate::workers::{Workers, lock};

impl Graph {
    /// Reads a stream into memory as `plan` says. Weights are kept when the plan's shape is
    /// weighted.
    ///
    /// # Errors
    /// When the stream cannot be read, names a vertex that does not exist, memory runs out, or the
    /// run is cancelled.
    pub fn ingest(
        stream: Box<dyn EdgeStream>,
        ids: &IdMap,
        reading: Reading,
        plan: &Plan,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self, EngineError> {
        ingest(stream, ids, reading, plan, workers, progress)
    }
}

fn ingest(
    stream: Box<dyn EdgeStream>,
    ids: &IdMap,
    reading: Reading,
    plan: &Plan,
    workers: &Workers,
    progress: &Progress,
) -> Result<Graph, EngineError> {
    workers.arena().drop_columns();
    let slots = survey::slots(&*stream, workers, progress)?;
    let survey = survey::survey(&*stream, slots, ids.all_present(), workers, progress)?;
    let vertices = survey.vertices;
    let (sources, targets) = if reading.undirected {
        let both: Vec<u64> =
            survey.sources.iter().zip(&survey.targets).map(|(out, into)| out + into).collect();
        (both.clone(), both)
    } else if reading.reversed {
        (survey.targets, survey.sources)
    } else {
        (survey.sources, survey.targets)
    };
    let stripes = Cuts::stripes(&vertices, &targets, plan.stripe_bits, plan.stripes_least())?;
    let groups = Cuts::groups(&sources, plan.groups(stripes.len()));
    let arena = workers.arena();
    let grid = Grid { groups: &groups, stripes: &stripes, lots: plan.lots() };
    let recipe = Recipe {
        plan,
        vertices: &vertices,
        duplicates: reading.duplicates,
        graph: std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), slots),
        arena,
    };
    let mut degrees = Buffer::<u32>::zeroed(vertices.count() as usize)?;
    let write = if plan.shape.weighted {
        write::<WideWeighted>
    } else if bins::fits::<Narrow>(grid, slots) {
        write::<Narrow>
    } else {
        write::<Wide>
    };
    let placed = write(stream, reading, grid, recipe, &mut degrees, workers, progress)?;
    let stripes = shelve(placed, &stripes, &vertices);
    let sources = |group| {
        let slots = groups.slots(group, vertices.slots());
        vertices.index(slots.start)..vertices.index(slots.end)
    };
    let groups = (0..groups.len()).map(sources).collect();
    if plan.memory.left_by_ingest(arena.backed_bytes()) > plan.memory.peak() {
        arena.trim();
    }
    let mut graph = Graph {
        edges: stripes.iter().map(|stripe| stripe.edges).sum(),
        chunk_bytes: stripes.iter().flat_map(|s| &s.chunks).map(|c| c.bytes().len() as u64).sum(),
        vertices,
        degree_max: degrees.iter().copied().max().unwrap_or(0),
        degrees,
        stripes,
        plan: plan.clone(),
        arena: arena.clone(),
        symmetric: reading.undirected,
        index: None,
        groups,
        out_rows: OnceLock::new(),
        in_rows: None,
    };
    match plan.index {
        IndexMode::Rows if plan.rows => {
            graph.lay_out_rows(workers, progress)?;
            if plan.pulls && !graph.symmetric {
                graph.in_rows = Some(Rows::by_target(&graph, workers, progress)?);
            }
        }
        _ if plan.frontier => {
            graph.index = Some(SourceIndex::build(&graph, workers, progress)?);
        }
        _ => {}
    }
    Ok(graph)
}

/// Bins the edges, drops the stream, and writes the bins into chunks.
fn write<W: Waiting>(
    stream: Box<dyn EdgeStream>,
    reading: Reading,
    grid: Grid<'_>,
    recipe: Recipe<'_>,
    degrees: &mut [u32],
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<ChunkPlace>, EngineError> {
    let slots = recipe.vertices.slots();
    let arena = recipe.arena;
    let bins = bins::partition::<W>(&*stream, slots, reading, grid, arena, workers, progress)?;
    drop(stream);
    write_tiles::<W>(bins, grid, recipe, degrees, workers, progress)
}

/// Sorts and writes all cells, a group of sources at a time, and counts out-degrees.
fn write_tiles<W: Waiting>(
    bins: Vec<GroupBins>,
    grid: Grid<'_>,
    recipe: Recipe<'_>,
    degrees: &mut [u32],
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<ChunkPlace>, EngineError> {
    let slots = recipe.vertices.slots();
    let span = |cuts: &Cuts, run: usize| Span { number: run as u32, slots: cuts.slots(run, slots) };
    let stripes: Vec<Span> = (0..grid.stripes.len()).map(|run| span(grid.stripes, run)).collect();
    let held = |bins: &GroupBins| (0..stripes.len()).map(|run| bins.edges(run) as u64).sum::<u64>();
    let mut rest = degrees;
    let edges = bins.iter().map(held).sum();
    let groups: Vec<_> = bins
        .into_iter()
        .enumerate()
        .map(|(run, bins)| {
            let span = span(grid.groups, run);
            let width =
                recipe.vertices.index(span.slots.end) - recipe.vertices.index(span.slots.start);
            let (degrees, others) = std::mem::take(&mut rest).split_at_mut(width as usize);
            rest = others;
            Mutex::new(Some((span, bins, degrees)))
        })
        .collect();
    let phase = progress.phase("sort", Unit::Edges, Some(edges));
    let writers = workers.states(TileWriter::<W::Record>::new)?;
    workers.tasks(groups.len(), progress, &writers, |writer, task| {
        let Some((group, bins, degrees)) = lock(&groups[task]).take() else { return Ok(()) };
        for stripe in &stripes {
            writer.cell::<W>(recipe, &group, stripe, &bins, degrees)?;
        }
        phase.add(held(&bins));
        Ok(())
    })?;
    Ok(writers
        .into_iter()
        .flat_map(|writer| {
            writer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).finish()
        })
        .collect())
}

/// Puts chunks to their stripes, in the order of their sources.
fn shelve(mut placed: Vec<ChunkPlace>, cuts: &Cuts, vertices: &Vertices) -> Vec<Stripe> {
    placed.sort_by_key(|place| (place.cell.stripe, place.cell.source_partition, place.number));
    let mut placed = placed.into_iter().peekable();
    (0..cuts.len())
        .map(|run| {
            let slots = cuts.slots(run, vertices.slots());
            let mut chunks = Vec::new();
            while let Some(place) = placed.next_if(|place| place.cell.stripe as usize == run) {
                chunks.push(place);
            }
            let edges = chunks
                .iter()
                .filter_map(|place| Chunk::open(place.bytes()).ok())
                .map(|chunk| chunk.edges())
                .sum();
            Stripe {
                vertices: vertices.index(slots.start)..vertices.index(slots.end),
                segments: cuts.segments(run),
                edges,
                chunks,
            }
        })
        .collect()
}
