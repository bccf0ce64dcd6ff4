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

use std::any::Any;
use std::sync::Arc;

use welter_engine::EngineError;
use welter_engine::plan::Sampled;
use welter_protocol::ids::Phase;
use welter_protocol::payload::Buffer;
use welter_protocol::wire::BODY_BYTES_MAX;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Work};
use welter_store::ChunkError;
use welter_store::frame::{Compression, Compressor, Decompressor, Frame, MAGIC};
use welter_worker::{BufferedUpdates, Resources, ScratchSpace, Streamer, Worker};

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
    /// Codecs that no streamer has.
    idle: Vec<ChunkCodec>,
    /// Whether edges are split, of the open partition.
    is_split: bool,
}

/// Compressors and a decompressor, which one thread has at a time.
struct ChunkCodec {
    /// As of the worker.
    chosen: [Option<Compression>; 2],
    disk: Option<DiskRates>,
    compressors: Vec<Compressor>,
    decompressor: Decompressor,
    /// Pages of chunks that came out of frames.
    pool: Pool,
    room_bytes: usize,
}

/// A streamer of the worker, with codecs of its own.
struct CompressedStreamer {
    streamer: Box<dyn Streamer>,
    codec: ChunkCodec,
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
        Self { worker, chosen: [chosen; 2], disk, idle: Vec::new(), is_split: false }
    }

    /// Codecs for one thread, which it gives back.
    fn codec(&mut self) -> ChunkCodec {
        let disk = self.disk;
        let mut codec = self.idle.pop().unwrap_or_else(|| ChunkCodec::new(disk));
        codec.chosen = self.chosen;
        codec
    }

    /// Takes codecs back, and what was chosen for them.
    fn idle(&mut self, codec: ChunkCodec) {
        for (own, chosen) in self.chosen.iter_mut().zip(codec.chosen) {
            *own = own.or(chosen);
        }
        self.idle.push(codec);
    }

    /// Lets the worker do something, by these codecs.
    fn done(&mut self, work: &Work, codec: &mut ChunkCodec) -> Result<Outcome, EngineError> {
        let mut opened = None;
        if let Work::Stream { block, payload } = work {
            let plain = codec.plain(payload)?.map(Buffer::seal);
            opened = plain.map(|payload| Work::Stream { block: *block, payload });
        }
        let outcome = self.worker.work(opened.as_ref().unwrap_or(work))?;
        let waiting = if self.is_split { Content::Edges } else { Content::Updates };
        Ok(codec.compressed(outcome, waiting))
    }
}

impl ChunkCodec {
    fn new(disk: Option<DiskRates>) -> Self {
        Self {
            chosen: [None; 2],
            disk,
            compressors: Vec::new(),
            decompressor: Decompressor::new(),
            pool: Pool::new(0),
            room_bytes: 0,
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

    /// The chunk that was stored so; none where it was stored as it is.
    ///
    /// # Errors
    /// When no machine of this job has stored it.
    fn plain(&mut self, stored: &[u8]) -> Result<Option<Buffer>, EngineError> {
        if !Frame::is_at(stored) {
            return Ok(None);
        }
        let behind = &stored[MAGIC.len()..];
        if Frame::is_at(behind) {
            return Ok(Some(Buffer::from(behind)));
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
        Ok(Some(buffer))
    }

    /// An outcome with its chunks as they are stored. `waiting`: what buffers have.
    fn compressed(&mut self, mut outcome: Outcome, waiting: Content) -> Outcome {
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

impl Streamer for CompressedStreamer {
    fn stream(&mut self, chunk: &[u8]) -> Result<Outcome, EngineError> {
        let plain = self.codec.plain(chunk)?;
        let outcome = self.streamer.stream(plain.as_deref().unwrap_or(chunk))?;
        Ok(self.codec.compressed(outcome, Content::Updates))
    }
}

impl Worker for CompressedWorker {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        if let Work::Open { step, .. } = work {
            self.is_split = step.phase == Phase::Split;
        }
        let mut codec = self.codec();
        let outcome = self.done(work, &mut codec);
        self.idle(codec);
        outcome
    }

    fn keep_at_most(&mut self, updates_max: u64, scratch: Box<dyn ScratchSpace>) {
        self.worker.keep_at_most(updates_max, scratch);
    }

    fn lend(&mut self, resources: Arc<dyn Resources>) {
        self.worker.lend(resources);
    }

    fn borrow_streamer(&mut self) -> Option<Box<dyn Streamer>> {
        let streamer = self.worker.borrow_streamer()?;
        Some(Box::new(CompressedStreamer { streamer, codec: self.codec() }))
    }

    fn take_back(&mut self, streamer: Box<dyn Streamer>) {
        let streamer: Box<dyn Any> = streamer;
        if let Ok(streamer) = streamer.downcast::<CompressedStreamer>() {
            let CompressedStreamer { streamer, codec } = *streamer;
            self.worker.take_back(streamer);
            self.idle(codec);
        }
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
