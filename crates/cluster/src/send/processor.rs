//! Processor time of a thread, for the figures of a run: time in which others had its core, or in
//! which it slept, is not in it; looks at lanes to which nothing has come are.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of a thread that has not begun yet, and then by intervals.
#[derive(Debug, Default)]
pub(super) struct ProcessorTime {
    /// Nanoseconds that were taken.
    taken: u64,
}

impl ProcessorTime {
    /// Nanoseconds that the calling thread has had since this was asked last, or since it began.
    pub(super) fn take(&mut self) -> u64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        let time = Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32);
        let now = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        now - std::mem::replace(&mut self.taken, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_add_up_to_the_time_of_a_thread() {
        let worked = std::thread::spawn(|| {
            let mut time = ProcessorTime::default();
            let mut sum = 0;
            // Until the clock of the thread has moved, however coarse it is.
            while sum < 2_000_000 {
                std::hint::black_box((0..1000_u64).sum::<u64>());
                sum += time.take();
            }
            (sum, ProcessorTime::default().take())
        });
        let (sum, all) = worked.join().unwrap();
        assert!(sum <= all, "{sum} of {all}");
    }
}
