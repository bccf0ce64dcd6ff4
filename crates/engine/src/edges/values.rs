//! Values of vertices on storage.
//!
//! Values are looked at once an iteration, stripe by stripe, so they are the first of the columns
//! to leave a memory that is too small: a worker reads those of its stripe while it folds the
//! edges, and writes them back while it folds those of the next one. Signals are looked up by the
//! edges and stay, unless even they do not fit ([`crate::schedules::ranges`]): then they lie here
//! too, and are read piece by piece.
//!
//! Invariant: what is read is what was written last: checksums of all pieces are in memory. Checked
//! in `StoredColumn::verify` and `StoredColumn::verify_piece`. Tested by
//! `a_bit_that_is_another_one_is_found`.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use welter_store::StoreError;

use bytemuck::{Pod, cast_slice};
use welter_store::checksum;
use welter_store::io::{IoOptions, Place, Queue, Requests, Volume, VolumeStats};

use crate::EngineError;
use crate::footprints::columns::{COLUMNS, PIECE};
use crate::machine::arena::Buffer;
use crate::machine::storage::Storage;

/// A function that is shown the bytes of a column, in pieces.
pub(crate) type Visit<'v> = dyn FnMut(&[u8]) -> Result<(), EngineError> + 'v;

/// A function that fills the bytes of a column, in pieces.
pub(crate) type Fill<'f> = dyn FnMut(&mut [u8]) -> Result<(), StoreError> + 'f;

/// Values of all vertices on storage, by stripe.
pub(crate) struct StoredColumn {
    /// Bytes of the value of a vertex.
    width: usize,
    /// Vertices of each stripe.
    stripes: Vec<Range<u64>>,
    volume: Arc<Volume>,
    io: IoOptions,
    places: Vec<Place>,
    /// Of each piece of each stripe.
    checksums: Vec<Vec<AtomicU32>>,
}

/// Number of the vertices of a stripe.
fn count(stripe: &Range<u64>) -> usize {
    (stripe.end - stripe.start) as usize
}

/// The values of some vertices of a stripe, as they are read at once.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    stripe: usize,
    number: usize,
    place: Place,
    pub(crate) vertices: Range<u64>,
}

impl StoredColumn {
    /// Room for values of `width` bytes each, of these stripes of vertices, which hold nothing yet.
    pub(crate) fn new(
        stripes: Vec<Range<u64>>,
        storage: &Storage,
        width: usize,
    ) -> Result<Self, EngineError> {
        let all = stripes.last().map_or(0, |last| last.end);
        let volume = storage.scratch(all * width as u64)?;
        let bytes = |stripe| (count(stripe) * width) as u32;
        let places = stripes.iter().map(|stripe| volume.reserve(bytes(stripe))).collect();
        let none = |count| (0..count).map(|_| AtomicU32::new(0)).collect();
        let checksums = stripes.iter().map(|stripe| none(count(stripe).div_ceil(PIECE))).collect();
        Ok(Self { width, stripes, volume, io: storage.io.clone(), places, checksums })
    }

    /// Number of vertices.
    fn vertices(&self) -> u64 {
        self.stripes.last().map_or(0, |last| last.end)
    }

    /// Vertices of the widest stripe.
    fn widest(&self) -> usize {
        self.stripes.iter().map(count).max().unwrap_or(0)
    }

    /// Elements of a column that hold the value of a vertex: one, or as many as it has bytes.
    pub(crate) fn elements<V>(&self) -> usize {
        if size_of::<V>() == 0 { 1 } else { self.width / size_of::<V>() }
    }

    /// Bytes and requests to and from storage.
    pub(crate) fn stats(&self) -> VolumeStats {
        self.volume.stats()
    }

    /// Reads the values of a stripe into a buffer that has room for them, and verifies them.
    pub(crate) fn load<V: Pod + Send>(
        &self,
        stripe: usize,
        mut column: Buffer<V>,
    ) -> Result<Buffer<V>, EngineError> {
        let place = self.places[stripe];
        if place.bytes > 0 {
            self.volume.read_at_once(place, &mut column)?;
        }
        self.verify(stripe, &column)?;
        Ok(column)
    }

    /// Reads the values of all stripes into memory.
    pub(crate) fn whole<V: Pod + Send>(&self) -> Result<Buffer<V>, EngineError> {
        let each = self.elements::<V>();
        let mut values = Buffer::zeroed(self.vertices() as usize * each)?;
        let mut column = Buffer::in_order(self.widest() * each)?;
        for (number, stripe) in self.stripes.iter().enumerate() {
            column = self.load(number, column)?;
            let place = stripe.start as usize * each..stripe.end as usize * each;
            values[place].copy_from_slice(&column[..count(stripe) * each]);
        }
        Ok(values)
    }

    /// Shows the values of all vertices, in their order, in pieces.
    pub(crate) fn each<V: Pod + Send>(
        &self,
        mut visit: impl FnMut(&[V]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let each = self.elements::<V>();
        let mut memory = Buffer::in_order(PIECE * each)?;
        for piece in self.pieces(0..self.vertices()) {
            self.volume.read_at_once(piece.place, &mut memory)?;
            self.verify_piece(&piece, &memory)?;
            visit(&memory[..(piece.vertices.end - piece.vertices.start) as usize * each])?;
        }
        Ok(())
    }

    /// The checksum of all values, in the order of the vertices.
    pub(crate) fn checksum(&self) -> u32 {
        let whole = PIECE * self.width;
        let mut all = 0;
        for (place, sums) in self.places.iter().zip(&self.checksums) {
            let mut left = place.bytes as usize;
            for sum in sums {
                let bytes = left.min(whole);
                all = checksum::combine(all, sum.load(Ordering::Relaxed), bytes);
                left -= bytes;
            }
        }
        all
    }

    /// The pieces that some vertices lie in.
    pub(crate) fn pieces(&self, vertices: Range<u64>) -> Vec<Piece> {
        let first = self.stripes.partition_point(|stripe| stripe.end <= vertices.start);
        let mut pieces = Vec::new();
        for (stripe, part) in self.stripes.iter().enumerate().skip(first) {
            let (start, end) = (part.start, part.end);
            if start >= vertices.end || self.width == 0 {
                break;
            }
            let wanted = vertices.start.max(start) - start..vertices.end.min(end) - start;
            let numbers = wanted.start as usize / PIECE..(wanted.end as usize).div_ceil(PIECE);
            pieces.extend(numbers.map(|number| {
                let begin = number * PIECE;
                let own = PIECE.min(count(part) - begin);
                let mut place = self.places[stripe];
                place.offset += (begin * self.width) as u64;
                place.bytes = (own * self.width) as u32;
                let first = start + begin as u64;
                Piece { stripe, number, place, vertices: first..first + own as u64 }
            }));
        }
        pieces
    }

    /// Settings of requests for it.
    pub(crate) fn requests(&self) -> &Requests {
        &self.io.requests
    }

    /// A queue for reading pieces.
    pub(crate) fn queue<V: Pod + Send>(
        &self,
        depth: usize,
    ) -> Result<Queue<Buffer<V>>, EngineError> {
        Ok(Queue::reading(&self.io, depth)?)
    }

    /// Begins to read a piece.
    pub(crate) fn read<V: Pod + Send>(
        &self,
        piece: &Piece,
        queue: &mut Queue<Buffer<V>>,
        memory: Buffer<V>,
        tag: u64,
    ) -> Result<(), EngineError> {
        Ok(queue.read(&self.volume, piece.place, memory, tag)?)
    }

    /// Checks a piece that was read against what was written.
    pub(crate) fn verify_piece<V: Pod>(
        &self,
        piece: &Piece,
        values: &[V],
    ) -> Result<(), EngineError> {
        let found = checksum::of(&cast_slice(values)[..piece.place.bytes as usize]);
        if found == self.checksums[piece.stripe][piece.number].load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(self.damaged(piece.place))
    }

    /// Checks what was read against what was written.
    fn verify<V: Pod>(&self, stripe: usize, column: &[V]) -> Result<(), EngineError> {
        let place = self.places[stripe];
        let expected = self.checksums[stripe].iter().map(|sum| sum.load(Ordering::Relaxed));
        if place.bytes == 0 || self.checksums_of(column, place).eq(expected) {
            return Ok(());
        }
        Err(self.damaged(place))
    }

    /// The checksums of the pieces of a stripe's values.
    fn checksums_of<V: Pod>(&self, column: &[V], place: Place) -> impl Iterator<Item = u32> {
        let bytes = &cast_slice(column)[..place.bytes as usize];
        bytes.chunks((PIECE * self.width).max(1)).map(checksum::of)
    }

    fn damaged(&self, place: Place) -> EngineError {
        self.volume.damaged(place, "values are not what was written").into()
    }
}

/// One worker's columns of values: of their type, or of their bytes.
pub(crate) struct ColumnIo<'a, V: Pod + Send> {
    stored: &'a StoredColumn,
    queue: Queue<Buffer<V>>,
    free: Vec<Buffer<V>>,
    /// The column that was asked for, once it has been read.
    fetched: Option<Buffer<V>>,
}

impl<'a, V: Pod + Send> ColumnIo<'a, V> {
    pub(crate) fn new(stored: &'a StoredColumn) -> Result<Self, EngineError> {
        let column = |_| Buffer::in_order(stored.widest() * stored.elements::<V>());
        let free = (0..COLUMNS).map(column).collect::<Result<_, _>>()?;
        let queue = Queue::new(&stored.io, COLUMNS)?;
        Ok(Self { stored, queue, free, fetched: None })
    }

    /// Continues with another column of as wide values, once all is written to this one.
    pub(crate) fn turn(&mut self, stored: &'a StoredColumn) -> Result<(), EngineError> {
        self.finish()?;
        self.stored = stored;
        Ok(())
    }

    /// Begins to read the values of a stripe.
    pub(crate) fn fetch(&mut self, stripe: usize) -> Result<(), EngineError> {
        let column = self.blank()?;
        if self.stored.places[stripe].bytes == 0 {
            self.fetched = Some(column);
            return Ok(());
        }
        Ok(self.queue.read(&self.stored.volume, self.stored.places[stripe], column, 0)?)
    }

    /// The values of the stripe that was fetched last.
    pub(crate) fn take(&mut self, stripe: usize) -> Result<Buffer<V>, EngineError> {
        loop {
            if let Some(column) = self.fetched.take() {
                self.stored.verify(stripe, &column)?;
                return Ok(column);
            }
            self.wait()?;
        }
    }

    /// A column that nothing is in, or anything.
    pub(crate) fn blank(&mut self) -> Result<Buffer<V>, EngineError> {
        loop {
            match self.free.pop() {
                Some(column) => return Ok(column),
                None => self.wait()?,
            }
        }
    }

    /// Takes back a column that need not be written.
    pub(crate) fn done(&mut self, column: Buffer<V>) {
        self.free.push(column);
    }

    /// Writes the values of a stripe, some time before [`Self::finish`] returns.
    pub(crate) fn put(&mut self, stripe: usize, column: Buffer<V>) -> Result<(), EngineError> {
        let place = self.stored.places[stripe];
        let found = self.stored.checksums_of(&column, place);
        let sums = self.stored.checksums[stripe].iter().zip(found);
        sums.for_each(|(sum, found)| sum.store(found, Ordering::Relaxed));
        if place.bytes == 0 {
            self.free.push(column);
            return Ok(());
        }
        Ok(self.queue.write(&self.stored.volume, place, column, 0)?)
    }

    /// Waits until all is written.
    pub(crate) fn finish(&mut self) -> Result<(), EngineError> {
        while self.queue.in_flight() > 0 {
            self.wait()?;
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), EngineError> {
        match self.queue.wait()? {
            Some(done) if done.wrote => self.free.push(done.memory),
            Some(done) => self.fetched = Some(done.memory),
            None => {
                let what = "values of a stripe were asked for and never fetched";
                return Err(EngineError::internal(what));
            }
        }
        Ok(())
    }
}
