//! Checkers of what must hold in every schedule, each in a file of its own.
//!
//! Checkers see what machines want done, and what their programs make of it. They do not ask the
//! protocol what it believes: its own audits could be wrong in the same way. What a checker does
//! *not* look at is said at the top of its file.

pub mod answer;
pub mod barriers;
pub mod bins;
pub mod checkpoints;
pub mod endings;
pub mod exactly_once;
pub mod fencing;
pub mod mass;
pub mod orphans;
pub mod progress;
pub mod pulls;
pub mod rows;
pub mod scene;
pub mod shares;
pub mod stealing;
pub mod stores;
pub mod windows;
pub mod works;

use welter_protocol::config::Config;
use welter_protocol::ids::{BlockName, Epoch};
use welter_protocol::messages::Effect;
use welter_protocol::{Event, Outcome, Rank, Work};

pub use self::scene::Scene;

use crate::disk::Disk;
use crate::job::{BufferedUpdates, Job};

/// Checkers of a run.
pub struct Checkers {
    exactly_once: exactly_once::ExactlyOnce,
    mass: mass::Mass,
    barriers: barriers::Barriers,
    checkpoints: checkpoints::Checkpoints,
    stealing: stealing::Stealing,
    stores: stores::Stores,
    orphans: orphans::Orphans,
    works: works::Works,
    windows: windows::Windows,
    pulls: pulls::OpenPulls,
    bins: bins::Bins,
    rows: rows::Rows,
    shares: shares::Shares,
    /// Failure that was found first.
    pub failure: Option<String>,
}

impl Checkers {
    /// The checkers of a cluster with these settings, and a job in chunks of `chunk_records` edges,
    /// whose machines may have a number of bytes of rows.
    pub fn new(
        config: &Config,
        job: &dyn Job,
        chunk_records: u32,
        rows_bytes: Option<u64>,
    ) -> Self {
        // The checker `rows` bounds vertex sets that hold rows.
        let set_bytes = rows_bytes.is_none().then(|| job.vertex_bytes());
        let (accums, degrees) = (job.accumulator_bytes(), job.looks_at_degrees());
        Self {
            exactly_once: exactly_once::ExactlyOnce::default(),
            mass: mass::Mass::default(),
            barriers: barriers::Barriers::default(),
            checkpoints: checkpoints::Checkpoints::new(config),
            stealing: stealing::Stealing::new(config),
            stores: stores::Stores::new(config.store_window_bytes),
            orphans: orphans::Orphans::default(),
            works: works::Works::new(config.streams),
            windows: windows::Windows::new(config),
            pulls: pulls::OpenPulls::new(config),
            bins: bins::Bins::new(config),
            rows: rows::Rows::new(config.partitions.clone(), job.vertex_bytes(), rows_bytes),
            shares: shares::Shares::new(config, [set_bytes, accums], chunk_records, degrees),
            failure: None,
        }
    }

    /// A rank has got an empty disk.
    pub fn disk_lost(&mut self, rank: Rank) {
        self.checkpoints.disk_lost(rank);
    }

    /// From now on a disk may have damaged what was durable.
    pub fn disk_harmed(&mut self) {
        self.checkpoints.disk_harmed();
    }

    /// A program has done a piece of work.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome, held: BufferedUpdates) {
        let found = self.barriers.work(scene, work);
        self.note(found);
        let found = self.exactly_once.work(scene, work, outcome);
        self.note(found);
        let found = self.mass.work(scene, work, outcome);
        self.note(found);
        let found = self.bins.work(scene, work, outcome);
        self.note(found);
        let found = self.rows.work(scene, work, outcome);
        self.note(found);
        let found = self.shares.work(scene, work, outcome);
        self.note(found);
        let found = self.shares.held(scene, work, held);
        self.note(found);
    }

    /// A machine has entered an epoch.
    pub fn entered(&mut self, process: usize) {
        self.windows.entered(process);
        self.pulls.entered(process);
    }

    /// A machine has taken up a partition in this epoch, and has these blocks.
    pub fn opened<'a>(
        &mut self,
        process: usize,
        epoch: Epoch,
        blocks: impl Iterator<Item = &'a BlockName>,
    ) {
        let found = self.orphans.opened(process, epoch, blocks);
        self.note(found);
    }

    /// The run has ended in this epoch, and a machine has these blocks.
    pub fn left<'a>(
        &mut self,
        rank: Rank,
        epoch: Epoch,
        blocks: impl Iterator<Item = &'a BlockName>,
    ) {
        let found = self.orphans.look(rank, epoch, blocks);
        self.note(found);
    }

    /// The run has ended with a result that was committed in this epoch.
    pub fn finished(&mut self, epoch: Epoch) {
        let found = self.exactly_once.finished(epoch);
        self.note(found);
        let found = self.mass.finished(epoch);
        self.note(found);
    }

    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        self.stealing.event(process, event);
        self.orphans.event(process, event);
        self.works.event(process, event);
        self.windows.event(process, event);
        self.pulls.event(process, event);
        self.stores.event(process, event);
    }

    /// A machine wants something done. `disks` are those of all ranks, where they are of weight.
    pub fn effect(&mut self, scene: Scene, effect: &Effect, disks: Option<&[&Disk]>) {
        let found = self.stores.effect(scene, effect);
        self.note(found);
        let found = shares::Shares::effect(scene, effect);
        self.note(found);
        let found = self.stealing.effect(scene, effect);
        self.note(found);
        let found = self.works.effect(scene, effect);
        self.note(found);
        let found = self.windows.effect(scene, effect);
        self.note(found);
        let found = self.pulls.effect(scene, effect);
        self.note(found);
        self.orphans.effect(effect);
        match (effect, disks) {
            (Effect::Write { block, .. }, _) => self.exactly_once.stored(block),
            // One that was committed in an epoch before is put back in its place.
            (Effect::Persist { manifest, .. }, Some(disks))
                if scene.rank == 0 && manifest.committed == scene.epoch =>
            {
                let found = self.checkpoints.persisted(manifest, disks);
                self.note(found);
            }
            (Effect::Send(envelope), disks) => {
                let found = self.checkpoints.on_message(envelope, disks);
                self.note(found);
            }
            _ => {}
        }
    }

    /// Remembers the first failure.
    pub fn note(&mut self, found: Result<(), String>) {
        if let (None, Err(failure)) = (&self.failure, found) {
            self.failure = Some(failure);
        }
    }
}
