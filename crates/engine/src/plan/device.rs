//! A device of temporary files as it was measured, and the requests that a plan makes of it.
//!
//! Invariants: what the user says of requests stays · a run that fits without what was measured
//! also fits with it, since a plan that does not fit is made again without (checked in
//! `Plan::new`). More requests in flight than usual, and larger ones, take a small share of the
//! budget. Tested by `requests_follow_the_device_and_what_is_said` and
//! `requests_of_neighbours_are_taken_where_the_budget_has_room_for_two`.

use welter_store::io::{IN_FLIGHT_MOST, Requests};
use welter_store::probe::{Probe, Rate};

use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{DEPTH, says_slabs};
use crate::machine::throughput::Throughput;

/// Slabs in flight that each worker has at least,
const SLABS_LEAST: u64 = 2;
/// and at most.
const SLABS_MOST: u64 = 32;
/// One part in `SHARE` of the budget may be in flight, or the usual number of requests.
const SHARE: u64 = 16;
/// Slabs that a worker writes at a time at most, where reads are cut into smaller requests.
const WRITES_MOST: u64 = 8;
/// Smaller requests have to be `SURELY` times as fast as slabs for a short look to be believed.
const SURELY: f64 = 1.25;

/// Method by which a device was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// By a probe that was kept.
    Probe,
    /// By a short look, at the begin of the run or of the ingest that kept the graph.
    AtStart,
}

/// A device as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Method of the measurement.
    pub measured: Measured,
    /// Bytes that it gives in a second at best.
    pub read: u64,
    /// Bytes that it takes in a second at best.
    pub write: u64,
    /// Bytes of a read at most, where others are better than slabs: fewer, or those of neighbours.
    read_bytes: Option<u32>,
    /// Bytes of a write at most, likewise.
    write_bytes: Option<u32>,
    /// Bytes in flight with which it reads best.
    in_flight: u64,
}

impl Device {
    /// Draws conclusions from rates; none where these are not of both directions.
    pub fn of(probe: &Probe, measured: Measured) -> Option<Self> {
        let (read, write) = (probe.best_read()?, probe.best_write()?);
        let [read_bytes, write_bytes] = better_sizes(probe, measured);
        let second = |rate: Rate| (rate.bytes_per_second as u64).max(1);
        Some(Self {
            measured,
            read: second(read),
            write: second(write),
            read_bytes,
            write_bytes,
            in_flight: u64::from(read.request_bytes) * u64::from(read.depth),
        })
    }

    /// Requests by `threads` workers in a budget, as far as `stated` leaves them open.
    pub(super) fn requests(&self, stated: Requests, threads: u64, budget_bytes: u64) -> Requests {
        let found = sizes([self.read_bytes, self.write_bytes], threads, budget_bytes);
        let says = says_slabs(&stated, false) || says_slabs(&stated, true);
        // Where a number of requests is said it is of slabs, or of what is smaller.
        let [read, write] = if says { smaller(found) } else { found };
        let read_bytes = stated.read_bytes.or(read);
        let write_bytes = stated.write_bytes.or(write);
        let requests = Requests { read_bytes, write_bytes, ..stated };
        // Of those of neighbours there are two, one on its way while the other is used.
        if says || says_slabs(&requests, false) || says_slabs(&requests, true) {
            return requests;
        }
        let slab = SLAB_BYTES as u64;
        let usual = DEPTH as u64;
        let affordable = (budget_bytes / SHARE / (threads * slab)).max(usual);
        let best = self.in_flight.div_ceil(threads * slab).clamp(SLABS_LEAST, SLABS_MOST);
        let slabs = best.min(affordable);
        let each = |to_write| requests.bytes(to_write).map_or(slab, |bytes| slab.min(bytes as u64));
        let is_cut = each(false) < slab || each(true) < slab;
        if slabs == usual && !is_cut {
            return requests;
        }
        let written = WRITES_MOST.max(slabs) * slab / each(true);
        let in_flight = (slabs * slab / each(false)).min(written).clamp(1, IN_FLIGHT_MOST.into());
        Requests { in_flight: Some(in_flight as u32), ..requests }
    }

    /// The throughput with its rates.
    pub(super) fn at_its_rates(&self, throughput: Throughput) -> Throughput {
        // Where little is stored the device makes no difference.
        if throughput.read == u64::MAX {
            return throughput;
        }
        Throughput { read: self.read, write: self.write, ..throughput }
    }
}

/// Sizes of reads and of writes that are better than slabs, surely where a short look found them.
pub(crate) fn better_sizes(probe: &Probe, measured: Measured) -> [Option<u32>; 2] {
    let slab = SLAB_BYTES as u32;
    let is_sure = |rates: &[Rate], best: Option<Rate>| {
        let whole = rates.iter().filter(|rate| rate.request_bytes >= slab);
        let whole = whole.map(|rate| rate.bytes_per_second).fold(0.0, f64::max);
        measured == Measured::Probe
            || best.is_some_and(|best| best.bytes_per_second > SURELY * whole)
    };
    let [read, write] = [probe.best_read(), probe.best_write()];
    [
        probe.sized_reads(slab).filter(|_| is_sure(&probe.read, read)),
        probe.sized_writes(slab).filter(|_| is_sure(&probe.write, write)),
    ]
}

/// Sizes of reads and of writes that were found to be better than slabs, as far as `threads`
/// workers can have them: those of neighbours are cut to what two of them a worker may take of the
/// budget, and are none beside smaller ones, since both have one number in flight.
pub(crate) fn sizes(found: [Option<u32>; 2], threads: u64, budget_bytes: u64) -> [Option<u32>; 2] {
    let slab = SLAB_BYTES as u32;
    if found.iter().flatten().any(|bytes| *bytes < slab) {
        return smaller(found);
    }
    let affordable = budget_bytes / SHARE / (2 * threads.max(1));
    let most = affordable.checked_ilog2().map_or(0, |bits| 1 << bits.min(31));
    found.map(|bytes| bytes.map(|bytes| bytes.min(most)).filter(|bytes| *bytes > slab))
}

/// Sizes that are smaller than slabs, without the others.
pub(crate) fn smaller(found: [Option<u32>; 2]) -> [Option<u32>; 2] {
    found.map(|bytes| bytes.filter(|bytes| *bytes < SLAB_BYTES as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn rate(request_bytes: u32, depth: u32, megabytes: f64) -> Rate {
        let bytes_per_second = megabytes * 1e6;
        Rate { request_bytes, depth, bytes_per_second, processor_share: 0.1 }
    }

    /// A device that reads best so, and writes slabs as well as anything.
    fn device(read: Vec<Rate>, measured: Measured) -> Device {
        let write = vec![rate(512 << 10, 4, 100.0)];
        Device::of(&Probe { read, write, direct: true, ..Probe::default() }, measured).unwrap()
    }

    #[test]
    fn requests_follow_the_device_and_what_is_said() {
        let deep = vec![rate(512 << 10, 4, 100.0), rate(512 << 10, 32, 400.0)];
        let deep = device(deep, Measured::Probe);
        let of = |stated, budget| deep.requests(stated, 2, budget);
        let none = Requests::default();
        assert_eq!(of(none, 1 << 30), Requests { in_flight: Some(16), ..none });
        // The usual ones where the budget has no room for more.
        assert_eq!(of(none, 64 * MIB), none);
        assert_eq!(of(none, 128 * MIB), Requests { in_flight: Some(8), ..none });
        let stated = Requests { in_flight: Some(3), read_bytes: Some(4096), ..none };
        assert_eq!(of(stated, 1 << 30), stated);
        let stated = Requests { write_bytes: Some(1 << 20), ..none };
        assert_eq!(of(stated, 1 << 30), stated);
        let shallow = device(vec![rate(512 << 10, 1, 100.0)], Measured::AtStart);
        assert_eq!(shallow.requests(none, 2, 1 << 30).in_flight, Some(2));
        let usual = device(vec![rate(512 << 10, 8, 100.0)], Measured::AtStart);
        assert_eq!(usual.requests(none, 2, 1 << 30), none);
    }

    #[test]
    fn small_requests_are_taken_where_they_are_faster_for_sure() {
        let rates = |small: f64| vec![rate(64 << 10, 16, small), rate(512 << 10, 4, 100.0)];
        let cut = |small, measured| device(rates(small), measured).read_bytes;
        assert_eq!(cut(110.0, Measured::Probe), Some(64 << 10));
        assert_eq!(cut(110.0, Measured::AtStart), None);
        assert_eq!(cut(130.0, Measured::AtStart), Some(64 << 10));
        let cut = device(rates(130.0), Measured::AtStart).requests(Requests::default(), 1, 1 << 30);
        // As many as take two slabs, and of writes, which are whole slabs, eight at most.
        assert_eq!((cut.read_bytes, cut.in_flight), (Some(64 << 10), Some(8)));
        assert_eq!(Device::of(&Probe::default(), Measured::Probe), None);
    }

    #[test]
    fn requests_of_neighbours_are_taken_where_the_budget_has_room_for_two() {
        let read = vec![rate(512 << 10, 4, 100.0), rate(16 << 20, 2, 200.0)];
        let write = vec![rate(512 << 10, 4, 100.0), rate(32 << 20, 1, 150.0)];
        let large =
            Device::of(&Probe { read, write, direct: true, ..Probe::default() }, Measured::Probe)
                .unwrap();
        let none = Requests::default();
        let of = |stated, budget| {
            let Requests { read_bytes, write_bytes, in_flight, .. } =
                large.requests(stated, 2, budget);
            ([read_bytes, write_bytes], in_flight)
        };
        assert_eq!(of(none, 4 << 30), ([Some(16 << 20), Some(32 << 20)], None));
        assert_eq!(of(none, 512 * MIB), ([Some(8 << 20), Some(8 << 20)], None));
        assert_eq!(of(none, 64 * MIB).0, [Some(1 << 20), Some(1 << 20)]);
        assert_eq!(of(none, 32 * MIB).0, [None, None]);
        let stated = Requests { in_flight: Some(3), ..none };
        assert_eq!(of(stated, 4 << 30), ([None, None], Some(3)));
        let stated = Requests { read_bytes: Some(4096), ..none };
        assert_eq!(of(stated, 4 << 30).0, [Some(4096), Some(32 << 20)]);
        assert_eq!(sizes([Some(4096), Some(1 << 24)], 1, 1 << 40), [Some(4096), None]);
    }

    #[test]
    fn rates_are_those_of_the_device_where_it_makes_a_difference() {
        let found = device(vec![rate(512 << 10, 4, 300.0)], Measured::Probe);
        let core = Throughput::of_core();
        assert_eq!(found.at_its_rates(core), core);
        let looked = Throughput { read: 7, write: 8, ..core };
        let Throughput { read, write, .. } = found.at_its_rates(looked);
        assert_eq!((read, write), (300_000_000, 100_000_000));
    }
}
