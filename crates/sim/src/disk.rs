//! A disk that is worse than real ones.
//!
//! Blocks that are not synced when a machine crashes are lost, torn or kept, each for itself, and
//! what was deleted without a sync may come back. A write may land in another block's place, a
//! write or a sync may fail (and then what was to be synced is gone, whatever a second attempt
//! says), there may be no room, a bit may flip, all may be slow.

use std::collections::BTreeMap;

use welter_protocol::Time;
use welter_protocol::audit::Sum;
use welter_protocol::block::{Damage, HEADER_BYTES, header, open, seal};
use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::messages::Event;
use welter_protocol::names::{Block, BlockName, Epoch, Generation, Kind, Payload, Role};
use welter_protocol::random::Random;

/// What a disk does wrong next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next write finds no room.
    Full,
    /// The next write fails.
    WriteFails,
    /// The next sync fails, and drops what it should have kept.
    SyncFails,
    /// The next write lands in the place of another block.
    Misdirected,
}

/// How fast a disk is. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Of every request.
    pub latency: Time,
    /// Of every byte, in thousandths.
    pub byte_thousandths: Time,
}

#[derive(Clone)]
struct File {
    bytes: Vec<u8>,
    /// When it is durable.
    durable_at: Time,
}

/// Not yet.
const NEVER: Time = Time::MAX;

/// A disk.
pub struct Disk {
    files: BTreeMap<BlockName, File>,
    deleted: BTreeMap<BlockName, File>,
    manifests: BTreeMap<Age, (Payload, Time)>,
    free_at: Time,
    /// Its speed.
    pub speed: Speed,
    /// What goes wrong next.
    pub fault: Option<Fault>,
    /// Bugs that are planted here.
    pub lies: bool,
    /// Whether damage is looked for.
    pub trusts: bool,
    /// Bytes that were read or written.
    pub bytes: u64,
    /// Nanoseconds that it was busy.
    pub busy: Time,
}

impl Disk {
    /// An empty disk.
    pub fn new(speed: Speed) -> Self {
        Self {
            files: BTreeMap::new(),
            deleted: BTreeMap::new(),
            manifests: BTreeMap::new(),
            free_at: 0,
            speed,
            fault: None,
            lies: false,
            trusts: false,
            bytes: 0,
            busy: 0,
        }
    }

    /// When a request for so many bytes will be done.
    fn takes(&mut self, now: Time, bytes: usize) -> Time {
        let time = self.speed.latency + bytes as u64 * self.speed.byte_thousandths / 1000;
        self.free_at = self.free_at.max(now) + time;
        self.busy += time;
        self.bytes += bytes as u64;
        self.free_at
    }

    /// Reads a block.
    pub fn read(&mut self, now: Time, token: u64, name: BlockName) -> (Time, Event) {
        let (result, bytes) = match self.files.get(&name) {
            None => (Err(Damage::Missing), 0),
            Some(File { bytes, .. }) if self.trusts => {
                let payload: Payload = bytes.get(HEADER_BYTES..).unwrap_or_default().into();
                (Ok((Block::of(name, 0, u64::MAX, &payload), payload)), bytes.len())
            }
            Some(File { bytes, .. }) => (open(bytes, name), bytes.len()),
        };
        (self.takes(now, bytes), Event::Read { token, result })
    }

    /// Writes a block.
    pub fn write(
        &mut self,
        now: Time,
        token: u64,
        (block, payload): (&Block, &[u8]),
        random: &mut Random,
    ) -> (Time, Event) {
        let time = self.takes(now, payload.len());
        let bytes = seal(block, payload);
        let file = File { bytes, durable_at: NEVER };
        match self.fault {
            Some(Fault::Full | Fault::WriteFails) => {
                self.fault = None;
                return (time, Event::Written { token, ok: false });
            }
            Some(Fault::Misdirected) if !self.files.is_empty() => {
                self.fault = None;
                let place = random.below(self.files.len() as u64) as usize;
                let victim = self.files.values_mut().nth(place);
                if let Some(victim) = victim {
                    victim.bytes.clone_from(&file.bytes);
                }
            }
            _ => {
                self.files.insert(block.name, file);
            }
        }
        (time, Event::Written { token, ok: true })
    }

    /// Makes blocks durable.
    pub fn sync(&mut self, now: Time, token: u64, names: &[BlockName]) -> (Time, Event) {
        let time = self.takes(now, 0) + self.speed.latency;
        let fails = self.fault == Some(Fault::SyncFails);
        if fails {
            self.fault = None;
        }
        for name in names {
            if fails {
                self.files.remove(name);
            } else if !self.lies
                && let Some(file) = self.files.get_mut(name)
            {
                file.durable_at = file.durable_at.min(time);
            }
        }
        (time, Event::Written { token, ok: !fails })
    }

    /// Keeps a manifest: it is there as a whole when that is done, or not at all.
    pub fn persist(&mut self, now: Time, token: u64, manifest: &Manifest) -> (Time, Event) {
        let bytes = manifest.encode();
        let time = self.takes(now, bytes.len()) + 2 * self.speed.latency;
        if matches!(self.fault, Some(Fault::SyncFails | Fault::WriteFails | Fault::Full)) {
            self.fault = None;
            return (time, Event::Written { token, ok: false });
        }
        self.manifests.insert(manifest.age(), (bytes, time));
        (time, Event::Written { token, ok: true })
    }

    /// Forgets a manifest.
    pub fn forget(&mut self, manifest: &Manifest) {
        self.manifests.remove(&manifest.age());
    }

    /// Deletes a block, which may come back in a crash.
    pub fn delete(&mut self, name: BlockName) {
        if let Some(file) = self.files.remove(&name) {
            self.deleted.insert(name, file);
            if self.deleted.len() > 64 {
                self.deleted.pop_first();
            }
        }
    }

    /// The power goes.
    pub fn crash(&mut self, now: Time, random: &mut Random) {
        for (name, file) in std::mem::take(&mut self.deleted) {
            if random.chance(300) {
                self.files.entry(name).or_insert(file);
            }
        }
        self.files.retain(|_, file| {
            if file.durable_at <= now {
                return true;
            }
            if random.chance(300) {
                let end = random.below(file.bytes.len() as u64) as usize;
                let torn = random.chance(500);
                if torn {
                    file.bytes.truncate(end);
                } else {
                    file.bytes[end..].fill(0);
                }
                return true;
            }
            random.chance(500)
        });
        // A rename that had not come to its end has happened, or not.
        self.manifests.retain(|_, (_, done)| *done <= now || random.chance(500));
        self.fault = None;
        self.free_at = now;
    }

    /// Flips a bit somewhere. False where there is nothing.
    pub fn rot(&mut self, random: &mut Random) -> bool {
        let mut files: Vec<&mut File> =
            self.files.values_mut().filter(|file| !file.bytes.is_empty()).collect();
        let count = files.len() as u64;
        if count == 0 {
            return false;
        }
        let file = &mut *files[random.below(count) as usize];
        let bit = random.below(8 * file.bytes.len() as u64) as usize;
        file.bytes[bit / 8] ^= 1 << (bit % 8);
        true
    }

    /// What a process finds that starts here.
    pub fn start(&self) -> Event {
        let blocks = self
            .files
            .iter()
            .filter_map(|(name, file)| header(&file.bytes).filter(|block| block.name == *name));
        let manifests = self.manifests.values().map(|manifest| manifest.0.clone()).collect();
        Event::Start { blocks: blocks.collect(), manifests }
    }

    /// A block that is whole, and whether it is durable.
    pub fn whole(&self, now: Time, name: BlockName) -> Option<(Block, Payload, bool)> {
        let file = self.files.get(&name)?;
        let (block, payload) = open(&file.bytes, name).ok()?;
        Some((block, payload, file.durable_at <= now))
    }

    /// Whether a block was synced.
    pub fn is_durable(&self, now: Time, name: BlockName) -> bool {
        self.files.get(&name).is_some_and(|file| file.durable_at <= now)
    }

    /// All edges of a generation that were synced.
    pub fn durable_edges(&self, now: Time, generation: Generation) -> Sum {
        self.durable(now, |name| (name.kind, name.generation()) == (Kind::Edges, generation))
    }

    /// All updates of an epoch and iteration that were synced.
    pub fn durable_updates(&self, now: Time, epoch: Epoch, iteration: u32) -> Sum {
        let wanted = (Kind::Updates, epoch, iteration);
        self.durable(now, |name| (name.kind, name.epoch, name.iteration) == wanted)
    }

    fn durable(&self, now: Time, these: impl Fn(&BlockName) -> bool) -> Sum {
        let of = |name: &BlockName| name.role == Role::Primary && these(name);
        let files = self.files.iter().filter(|(name, file)| of(name) && file.durable_at <= now);
        let blocks: Vec<Block> = files.filter_map(|(_, file)| header(&file.bytes)).collect();
        Sum::of(&blocks)
    }
}
