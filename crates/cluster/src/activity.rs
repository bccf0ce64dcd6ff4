//! Activity of a machine in a run: how its time was spent, and what went through its disk and
//! links.
//!
//! ```text
//! time       of its computation engine, by kinds: Figure 16 of Chaos (`welter_protocol::times`)
//! bytes      of payloads: read from its disk, written there, and sent to others
//! requests   reads and writes of its disk, and of stores of objects, which are paid by requests
//! served     chunks of edges and updates that its storage engine handed out, to itself too
//! helped     partitions of others that it streamed; asked for more than that, as a master
//! resident   memory of its process at most, with all else that the process does
//! processor  time of the threads of route `send`, by their role
//! ```
//!
//! A process tells its own. That of a machine is of all its processes, as far as the host has heard
//! of those that were replaced.
//!
//! **Invariant:** `of_line(line(a)) = a`. Tested by `activities_are_lines`.

use std::fmt::Write;

use welter_protocol::counters::{Counters, Path};
use welter_protocol::ids::Kind;
use welter_protocol::times::Times;
use welter_protocol::{Effect, Event};

use crate::moved::Moved;

/// Activity of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Nanoseconds of each kind of work.
    pub times: Times,
    /// Bytes that were read from its disk.
    pub read_bytes: u64,
    /// Bytes that were written to its disk.
    pub written_bytes: u64,
    /// Blocks that were read from its disk.
    pub reads: u64,
    /// Blocks that were written to its disk.
    pub writes: u64,
    /// Bytes of edges among those that were written: of each generation, where they are rewritten.
    pub edge_bytes: u64,
    /// Requests to stores of objects that read and that write, bytes that came and that went.
    pub objects: [u64; 4],
    /// Bytes that were sent to other machines.
    pub sent_bytes: u64,
    /// Messages that were sent to other machines.
    pub sent: u64,
    /// Updates that those messages stood for, on route `send`.
    pub stood_for: u64,
    /// Updates that were combined before they were sent, to itself too.
    pub combined: u64,
    /// Nanoseconds that combining them was expected to gain.
    pub saved: u64,
    /// Chunks of edges and updates that were handed out.
    pub served: u64,
    /// Partitions of others that it streamed a part of, scatter and gather apart.
    pub helped: u64,
    /// Proposals to help that it accepted as a master.
    pub accepted: u64,
    /// Proposals to help that it declined.
    pub declined: u64,
    /// Connections and datagrams from no machine, or with what was no message.
    pub strangers: u64,
    /// Bytes of memory that its process had at most, pages of files among them; 0 where the system
    /// does not tell.
    pub resident_bytes_max: u64,
    /// Nanoseconds of processor time of computation threads, which send too where no others do, on
    /// route `send`.
    pub computation: u64,
    /// Nanoseconds of processor time of accumulator threads, on route `send`.
    pub accumulation: u64,
    /// Nanoseconds of processor time of sender threads, on route `send`.
    pub sending: u64,
}

/// Numbers of an activity.
const NUMBERS: usize = 28;

impl Activity {
    /// Counts what an effect is about to do.
    pub(crate) fn look_at_effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Send(envelope) => {
                self.sent += 1;
                self.sent_bytes += envelope.message.payload().map_or(0, |it| it.len() as u64);
            }
            Effect::Write { block, payload, .. } => {
                let bytes = payload.len() as u64;
                self.writes += 1;
                self.written_bytes += bytes;
                self.edge_bytes += if block.name.kind == Kind::Edges { bytes } else { 0 };
            }
            Effect::Read { name, .. } => {
                self.served += u64::from(matches!(name.kind, Kind::Edges | Kind::Updates));
            }
            _ => {}
        }
    }

    /// Counts what has been done.
    pub(crate) fn look_at_event(&mut self, event: &Event) {
        if let Event::Read { result: Ok((_, payload)), .. } = event {
            self.reads += 1;
            self.read_bytes += payload.len() as u64;
        }
    }

    /// Bytes that it moved.
    pub(crate) fn moved(&self) -> Moved {
        let Self { read_bytes: read, written_bytes: written, sent_bytes: sent, .. } = *self;
        Moved { read, written, sent }
    }

    /// The activity with what the protocol has counted.
    #[must_use]
    pub(crate) fn with(self, times: Times, counters: &Counters) -> Self {
        let helped = counters.get(Path::StolenScatter) + counters.get(Path::StolenGather);
        let accepted = counters.get(Path::StealAccepted);
        let declined = counters.get(Path::StealDeclined);
        Self { times, helped, accepted, declined, ..self }
    }

    fn numbers(&self) -> [u64; NUMBERS] {
        let Times { own, stolen, copying, merging, idle } = self.times;
        let Self { read_bytes, written_bytes, sent_bytes, sent, served, .. } = *self;
        let Self { stood_for, combined, saved, .. } = *self;
        let Self { helped, accepted, declined, strangers, .. } = *self;
        let Self { reads, writes, edge_bytes, objects, resident_bytes_max, .. } = *self;
        let Self { computation, accumulation, sending, .. } = *self;
        let [objects_read, objects_written, bytes_came, bytes_went] = objects;
        [
            own,
            stolen,
            copying,
            merging,
            idle,
            read_bytes,
            written_bytes,
            sent_bytes,
            sent,
            stood_for,
            combined,
            saved,
            served,
            helped,
            accepted,
            declined,
            strangers,
            reads,
            writes,
            edge_bytes,
            objects_read,
            objects_written,
            bytes_came,
            bytes_went,
            resident_bytes_max,
            computation,
            accumulation,
            sending,
        ]
    }

    /// Numbers of the activity in a line.
    pub(crate) fn line(&self) -> String {
        let line = self.numbers().iter().fold(String::new(), |mut line, number| {
            // Writing to a string cannot fail.
            let _ = write!(line, "{}{number}", if line.is_empty() { "" } else { " " });
            line
        });
        debug_assert_eq!(Self::of_line(&line), Some(*self), "a line is one that is read");
        line
    }

    /// The activity of a line, if it is one.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> = line.split(' ').map(|word| word.parse().ok()).collect();
        Some(Self::of_numbers(numbers?.try_into().ok()?))
    }

    /// The activity together with that of processes before it, of which the memory is the largest.
    #[must_use]
    pub(crate) fn with_replaced(&self, before: &Self) -> Self {
        let (mut numbers, others) = (self.numbers(), before.numbers());
        for (number, other) in numbers.iter_mut().zip(others) {
            *number = number.saturating_add(other);
        }
        let resident_bytes_max = self.resident_bytes_max.max(before.resident_bytes_max);
        Self { resident_bytes_max, ..Self::of_numbers(numbers) }
    }

    fn of_numbers(numbers: [u64; NUMBERS]) -> Self {
        let [own, stolen, copying, merging, idle, rest @ ..] = numbers;
        let [read_bytes, written_bytes, sent_bytes, sent, rest @ ..] = rest;
        let [stood_for, combined, saved, served, rest @ ..] = rest;
        let [helped, accepted, declined, strangers, rest @ ..] = rest;
        let [reads, writes, edge_bytes, rest @ ..] = rest;
        let [objects @ .., resident_bytes_max, computation, accumulation, sending] = rest;
        Self {
            times: Times { own, stolen, copying, merging, idle },
            read_bytes,
            written_bytes,
            reads,
            writes,
            edge_bytes,
            objects,
            sent_bytes,
            sent,
            stood_for,
            combined,
            saved,
            served,
            helped,
            accepted,
            declined,
            strangers,
            resident_bytes_max,
            computation,
            accumulation,
            sending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_are_lines() {
        let numbers: Vec<String> = (1..=NUMBERS).map(|number| number.to_string()).collect();
        let line = numbers.join(" ");
        let activity = Activity::of_line(&line).unwrap();
        assert_eq!((activity.line(), activity.times.sum()), (line.clone(), 15));
        assert_eq!((activity.read_bytes, activity.served, activity.declined), (6, 13, 16));
        assert_eq!((activity.edge_bytes, activity.objects), (20, [21, 22, 23, 24]));
        assert_eq!((activity.strangers, activity.resident_bytes_max), (17, 25));
        assert_eq!((activity.computation, activity.accumulation, activity.sending), (26, 27, 28));
        assert_eq!(Activity::of_line(&Activity::default().line()), Some(Activity::default()));
        let both = activity.with_replaced(&activity);
        assert_eq!((both.times.own, both.sending, both.resident_bytes_max), (2, 56, 25));
        assert_eq!(activity.with_replaced(&Activity::default()), activity);
        for wrong in ["", "1 2 3", &line.replace("17", "x"), &format!("{line} 29")] {
            assert_eq!(Activity::of_line(wrong), None, "{wrong}");
        }
    }
}
