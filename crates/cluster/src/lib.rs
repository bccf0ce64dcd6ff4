//! Machines of a cluster: the protocol's core, driven with threads, files and sockets.
//!
//! `welter_protocol` says what is to be done, and `welter_worker` computes; here it is done.
//!
//! ```text
//! host       starts machines, others in their place, takes the result   Threads, Processes, Peers
//!   machine  RunningMachine                                                     one a rank
//!     driver     the loop: events in, effects out; one thread
//!     disk       blocks and manifests in a folder; a few threads
//!     links      frames to and from peers over TCP; two threads a peer, and a listener
//!     program    the worker, behind codecs where chunks are compressed; a thread for each chunk
//!                that is streamed at a time, a scratch file
//! ```
//!
//! The meaning of an effect and of an event is written at [`welter_protocol::Effect`] and
//! [`welter_protocol::Event`]; the simulator (`crates/sim/src/world`) is the other driver, where
//! time is virtual and everything goes wrong.
//!
//! Before there is a run machines may read its input together, and hand each other bytes for that
//! (`exchange`).
//!
//! Machines of several computers come to the one of rank 0 (`peers`, `join`, `meeting`), and prove
//! by a key that they belong to it (`credentials`).
//!
//! On route `send` there is no protocol, disk or link: machines are of another kind ([`send`]), and
//! hosts, credentials and results are those of other routes.
//!
//! Not here: ids, output files and options, which are the command's.

mod activity;
mod ask;
mod attendance;
mod batches;
mod budget;
mod clock;
mod codecs;
mod compressed_worker;
mod control;
mod credentials;
mod disk;
mod driver;
mod error;
mod exchange;
mod footprint;
#[doc(hidden)]
pub mod fuzzing;
mod guests;
pub mod host;
mod join;
mod leaving;
mod links;
mod live;
mod meeting;
mod merged;
mod moved;
mod own_edges;
mod parts;
mod peers;
mod pool;
mod processes;
mod program;
mod recoveries;
mod renumbered;
mod report;
mod resources;
mod running;
mod scratch_file;
pub mod send;
mod serve;
mod settings;
mod share;
mod starter;
mod taking;
mod task;
mod threads;

pub use activity::Activity;
pub use ask::{Answer, Ask};
pub use batches::BatchCounter;
pub use budget::BIN_CHUNKS_MAX;
pub use codecs::{Codecs, DiskRates};
pub use compressed_worker::CompressedWorker;
pub use credentials::{Credentials, Trust};
pub use disk::copies::Copies;
pub use disk::folder::{Folder, Parts, Unread};
pub use disk::stale::{is_used, sweep};
pub use error::ClusterError;
pub use exchange::hub::Hub;
pub use exchange::{Member, Met};
pub use footprint::{Demand, Footprint, Rates, Widths, writing_bytes};
pub use host::Host;
pub use join::{Files, MakeOne, decline, join};
pub use leaving::remove_files;
pub use links::Bounds;
pub use links::counts::{Counted, Counts};
pub use live::{Live, Picture};
pub use meeting::{Seating, Verdict};
pub use merged::Merged;
pub use moved::{IterationsMoved, Moved, MovedByIteration, Moves};
pub use own_edges::OwnEdges;
pub use parts::{PartPlace, PartWriter, Unwritten};
pub use peers::Peers;
pub use processes::{MakeCommand, Processes};
pub use recoveries::Recovery;
pub use renumbered::{Numbers, Renumbered, marks};
pub use report::{Report, Reported, RequestCounter};
pub use running::{Reach, Run, RunningMachine};
pub use serve::serve;
pub use settings::Settings;
pub use share::{Share, own_edges};
pub use taking::{Inspect, ResultPlace, Written};
pub use task::Task;
pub use threads::{MakeTask, Threads};
pub use welter_worker::Worker;
