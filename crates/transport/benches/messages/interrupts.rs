//! Lanes whose receiver sleeps until it is woken for a bucket, instead of polling.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use welter_transport::{Arrived, Destination, LaneError, Layout, RingGroup, RxLane};

use crate::measure::{Cost, processor_nanos};
use crate::pipe::{Sums, fold_run, message};

/// Buckets that are sent.
const ROUNDS: usize = 20_000;

/// Costs of a message where each bucket of this layout wakes a thread.
pub(crate) fn woken(layout: Layout, targets: &[u32]) -> Result<Cost, LaneError> {
    let (sender, mut receiver) = crate::lanes::memory(layout);
    let bell = Arc::new(eventfd(0, EventfdFlags::empty()).map_err(std::io::Error::from)?);
    let folded = Arc::new(AtomicUsize::new(0));
    let (event, counted) = (bell.clone(), folded.clone());
    let full = layout.messages(8);
    let thread = std::thread::spawn(move || {
        let (mut sums, begin) = (Sums::new(), processor_nanos());
        while counted.load(Ordering::Relaxed) < ROUNDS {
            let mut rings = [0; 8];
            rustix::io::read(&*event, &mut rings).expect("the event can be read");
            let mut fold = |arrived: &Arrived<'_>| {
                arrived.runs().for_each(|run| fold_run(run, &mut sums));
                counted.fetch_add(1, Ordering::Release);
            };
            receiver.poll(&mut fold).expect("lanes hold");
        }
        processor_nanos() - begin
    });
    let mut group = RingGroup::new(sender, &[Destination::default()], 8);
    let mut send = 0;
    group.send(0, &message(0, 0.5))?;
    for round in 0..ROUNDS {
        let begin = processor_nanos();
        // The first message of the next bucket sends this one.
        for index in 0..full {
            group.send(0, &message(targets[index % targets.len()], 0.5))?;
        }
        rustix::io::write(&*bell, &1_u64.to_ne_bytes()).map_err(std::io::Error::from)?;
        send += processor_nanos() - begin;
        while folded.load(Ordering::Acquire) <= round {
            std::thread::yield_now();
        }
    }
    let receive = thread.join().expect("the receiver does not panic");
    let messages = (ROUNDS * full) as f64;
    Ok(Cost { send: send as f64 / messages, receive: receive as f64 / messages })
}
