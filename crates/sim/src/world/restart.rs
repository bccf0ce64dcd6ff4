//! The power of a whole cluster goes, and another one, maybe of another size, starts on its disks.

use super::World;
use crate::fault_counts::Kind;
use crate::schedule::Before;

impl World<'_> {
    /// Lets another schedule happen until its power goes, and takes over what it leaves: time,
    /// disks, what is known of incarnations, and, where the cluster has the same shape, what
    /// checkers know.
    pub(super) fn inherit(&mut self, before: &Before) {
        let mut first = World::new(&before.schedule);
        first.until = before.until;
        first.trace = self.trace.take().map(|_| Vec::new());
        first.live();
        self.now = first.now;
        self.hash = first.hash;
        self.events = first.events;
        for process in &first.processes {
            first.counters.add(process.machine.counters());
        }
        self.counters = first.counters;
        self.worked = first.worked;
        self.fault_counts.add(&first.fault_counts);
        self.fault_counts.add(&first.network.fault_counts);
        let same = self.schedule.config.shape() == before.schedule.config.shape();
        if same {
            self.checkers = first.checkers;
        } else {
            self.checkers.failure = first.checkers.failure.take();
        }
        self.excuses.reshaped = !same && self.refuses();
        self.fault_counts.count(if same { Kind::PowerOfAll } else { Kind::OtherCluster });
        for rank in 0..self.current.len().min(first.current.len()) {
            self.incarnations[rank] = first.incarnations[rank];
            if let Some(at) = first.current[rank] {
                let disk = &mut first.disks[first.processes[at].disk];
                disk.crash(self.now, &mut self.random);
                // Only now does a machine need a manifest: till then all know what it says.
                if same && self.random.chance(300) && disk.rot_manifest(&mut self.random) {
                    self.checkers.disk_harmed();
                    self.excuses.lost |= self.refuses();
                }
                std::mem::swap(&mut self.disks[rank], disk);
            }
        }
        if let Some(mut trace) = first.trace {
            trace.push(format!("{:>10.3} ms      !! the power goes", self.now as f64 / 1e6));
            self.trace = Some(trace);
        }
    }
}
