//! Reading the extents of a kept graph, each of which is a run of chunks, by all workers.

use std::sync::Arc;

use welter_progress::Progress;
use welter_store::io::{IoOptions, Queue, Volume};

use super::directory::Directory;
use crate::EngineError;
use crate::edges::frames::Frames;
use crate::kernels::kernel::DecodeBuffers;
use crate::machine::arena::Slab;
use crate::machine::workers::Workers;

/// The way in which runs are read.
#[derive(Clone, Copy)]
pub(super) struct RunReads<'a> {
    pub(super) directory: &'a Directory,
    pub(super) volume: &'a Arc<Volume>,
    pub(super) io: &'a IoOptions,
    /// Whether chunks may lie in frames.
    pub(super) is_framed: bool,
    /// Slabs that a worker has on their way.
    pub(super) depth: usize,
    /// Runs side by side that one request may bring.
    pub(super) together: usize,
}

/// A worker's way out of frames, and its buffers.
pub(super) type Tools<'t> = (&'t mut Frames, &'t mut DecodeBuffers);

impl RunReads<'_> {
    /// Reads these runs, each once, and shows the slab of each to `visit` as it comes.
    pub(super) fn each(
        self,
        runs: &[usize],
        (workers, progress): (&Workers, &Progress),
        visit: impl Fn(usize, Slab, Tools<'_>) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        let Self { directory, volume, io, is_framed, depth, together } = self;
        let threads = workers.threads();
        workers.each(|worker| {
            let mut queue = Queue::reading(io, depth)?;
            let mut scratch = DecodeBuffers::new();
            let mut frames = Frames::new(is_framed, workers.arena())?;
            // Neighbours are read by one worker after the other, so that the file is read in order.
            let mut next = runs.chunks(together).skip(worker).step_by(threads).flatten();
            loop {
                if progress.cancelled() {
                    return Err(EngineError::Cancelled);
                }
                if queue.in_flight() < depth
                    && let Some(&run) = next.next()
                {
                    let place = directory.runs[run].place;
                    queue.read(volume, place, workers.arena().take()?, run as u64)?;
                    continue;
                }
                let Some(done) = queue.wait()? else { return Ok(()) };
                visit(done.tag as usize, done.memory, (&mut frames, &mut scratch))?;
            }
        })?;
        Ok(())
    }
}
