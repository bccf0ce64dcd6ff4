//! The threads of a machine in an epoch: two for each sub-range, of the kind that its program has,
//! and those that send, if there are such.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use welter_protocol::partitions::Partitions;
use welter_transport::{Destination, Sender as Serving};

use super::Job;
use super::account::Account;
use super::checkpoint::Checkpoints;
use super::closing::Closing;
use super::computing::Computing;
use super::cores::Cores;
use super::edges::{Gathering, Room};
use super::ending::Ending;
use super::error::Stop;
use super::extending::Extending;
use super::folding::Folding;
use super::kernel::MessageKernel;
use super::lane_ends::{Rx, Tx};
use super::lanes::short_bytes_max;
use super::messages::Messages;
use super::outward::Outward;
use super::position::MachinePosition;
use super::rounds::Rounds;
use super::scattering::Scattering;
use super::senders::SenderThread;
use super::threads::{Threads, spawn};
use super::turns::{Answer, Channels, Order, Turns};

/// Facts of an epoch that threads must know.
pub(super) struct Starting<'e> {
    pub(super) job: &'e Job,
    pub(super) checkpoints: &'e Checkpoints,
    pub(super) cut: &'e Arc<Partitions>,
    pub(super) place: MachinePosition,
    /// Iteration of the checkpoint that it begins with.
    pub(super) from: Option<u64>,
    pub(super) rounds: Rounds,
    pub(super) cores: Cores,
    pub(super) ending: &'e Ending,
    /// Account that sender threads add their time to.
    pub(super) account: &'e Account,
}

/// Ends of a pair of threads.
struct Ends {
    rx: Rx,
    partition: u32,
    orders: Receiver<Order>,
    answers: Sender<Answer>,
    is_over: Arc<AtomicBool>,
    /// Cores of the computation thread and of the accumulator thread.
    cores: [Option<usize>; 2],
}

impl Starting<'_> {
    /// Starts the threads of each sub-range, and sender threads.
    ///
    /// # Errors
    /// When a thread cannot be had.
    pub(super) fn start<'s>(
        &self,
        scope: &'s Scope<'s, '_>,
        (tx, rx, senders): (Vec<Tx>, Vec<Rx>, Vec<Serving<Outward>>),
        is_over: &Arc<AtomicBool>,
    ) -> Result<Threads, Stop> {
        let Self { job, place, .. } = *self;
        let destinations: Vec<Destination> = (0..place.all())
            .map(|at| Destination {
                rank: (at % place.machines) as u16,
                sub_range: (at / place.machines) as u16,
            })
            .collect();
        let widths = (job.kernel.edge_bytes(), short_bytes_max(&job.settings));
        let ((answer, answers), mut orders) = (channel(), Vec::new());
        for (sub_range, (tx, rx)) in tx.into_iter().zip(rx).enumerate() {
            let partition = (sub_range * place.machines + place.rank) as u32;
            let (order, ordered) = channel();
            let is_over = is_over.clone();
            let cores = [0, 1].map(|of| self.cores.core(2 * sub_range + of));
            let ends =
                Ends { rx, partition, orders: ordered, answers: answer.clone(), is_over, cores };
            let messages = Messages::new(tx, &destinations, widths);
            self.pair(scope, (sub_range, messages), (ends, &answer))?;
            orders.push(order);
        }
        for (number, sender) in senders.into_iter().enumerate() {
            let core = self.cores.core(2 * place.sub_ranges + number);
            let (ending, is_over) = (self.ending.clone(), is_over.clone());
            let (counts, spent) = (self.account.counts().clone(), self.account.sending().clone());
            let sender = SenderThread { sender, core, ending, is_over, counts, spent };
            spawn(scope, "sender", &answer, move || sender.run())?;
        }
        Ok(Threads { orders, answers })
    }

    /// Starts the threads of a sub-range, at this place.
    fn pair<'s>(
        &self,
        scope: &'s Scope<'s, '_>,
        (sub_range, messages): (usize, Messages<Tx>),
        (ends, answer): (Ends, &Sender<Answer>),
    ) -> Result<(), Stop> {
        let Self { job, place, checkpoints, from, rounds, .. } = *self;
        let partition = ends.partition;
        let at = (self.cut.clone(), (sub_range, partition));
        let input = (job.input)((partition as usize, place.all()));
        let room_bytes = job.settings.grouped_bytes / place.sub_ranges as u64;
        match &job.kernel {
            MessageKernel::Fold(kernel) => {
                let ways_to_send = (job.settings.combine, job.settings.transport);
                let own = (self.cut.clone(), partition);
                let scattering = Scattering::new(kernel.clone(), own, ways_to_send);
                let own = (scattering, checkpoints.clone(), room_bytes);
                let (folding, ways) = self.joined(ends);
                let turns = Turns::new(at, messages, ways);
                let computing = Computing::new(kernel.clone(), turns, own);
                spawn(scope, "accumulator", answer, move || folding.run())?;
                spawn(scope, "computation", answer, move || computing.run(input, from))
            }
            MessageKernel::Extended(kernel) => {
                let (folding, ways) = self.joined(ends);
                let extending = Extending::new(kernel.clone(), Turns::new(at, messages, ways));
                spawn(scope, "accumulator", answer, move || folding.run())?;
                spawn(scope, "computation", answer, move || extending.run(input))
            }
            MessageKernel::Intersect(kernel) => {
                let (folding, ways) = self.joined(ends);
                let turns = Turns::new(at, messages, ways);
                let closing = Closing::new(kernel.clone(), turns, (rounds, room_bytes));
                spawn(scope, "accumulator", answer, move || folding.run())?;
                spawn(scope, "computation", answer, move || closing.run(input))
            }
        }
    }

    /// The accumulator thread of a sub-range, and the ways of the computation thread to it.
    fn joined<S>(&self, ends: Ends) -> (Folding<Rx, S>, Channels<S>) {
        let Self { job, place, checkpoints, .. } = *self;
        let Ends { rx, partition, orders, answers, is_over, cores: [core, other] } = ends;
        let ((whole, is_whole), (empty, is_empty)) = (channel(), channel());
        let kernel = &job.kernel;
        let room = Room {
            chunk_edges: job.settings.chunk_edges,
            stripe_vertices: job.settings.stripe_of(kernel),
            memory_bytes: job.settings.edge_bytes / place.sub_ranges as u64,
            state_bytes: kernel.state_bytes(),
            directory: checkpoints.directory().clone(),
        };
        let of = (partition, kernel.owned_end());
        let folding = Folding {
            lanes: rx,
            core: other,
            sources: place.all(),
            edges: Gathering::new(self.cut.clone(), of, (kernel.is_weighted(), room)),
            edge_bytes: kernel.edge_bytes(),
            message_bytes_max: kernel.message_bytes_max(self.cut),
            empty: is_empty,
            whole,
            is_over,
            faults: job.settings.faults.clone(),
        };
        (folding, Channels { orders, answers, whole: is_whole, empty, core })
    }
}
