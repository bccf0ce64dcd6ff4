//! One exchange of messages, over every kind of lanes.
//!
//! Each source sends numbered messages of a few iterations to each sink, which folds them into two
//! sums that swap. A message that is lost, folded twice, or folded in another iteration shows.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exchange;

use exchange::{Case, exchange};
use welter_transport::{Layout, SharedRx, SharedTx, memory_lanes};

const LAYOUTS: [Layout; 3] = [Layout::WHOLE, Layout::ETHERNET, Layout::DATAGRAM];

#[test]
fn memory() {
    for layout in LAYOUTS {
        for (sources, sinks) in [(1, 1), (2, 3)] {
            let (senders, receivers) = memory_lanes(sources, sinks, 3, layout);
            exchange(Case::default(), senders, receivers);
        }
    }
}

#[test]
fn shared_memory() {
    for layout in LAYOUTS {
        let mut senders: Vec<SharedTx> = (0..2).map(|_| SharedTx::default()).collect();
        let mut receivers: Vec<SharedRx> = (0..2).map(|_| SharedRx::default()).collect();
        for sender in &mut senders {
            for receiver in &mut receivers {
                let file = sender.create(3, layout).unwrap().try_clone_to_owned().unwrap();
                receiver.open(file, 3, layout).unwrap();
            }
        }
        exchange(Case::default(), senders, receivers);
    }
}
