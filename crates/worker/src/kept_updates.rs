//! Updates that are kept until their partition is applied, because nothing merges them: in memory,
//! and beyond a bound in the scratch place of the machine.
//!
//! ```text
//! list      up to M updates of the partition at work, as they come
//! written   when it is full and more come, and before groups are met: sorted by bins, ranges of
//!           places; chunks of each bin lie one after the other, as update chunks of the engine
//! pieces    neighbouring bins with up to M updates, or, of a bin with more, ranges of its vertices
//!           with up to M: for each its chunks are read, its updates grouped, and forgotten
//! ```
//!
//! The updates of each vertex are counted when they are written, so pieces are known before any is
//! read. An update is written once, and read once; those of a bin with more than `M` once for each
//! of its pieces. Streaming the chunks of the partition once for each piece instead would move them
//! as often from all disks through the network, and a chunk is handed out once (decision 154).
//!
//! Updates that are not grouped (of extended programs, and for accumulators that know whom they are
//! of) are met chunk by chunk, and need no pieces.
//!
//! Invariants:
//! - The list has `M` updates at most while a partition is gathered, and so has a piece. Asserted
//!   in `KeptUpdates::gather`; checked by the simulator in `Shares::held`.
//! - The answer is that of one list. Tested by `answers_do_not_depend_on_how_many_updates_are_kept`
//!   and `pieces_come_to_what_one_list_does`.

use std::ops::Range;

use welter_engine::EngineError;
use welter_engine::chunks::{
    Column, ExtendedKernel, FoldKernel, UpdateKey, gather_extended, group, open_updates,
};

use crate::bins::Bin;
use crate::other;
use crate::scratch::ScratchSpace;

/// Bins of a partition, at least.
const BINS_LEAST: usize = 16;

/// Bins of a partition, at most.
const BINS_MOST: usize = 256;

/// Updates of a chunk, in the mean, where as many bins as that takes are within these bounds.
const CHUNK_UPDATES: usize = 1024;

/// Updates of a chunk, at most; and a chunk has an eighth of the list, at most.
const CHUNK_UPDATES_MAX: usize = 1 << 16;

/// Updates in memory, at most: their places take 32 bits.
const UPDATES_MAX: u64 = 1 << 31;

/// Bytes that are taken for heads and ends of chunks, whatever the bound is.
const HEADS_BYTES: u64 = 4 << 10;

/// Bytes that a worker takes at most for up to `updates` updates of `update_bytes` bytes that it
/// keeps of a partition of `vertices` vertices: the list, its order, a chunk, and groups.
pub fn kept_bytes(updates: u64, update_bytes: u64, vertices: u64) -> u64 {
    let lists = updates.saturating_mul(3 * (4 + update_bytes));
    lists.saturating_add(12 * vertices).saturating_add(HEADS_BYTES)
}

/// Updates of the partition at work.
pub(crate) struct KeptUpdates {
    /// Bytes of an update.
    width: usize,
    /// Updates in memory.
    list: Bin,
    /// Vertices of the partition.
    vertices: usize,
    /// Place for others, where the list is bounded.
    overflow: Option<Overflow>,
}

/// Place of the updates that the list has no room for.
struct Overflow {
    scratch: Box<dyn ScratchSpace>,
    /// Bytes of an update.
    width: usize,
    /// Updates that the list has room for: a power of two, so that lists which double end there.
    room: usize,
    /// Chunks that were written.
    bins: Vec<StoredBin>,
    /// Number of updates of each vertex in these.
    counts: Vec<u32>,
    /// Places in the list, by bins.
    order: Vec<u32>,
    /// A chunk that is written.
    part: Bin,
    /// A chunk that was read.
    read: Column,
    /// Bytes of memory that all of it took, at most.
    peak_bytes: u64,
}

/// Updates of a range of vertices.
#[derive(Default)]
struct StoredBin {
    updates: u64,
    /// Offset and bytes of each chunk.
    chunks: Vec<(u64, usize)>,
}

/// Vertices whose updates fit in the list.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    /// Places of the vertices.
    places: Range<usize>,
    /// Bins that these lie in.
    bins: Range<usize>,
}

impl KeptUpdates {
    /// Keeps updates of `width` bytes, all in memory.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, list: Bin::new(width), vertices: 0, overflow: None }
    }

    /// Keeps up to this number in memory, and others in a scratch place.
    pub(crate) fn keep_at_most(&mut self, updates_max: u64, scratch: Box<dyn ScratchSpace>) {
        let room = 1_usize << updates_max.clamp(1, UPDATES_MAX).ilog2();
        let bins = (room / CHUNK_UPDATES).clamp(BINS_LEAST, BINS_MOST);
        self.overflow = Some(Overflow {
            scratch,
            width: self.width,
            room,
            bins: (0..bins).map(|_| StoredBin::default()).collect(),
            counts: Vec::new(),
            order: Vec::new(),
            part: Bin::new(self.width),
            read: Column::default(),
            peak_bytes: 0,
        });
    }

    /// Begins a partition of this number of vertices, without updates.
    ///
    /// # Errors
    /// When the room of others cannot be given back.
    pub(crate) fn begin(&mut self, vertices: usize) -> Result<(), EngineError> {
        self.vertices = vertices;
        self.clear()
    }

    /// Forgets all updates.
    ///
    /// # Errors
    /// When their room cannot be given back.
    pub(crate) fn clear(&mut self) -> Result<(), EngineError> {
        self.list.clear();
        self.overflow.as_mut().map_or(Ok(()), Overflow::clear)
    }

    /// The list itself, where its owner sees to its length.
    pub(crate) fn list(&mut self) -> &mut Bin {
        &mut self.list
    }

    /// Number of updates that are kept, wherever they are.
    pub(crate) fn len(&self) -> u64 {
        let stored = self.overflow.as_ref().map_or(0, Overflow::len);
        u64::from(self.list.waiting()) + stored
    }

    /// Number of updates in memory, and bytes of one with its target.
    pub(crate) fn held(&self) -> (u64, u64) {
        self.list.held()
    }

    /// Bytes of memory that bounded updates took until now, at most.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.overflow.as_ref().map_or(0, |overflow| overflow.peak_bytes)
    }

    /// Adds updates of the partition at work, which is `at`.
    ///
    /// # Errors
    /// When one is for a destination outside, or others cannot be written.
    pub(crate) fn extend(
        &mut self,
        at: (u64, UpdateKey),
        mut targets: &[u32],
        mut updates: &[u8],
    ) -> Result<(), EngineError> {
        let Self { width, list, vertices, overflow } = self;
        let Some(overflow) = overflow else {
            list.extend(targets, updates);
            return Ok(());
        };
        while !targets.is_empty() {
            let mut held = list.waiting() as usize;
            if held >= overflow.room {
                overflow.write((at, *vertices), list)?;
                held = 0;
            }
            let count = targets.len().min(overflow.room - held);
            list.reserve((held + count).next_power_of_two().min(overflow.room));
            list.extend(&targets[..count], &updates[..count * *width]);
            (targets, updates) = (&targets[count..], &updates[count * *width..]);
        }
        Ok(())
    }

    /// Lets the accumulators of the partition meet all updates, in a program that groups them, or
    /// whose accumulators know whom they are of. `values`: of its vertices.
    ///
    /// # Errors
    /// When an update is for a destination outside, those of one vertex have no room, or what was
    /// written cannot be read.
    pub(crate) fn gather(
        &mut self,
        at: (u64, UpdateKey),
        kernel: &FoldKernel,
        values: &[u8],
        accums: &mut [u8],
    ) -> Result<(), EngineError> {
        let shape = *kernel.shape();
        let Self { width, list, vertices, overflow } = self;
        let Some(overflow) = overflow.as_mut().filter(|overflow| overflow.len() > 0) else {
            let (targets, updates) = list.records();
            return group(kernel, (at.1, targets, updates), values, accums);
        };
        if shape.capabilities.knows_target {
            kernel.begin(values, accums);
            return self.each(at, |targets, updates| {
                let are_inside = kernel.gather((targets, updates), accums);
                are_inside.then_some(()).ok_or_else(|| other("an update for no vertex"))
            });
        }
        overflow.write((at, *vertices), list)?;
        for Piece { places, bins } in overflow.pieces(*vertices)? {
            overflow.read(at, bins, |targets, updates| {
                for (&target, update) in targets.iter().zip(updates.chunks_exact(*width)) {
                    if places.contains(&(target as usize)) {
                        list.put(target - places.start as u32, update);
                    }
                }
                Ok(())
            })?;
            let (targets, updates) = list.records();
            assert!(targets.len() <= overflow.room, "a piece has room");
            let groups = updates.len() + 8 * places.len();
            overflow.note(list, groups);
            let values = &values[places.start * shape.value..places.end * shape.value];
            let accums = &mut accums[places.start * shape.accum..places.end * shape.accum];
            group(kernel, (at.1, targets, updates), values, accums)?;
            list.clear();
        }
        Ok(())
    }

    /// As [`Self::gather`], in an extended program.
    pub(crate) fn gather_extended(
        &mut self,
        at: (u64, UpdateKey),
        kernel: &ExtendedKernel,
        accums: &mut [u8],
    ) -> Result<(), EngineError> {
        self.each(at, |targets, updates| gather_extended(kernel, (at.1, targets, updates), accums))
    }

    /// All updates as a chunk: in memory, wherever they were.
    pub(crate) fn chunk(&mut self, at: (u64, UpdateKey)) -> Result<Vec<u8>, EngineError> {
        if self.overflow.as_ref().is_none_or(|overflow| overflow.len() == 0) {
            return Ok(self.list.chunk(at));
        }
        let mut all = Bin::new(self.width);
        self.each(at, |targets, updates| {
            all.extend(targets, updates);
            Ok(())
        })?;
        Ok(all.chunk(at))
    }

    /// Hands out all updates, some at a time.
    fn each(
        &mut self,
        at: (u64, UpdateKey),
        mut each: impl FnMut(&[u32], &[u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if let Some(overflow) = &mut self.overflow {
            overflow.read(at, 0..overflow.bins.len(), &mut each)?;
        }
        let (targets, updates) = self.list.records();
        each(targets, updates)
    }
}

impl Overflow {
    fn clear(&mut self) -> Result<(), EngineError> {
        self.counts.clear();
        if self.len() == 0 {
            return Ok(());
        }
        for bin in &mut self.bins {
            bin.updates = 0;
            bin.chunks.clear();
        }
        self.scratch.clear()
    }

    /// Number of updates that were written.
    fn len(&self) -> u64 {
        self.bins.iter().map(|bin| bin.updates).sum()
    }

    /// Notes how much memory is taken now, with `more` bytes.
    fn note(&mut self, list: &Bin, more: usize) {
        let lists = list.room_bytes() + self.part.room_bytes() + self.read.len();
        let numbers = size_of::<u32>() * (self.order.len() + self.counts.len());
        self.peak_bytes = self.peak_bytes.max((lists + numbers + more) as u64);
    }

    /// The bin of a vertex, by its place among `vertices`.
    fn bin_of(&self, place: u32, vertices: usize) -> usize {
        (u64::from(place) * self.bins.len() as u64 / vertices as u64) as usize
    }

    /// Place where a bin begins.
    fn first_of(&self, bin: usize, vertices: usize) -> usize {
        (bin * vertices).div_ceil(self.bins.len())
    }

    /// Puts the places of these destinations in the order of their bins, and counts how many each
    /// vertex has. Where each bin ends in that order.
    fn sort(&mut self, targets: &[u32], vertices: usize) -> Result<Vec<usize>, EngineError> {
        self.counts.resize(vertices, 0);
        let mut ends = vec![0; self.bins.len()];
        for &target in targets {
            let count = self.counts.get_mut(target as usize);
            let count = count.ok_or_else(|| {
                other(format!("an update for place {target} of {vertices} vertices"))
            })?;
            *count = count.saturating_add(1);
            ends[self.bin_of(target, vertices)] += 1;
        }
        let mut before = 0;
        for end in &mut ends {
            before += *end;
            *end = before - *end;
        }
        self.order.resize(targets.len(), 0);
        for (place, &target) in (0..).zip(targets) {
            let next = &mut ends[self.bin_of(target, vertices)];
            self.order[*next] = place;
            *next += 1;
        }
        Ok(ends)
    }

    /// Writes the updates of a list, bin by bin, and empties it.
    fn write(
        &mut self,
        (at, vertices): ((u64, UpdateKey), usize),
        list: &mut Bin,
    ) -> Result<(), EngineError> {
        let (targets, updates) = list.records();
        let ends = self.sort(targets, vertices)?;
        let part_updates = (self.room / 8).clamp(1, CHUNK_UPDATES_MAX);
        let (width, mut start) = (self.width, 0);
        self.part.reserve(part_updates);
        let mut longest = 0;
        for (bin, end) in ends.into_iter().enumerate() {
            let Self { scratch, bins, order, part, .. } = self;
            for places in order[start..end].chunks(part_updates) {
                part.clear();
                for &place in places {
                    let place = place as usize;
                    part.put(targets[place], &updates[place * width..][..width]);
                }
                let bytes = part.chunk(at);
                longest = bytes.len().max(longest);
                bins[bin].chunks.push((scratch.append(&bytes)?, bytes.len()));
                bins[bin].updates += places.len() as u64;
            }
            start = end;
        }
        self.note(list, longest);
        list.clear();
        Ok(())
    }

    /// Hands out the updates of some bins, chunk by chunk.
    fn read(
        &mut self,
        at: (u64, UpdateKey),
        bins: Range<usize>,
        mut each: impl FnMut(&[u32], &[u8]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let Self { scratch, width, bins: all, read, .. } = self;
        for &(offset, bytes) in all[bins].iter().flat_map(|bin| &bin.chunks) {
            read.resize(bytes);
            scratch.read(offset, read)?;
            let records = open_updates(*width, at, read)?;
            each(records.targets, records.accums)?;
        }
        Ok(())
    }

    /// All vertices, by pieces whose updates fit in the list.
    ///
    /// # Errors
    /// When those of one vertex do not.
    fn pieces(&self, vertices: usize) -> Result<Vec<Piece>, EngineError> {
        let (mut pieces, mut bins, mut held) = (Vec::new(), 0..0, 0);
        let of_bins = |bins: Range<usize>| {
            let [start, end] = [bins.start, bins.end].map(|bin| self.first_of(bin, vertices));
            Piece { places: start..end, bins }
        };
        for (bin, stored) in self.bins.iter().enumerate() {
            let fits = held + stored.updates <= self.room as u64;
            if !fits {
                pieces.push(of_bins(bins));
                (bins, held) = (bin..bin, 0);
            }
            if stored.updates > self.room as u64 {
                self.cut(bin, of_bins(bin..bin + 1).places, &mut pieces)?;
                bins = bin + 1..bin + 1;
                continue;
            }
            held += stored.updates;
            bins.end = bin + 1;
        }
        pieces.push(of_bins(bins));
        pieces.retain(|piece| !piece.places.is_empty());
        Ok(pieces)
    }

    /// Cuts the vertices of a bin into pieces.
    fn cut(
        &self,
        bin: usize,
        places: Range<usize>,
        pieces: &mut Vec<Piece>,
    ) -> Result<(), EngineError> {
        let (mut start, mut held) = (places.start, 0);
        for place in places.clone() {
            let count = self.counts[place] as usize;
            if count > self.room {
                return Err(self.too_many(count as u64));
            }
            if held + count > self.room {
                pieces.push(Piece { places: start..place, bins: bin..bin + 1 });
                (start, held) = (place, 0);
            }
            held += count;
        }
        pieces.push(Piece { places: start..places.end, bins: bin..bin + 1 });
        Ok(())
    }

    /// Refusal of a vertex with this number of updates.
    fn too_many(&self, updates: u64) -> EngineError {
        let update_bytes = self.width as u64;
        let [need, budget] = [updates.next_power_of_two(), self.room as u64]
            .map(|it| kept_bytes(it, update_bytes, 0));
        let advice = format!(
            "what {updates} neighbours say to one vertex must be in memory at the same time, and \
             this is what a machine has for that; give machines more"
        );
        EngineError::Budget { need, budget, advice }
    }
}
