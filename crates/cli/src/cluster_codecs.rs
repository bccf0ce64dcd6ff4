//! Codecs of the chunks of a run on a cluster, as its options say.
//!
//! All machines are told by one option, and each chooses for itself where that is `auto`: by the
//! rates that a probe kept of the disk that its blocks lie on. A frame says how it was compressed,
//! so machines may come to different codecs.

use welter_cluster::{Codecs, CompressedWorker, DiskRates, Worker};
use welter_engine::plan::{CompressionMode, Device};
use welter_objects::Location;
use welter_store::frame::Compression;

use crate::args::{Cluster, ResourceArgs, RunOptions};
use crate::session::Session;

/// Codecs of a machine, with what is known of its disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkCodecs {
    codecs: Codecs,
    disk: Option<DiskRates>,
}

/// Codecs that are stated: none where nothing is said, since a network may be the slower one.
pub(crate) fn stated(resources: &ResourceArgs) -> Codecs {
    match resources.compression.map(CompressionMode::from) {
        None | Some(CompressionMode::Stated(Compression::None)) => Codecs::None,
        Some(CompressionMode::Stated(compression)) => Codecs::Stated(compression),
        Some(CompressionMode::Measured | CompressionMode::Auto) => Codecs::Measured,
    }
}

/// Rates of the disk that the blocks of each of some machines lie on, as far as a probe kept them
/// there: those of one computer have their share of its disk.
pub(crate) fn disk_share(
    args: &RunOptions,
    machines: usize,
    session: &Session,
) -> Option<DiskRates> {
    let is_local = matches!(args.cluster.place.cluster, Some(Cluster::Local(_)));
    let sharing = (if is_local { machines } else { 1 }) as f64;
    let rates = |Device { read, write, .. }: Device| DiskRates {
        read: read as f64 / sharing,
        write: write as f64 / sharing,
    };
    // With checkpoints in a bucket blocks lie among temporary files.
    let kept = args.checkpoint.checkpoint.as_deref();
    session.device_of_blocks(kept.filter(|it| Location::of(it).is_none())).map(rates)
}

impl ChunkCodecs {
    /// Codecs of each of some machines, those of one computer having their share of its disk.
    pub(crate) fn of(args: &RunOptions, machines: usize, session: &Session) -> Self {
        let codecs = stated(&args.resources);
        if codecs != Codecs::Measured {
            return Self { codecs, disk: None };
        }
        Self { codecs, disk: disk_share(args, machines, session) }
    }

    /// A worker whose chunks are compressed so.
    pub(crate) fn worker(&self, worker: Box<dyn Worker>) -> Box<dyn Worker> {
        match self.codecs {
            Codecs::None => worker,
            codecs => Box::new(CompressedWorker::new(worker, codecs, self.disk)),
        }
    }
}
