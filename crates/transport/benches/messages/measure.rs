//! Processor time of a thread, and the rounds in which it is measured.

use rustix::time::{ClockId, clock_gettime};

use crate::pipe::{Pipe, Sums};

/// Repetitions, of which the least is taken: others work on the same cores.
pub(crate) const REPETITIONS: usize = 7;

/// Messages that each of them sends.
pub(crate) const MESSAGES: usize = 4 << 20;

/// Nanoseconds a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) send: f64,
    pub(crate) receive: f64,
}

impl Cost {
    pub(crate) fn both(self) -> f64 {
        self.send + self.receive
    }
}

/// Processor time of this thread, in nanoseconds: time in which others run is not in it.
pub(crate) fn processor_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sends and receives by turns on one thread, so that neither waits for the other.
pub(crate) fn measured(pipe: &mut dyn Pipe, targets: &[u32]) -> Cost {
    let mut best = Cost { send: f64::MAX, receive: f64::MAX };
    let mut sums = Sums::new();
    for _ in 0..REPETITIONS {
        let (mut send, mut receive, mut sent, mut received) = (0, 0, 0, 0);
        while sent < MESSAGES {
            let begin = processor_nanos();
            pipe.send(targets, 0.5);
            let between = processor_nanos();
            received += pipe.receive(&mut sums);
            send += between - begin;
            receive += processor_nanos() - between;
            sent += targets.len();
        }
        // Messages that wait in the open bucket of one repetition comes in the next one.
        assert!(received > sent / 2, "most of what is sent arrives");
        best.send = best.send.min(send as f64 / sent as f64);
        best.receive = best.receive.min(receive as f64 / received as f64);
    }
    best
}
