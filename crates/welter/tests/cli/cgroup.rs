//! Runs in a control group that kills what takes more memory than was promised.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sandbox::{Ended, Sandbox};

/// Bytes beyond a budget: what the kernel keeps for the process, tables of its pages for instance.
/// Pages of the program go when memory is short.
const BEYOND_BYTES: u64 = 4 << 20;

/// A control group (version 1) of its own; removed on drop.
pub(crate) struct Group(PathBuf);

impl Group {
    pub(crate) fn new(bytes: u64) -> Result<Self, String> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("welter-test-{}-{number}", std::process::id());
        let folder = PathBuf::from("/sys/fs/cgroup/memory").join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        let group = Self(folder.clone());
        fs::write(folder.join("memory.limit_in_bytes"), bytes.to_string()).map_err(failed)?;
        // Where there is swap, what does not fit would go there.
        let swap = folder.join("memory.memsw.limit_in_bytes");
        if swap.exists() {
            fs::write(swap, bytes.to_string()).map_err(failed)?;
        }
        Ok(group)
    }

    pub(crate) fn run(&self, command: &Command) -> Ended {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        Ended::of(shell.output().unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that still has a process cannot go; it is empty then and does no harm.
        let _ = fs::remove_dir(&self.0);
    }
}

/// The least budget that a command says it needs, bytes.
fn least(sandbox: &Sandbox, line: &str) -> u64 {
    let refused = sandbox.run(&format!("{line} --memory 1MiB"));
    assert_eq!(refused.code, Some(78), "{line}: {}", refused.stderr);
    let (_, rest) = refused.stderr.split_once("--memory ").unwrap();
    let (number, _) = rest.split_once("MiB").unwrap();
    (number.parse::<f64>().unwrap() * f64::from(1 << 20)).ceil() as u64
}

/// The least budget is enough, and with what a process takes anyway it is all that is taken.
fn least_budget_is_kept(commands: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 18 --weights 255 -q -o graph.u32f32");
    for (number, command) in commands.iter().enumerate() {
        let line = format!("run {command} --threads 2 -q graph.u32f32 -o");
        let (expected, got) = (format!("expected-{number}.npy"), format!("got-{number}.npy"));
        let budget = least(&sandbox, &format!("{line} {got}"));
        let group = match Group::new(budget + BEYOND_BYTES) {
            Ok(group) => group,
            Err(why) => return skipped(&why),
        };
        sandbox.must(&format!("{line} {expected}"));
        let ended = group.run(&sandbox.command(&format!("{line} {got} --memory {budget}")));
        assert_eq!(ended.code, Some(0), "{command} with {budget} bytes: {}", ended.stderr);
        assert!(sandbox.read(&expected) == sandbox.read(&got), "{command}");
    }
}

/// Says so, or fails where the environment requires control groups.
pub(crate) fn skipped(why: &str) {
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    assert!(required.split(',').all(|name| name != "cgroup"), "cgroup: {why}");
    // Not `eprintln!`: of a test that passes, that would be swallowed.
    let _ = writeln!(std::io::stderr(), "SKIPPED: tests in control groups: {why}");
}

#[test]
fn ranks_keep_their_least_budget() {
    let ranks = "pagerank --iterations 3 --precision";
    least_budget_is_kept(&[&format!("{ranks} f32"), &format!("{ranks} f64"), "spmv"]);
}

#[test]
fn searches_keep_their_least_budget() {
    least_budget_is_kept(&["bfs --source 1 --parents", "sssp --source 1"]);
}

#[test]
fn components_keep_their_least_budget() {
    least_budget_is_kept(&["wcc", "wcc --method label-propagation"]);
}

#[test]
fn forests_keep_their_least_budget() {
    let labels = "mcst --method label-propagation --route";
    least_budget_is_kept(&["mcst", &format!("{labels} ranges"), &format!("{labels} spill")]);
}
