//! Slots of a cache in a file on each of one disk or several, dealt by turns as there is room.
//!
//! ```text
//! a, twice as large   slot  0 1 2 3 4 5     a  [1][2][4][5]
//! as b                disk  b a a b a a     b  [0][3]
//! ```
//! Of the slots that are left for a disk and those behind it, it takes the share that its room is
//! of all their room: slot `s` is its own where `floor(s * room / rest)` grows with it, and that is
//! its place there. So which disk has a slot follows from the sizes alone, disks are filled as far
//! as each other, and neighbouring blocks, which are wanted together, lie on all of them.
//!
//! Invariant: no two slots have one place, and no disk has more of them than there is room for.
//! Tested by `each_slot_has_a_place_of_its_own`.

use std::path::{Path, PathBuf};

use super::slots::{Label, SLOT_BYTES, SlotState, Slots};
use crate::{StoreError, checksum};

/// Slots that a file of this many bytes has room for, behind its head.
pub(super) fn room(bytes: u64) -> u64 {
    (bytes / SLOT_BYTES).saturating_sub(1)
}

/// Number of the first `slots` slots that a disk with room for `room` takes, of `rest` of it and of
/// those behind it.
fn share(slots: u64, room: u64, rest: u64) -> u64 {
    (u128::from(slots) * u128::from(room) / u128::from(rest.max(1))) as u64
}

/// Rooms of disks, each with those of it and of the disks behind it.
#[derive(Debug)]
struct Rooms(Vec<(u64, u64)>);

impl Rooms {
    fn new(rooms: &[u64]) -> Self {
        let mut rest: u64 = rooms.iter().sum();
        let with_rest = |room: &u64| {
            let of = (*room, rest);
            rest -= room;
            of
        };
        Self(rooms.iter().map(with_rest).collect())
    }

    /// Number of `slots` slots that each of them has.
    fn shares(&self, slots: u64) -> Vec<u64> {
        let mut left = slots;
        let dealt = |(room, rest): &(u64, u64)| {
            let share = share(left, *room, *rest);
            left -= share;
            share
        };
        self.0.iter().map(dealt).collect()
    }

    /// The disk of a slot, and its place there.
    fn place(&self, mut slot: u64) -> Option<(usize, u64)> {
        for (disk, (room, rest)) in self.0.iter().enumerate() {
            let before = share(slot, *room, *rest);
            if share(slot + 1, *room, *rest) > before {
                return Some((disk, before));
            }
            slot -= before;
        }
        None
    }
}

/// The slots of a cache.
#[derive(Debug)]
pub(super) struct DiskSlots {
    rooms: Rooms,
    disks: Vec<Slots>,
}

impl DiskSlots {
    /// Opens the files of directories, each with bytes that it may have, for `slots` slots in all,
    /// or begins them anew.
    pub(super) fn open(
        directories: &[(PathBuf, u64)],
        slots: u64,
        graph: (u64, u32),
    ) -> Result<Self, StoreError> {
        Self::by(directories, slots, |directory, of| Slots::open(directory, of, graph))
    }

    /// Slots without files: all are empty and stay so.
    pub(super) fn planned(directories: &[(PathBuf, u64)], slots: u64) -> Result<Self, StoreError> {
        Self::by(directories, slots, |directory, (slots, _)| Slots::planned(directory, slots))
    }

    fn by(
        directories: &[(PathBuf, u64)],
        slots: u64,
        open: impl Fn(&Path, (u64, u32)) -> Result<Slots, StoreError>,
    ) -> Result<Self, StoreError> {
        // Their order makes no difference.
        let mut directories = directories.to_vec();
        directories.sort();
        let rooms: Vec<u64> = directories.iter().map(|(_, bytes)| room(*bytes)).collect();
        let rooms = Rooms::new(&rooms);
        let shares = rooms.shares(slots);
        let begun = |(disk, (directory, _)): (usize, &(PathBuf, u64))| {
            open(directory, (shares[disk], layout(disk, &shares)))
        };
        let disks = directories.iter().enumerate().map(begun).collect::<Result<_, _>>()?;
        Ok(Self { rooms, disks })
    }

    /// The file of a slot, and its place there.
    fn of(&self, slot: u64) -> Option<(&Slots, u64)> {
        let (disk, place) = self.rooms.place(slot)?;
        Some((self.disks.get(disk)?, place))
    }

    /// Whether a slot takes blocks still.
    pub(super) fn takes(&self, slot: u64) -> bool {
        self.of(slot).is_some_and(|(slots, _)| slots.takes())
    }

    /// Reads a slot that should have this label, which is put before its block.
    pub(super) fn read(&self, slot: u64, label: &Label, buffer: &mut [u8]) -> SlotState {
        let found = self.of(slot);
        found.map_or(SlotState::Nothing, |(slots, place)| slots.read(place, label, buffer))
    }

    /// Writes the block that lies behind the room for its label in a buffer. Whether it was done.
    pub(super) fn write(&self, slot: u64, label: Label, buffer: &mut [u8]) -> bool {
        self.of(slot).is_some_and(|(slots, place)| slots.write(place, label, buffer))
    }

    /// Makes a slot empty.
    pub(super) fn clear(&self, slot: u64) {
        if let Some((slots, place)) = self.of(slot) {
            slots.clear(place);
        }
    }

    /// The first failure after which no blocks are put into a file, with its name, if there was
    /// one.
    pub(super) fn trouble(&self) -> Option<String> {
        let of = |slots: &Slots| Some(format!("{}: {}", slots.path().display(), slots.trouble()?));
        self.disks.iter().find_map(of)
    }

    /// The files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.disks.iter().map(Slots::path)
    }
}

/// A number of the file of a disk and of how many slots each disk has: with another one, another
/// block lies at each place. 0 of the only disk.
fn layout(disk: usize, shares: &[u64]) -> u32 {
    if shares.len() == 1 {
        return 0;
    }
    let mut numbers = vec![disk as u64];
    numbers.extend_from_slice(shares);
    checksum::of(bytemuck::cast_slice(&numbers)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_a_place_of_its_own() {
        for rooms in
            [&[7][..], &[4, 4], &[1, 9], &[300, 2, 17], &[5, 0, 3, 8], &[u64::MAX >> 20, 100], &[0]]
        {
            let all: u64 = rooms.iter().sum();
            let dealt = Rooms::new(rooms);
            for slots in [0, 1, 2, 3, 6, 64, 100, all].into_iter().filter(|slots| *slots <= all) {
                let shares = dealt.shares(slots);
                assert_eq!(shares.iter().sum::<u64>(), slots, "{rooms:?}");
                assert!(shares.iter().zip(rooms).all(|(share, room)| share <= room), "{rooms:?}");
                let mut next = vec![0; rooms.len()];
                for slot in 0..slots.min(1000) {
                    let (disk, place) = dealt.place(slot).unwrap();
                    // Places of a disk follow one another.
                    assert_eq!(place, next[disk], "{rooms:?}: {slot} of {slots}");
                    next[disk] += 1;
                    assert!(place < shares[disk], "{rooms:?}: {slot} of {slots}");
                }
            }
        }
        // Of equal disks each has every second one.
        let equal = Rooms::new(&[50, 50]);
        let disks: Vec<usize> = (0..6).map(|slot| equal.place(slot).unwrap().0).collect();
        assert_eq!(disks, [1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn layouts_differ_by_disk_and_by_shares() {
        assert_eq!(layout(0, &[9]), 0);
        let layouts = [layout(0, &[4, 5]), layout(1, &[4, 5]), layout(0, &[4, 6]), layout(0, &[4])];
        for (number, one) in layouts.iter().enumerate() {
            assert!(layouts[..number].iter().all(|other| one != other), "{layouts:?}");
        }
    }
}
