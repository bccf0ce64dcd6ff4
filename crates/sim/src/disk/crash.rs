//! Disks when the power goes, and as they age.
//!
//! Each request that is under way is done or not, for itself; each block that was written and not
//! synced is kept, torn or lost, for itself.

use std::collections::btree_map::Entry;

use welter_protocol::Time;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::random::Random;

use super::device::Key;
use super::{Disk, File, Request, sealed};
use crate::fault_counts::Kind;

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

impl Disk {
    /// The power goes.
    pub fn crash(&mut self, now: Time, random: &mut Random) {
        self.interrupt(random);
        let fault_counts = &mut self.fault_counts;
        for (name, file) in std::mem::take(&mut self.deleted) {
            if random.chance(300)
                && let Entry::Vacant(place) = self.files.entry(name)
            {
                fault_counts.count(Kind::Resurrected);
                place.insert(file);
            }
        }
        self.files.retain(|_, file| {
            if file.is_durable {
                return true;
            }
            if random.chance(300) {
                fault_counts.count(Kind::Torn);
                tear(&mut file.bytes, random);
                return true;
            }
            let stays = random.chance(500);
            if !stays {
                fault_counts.count(Kind::Unsynced);
            }
            stays
        });
        self.files.values_mut().for_each(|file| file.is_dirty = false);
        self.dirty_bytes = 0;
        self.fault = None;
        self.device.reset(now);
    }

    /// Does each request that is under way or not, but none without those before it on the same
    /// block.
    fn interrupt(&mut self, random: &mut Random) {
        let mut stopped: Vec<Key> = Vec::new();
        for request in std::mem::take(&mut self.under_way).into_values() {
            let keys = request.keys();
            if keys.iter().any(|key| stopped.contains(key)) || random.chance(500) {
                if let Request::Persist { manifest, .. } = &request
                    && random.chance(800)
                {
                    self.tear_manifest(manifest, random);
                }
                stopped.extend(keys);
                continue;
            }
            self.fault_counts.count(Kind::UnderWay);
            match request {
                Request::Read { .. } => {}
                Request::Write { block, payload, .. } => {
                    let bytes = sealed(&block, &payload);
                    self.files
                        .insert(block.name, File { bytes, is_durable: false, is_dirty: false });
                }
                Request::Sync { names, .. } => {
                    // It was at some of them.
                    for name in names.iter().filter(|_| !self.lies) {
                        if let Some(file) = self.files.get_mut(name) {
                            file.is_durable |= random.chance(500);
                        }
                    }
                }
                Request::Persist { manifest, .. } => {
                    self.manifests.insert(manifest.age(), manifest.encode());
                }
                Request::Forget(age) => {
                    self.manifests.remove(&age);
                }
                Request::Delete(name) => {
                    self.files.remove(&name);
                }
            }
        }
    }

    /// A manifest that had not come to its end is half there. It takes the name of an old one at
    /// once, so the same one is never not there.
    fn tear_manifest(&mut self, manifest: &Manifest, random: &mut Random) {
        let whole = manifest.encode();
        if self.manifests.get(&manifest.age()) != Some(&whole) {
            self.fault_counts.count(Kind::ManifestTorn);
            let mut torn = whole.to_vec();
            tear(&mut torn, random);
            self.manifests.insert(manifest.age(), torn.into());
        }
    }

    /// Flips a bit of the newest manifest. False where there is none.
    pub fn rot_manifest(&mut self, random: &mut Random) -> bool {
        let Some(bytes) = self.manifests.values_mut().next_back() else { return false };
        let mut rotten = bytes.to_vec();
        flip(&mut rotten, random);
        *bytes = rotten.into();
        self.fault_counts.count(Kind::ManifestRot);
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
        self.fault_counts.count(Kind::Rot);
        true
    }
}
