//! The disk of a machine: effects on blocks and manifests, done by threads, answered by events.
//!
//! ```text
//! shard(effect) = a thread, by the name of the block, or the first where there is none
//! ```
//!
//! A shard does what it was asked for in that order, so effects on one block do not overtake each
//! other, and all else overlaps. A sync of several blocks is shared among their shards; the shard
//! that ends last makes names durable and answers.
//!
//! **Invariant:** after a failed write or sync nothing is said to be written or durable any more:
//! the machine leaves, and begins anew with what a start finds. Checked in `Shard::may_write`.
//! Tested by `after_a_failed_sync_nothing_is_written`.

pub(crate) mod copies;
pub(crate) mod folder;
pub(crate) mod stale;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use welter_protocol::checkpoint::{Age, Manifest};
use welter_protocol::failure::Exit;
use welter_protocol::ids::{Block, BlockName};
use welter_protocol::random::mix;
use welter_protocol::{Effect, Event, Payload};
use welter_store::StoreError;

use self::folder::{Folder, Unread};

/// Threads of a disk.
pub(crate) const SHARDS: usize = 3;

/// Request to a shard.
enum Request {
    Read { token: u64, name: BlockName },
    Write { token: u64, block: Block, payload: Payload },
    Sync { names: Vec<BlockName>, shared: Arc<SharedSync> },
    Persist { token: u64, manifest: Arc<Manifest> },
    Forget(Age),
    Delete(BlockName),
}

/// A sync that several shards share.
struct SharedSync {
    token: u64,
    /// Lanes that have not done their part.
    left: AtomicUsize,
    failed: AtomicBool,
}

/// Knowledge that the shards share.
struct State {
    folder: Arc<Folder>,
    events: SyncSender<Event>,
    /// A write or a sync has failed.
    is_poisoned: AtomicBool,
    /// Requests are left undone.
    is_stopped: AtomicBool,
    /// The first failure, in words.
    trouble: Mutex<Option<String>>,
}

/// The threads of a disk. Ends them when it is dropped; requests that wait are left undone, as in
/// a crash.
pub(crate) struct Disk {
    shards: Vec<Sender<Request>>,
    threads: Vec<JoinHandle<()>>,
    state: Arc<State>,
}

impl Disk {
    /// Starts the threads of a folder, which answer by `events`.
    pub(crate) fn new(folder: Arc<Folder>, events: SyncSender<Event>) -> io::Result<Self> {
        let state = Arc::new(State {
            folder,
            events,
            is_poisoned: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            trouble: Mutex::new(None),
        });
        let mut disk = Self { shards: Vec::new(), threads: Vec::new(), state };
        for number in 0..SHARDS {
            let (requests, shard) = channel();
            let state = disk.state.clone();
            let thread = Builder::new().name(format!("disk-{number}"));
            disk.threads.push(thread.spawn(move || Shard(state).serve(&shard))?);
            disk.shards.push(requests);
        }
        Ok(disk)
    }

    /// Takes an effect, if it is one for a disk; else gives it back.
    pub(crate) fn ask(&self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Read { token, name } => self.put(shard(&name), Request::Read { token, name }),
            Effect::Write { token, block, payload } => {
                self.put(shard(&block.name), Request::Write { token, block, payload });
            }
            Effect::Delete(name) => self.put(shard(&name), Request::Delete(name)),
            Effect::Sync { token, names } => self.sync(token, names),
            Effect::Persist { token, manifest } => {
                self.put(0, Request::Persist { token, manifest });
            }
            Effect::Forget(manifest) => self.put(0, Request::Forget(manifest.age())),
            other => return Some(other),
        }
        None
    }

    /// The first failure, in words.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.state.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, shard: usize, request: Request) {
        // A shard that is gone has panicked: that nothing is answered is seen by who waits.
        let _ = self.shards[shard].send(request);
    }

    fn sync(&self, token: u64, names: Vec<BlockName>) {
        let mut shares = vec![Vec::new(); self.shards.len()];
        for name in names {
            shares[shard(&name)].push(name);
        }
        let left = AtomicUsize::new(shares.len());
        let shared = Arc::new(SharedSync { token, left, failed: AtomicBool::new(false) });
        assert_eq!(shares.len(), SHARDS, "each block has a shard");
        for (shard, names) in shares.into_iter().enumerate() {
            self.put(shard, Request::Sync { names, shared: shared.clone() });
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        self.shards.clear();
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Whether another process of the machine would do no better: on a full disk, or with a store
/// elsewhere that was asked again and again.
fn is_lasting(error: &StoreError) -> bool {
    matches!(error, StoreError::Full { .. } | StoreError::Remote { .. } | StoreError::Cancelled)
}

/// The failure with which the run ends.
fn failure(error: &StoreError) -> Event {
    Event::Fail { why: Exit::Full, what: error.to_string().into() }
}

/// The shard of a block.
fn shard(name: &BlockName) -> usize {
    let place = u64::from(name.partition) << 32 ^ u64::from(name.iteration);
    (mix(name.number ^ mix(place)) % SHARDS as u64) as usize
}

/// A thread's side of a disk.
struct Shard(Arc<State>);

impl Shard {
    fn serve(&self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            if self.0.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            if let Some(event) = self.answer(request)
                && self.0.events.send(event).is_err()
            {
                return;
            }
        }
    }

    fn answer(&self, request: Request) -> Option<Event> {
        let folder = &*self.0.folder;
        match request {
            Request::Read { token, name } => {
                let result = folder.read(name).map_err(|unread| {
                    if let Unread::Store(error) = &unread {
                        self.note(error);
                    }
                    unread.damage()
                });
                Some(Event::Read { token, result })
            }
            Request::Write { token, block, payload } => {
                Some(self.written(token, || folder.write(&block, &payload)))
            }
            Request::Persist { token, manifest } => {
                Some(self.written(token, || folder.persist(&manifest)))
            }
            Request::Sync { names, shared } => self.sync(&names, &shared),
            Request::Delete(name) => self.tried(folder.delete(name)),
            Request::Forget(age) => self.tried(folder.forget(age)),
        }
    }

    /// Does a shard's share of a sync, and the rest if all others have done theirs.
    fn sync(&self, names: &[BlockName], shared: &SharedSync) -> Option<Event> {
        let folder = &self.0.folder;
        let synced = names.iter().try_for_each(|&name| folder.sync(name));
        if let Err(error) = synced {
            if is_lasting(&error) {
                return Some(failure(&error));
            }
            self.note(&error);
            self.0.is_poisoned.store(true, Ordering::Release);
            shared.failed.store(true, Ordering::Release);
        }
        let left = shared.left.fetch_sub(1, Ordering::AcqRel);
        assert!(left > 0, "a shard does its share of a sync once");
        if left > 1 {
            return None;
        }
        if shared.failed.load(Ordering::Acquire) {
            return Some(Event::Written { token: shared.token, ok: false });
        }
        Some(self.written(shared.token, || folder.sync_names()))
    }

    /// Event that follows a write.
    fn written(&self, token: u64, write: impl Fn() -> Result<(), StoreError>) -> Event {
        let ok = self.may_write()
            && match write() {
                Ok(()) => true,
                Err(error) if is_lasting(&error) => return failure(&error),
                Err(error) => {
                    self.note(&error);
                    self.0.is_poisoned.store(true, Ordering::Release);
                    false
                }
            };
        Event::Written { token, ok }
    }

    fn may_write(&self) -> bool {
        !self.0.is_poisoned.load(Ordering::Acquire)
    }

    /// Takes notice of answers that are not waited for.
    fn tried(&self, result: Result<(), StoreError>) -> Option<Event> {
        result.err().iter().for_each(|error| self.note(error));
        None
    }

    fn note(&self, error: &StoreError) {
        let mut trouble = self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert_with(|| error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    use tempfile::TempDir;
    use welter_protocol::block::Damage;
    use welter_protocol::ids::{Epoch, Kind, Role};
    use welter_store::io::{Call, Fault, Faults};

    use super::*;

    struct Harness {
        directory: TempDir,
        disk: Disk,
        events: Receiver<Event>,
    }

    fn harness(faults: Option<Arc<Faults>>) -> Harness {
        let directory = TempDir::new().unwrap();
        let folder = Arc::new(Folder::open(directory.path(), faults).unwrap());
        let (sender, events) = sync_channel(4);
        Harness { directory, disk: Disk::new(folder, sender).unwrap(), events }
    }

    impl Harness {
        fn ask(&self, effect: Effect) {
            assert!(self.disk.ask(effect).is_none());
        }

        /// The next answer: its token, and whether it is a good one.
        fn next(&self) -> (u64, Result<usize, Option<Damage>>) {
            match self.events.recv_timeout(Duration::from_secs(20)).unwrap() {
                Event::Read { token, result } => {
                    (token, result.map(|(_, payload)| payload.len()).map_err(Some))
                }
                Event::Written { token, ok } => (token, if ok { Ok(0) } else { Err(None) }),
                other => panic!("{other:?}"),
            }
        }

        fn write(&self, token: u64, number: u64, bytes: usize) {
            let payload = Payload::from(vec![number as u8; bytes]);
            let block = Block::of(name(number), 1, 1, &payload);
            self.ask(Effect::Write { token, block, payload });
        }
    }

    fn name(number: u64) -> BlockName {
        let (epoch, role) = (Epoch { coordinator: 1, count: 1 }, Role::Primary);
        let (kind, source) = (Kind::Updates, None);
        BlockName { kind, role, epoch, iteration: 0, partition: 0, source, number }
    }

    #[test]
    fn effects_on_a_block_happen_in_their_order_and_all_are_answered() {
        let harness = harness(None);
        for number in 0..20 {
            harness.write(10 * number + 1, number, 1);
            harness.write(10 * number + 2, number, 2);
            harness.ask(Effect::Read { token: 10 * number + 3, name: name(number) });
            harness.ask(Effect::Delete(name(number)));
            harness.ask(Effect::Read { token: 10 * number + 4, name: name(number) });
            harness.write(10 * number + 5, number, 7000);
            harness.ask(Effect::Read { token: 10 * number + 6, name: name(number) });
            let mut answers: Vec<_> = (0..6).map(|_| harness.next()).collect();
            for (token, _) in &mut answers {
                *token %= 10;
            }
            let missing = Err(Some(Damage::Missing));
            let expected =
                [(1, Ok(0)), (2, Ok(0)), (3, Ok(2)), (4, missing), (5, Ok(0)), (6, Ok(7000))];
            assert_eq!(answers, expected);
        }
        harness.ask(Effect::Sync { token: 1, names: (0..30).map(name).collect() });
        assert_eq!(harness.next(), (1, Ok(0)), "one that is not there was deleted");
        harness.ask(Effect::Sync { token: 2, names: Vec::new() });
        assert_eq!(harness.next(), (2, Ok(0)));
        assert!(harness.disk.ask(Effect::Suspect(1)).is_some());
        assert_eq!(harness.disk.trouble(), None);
    }

    #[test]
    fn after_a_failed_sync_nothing_is_written() {
        // The first three are for the directories themselves.
        let harness = harness(Some(Faults::nth_of(Call::Sync, 5, Fault::Errno(5))));
        harness.write(1, 1, 10);
        harness.write(2, 2, 10);
        assert!(harness.next().1.is_ok() && harness.next().1.is_ok());
        harness.ask(Effect::Sync { token: 3, names: vec![name(1), name(2)] });
        assert_eq!(harness.next(), (3, Err(None)));
        harness.write(4, 3, 10);
        assert_eq!(harness.next(), (4, Err(None)));
        harness.ask(Effect::Sync { token: 5, names: Vec::new() });
        assert_eq!(harness.next(), (5, Err(None)));
        assert!(harness.disk.trouble().is_some_and(|what| what.contains("sync it")));
        let Harness { directory, disk, .. } = harness;
        drop(disk);
        let folder = Folder::open(directory.path(), None).unwrap();
        let Event::Start { blocks, .. } = folder.start().unwrap() else { unreachable!() };
        assert_eq!(blocks.len(), 1, "of one it is not known what the device has");
    }

    #[test]
    fn a_full_disk_ends_the_run() {
        let harness = harness(Some(Faults::from(Call::Write, 1, Fault::Errno(28))));
        harness.write(1, 1, 10);
        let event = harness.events.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(matches!(event, Event::Fail { why: Exit::Full, .. }));
    }
}
