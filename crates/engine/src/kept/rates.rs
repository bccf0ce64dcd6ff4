//! How fast the device of a kept graph is, measured once and kept with it.
//!
//! The file lies beside the manifest and not in a generation: it says nothing of the graph, and is
//! written anew with each measurement. A graph in a bucket that has none follows those of the
//! folders above it, which are asked for once.

use std::path::PathBuf;

use welter_store::StoreError;
use welter_store::io::{JOINED_BYTES, Requests};
use welter_store::probe::{self, Probe, Rate};
use welter_store::sealed::{self, Identity, SealedReader};

use super::{ELSEWHERE_IN_FLIGHT, ELSEWHERE_IN_FLIGHT_LEAST, KeptGraph, RATES};
use crate::EngineError;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::says_slabs;
use crate::plan::{sizes, smaller};
use welter_store::sealed::offset_in_file;

/// Bytes of the file at most: a thousand ways of asking.
const BYTES_MAX: u64 = 1 << 16;

/// Whether a request is larger than those that neighbours elsewhere come by anyway.
fn is_large(bytes: u32) -> bool {
    u64::from(bytes) > JOINED_BYTES
}

/// How a graph is best asked for.
pub(super) struct BestRequests {
    /// Bytes of requests in flight, where that is known.
    pub(super) in_flight: Option<u64>,
    /// Settings of requests. Those that were not made follow what was found, which is less than
    /// slabs where the device is slower if it is asked for all of one at once, and more where it is
    /// slow without.
    pub(super) sized: Requests,
    /// Settings that are never more than slabs, for where there is no room for it.
    pub(super) cut: Requests,
    /// Whether a probe found that, and not the user said it.
    pub(super) probed: bool,
}

impl KeptGraph {
    /// How fast the device was when that was measured, if it was.
    ///
    /// # Errors
    /// When the file is damaged, of another version or graph, or cannot be read.
    pub fn rates(&self) -> Result<Option<Probe>, EngineError> {
        if self.is_copy {
            return Ok(None);
        }
        let file = self.rates_file();
        let mut reader = match &self.io.remote {
            None => match SealedReader::open(&file, probe::KIND, self.faults()) {
                Err(StoreError::Missing { .. }) => return Ok(None),
                opened => opened?,
            },
            Some(remote) => match Probe::load_elsewhere(&**remote, &file)? {
                None => return Ok(None),
                Some(bytes) => SealedReader::of_bytes(bytes, &file, probe::KIND)?,
            },
        };
        reader.is_version(probe::VERSION)?;
        reader.belongs_to(self.manifest.graph, self.manifest.generation)?;
        let payload = reader.read_rest(BYTES_MAX)?;
        let probe = Probe::from_bytes(&payload).ok_or_else(|| StoreError::Damaged {
            file,
            offset: offset_in_file(0),
            what: "these are no rates".to_owned(),
        })?;
        Ok(Some(probe))
    }

    /// Keeps how fast the device is.
    ///
    /// # Errors
    /// When the file cannot be written. The one that was there stays then.
    pub fn keep_rates(&self, probe: &Probe) -> Result<(), EngineError> {
        let identity = Identity {
            kind: probe::KIND,
            version: probe::VERSION,
            graph: self.manifest.graph,
            generation: self.manifest.generation,
        };
        let (file, bytes) = (self.rates_file(), probe.to_bytes());
        match &self.io.remote {
            None => sealed::seal(&file, &identity, &bytes, self.faults())?,
            Some(remote) => sealed::seal_elsewhere(&**remote, &file, &identity, &bytes)?,
        }
        Ok(())
    }

    /// The rates that runs are planned with: those of the graph or, in a bucket, of the folder that
    /// it lies in. Through a cache they are those of the bucket, which is not asked where the cache
    /// pins all chunks.
    fn known_rates(&self) -> Result<Option<Probe>, EngineError> {
        let Some(remote) = &self.io.remote else { return self.rates() };
        if self.is_copy || self.pinned_share() >= 1.0 {
            return Ok(None);
        }
        if let Some(known) = self.known.get() {
            return Ok(known.clone());
        }
        let found = match self.rates()? {
            None => Probe::kept_elsewhere(&**remote, &self.path)?,
            found => found,
        };
        Ok(self.known.get_or_init(|| found).clone())
    }

    /// Bytes a second at which the device was read when that was measured, if it was.
    pub(super) fn read_rate(&self) -> Result<Option<u64>, EngineError> {
        let best = self.known_rates()?.and_then(|probe| probe.best_read());
        Ok(best.map(|rate| (rate.bytes_per_second as u64).max(1)))
    }

    /// Requests with which `threads` workers read it about as fast as it can be, in a budget, as
    /// far as nothing is `stated` of them.
    pub(super) fn best_requests(
        &self,
        stated: Requests,
        threads: u64,
        budget_bytes: u64,
    ) -> Result<BestRequests, EngineError> {
        let is_elsewhere = self.io.remote.is_some();
        let Some(probe) = self.known_rates()? else {
            let in_flight = is_elsewhere.then_some(ELSEWHERE_IN_FLIGHT);
            return Ok(BestRequests { in_flight, sized: stated, cut: stated, probed: false });
        };
        let slab = SLAB_BYTES as u32;
        let found = if is_elsewhere {
            // Temporary files are not there.
            [probe.sized_reads(JOINED_BYTES as u32).filter(|bytes| is_large(*bytes)), None]
        } else {
            [probe.sized_reads(slab), probe.sized_writes(slab)]
        };
        let with = |[read, write]: [Option<u32>; 2]| Requests {
            read_bytes: stated.read_bytes.or(read),
            write_bytes: stated.write_bytes.or(write),
            ..stated
        };
        let sized = match stated.in_flight {
            None => sizes(found, threads, budget_bytes),
            Some(_) => smaller(found),
        };
        let sized =
            if is_elsewhere { sized.map(|size| size.filter(|it| is_large(*it))) } else { sized };
        let in_flight = |rate: Rate| {
            let bytes = u64::from(rate.request_bytes) * u64::from(rate.depth);
            if is_elsewhere { bytes.max(ELSEWHERE_IN_FLIGHT_LEAST) } else { bytes }
        };
        Ok(BestRequests {
            in_flight: probe.best_read().map(in_flight),
            sized: with(sized),
            cut: with(smaller(found)),
            probed: !says_slabs(&stated, false),
        })
    }

    fn rates_file(&self) -> PathBuf {
        self.path.join(RATES)
    }
}
