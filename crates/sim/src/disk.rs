//! A disk that is worse than real ones.
//!
//! Blocks that are not synced when a machine crashes are lost, torn or kept, each for itself, and
//! what was deleted without a sync may come back. A write may land in another block's place, a
//! write or a sync may fail (and then what was to be synced is gone, whatever a second attempt
//! says), there may be no room for a while, a bit may flip, all may be slow for a while. Manifests
//! are kept as a whole, but one that was on its way in a crash may be torn, and they rot too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use welter_protocol::Time;
use welter_protocol::audit::Sum;
use welter_protocol::block::{Damage, HEADER_BYTES, header, open, seal};
use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::messages::Event;
use welter_protocol::names::Kind as BlockKind;
use welter_protocol::names::{Block, BlockName, Epoch, Generation, Payload, Role};
use welter_protocol::random::Random;

use crate::happened::{Happened, Kind};

/// What a disk does wrong next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next write fails.
    WriteFails,
    /// The next sync fails, and drops what it should have kept.
    SyncFails,
    /// The next write lands in the place of another block.
    Misdirected,
}

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Until then.
    pub until: Time,
    /// Or until a block is deleted here; else somebody else's files fill the disk.
    pub ours: bool,
}

/// Every request takes many times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Until then.
    pub until: Time,
    /// How many times.
    pub times: u64,
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

/// Leaves the beginning of what was written, and nothing or zeros after it.
fn tear(bytes: &mut Vec<u8>, random: &mut Random) {
    let end = random.below(bytes.len() as u64) as usize;
    if random.chance(500) {
        bytes.truncate(end);
    } else {
        bytes[end..].fill(0);
    }
}

/// Flips a bit.
fn flip(bytes: &mut [u8], random: &mut Random) {
    let bit = random.below(8 * bytes.len() as u64) as usize;
    bytes[bit / 8] ^= 1 << (bit % 8);
}

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
    /// Whether there is room.
    pub full: Option<Full>,
    /// Whether it is slower than its speed.
    pub slow: Option<Slow>,
    /// What went wrong.
    pub happened: Happened,
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
            full: None,
            slow: None,
            happened: Happened::default(),
            lies: false,
            trusts: false,
            bytes: 0,
            busy: 0,
        }
    }

    /// When a request for so many bytes will be done.
    fn takes(&mut self, now: Time, bytes: usize) -> Time {
        let mut time = self.speed.latency + bytes as u64 * self.speed.byte_thousandths / 1000;
        if let Some(slow) = self.slow.filter(|slow| now < slow.until) {
            self.happened.count(Kind::Slow);
            time *= slow.times;
        }
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

    /// Whether this write fails: for want of room, or for no reason.
    fn fails(&mut self, now: Time) -> bool {
        let full = self.full.is_some_and(|full| now < full.until);
        let fails = !full && self.fault.take_if(|fault| *fault == Fault::WriteFails).is_some();
        if full {
            self.happened.count(Kind::Full);
        } else if fails {
            self.happened.count(Kind::WriteFails);
        }
        full || fails
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
        if self.fails(now) {
            return (time, Event::Written { token, ok: false });
        }
        let bytes = seal(block, payload);
        let file = File { bytes, durable_at: NEVER };
        match self.fault {
            Some(Fault::Misdirected) if !self.files.is_empty() => {
                self.fault = None;
                self.happened.count(Kind::Misdirected);
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
        let fails = self.sync_fails();
        for name in names {
            if fails {
                // What is durable already was not to be written any more.
                if self.files.get(name).is_some_and(|file| file.durable_at > now) {
                    self.files.remove(name);
                }
            } else if !self.lies
                && let Some(file) = self.files.get_mut(name)
            {
                file.durable_at = file.durable_at.min(time);
            }
        }
        (time, Event::Written { token, ok: !fails })
    }

    fn sync_fails(&mut self) -> bool {
        let fails = self.fault.take_if(|fault| *fault == Fault::SyncFails).is_some();
        if fails {
            self.happened.count(Kind::SyncFails);
        }
        fails
    }

    /// Keeps a manifest: it is there as a whole when that is done, or an error is told.
    pub fn persist(&mut self, now: Time, token: u64, manifest: &Manifest) -> (Time, Event) {
        let bytes = manifest.encode();
        let time = self.takes(now, bytes.len()) + 2 * self.speed.latency;
        if self.fails(now) || self.sync_fails() {
            return (time, Event::Written { token, ok: false });
        }
        // The new one takes the old one's name at once: the same one is never not there.
        let old = self.manifests.get(&manifest.age()).filter(|(old, _)| *old == bytes);
        let done = old.map_or(time, |(_, done)| time.min(*done));
        self.manifests.insert(manifest.age(), (bytes, done));
        (time, Event::Written { token, ok: true })
    }

    /// Forgets a manifest.
    pub fn forget(&mut self, manifest: &Manifest) {
        self.manifests.remove(&manifest.age());
    }

    /// Deletes a block, which makes room, and may come back in a crash.
    pub fn delete(&mut self, name: BlockName) {
        if let Some(file) = self.files.remove(&name) {
            self.full.take_if(|full| full.ours);
            self.deleted.insert(name, file);
            if self.deleted.len() > 64 {
                self.deleted.pop_first();
            }
        }
    }

    /// The power goes.
    pub fn crash(&mut self, now: Time, random: &mut Random) {
        let happened = &mut self.happened;
        for (name, file) in std::mem::take(&mut self.deleted) {
            if random.chance(300)
                && let Entry::Vacant(place) = self.files.entry(name)
            {
                happened.count(Kind::Resurrected);
                place.insert(file);
            }
        }
        self.files.retain(|_, file| {
            if file.durable_at <= now {
                return true;
            }
            if random.chance(300) {
                happened.count(Kind::Torn);
                tear(&mut file.bytes, random);
                return true;
            }
            let stays = random.chance(500);
            if !stays {
                happened.count(Kind::Unsynced);
            }
            stays
        });
        // One that had not come to its end is there, or not, or half; and what is there stays.
        self.manifests.retain(|_, (bytes, done)| {
            if *done <= now {
                return true;
            }
            *done = now;
            if random.chance(500) {
                happened.count(Kind::ManifestTorn);
                let mut torn = bytes.to_vec();
                tear(&mut torn, random);
                *bytes = torn.into();
                return true;
            }
            random.chance(500)
        });
        self.fault = None;
        self.free_at = now;
    }

    /// Flips a bit of the newest manifest. False where there is none.
    pub fn rot_manifest(&mut self, random: &mut Random) -> bool {
        let Some((bytes, _)) = self.manifests.values_mut().next_back() else { return false };
        let mut rotten = bytes.to_vec();
        flip(&mut rotten, random);
        *bytes = rotten.into();
        self.happened.count(Kind::ManifestRot);
        true
    }

    /// Flips a bit of a block. False where there is nothing.
    pub fn rot(&mut self, random: &mut Random) -> bool {
        let mut files: Vec<&mut File> =
            self.files.values_mut().filter(|file| !file.bytes.is_empty()).collect();
        let count = files.len() as u64;
        if count == 0 {
            return false;
        }
        flip(&mut files[random.below(count) as usize].bytes, random);
        self.happened.count(Kind::Rot);
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

    /// Whether a manifest is there to stay.
    pub fn has_manifest(&self, now: Time, age: Age) -> bool {
        self.manifests.get(&age).is_some_and(|(_, done)| *done <= now)
    }

    /// All edges of a generation that were synced, in a role.
    pub fn durable_edges(&self, now: Time, generation: Generation, role: Role) -> Sum {
        let wanted = (BlockKind::Edges, role, generation);
        self.durable(now, |name| (name.kind, name.role, name.generation()) == wanted)
    }

    /// All updates of an epoch and iteration that were synced.
    pub fn durable_updates(&self, now: Time, epoch: Epoch, iteration: u32) -> Sum {
        let wanted = (BlockKind::Updates, epoch, iteration);
        self.durable(now, |name| (name.kind, name.epoch, name.iteration) == wanted)
    }

    fn durable(&self, now: Time, these: impl Fn(&BlockName) -> bool) -> Sum {
        let files = self.files.iter().filter(|(name, file)| these(name) && file.durable_at <= now);
        let blocks: Vec<Block> = files.filter_map(|(_, file)| header(&file.bytes)).collect();
        Sum::of(&blocks)
    }
}
