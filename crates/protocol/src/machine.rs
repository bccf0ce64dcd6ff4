//! One machine: a storage engine, a computation engine, and on rank 0 the coordinator.
//!
//! ```text
//! step(now, event, effects)
//!   message -> right process? right epoch? new? -> the part that it is for -> effects
//! ```
//!
//! **Invariant:** what a machine does depends on its configuration and on the events alone, in
//! their order: no clock, no thread, no file, no socket, no number that the seed does not decide.
//! Tested by `a_seed_does_again_what_it_did`.

use std::sync::Arc;

use crate::checkpoint::Manifest;
use crate::computation_engine::ComputationEngine;
use crate::config::Config;
use crate::context::Context;
use crate::coordinator::Coordinator;
use crate::counters::{Counters, Path};
use crate::directory::Query;
use crate::ending::{Ending, Waits};
use crate::ids::{Bytes, Epoch, Rank, Step, Time};
use crate::membership::Membership;
use crate::messages::{Effect, Envelope, Event, Exit, Message};
use crate::placement::mirror;
use crate::planted::Bug;
use crate::recovery::Recovery;
use crate::storage_engine::StorageEngine;
use crate::times::Times;
use crate::work::Outcome;

/// A machine of the cluster.
pub struct Machine {
    cx: Context,
    storage: StorageEngine,
    computation: ComputationEngine,
    membership: Membership,
    recovery: Recovery,
    coordinator: Option<Coordinator>,
    /// Manifests that lie here, with those that are being persisted for the coordinator.
    manifests: Vec<Arc<Manifest>>,
    persisting: Option<(u64, Arc<Manifest>)>,
    waits: Waits,
    /// The run is at its end, for a reason.
    ending: Option<Ending>,
}

impl Machine {
    /// The process that fills `rank` now; `incarnation` is above that of all before, and above 0.
    pub fn new(config: Arc<Config>, rank: Rank, incarnation: u32) -> Self {
        let mut cx = Context::new(config, rank, incarnation);
        cx.incarnations[rank] = incarnation;
        Self {
            computation: ComputationEngine::new(&cx),
            membership: Membership::new(cx.machines(), 0),
            storage: StorageEngine::default(),
            recovery: Recovery::default(),
            coordinator: (rank == 0).then(Coordinator::new),
            manifests: Vec::new(),
            persisting: None,
            waits: Waits::default(),
            ending: None,
            cx,
        }
    }

    /// Lets something happen, and adds what is to be done to `effects`.
    pub fn step(&mut self, now: Time, event: Event, effects: &mut Vec<Effect>) {
        if self.cx.exited {
            return;
        }
        self.cx.now = now;
        std::mem::swap(&mut self.cx.effects, effects);
        let before = self.cx.effects.len();
        self.waits.answered(&event);
        if let Event::Done { token, .. } = &event {
            self.cx.works.ended(*token);
        }
        match (event, &mut self.ending) {
            (Event::Message(envelope), _) => self.envelope(envelope),
            (Event::Tick, Some(ending)) => ending.tick(&mut self.cx),
            (_, Some(_)) => {}
            (event, None) => self.event(event),
        }
        while let Some(message) = self.cx.local.pop_front() {
            self.on_message(self.cx.rank, message);
        }
        if self.cx.needs_new_epoch
            && self.ending.is_none()
            && let Some(coordinator) = &mut self.coordinator
        {
            let epoch = coordinator.begin_epoch(&mut self.cx);
            self.enter_and_summon(epoch);
        }
        self.end_if_failed();
        for effect in &self.cx.effects[before..] {
            self.waits.asked(now, effect);
        }
        std::mem::swap(&mut self.cx.effects, effects);
    }

    /// Turns to the end of the run, if something was a reason for it.
    fn end_if_failed(&mut self) {
        let Some(failure) = self.cx.failure.take() else { return };
        if self.ending.is_some() {
            return;
        }
        if self.membership.is_alone(&self.cx) {
            // There is no machine to send it to.
            return self.cx.exit(failure);
        }
        let ending = self.ending.insert(Ending::new(&mut self.cx, failure));
        ending.tick(&mut self.cx);
    }

    /// Watches that nothing is waited for without a bound.
    fn watch(&mut self) {
        let (now, patience) = (self.cx.now, self.cx.config.timing.patience);
        if let Some(rank) = self.cx.unheard()
            && !self.cx.config.has(Bug::PairsUnwatched)
        {
            self.cx.counters.count(Path::PairCut);
            self.cx
                .fail(Exit::Cut, format!("machine {rank} has acknowledged nothing for too long"));
        }
        if let Some(what) = self.waits.overdue(now, patience)
            && !self.cx.config.has(Bug::WaitsUnbounded)
        {
            self.cx.counters.count(Path::Waited);
            self.cx.fail(Exit::Stalled, what);
        }
    }

    /// The epoch that it is in.
    pub fn epoch(&self) -> Epoch {
        self.cx.epoch
    }

    /// The step that its computation engine is at, if it has not arrived at the end of it.
    pub fn at_work(&self) -> Option<Step> {
        self.computation.at_work()
    }

    /// Number of times that it went down each path.
    pub fn counters(&self) -> &Counters {
        &self.cx.counters
    }

    /// Times of its computation engine by kind.
    pub fn times(&self, now: Time) -> Times {
        self.computation.clock.times(now)
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Start { blocks, manifests } => {
                self.membership = Membership::new(self.cx.machines(), self.cx.now);
                let blocks = blocks.into_iter().map(|block| (block.name, block));
                self.storage.blocks = blocks.collect();
                let decoded = manifests.iter().filter_map(|bytes| Manifest::decode(bytes));
                self.manifests = decoded.map(Arc::new).collect();
                for _ in self.manifests.len()..manifests.len() {
                    self.cx.counters.count(Path::ManifestDamaged);
                }
                if let Some(coordinator) = &mut self.coordinator {
                    let epoch = coordinator.begin_epoch(&mut self.cx);
                    self.enter_and_summon(epoch);
                } else {
                    self.cx.send_unreliable(0, Message::Hello { needs_new_epoch: false });
                }
            }
            Event::Tick => {
                self.membership.tick(&mut self.cx);
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.summon(&mut self.cx);
                }
                self.cx.resend();
                self.watch();
            }
            Event::Message(envelope) => self.envelope(envelope),
            Event::Awaited(rank) => {
                self.membership.note_contact(rank, self.cx.now);
                self.cx.awaited[rank] = self.cx.now;
            }
            Event::Fail { why, what } => self.cx.fail(why, what),
            Event::Read { token, result } => self.storage.read(&mut self.cx, token, result),
            Event::Written { token, ok } => self.written(token, ok),
            Event::Consulted { token } => {
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.consulted(&mut self.cx, token);
                }
            }
            Event::Done { token, outcome: Outcome::Decided { goes_on, control, rewrites } } => {
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.decided(&mut self.cx, token, (goes_on, rewrites), control);
                }
                // It may have been asked for in an epoch before: now there can be other work.
                self.computation.advance(&mut self.cx);
            }
            Event::Done { token, outcome } => self.computation.done(&mut self.cx, token, outcome),
        }
    }

    /// The coordinator's own way into the epoch that it begins.
    fn enter_and_summon(&mut self, epoch: Epoch) {
        self.enter(epoch);
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.join(&mut self.cx, 0, &encoded(&self.manifests, &self.storage));
            coordinator.summon(&mut self.cx);
        }
    }

    /// Leaves all older epochs.
    fn enter(&mut self, epoch: Epoch) {
        self.storage.leave_epoch(&mut self.cx);
        self.cx.enter(epoch);
        self.computation.leave_epoch(&self.cx);
        self.recovery = Recovery::default();
        // It will be there, though no request waits for it any more.
        self.manifests.extend(self.persisting.take().map(|(_, manifest)| manifest));
        self.membership.joined = true;
    }

    fn written(&mut self, token: u64, ok: bool) {
        if !ok {
            self.cx.counters.count(Path::StorageFailed);
            return self.cx.leave(Exit::Storage, "a write to its disk failed");
        }
        self.storage.synced(&mut self.cx, token);
        if let Some(name) = self.storage.written(&mut self.cx, token) {
            self.recovery.written(&mut self.cx, &mut self.storage, name);
        }
        self.recovery.synced(&mut self.cx, &mut self.storage, token);
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.persisted(&mut self.cx, Some(token));
        }
        if let Some((_, manifest)) = self.persisting.take_if(|(waited, _)| *waited == token) {
            self.manifests.push(manifest);
            self.cx.send(0, Message::ManifestMirrored);
        }
    }

    /// Opens an envelope, if it is for this process, from a living one and of this epoch.
    fn envelope(&mut self, envelope: Envelope) {
        let Envelope {
            from, from_incarnation, to_incarnation, epoch, number, ack, message, ..
        } = envelope;
        let cx = &mut self.cx;
        if to_incarnation > cx.incarnation {
            cx.counters.count(Path::Fenced);
            return cx.leave(Exit::Fenced, "another process has its rank");
        }
        let lenient = cx.config.has(Bug::StaleEpoch);
        let any_process = lenient || cx.config.has(Bug::OlderProcess);
        if from_incarnation < cx.incarnations[from] && !any_process {
            // It was replaced, and learns so from the incarnation that this is for.
            cx.counters.count(Path::OtherProcess);
            return cx.send_unreliable(from, Message::Ping);
        }
        let is_new_process = from_incarnation > cx.incarnations[from];
        cx.incarnations[from] = cx.incarnations[from].max(from_incarnation);
        self.membership.note_contact(from, cx.now);
        if let Some(coordinator) = &mut self.coordinator
            && is_new_process
            && self.ending.is_none()
            && coordinator.needs_epoch(from)
        {
            // Its predecessor, which may not even be dead, is in this epoch.
            let epoch = coordinator.begin_epoch(cx);
            return self.enter_and_summon(epoch);
        }
        if to_incarnation != 0 && to_incarnation != cx.incarnation && !any_process {
            // It was meant for a predecessor. Who sent it learns so: else two that do not know of
            // each other's newest process would never learn of it.
            cx.counters.count(Path::OtherProcess);
            return cx.send_unreliable(from, Message::Ping);
        }
        if epoch == cx.epoch {
            cx.channels[from].acknowledged(ack);
        }
        match (message, &mut self.ending) {
            (Message::Fail(failure), _) if cx.rank == 0 => {
                cx.failure.get_or_insert(failure);
            }
            (Message::Abort(failure), _) if cx.rank != 0 => {
                cx.counters.count(Path::Failed);
                cx.send_unreliable(0, Message::Aborting);
                cx.exit(failure);
            }
            (Message::Aborting, Some(ending)) => ending.on_verdict_heard(cx, from),
            (message, None) if number == 0 => self.on_unreliable(from, epoch, message),
            (message, None) => self.numbered(from, epoch, number, message),
            (_, Some(_)) => {}
        }
    }

    /// Takes a message that must come once in its epoch.
    fn numbered(&mut self, from: Rank, epoch: Epoch, number: u64, message: Message) {
        let cx = &mut self.cx;
        let lenient = cx.config.has(Bug::StaleEpoch);
        if epoch != cx.epoch && !(lenient && epoch < cx.epoch) {
            return cx.counters.count(Path::OtherEpoch);
        }
        if !cx.channels[from].is_new(number) {
            cx.counters.count(Path::Repeated);
            if !cx.config.has(Bug::NoDedup) {
                return;
            }
        }
        self.on_message(from, message);
    }

    /// Takes a message that may come in any epoch, lost or repeated.
    fn on_unreliable(&mut self, from: Rank, epoch: Epoch, message: Message) {
        match (message, &mut self.coordinator) {
            (Message::Hello { needs_new_epoch: true }, Some(coordinator))
                if epoch == self.cx.epoch && coordinator.needs_epoch(from) =>
            {
                let epoch = coordinator.begin_epoch(&mut self.cx);
                self.enter_and_summon(epoch);
            }
            (Message::Join { manifests }, Some(coordinator)) if epoch == self.cx.epoch => {
                coordinator.join(&mut self.cx, from, &manifests);
            }
            (Message::Summon, None) if epoch >= self.cx.epoch => {
                if epoch > self.cx.epoch {
                    self.enter(epoch);
                }
                let manifests = encoded(&self.manifests, &self.storage);
                self.cx.send_unreliable(0, Message::Join { manifests });
            }
            _ => {}
        }
    }

    /// Takes a message of this epoch, for the first time.
    fn on_message(&mut self, from: Rank, message: Message) {
        let Self { cx, storage, computation, recovery, .. } = self;
        match message {
            Message::Install(install) => {
                let kept = |manifest: &Arc<Manifest>| {
                    [&install.manifest, &install.previous].contains(&&Some(manifest.clone()))
                };
                let old = self.manifests.extract_if(.., |manifest| !kept(manifest)).collect();
                let here = cx.rank == 0
                    || cx.config.copies_manifests() && cx.rank == mirror(cx.machines(), 0);
                let newest = install.manifest.clone().filter(|_| here);
                let lacking = newest.filter(|newest| !self.manifests.contains(newest));
                recovery.install(cx, storage, *install, (lacking.is_some(), old));
                self.manifests.extend(lacking);
            }
            Message::Fetch { role, have } => recovery.fetch(cx, storage, (from, role, have)),
            Message::Copied { block, payload } => recovery.copied(cx, storage, block, payload),
            Message::CopiesEnd { count, .. } => recovery.copies_end(cx, storage, count),
            Message::Begin(begin) => {
                storage.begin(cx, &begin);
                computation.begin(cx, begin);
                for (from, step, partition) in computation.held() {
                    self.on_message(from, Message::Propose { step, partition });
                }
            }
            Message::Close { step, checkpoint } => storage.close(cx, step, checkpoint),
            Message::MirrorManifest(bytes) => {
                if let Some(manifest) = Manifest::decode(&bytes).map(Arc::new) {
                    let token = cx.token();
                    cx.effects.push(Effect::Persist { token, manifest: manifest.clone() });
                    self.persisting = Some((token, manifest));
                }
            }
            Message::Finish(manifest) => {
                storage.keep(cx, manifest.clone());
                cx.effects.push(Effect::Finished(manifest));
            }
            Message::Store { block, payload } => storage.store(cx, from, block, payload),
            Message::Stored(name) => computation.stored(cx, from, name),
            Message::Pull(pull) => storage.pull(cx, from, pull),
            Message::Chunk { pull, block, payload, queued, service, stock } => {
                let chunk = Some((block, payload, [queued, service]));
                computation.pulled(cx, from, pull, chunk, &stock);
            }
            Message::NoChunk { pull, stock } => computation.pulled(cx, from, pull, None, &stock),
            Message::Get(name) => storage.get(cx, from, name),
            Message::Got { name, payload } => computation.got(cx, name, payload),
            Message::Degrees { partition, payload } => {
                computation.degrees(cx, from, partition, payload);
            }
            Message::Propose { step, partition } => {
                let left = storage.remaining(cx, step, partition);
                computation.proposal(cx, from, (step, partition), left);
            }
            Message::Proposed { step, partition, accepted } => {
                computation.proposed(cx, step, partition, accepted);
            }
            Message::Ended { step, partition } => computation.ended(cx, from, step, partition),
            Message::Collect { step, partition } => computation.collect(cx, step, partition),
            Message::Accumulators { partition, payload, .. } => {
                computation.accumulators(cx, from, partition, payload);
            }
            Message::Parked { name, engine, .. } => computation.parked(cx, name, engine),
            Message::Placed { name, engine } => computation.placed(cx, name, engine),
            Message::Found { step, cell, engine } => {
                computation.found(cx, (step, cell), engine);
            }
            Message::Installed { .. }
            | Message::Place(_)
            | Message::Find { .. }
            | Message::Arrive { .. }
            | Message::Closed { .. }
            | Message::ManifestMirrored => self.coordinated(from, message),
            Message::Hello { .. }
            | Message::Summon
            | Message::Join { .. }
            | Message::Ping
            | Message::Pong
            | Message::Fail(_)
            | Message::Abort(_)
            | Message::Aborting => {}
        }
    }

    /// Hands a message to the coordinator.
    fn coordinated(&mut self, from: Rank, message: Message) {
        let Some(coordinator) = &mut self.coordinator else { return };
        let cx = &mut self.cx;
        match message {
            Message::Place(name) => coordinator.directory.ask(cx, from, Query::Place(name)),
            Message::Find { step, cell, none } => {
                coordinator.directory.ask(cx, from, Query::Find { step, cell, none });
            }
            Message::Installed { lost, chunk_sets } => {
                let again = coordinator.installed(cx, from, lost, &chunk_sets);
                if let Some(epoch) = again.then(|| coordinator.begin_epoch(cx)) {
                    self.enter_and_summon(epoch);
                }
            }
            Message::Arrive { step, worked, made } => {
                coordinator.arrive(cx, (from, step), worked, made);
            }
            Message::Closed { step, served, parts, edges, updates } => {
                coordinator.closed(cx, (from, step), served, parts, [edges, updates]);
            }
            Message::ManifestMirrored => coordinator.persisted(cx, None),
            _ => {}
        }
    }
}

/// All manifests that a machine knows of, as bytes.
fn encoded(stored: &[Arc<Manifest>], storage: &StorageEngine) -> Vec<Bytes> {
    stored.iter().chain(storage.kept.all()).map(|manifest| manifest.encode()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Timing, of_two};

    /// Whether rank 0 ends for want of the other machine, for which its host may wait.
    fn ends(host_waits: bool) -> bool {
        let timing = Timing { resend: 10, ping: 10, suspect: 50, patience: 100 };
        let mut machine = Machine::new(Arc::new(Config { timing, ..of_two() }), 0, 1);
        let mut effects = Vec::new();
        machine.step(0, Event::Start { blocks: Vec::new(), manifests: Vec::new() }, &mut effects);
        for now in (10..1000).step_by(10) {
            if host_waits {
                machine.step(now, Event::Awaited(1), &mut effects);
            }
            machine.step(now, Event::Tick, &mut effects);
        }
        effects.iter().any(|effect| matches!(effect, Effect::Exit(_)))
    }

    #[test]
    fn a_machine_is_not_missed_while_the_host_waits_for_it() {
        assert!(ends(false) && !ends(true));
    }
}
