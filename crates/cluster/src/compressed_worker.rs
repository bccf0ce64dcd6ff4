//! A worker whose chunks are compressed while they wait and travel (X-Stream in the cloud).
//!
//! ```text
//! made       chunk of the worker -> what is stored      once, by the machine that made it
//! streamed   what was stored -> chunk for the worker    by the machine that streams it
//!
//! stored     frame of the store             where that is smaller
//!            magic of frames, chunk         where it is not, and the chunk begins with that magic
//!            chunk                          else
//! ```
//!
//! To disks, links and the protocol a frame is a payload as any other, so that checksums are those
//! of the bytes that travel, and both a disk and a link have fewer of them to move. A frame says
//! how it was compressed, so machines need not have the same codec. Vertex sets and what stealers
//! hand over are not compressed.
//!
//! **Invariant:** `plain(stored(c)) = c` for all bytes `c`, whatever these begin with. Tested by
//! `chunks_come_back_whatever_is_in_them`.

use welter_engine::EngineError;
use welter_engine::plan::Sampled;
use welter_protocol::ids::Phase;
use welter_protocol::wire::BODY_BYTES_MAX;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Work};
use welter_store::ChunkError;
use welter_store::frame::{Compression, Compressor, Decompressor, Frame, MAGIC};
use welter_worker::{BufferedUpdates, ScratchSpace, Worker};

use crate::codecs::{Codecs, Content, DiskRates};
use crate::pool::Pool;

/// Bytes of the first chunk that codecs are tried on, and bytes of a chunk that is too small for
/// it.
const SAMPLE_BYTES: usize = 256 << 10;
const SAMPLE_BYTES_LEAST: usize = 16 << 10;

/// Pages of a pool are kept by runs of this many bytes.
const RUN_BYTES: usize = 64 << 10;

/// A worker with codecs between it and what stores its chunks.
pub struct CompressedWorker {
    worker: Box<dyn Worker>,
    /// Codec of edges, and of updates; none that is not chosen yet.
    chosen: [Option<Compression>; 2],
    disk: Option<DiskRates>,
    compressors: Vec<Compressor>,
    decompressor: Decompressor,
    /// Pages of chunks that came out of frames.
    pool: Pool,
    room_bytes: usize,
    /// Whether edges are split, of the open partition.
    is_split: bool,
}

impl CompressedWorker {
    /// The worker of a machine with a disk of these rates, if they are known.
    pub fn new(worker: Box<dyn Worker>, codecs: Codecs, disk: Option<DiskRates>) -> Self {
        let chosen = match codecs {
            Codecs::None => Some(Compression::None),
            Codecs::Stated(compression) => Some(compression),
            Codecs::Measured if disk.is_none() => Some(Compression::None),
            Codecs::Measured => None,
        };
        Self {
            worker,
            chosen: [chosen; 2],
            disk,
            compressors: Vec::new(),
            decompressor: Decompressor::new(),
            pool: Pool::new(0),
            room_bytes: 0,
            is_split: false,
        }
    }

    /// The codec of a chunk, for which those that are known are tried on the first one that is
    /// large enough.
    fn compression(&mut self, chunk: &[u8], content: Content) -> Compression {
        let chosen = &mut self.chosen[content as usize];
        if let Some(compression) = *chosen {
            return compression;
        }
        if chunk.len() < SAMPLE_BYTES_LEAST {
            return Compression::None;
        }
        let sample = &chunk[..chunk.len().min(SAMPLE_BYTES)];
        let tried = Compression::ALL.into_iter().filter_map(|it| Sampled::of(it, &[sample]));
        let tried: Vec<Sampled> = tried.collect();
        let best = self.disk.map_or(Compression::None, |disk| disk.best(content, &tried));
        *chosen.insert(best)
    }

    /// The compressor of a codec; none where nothing is compressed, or without memory for it.
    fn compressor(&mut self, compression: Compression) -> Option<&mut Compressor> {
        let known = self.compressors.iter().position(|it| it.compression() == compression);
        let at = if let Some(at) = known {
            at
        } else {
            self.compressors.push(Compressor::new(compression)?);
            self.compressors.len() - 1
        };
        self.compressors.get_mut(at)
    }

    /// The form in which a chunk is stored.
    fn stored(&mut self, chunk: &Payload, content: Content) -> Payload {
        let compression = self.compression(chunk, content);
        if let Some(frame) = self.compressor(compression).and_then(|it| it.frame(chunk)) {
            return Payload::from(frame);
        }
        if Frame::is_at(chunk) {
            return Payload::from([&MAGIC[..], &chunk[..]].concat());
        }
        chunk.clone()
    }

    fn store(&mut self, filled: &mut [Filled], content: Content) {
        for chunk in filled {
            chunk.payload = self.stored(&chunk.payload, content);
        }
    }

    /// The chunk that was stored so.
    ///
    /// # Errors
    /// When no machine of this job has stored it.
    fn plain(&mut self, stored: &Payload) -> Result<Payload, EngineError> {
        if !Frame::is_at(stored) {
            return Ok(stored.clone());
        }
        let behind = &stored[MAGIC.len()..];
        if Frame::is_at(behind) {
            return Ok(Payload::from(behind));
        }
        let failed = |error: ChunkError| EngineError::Payload(format!("a frame: {error}"));
        let frame = Frame::open(stored).map_err(failed)?;
        let bytes = frame.plain_bytes();
        if frame.bytes() != stored.len() || bytes > BODY_BYTES_MAX as usize {
            let what =
                format!("a frame of {} bytes for {bytes} in {}", frame.bytes(), stored.len());
            return Err(EngineError::Payload(what));
        }
        self.room_bytes = self.room_bytes.max(bytes.next_multiple_of(RUN_BYTES));
        self.pool.keep_up_to(self.room_bytes);
        let mut buffer = self.pool.buffer(bytes);
        self.decompressor.open(&frame, &mut buffer).map_err(failed)?;
        Ok(buffer.seal())
    }

    /// An outcome with its chunks as they are stored.
    fn compressed(&mut self, mut outcome: Outcome) -> Outcome {
        let waiting = if self.is_split { Content::Edges } else { Content::Updates };
        match &mut outcome {
            Outcome::Ingested { filled, .. } => self.store(filled, Content::Edges),
            Outcome::Streamed { rewritten, filled, .. } => {
                self.store(filled, waiting);
                match rewritten {
                    Rewritten::Not => {}
                    Rewritten::InPlace(chunk) => *chunk = self.stored(chunk, Content::Edges),
                    Rewritten::Moved { filled, .. } => self.store(filled, Content::Edges),
                }
            }
            Outcome::Flushed { filled, rewritten } => {
                self.store(filled, waiting);
                self.store(rewritten, Content::Edges);
            }
            Outcome::Applied { filled, .. } => self.store(filled, Content::Updates),
            Outcome::Made { .. }
            | Outcome::Opened
            | Outcome::Turned
            | Outcome::HandedOver(_)
            | Outcome::Merged
            | Outcome::Decided { .. } => {}
        }
        outcome
    }
}

impl Worker for CompressedWorker {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        if let Work::Open { step, .. } = work {
            self.is_split = step.phase == Phase::Split;
        }
        let outcome = if let Work::Stream { block, payload } = work {
            let payload = self.plain(payload)?;
            self.worker.work(&Work::Stream { block: *block, payload })?
        } else {
            self.worker.work(work)?
        };
        Ok(self.compressed(outcome))
    }

    fn keep_at_most(&mut self, updates_max: u64, scratch: Box<dyn ScratchSpace>) {
        self.worker.keep_at_most(updates_max, scratch);
    }

    fn looked_at(&self) -> u64 {
        self.worker.looked_at()
    }

    fn held(&self) -> BufferedUpdates {
        self.worker.held()
    }
}

#[cfg(test)]
mod tests;
