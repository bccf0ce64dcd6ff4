//! Facts of the machine, what a process took of it, and which cores it may run on.

use std::fs;

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use welter_engine::Machine;
use welter_engine::plan::human_bytes;

/// One line that says what the figures were measured on.
pub(crate) fn describe() -> String {
    let machine = Machine::detect();
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split(':').nth(1)?.trim().to_owned())
    };
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned());
    let memory = field("/proc/meminfo", "MemTotal").unwrap_or_else(|| "unknown".to_owned());
    let huge = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    let huge = huge.as_deref().and_then(|text| text.split(['[', ']']).nth(1)).unwrap_or("unknown");
    format!(
        "{processor}, {} cores, L1 {}, L2 {}, L3 {}, memory {memory}, huge pages: {huge}",
        machine.cores,
        human_bytes(machine.l1_bytes),
        human_bytes(machine.l2_bytes),
        human_bytes(machine.l3_bytes),
    )
}

/// Processor time and pages that this process has used up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Largest resident set, bytes.
    pub(crate) peak_bytes: u64,
    /// Pages that were touched for the first time.
    pub(crate) faults: u64,
    /// Seconds of processor time inside the kernel, all threads.
    pub(crate) system_seconds: f64,
}

impl Usage {
    /// Asks the kernel. What it does not say is 0.
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|text| text.trim().strip_suffix("kB")?.trim().parse().ok());
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Fields are counted behind the name of the program, which may hold anything.
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let field = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok());
        Self {
            peak_bytes: kilobytes.unwrap_or(0_u64) * 1024,
            faults: field(7).unwrap_or(0),
            // Ticks are hundredths of a second on every Linux.
            system_seconds: field(12).unwrap_or(0) as f64 / 100.0,
        }
    }
}

/// Keeps a thread, and those that it starts, on some cores until dropped.
pub(crate) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Confines the calling thread to the first `cores` of the cores that it may run on.
    pub(crate) fn to(cores: usize) -> Result<Self> {
        let before = sched_getaffinity(None).context("asking for the cores of this thread")?;
        let mut fewer = CpuSet::new();
        let allowed = (0..CpuSet::MAX_CPU).filter(|&core| before.is_set(core));
        allowed.take(cores).for_each(|core| fewer.set(core));
        sched_setaffinity(None, &fewer).context("confining this thread to some cores")?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The cores were allowed before; should that have changed, the smaller set stays.
        let _ = sched_setaffinity(None, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_something() {
        assert!(Usage::now().peak_bytes > 0);
        assert!(Usage::now().faults > 0);
        assert!(describe().contains("cores"));
    }

    #[test]
    fn pinning_is_undone() {
        let cores = || std::thread::available_parallelism().map_or(0, usize::from);
        let all = cores();
        {
            let _pinned = Pinned::to(1).unwrap();
            assert_eq!(cores(), 1);
        }
        assert_eq!(cores(), all);
    }
}
