//! Context that every part of a machine needs: who it is, what time it is, and how to have
//! something done.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ack::Ack;
use crate::channel::Channel;
use crate::config::Config;
use crate::counters::{Counters, Path};
use crate::failure::Failure;
use crate::ids::{BlockName, Cell, Epoch, Kind, MAKER_SHIFT, Rank, Role, Time};
use crate::messages::{Effect, Envelope, Exit, Message};
use crate::planted::Bug;
use crate::random::Random;
use crate::work::{UnderWay, Work};

/// The machine as its parts see it.
pub(crate) struct Context {
    pub(crate) config: Arc<Config>,
    pub(crate) rank: Rank,
    pub(crate) incarnation: u32,
    pub(crate) epoch: Epoch,
    pub(crate) now: Time,
    pub(crate) random: Random,
    pub(crate) effects: Vec<Effect>,
    /// Messages of the machine to itself, which pass no network.
    pub(crate) local: VecDeque<Message>,
    pub(crate) channels: Vec<Channel>,
    /// The newest process of each rank that is known.
    pub(crate) incarnations: Vec<u32>,
    /// When the host last said that a process of each rank is there and has not begun.
    pub(crate) awaited: Vec<Time>,
    pub(crate) counters: Counters,
    /// Work that the program has not ended.
    pub(crate) works: UnderWay,
    /// A new epoch alone helps.
    pub(crate) needs_new_epoch: bool,
    /// Reason why the run must end, as soon as the present event is dealt with.
    pub(crate) failure: Option<Failure>,
    pub(crate) exited: bool,
    /// Bytes of chunks that were sent to each engine, which place the next ones.
    sent: Vec<u64>,
    tokens: u64,
    numbers: u64,
}

impl Context {
    pub(crate) fn new(config: Arc<Config>, rank: Rank, incarnation: u32) -> Self {
        let machines = config.machines();
        let seed = config.seed ^ (rank as u64) << 32 ^ u64::from(incarnation) << 48;
        Self {
            config,
            rank,
            incarnation,
            epoch: Epoch::default(),
            now: 0,
            random: Random::new(seed),
            effects: Vec::new(),
            local: VecDeque::new(),
            channels: (0..machines).map(|_| Channel::default()).collect(),
            incarnations: vec![0; machines],
            awaited: vec![0; machines],
            counters: Counters::default(),
            works: UnderWay::default(),
            needs_new_epoch: false,
            failure: None,
            exited: false,
            sent: vec![0; machines],
            tokens: 0,
            numbers: 0,
        }
    }

    /// The engine for a new chunk of a partition, which takes `bytes` bytes.
    pub(crate) fn place(&mut self, partition: u32, bytes: u64) -> Rank {
        let Self { config, sent, random, .. } = self;
        let engine = config.placement.engine(&config.partitions, partition, sent, random);
        self.sent[engine] += bytes;
        engine
    }

    pub(crate) fn machines(&self) -> usize {
        self.config.machines()
    }

    /// Leaves everything behind that belongs to the present epoch.
    pub(crate) fn enter(&mut self, epoch: Epoch) {
        assert!(epoch > self.epoch, "epochs never go back");
        self.epoch = epoch;
        self.local.clear();
        self.needs_new_epoch = false;
        self.works.leave_epoch();
        self.channels.iter_mut().for_each(|channel| *channel = Channel::default());
        self.counters.count(Path::Epoch);
    }

    /// Says something that must arrive as long as the epoch lasts.
    pub(crate) fn send(&mut self, to: Rank, message: Message) {
        if to == self.rank {
            return self.local.push_back(message);
        }
        let number = self.channels[to].send(self.now, message.clone());
        self.emit(to, number, message);
    }

    /// Sends a message to all machines, this one included.
    pub(crate) fn send_all(&mut self, message: &Message) {
        for to in 0..self.machines() {
            self.send(to, message.clone());
        }
    }

    /// Says something that may get lost.
    pub(crate) fn send_unreliable(&mut self, to: Rank, message: Message) {
        if to == self.rank {
            return self.local.push_back(message);
        }
        self.emit(to, 0, message);
    }

    /// Sends again what may be lost, and acknowledges what was not answered yet.
    pub(crate) fn resend(&mut self) {
        for to in 0..self.machines() {
            let overdue = self.channels[to].overdue(self.now, self.config.timing.resend);
            for (number, message) in overdue {
                self.counters.count(Path::Resent);
                self.emit(to, number, message);
            }
            if self.channels[to].owes() {
                self.emit(to, 0, Message::Pong);
            }
        }
    }

    fn emit(&mut self, to: Rank, number: u64, message: Message) {
        let ack: Ack = self.channels[to].acknowledge();
        self.effects.push(Effect::Send(Envelope {
            from: self.rank,
            from_incarnation: self.incarnation,
            to,
            to_incarnation: self.incarnations[to],
            epoch: self.epoch,
            number,
            ack,
            message,
        }));
    }

    /// A number that no other effect of this process has.
    pub(crate) fn token(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens
    }

    /// Whether the program is at nothing of an epoch before.
    pub(crate) fn may_work(&mut self) -> bool {
        let may = self.works.none_before();
        if !may {
            self.counters.count(Path::WorkWaited);
        }
        may || self.config.has(Bug::WorksOverlap)
    }

    pub(crate) fn work(&mut self, work: Work) -> u64 {
        let token = self.token();
        self.works.begin(token);
        self.effects.push(Effect::Work { token, epoch: self.epoch, work });
        token
    }

    /// A name that no other block has.
    pub(crate) fn name(&mut self, kind: Kind, iteration: u32, cell: Cell) -> BlockName {
        self.numbers += 1;
        let number = (self.rank as u64) << MAKER_SHIFT | self.numbers;
        let (role, epoch) = (Role::Primary, self.epoch);
        let Cell { partition, source } = cell;
        BlockName { kind, role, epoch, iteration, partition, source, number }
    }

    /// Ends the run, on all machines, with the first reason that is given.
    pub(crate) fn fail(&mut self, why: Exit, what: impl Into<Arc<str>>) {
        let (rank, what) = (self.rank, what.into());
        self.failure.get_or_insert(Failure { why, rank, what });
    }

    /// Ends this process, whatever becomes of the run.
    pub(crate) fn exit(&mut self, failure: Failure) {
        if !self.exited {
            self.exited = true;
            self.effects.push(Effect::Exit(failure));
        }
    }

    /// Ends this process for a reason of its own.
    pub(crate) fn leave(&mut self, why: Exit, what: &str) {
        let (rank, what) = (self.rank, what.into());
        self.exit(Failure { why, rank, what });
    }

    /// Machine to which a message has waited longest to be acknowledged, if longer than patience
    /// allows, while there was a process that could have.
    pub(crate) fn unheard(&self) -> Option<Rank> {
        let patience = self.config.timing.patience;
        let since = |to: Rank| Some(self.channels[to].oldest()?.max(self.awaited[to]));
        (0..self.machines()).find(|&to| since(to).is_some_and(|at| self.now > at + patience))
    }
}
