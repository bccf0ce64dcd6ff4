//! Rates of the device of a kept graph, measured once and kept with it.
//!
//! The file lies beside the manifest and not in a generation: it says nothing of the graph, and is
//! written anew with each measurement. A graph in a bucket that has none follows those of the
//! folders above it, which are asked for once.
//!
//! An ingest that took a short look at its disks keeps what that found, until a probe measures
//! them. The look tried a few ways of asking for tens of milliseconds each, and a graph that is
//! copied takes the file along, so runs follow it only where a mistake costs little: it may have
//! more in flight than usual and never less, and smaller requests only where these were faster for
//! sure. How fast a run reads is still looked at by the run itself, at the chunks of the graph.

use std::path::PathBuf;

use welter_store::StoreError;
use welter_store::io::{JOINED_BYTES, Requests};
use welter_store::probe::{self, Probe, Rate};
use welter_store::sealed::{self, Identity, SealedReader};

use super::{ELSEWHERE_IN_FLIGHT, ELSEWHERE_IN_FLIGHT_LEAST, KeptGraph, RATES};
use crate::EngineError;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{DEPTH, says_slabs};
use crate::plan::{Measured, better_sizes, sizes, smaller};
use welter_store::sealed::offset_in_file;

/// Bytes of the file at most: a thousand ways of asking.
const BYTES_MAX: u64 = 1 << 16;

/// Whether a request is larger than those that neighbours elsewhere come by anyway.
fn is_large(bytes: u32) -> bool {
    u64::from(bytes) > JOINED_BYTES
}

/// Bytes a second at which a device is read at best, if that was measured.
fn read_rate(probe: &Probe) -> Option<u64> {
    Some((probe.best_read()?.bytes_per_second as u64).max(1))
}

/// Requests by which a graph is best read.
pub(super) struct BestRequests {
    /// Bytes of requests in flight, where that is known.
    pub(super) in_flight: Option<u64>,
    /// Settings of requests. Those that were not made follow what was found, which is less than
    /// slabs where the device is slower if it is asked for all of one at once, and more where it is
    /// slow without.
    pub(super) sized: Requests,
    /// Settings that are never more than slabs, for where there is no room for it.
    pub(super) cut: Requests,
    /// Measurement by which that was found, where the user does not say it.
    pub(super) measured: Option<Measured>,
}

impl KeptGraph {
    /// Rates of the device when they were measured, if they were. Rates that a copy took from a
    /// directory to a bucket, or back, are none.
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
        Ok(Some(probe).filter(|probe| probe.elsewhere == self.io.remote.is_some()))
    }

    /// Keeps how fast the device is, in place of what was known. What a short look found is not
    /// kept where a probe has measured more.
    ///
    /// # Errors
    /// When the file cannot be written. The one that was there stays then.
    pub fn keep_rates(&self, probe: &Probe) -> Result<(), EngineError> {
        // A file that is damaged is no probe.
        if probe.short && matches!(self.rates(), Ok(Some(known)) if !known.short) {
            return Ok(());
        }
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

    /// Bytes a second at which the device was read by a probe, if one measured it: for a run, which
    /// can look at the graph itself.
    pub(super) fn probed_read_rate(&self) -> Result<Option<u64>, EngineError> {
        Ok(self.known_rates()?.filter(|probe| !probe.short).and_then(|probe| read_rate(&probe)))
    }

    /// As [`Self::probed_read_rate`], or by a short look that the page cache was not in the way of:
    /// for a forecast, which reads nothing.
    pub(super) fn known_read_rate(&self) -> Result<Option<u64>, EngineError> {
        let known = self.known_rates()?.filter(|probe| !probe.short || probe.direct);
        Ok(known.and_then(|probe| read_rate(&probe)))
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
            return Ok(BestRequests { in_flight, sized: stated, cut: stated, measured: None });
        };
        let measured = if probe.short { Measured::AtStart } else { Measured::Probe };
        let found = if is_elsewhere {
            // Temporary files are not there.
            [probe.sized_reads(JOINED_BYTES as u32).filter(|bytes| is_large(*bytes)), None]
        } else {
            better_sizes(&probe, measured)
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
        let least = match measured {
            _ if is_elsewhere => ELSEWHERE_IN_FLIGHT_LEAST,
            Measured::AtStart => threads * (DEPTH * SLAB_BYTES) as u64,
            Measured::Probe => 0,
        };
        let in_flight =
            |rate: Rate| (u64::from(rate.request_bytes) * u64::from(rate.depth)).max(least);
        Ok(BestRequests {
            in_flight: probe.best_read().map(in_flight),
            sized: with(sized),
            cut: with(smaller(found)),
            measured: (!says_slabs(&stated, false)).then_some(measured),
        })
    }

    fn rates_file(&self) -> PathBuf {
        self.path.join(RATES)
    }
}
