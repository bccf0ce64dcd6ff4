//! A network that delays, loses, repeats, reorders and garbles, and that can be cut, one way or
//! both.

use welter_protocol::messages::Envelope;
use welter_protocol::names::checksum;
use welter_protocol::random::{Random, mix};
use welter_protocol::wire::{HEAD_BYTES, open, seal};
use welter_protocol::{Rank, Time};

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
    /// Messages that were lost.
    pub lost: u64,
    /// Messages that came twice.
    pub repeated: u64,
    /// Whether garbled frames are taken, which is a bug.
    pub trusts: bool,
}

/// Makes a frame look like one that was sent so.
fn seal_anew(frame: &mut [u8]) {
    let sum = mix(checksum(&frame[..16]) ^ checksum(&frame[HEAD_BYTES..]));
    frame[16..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
}

impl Network {
    /// A network without cuts.
    pub fn new(weather: Weather) -> Self {
        Self { weather, cuts: Vec::new(), lost: 0, repeated: 0, trusts: false }
    }

    fn is_cut(&self, from: Rank, to: Rank, now: Time) -> bool {
        self.cuts.iter().any(|cut| {
            let there = cut.from == from && cut.to.is_none_or(|end| end == to);
            let back = cut.both && cut.from == to && cut.to.is_none_or(|end| end == from);
            now < cut.until && (there || back)
        })
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
        if self.trusts {
            seal_anew(&mut frame);
            return Ok(open(&frame, machines).ok());
        }
        self.lost += 1;
        match open(&frame, machines) {
            Err(_) => Ok(None),
            Ok(_) => Err(format!("a frame was taken though bit {bit} was flipped")),
        }
    }

    /// When a message of so many bytes arrives: never, once or twice.
    pub fn arrivals(
        &mut self,
        now: Time,
        [from, to]: [Rank; 2],
        bytes: usize,
        random: &mut Random,
    ) -> [Option<Time>; 2] {
        let Weather { delay_min, delay_max, byte_thousandths, loss, twice, late, .. } =
            self.weather;
        if self.is_cut(from, to, now) || loss > 0 && random.chance(loss) {
            self.lost += 1;
            return [None; 2];
        }
        let mut arrival = || {
            let delay = delay_min + random.below(delay_max - delay_min + 1);
            let late = if late > 0 && random.chance(late) { 20 * delay_max } else { 0 };
            Some(now + delay + late + bytes as u64 * byte_thousandths / 1000)
        };
        let first = arrival();
        let second = if twice > 0 { arrival() } else { None };
        if twice > 0 && random.chance(twice) {
            self.repeated += 1;
            return [first, second];
        }
        [first, None]
    }
}
