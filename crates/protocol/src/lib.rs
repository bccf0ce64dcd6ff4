//! The protocol of Chaos as a pure core.
//!
//! [`Machine::step`] takes the time and an [`Event`] and says what is to be done as [`Effect`]s. No
//! thread, clock, file or socket is in here, so that the same code runs on real machines and in a
//! simulator that tries to break it. Bulk work on edges stays outside too: chunks are [`Payload`]s
//! that are handed on, and [`Work`] is what the program on the host does with them.
//!
//! | Chaos | here |
//! |---|---|
//! | streaming partitions (section 3) | [`partitions`], [`ranges`], `ingest` |
//! | computation engine (section 5, Figure 4) | `computation_engine`, `pulls`, [`work`] |
//! | work stealing (5.3), the criterion (5.4) | [`steal`], `accumulators` |
//! | storage engine, chunks (6.1 to 6.4) | `storage_engine`, [`placement`], [`block`] |
//! | centralised chunk directory (10.1), to be compared with | `directory` |
//! | batch factor, equations 1 and 2 (6.5) | [`window`] |
//! | breakdown of the time (10.2, Figure 16) | [`times`] |
//! | two-phase checkpoints (6.6) | [`checkpoint`], `barrier`, `coordinator` |
//! | (not in the paper) | `membership`, `recovery`, [`failure`], `ending` |
//! | (not in the paper) | [`channel`], [`ack`], [`audit`], [`wire`], [`payload`] |
//!
//! **Invariant:** two runs that are shown the same events do the same. There is no map here whose
//! order is not that of its keys, and every random number comes from a seed. Tested by
//! `a_seed_does_again_what_it_did`.

mod accumulators;
pub mod ack;
pub mod audit;
mod barrier;
pub mod block;
mod carrying;
pub mod channel;
pub mod checkpoint;
mod computation_engine;
pub mod config;
mod context;
mod coordinator;
pub mod counters;
mod directory;
mod due;
mod ending;
pub mod failure;
mod holders;
pub mod ids;
mod ingest;
mod machine;
mod membership;
pub mod messages;
mod pages;
pub mod partitions;
pub mod payload;
pub mod placement;
pub mod planted;
mod pulls;
pub mod random;
pub mod ranges;
mod recovery;
pub mod rewriting;
pub mod steal;
mod storage_engine;
pub mod times;
pub mod weights;
pub mod window;
pub mod wire;
pub mod work;

pub use config::Config;
pub use ids::{Rank, Time};
pub use machine::Machine;
pub use messages::{Effect, Event};
pub use payload::Payload;
pub use work::{Outcome, Work};
