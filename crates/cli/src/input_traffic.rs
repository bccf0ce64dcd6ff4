//! Reading of an input, as far as it is foreseen: bytes, passes and requests.
//!
//! Files that are parsed are read once, whatever passes go over their edges then. Raw records whose
//! ids can be slots are read anew in each pass, from a bucket too. Samples are not counted, nor
//! files of vertices.

use std::fmt;

use welter_engine::kept::KeptGraph;
use welter_engine::plan::{InputPasses, Plan, human_bytes};
use welter_objects::Traffic;

use crate::number_format::counted;

/// Reading of an input by a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InputTraffic {
    /// Bytes of all passes.
    bytes: u64,
    passes: InputPasses,
    /// Requests of all passes, where their size is known: as few as there can be.
    requests: Option<u64>,
    /// Whether it comes from a bucket or a web server.
    is_elsewhere: bool,
}

impl InputTraffic {
    /// Passes over `bytes` bytes, by requests of `request_bytes` at most, where that is known.
    pub(crate) fn new(
        bytes: u64,
        passes: InputPasses,
        request_bytes: Option<u64>,
        is_elsewhere: bool,
    ) -> Self {
        let requests = request_bytes.map(|size| passes.least * bytes.div_ceil(size.max(1)));
        Self { bytes: bytes.saturating_mul(passes.least), passes, requests, is_elsewhere }
    }

    /// Requests to stores and bytes from there, at least.
    pub(crate) fn objects(&self) -> Traffic {
        if !self.is_elsewhere {
            return Traffic::default();
        }
        let reads = self.requests.unwrap_or_default();
        Traffic { reads, bytes_received: self.bytes, ..Traffic::default() }
    }
}

impl fmt::Display for InputTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InputPasses { least, exact } = self.passes;
        let (about, more) = if exact { ("about", "") } else { ("at least", " or more") };
        write!(f, "{about} {} of it are read", human_bytes(self.bytes))?;
        if least > 1 || !exact {
            write!(f, ", in {}{more}", counted(least, "pass", "passes"))?;
        }
        self.requests.map_or(Ok(()), |requests| {
            write!(f, ", by {} or more", counted(requests, "request", "requests"))
        })
    }
}

/// Reading of a kept graph in a bucket that its iterations do not repeat: chunks that stay in
/// memory, and all files but those of chunks. None of a graph on this machine.
pub(crate) fn of_kept(kept: &KeptGraph, plan: &Plan) -> Option<InputTraffic> {
    kept.io().remote.as_ref()?;
    let manifest = kept.manifest();
    let chunks = manifest.chunk_bytes;
    let resident = plan.storage().map_or(chunks, |storage| storage.cache_bytes.min(chunks));
    let bytes = manifest.bytes().saturating_sub(chunks) + resident;
    Some(InputTraffic::new(bytes, InputPasses::ONE, Some(request_bytes(kept)), true))
}

/// Bytes of a request for a graph in a bucket at most.
pub(crate) fn request_bytes(kept: &KeptGraph) -> u64 {
    kept.io().requests.elsewhere(1).bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_requests_are_those_of_all_passes() {
        let of = |passes, request_bytes, is_elsewhere| {
            InputTraffic::new(10 << 20, passes, request_bytes, is_elsewhere)
        };
        let twice = InputPasses { least: 2, exact: true };
        let search = InputPasses { least: 1, exact: false };
        for (traffic, expected) in [
            (of(InputPasses::ONE, None, false), "about 10.0 MiB of it are read"),
            (of(twice, None, false), "about 20.0 MiB of it are read, in 2 passes"),
            (of(search, None, false), "at least 10.0 MiB of it are read, in 1 pass or more"),
            (
                of(twice, Some(8 << 20), true),
                "about 20.0 MiB of it are read, in 2 passes, by 4 requests or more",
            ),
        ] {
            assert_eq!(traffic.to_string(), expected);
        }
        let Traffic { reads, writes, bytes_received, .. } =
            of(twice, Some(8 << 20), true).objects();
        assert_eq!((reads, writes, bytes_received), (4, 0, 20 << 20));
        assert_eq!(of(twice, Some(8 << 20), false).objects(), Traffic::default());
    }
}
