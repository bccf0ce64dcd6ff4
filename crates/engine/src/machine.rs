//! What this machine has: cores, caches, memory.

use std::fs;
use std::path::Path;

/// The figures that a plan is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// First-level data cache of a core, bytes.
    pub l1_bytes: u64,
    /// Second-level cache of a core, bytes.
    pub l2_bytes: u64,
    /// Last-level cache, all cores together, bytes.
    pub l3_bytes: u64,
    /// Memory that this process may still take: what the system or its control group leaves.
    pub memory_bytes: u64,
}

impl Machine {
    /// Asks the system. What it does not say is taken to be small.
    pub fn detect() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            cores,
            l1_bytes: cache_bytes(1).unwrap_or(32 << 10),
            l2_bytes: cache_bytes(2).unwrap_or(1 << 20),
            l3_bytes: cache_bytes(3).unwrap_or(8 << 20),
            memory_bytes: available_bytes(),
        }
    }
}

/// Size of the data or unified cache of a level, as Linux describes the first processor.
fn cache_bytes(level: u32) -> Option<u64> {
    let root = Path::new("/sys/devices/system/cpu/cpu0/cache");
    (0..8).map(|index| root.join(format!("index{index}"))).find_map(|cache| {
        let field = |name: &str| fs::read_to_string(cache.join(name)).ok();
        let right = field("level")?.trim() == level.to_string();
        let data = field("type")?.trim() != "Instruction";
        (right && data).then(|| parse_size(field("size")?.trim())).flatten()
    })
}

/// Parses `48K`, `2048K`, `32M`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The smaller of what the system has available and what the control group still allows.
fn available_bytes() -> u64 {
    let system = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| meminfo_bytes(&text, "MemAvailable:"))
        .unwrap_or(1 << 30);
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let groups = [
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ];
    groups
        .into_iter()
        .filter_map(|(limit, used)| Some(number(limit)?.saturating_sub(number(used)?)))
        .fold(system, u64::min)
}

fn meminfo_bytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_something_of_everything() {
        let machine = Machine::detect();
        assert!(machine.cores >= 1);
        assert!(machine.l1_bytes >= 8 << 10 && machine.l2_bytes >= machine.l1_bytes);
        assert!(machine.memory_bytes > 0);
    }

    #[test]
    fn sizes_are_read_as_linux_writes_them() {
        assert_eq!(parse_size("48K"), Some(48 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("x"), None);
        assert_eq!(meminfo_bytes("A: 1 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12288));
    }
}
