//! An epoch of a machine: from edges to a result, or to the loss of a machine.
//!
//! ```text
//! meet   number, secret, sub-ranges and senders of the epoch    (rank 0 says them)
//! meet   the checkpoint that it begins with, if all have one, with bounds of sub-ranges
//! meet   weights of vertices, where there is none              bounds
//! meet   where the ends of lanes are                           lanes are led
//! meet   totals of the first values; edges were audited        decision 0
//! meet   totals of iteration i; updates were audited           decision i ...
//! meet   parts of the result                                   the manifest
//! ```
//!
//! Computation threads may have sent messages of the next iteration when a barrier is met
//! (`computing`); a decision is about what was said there alone.
//!
//! Threads belong to the epoch, and all have ended when it has. The last barrier is met when all
//! that a machine has sent has arrived, so accumulator threads that continue until then have
//! acknowledged everything.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::scope;

use ring::rand::{SecureRandom, SystemRandom};
use welter_protocol::Payload;
use welter_protocol::checkpoint::{CheckpointShard, Manifest};
use welter_protocol::config::Shape;
use welter_protocol::failure::Exit;
use welter_protocol::ids::{Bytes, Epoch as Number, Generation};
use welter_protocol::partitions::Partitions;
use welter_transport::Secret;

use super::account::Account;
use super::audit::Audit;
use super::checkpoint::{Checkpoints, Due, Interval};
use super::cores::Cores;
use super::doors::{Common, protection};
use super::ending::{Ending, Over};
use super::error::Stop;
use super::lanes::{Led, Open, Site};
use super::losses::EpochProgress;
use super::position::MachinePosition;
use super::rounds::Rounds;
use super::starting::Starting;
use super::table::{Table, Watch};
use super::threads::Threads;
use super::turns::{Answer, Ended, Order, Turn};
use super::words::{Word, WordReader};
use super::{Job, Settings, cutting};
use crate::credentials::Trust;
use crate::disk::folder::Parts;
use crate::report::{Report, Reports};

/// Number of this route in the shape of a manifest; the others have 0 and 1.
const ROUTE: u64 = 2;

/// A machine that takes part in an epoch.
pub(super) struct Epoch<'m> {
    pub(super) job: &'m Job,
    pub(super) rank: usize,
    pub(super) machines: usize,
    pub(super) reports: &'m Reports,
    pub(super) trust: &'m Trust,
    /// Address where lanes end.
    pub(super) at: IpAddr,
    /// Where the machines are, by rank.
    pub(super) addresses: Vec<IpAddr>,
    /// Incarnation of this machine, and how many epochs it has begun.
    pub(super) number: Number,
    pub(super) ending: Ending,
    pub(super) checkpoints: &'m Checkpoints,
    pub(super) progress: &'m EpochProgress,
    pub(super) account: &'m Account,
    /// Edges of the graph, as rank 0 has heard.
    pub(super) edges: Cell<u64>,
}

/// Result of a machine.
pub(super) struct Finished {
    pub(super) manifest: Arc<Manifest>,
    pub(super) parts: Parts,
}

/// Settings that rank 0 says.
struct Agreed {
    common: Common,
    cut: Arc<Partitions>,
    place: MachinePosition,
    /// The checkpoint that it begins with.
    from: Option<Due>,
    /// When rank 0 asks for one.
    interval: RefCell<Interval>,
}

impl Epoch<'_> {
    /// Comes to a result with the machines at the table.
    pub(super) fn run(&self, table: &mut Table) -> Result<Finished, Stop> {
        let agreed = self.agree(table)?;
        let Agreed { common, place, .. } = &agreed;
        let (at, directory) = (self.at, self.checkpoints.directory().path());
        let (settings, counts) = (&self.job.settings, self.account.counts());
        let site = Site { at, directory, common, settings, counts };
        let (open, offer) = Open::offer(*place, site)?;
        let offers = self.offers(table, &offer)?;
        // From here on a machine that is not reached may be behind a link that is cut.
        self.progress.has_tried_links.set(true);
        let led = open.lanes((*place, site), (&self.addresses, &offers), &self.ending)?;
        let Led { tx, rx, senders, kept } = led;
        let is_over = Arc::new(AtomicBool::new(false));
        let finished = scope(|scope| {
            let _over = Over { ending: &self.ending, is_over: &is_over };
            let starting = self.starting(&agreed);
            let threads = starting.start(scope, (tx, rx, senders), &is_over);
            let finished = threads.and_then(|threads| self.iterate(table, &agreed, &threads));
            if finished.is_err() {
                self.ending.end_epoch();
            }
            finished
        })?;
        if !kept.is_empty() {
            // No thread looks into a device now.
            self.barrier(table, Word::default(), |_| Ok(Vec::new()))?;
        }
        Ok(finished)
    }

    fn barrier(
        &self,
        table: &mut Table,
        word: Word,
        decide: impl FnOnce(&[Vec<u8>]) -> Result<Vec<u8>, Stop>,
    ) -> Result<Vec<u8>, Stop> {
        table.barrier(word.end(), (&self.ending, &|| Ok(())), decide)
    }

    fn agree(&self, table: &mut Table) -> Result<Agreed, Stop> {
        let Number { coordinator: incarnation, count } = self.number;
        let Settings { sub_ranges, senders, .. } = self.job.settings;
        let own = Word::default().number(sub_ranges.max(1) as u64).number(senders as u64);
        let answer = self.barrier(table, own.number(incarnation.into()), |words| {
            // No more than each has cores, and was planned, for.
            let (mut sub_ranges, mut senders, mut processes) = (u64::MAX, u64::MAX, 0_u64);
            for word in words {
                let mut reader = WordReader(word);
                sub_ranges = sub_ranges.min(reader.number()?);
                senders = senders.min(reader.number()?);
                processes = processes.wrapping_add(reader.number()?);
            }
            let mut key = [0; 32];
            let filled = SystemRandom::new().fill(&mut key);
            filled.map_err(|_| Stop::broken("the system has no random numbers"))?;
            let epoch = u64::from(incarnation.wrapping_shl(8).wrapping_add(count));
            let word = Word::default().number(epoch).number(sub_ranges).number(senders);
            Ok(word.bytes(&key).number(processes).end())
        })?;
        let mut reader = WordReader(&answer);
        let (epoch, sub_ranges) = (reader.number()? as u32, reader.number()?);
        let senders = reader.number()? as usize;
        let key = reader.bytes()?.try_into();
        let key: [u8; 32] = key.map_err(|_| Stop::broken("a secret of another length"))?;
        self.progress.processes.set(Some(reader.number()?));
        let (machines, vertices) = (self.machines, self.job.vertices);
        let widest = vertices.div_ceil(machines as u64 * sub_ranges).max(1);
        let cut = Partitions::fitting(machines, vertices, 1, widest);
        let cut = cut.ok_or_else(|| Stop::broken("a vertex fits"))?;
        let sub_ranges = cut.count() as usize / machines;
        let senders = senders.min(sub_ranges);
        let place = MachinePosition { rank: self.rank, machines, sub_ranges, senders };
        let from = self.checkpoint(table, &cut)?;
        let cut = match &from {
            Some(from) => cutting::of_bounds(machines, &from.bounds)?,
            None => self.cut_by_edges(table, place, &cut)?,
        };
        let protection = protection(self.trust, &self.job.settings);
        let common = Common { epoch, protection, secret: Secret::new(key), key };
        let interval = RefCell::new(Interval::new(self.job.settings.checkpoint_every));
        Ok(Agreed { common, cut: Arc::new(cut), place, from, interval })
    }

    /// Sub-ranges with about as many edges each, as many as of these even ones.
    fn cut_by_edges(
        &self,
        table: &mut Table,
        place: MachinePosition,
        even: &Partitions,
    ) -> Result<Partitions, Stop> {
        let MachinePosition { rank, machines, sub_ranges, .. } = place;
        let Job { input, vertices, .. } = self.job;
        let share = |thread| input((thread * machines + rank, even.count() as usize));
        let shares = (0..sub_ranges).map(share);
        let mine = cutting::weighed(shares, *vertices, &self.ending, || table.look())?;
        let answer = self.barrier(table, mine, |words| Ok(cutting::bounds(even, words)?.end()))?;
        cutting::cut(machines, &answer)
    }

    /// The newest checkpoint that all machines have, of as many sub-ranges as these.
    fn checkpoint(&self, table: &mut Table, even: &Partitions) -> Result<Option<Due>, Stop> {
        let sub_ranges = even.count() as usize / self.machines;
        let mine = Word::default().numbers(&self.checkpoints.whole(sub_ranges));
        let quiet: (_, Watch<'_>) = (&self.ending, &|| Ok(()));
        let answer = table.long_barrier(mine.end(), quiet, |table, words| {
            let of = |word: &Vec<u8>| WordReader(word).numbers();
            let all = words.iter().map(of).collect::<Result<Vec<_>, _>>()?;
            let candidates = all.first().into_iter().flatten().rev();
            let common = candidates.filter(|of| all.iter().all(|other| other.contains(of)));
            let most = self.job.vertices * self.job.kernel.kept_bytes().unwrap_or(0);
            for &iteration in common {
                // A large file takes long, and others wait.
                let read = table.attended(|| self.checkpoints.read(iteration, 0, most))?;
                let due = read?.due;
                if due.is_of(even) {
                    return Ok(due.word().end());
                }
            }
            Ok(Word::default().end())
        })?;
        if answer.is_empty() {
            return Ok(None);
        }
        Ok(Some(Due::read(&mut WordReader(&answer))?))
    }

    /// Facts that the threads of the machine must know.
    fn starting<'e>(&'e self, agreed: &'e Agreed) -> Starting<'e> {
        let Agreed { cut, place, from, .. } = agreed;
        let (job, checkpoints) = (self.job, self.checkpoints);
        let from = from.as_ref().map(|from| from.iteration);
        let threads = 2 * place.sub_ranges + place.senders;
        let cores = Cores::of(&self.addresses, place.rank, threads);
        let (place, rounds, ending) = (*place, self.rounds(cut), &self.ending);
        let account = self.account;
        Starting { job, checkpoints, cut, place, from, rounds, cores, ending, account }
    }

    fn rounds(&self, cut: &Partitions) -> Rounds {
        Rounds::new(cut, self.job.settings.passing_vertices)
    }

    /// Offers of all machines.
    fn offers(&self, table: &mut Table, offer: &[u64]) -> Result<Vec<Vec<u64>>, Stop> {
        let all =
            self.barrier(table, Word::default().numbers(offer), |words| Ok(words.concat()))?;
        let mut reader = WordReader(&all);
        (0..self.machines).map(|_| reader.numbers()).collect()
    }

    /// Meets barriers until there is a result.
    fn iterate(
        &self,
        table: &mut Table,
        agreed: &Agreed,
        threads: &Threads,
    ) -> Result<Finished, Stop> {
        let first = agreed.from.as_ref().map_or(0, |from| from.iteration);
        let mut kept = None;
        for step in 0_u64.. {
            let iteration = first + step;
            let mut turns: Vec<Turn> =
                threads.gather((table, &self.ending), |answer| match answer {
                    Answer::Turn(turn) => Some(*turn),
                    _ => None,
                })?;
            turns.sort_by_key(|turn| turn.sub_range);
            self.note((step == 0, iteration), agreed, &turns);
            let word = turns.iter().fold(Word::default(), |word, turn| {
                let word = word.bytes(&turn.total).number(turn.active).numbers(&turn.sent.updates);
                word.number(turn.folded.updates).number(turn.edges)
            });
            // A bucket for which others wait may never have arrived, as its thread finds out.
            let watch = (&self.ending, &(|| threads.look()) as Watch<'_>);
            let decide = |words: &[Vec<u8>]| self.decide((step, iteration), agreed, words);
            let answer = table.barrier(word.end(), watch, decide)?;
            self.progress.iteration.set(Some(iteration));
            let mut reader = WordReader(&answer);
            let (goes_on, control) = (reader.number()? == 1, Bytes::from(reader.bytes()?));
            let (is_due, edges) = (reader.number()? == 1, reader.number()?);
            // All have it, since all wrote it before their last words.
            if let Some(newest) = kept.take() {
                table.attended(|| self.checkpoints.forget_before(newest))??;
            }
            if !goes_on {
                threads.tell(|| Order::End);
                return self.finish(table, agreed, threads, (iteration, control));
            }
            let total = self.job.kernel.total_bytes();
            let last: Arc<[u8]> = control.get(..total).unwrap_or_default().into();
            let due = is_due.then(|| {
                let bounds = cutting::bounds_of(&agreed.cut);
                Due { iteration, edges, control: control[..].into(), bounds }
            });
            kept = due.as_ref().map(|due| due.iteration);
            threads.tell(|| Order::Iterate(iteration, last.clone(), due.clone()));
        }
        Err(Stop::broken("iterations end"))
    }

    /// Counts what the threads of this machine did, in the first step of the epoch or a later one.
    fn note(&self, (is_first, iteration): (bool, u64), agreed: &Agreed, turns: &[Turn]) {
        let took = turns.iter().map(|turn| turn.kept.1).max().unwrap_or_default();
        if !took.is_zero() {
            agreed.interval.borrow_mut().took(took);
        }
        self.account.add(turns, agreed.place, (is_first, iteration as u32));
    }

    /// The decision after an iteration, as rank 0 makes it of what all have said. In the first step
    /// of an epoch that begins with a checkpoint it is that of its barrier.
    fn decide(
        &self,
        (step, iteration): (u64, u64),
        agreed: &Agreed,
        words: &[Vec<u8>],
    ) -> Result<Vec<u8>, Stop> {
        let (cut, kernel) = (&agreed.cut, &self.job.kernel);
        let mut audit = Audit::new(cut.count() as usize, self.machines);
        let mut totals = vec![Vec::new(); cut.count() as usize];
        let (mut active, mut edges) = (0, 0);
        for (rank, word) in words.iter().enumerate() {
            let mut reader = WordReader(word);
            for sub_range in 0..agreed.place.sub_ranges {
                let partition = sub_range * self.machines + rank;
                totals[partition] = reader.bytes()?.to_vec();
                active += reader.number()?;
                audit.sent(&reader.numbers()?);
                audit.folded(partition, reader.number()?);
                edges += reader.number()?;
            }
        }
        audit.check(iteration)?;
        if step == 0 {
            self.edges.set(edges);
        }
        let width = kernel.total_bytes();
        if totals.iter().any(|total| total.len() != width) {
            return Err(Stop::broken("totals of another program"));
        }
        let rounds = self.rounds(cut);
        let (total, goes_on) = kernel.decide((iteration, active), &totals.concat(), &rounds);
        let control: Bytes = [&total[..], &active.to_le_bytes()].concat().into();
        let (goes_on, control) = match &agreed.from {
            Some(from) if step == 0 => {
                if from.edges != edges {
                    let what = "the input is another one than before".to_owned();
                    return Err(Stop::Failed { why: Exit::BadInput, what });
                }
                (true, from.control[..].into())
            }
            _ => (goes_on, control),
        };
        self.reports.say(Report::Decided(iteration as u32, control.clone()));
        let may_be_kept = goes_on && step > 0 && kernel.kept_bytes().is_some();
        let is_due = may_be_kept && agreed.interval.borrow_mut().is_due();
        let word = Word::default().number(goes_on.into()).bytes(&control);
        Ok(word.number(is_due.into()).number(self.edges.get()).end())
    }

    /// Gathers the result of this machine, and receives that of all.
    fn finish(
        &self,
        table: &mut Table,
        agreed: &Agreed,
        threads: &Threads,
        (iteration, control): (u64, Bytes),
    ) -> Result<Finished, Stop> {
        let ended: Vec<Ended> = threads.gather((table, &self.ending), |answer| match answer {
            Answer::Ended(ended) => Some(ended),
            _ => None,
        })?;
        let vertex_bytes = self.job.kernel.vertex_bytes();
        let chunk_bytes = self.job.settings.chunk_vertices * vertex_bytes;
        let (mut parts, mut edges) = (Parts::new(), 0);
        for ended in ended {
            let partition = (ended.sub_range * self.machines + self.rank) as u32;
            let chunks = ended.vertices.chunks(chunk_bytes.max(vertex_bytes));
            parts.extend(
                (0..).zip(chunks).map(|(chunk, bytes)| ((partition, chunk), Payload::from(bytes))),
            );
            edges += ended.edges;
        }
        let word = Word::default().number(edges).number(parts.len() as u64);
        let word = parts.iter().fold(word, |word, ((partition, chunk), payload)| {
            word.numbers(&[(*partition).into(), *chunk, payload.len() as u64, payload.hash()])
        });
        let manifest = self.barrier(table, word, |words| {
            Ok(self.manifest(agreed, (iteration, control), words)?.encode().to_vec())
        })?;
        let manifest = Manifest::decode(&manifest);
        let manifest = Arc::new(manifest.ok_or_else(|| Stop::broken("a manifest is whole"))?);
        Ok(Finished { manifest, parts })
    }

    /// The list of all parts, as rank 0 makes it of what all have said.
    fn manifest(
        &self,
        agreed: &Agreed,
        (iteration, control): (u64, Bytes),
        words: &[Vec<u8>],
    ) -> Result<Manifest, Stop> {
        let (mut parts, mut records) = (Vec::new(), 0);
        for word in words {
            let mut reader = WordReader(word);
            records += reader.number()?;
            for _ in 0..reader.number()? {
                let [partition, chunk, bytes, hash] = reader.numbers()?[..] else {
                    return Err(Stop::broken("a part has four numbers"));
                };
                parts.push(CheckpointShard {
                    partition: partition as u32,
                    chunk,
                    bytes: bytes as u32,
                    hash,
                });
            }
        }
        parts.sort_unstable();
        Ok(Manifest {
            shape: Shape {
                machines: self.machines as u64,
                partitions: agreed.cut.count().into(),
                vertices: self.job.vertices,
                bounds: agreed.cut.bounds_hash(),
                chunk_vertices: self.job.settings.chunk_vertices as u64,
                route: ROUTE,
            },
            committed: self.number,
            made: self.number,
            version: iteration as u32,
            finished: true,
            generation: Generation::default(),
            rewrites: false,
            control,
            active: Arc::default(),
            edges: Vec::new(),
            records,
            parts,
            scattered: None,
        })
    }
}
