//! Costs of a message by the three roles of the paper (Figure 6): a worker that hands full buckets
//! to a sender thread, that thread, and an accumulator thread. They take turns on one thread, as
//! both ends of lanes do in the other rows, so that waiting is not in the times.

use std::array::from_fn;

use welter_transport::{
    Arrived, Carrier, Destination, LaneError, Layout, Protection, RingGroup, RxLane, Sender,
    TxLane, queues,
};

use crate::lanes;
use crate::measure::{MESSAGES, REPETITIONS, processor_nanos};
use crate::numbers::Numbers;
use crate::pipe::{Sums, fold_run, message};

/// Buckets of the worker: more than are under way before an acknowledgement comes.
const BUCKETS: usize = 40;

const ROLES: [&str; 3] = ["worker", "sender", "accumulator"];

/// Measures the roles over UDP, and prints them.
pub(crate) fn measure(targets: &[u32], numbers: &mut Numbers) -> Result<(), LaneError> {
    println!("\nby role, bucket of 64 KiB: ns an 8-byte message ({})", ROLES.join(", "));
    let layout = Layout::ETHERNET;
    for (name, protection) in [("udp", Protection::Trusted), ("udp-sealed", Protection::Sealed)] {
        let (carrier, receiver) = lanes::udp(layout, protection)?;
        let nanos = turns(carrier, receiver, (layout, targets))?;
        let [worker, sender, accumulator] = nanos;
        println!("{name:<36}{worker:>8.2}{sender:>9.2}{accumulator:>8.2}");
        for (role, nanos) in ROLES.into_iter().zip(nanos) {
            numbers.put(&format!("{name}-roles.{role}"), nanos);
        }
    }
    Ok(())
}

/// Nanoseconds of a message of each role, the least of all repetitions.
fn turns<C: Carrier, R: RxLane>(
    carrier: C,
    mut receiver: R,
    (layout, targets): (Layout, &[u32]),
) -> Result<[f64; 3], LaneError> {
    let (queued, served) = queues(0, 1, BUCKETS, layout);
    let mut sender = Sender::new(carrier, vec![served]);
    let mut group = RingGroup::new(queued, &[Destination::default()], 8);
    let (mut sums, mut best) = (Sums::new(), [f64::MAX; 3]);
    for _ in 0..REPETITIONS {
        let (mut nanos, mut sent, mut received) = ([0_u64; 3], 0, 0);
        while sent < MESSAGES {
            let begin = processor_nanos();
            write(&mut group, targets)?;
            let written = processor_nanos();
            while sender.poll()? > 0 {}
            let carried = processor_nanos();
            let mut fold = |arrived: &Arrived<'_>| {
                for run in arrived.runs() {
                    received += run.len() / 8;
                    fold_run(run, &mut sums);
                }
            };
            while receiver.poll(&mut fold)? > 0 {}
            let spent = [written - begin, carried - written, processor_nanos() - carried];
            nanos = from_fn(|role| nanos[role] + spent[role]);
            sent += targets.len();
        }
        assert!(received > sent / 2, "most of what is sent arrives");
        let messages = [sent, sent, received];
        best = from_fn(|role| (nanos[role] as f64 / messages[role] as f64).min(best[role]));
    }
    Ok(best)
}

/// Writes a message to each target, in runs, as the kernels of the engine do.
fn write<L: TxLane>(group: &mut RingGroup<L>, targets: &[u32]) -> Result<(), LaneError> {
    let mut left = targets;
    while !left.is_empty() {
        let room = group.room(0)?.as_chunks_mut::<8>().0;
        let count = room.len().min(left.len());
        let (now, later) = left.split_at(count);
        room.iter_mut().zip(now).for_each(|(slot, &target)| *slot = message(target, 0.5));
        group.filled(0, 8 * count, count as u64);
        left = later;
    }
    Ok(())
}
