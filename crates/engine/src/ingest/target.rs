//! The bucket that a kept graph is sent to when it is whole: how fast it is decides how its chunks
//! are compressed, and not the device on which they are made.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use welter_progress::Progress;
use welter_store::StoreError;
use welter_store::io::Remote;
use welter_store::probe::Probe;

use crate::machine::throughput::Throughput;
use crate::plan::{Device, Measured};

/// Bytes of edges for which it pays to ask.
const WORTH_A_LOOK: u64 = 4 << 20;
/// A look moves one part in `SHARE` of the edges at a time, within these bounds: fewer bytes than
/// the least are an answer of a store that is far off, and say nothing of its bandwidth.
const SHARE: u64 = 8;
const LOOK_BYTES_LEAST: u64 = 4 << 20;
const LOOK_BYTES_MOST: u64 = 16 << 20;

/// The folder of a bucket where a graph will be kept.
#[derive(Debug)]
pub struct Target {
    remote: Arc<dyn Remote>,
    url: PathBuf,
    found: OnceLock<Device>,
}

impl Target {
    /// The folder of this URL, of which nothing is known yet.
    pub fn new(remote: &Arc<dyn Remote>, url: &Path) -> Self {
        Self { remote: Arc::clone(remote), url: url.to_owned(), found: OnceLock::new() }
    }

    /// Measured rates of the folder, if they mattered.
    pub fn device(&self) -> Option<Device> {
        self.found.get().copied()
    }

    /// URL of the folder.
    pub(crate) fn url(&self) -> &Path {
        &self.url
    }

    /// The throughput of `bytes` bytes of edges that are made at `throughput` and sent there, by
    /// rates that a probe kept there, else by a look at `folder`, which will be the graph's; as it
    /// was where edges are few.
    ///
    /// # Errors
    /// When objects cannot be put there and read, or the run was asked to end.
    pub(super) fn sent(
        &self,
        folder: &Path,
        throughput: Throughput,
        (bytes, progress): (u64, &Progress),
    ) -> Result<Throughput, StoreError> {
        if bytes >= WORTH_A_LOOK && self.found.get().is_none() {
            let look = || {
                let bytes = (bytes / SHARE).clamp(LOOK_BYTES_LEAST, LOOK_BYTES_MOST);
                Probe::look_elsewhere(&*self.remote, folder, bytes, progress)
            };
            let device = match Probe::kept_elsewhere(&*self.remote, &self.url) {
                Ok(Some(probe)) => Device::of(&probe, Measured::Probe),
                Err(error @ StoreError::Remote { .. }) => return Err(error),
                // Rates that are damaged, or of a later version, are as good as none.
                Ok(None) | Err(_) => Device::of(&look()?, Measured::AtStart),
            };
            device.map(|device| self.found.get_or_init(|| device));
        }
        Ok(self.device().map_or(throughput, |to| throughput.sent(to.read, to.write)))
    }
}
