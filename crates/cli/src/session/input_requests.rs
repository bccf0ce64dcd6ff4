//! Requests for inputs that lie in buckets or on web servers, and for raw records in files, and
//! their memory. Files of other formats are read through the page cache.
//!
//! Invariants: what the user states is kept, and its memory decides whether a run is granted
//! (tested by `inputs_in_buckets_keep_their_budget`); what a probe found takes no more memory than
//! inputs usually may (tested by `requests_that_a_probe_found_fit_the_usual_memory`).

use serde::Serialize;
use welter_engine::plan::InputPasses;
use welter_input::{Limits, PageCache, ReadOptions};
use welter_objects::{Ahead, ReadRequests};
use welter_store::probe::{Probe, Rate};

use super::rates::{WORTH_A_QUESTION, best_rate, kept_rates};
use super::{GraphRequest, Session};
use crate::elsewhere;
use crate::input_traffic::{self, InputTraffic};
use crate::load::Source;

/// Share of the budget that an input may take while it is on its way from a bucket, as one part in
/// this number, and bytes at most.
const ARRIVING_SHARE: u64 = 16;
const ARRIVING_MOST: u64 = 256 << 20;
/// Objects that are looked at side by side; bytes and number of requests for each at most, where
/// a user states any.
const LOOKS: u64 = 8;
const LOOK_BYTES: u64 = 64 << 10;
const LOOK_REQUESTS: u64 = 4;
/// Bytes of a request that a probe found, at least.
const FOUND_BYTES_MIN: u32 = 64 << 10;

/// Requests for an input that lies in a bucket or on a web server, or is raw records.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct InputRequests {
    /// Bytes of a request at most.
    pub(crate) bytes: u64,
    /// Requests that each reader has in flight at most.
    pub(crate) in_flight: u64,
    /// Whether they follow the rates that a probe kept beside it.
    pub(crate) probed: bool,
}

impl Session {
    /// Bytes of memory that an input takes while it is on its way, of a budget: from a bucket, and
    /// as raw records by stated requests. Usual ones for these are small and are not counted.
    pub(super) fn requests_bytes(
        &self,
        source: &Source,
        options: &ReadOptions,
        budget: u64,
    ) -> u64 {
        self.arriving_bytes(source, options, budget) + self.records_bytes(source, options)
    }

    /// Bytes of memory that an input takes while it is on its way from a bucket, of a budget.
    pub(super) fn arriving_bytes(
        &self,
        source: &Source,
        options: &ReadOptions,
        budget: u64,
    ) -> u64 {
        if !source.arrives(options) {
            return 0;
        }
        let readers = self.readers(options.thread_count()) as u64;
        let asked = self.read_requests().memory_bytes_min(readers);
        let least = asked.max(readers * Limits::OBJECT_BYTES_LEAST);
        (budget / ARRIVING_SHARE).clamp(least, ARRIVING_MOST.max(least))
    }

    /// Bytes of memory of stated requests for raw records in files, by all threads of a run.
    fn records_bytes(&self, source: &Source, options: &ReadOptions) -> u64 {
        let requests = self.resources.read_requests();
        let past = self.resources.page_cache() == PageCache::Past;
        if !past || requests == ReadRequests::default() {
            return 0;
        }
        let holds_raw = *self.holds_raw.get_or_init(|| source.holds_raw(options));
        if holds_raw { requests.file_bytes(options.thread_count() as u64) } else { 0 }
    }

    /// Requests to inputs: as the user states, else as the rates say that a probe kept beside them,
    /// once these were looked for. What neither says is usual.
    pub(super) fn read_requests(&self) -> ReadRequests {
        let stated = self.resources.read_requests();
        let is_open = stated == ReadRequests::default();
        self.probed_requests.get().copied().filter(|_| is_open).unwrap_or(stated)
    }

    /// Looks for rates beside an input that lies in a bucket and is large enough, where the user
    /// states nothing. Damaged rates are said and left: they only make a run faster or slower.
    pub(super) fn look_for_rates(&self, wanted: &GraphRequest<'_>, bytes: Option<u64>) {
        let Source::Files(names) = wanted.source else { return };
        let is_stated = self.resources.read_requests() != ReadRequests::default();
        let is_large = bytes.is_some_and(|bytes| bytes >= WORTH_A_QUESTION);
        let Some(first) = names.first().filter(|_| is_large && !is_stated) else { return };
        if self.probed_requests.get().is_some() || elsewhere::is_web(first) {
            return;
        }
        if !wanted.source.arrives(&wanted.options) {
            return;
        }
        let readers = self.readers(wanted.options.thread_count()) as u64;
        let memory = self.arriving_bytes(wanted.source, &wanted.options, self.budget());
        let probe = kept_rates(first).unwrap_or_else(|failure| {
            self.say(&format!("note: rates of the probe are not used: {failure}"));
            None
        });
        let requests = probe.and_then(|probe| best_requests(&probe, readers, memory));
        self.probed_requests.get_or_init(|| requests.unwrap_or_default());
    }

    /// Requests to an input: bytes of one, and number of each reader, at most. None of those that
    /// come through the page cache, or by usual requests.
    pub(crate) fn input_requests(
        &self,
        source: &Source,
        options: &ReadOptions,
    ) -> Option<InputRequests> {
        let memory = self.requests_bytes(source, options, self.budget());
        let requests = self.read_requests();
        let (bytes, in_flight) = if source.arrives(options) {
            let arriving = self.arriving_bytes(source, options, self.budget());
            let ahead = Ahead::in_memory(arriving, requests);
            (ahead.range_bytes(), ahead.ranges())
        } else {
            (requests.bytes_of_file(), requests.in_flight_of_file())
        };
        let is_probed = |found: &ReadRequests| *found != ReadRequests::default();
        let probed = self.probed_requests.get().is_some_and(is_probed);
        (memory > 0).then_some(InputRequests { bytes, in_flight, probed })
    }

    /// Reading of files, or of a kept graph that is read again: passes over their bytes. None of
    /// edges that are made, or are in memory.
    pub(super) fn input_traffic(
        &self,
        wanted: &GraphRequest<'_>,
        bytes: Option<u64>,
        passes: InputPasses,
    ) -> Option<InputTraffic> {
        let (source, options) = (wanted.source, &wanted.options);
        let is_elsewhere = source.comes_from_elsewhere();
        let request_bytes = match source {
            Source::Files(_) => {
                let is_asked = is_elsewhere || self.records_bytes(source, options) > 0;
                let requests = self.input_requests(source, options).filter(|_| is_asked);
                requests.map(|requests| requests.bytes)
            }
            Source::Kept(_, kept) => is_elsewhere.then(|| input_traffic::request_bytes(kept)),
            Source::Parts(..) => None,
            Source::Generator(..) | Source::InMemoryEdges(_) => return None,
        };
        Some(InputTraffic::new(bytes?, passes, request_bytes, is_elsewhere))
    }

    /// Options by which an input is looked at before it is read: several objects at a time.
    pub(super) fn for_a_look(&self, wanted: &GraphRequest<'_>) -> ReadOptions {
        let mut options = wanted.options.clone();
        let arriving = self.arriving_bytes(wanted.source, &options, self.budget());
        options.limits.object_bytes_max = (arriving > 0).then_some(arriving / LOOKS);
        // Stated requests only bound it: little of an input is looked at.
        let ReadRequests { bytes, in_flight } = self.resources.read_requests();
        options.limits.read_requests = ReadRequests {
            bytes: bytes.map(|bytes| bytes.min(LOOK_BYTES)),
            in_flight: in_flight.map(|number| number.min(LOOK_REQUESTS)),
        };
        options
    }
}

/// Requests of each of some readers that come near the best rate of those that fit in this memory.
/// None where nothing fits.
fn best_requests(probe: &Probe, readers: u64, memory_bytes: u64) -> Option<ReadRequests> {
    let requests = |rate: &Rate| ReadRequests {
        bytes: Some(rate.request_bytes.into()),
        in_flight: Some(u64::from(rate.depth).div_ceil(readers).max(1)),
    };
    let fits = |rate: &Rate| {
        let is_large = rate.request_bytes >= FOUND_BYTES_MIN;
        is_large && requests(rate).memory_bytes_min(readers) <= memory_bytes
    };
    best_rate(&probe.read, fits).map(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn requests_that_a_probe_found_fit_the_usual_memory() {
        let rate = |request_bytes, depth, bytes_per_second| Rate {
            request_bytes,
            depth,
            bytes_per_second,
            processor_share: 0.1,
        };
        let read = vec![
            rate(16 << 10, 64, 9e9),
            rate(1 << 20, 4, 100e6),
            rate(1 << 20, 32, 350e6),
            rate(1 << 20, 64, 390e6),
            rate(8 << 20, 8, 400e6),
            rate(8 << 20, 32, 400e6),
            rate(64 << 20, 1, 90e6),
        ];
        let probe = Probe { read, write: Vec::new(), direct: true, ..Probe::default() };
        let of = |readers, memory| {
            best_requests(&probe, readers, memory).map(|found| {
                assert!(found.memory_bytes_min(readers) <= memory);
                (found.bytes.unwrap(), found.in_flight.unwrap())
            })
        };
        assert_eq!(of(2, 256 * MIB), Some((8 << 20, 4)));
        assert_eq!(of(16, 1024 * MIB), Some((8 << 20, 1)));
        // Smaller ones where there is less memory, as many of these as it has room for.
        assert_eq!(of(2, 100 * MIB), Some((8 << 20, 4)));
        assert_eq!(of(2, 64 * MIB), Some((1 << 20, 16)));
        assert_eq!(of(2, 16 * MIB), Some((1 << 20, 2)));
        assert_eq!(of(2, MIB), None);
        assert_eq!(best_requests(&Probe::default(), 2, 256 * MIB), None);
    }
}
