//! How fast the device of a kept graph is, measured once and kept with it.
//!
//! The file lies beside the manifest and not in a generation: it says nothing of the graph, and is
//! written anew with each measurement.

use std::path::PathBuf;

use welter_store::StoreError;
use welter_store::io::Requests;
use welter_store::probe::{self, Probe, Rate};
use welter_store::sealed::{self, Identity, SealedReader};

use super::{ELSEWHERE_IN_FLIGHT, KeptGraph, RATES};
use crate::EngineError;
use crate::machine::arena::SLAB_BYTES;
use welter_store::sealed::offset_in_file;

/// Bytes of the file at most: a thousand ways of asking.
const BYTES_MAX: u64 = 1 << 16;

impl KeptGraph {
    /// How fast the device was when that was measured, if it was.
    ///
    /// # Errors
    /// When the file is damaged, of another version or graph, or cannot be read.
    pub fn rates(&self) -> Result<Option<Probe>, EngineError> {
        if self.io.remote.is_some() {
            return Ok(None);
        }
        let file = self.rates_file();
        let mut reader = match SealedReader::open(&file, probe::KIND, self.faults()) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            opened => opened?,
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
        sealed::seal(&self.rates_file(), &identity, &probe.to_bytes(), self.faults())?;
        Ok(())
    }

    /// Bytes a second at which the device was read when that was measured, if it was.
    pub(super) fn read_rate(&self) -> Result<Option<u64>, EngineError> {
        let best = self.rates()?.and_then(|probe| probe.best_read());
        Ok(best.map(|rate| (rate.bytes_per_second as u64).max(1)))
    }

    /// Bytes of requests in flight with which it read about as fast as it can, where that was
    /// measured; and settings of requests, of which those that are not made follow what was found:
    /// slabs are cut where the device is slower if it is asked for all of one at once.
    pub(super) fn best_requests(
        &self,
        said: Requests,
    ) -> Result<(Option<u64>, Requests), EngineError> {
        if self.io.remote.is_some() {
            return Ok((Some(ELSEWHERE_IN_FLIGHT), said));
        }
        let Some(probe) = self.rates()? else { return Ok((None, said)) };
        let best = probe.best_read();
        let slab = SLAB_BYTES as u32;
        let requests = Requests {
            read_bytes: said.read_bytes.or_else(|| probe.cut_reads(slab)),
            write_bytes: said.write_bytes.or_else(|| probe.cut_writes(slab)),
            ..said
        };
        let in_flight = |rate: Rate| u64::from(rate.request_bytes) * u64::from(rate.depth);
        Ok((best.map(in_flight), requests))
    }

    fn rates_file(&self) -> PathBuf {
        self.path.join(RATES)
    }
}
