//! Figures of this machine: cores, caches, memory.

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

/// The smaller of what the system has available and what the control groups still allow: that of
/// this process and those around it.
fn available_bytes() -> u64 {
    let system = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| meminfo_bytes(&text, "MemAvailable:"))
        .unwrap_or(1 << 30);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().filter_map(memory_group);
    // A container sees its own group as the root, whatever the first file says.
    let roots = [(V1, ""), (V2, "")].into_iter();
    let folders = own.flat_map(|(version, path)| {
        Path::new(path.trim_start_matches('/')).ancestors().map(move |path| (version, path))
    });
    let folders = folders.chain(roots.map(|(version, path)| (version, Path::new(path))));
    folders.filter_map(|(version, path)| version.left(path)).fold(system, u64::min)
}

/// Where a version of control groups says how much memory a group may take, and has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupFiles {
    root: &'static str,
    limit: &'static str,
    used: &'static str,
}

const V1: GroupFiles = GroupFiles {
    root: "/sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
};
const V2: GroupFiles =
    GroupFiles { root: "/sys/fs/cgroup", limit: "memory.max", used: "memory.current" };

impl GroupFiles {
    /// Bytes that a group may still take, if it has a limit.
    fn left(self, path: &Path) -> Option<u64> {
        let folder = Path::new(self.root).join(path);
        let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |text: String| text.trim().parse::<u64>().ok();
        let used = text(self.used).and_then(number)?;
        // The cache of files goes when it is needed.
        let cached = text("memory.stat").and_then(|text| cached_bytes(&text)).unwrap_or(0);
        Some(text(self.limit).and_then(number)?.saturating_sub(used.saturating_sub(cached)))
    }
}

/// The group that governs the memory of a process, from a line of `/proc/self/cgroup`.
fn memory_group(line: &str) -> Option<(GroupFiles, &str)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    if controllers.is_empty() {
        return Some((V2, path));
    }
    controllers.split(',').any(|name| name == "memory").then_some((V1, path))
}

/// Bytes of a group that are pages of files, and not shared memory.
fn cached_bytes(stat: &str) -> Option<u64> {
    let field = |name: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(field, _)| *field == name)?.1.parse::<u64>().ok()
    };
    let files = field("inactive_file")? + field("active_file")?;
    Some(files)
}

/// The most memory that this process had at any time, in bytes: the peak of its resident set, pages
/// of files among them. None where the system does not tell.
pub fn resident_bytes_max() -> Option<u64> {
    meminfo_bytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
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
    fn groups_are_found_as_linux_names_them() {
        assert_eq!(memory_group("9:memory:/a/b"), Some((V1, "/a/b")));
        assert_eq!(memory_group("4:cpu,memory:/"), Some((V1, "/")));
        assert_eq!(memory_group("0::/user.slice/x:y"), Some((V2, "/user.slice/x:y")));
        assert_eq!(memory_group("3:cpuset:/a"), None);
        assert_eq!(memory_group(""), None);
        assert_eq!(cached_bytes("cache 5\ninactive_file 4096\nactive_file 1\n"), Some(4097));
        assert_eq!(cached_bytes("cache 5\n"), None);
    }

    #[test]
    fn sizes_are_read_as_linux_writes_them() {
        assert_eq!(parse_size("48K"), Some(48 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("x"), None);
        assert_eq!(meminfo_bytes("A: 1 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12288));
        let resident = meminfo_bytes("VmPeak:\t  9 kB\nVmHWM:\t    7184 kB\n", "VmHWM:");
        assert_eq!(resident, Some(7184 << 10));
    }
}
