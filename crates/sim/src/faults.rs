//! Faults of a schedule besides the conditions: crashes, pauses, cuts and bad disks.

use welter_protocol::messages::Exit;
use welter_protocol::random::Random;
use welter_protocol::{Rank, Time};

use crate::clock::MILLIS;
use crate::disk;

/// The time of a cut that never ends.
pub const FOR_GOOD: Time = Time::MAX;

/// Part of a machine that never answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// The program, with a piece of work.
    Program,
    /// The disk, with a request.
    Disk,
}

/// Fault of a machine, a disk or the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process dies, and its machine loses power. Another one starts.
    Crash {
        /// Rank of the process.
        rank: Rank,
        /// Nanoseconds until another process starts; it never does where none.
        back_after: Option<Time>,
        /// Whether the other process starts on an empty disk.
        replaced: bool,
    },
    /// A process does nothing for a while (as when it is stopped, or swaps).
    Pause {
        /// Rank of the process.
        rank: Rank,
        /// Nanoseconds of the pause.
        time: Time,
    },
    /// A machine is cut off.
    Cut {
        /// Rank of the machine.
        rank: Rank,
        /// The one machine that it is cut off from; all where none.
        other: Option<Rank>,
        /// Whether messages to it are lost too, and not only those that it sends.
        both: bool,
        /// Nanoseconds of the cut.
        time: Time,
    },
    /// Something that a process asks for next is never answered.
    Stuck {
        /// Rank of the process.
        rank: Rank,
        /// Part that does not answer.
        stuck: Stuck,
    },
    /// A machine learns that it cannot continue.
    Fails {
        /// Rank of the machine.
        rank: Rank,
        /// Reason of the failure.
        why: Exit,
    },
    /// A disk does something wrong.
    Disk(Rank, disk::Fault),
    /// A bit of a block flips on a disk.
    Rot(Rank),
    /// A bit of the newest manifest on a disk flips.
    RotManifest(Rank),
    /// A disk has no room for a while.
    Full {
        /// Rank of the machine of the disk.
        rank: Rank,
        /// Nanoseconds in which the disk has no room.
        time: Time,
        /// Whether a deletion of a block makes room before.
        ours: bool,
    },
    /// A disk is slow for a while.
    Slow {
        /// Rank of the machine of the disk.
        rank: Rank,
        /// Factor by which requests take longer.
        times: u64,
        /// Nanoseconds in which the disk is slow.
        time: Time,
    },
}

impl Fault {
    /// Whether it takes away, or changes, what was durable.
    pub fn harms_disks(&self) -> bool {
        matches!(
            self,
            Self::Crash { replaced: true, .. }
                | Self::Rot(_)
                | Self::RotManifest(_)
                | Self::Disk(_, disk::Fault::Misdirected | disk::Fault::SyncFails)
        )
    }
}

/// A cut that never ends: mostly between two machines that both receive from the coordinator.
fn cut_for_good(
    random: &mut Random,
    machines: usize,
    (rank, other): (Rank, Option<Rank>),
) -> Fault {
    let both = random.chance(500);
    if machines < 3 || random.chance(300) {
        return Fault::Cut { rank, other, both, time: FOR_GOOD };
    }
    let members = machines - 1;
    let at = random.below(members as u64) as usize;
    let other = Some(1 + (at + 1) % members);
    Fault::Cut { rank: 1 + at, other, both, time: FOR_GOOD }
}

/// The faults of a schedule: none to three and what follows from them, at any time of a run.
pub fn faults(random: &mut Random, machines: usize) -> Vec<(Time, Fault)> {
    let count = random.below(4);
    let mut faults = Vec::new();
    for _ in 0..count {
        let at = random.below(20 * MILLIS);
        let rank = random.below(machines as u64) as Rank;
        let other = machines > 1 && random.chance(500);
        let other = other.then(|| (rank + 1) % machines);
        let time = MILLIS + random.below(60 * MILLIS);
        let fault = match random.below(109) {
            0..40 => {
                let back_after = (!random.chance(20)).then(|| random.below(30 * MILLIS));
                let replaced = random.chance(300);
                if random.chance(300)
                    && let Some(back_after) = back_after
                {
                    // Another one, or the same again, while the cluster recovers.
                    let next = if random.chance(500) { rank } else { other.unwrap_or(rank) };
                    let crash =
                        Fault::Crash { rank: next, back_after: Some(MILLIS), replaced: false };
                    faults.push((at + back_after + random.below(4 * MILLIS), crash));
                }
                Fault::Crash { rank, back_after, replaced }
            }
            40..55 => Fault::Pause { rank, time },
            55..68 => Fault::Cut { rank, other, both: random.chance(500), time },
            68..74 => Fault::Disk(rank, disk::Fault::WriteFails),
            74..79 => Fault::Disk(rank, disk::Fault::SyncFails),
            79..84 => Fault::Full { rank, time, ours: random.chance(500) },
            84..90 => Fault::Disk(rank, disk::Fault::Misdirected),
            90..94 => Fault::Rot(rank),
            94..96 => Fault::RotManifest(rank),
            96..100 => Fault::Slow { rank, times: 2 + random.below(30), time },
            100..103 => cut_for_good(random, machines, (rank, other)),
            103..106 => {
                let stuck = if random.chance(500) { Stuck::Program } else { Stuck::Disk };
                Fault::Stuck { rank, stuck }
            }
            _ => {
                let whys = [Exit::BadInput, Exit::Budget, Exit::Cancelled];
                Fault::Fails { rank, why: *random.pick(&whys) }
            }
        };
        faults.push((at, fault));
    }
    faults
}
