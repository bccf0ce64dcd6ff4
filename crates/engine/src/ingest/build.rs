//! Ingest: from an unsorted edge list to chunks.
//!
//! The edges are read once: after a survey of a sample they are put into bins, one for each
//! stripe of destinations and group of sources, and which slots are vertices is noted on the way;
//! then each bin is sorted into tiles, stripe by stripe. A bin group is freed as soon as its
//! tiles are written. Where that does not fit in memory, bins and chunks overflow to storage: bins
//! are written once and read once.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};
use welter_store::random_number;

use welter_model::edges::{Duplicates, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_progress::{Progress, Unit};
use welter_store::frame::Compression;
use welter_store::io::{Closing, IoOptions, Volume};

use crate::EngineError;
use crate::edges::bins::leave_large_bin_groups;
use crate::edges::bins::{Bin, Grid, StripeBins};
use crate::edges::compact::compact;
use crate::edges::framing::Framing;
use crate::edges::graph::{Graph, Stored, Stripe};
use crate::edges::index::build_index;
use crate::edges::row_layout::{by_target, out_rows};
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_location::{self, ReadAheadBudget, Source, SpilledSlabs};
use crate::edges::tile_writer_config::{Keep, SourceRun, Span, TileWriterConfig};
use crate::edges::tiles::TileWriter;
use crate::ingest::input;
use crate::ingest::marks::Marks;
use crate::ingest::partition::{Overflow, Partition, partition};
use crate::ingest::survey::{self, Survey};
use crate::ingest::target::Target;
use crate::kernels::cuts::Cuts;
use crate::kernels::record::{BothWays, Narrow, Waiting, Wide, WideWeighted};
use crate::kernels::vertices::Vertices;
use crate::machine::arena::{Arena, Buffer};
use crate::machine::storage::Storage;
use crate::machine::throughput::Throughput;
use crate::machine::trim::trim;
use crate::machine::workers::Workers;
use crate::plan::{EdgeLayout, Index, Plan, Premises};

impl Graph {
    /// Reads a stream into memory as `plan` says, or leaves it where it is. Weights are kept when
    /// the plan's shape is weighted.
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
        Self::ingest_for_search((stream, &[]), ids, reading, plan, workers, progress)
    }

    /// Ingests for a search that will begin at these slots. Where the stream is left where it is,
    /// their edges are noted on the way, so that it is read once less.
    ///
    /// # Errors
    /// As [`Self::ingest`].
    pub fn ingest_for_search(
        (stream, begins): (Box<dyn EdgeStream>, &[u64]),
        ids: &IdMap,
        reading: Reading,
        plan: &Plan,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Self, EngineError> {
        if plan.scans_input() {
            return input::leave((stream, begins), ids, reading, plan, (workers, progress));
        }
        ingest(stream, ids, reading, plan, None, workers, progress)
    }
}

/// Where the chunks of a graph go that is kept.
pub(crate) struct Keeping<'a> {
    pub(crate) volume: Arc<Volume>,
    /// The device that they lie on.
    pub(crate) storage: Storage,
    /// Where in a bucket they go from there, and the folder of them there, if they do.
    pub(crate) target: Option<(&'a Target, std::path::PathBuf)>,
    /// The number of the graph.
    pub(crate) graph: u64,
}

/// Reads a stream. `keeping`: where its chunks go, if it is to be kept.
pub(crate) fn ingest(
    stream: Box<dyn EdgeStream>,
    ids: &IdMap,
    reading: Reading,
    plan: &Plan,
    keeping: Option<&Keeping<'_>>,
    workers: &Workers,
    progress: &Progress,
) -> Result<Graph, EngineError> {
    workers.arena().drop_columns();
    // Before anything is read, so that a directory without room is known at once.
    let mut volumes = Volumes::new(plan, workers.storage(), keeping)?;
    let slots = survey::slots(&*stream, workers, progress)?;
    let mut survey = survey::survey(&*stream, slots, ids.all_present(), workers, progress)?;
    survey.read_as(reading);
    let Binned { grid, bins, waiting, vertices } =
        bin(&*stream, survey, reading, plan, &mut volumes, workers, progress)?;
    drop(stream);
    // Room that bins have taken of storage is part of what was planned for.
    let taken = volumes.as_ref().map_or(0, |volumes| volumes.bins.bytes());
    let plan = &counted(plan, vertices.count(), keeping, (workers, progress), taken)?;
    // Fewer vertices than there might have been may be a reason to go another way.
    workers.storage().map_or(Ok(()), |storage| storage.check_room(plan.disk_bytes(), taken))?;
    let partitions = plan.partitions(grid.stripes.len(), grid.groups.len());
    let mut degrees = Buffer::<u32>::zeroed(vertices.count() as usize)?;
    let spans = groups_of(&grid.groups, partitions, &vertices, &mut degrees);
    let arena = workers.arena();
    let keep = volumes.as_ref().map(|volumes| volumes.keep(plan));
    let number = keeping.map_or_else(random_number, |keeping| keeping.graph);
    let config = TileWriterConfig {
        plan,
        layout: plan.premises.edges,
        vertices: &vertices,
        duplicates: reading.duplicates,
        graph: number,
        arena,
        bins: volumes.as_ref().map(|volumes| volumes.source(arena)),
        keep: keep.as_ref(),
        groups: &spans,
    };
    let placed = (waiting.write_tiles)(bins, &grid, config, workers, progress)?;
    let bounds = bounds_of(&spans, &vertices);
    let compression = keep.as_ref().map_or(Compression::None, |keep| keep.framing.chosen());
    let layout = EdgeLayout { compression, ..plan.premises.edges };
    drop((spans, keep));
    let mut stripes = group_chunks_by_stripe(placed, &grid.stripes, &vertices);
    make_room(&mut stripes, plan, workers, progress)?;
    let graph = Graph {
        edges: stripes.iter().map(|stripe| stripe.edges).sum(),
        chunk_bytes: stripes.iter().flat_map(|s| &s.chunks).map(|c| c.range.len() as u64).sum(),
        degree_max: degrees.iter().copied().max().unwrap_or(0),
        degrees,
        stripes,
        layout,
        plan: Plan { premises: Premises { edges: layout, ..plan.premises }, ..plan.clone() },
        id: (number, 0),
        symmetric: reading.both_ways(),
        partitions: bounds,
        stored: volumes.map(Volumes::into_chunks),
        ..Graph::without_edges((vertices, ids.others()), plan, arena)?
    };
    finish(graph, plan, workers, progress)
}

/// Gives back memory that only ingest needs, and adds what iterations need beside chunks.
fn finish(
    mut graph: Graph,
    plan: &Plan,
    workers: &Workers,
    progress: &Progress,
) -> Result<Graph, EngineError> {
    if plan.storage().is_some() {
        trim();
    }
    if plan.degrees_stored() {
        graph.move_degrees(workers.storage())?;
    }
    add_index(&mut graph, plan.index(), workers, progress)?;
    Ok(graph)
}

/// Moves chunks together, where what ingest left of memory would not do for the run.
fn make_room(
    stripes: &mut [Stripe],
    plan: &Plan,
    workers: &Workers,
    progress: &Progress,
) -> Result<(), EngineError> {
    let arena = workers.arena();
    if plan.memory.left_by_ingest(arena.backed_bytes()) > plan.memory.peak() {
        compact(stripes, arena, workers, progress)?;
        arena.trim();
    }
    Ok(())
}

/// The plan once the vertices have been counted, while bins have `taken` bytes of storage.
fn counted(
    plan: &Plan,
    vertices: u64,
    keeping: Option<&Keeping<'_>>,
    (workers, progress): (&Workers, &Progress),
    taken: u64,
) -> Result<Plan, EngineError> {
    plan.counted(vertices, |bytes| match workers.storage() {
        Some(storage) => {
            let of_chunks = keeping.map_or(storage, |keeping| &keeping.storage);
            let throughput = of_chunks.throughput(bytes, workers.threads(), workers.arena())?;
            let throughput = plan.at_rates_of_device(throughput);
            let throughput = match keeping.and_then(|keeping| keeping.target.as_ref()) {
                Some((target, folder)) => target.sent(folder, throughput, (bytes, progress))?,
                None => throughput,
            };
            Ok((throughput, storage.free_bytes()? + taken))
        }
        None => Ok((Throughput::of_core(), u64::MAX)),
    })
}

/// Vertices of each partition of sources.
fn bounds_of(spans: &[SourceRun<'_>], vertices: &Vertices) -> Vec<Range<u64>> {
    let mut bounds: Vec<Range<u64>> = Vec::new();
    for span in spans {
        let sources = vertices.index(span.slots.start)..vertices.index(span.slots.end);
        match bounds.get_mut(span.partition as usize) {
            Some(partition) => partition.end = sources.end,
            None => bounds.push(sources),
        }
    }
    bounds
}

/// Makes the index of a graph that is whole but for it.
fn add_index(
    graph: &mut Graph,
    index: Index,
    workers: &Workers,
    progress: &Progress,
) -> Result<(), EngineError> {
    match index {
        Index::Rows { both_directions } => {
            out_rows(graph, workers, progress)?;
            if both_directions && !graph.symmetric {
                graph.in_rows = Some(by_target(graph, workers, progress)?);
            }
        }
        Index::Granules | Index::RowsOncePaid { granules: true } => {
            graph.index = Some(build_index(graph, workers, progress)?);
        }
        Index::None | Index::RowsOncePaid { granules: false } => {}
    }
    Ok(())
}

/// The volumes of a graph that does not fit in memory.
struct Volumes {
    bins: Arc<Volume>,
    chunks: Arc<Volume>,
    io: IoOptions,
    /// Thread that closes the bins.
    closing: Closing,
}

impl Volumes {
    fn new(
        plan: &Plan,
        storage: Option<&Storage>,
        keeping: Option<&Keeping<'_>>,
    ) -> Result<Option<Self>, EngineError> {
        if plan.storage().is_none() {
            return Ok(None);
        }
        let storage = storage.ok_or_else(|| EngineError::no_storage("edges"))?;
        plan.bears(storage)?;
        storage.check_room(plan.disk_bytes(), 0)?;
        let bins = storage.scratch(0)?;
        let (chunks, io) = match keeping {
            Some(Keeping { volume, storage, .. }) => (Arc::clone(volume), storage.io.clone()),
            None => (storage.scratch(0)?, storage.io.clone()),
        };
        Ok(Some(Self { bins, chunks, io, closing: storage.io.closing.clone() }))
    }

    fn overflow<'a>(&'a self, plan: &Plan) -> Overflow<'a> {
        let (used_most, used_at_end) = plan.bins().map_or((0, 0), |b| (b.used_most, b.used_at_end));
        Overflow { volume: &self.bins, io: &self.io, used_most, used_at_end }
    }

    /// The chunks, without the bins.
    fn into_chunks(self) -> Stored {
        self.closing.close(self.bins);
        Stored { volume: self.chunks, io: self.io }
    }

    fn source<'a>(&'a self, arena: &'a Arena) -> Source<'a> {
        Source { volume: &self.bins, io: &self.io, arena }
    }

    fn keep<'a>(&'a self, plan: &Plan) -> Keep<'a> {
        let cache = plan.storage().map_or(0, |storage| storage.cache_bytes);
        let most = plan.bins().map_or(0, |bins| bins.sort_bytes);
        let framing = Framing::of_edges(plan);
        Keep::new((&self.chunks, &self.io), framing, cache, most, plan.premises.shape.edges)
    }
}

/// The groups of sources in consecutive partitions, with the out-degrees of each.
fn groups_of<'a>(
    cuts: &Cuts,
    partitions: usize,
    vertices: &Vertices,
    degrees: &'a mut [u32],
) -> Vec<SourceRun<'a>> {
    let mut rest = degrees;
    let mut last = (u32::MAX, 0);
    (0..cuts.len())
        .map(|run| {
            let slots = cuts.slots(run, vertices.slots());
            let partition = (run * partitions / cuts.len()) as u32;
            if partition != last.0 {
                last = (partition, slots.start);
            }
            let width = vertices.index(slots.end) - vertices.index(slots.start);
            let (degrees, others) = std::mem::take(&mut rest).split_at_mut(width as usize);
            rest = others;
            let degrees = Mutex::new(degrees);
            SourceRun { slots, partition, partition_start: last.1, degrees }
        })
        .collect()
}

/// Edges in their bins, and what was found out on the way.
struct Binned {
    grid: Grid,
    bins: Vec<StripeBins>,
    waiting: EdgeFunctions,
    vertices: Vertices,
}

/// Functions over edges, by how these wait.
#[derive(Clone, Copy)]
struct EdgeFunctions {
    partition: PutIntoBins,
    write_tiles: WriteTiles,
}

type PutIntoBins = fn(
    &Partition<'_>,
    &Workers,
    &Progress,
) -> Result<(Vec<StripeBins>, Option<Marks>), EngineError>;

type WriteTiles = fn(
    Vec<StripeBins>,
    &Grid,
    TileWriterConfig<'_, '_>,
    &Workers,
    &Progress,
) -> Result<Vec<ChunkPlace>, EngineError>;

impl EdgeFunctions {
    fn new(weighted: bool, reading: Reading, grid: &Grid) -> Self {
        let narrow = grid.fits::<Narrow>();
        match (weighted, reading.keeps_ways_apart()) {
            (true, false) => Self::of::<WideWeighted>(),
            (true, true) => Self::of::<BothWays<WideWeighted>>(),
            (false, false) if narrow => Self::of::<Narrow>(),
            (false, true) if narrow => Self::of::<BothWays<Narrow>>(),
            (false, false) => Self::of::<Wide>(),
            (false, true) => Self::of::<BothWays<Wide>>(),
        }
    }

    fn of<W: Waiting>() -> Self {
        Self { partition: partition::<W>, write_tiles: write_tiles::<W> }
    }
}

/// Bins the edges. Where the survey promised too few vertices for the stripes that were cut, all
/// are read once more, with the vertices that there are.
fn bin(
    stream: &dyn EdgeStream,
    mut survey: Survey,
    reading: Reading,
    plan: &Plan,
    volumes: &mut Option<Volumes>,
    workers: &Workers,
    progress: &Progress,
) -> Result<Binned, EngineError> {
    loop {
        let mut grid = survey.grid(plan)?;
        let waiting = EdgeFunctions::new(plan.premises.shape.weighted, reading, &grid);
        let task = Partition {
            stream,
            reading,
            grid: &grid,
            to_mark: survey.vertices.is_none(),
            arena: workers.arena(),
            overflow: volumes.as_ref().map(|volumes| volumes.overflow(plan)),
        };
        let (mut bins, marks) = (waiting.partition)(&task, workers, progress)?;
        let found = marks.map(|marks| Vertices::of_bitmap(marks.into_words()));
        let known = survey.vertices.take();
        let is_known = known.is_some();
        let vertices = found.or(known).unwrap_or_else(|| Vertices::all(grid.slots));
        // Stripes of vertices that were known have been cut so.
        if is_known || grid.is_narrow(&vertices, plan.premises.edges.stripe_bits) {
            grid.end_at(&vertices);
            bins.truncate(grid.stripes.len());
            return Ok(Binned { grid, bins, waiting, vertices });
        }
        drop(bins);
        if let (Some(volumes), Some(storage)) = (volumes.as_mut(), workers.storage()) {
            volumes.bins = storage.scratch(0)?;
        }
        survey = survey.of(vertices);
    }
}

/// Sorts and writes all cells, a stripe at a time, and counts out-degrees.
fn write_tiles<W: Waiting>(
    bins: Vec<StripeBins>,
    grid: &Grid,
    config: TileWriterConfig<'_, '_>,
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<ChunkPlace>, EngineError> {
    let slots = config.vertices.slots();
    let edges: u64 = bins.iter().flatten().map(|bin| bin.edges() as u64).sum();
    if config.bins.is_some() {
        leave_large_bin_groups(&bins, &grid.bin_groups, config.plan.bin_group_bytes_most());
    }
    let spilled = stored(&bins);
    let stripe = |(run, bins): (usize, StripeBins)| {
        let span = Span { number: run as u32, slots: grid.stripes.slots(run, slots) };
        (span, bins)
    };
    let stripes = bins.into_iter().enumerate().map(stripe);
    let phase = progress.phase("sort", Unit::Edges, Some(edges));
    let mut writers = workers.per_worker(|| TileWriter::<W::Record>::new(config.keep))?;
    let window = ReadAheadBudget::new(workers.threads());
    std::thread::scope(|scope| {
        if let (Some(source), false) = (config.bins, spilled.is_empty()) {
            let window = &window;
            Workers::beside(scope, move || slab_location::read_ahead(spilled, source, window))?;
        }
        let done = workers.for_each(stripes, progress, &mut writers, |writer, (stripe, bins)| {
            writer.stripe::<W>(config, &stripe, bins, |edges| {
                phase.add(edges);
                !progress.cancelled()
            })
        });
        window.close();
        done
    })?;
    let mut placed = Vec::new();
    for writer in writers {
        placed.append(&mut writer.finish(config.keep, config.arena)?);
    }
    let in_tiles: u64 = placed.iter().map(|place| place.edges).sum();
    let all_are = in_tiles == edges || config.duplicates != Duplicates::Keep;
    assert!(all_are, "every edge is in one tile");
    Ok(placed)
}

/// Shelves of some bins that are on storage, in the order of the bins.
fn stored(bins: &[StripeBins]) -> Vec<Weak<SpilledSlabs>> {
    let mut spilled: Vec<Weak<SpilledSlabs>> = Vec::new();
    let mut seen = HashSet::new();
    for slabs in bins.iter().flatten().flat_map(Bin::spilled_slabs) {
        if seen.insert(Arc::as_ptr(slabs)) && slabs.is_stored() {
            spilled.push(Arc::downgrade(slabs));
        }
    }
    spilled
}

/// Puts chunks to their stripes, in the order of their sources.
fn group_chunks_by_stripe(
    mut placed: Vec<ChunkPlace>,
    cuts: &Cuts,
    vertices: &Vertices,
) -> Vec<Stripe> {
    placed.sort_by_key(|place| (place.cell.stripe, place.cell.source_partition, place.number));
    let mut placed = placed.into_iter().peekable();
    (0..cuts.len())
        .map(|run| {
            let slots = cuts.slots(run, vertices.slots());
            let mut chunks = Vec::new();
            while let Some(place) = placed.next_if(|place| place.cell.stripe as usize == run) {
                chunks.push(place);
            }
            Stripe {
                vertices: vertices.index(slots.start)..vertices.index(slots.end),
                segments: cuts.segments(run),
                edges: chunks.iter().map(|place| place.edges).sum(),
                chunks,
            }
        })
        .collect()
}
