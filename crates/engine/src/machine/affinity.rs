//! Workers that keep to a core each while chunks come from storage.
//!
//! A worker that waits for a slab is woken on the core that heard of it, beside another worker, and
//! a core that is idle for less than half a millisecond at a time does not look for work elsewhere:
//! two workers shared one core, 4 ms each, while the other core did nothing. Ten iterations of
//! R-MAT 24 with all edges on storage, compressed, two workers on two cores: they waited 96 times
//! an iteration each, five times of them for 4 ms, two fifths of what they waited in all. In
//! turns, kept graph, 20 iterations: 0.84 to 0.90 G edges a second without (five runs; 0.72 to 0.91
//! in all of that day), 0.92 to 1.00 with cores of their own and 0.89 to 0.98 with a third worker
//! instead (ten runs each).
//!
//! Only where there are as many workers as cores that this process may use: fewer find a free one,
//! and would lose it to whatever else runs there.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::machine::workers::Workers;

/// Until this is dropped.
pub(crate) struct PinnedWorkers<'w> {
    workers: &'w Workers,
    /// Cores that workers may use otherwise; `None` where they do.
    all: Option<CpuSet>,
}

impl<'w> PinnedWorkers<'w> {
    /// Gives each worker a core, if that is `wanted`: where chunks come from storage. A system that
    /// does not allow it leaves workers where they are, which is slower and nothing else.
    pub(crate) fn new(workers: &'w Workers, wanted: bool) -> Self {
        let all = sched_getaffinity(None).ok().filter(|_| wanted);
        let cores = all.as_ref().map_or_else(Vec::new, cores);
        if cores.len() != workers.threads() {
            return Self { workers, all: None };
        }
        workers.all(|worker| {
            let mut own = CpuSet::new();
            own.set(cores[worker]);
            let _ = sched_setaffinity(None, &own);
        });
        Self { workers, all }
    }
}

impl Drop for PinnedWorkers<'_> {
    fn drop(&mut self) {
        if let Some(all) = self.all {
            self.workers.all(|_| {
                let _ = sched_setaffinity(None, &all);
            });
        }
    }
}

/// Numbers of the cores in a set.
fn cores(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cores that each worker may use.
    fn of_each(workers: &Workers) -> Vec<Vec<usize>> {
        workers.all(|_| cores(&sched_getaffinity(None).unwrap()))
    }

    #[test]
    fn each_worker_has_a_core_of_its_own_for_a_while() {
        let all = cores(&sched_getaffinity(None).unwrap());
        let workers = Workers::new(all.len()).unwrap();
        let kept = PinnedWorkers::new(&workers, true);
        assert!(of_each(&workers).iter().zip(&all).all(|(own, core)| own == &[*core]));
        drop(kept);
        assert!(of_each(&workers).iter().all(|own| own == &all));
        let _kept = PinnedWorkers::new(&workers, false);
        assert!(of_each(&workers).iter().all(|own| own == &all));
    }

    #[test]
    fn more_or_fewer_workers_than_cores_go_where_they_like() {
        let all = cores(&sched_getaffinity(None).unwrap());
        for threads in [all.len() + 1, all.len() - 1].into_iter().filter(|threads| *threads > 0) {
            let workers = Workers::new(threads).unwrap();
            let _kept = PinnedWorkers::new(&workers, true);
            assert!(of_each(&workers).iter().all(|own| own == &all), "{threads}");
        }
    }
}
