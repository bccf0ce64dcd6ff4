//! Route `send`: an update waits nowhere but in a message, on its way to the machine that owns its
//! accumulator (`BlitzG`, 2015).
//!
//! ```text
//! machine          Sending       a thread for the order of things, epoch by epoch
//!   entrance       Entrance      other machines come to rank 0 by it
//!   watch          CallWatch     ends the machine where its disk or its input does not answer
//!   barrier        Table         a word of each machine, one answer for all
//!   epoch          Epoch         lanes and threads, from edges to a result
//!     sub-range    Computing     computation thread: reads, applies, scatters into buckets;
//!                                Extending where edges have states, Closing over triangles
//!                  Folding       accumulator thread: folds from the buffer that bytes arrived in
//!     any number   SenderThread  sender thread, by an option: sends for computation threads
//! ```
//!
//! | `BlitzG` | here |
//! |---|---|
//! | scatter writes into a bucket | `messages`: a sink of the kernels over a ring group |
//! | two accumulators a vertex, which swap | two sets of a sub-range, in `gathered` |
//! | updates that are grouped (CD) | appended, and put in runs when all have come: `gathered` |
//! | messages longer than a bucket | `bundles`: rows of neighbours |
//! | accumulator threads | `folding` |
//! | sender threads, each with several queues | `senders`, `outward`: an option |
//! | a core for each thread | `cores` |
//! | `last` markers, and a barrier | `folding`, `table` |
//! | apply and scatter while others send | `computing` |
//! | kernel-bypassing or other lower layers | `lanes`, of the crate `transport` |
//!
//! Programs are those that fold, groups included, those whose edges have states, and those over
//! triangles ([`MessageKernel`]). All vertices, accumulators and edges are in memory. The protocol
//! of Chaos has no
//! part in it: hosts, credentials and results are those of the other routes, and an iteration is a
//! loop of its own. Where a machine is lost the run continues from the last checkpoint that all
//! machines have on their disks ([`checkpoint`]), with edges that are read again; programs that do
//! not fold begin anew.

mod account;
mod audit;
mod bundles;
mod call_watch;
mod calls;
#[cfg(feature = "dpdk")]
mod cards;
mod checkpoint;
mod closing;
mod combining;
mod computing;
mod cores;
mod corners;
mod cutting;
mod doors;
mod edge_sender;
mod edges;
mod ending;
mod epoch;
mod error;
mod extending;
mod folding;
mod footprint;
mod gathered;
mod kernel;
mod lane_ends;
mod lanes;
mod losses;
mod machine;
mod message_runs;
mod messages;
mod outward;
mod position;
mod processor;
mod ranges;
mod rounds;
mod scattering;
mod seat;
mod senders;
mod signals;
mod starting;
mod table;
mod threads;
mod turns;
mod watched_input;
mod words;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use welter_worker::Input;

#[cfg(feature = "dpdk")]
pub use cards::Card;
pub use footprint::Demand;
pub use kernel::MessageKernel;
pub(crate) use machine::Sending;
pub use welter_transport::Faults;

/// Lower layer of lanes between machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// A connection of TCP for a pair of threads.
    #[default]
    Tcp,
    /// Datagrams of UDP, a socket for a thread.
    Udp,
    /// Memory that two processes of one computer map.
    Shared,
    /// Packets past the kernel, between processes: of one computer, or by network cards.
    #[cfg(feature = "dpdk")]
    Dpdk,
}

/// Whether updates are combined before they are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// Where that is expected to be cheaper.
    #[default]
    Auto,
    /// Always, in a program whose updates may be merged.
    Always,
    /// Never.
    Never,
}

/// Settings of route `send`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Way of buckets between machines.
    pub transport: Transport,
    /// Network card of [`Transport::Dpdk`]; none where machines are processes of one computer.
    #[cfg(feature = "dpdk")]
    pub card: Option<Card>,
    /// Sub-ranges of a machine, each with two threads: the least of all machines counts.
    pub sub_ranges: usize,
    /// Sender threads of a machine, which send what computation threads write: no more than there
    /// are sub-ranges, and the least of all machines counts. None: computation threads send
    /// themselves.
    pub senders: usize,
    /// Edges in a chunk, in memory.
    pub chunk_edges: usize,
    /// Destinations of a chunk, where edges are folded before they are sent.
    pub stripe_vertices: u64,
    /// Vertices in a chunk of the result.
    pub chunk_vertices: usize,
    /// Time between two checkpoints, at least; they take a twentieth of all time at most.
    pub checkpoint_every: Duration,
    /// Bytes of a machine for updates that wait for their group, or for rows of neighbours, at
    /// most.
    pub grouped_bytes: u64,
    /// Vertices of the graph whose rows of neighbours travel at a time, at most.
    pub passing_vertices: u64,
    /// Bytes of a machine for edges, at most; those beyond are read from its disk.
    pub edge_bytes: u64,
    /// Whether updates meet before they are sent.
    pub combine: Combine,
    /// Faults of datagrams and of folding, for tests.
    pub faults: Option<Faults>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            #[cfg(feature = "dpdk")]
            card: None,
            sub_ranges: 1,
            senders: 0,
            chunk_edges: 1 << 17,
            // Half a megabyte of accumulators of eight bytes, as on other routes.
            stripe_vertices: 1 << 16,
            chunk_vertices: 1 << 18,
            checkpoint_every: Duration::from_secs(1),
            grouped_bytes: u64::MAX,
            passing_vertices: 1 << 20,
            edge_bytes: u64::MAX,
            combine: Combine::default(),
            faults: None,
        }
    }
}

/// Makes a share of the input, by its number and the number of shares.
pub type MakeInput = Arc<dyn Fn((usize, usize)) -> Box<dyn Input> + Send + Sync>;

/// Program and input of a machine.
#[derive(Clone)]
pub struct Job {
    /// The program.
    pub kernel: MessageKernel,
    /// Vertices of the graph.
    pub vertices: u64,
    /// Makes shares of the input: a machine reads several.
    pub input: MakeInput,
    /// Settings.
    pub settings: Settings,
}

impl Job {
    /// A program on a graph of `vertices` vertices. A program over triangles wants edges in both
    /// directions, and a directed one weights that say which ways each leads
    /// ([`Duplicates::Directions`](welter_model::edges::Duplicates::Directions)).
    ///
    /// # Errors
    /// As of [`Self::check`]; when there are more vertices than the program has room for.
    pub fn new(
        kernel: impl Into<MessageKernel>,
        vertices: u64,
        input: MakeInput,
        settings: Settings,
    ) -> Result<Self, &'static str> {
        let kernel = kernel.into();
        Self::check(&kernel)?;
        if matches!(kernel, MessageKernel::Intersect(_)) && vertices > corners::VERTICES_MAX {
            return Err("entries of rows name 2^31 vertices at most");
        }
        Ok(Self { kernel, vertices, input, settings })
    }

    /// Checks that messages can carry what a program sends.
    ///
    /// # Errors
    /// When that is longer than messages may be, or first values look at edges that are elsewhere.
    pub fn check(kernel: &MessageKernel) -> Result<(), &'static str> {
        if kernel.record_bytes() > messages::RECORD_BYTES_MAX {
            return Err("an update is longer than a message may be");
        }
        if let MessageKernel::Extended(kernel) = kernel
            && kernel.shape().capabilities.degrees
        {
            return Err("its vertices begin with how many edges leave them, which lie with others");
        }
        Ok(())
    }

    /// Bytes of a vertex in the result, as machines of other routes store it.
    pub fn vertex_bytes(kernel: &MessageKernel) -> u64 {
        kernel.vertex_bytes() as u64
    }
}
