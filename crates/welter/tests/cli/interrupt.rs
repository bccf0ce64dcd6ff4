//! Ctrl-C and SIGTERM: the run ends soon, with 130, and leaves nothing behind.
//!
//! "Soon" is a second; these tests wait for much longer before they call it a failure, because they
//! share the machine with others.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::sandbox::{Ended, Sandbox};

/// A run that does not end has failed.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
    assert!(sent.success());
}

/// Waits until something is true.
pub(crate) fn wait_until(what: &str, mut ready: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < PATIENCE, "{what} took too long");
        sleep(Duration::from_millis(20));
    }
}

pub(crate) fn ended(mut child: Child) -> Ended {
    wait_until("ending", || child.try_wait().unwrap().is_some());
    Ended::waited(child)
}

fn is_interrupted(ended: &Ended) {
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.stderr, "error: interrupted\n");
}

#[test]
fn iterations_end() {
    for kind in ["INT", "TERM"] {
        let sandbox = Sandbox::new();
        let line = "run pagerank rmat:12 --iterations 1000000000000 -o ranks.csv";
        let child = sandbox.command(line).spawn().unwrap();
        sleep(Duration::from_millis(500));
        signal(&child, kind);
        is_interrupted(&ended(child));
        assert_eq!(sandbox.files(), [""; 0]);
    }
}

#[test]
fn a_half_written_file_is_removed() {
    let sandbox = Sandbox::new();
    let child = sandbox.command("generate rmat 27 -o graph.tsv").spawn().unwrap();
    let temporary = format!(".graph.tsv.tmp-{}", child.id());
    wait_until("writing", || {
        let metadata = std::fs::metadata(sandbox.path().join(&temporary));
        metadata.is_ok_and(|metadata| metadata.len() > 0)
    });
    signal(&child, "INT");
    is_interrupted(&ended(child));
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn a_probe_ends_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let child = sandbox.command("probe .").spawn().unwrap();
    sleep(Duration::from_millis(500));
    signal(&child, "INT");
    is_interrupted(&ended(child));
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn a_run_that_waits_for_its_input_ends() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("run pagerank - -o ranks.csv");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The pipe stays open, and nothing ever comes.
    let stdin = child.stdin.take();
    sleep(Duration::from_millis(500));
    signal(&child, "INT");
    is_interrupted(&ended(child));
    drop(stdin);
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn a_run_whose_messages_nobody_reads_ends() {
    let sandbox = Sandbox::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let room = rustix::pipe::fcntl_getpipe_size(&writer).unwrap();
    writer.write_all(&vec![b'.'; room]).unwrap();
    let mut command = sandbox.command("run pagerank rmat:10 --iterations 1000000000 -o ranks.csv");
    let mut child = command.stderr(writer).spawn().unwrap();
    sleep(Duration::from_millis(300));
    signal(&child, "INT");
    wait_until("ending", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(sandbox.files(), [""; 0]);
    drop(reader);
}

#[test]
fn a_second_signal_is_obeyed_at_once() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("run pagerank -");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    sleep(Duration::from_millis(300));
    signal(&child, "INT");
    sleep(Duration::from_millis(50));
    if child.try_wait().unwrap().is_none() {
        signal(&child, "TERM");
    }
    is_interrupted(&ended(child));
    drop(stdin);
}
