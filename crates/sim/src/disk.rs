//! A disk that is worse than real ones.
//!
//! A request takes place when it is done ([`device`]), so requests overlap and overtake, but for
//! those on one block. When a machine crashes, what is under way is done or not, each request for
//! itself; blocks that are not synced are lost, torn or kept, and what was deleted without a sync
//! may come back. A write may land in another block's place, a write or a sync may fail (and then
//! what was to be synced is gone, whatever a second attempt says), there may be no room for a
//! while, a bit may flip, all may be slow for a while. Manifests are kept as a whole, but one that
//! was on its way in a crash may be torn, and they rot too.

mod crash;
pub mod device;

use std::collections::BTreeMap;
use std::sync::Arc;

use welter_protocol::audit::Sum;
use welter_protocol::block::{Damage, HEADER_BYTES, header, open, seal};
use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::ids::Kind as BlockKind;
use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Generation, Role};
use welter_protocol::payload::{Buffer, Payload};
use welter_protocol::random::Random;
use welter_protocol::{Effect, Event, Time};

use self::device::{Device, Key, Load, PLACE_BYTES, Speed};
use crate::fault_counts::{FaultCounts, Kind};

/// Fault of a disk at its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The next write fails.
    WriteFails,
    /// The next sync fails, and drops what it should have kept.
    SyncFails,
    /// The next write lands in the place of another block.
    Misdirected,
}

/// Lack of room on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Virtual time at which the disk has room again.
    pub until: Time,
    /// Whether a deletion of a block makes room too; else files of others fill the disk.
    pub ours: bool,
}

/// Every request takes many times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Virtual time at which the disk is fast again.
    pub until: Time,
    /// Factor by which requests take longer.
    pub times: u64,
}

/// The bytes of a block: its header, and the payload behind it.
fn sealed(block: &Block, payload: &[u8]) -> Vec<u8> {
    [&seal(block)[..], payload].concat()
}

/// The block of this name in bytes of a header and a payload.
fn opened(bytes: &[u8], name: BlockName) -> Result<(Block, Payload), Damage> {
    let (head, payload) = bytes.split_at(HEADER_BYTES.min(bytes.len()));
    open(head, Buffer::from(payload), name)
}

#[derive(Clone)]
struct File {
    bytes: Vec<u8>,
    is_durable: bool,
    /// Whether it waits in memory to be transferred.
    is_dirty: bool,
}

/// Request to a disk.
enum Request {
    Read { token: u64, name: BlockName },
    Write { token: u64, block: Block, payload: Payload, is_dirty: bool },
    Sync { token: u64, names: Vec<BlockName> },
    Persist { token: u64, manifest: Arc<Manifest> },
    Forget(Age),
    Delete(BlockName),
}

impl Request {
    /// Blocks and manifests on which it must overtake nothing.
    fn keys(&self) -> Vec<Key> {
        match self {
            Self::Read { name, .. } | Self::Delete(name) => vec![Key::Block(*name)],
            Self::Write { block, .. } => vec![Key::Block(block.name)],
            Self::Sync { names, .. } => names.iter().copied().map(Key::Block).collect(),
            Self::Persist { manifest, .. } => vec![Key::Manifest(manifest.age())],
            Self::Forget(age) => vec![Key::Manifest(*age)],
        }
    }
}

/// A disk.
pub struct Disk {
    files: BTreeMap<BlockName, File>,
    deleted: BTreeMap<BlockName, File>,
    manifests: BTreeMap<Age, Bytes>,
    /// Requests in the order in which they were made, by their tickets.
    under_way: BTreeMap<u64, Request>,
    tickets: u64,
    device: Device,
    /// Bytes that wait in memory, and how many may.
    dirty_bytes: u64,
    dirty_max: u64,
    unit: u64,
    holds_vertices: bool,
    /// Fault at the next call.
    pub fault: Option<Fault>,
    /// Whether there is room.
    pub full: Option<Full>,
    /// Whether it is slower than its speed.
    pub slow: Option<Slow>,
    /// Faults that happened.
    pub fault_counts: FaultCounts,
    /// Bugs that are planted here.
    pub lies: bool,
    /// Whether damage is looked for.
    pub trusts: bool,
}

impl Disk {
    /// An empty disk.
    pub fn new(speed: Speed) -> Self {
        Self {
            files: BTreeMap::new(),
            deleted: BTreeMap::new(),
            manifests: BTreeMap::new(),
            under_way: BTreeMap::new(),
            tickets: 0,
            device: Device::new(speed),
            dirty_bytes: 0,
            dirty_max: speed.dirty_max,
            unit: speed.unit,
            holds_vertices: speed.holds_vertices,
            fault: None,
            full: None,
            slow: None,
            fault_counts: FaultCounts::default(),
            lies: false,
            trusts: false,
        }
    }

    /// Lets requests on one block overtake each other, which is a bug.
    pub fn overtakes(&mut self, overtakes: bool) {
        self.device.overtakes = overtakes;
    }

    /// Nanoseconds that it was busy.
    pub fn busy(&self) -> Time {
        self.device.busy
    }

    /// Bytes that it transferred.
    pub fn bytes(&self) -> u64 {
        self.device.bytes
    }

    /// The time when `bytes` bytes of the input, which lie beside the blocks, have been read.
    pub fn stream(&mut self, now: Time, bytes: u64, random: &mut Random) -> Time {
        let load = Load { latencies: 1, bytes, is_transfer: true, times: 1 };
        self.device.ends(now, &load, &[], random)
    }

    /// Takes a request, if this is one for a disk, and says when it will be done, and by which
    /// ticket.
    pub fn ask(&mut self, now: Time, effect: &Effect, random: &mut Random) -> Option<(Time, u64)> {
        let request = match effect {
            &Effect::Read { token, name } => Request::Read { token, name },
            &Effect::Write { token, block, ref payload } => {
                let has_room = self.dirty_bytes + payload.len() as u64 <= self.dirty_max;
                let is_dirty = has_room || self.holds(block.name);
                self.dirty_bytes += if is_dirty { payload.len() as u64 } else { 0 };
                Request::Write { token, block, payload: payload.clone(), is_dirty }
            }
            &Effect::Sync { token, ref names } => Request::Sync { token, names: names.clone() },
            &Effect::Persist { token, ref manifest } => {
                Request::Persist { token, manifest: manifest.clone() }
            }
            Effect::Forget(manifest) => Request::Forget(manifest.age()),
            &Effect::Delete(name) => Request::Delete(name),
            _ => return None,
        };
        let load = self.load(now, &request);
        let done = self.device.ends(now, &load, &request.keys(), random);
        self.tickets += 1;
        self.under_way.insert(self.tickets, request);
        Some((done, self.tickets))
    }

    /// Bytes on the medium of a file that is so long here: of a header and a payload.
    fn stored(&self, length: usize) -> u64 {
        let payload = length.saturating_sub(HEADER_BYTES);
        (length - payload) as u64 + self.unit * payload as u64
    }

    /// Whether a block stays in memory.
    fn holds(&self, name: BlockName) -> bool {
        self.holds_vertices && name.kind == BlockKind::Vertices
    }

    /// Work that a request is for the device.
    fn load(&mut self, now: Time, request: &Request) -> Load {
        let (latencies, bytes, is_transfer) = match request {
            Request::Read { name, .. } if self.holds(*name) => (0, 0, false),
            Request::Read { name, .. } => {
                (1, self.files.get(name).map_or(0, |file| self.stored(file.bytes.len())), true)
            }
            Request::Write { is_dirty: true, .. } => (1, 0, true),
            Request::Write { payload, .. } => (1, self.unit * payload.len() as u64, true),
            Request::Sync { names, .. } => {
                let files = names.iter().filter_map(|name| self.files.get(name));
                let dirty = files.filter(|file| file.is_dirty);
                let bytes: u64 = dirty.map(|file| self.stored(file.bytes.len())).sum();
                (2, bytes + PLACE_BYTES * names.len() as u64, true)
            }
            Request::Persist { manifest, .. } => (3, manifest.encode().len() as u64, true),
            Request::Forget(_) | Request::Delete(_) => (1, 0, false),
        };
        let slow = self.slow.filter(|slow| now < slow.until);
        if slow.is_some() && is_transfer {
            self.fault_counts.count(Kind::Slow);
        }
        Load { latencies, bytes, is_transfer, times: slow.map_or(1, |slow| slow.times) }
    }

    /// A request is done. None if it is no more under way, or not waited for.
    pub fn done(&mut self, now: Time, ticket: u64, random: &mut Random) -> Option<Event> {
        let request = self.under_way.remove(&ticket)?;
        self.device.ended(now, &request.keys());
        let (token, ok) = match request {
            Request::Read { token, name } => {
                return Some(Event::Read { token, result: self.read(name) });
            }
            Request::Write { token, block, payload, is_dirty } => {
                (token, self.write(now, (&block, &payload), is_dirty, random))
            }
            Request::Sync { token, names } => (token, self.sync(&names)),
            Request::Persist { token, manifest } => {
                let ok = !self.fails(now) && !self.sync_fails();
                if ok {
                    let bytes = manifest.encode();
                    debug_assert!(
                        Manifest::decode(&bytes).is_some_and(|read| read == *manifest),
                        "a manifest that is written is one that is read"
                    );
                    self.manifests.insert(manifest.age(), bytes);
                }
                (token, ok)
            }
            Request::Forget(age) => {
                self.manifests.remove(&age);
                return None;
            }
            Request::Delete(name) => {
                self.delete(name);
                return None;
            }
        };
        Some(Event::Written { token, ok })
    }

    fn read(&self, name: BlockName) -> Result<(Block, Payload), Damage> {
        match self.files.get(&name) {
            None => Err(Damage::Missing),
            Some(File { bytes, .. }) if self.trusts => {
                let payload: Payload = bytes.get(HEADER_BYTES..).unwrap_or_default().into();
                Ok((Block::of(name, 0, u64::MAX, &payload), payload))
            }
            Some(File { bytes, .. }) => opened(bytes, name),
        }
    }

    /// Whether this write fails: for want of room, or for no reason.
    fn fails(&mut self, now: Time) -> bool {
        let full = self.full.is_some_and(|full| now < full.until);
        let fails = !full && self.fault.take_if(|fault| *fault == Fault::WriteFails).is_some();
        if full {
            self.fault_counts.count(Kind::Full);
        } else if fails {
            self.fault_counts.count(Kind::WriteFails);
        }
        full || fails
    }

    fn write(
        &mut self,
        now: Time,
        (block, payload): (&Block, &[u8]),
        is_dirty: bool,
        random: &mut Random,
    ) -> bool {
        if self.fails(now) {
            return false;
        }
        let bytes = sealed(block, payload);
        match self.fault {
            Some(Fault::Misdirected) if !self.files.is_empty() => {
                self.fault = None;
                self.fault_counts.count(Kind::Misdirected);
                let place = random.below(self.files.len() as u64) as usize;
                if let Some(victim) = self.files.values_mut().nth(place) {
                    victim.bytes = bytes;
                }
            }
            _ => {
                self.files.insert(block.name, File { bytes, is_durable: false, is_dirty });
            }
        }
        true
    }

    fn sync(&mut self, names: &[BlockName]) -> bool {
        let fails = self.sync_fails();
        for name in names {
            if fails {
                // A durable block was not to be written any more.
                if self.files.get(name).is_some_and(|file| !file.is_durable) {
                    self.files.remove(name);
                }
            } else if !self.lies
                && let Some(file) = self.files.get_mut(name)
            {
                file.is_durable = true;
                if std::mem::replace(&mut file.is_dirty, false) {
                    let payload = file.bytes.len().saturating_sub(HEADER_BYTES);
                    self.dirty_bytes = self.dirty_bytes.saturating_sub(payload as u64);
                }
            }
        }
        !fails
    }

    fn sync_fails(&mut self) -> bool {
        let fails = self.fault.take_if(|fault| *fault == Fault::SyncFails).is_some();
        if fails {
            self.fault_counts.count(Kind::SyncFails);
        }
        fails
    }

    /// Deletes a block, which makes room, and may come back in a crash.
    fn delete(&mut self, name: BlockName) {
        if let Some(file) = self.files.remove(&name) {
            self.full.take_if(|full| full.ours);
            if file.is_dirty {
                // The dirty file was never transferred.
                let payload = file.bytes.len().saturating_sub(HEADER_BYTES);
                self.dirty_bytes = self.dirty_bytes.saturating_sub(payload as u64);
            }
            self.deleted.insert(name, file);
            if self.deleted.len() > 64 {
                self.deleted.pop_first();
            }
        }
    }

    /// Blocks that a process finds when it starts here. A place without a whole header is free.
    pub fn start(&mut self) -> Event {
        let block =
            |name: &BlockName, file: &File| header(&file.bytes).filter(|block| block.name == *name);
        self.files.retain(|name, file| block(name, file).is_some());
        let blocks = self.files.iter().filter_map(|(name, file)| block(name, file)).collect();
        Event::Start { blocks, manifests: self.manifests.values().cloned().collect() }
    }

    /// Blocks that are there to stay: which are not to be deleted or written.
    pub fn names(&self) -> impl Iterator<Item = &BlockName> {
        let is_changed = |name: &BlockName| {
            self.under_way.values().any(|request| match request {
                Request::Delete(deleted) => deleted == name,
                Request::Write { block, .. } => block.name == *name,
                _ => false,
            })
        };
        self.files.keys().filter(move |name| !is_changed(name))
    }

    /// A block that is whole, and whether it is durable.
    pub fn whole(&self, name: BlockName) -> Option<(Block, Payload, bool)> {
        let file = self.files.get(&name)?;
        let (block, payload) = opened(&file.bytes, name).ok()?;
        Some((block, payload, file.is_durable))
    }

    /// Whether a block was synced.
    pub fn is_durable(&self, name: BlockName) -> bool {
        self.files.get(&name).is_some_and(|file| file.is_durable)
    }

    /// Whether a manifest is there to stay.
    pub fn has_manifest(&self, age: Age) -> bool {
        self.manifests.contains_key(&age)
    }

    /// All edges of a generation that were synced, in a role.
    pub fn durable_edges(&self, generation: Generation, role: Role) -> Sum {
        let wanted = (BlockKind::Edges, role, generation);
        self.durable(|name| (name.kind, name.role, name.generation()) == wanted)
    }

    /// All updates of an epoch and iteration that were synced.
    pub fn durable_updates(&self, epoch: Epoch, iteration: u32) -> Sum {
        let wanted = (BlockKind::Updates, epoch, iteration);
        self.durable(|name| (name.kind, name.epoch, name.iteration) == wanted)
    }

    fn durable(&self, these: impl Fn(&BlockName) -> bool) -> Sum {
        let files = self.files.iter().filter(|(name, file)| these(name) && file.is_durable);
        let blocks: Vec<Block> = files.filter_map(|(_, file)| header(&file.bytes)).collect();
        Sum::of(&blocks)
    }
}
