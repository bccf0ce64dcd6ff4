//! The chunks of one stripe after the other, of which those on storage are read ahead.
//!
//! A worker says which stripe it is at and which it will take next. While it folds what it has, a
//! few slabs of what comes are being read, across the end of the stripe, so that either the
//! processor or the device always has something to do. What is not wanted is not read.
//!
//! Invariant: a worker holds at most [`DEPTH`] slabs that are read or waiting, and one more that it
//! looks at.

use std::collections::VecDeque;
use std::sync::Arc;

use welter_store::StoreError;
use welter_store::chunk::Chunk;
use welter_store::io::{Place, Queue};

use crate::EngineError;
use crate::arena::Slab;
use crate::extent::{DEPTH, Extent};
use crate::graph::{Graph, Stored, Stripe};

/// Slabs that a worker needs at most.
pub(crate) const SLABS: usize = DEPTH + 1;

/// One worker's way to chunks.
pub(crate) struct ReadAhead<'g> {
    graph: &'g Graph,
    stored: Option<(&'g Stored, Queue<Slab>)>,
    /// Extents that will be asked for, in that order. The first ones are being read.
    wanted: VecDeque<Wanted>,
    /// Number of the first of these.
    first: u64,
    /// How many of these are being read or have been.
    issued: usize,
    /// The stripe that was announced last.
    announced: Option<usize>,
}

struct Wanted {
    place: Place,
    slab: Option<Slab>,
}

impl<'g> ReadAhead<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self, EngineError> {
        let stored = graph.stored.as_ref();
        let queue = |stored: &'g Stored| Ok((stored, Queue::new(&stored.io, DEPTH)?));
        Ok(Self {
            graph,
            stored: stored.map(queue).transpose().map_err(|error: StoreError| error)?,
            wanted: VecDeque::new(),
            first: 0,
            issued: 0,
            announced: None,
        })
    }

    /// Shows some chunks of a stripe to `visit`, with the stripe, in the order in which `wants`
    /// gives their numbers. `next`: the stripe that will be asked for after this one. What is
    /// wanted must not change in between.
    pub(crate) fn stripe<W: Iterator<Item = usize>>(
        &mut self,
        (number, next): (usize, Option<usize>),
        wants: impl Fn(usize) -> W,
        mut visit: impl FnMut(&Stripe, Chunk<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        if self.announced != Some(number) {
            self.announce(number, wants(number));
        }
        if let Some(next) = next {
            self.announce(next, wants(next));
        }
        self.announced = next;
        let stripe = &graph.stripes[number];
        let mut held: Option<(&Arc<Extent>, Slab)> = None;
        for place in wants(number).map(|chunk| &stripe.chunks[chunk]) {
            let Extent::Stored(stored) = &*place.extent else {
                visit(stripe, graph.open(stripe, place)?)?;
                continue;
            };
            let slab = match held.take() {
                Some((extent, slab)) if Arc::ptr_eq(extent, &place.extent) => slab,
                other => {
                    // Its memory is free before more is asked for.
                    drop(other);
                    self.take()?
                }
            };
            let bytes = &slab.bytes()[place.range.clone()];
            let chunk = graph.open_bytes(stripe, place, bytes).and_then(|chunk| {
                let verified = chunk.verify().map(|()| chunk);
                verified.map_err(|error| Graph::damaged(place, error))
            });
            visit(stripe, chunk.map_err(|error| self.name(*stored, &error))?)?;
            held = Some((&place.extent, slab));
        }
        Ok(())
    }

    /// Notes the stored extents of a stripe that will be wanted.
    fn announce(&mut self, number: usize, wants: impl Iterator<Item = usize>) {
        let mut last: Option<&Arc<Extent>> = None;
        for place in wants.map(|chunk| &self.graph.stripes[number].chunks[chunk]) {
            let Extent::Stored(stored) = &*place.extent else { continue };
            if last.is_none_or(|last| !Arc::ptr_eq(last, &place.extent)) {
                self.wanted.push_back(Wanted { place: *stored, slab: None });
            }
            last = Some(&place.extent);
        }
    }

    /// The slab of the extent that is wanted first.
    fn take(&mut self) -> Result<Slab, EngineError> {
        self.issue()?;
        let Some((_, queue)) = &mut self.stored else { return Err(nothing_stored()) };
        loop {
            let Some(front) = self.wanted.front_mut() else { return Err(nothing_stored()) };
            if let Some(slab) = front.slab.take() {
                self.wanted.pop_front();
                self.first += 1;
                self.issued -= 1;
                self.issue()?;
                return Ok(slab);
            }
            let Some(done) = queue.wait()? else { return Err(nothing_stored()) };
            self.wanted[(done.tag - self.first) as usize].slab = Some(done.memory);
        }
    }

    /// Begins to read what is wanted next, as far as there may be slabs for it.
    fn issue(&mut self) -> Result<(), EngineError> {
        let Some((stored, queue)) = &mut self.stored else { return Ok(()) };
        while self.issued < DEPTH.min(self.wanted.len()) {
            let place = self.wanted[self.issued].place;
            let tag = self.first + self.issued as u64;
            queue.read(&stored.volume, place, self.graph.arena.take()?, tag)?;
            self.issued += 1;
        }
        Ok(())
    }

    /// The same error, with the name of the file that the bytes came from.
    fn name(&self, place: Place, error: &EngineError) -> EngineError {
        match &self.stored {
            Some((stored, _)) => stored.volume.damaged(place, error.to_string()).into(),
            None => nothing_stored(),
        }
    }
}

/// A stored extent was looked for and not announced.
fn nothing_stored() -> EngineError {
    EngineError::Configuration("a chunk on storage was asked for and never announced".to_owned())
}
