//! A network that delays, loses, repeats, reorders and garbles, and that can be cut, one way or
//! both.

use std::collections::BTreeMap;

use welter_protocol::messages::Envelope;
use welter_protocol::names::checksum;
use welter_protocol::random::{Random, mix};
use welter_protocol::wire::{HEAD_BYTES, open, seal};
use welter_protocol::{Rank, Time};

use crate::happened::{Happened, Kind};

/// How bad a network is. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weather {
    /// The least delay.
    pub delay_min: Time,
    /// The largest.
    pub delay_max: Time,
    /// Of every byte, in thousandths.
    pub byte_thousandths: Time,
    /// How many of a thousand messages are lost.
    pub loss: u64,
    /// How many come twice.
    pub twice: u64,
    /// How many are very late.
    pub late: u64,
    /// Whether messages travel as bytes; else they are handed over as they are, which is faster.
    pub wired: bool,
    /// How many of a thousand of these have a bit flipped.
    pub garbled: u64,
}

/// A way that nothing goes for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// From this machine.
    pub from: Rank,
    /// To this one; all others where none.
    pub to: Option<Rank>,
    /// Also back.
    pub both: bool,
    /// Until then.
    pub until: Time,
}

/// The network.
#[derive(Debug)]
pub struct Network {
    /// How bad it is.
    pub weather: Weather,
    /// Where it is cut.
    pub cuts: Vec<Cut>,
    /// What went wrong.
    pub happened: Happened,
    /// When the last of what was sent will have arrived, by its way.
    last: BTreeMap<[Rank; 2], Time>,
    /// Whether garbled frames are taken, which is a bug.
    pub trusts: bool,
}

/// Makes a frame look like one that was sent so.
fn seal_anew(frame: &mut [u8]) {
    let sum = mix(checksum(&frame[..16]) ^ checksum(&frame[HEAD_BYTES..]));
    frame[16..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

impl Network {
    /// A network without cuts; one that `trusts` takes garbled frames, which is a bug.
    pub fn new(weather: Weather, trusts: bool) -> Self {
        let (cuts, last) = (Vec::new(), BTreeMap::new());
        Self { weather, cuts, happened: Happened::default(), last, trusts }
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
            None if self.weather.loss > 0 && random.chance(self.weather.loss) => Kind::Loss,
            None => return false,
        };
        self.happened.count(kind);
        true
    }

    /// What arrives of an envelope that travels as bytes. None where these were garbled: nobody
    /// takes a frame that is not what was sent.
    ///
    /// # Errors
    /// When somebody does, or does not take one that is.
    pub fn carried(
        &mut self,
        envelope: Envelope,
        machines: usize,
        random: &mut Random,
    ) -> Result<Option<Envelope>, String> {
        if !self.weather.wired {
            return Ok(Some(envelope));
        }
        let mut frame = seal(&envelope);
        if self.weather.garbled == 0 || !random.chance(self.weather.garbled) {
            let opened = open(&frame, machines);
            return opened.map(Some).map_err(|why| format!("a frame cannot be opened: {why:?}"));
        }
        let bit = random.below(8 * frame.len() as u64) as usize;
        frame[bit / 8] ^= 1 << (bit % 8);
        self.happened.count(Kind::Garbled);
        if self.trusts {
            seal_anew(&mut frame);
            return Ok(open(&frame, machines).ok());
        }
        match open(&frame, machines) {
            Err(_) => Ok(None),
            Ok(_) => Err(format!("a frame was taken though bit {bit} was flipped")),
        }
    }

    /// When a message of so many bytes arrives: never, once or twice.
    pub fn arrivals(
        &mut self,
        now: Time,
        way: [Rank; 2],
        bytes: usize,
        random: &mut Random,
    ) -> [Option<Time>; 2] {
        let Weather { delay_min, delay_max, byte_thousandths, twice, late, .. } = self.weather;
        if self.loses(way, now, random) {
            return [None; 2];
        }
        let mut arrival = || {
            let delay = delay_min + random.below(delay_max - delay_min + 1);
            let late = if late > 0 && random.chance(late) { 20 * delay_max } else { 0 };
            now + delay + late + bytes as u64 * byte_thousandths / 1000
        };
        let first = arrival();
        let second = (twice > 0).then(&mut arrival);
        let last = self.last.entry(way).or_default();
        if first < *last {
            self.happened.count(Kind::Reordering);
        }
        *last = first.max(*last);
        if twice > 0 && random.chance(twice) {
            self.happened.count(Kind::Duplication);
            return [Some(first), second];
        }
        [Some(first), None]
    }
}
