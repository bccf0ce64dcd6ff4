//! Objects that a command sends to buckets, results and edges, graphs and checkpoints: by which
//! requests, and the memory of parts on their way.
//!
//! Invariants: what the user states is kept, and its memory decides whether a command is granted
//! (tested by `stated_parts_are_in_the_plan`); what a probe found takes no more memory than usual
//! parts, or a sixteenth of the budget where that is more (tested by
//! `parts_that_a_probe_found_fit_the_budget`).

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use serde::Serialize;
use welter_objects::{Location, WriteRequests};
use welter_store::probe::{Probe, Rate};

use super::rates::{best_rate, kept_rates};
use crate::failure::Failure;

/// Share of the budget that parts of an object may take as a probe found them, as one part in this
/// number, and bytes at most.
const SENDING_SHARE: u64 = 16;
const SENDING_MOST: u64 = 256 << 20;

/// Uploads of a command to buckets.
#[derive(Debug)]
pub(super) struct Uploads {
    /// Requests as the user states them.
    stated: Option<WriteRequests>,
    places: Vec<Place>,
}

/// A place in a bucket that objects are sent to.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    /// Objects whose parts are in memory at a time, beside a plan.
    objects: u64,
    /// Rates of its bucket, once they were looked for; none where there are none.
    rates: OnceCell<Vec<Rate>>,
}

/// Requests by which objects are sent, as a report says them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UploadRequests {
    to: String,
    /// Bytes of a part, as long as there are few.
    part_bytes: u64,
    /// Parts on their way at most.
    in_flight: u64,
    /// Whether they follow the rates that a probe kept there.
    probed: bool,
}

impl Uploads {
    /// No upload yet; later ones by stated requests, if there are any.
    pub(super) fn new(stated: Option<WriteRequests>) -> Self {
        Self { stated, places: Vec::new() }
    }

    /// Adds a place, if it is in a bucket.
    pub(super) fn add(&mut self, path: &Path, objects: u64) {
        if Location::of(path).is_some() {
            let path = path.to_owned();
            self.places.push(Place { path, objects, rates: OnceCell::new() });
        }
    }

    /// Looks for rates at each place where that was not done, unless requests are stated. Rates
    /// that are damaged are none, and returned: they only make a run faster or slower.
    pub(super) fn look(&self) -> Vec<Failure> {
        let mut damaged = Vec::new();
        for place in self.places.iter().filter(|_| self.stated.is_none()) {
            place.rates.get_or_init(|| match kept_rates(&place.path) {
                Ok(probe) => probe.map_or_else(Vec::new, |Probe { write, .. }| write),
                Err(failure) => {
                    damaged.push(failure);
                    Vec::new()
                }
            });
        }
        damaged
    }

    /// Requests for a place that was added, with no more memory for what a probe found than this
    /// and than is usual of the budget. Objects of other places are sent as usual.
    pub(super) fn requests(&self, path: &Path, memory_bytes: u64, budget: u64) -> WriteRequests {
        let place = self.places.iter().find(|place| place.path == path);
        place.map_or_else(WriteRequests::default, |place| {
            let memory = memory_bytes.min(usual_bytes(budget));
            self.stated.or_else(|| place.probed(memory)).unwrap_or_default()
        })
    }

    /// Bytes of memory that parts take on their way beside a plan of this budget.
    pub(super) fn memory_bytes(&self, budget: u64) -> u64 {
        let bytes = |place: &Place| {
            let each = self.requests(&place.path, u64::MAX, budget).memory_bytes();
            place.objects.saturating_mul(each)
        };
        self.places.iter().map(bytes).sum()
    }

    /// Requests for all places.
    pub(super) fn listed(&self, budget: u64) -> Vec<UploadRequests> {
        let listed = |place: &Place| {
            let requests = self.requests(&place.path, u64::MAX, budget);
            UploadRequests {
                to: place.path.display().to_string(),
                part_bytes: requests.part_bytes(),
                in_flight: requests.in_flight(),
                probed: self.stated.is_none() && place.probed(usual_bytes(budget)).is_some(),
            }
        };
        self.places.iter().map(listed).collect()
    }
}

impl Place {
    /// Requests by the rates that a probe kept, if some fit this memory.
    fn probed(&self, memory_bytes: u64) -> Option<WriteRequests> {
        best_requests(self.rates.get()?, memory_bytes)
    }
}

/// Bytes of memory that parts of an object may take as a probe found them.
fn usual_bytes(budget: u64) -> u64 {
    let usual = WriteRequests::default().memory_bytes();
    (budget / SENDING_SHARE).clamp(usual, SENDING_MOST)
}

/// Requests that come near the best rate of those that stores take for parts and that fit in this
/// memory. None where nothing fits.
fn best_requests(rates: &[Rate], memory_bytes: u64) -> Option<WriteRequests> {
    let requests =
        |rate: &Rate| WriteRequests::new(Some(rate.request_bytes.into()), Some(rate.depth.into()));
    let fits = |rate: &Rate| {
        let is_taken = WriteRequests::takes(rate.request_bytes.into());
        is_taken && requests(rate).memory_bytes() <= memory_bytes
    };
    best_rate(rates, fits).map(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn rate(request_bytes: u32, depth: u32, bytes_per_second: f64) -> Rate {
        Rate { request_bytes, depth, bytes_per_second, processor_share: 0.1 }
    }

    #[test]
    fn parts_that_a_probe_found_fit_the_budget() {
        let rates = [
            rate(1 << 20, 256, 9e9),
            rate(8 << 20, 4, 100e6),
            rate(8 << 20, 16, 390e6),
            rate(8 << 20, 32, 400e6),
            rate(16 << 20, 2, 98e6),
            rate(16 << 20, 8, 395e6),
            rate(64 << 20, 1, 50e6),
            rate(64 << 20, 4, 900e6),
        ];
        let of = |memory: u64| {
            best_requests(&rates, memory * MIB).map(|found| {
                assert!(found.memory_bytes() <= memory * MIB);
                (found.part_bytes() / MIB, found.in_flight())
            })
        };
        // Larger parts where they are nearly as fast, and no small ones, which stores do not take.
        assert_eq!(of(64), Some((16, 2)));
        assert_eq!(of(150), Some((16, 2)));
        assert_eq!(of(160), Some((16, 8)));
        assert_eq!(of(256), Some((16, 8)));
        assert_eq!(of(320), Some((64, 4)));
        assert_eq!(of(63), None);
        assert_eq!(best_requests(&[], u64::MAX), None);
        for (budget, usual) in [(0, 64), (512, 64), (2048, 128), (1 << 20, 256)] {
            assert_eq!(usual_bytes(budget * MIB), usual * MIB);
        }
    }

    #[test]
    fn stated_requests_are_those_of_all_places_and_rates_of_their_own() {
        let (a, b, file) = (Path::new("s3://a/r.csv"), Path::new("s3://b/x"), Path::new("r.csv"));
        let usual = WriteRequests::default();
        let with = |stated: Option<WriteRequests>| {
            let mut uploads = Uploads::new(stated);
            for path in [a, b, file] {
                uploads.add(path, 1);
            }
            assert_eq!(uploads.places.len(), 2);
            uploads.places[0].rates.set(vec![rate(32 << 20, 1, 1e9)]).unwrap();
            uploads
        };
        let of = |uploads: &Uploads, path| uploads.requests(path, u64::MAX, 1 << 30);
        let probed = with(None);
        assert_eq!(of(&probed, a), WriteRequests::new(Some(32 << 20), Some(1)));
        assert_eq!((of(&probed, b), of(&probed, file)), (usual, usual));
        assert_eq!(probed.requests(a, MIB, 1 << 30), usual);
        assert_eq!(probed.memory_bytes(1 << 30), 128 * MIB);
        assert!(probed.listed(1 << 30)[0].probed && !probed.listed(1 << 30)[1].probed);
        let requests = WriteRequests::new(Some(64 << 20), Some(4));
        let stated = with(Some(requests));
        assert_eq!((of(&stated, a), of(&stated, b)), (requests, requests));
        assert_eq!(of(&stated, file), usual);
        assert_eq!(stated.memory_bytes(0), 640 * MIB);
        assert!(!stated.listed(0)[0].probed);
    }
}
