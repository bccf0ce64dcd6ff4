//! A kept graph, ready to be iterated over: the columns in memory, and of the chunks what the plan
//! has room for.

use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, OnceLock};

use welter_model::ids::{IdMap, Names};
use welter_model::non_compact::NonCompact;
use welter_model::two_kinds::{Keys, TwoKinds};
use welter_progress::{Progress, Unit};
use welter_store::io::{IoOptions, Place, Volume};
use welter_store::{ChunkError, StoreError};

use super::columns::ColumnReader;
use super::directory::{Directory, Entry, Run};
use super::manifest::{KeptIds, Manifest};
use super::runs::RunReads;
use super::{DEGREES, INTEGERS, KeptGraph, NAMES};
use crate::EngineError;
use crate::edges::frames::Frames;
use crate::edges::graph::{Graph, Stored, Stripe};
use crate::edges::row_layout::{by_target, out_rows};
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_location::SlabLocation;
use crate::edges::sound::{self, Sound};
use crate::kernels::kernel::DecodeBuffers;
use crate::kernels::vertices::Vertices;
use crate::machine::arena::{Arena, Buffer, SLAB_BYTES, Slab};
use crate::machine::storage::{SAMPLE_SLABS, Storage, read_rate, slabs_read};
use crate::machine::throughput::Throughput;
use crate::machine::workers::Workers;
use crate::plan::{FrontierMode, Index, Plan};

/// Bytes a second that a bucket is taken to give of a graph that is too small to look.
const ELSEWHERE_RATE: u64 = 200_000_000;
/// Slabs that a bucket is looked at with, which come by few requests, and the fewest that tell
/// anything.
const ELSEWHERE_SLABS: usize = 64;
const ELSEWHERE_SLABS_LEAST: usize = 32;
/// Numbers that are read at a time.
const PIECE: usize = 1 << 16;
/// Bytes of names that are read at a time.
const TEXT_BYTES: usize = 1 << 20;

impl KeptGraph {
    /// Opens the graph as a plan of [`Self::plan`] says.
    ///
    /// # Errors
    /// When a file is missing, damaged or cannot be read, memory runs out, or the run is cancelled.
    pub fn load(
        &self,
        plan: &Plan,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Graph, EngineError> {
        workers.arena().drop_columns();
        // Before anything is read, so that a directory without room is known at once.
        let fits = |storage: &Storage| {
            plan.bears(storage)?;
            storage.check_room(plan.disk_bytes(), 0)
        };
        workers.storage().map_or(Ok(()), fits)?;
        let io = plan.io(&self.io);
        let vertices = self.vertices()?;
        let (segments, bounds) = self.cuts(&vertices)?;
        let (volume, lengths) = self.volume(&io)?;
        let directory = self.directory(&lengths)?;
        let away = plan.degrees_stored();
        let degrees = if away { Buffer::zeroed(0)? } else { self.degrees(&vertices)? };
        let starts: Vec<u64> =
            segments.iter().map(|segment| vertices.segment_start(*segment)).collect();
        let slabs = self.slabs(plan, &directory, &starts, (&volume, &io), workers, progress)?;
        let stripes = group_chunks_by_stripe(&directory, slabs, &segments, &starts);
        let measured = plan.storage().map_or(Ok(None), |_| self.probed_read_rate())?;
        let mut graph = Graph {
            edges: self.manifest.edges,
            chunk_bytes: self.manifest.chunk_bytes,
            degree_max: degrees.iter().copied().max().unwrap_or(0),
            degrees,
            stripes,
            plan: paced(measured, plan, &directory, (&volume, &io), workers)?,
            id: (self.manifest.graph, self.manifest.generation),
            symmetric: self.manifest.reading.both_ways(),
            partitions: bounds.windows(2).map(|ends| ends[0]..ends[1]).collect(),
            stored: Some(Stored { volume, io }),
            ..Graph::without_edges((vertices, self.manifest.others()), plan, workers.arena())?
        };
        if away {
            self.store_degrees(&mut graph, workers)?;
        }
        // Otherwise a run makes rows once they would have paid.
        let uses_index = !matches!(plan.frontier_mode(), FrontierMode::Auto | FrontierMode::Dense);
        let at_once = uses_index || matches!(plan.index(), Index::Rows { .. });
        if plan.index().has_rows() && at_once {
            out_rows(&graph, workers, progress)?;
            if plan.index().has_both_directions() && !graph.symmetric {
                graph.in_rows = Some(by_target(&graph, workers, progress)?);
            }
        }
        Ok(graph)
    }

    /// The throughput with the rate at which the graph is read by a run of this plan: as it was
    /// measured once, else of a bucket from a short look.
    ///
    /// # Errors
    /// As [`Self::rates`], and when the graph cannot be read.
    pub fn at_its_rate(
        &self,
        throughput: Throughput,
        plan: &Plan,
        workers: &Workers,
    ) -> Result<Throughput, EngineError> {
        if self.io.remote.is_some() && plan.storage().is_none() {
            return Ok(throughput);
        }
        if let Some(read) = self.known_read_rate()? {
            return Ok(Throughput { read, ..throughput });
        }
        if self.io.remote.is_none() {
            return Ok(throughput);
        }
        let io = plan.io(&self.io);
        let (volume, lengths) = self.volume(&io)?;
        let directory = self.directory(&lengths)?;
        let read = rate_elsewhere(plan, &directory, (&volume, &io), workers)?;
        Ok(Throughput { read, ..throughput })
    }

    fn degrees(&self, vertices: &Vertices) -> Result<Buffer<u32>, EngineError> {
        let mut column = self.open_degrees()?;
        let mut degrees = Buffer::<u32>::zeroed(vertices.count() as usize)?;
        degrees.chunks_mut(PIECE).try_for_each(|piece| column.read(piece))?;
        let sum: u64 = degrees.iter().map(|degree| u64::from(*degree)).sum();
        self.end_degrees(column, sum)?;
        Ok(degrees)
    }

    /// Copies degrees to where a run with its state on storage reads them.
    fn store_degrees(&self, graph: &mut Graph, workers: &Workers) -> Result<(), EngineError> {
        let mut column = self.open_degrees()?;
        let (mut sum, mut most) = (0, 0);
        graph.store_degrees(workers.storage(), |degrees| {
            column.read(degrees)?;
            sum += degrees.iter().map(|degree| u64::from(*degree)).sum::<u64>();
            most = most.max(degrees.iter().copied().max().unwrap_or(0));
            Ok(())
        })?;
        graph.degree_max = most;
        self.end_degrees(column, sum)
    }

    fn open_degrees(&self) -> Result<ColumnReader, EngineError> {
        let column = ColumnReader::open(&self.folder(), DEGREES, &self.manifest, &self.io)?;
        column.must_hold(self.manifest.vertices * 4)?;
        Ok(column)
    }

    /// Checks degrees that were read against the number of edges.
    fn end_degrees(&self, column: ColumnReader, sum: u64) -> Result<(), EngineError> {
        if sum != self.manifest.edges {
            let what = format!("degrees add up to {sum}, and not to {}", self.manifest.edges);
            return Err(column.damaged(0, what).into());
        }
        Ok(column.end()?)
    }

    /// The extents that stay in memory, read, verified and out of their frames.
    fn slabs(
        &self,
        plan: &Plan,
        directory: &Directory,
        starts: &[u64],
        (volume, io): (&Arc<Volume>, &IoOptions),
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Vec<OnceLock<Resident>>, EngineError> {
        let together = Self::side_by_side(io);
        let stay = staying(plan, &directory.runs, self.manifest.edges, together);
        let bytes = stay.iter().map(|run| directory.runs[*run].place.rounded_bytes() as u64).sum();
        let phase = progress.phase("load", Unit::Bytes, Some(bytes));
        let slabs: Vec<OnceLock<Resident>> =
            directory.runs.iter().map(|_| OnceLock::new()).collect();
        let (is_framed, depth) = (self.is_framed(), self.slabs_in_flight(plan, io, together));
        let reads = RunReads { directory, volume, io, is_framed, depth, together };
        reads.each(&stay, (workers, progress), |number, slab, (frames, scratch)| {
            let run = &directory.runs[number];
            let from = (&**volume, workers.arena(), frames);
            let resident = self.unframed(run, directory, slab, from)?;
            self.verify(run, directory, starts, &resident, (&**volume, scratch))?;
            phase.add(run.place.rounded_bytes() as u64);
            // Each run is read once.
            let _ = slabs[number].set(resident);
            Ok(())
        })?;
        Ok(slabs)
    }

    /// Slabs that a worker has on their way while chunks are loaded, of which `together` come by
    /// one request at best. Chunks that stay as they are read are in the plan, however many are on
    /// their way; those that come out of frames need slabs of their own meanwhile, for which there
    /// are those of iterations, and what the plan leaves of the budget.
    fn slabs_in_flight(&self, plan: &Plan, io: &IoOptions, together: usize) -> usize {
        let usual = slabs_read(&io.requests);
        if together <= 1 {
            return usual;
        }
        let requests = io.requests.in_flight.filter(|_| io.remote.is_some()).unwrap_or(2);
        let wanted = usual.max(requests as usize * together);
        if !self.is_framed() {
            return wanted;
        }
        let spare = plan.premises.budget_bytes.saturating_sub(plan.memory.peak());
        let slabs = spare / (plan.premises.threads * SLAB_BYTES) as u64;
        wanted.min(usual.max(plan.io_depth()) + slabs as usize)
    }

    /// The chunks of an extent as they are read in place, all in one slab.
    fn unframed(
        &self,
        run: &Run,
        directory: &Directory,
        read: Slab,
        (volume, arena, frames): (&Volume, &Arena, &mut Frames),
    ) -> Result<Resident, EngineError> {
        let entries = &directory.entries[run.entries.clone()];
        if !self.is_framed() {
            return Ok(Resident { slab: read, chunks: entries.iter().map(Entry::range).collect() });
        }
        let mut resident = Resident { slab: arena.take()?, chunks: Vec::new() };
        for entry in entries {
            let put = frames.chunk(&read.bytes()[entry.range()]).and_then(|plain| {
                let begin = resident.chunks.last().map_or(0, |last| last.end);
                let end = begin + plain.len();
                let (what, value) = ("size of the chunks of an extent", end as u64);
                let too_large = ChunkError::Field { what, offset: 0, value };
                let room = resident.slab.bytes_mut().get_mut(begin..end).ok_or(too_large)?;
                room.copy_from_slice(plain);
                resident.chunks.push(begin..end);
                Ok(())
            });
            put.map_err(|error| damaged(volume, run, entry.range(), &error.to_string()))?;
        }
        Ok(resident)
    }

    /// Verifies the chunks of an extent, and that their edges lead to vertices.
    fn verify(
        &self,
        run: &Run,
        directory: &Directory,
        starts: &[u64],
        resident: &Resident,
        (volume, scratch): (&Volume, &mut DecodeBuffers),
    ) -> Result<(), EngineError> {
        let stripe = run.stripe as usize;
        let (base, width) = (starts[stripe], starts[stripe + 1] - starts[stripe]);
        let entries = &directory.entries[run.entries.clone()];
        for (entry, range) in entries.iter().zip(&resident.chunks) {
            let sources = entry.sources[0]..entry.sources[1].min(self.manifest.vertices);
            self.chunk(entry, base, &resident.slab.bytes()[range.clone()])
                .and_then(|chunk| sound::check(&chunk, sources, width, scratch))
                .map_err(|error| damaged(volume, run, entry.range(), &error.to_string()))?;
        }
        Ok(())
    }
}

/// The plan with the throughput at which the graph is read, if it is to be read in iterations: as
/// it was measured once, else from a short look.
fn paced(
    measured: Option<u64>,
    plan: &Plan,
    directory: &Directory,
    from: (&Arc<Volume>, &IoOptions),
    workers: &Workers,
) -> Result<Plan, EngineError> {
    let mut plan = plan.clone();
    if plan.storage().is_some() {
        let throughput = workers.throughput(plan.traffic().written)?;
        if from.1.remote.is_some() {
            // A link of the network and the cores are not in each other's way.
            let look = || rate_elsewhere(&plan, directory, from, workers);
            let read = measured.map_or_else(look, Ok)?;
            plan.throughput = Some(Throughput { read, ..throughput });
            return Ok(plan);
        }
        let places = directory.runs.iter().take(SAMPLE_SLABS).map(|run| run.place);
        let places: Vec<Place> = places.collect();
        let look = || read_rate(from, plan.io_depth(), &places, workers.arena());
        let read = measured.map_or_else(look, Ok)?;
        let throughput = Throughput { read, ..throughput }.together(workers.threads(), look)?;
        plan.throughput = Some(throughput);
    }
    Ok(plan)
}

/// Bytes a second that a bucket gives, from a short look at the first chunks.
fn rate_elsewhere(
    plan: &Plan,
    directory: &Directory,
    from: (&Arc<Volume>, &IoOptions),
    workers: &Workers,
) -> Result<u64, EngineError> {
    let places = directory.runs.iter().take(ELSEWHERE_SLABS).map(|run| run.place);
    let places: Vec<Place> = places.collect();
    if places.len() < ELSEWHERE_SLABS_LEAST {
        return Ok(ELSEWHERE_RATE);
    }
    // The first half waits for connections.
    read_rate(from, plan.io_depth().min(places.len() / 2), &places, workers.arena())
}

/// Chunks of an extent in memory.
struct Resident {
    slab: Slab,
    /// Bytes of each of them in the slab.
    chunks: Vec<Range<usize>>,
}

/// The error of a chunk that is not what was written, at its place in the file.
pub(super) fn damaged(volume: &Volume, run: &Run, range: Range<usize>, what: &str) -> EngineError {
    let mut place = run.place;
    place.offset += range.start as u64;
    volume.damaged(place, what).into()
}

/// The runs that stay in memory, spread evenly over the edges, `together` side by side.
fn staying(plan: &Plan, runs: &[Run], edges: u64, together: usize) -> Vec<usize> {
    let Some(storage) = plan.storage() else { return (0..runs.len()).collect() };
    let (mut seen, mut kept) = (0, 0);
    let mut stay = Vec::new();
    for (group, runs) in runs.chunks(together).enumerate() {
        seen += runs.iter().map(|run| run.edges).sum::<u64>();
        let share = seen as f64 / edges.max(1) as f64;
        let with_it = kept + (runs.len() * SLAB_BYTES) as u64;
        if with_it as f64 <= storage.cache_bytes as f64 * share {
            kept = with_it;
            stay.extend(group * together..group * together + runs.len());
        }
    }
    stay
}

/// Puts chunks to their stripes.
fn group_chunks_by_stripe(
    directory: &Directory,
    slabs: Vec<OnceLock<Resident>>,
    segments: &[usize],
    starts: &[u64],
) -> Vec<Stripe> {
    let mut stripes: Vec<Stripe> = segments
        .windows(2)
        .zip(starts.windows(2))
        .map(|(segments, vertices)| Stripe {
            vertices: vertices[0]..vertices[1],
            segments: segments[0]..segments[1],
            edges: 0,
            chunks: Vec::new(),
        })
        .collect();
    for (run, slab) in directory.runs.iter().zip(slabs) {
        let entries = &directory.entries[run.entries.clone()];
        let (extent, chunks) = match slab.into_inner() {
            Some(Resident { slab, chunks }) => (SlabLocation::Memory(slab), chunks),
            None => (SlabLocation::Stored(run.place), entries.iter().map(Entry::range).collect()),
        };
        let extent = Arc::new(extent);
        let stripe = &mut stripes[run.stripe as usize];
        stripe.edges += run.edges;
        stripe.chunks.extend(entries.iter().zip(chunks).map(|(entry, range)| ChunkPlace {
            cell: entry.cell(),
            number: entry.number(),
            edges: entry.edges,
            tiles: entry.tiles,
            sources: entry.sources[0]..entry.sources[1],
            extent: Arc::clone(&extent),
            range,
            // Chunks that stay in memory were looked at.
            sound: Sound::new(extent.bytes().is_some()),
        }));
    }
    stripes
}

impl KeptGraph {
    /// The ids of its slots.
    ///
    /// # Errors
    /// When their file is damaged or cannot be read.
    pub fn ids(&self) -> Result<IdMap, EngineError> {
        ids(self)
    }
}

/// The ids of a kept graph's slots.
fn ids(kept: &KeptGraph) -> Result<IdMap, EngineError> {
    let Manifest { slots, .. } = kept.manifest;
    Ok(match kept.manifest.ids {
        KeptIds::Same => IdMap::Same,
        KeptIds::Declared => IdMap::Declared,
        KeptIds::Offset(first) => IdMap::Offset(first),
        KeptIds::Integers => IdMap::Sparse(integers(kept, slots, 0..=u64::MAX)?),
        KeptIds::NonCompact { first, others } => {
            let named = slots - u64::from(others > 0);
            let all = first..first + named + others;
            let within = all.start..=all.end.saturating_sub(1);
            let ids = NonCompact::new(integers(kept, named, within)?, all);
            IdMap::NonCompact(
                ids.ok_or_else(|| EngineError::internal("integers are not those of the graph"))?,
            )
        }
        KeptIds::Names => IdMap::Names(names(kept, slots)?),
        KeptIds::TwoKindsOfIntegers { added } => {
            let ids = integers(kept, slots, 0..=u64::MAX)?;
            IdMap::TwoKinds(TwoKinds::new(Keys::Integers(ids, added)))
        }
        KeptIds::TwoKindsOfNames => {
            IdMap::TwoKinds(TwoKinds::new(Keys::Names(names(kept, slots)?)))
        }
    })
}

/// The ids in a file, which ascend.
fn integers(
    kept: &KeptGraph,
    count: u64,
    within: RangeInclusive<u64>,
) -> Result<Vec<u64>, EngineError> {
    let mut column = ColumnReader::open(&kept.folder(), INTEGERS, &kept.manifest, &kept.io)?;
    column.must_hold(count * 8)?;
    let ids: Vec<u64> = column.read_vec(count as usize)?;
    let odd = |column: &ColumnReader, place: usize, what: &str| {
        column.damaged(place as u64 * 8, format!("id {place} {what}"))
    };
    if let Some(place) = ids.windows(2).position(|pair| pair[0] >= pair[1]) {
        return Err(odd(&column, place + 1, "does not ascend").into());
    }
    if let Some(place) = ids.iter().position(|id| !within.contains(id)) {
        return Err(odd(&column, place, "is no vertex").into());
    }
    column.end()?;
    Ok(ids)
}

fn names(kept: &KeptGraph, slots: u64) -> Result<Names, EngineError> {
    let mut column = ColumnReader::open(&kept.folder(), NAMES, &kept.manifest, &kept.io)?;
    let text_bytes = column.bytes().checked_sub(slots * 8);
    let Some(text_bytes) = text_bytes else {
        column.must_hold(slots * 8)?;
        return Ok(Names::new());
    };
    let ends: Vec<u64> = column.read_vec(slots as usize)?;
    let odd = |column: &ColumnReader, slot: usize| -> StoreError {
        column.damaged(slot as u64 * 8, format!("name {slot} makes no sense"))
    };
    if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != text_bytes {
        return Err(odd(&column, ends.len().saturating_sub(1)).into());
    }
    let mut names = Names::with_capacity(ends.len(), text_bytes as usize);
    let (mut slot, mut begin) = (0, 0);
    while slot < ends.len() {
        // As many names as fit a piece, and at least one.
        let fit = ends[slot..].partition_point(|end| end - begin <= TEXT_BYTES as u64).max(1);
        let piece: Vec<u8> = column.read_vec((ends[slot + fit - 1] - begin) as usize)?;
        let text = std::str::from_utf8(&piece).map_err(|_| odd(&column, slot))?;
        let mut from = 0;
        for end in &ends[slot..slot + fit] {
            let to = (end - begin) as usize;
            let name = text.get(from..to).ok_or_else(|| odd(&column, slot))?;
            if slot > 0 && names.get(slot - 1) >= name {
                return Err(odd(&column, slot).into());
            }
            names.push(name);
            (from, slot) = (to, slot + 1);
        }
        begin += piece.len() as u64;
    }
    column.end()?;
    Ok(names)
}
