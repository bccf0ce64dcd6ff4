//! When a disk has done what it is asked for: requests wait for a place, for the bus, and for those
//! before them on the same block.
//!
//! ```text
//! begins(r) = max(asked(r), a place of `depth` is free, `gap` after the beginning of the last one,
//!                 ends(r') for the requests r' before r on a block or manifest of r)
//! ends(r)   = max(begins(r) + latency, the bus is free) + bytes(r) * byte    then the bus is free
//! ```
//!
//! A write takes the bus at once, or, as long as there is room in memory, when it is synced. A sync
//! also writes where things are: `PLACE_BYTES` of each block.
//!
//! Deletions take no place and no bus, only a latency. Requests on different blocks overtake each
//! other, the more so as some take many latencies.
//!
//! **Invariant:** requests on one block end in the order in which they were made. Tested by
//! `requests_on_one_block_are_in_order_and_others_overtake`.

use std::collections::BTreeMap;

use welter_protocol::Time;
use welter_protocol::checkpoint::Age;
use welter_protocol::ids::BlockName;
use welter_protocol::random::Random;

/// Bytes that say where a block is.
pub(super) const PLACE_BYTES: u64 = 64;

/// Speed of a disk. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Of every request.
    pub latency: Time,
    /// Of every byte, in thousandths: of all that is transferred, one request after the other.
    pub byte_thousandths: Time,
    /// Requests that it serves at a time.
    pub depth: usize,
    /// Least time between the beginnings of two requests.
    pub gap: Time,
    /// Requests, of a thousand, that take twenty latencies.
    pub late: u64,
    /// Bytes of writes that wait in memory for a sync, and are transferred only then; what is more
    /// is transferred at once.
    pub dirty_max: u64,
    /// Bytes that one of a payload stands for: 1, but in the scale model.
    pub unit: u64,
    /// Whether vertex sets stay in memory: they are read there, and transferred when synced.
    pub holds_vertices: bool,
}

impl Speed {
    /// A disk that serves one request after the other.
    pub const fn serial(latency: Time, byte_thousandths: Time) -> Self {
        Self {
            latency,
            byte_thousandths,
            depth: 1,
            gap: 0,
            late: 0,
            dirty_max: 0,
            unit: 1,
            holds_vertices: false,
        }
    }
}

/// Block or manifest, by which requests are kept in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Block(BlockName),
    Manifest(Age),
}

/// Work that a request is for the device.
pub(super) struct Load {
    pub(super) latencies: u64,
    pub(super) bytes: u64,
    /// Whether it takes a place, and the bus.
    pub(super) is_transfer: bool,
    /// Factor by which everything is slower.
    pub(super) times: u64,
}

/// Places, the bus and the order of requests.
pub(super) struct Device {
    speed: Speed,
    /// Time at which each place is free.
    places: Vec<Time>,
    /// Time at which the bus is free.
    bus: Time,
    /// When the next request may begin.
    next: Time,
    /// When the last request on each ends.
    last: BTreeMap<Key, Time>,
    /// Whether requests on one block overtake each other, which is a bug.
    pub(super) overtakes: bool,
    busy_until: Time,
    /// Nanoseconds in which it had something to do.
    pub(super) busy: Time,
    /// Bytes that it transferred.
    pub(super) bytes: u64,
}

impl Device {
    pub(super) fn new(speed: Speed) -> Self {
        Self {
            speed,
            places: vec![0; speed.depth.max(1)],
            bus: 0,
            next: 0,
            last: BTreeMap::new(),
            overtakes: false,
            busy_until: 0,
            busy: 0,
            bytes: 0,
        }
    }

    /// When a request will have ended.
    pub(super) fn ends(
        &mut self,
        now: Time,
        load: &Load,
        keys: &[Key],
        random: &mut Random,
    ) -> Time {
        let Speed { latency, byte_thousandths, gap, late, .. } = self.speed;
        let late = if late > 0 && random.chance(late) { 20 } else { 1 };
        let latency = latency * load.latencies * late * load.times;
        let before = keys.iter().filter_map(|key| self.last.get(key)).max();
        let before = before.copied().filter(|_| !self.overtakes).unwrap_or(0);
        let mut begins = now.max(before);
        let mut ends = begins + latency;
        if load.is_transfer
            && let Some(place) = (0..self.places.len()).min_by_key(|&place| self.places[place])
        {
            begins = begins.max(self.places[place]).max(self.next);
            ends = (begins + latency).max(self.bus);
            ends += load.bytes * byte_thousandths * load.times / 1000;
            (self.places[place], self.bus, self.next) = (ends, ends, begins + gap);
            self.bytes += load.bytes;
            self.busy += ends.saturating_sub(begins.max(self.busy_until));
            self.busy_until = self.busy_until.max(ends);
        }
        assert!(ends >= begins && begins >= before, "a request ends after those on its blocks");
        for key in keys {
            let last = self.last.entry(*key).or_default();
            *last = ends.max(*last);
        }
        ends
    }

    /// A request on these has ended.
    pub(super) fn ended(&mut self, now: Time, keys: &[Key]) {
        for key in keys {
            if self.last.get(key).is_some_and(|last| *last <= now) {
                self.last.remove(key);
            }
        }
    }

    /// Forgets all requests, as if none had been.
    pub(super) fn reset(&mut self, now: Time) {
        self.places.fill(now);
        (self.bus, self.next) = (now, now);
        self.last.clear();
    }
}

#[cfg(test)]
mod tests {
    use welter_protocol::ids::{Epoch, Kind, Role};

    use super::*;

    fn key(number: u64) -> Key {
        Key::Block(BlockName {
            kind: Kind::Edges,
            role: Role::Primary,
            epoch: Epoch::default(),
            iteration: 0,
            partition: 0,
            source: None,
            number,
        })
    }

    const READ: Load = Load { latencies: 1, bytes: 5, is_transfer: true, times: 1 };
    const DELETE: Load = Load { latencies: 1, bytes: 0, is_transfer: false, times: 1 };

    /// When requests end that are all made at 0, each on the block of its number.
    fn ends(speed: Speed, requests: &[(&Load, u64)]) -> Vec<Time> {
        let mut device = Device::new(speed);
        let random = &mut Random::new(1);
        let ends = |(load, number): &(&Load, u64)| device.ends(0, load, &[key(*number)], random);
        requests.iter().map(ends).collect()
    }

    #[test]
    fn places_overlap_and_the_bus_does_not() {
        let three = [(&READ, 1), (&READ, 2), (&READ, 3)];
        let serial = Speed::serial(10, 1000);
        assert_eq!(ends(serial, &three), [15, 30, 45]);
        assert_eq!(ends(Speed { depth: 2, ..serial }, &three), [15, 20, 30]);
        assert_eq!(ends(Speed { depth: 3, ..serial }, &three), [15, 20, 25]);
        assert_eq!(ends(Speed { depth: 3, gap: 12, ..serial }, &three), [15, 27, 39]);
    }

    #[test]
    fn requests_on_one_block_are_in_order_and_others_overtake() {
        let deep = Speed { depth: 4, ..Speed::serial(10, 0) };
        assert_eq!(ends(deep, &[(&READ, 1), (&DELETE, 1), (&READ, 1)]), [10, 20, 30]);
        assert_eq!(ends(deep, &[(&READ, 1), (&DELETE, 2), (&READ, 3)]), [10, 10, 10]);
        let mut device = Device::new(deep);
        let random = &mut Random::new(1);
        let slow = Load { times: 20, ..DELETE };
        assert_eq!(device.ends(0, &slow, &[key(1)], random), 200);
        assert_eq!(device.ends(0, &READ, &[key(1)], random), 210, "it waits for the deletion");
        device.ended(250, &[key(1)]);
        assert_eq!(device.ends(250, &READ, &[key(1)], random), 260);
        device.overtakes = true;
        assert_eq!(device.ends(300, &slow, &[key(1)], random), 500);
        assert_eq!(device.ends(300, &READ, &[key(1)], random), 310, "which is a bug");
    }
}
