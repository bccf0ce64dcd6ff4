//! Cores of the threads of a machine: one for each, where the computer has as many for all machines
//! on it (`BlitzG` binds each thread to a logical core).
//!
//! ```text
//! thread    0, 2, ..   computation threads        1, 3, ..   their accumulator threads
//! core      cores of the process, from that of the first machine of the computer on, in turns
//! ```
//!
//! Threads poll, and one that has no core of its own takes turns with another one: the system puts
//! a thread that is woken beside the one that woke it. Machines with one address share a computer,
//! so each has other cores than they. Where cores are too few, or time on them is bounded
//! beside their number, the system decides, as it does for the thread of a machine.
//!
//! **Invariant:** no two threads of machines with one address have the same core, as far as all
//! have the same number of threads. Tested by `threads_of_a_computer_have_different_cores`.

use std::net::IpAddr;
use std::thread::available_parallelism;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Cores of the threads of a machine, by the number of the thread; none where they are too few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cores(Vec<usize>);

impl Cores {
    /// Cores of this process for `threads` threads of the machine of this rank. `addresses`: where
    /// all machines are, by rank.
    pub(super) fn of(addresses: &[IpAddr], rank: usize, threads: usize) -> Self {
        let Ok(all) = sched_getaffinity(None) else { return Self::default() };
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)).collect();
        // A control group may bound time, of which as many cores would be a part alone.
        let is_bounded = available_parallelism().map_or(1, usize::from) < all.len();
        if is_bounded { Self::default() } else { Self::among(&all, (addresses, rank), threads) }
    }

    fn among(cores: &[usize], (addresses, rank): (&[IpAddr], usize), threads: usize) -> Self {
        let here = addresses.get(rank);
        let mut same = (0..addresses.len()).filter(|&other| addresses.get(other) == here);
        let Some(first) = same.next() else { return Self::default() };
        let machines = 1 + same.clone().count();
        if machines * threads > cores.len() {
            return Self::default();
        }
        let before = usize::from(rank > first) + same.filter(|&other| other < rank).count();
        // Computers that are parts of one, and do not know it, begin with other cores.
        let begin = (first + before) * threads;
        Self((begin..begin + threads).map(|place| cores[place % cores.len()]).collect())
    }

    /// The core of a thread.
    pub(super) fn core(&self, thread: usize) -> Option<usize> {
        self.0.get(thread).copied()
    }
}

/// Binds the calling thread, and threads that it starts from now on, to a core. A system that does
/// not allow it leaves the thread where it is, which is slower and nothing else.
pub(super) fn bind(core: Option<usize>) {
    if let Some(core) = core {
        let mut own = CpuSet::new();
        own.set(core);
        let _ = sched_setaffinity(None, &own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(lasts: &[u8]) -> Vec<IpAddr> {
        lasts.iter().map(|&last| [10, 0, 0, last].into()).collect()
    }

    #[test]
    fn threads_of_a_computer_have_different_cores() {
        let cores = [0, 1, 2, 3, 8, 9, 10, 11];
        for lasts in [&[1, 1, 1, 1][..], &[1, 2, 1, 2, 1], &[2, 1, 1, 1, 1], &[1, 2, 3]] {
            let addresses = addresses(lasts);
            for computer in [1, 2, 3] {
                let ranks = (0..lasts.len()).filter(|&rank| lasts[rank] == computer);
                let of = |rank| Cores::among(&cores, (&addresses, rank), 2).0;
                let mut taken: Vec<usize> = ranks.clone().flat_map(of).collect();
                assert_eq!(taken.len(), 2 * ranks.count(), "{lasts:?}");
                taken.sort_unstable();
                assert!(taken.is_sorted_by(|one, next| one < next), "{lasts:?}: {taken:?}");
                assert!(taken.iter().all(|core| cores.contains(core)), "{lasts:?}: {taken:?}");
            }
        }
    }

    #[test]
    fn more_threads_than_cores_go_where_they_like() {
        let found = |lasts: &[u8], threads| Cores::among(&[4, 5], (&addresses(lasts), 0), threads);
        assert_eq!(found(&[1], 2), Cores(vec![4, 5]));
        assert_eq!(found(&[1, 2], 2), Cores(vec![4, 5]));
        assert_eq!(found(&[1, 1], 1), Cores(vec![4]));
        assert_eq!(found(&[1, 1], 2), Cores::default());
        assert_eq!(found(&[1], 3), Cores::default());
        assert_eq!(found(&[1], 3).core(0), None);
    }

    #[test]
    fn a_thread_that_is_bound_runs_on_its_core() {
        let all = sched_getaffinity(None).unwrap();
        let core = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core)).max();
        let own = std::thread::spawn(move || {
            bind(core);
            sched_getaffinity(None).unwrap()
        });
        let own = own.join().unwrap();
        assert!(own.count() == 1 && own.is_set(core.unwrap()));
    }
}
