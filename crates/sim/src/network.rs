//! A network that delays, loses, repeats, reorders and garbles, that can be cut, one way or both,
//! and whose interfaces and switch have queues and a rate.
//!
//! A message leaves by the interface of its sender, one after the other; its first byte is at the
//! switch a delay later; it passes the switch and the interface of its receiver one after the other
//! in the order in which they come there, while its other bytes follow (cut-through):
//!
//! ```text
//! leaves(m)  = max(sent(m), out of the sender is free)         then out is busy for bytes * byte
//! comes(m)   = leaves(m) + delay
//! passes(m)  = max(comes(m), the switch is free)               busy for bytes * switch byte
//! arrives(m) = max(passes(m), in of the receiver is free) + bytes * byte          then in is free
//! ```
//!
//! The answers to one machine at a time wait for each other (in-cast), and all machines share the
//! rate of the switch.
//!
//! Where the port of the switch at which they wait has a bound, what is beyond it is dropped, and
//! sent again by its sender after a time-out, which doubles each time (as TCP does):
//!
//! ```text
//! waits(m)  = (in of the receiver is free) - passes(m)                               if positive
//! queue(m)  = waits(m) / byte           bytes before those of m, when the last of m comes
//! lost(m)   = min(bytes, queue(m) - port bytes)                                      if positive
//! ```
//!
//! The message has arrived when all of it has. Not here: senders that slow down when they lose
//! packets, messages of a connection that wait for one before, and a buffer that ports share.

use welter_protocol::messages::Envelope;
use welter_protocol::payload::{Buffer, checksum};
use welter_protocol::random::Random;
use welter_protocol::wire::{HEAD_BYTES, open, seal, sum};
use welter_protocol::{Rank, Time};

use crate::fault_counts::{FaultCounts, Kind};

/// Delays and faults of a network. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Least delay of a message.
    pub delay_min: Time,
    /// Largest delay of a message.
    pub delay_max: Time,
    /// Time of every byte at an interface, in thousandths.
    pub byte_thousandths: Time,
    /// Time of every byte in the switch, which all share, in thousandths.
    pub switch_thousandths: Time,
    /// Bytes that can wait for a machine at its port of the switch.
    pub port_bytes: u64,
    /// Time after which a sender sends again what found no room there; twice that the next time.
    pub time_out: Time,
    /// Messages of a thousand that are lost.
    pub loss: u64,
    /// Messages of a thousand that come twice.
    pub twice: u64,
    /// Messages of a thousand that are very late.
    pub late: u64,
    /// Whether messages travel as bytes; else they are handed over as they are, which is faster.
    pub wired: bool,
    /// Messages of a thousand, if they travel as bytes, that have a bit flipped.
    pub garbled: u64,
    /// Bytes that one of a payload stands for: 1, but in the scale model.
    pub unit: u64,
}

/// A message that has come through the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the last of its bytes that found room arrives.
    pub at: Time,
    /// Bytes that found none.
    pub lost: usize,
}

/// Loss of all messages between some machines for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Machine whose messages are lost.
    pub from: Rank,
    /// Machine to which messages are lost; all others where none.
    pub to: Option<Rank>,
    /// Whether messages back are lost too.
    pub both: bool,
    /// Virtual time at which the cut ends.
    pub until: Time,
}

/// Number of times that a time-out doubles at most.
const DOUBLED_MAX: u32 = 8;

/// The network.
#[derive(Debug)]
pub struct Network {
    /// Delays and faults of the network.
    pub conditions: Conditions,
    /// Cuts of the network.
    pub cuts: Vec<Cut>,
    /// Faults that happened.
    pub fault_counts: FaultCounts,
    /// When the last of what was sent comes to the switch, by its ends.
    last: Vec<Vec<Time>>,
    /// When the interfaces of each machine are free, out and in, and when the switch is.
    interfaces: Vec<[Time; 2]>,
    switch: Time,
    /// Part of frames whose sum is not looked at, which is a bug.
    unsummed: Option<usize>,
}

/// Makes a frame look like one that was sent so, of which this part was garbled.
fn seal_anew([head, payload]: &mut [Vec<u8>; 2], part: usize) {
    if part == 1 {
        head[24..32].copy_from_slice(&checksum(payload).to_le_bytes());
    }
    let sum = sum(head);
    head[32..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Place of a machine in a table that grows.
fn place<T: Clone + Default>(table: &mut Vec<T>, rank: Rank) -> &mut T {
    if table.len() <= rank {
        table.resize(rank + 1, T::default());
    }
    &mut table[rank]
}

impl Network {
    /// A network without cuts; one with a part `unsummed` takes frames in which it was garbled,
    /// which is a bug.
    pub fn new(conditions: Conditions, unsummed: Option<usize>) -> Self {
        Self {
            conditions,
            cuts: Vec::new(),
            fault_counts: FaultCounts::default(),
            last: Vec::new(),
            interfaces: Vec::new(),
            switch: 0,
            unsummed,
        }
    }

    /// The cut that this way ends at.
    fn cut(&self, [from, to]: [Rank; 2], now: Time) -> Option<&Cut> {
        self.cuts.iter().find(|cut| {
            let there = cut.from == from && cut.to.is_none_or(|end| end == to);
            let back = cut.both && cut.from == to && cut.to.is_none_or(|end| end == from);
            now < cut.until && (there || back)
        })
    }

    /// Whether a message is lost on its way.
    fn loses(&mut self, way: [Rank; 2], now: Time, random: &mut Random) -> bool {
        let kind = match self.cut(way, now) {
            Some(cut) if cut.both => Kind::TwoWay,
            Some(_) => Kind::OneWay,
            None if self.conditions.loss > 0 && random.chance(self.conditions.loss) => Kind::Loss,
            None => return false,
        };
        self.fault_counts.count(kind);
        true
    }

    /// The envelope that arrives of one that travels as bytes. None where these were garbled: no
    /// receiver takes a frame that is not what was sent.
    ///
    /// # Errors
    /// When a machine does, or does not take one that is.
    pub fn carried(
        &mut self,
        envelope: Envelope,
        machines: usize,
        random: &mut Random,
    ) -> Result<Option<Envelope>, String> {
        if !self.conditions.wired {
            return Ok(Some(envelope));
        }
        let frame = seal(&envelope);
        if self.conditions.garbled == 0 || !random.chance(self.conditions.garbled) {
            let opened = open(&frame.head, Buffer::from(&frame.payload[..]), machines);
            return opened.map(Some).map_err(|why| format!("a frame cannot be opened: {why:?}"));
        }
        let mut parts = frame.parts().map(<[u8]>::to_vec);
        let bytes: usize = parts.iter().map(Vec::len).sum();
        let bit = random.below(8 * bytes as u64) as usize;
        let before = 8 * parts[0].len();
        let (part, at) = if bit < before { (0, bit) } else { (1, bit - before) };
        parts[part][at / 8] ^= 1 << (at % 8);
        self.fault_counts.count(Kind::Garbled);
        let trusts = self.unsummed == Some(part);
        if trusts {
            seal_anew(&mut parts, part);
        }
        let [head, payload] = parts;
        match open(&head, Buffer::from(payload), machines) {
            Ok(garbled) if trusts => Ok(Some(garbled)),
            Err(_) => Ok(None),
            Ok(_) => Err(format!("a frame was taken though bit {bit} was flipped")),
        }
    }

    /// When the first byte of a message comes to the switch: never, once or twice.
    pub fn comes(
        &mut self,
        now: Time,
        way: [Rank; 2],
        bytes: usize,
        random: &mut Random,
    ) -> [Option<Time>; 2] {
        let Conditions { delay_min, delay_max, byte_thousandths, twice, late, .. } =
            self.conditions;
        let [out, _] = place(&mut self.interfaces, way[0]);
        let leaves = now.max(*out);
        *out = leaves + bytes as Time * byte_thousandths / 1000;
        if self.loses(way, now, random) {
            return [None; 2];
        }
        let mut comes = || {
            let delay = delay_min + random.below(delay_max - delay_min + 1);
            let late = if late > 0 && random.chance(late) { 20 * delay_max } else { 0 };
            leaves + delay + late
        };
        let first = comes();
        debug_assert!(first >= now, "a message comes after it was sent");
        let second = (twice > 0).then(&mut comes);
        let last = place(place(&mut self.last, way[0]), way[1]);
        if first < *last {
            self.fault_counts.count(Kind::Reordering);
        }
        *last = first.max(*last);
        if twice > 0 && random.chance(twice) {
            self.fault_counts.count(Kind::Duplication);
            return [Some(first), second];
        }
        [Some(first), None]
    }

    /// When a message has arrived of which the first byte comes to the switch now, and how much of
    /// it is lost there.
    pub fn arrives(&mut self, now: Time, to: Rank, bytes: usize) -> Arrival {
        let Conditions { byte_thousandths, switch_thousandths, port_bytes, .. } = self.conditions;
        let passes = now.max(self.switch);
        self.switch = passes + bytes as Time * switch_thousandths / 1000;
        let [_, into] = place(&mut self.interfaces, to);
        if passes > now {
            self.fault_counts.count(Kind::Crowded);
        }
        if *into > passes {
            self.fault_counts.count(Kind::Incast);
        }
        let queue = 1000 * into.saturating_sub(passes) / byte_thousandths.max(1);
        let lost = queue.saturating_sub(port_bytes).min(bytes as u64) as usize;
        *into = passes.max(*into) + (bytes - lost) as Time * byte_thousandths / 1000;
        let at = *into;
        debug_assert!(at >= passes && passes >= now, "a message arrives after it has come");
        if lost > 0 {
            self.fault_counts.count(Kind::Dropped);
        }
        Arrival { at, lost }
    }

    /// Time that a sender, having sent something `times` times, waits before it does again.
    pub fn time_out(&self, times: u32) -> Time {
        self.conditions.time_out << times.min(DOUBLED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAIR: Conditions = Conditions {
        delay_min: 50,
        delay_max: 50,
        byte_thousandths: 1000,
        switch_thousandths: 0,
        port_bytes: u64::MAX,
        time_out: 0,
        loss: 0,
        twice: 0,
        late: 0,
        wired: false,
        garbled: 0,
        unit: 1,
    };

    /// When messages of ten bytes arrive that are sent at once.
    fn arrivals(conditions: Conditions, ways: &[[Rank; 2]]) -> Vec<Time> {
        let mut network = Network::new(conditions, None);
        let random = &mut Random::new(1);
        let comes: Vec<Time> =
            ways.iter().filter_map(|way| network.comes(0, *way, 10, random)[0]).collect();
        ways.iter().zip(comes).map(|(way, comes)| network.arrives(comes, way[1], 10).at).collect()
    }

    #[test]
    fn interfaces_and_the_switch_are_shared() {
        assert_eq!(arrivals(FAIR, &[[0, 1]]), [60], "a delay, and the bytes once");
        assert_eq!(arrivals(FAIR, &[[0, 1], [0, 2]]), [60, 70], "from one sender");
        assert_eq!(arrivals(FAIR, &[[0, 1], [2, 1], [3, 1]]), [60, 70, 80], "to one receiver");
        assert_eq!(arrivals(FAIR, &[[0, 1], [2, 3], [1, 0]]), [60; 3], "both ways, and others");
        let narrow = Conditions { switch_thousandths: 500, ..FAIR };
        assert_eq!(arrivals(narrow, &[[0, 1], [2, 3], [1, 0]]), [60, 65, 70], "all share that");
    }

    #[test]
    fn what_finds_no_room_at_a_port_is_dropped() {
        // Of messages of ten bytes that come to a port at once, the one before which a number of
        // bytes wait.
        for (port_bytes, expected) in [
            (u64::MAX, [(10, 0), (20, 0), (30, 0), (40, 0)]),
            (30, [(10, 0), (20, 0), (30, 0), (40, 0)]),
            (29, [(10, 0), (20, 0), (30, 0), (39, 1)]),
            (20, [(10, 0), (20, 0), (30, 0), (30, 10)]),
            (15, [(10, 0), (20, 0), (25, 5), (25, 10)]),
            (0, [(10, 0), (10, 10), (10, 10), (10, 10)]),
        ] {
            let mut network = Network::new(Conditions { port_bytes, time_out: 7, ..FAIR }, None);
            let found = [(); 4].map(|()| network.arrives(0, 1, 10)).map(|one| (one.at, one.lost));
            assert_eq!(found, expected, "{port_bytes} bytes");
            assert_eq!(network.arrives(0, 2, 10), Arrival { at: 10, lost: 0 }, "of another port");
            let later = network.arrives(50, 1, 10);
            assert_eq!(later, Arrival { at: 60, lost: 0 }, "the port is free again");
            assert_eq!([0, 1, 2, 99].map(|times| network.time_out(times)), [7, 14, 28, 7 << 8]);
        }
    }
}
