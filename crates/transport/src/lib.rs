//! Messages at line rate: buckets, rings and lanes, from the thread that makes an update to the
//! thread that folds it ("`BlitzG`", 2015).
//!
//! ```text
//! worker        RingGroup    a ring of buckets for each (machine, sub-range); messages are written
//!                            into the bucket that travels
//!   queues      descriptor queues to sender threads, where workers do not send for themselves
//! lane          TxLane ... RxLane
//!   memory_lane     the bucket itself, between threads
//!   shared_lane     slots of a region that two processes map
//!   tcp             a connection a pair of threads
//!   endpoint        connections over datagrams that are lost, repeated and reordered
//!     udp               buckets of many datagrams in one call (GSO, GRO)
//!     dpdk              past the kernel, from and into the memory of packets (a feature)
//!     faults            datagrams that tests lose, repeat, delay or damage
//!     arrivals          from datagrams to folded buckets
//!     connection        numbers, acknowledgements, re-sends; pure, without clock and socket
//!     guard             one seal on a bucket: encrypted, under a tag
//!     parts             buckets of which parts were lost or overtaken
//! accumulator   folds from the buffer that the bytes arrived in
//!   joined          messages that are longer than a bucket, put together
//! ```
//!
//! A *bucket* holds messages of one width to one sub-range, which one thread owns: no lock, no
//! queue of a vertex, no copy and no allocation lies on the path of a message. Buckets are made
//! once and circulate; a ring that has none left makes its worker wait, and that is the flow
//! control.
//!
//! ```
//! use welter_transport::{Destination, Layout, RingGroup, RxLane, memory_lanes};
//!
//! let (mut senders, mut receivers) = memory_lanes(1, 1, 4, Layout::WHOLE);
//! let to = [Destination { rank: 0, sub_range: 0 }];
//! let mut group = RingGroup::new(senders.remove(0), &to, 8);
//! group.send(0, &7_u64.to_le_bytes())?;
//! group.end_iteration()?;
//!
//! let mut sum = 0;
//! receivers[0].poll(&mut |bucket| {
//!     sum += bucket.messages::<8>().map(|message| u64::from_le_bytes(*message)).sum::<u64>();
//! })?;
//! assert_eq!(sum, 7);
//! # Ok::<(), welter_transport::LaneError>(())
//! ```
//!
//! Not here: what a message means, which machine owns a vertex, and who the machines are.

mod arrivals;
mod bucket;
mod connection;
mod datagrams;
#[cfg(feature = "dpdk")]
pub mod dpdk;
mod endpoint;
mod faults;
#[cfg(any(test, feature = "dpdk"))]
#[cfg_attr(
    not(feature = "dpdk"),
    expect(dead_code, unreachable_pub, reason = "without the feature it is tested, not used")
)]
mod frames;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod header;
mod joined;
mod lane;
mod memory;
mod memory_lane;
mod parts;
mod patience;
mod queues;
mod region;
mod rings;
mod shared_lane;
#[cfg(any(test, feature = "dpdk"))]
mod spread;
mod tcp;
mod udp;

pub use arrivals::EndpointCounts;
pub use bucket::{Arrived, Bucket, HEADROOM_BYTES, Layout};
pub use connection::{Admission, Bounds, Connection, Nanos};
pub use datagrams::{Came, Clock, Datagrams};
pub use endpoint::{Endpoint, EndpointSettings};
pub use faults::{Faults, Faulty};
pub use guard::{End, Protection, Secret};
pub use header::{Ack, HEAD_BYTES, Header, SEGMENT_HEAD_BYTES, SegmentHead};
pub use joined::Joined;
pub use lane::{LaneError, RxLane, TxLane};
pub use memory_lane::{MemoryRx, MemoryTx, memory_lanes};
pub use patience::Patience;
pub use queues::{Carrier, Queued, Sender, Served, queues};
pub use rings::{Destination, RingGroup};
pub use shared_lane::{SharedRx, SharedTx};
pub use tcp::{StreamSettings, TcpRx, TcpTx};
pub use udp::Udp;
