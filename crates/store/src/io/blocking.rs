//! Requests that are done by the thread that asks for them, before it continues.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::sync::Arc;

use super::memory::Memory;
use super::place::Place;
use super::remote::Scattered;
use super::request::{Backend, Outcome, Request};
use super::transfer::Transfer;
use super::volume::Volume;
use crate::StoreError;

/// Does a request from its beginning to its end.
pub(super) fn run(
    volume: &Volume,
    mut transfer: Transfer,
    memory: &mut [u8],
) -> Result<(), StoreError> {
    run_to_end(volume, &mut transfer, memory)?;
    transfer.damage(memory);
    Ok(())
}

fn run_to_end(
    volume: &Volume,
    transfer: &mut Transfer,
    memory: &mut [u8],
) -> Result<(), StoreError> {
    let Some(file) = volume.file(transfer.place.file) else {
        return fetch(volume, vec![(transfer.place, memory)]);
    };
    loop {
        let answer = transfer.step(volume).and_then(|part| {
            let offset = transfer.offset();
            if transfer.wrote {
                rustix::io::pwrite(file, &memory[part], offset)
            } else {
                rustix::io::pread(file, &mut memory[part], offset)
            }
        });
        if transfer.answer(volume, answer)? {
            return Ok(());
        }
    }
}

/// Reads neighbours in a file that lies elsewhere, all at once.
pub(super) fn fetch(volume: &Volume, places: Vec<(Place, &mut [u8])>) -> Result<(), StoreError> {
    let Some((remote, path)) = places.first().and_then(|(place, _)| volume.remote(place.file))
    else {
        return Err(StoreError::Request("a file of this machine, asked for elsewhere".to_owned()));
    };
    let (mut memory, range) = Scattered::new(places);
    let bytes = range.end - range.start;
    remote.read(path, range, &mut |bytes| memory.take(bytes))?;
    volume.counters().fetched(bytes);
    Ok(())
}

impl<M: Memory> Request<M> {
    /// Does it on this thread.
    pub(super) fn run(mut self) -> impl Iterator<Item = Outcome<M>> {
        let result = if self.more.is_empty() {
            run_to_end(&self.volume, &mut self.transfer, self.memory.bytes_mut())
        } else {
            self.run_together()
        };
        self.ended(result)
    }

    /// Moves neighbours, which are in files of this machine.
    fn run_together(&mut self) -> Result<(), StoreError> {
        let volume = Arc::clone(&self.volume);
        let Some(file) = volume.file(self.transfer.place.file) else {
            return Err(StoreError::Request("neighbours that lie elsewhere".to_owned()));
        };
        loop {
            let answer = self.transfer.step(&volume).and_then(|part| {
                let (offset, wrote) = (self.transfer.offset(), self.transfer.wrote);
                let slices = self.slices(part).into_iter();
                if wrote {
                    let slices: Vec<_> = slices.map(|slice| IoSlice::new(slice)).collect();
                    rustix::io::pwritev(file, &slices, offset)
                } else {
                    let mut slices: Vec<_> = slices.map(IoSliceMut::new).collect();
                    rustix::io::preadv(file, &mut slices, offset)
                }
            });
            if self.transfer.answer(&volume, answer)? {
                return Ok(());
            }
        }
    }
}

/// Requests that are done, and were not asked for yet.
pub(super) struct Blocking<M>(VecDeque<Outcome<M>>);

impl<M> Default for Blocking<M> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<M: Memory> Backend<M> for Blocking<M> {
    fn submit(&mut self, request: Request<M>) -> Result<(), StoreError> {
        self.0.extend(request.run());
        Ok(())
    }

    fn next(&mut self, _wait: bool) -> Result<Option<Outcome<M>>, StoreError> {
        Ok(self.0.pop_front())
    }
}
