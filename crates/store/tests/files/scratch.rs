//! Nothing is left of a scratch volume, however its process ends.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use welter_store::io::IoOptions;

use crate::{entries, filled, scratch_in};

/// Set in the process that is killed: the folder that it writes to.
const ALONE: &str = "WELTER_TEST_SCRATCH";

#[test]
fn a_killed_process_leaves_nothing() {
    if let Some(folder) = std::env::var_os(ALONE) {
        let volume = scratch_in(Path::new(&folder), &IoOptions::default());
        let place = volume.reserve(1 << 20);
        volume.write_at_once(place, &mut filled(place, 1)).unwrap();
        let _ = writeln!(std::io::stderr(), "written");
        std::thread::sleep(std::time::Duration::from_mins(1));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "scratch::a_killed_process_leaves_nothing"])
        .env(ALONE, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let written = lines.into_iter().any(|line| line == "written");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(written);
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn nothing_has_a_name() {
    // A file system of memory too, where there is one: it takes other ways.
    for parent in [std::env::temp_dir(), "/dev/shm".into()].iter().filter(|path| path.is_dir()) {
        let folder = tempfile::tempdir_in(parent).unwrap();
        for direct in [true, false] {
            let volume = scratch_in(folder.path(), &IoOptions { direct, ..IoOptions::default() });
            let place = volume.reserve(100);
            volume.write_at_once(place, &mut filled(place, 1)).unwrap();
            volume.sync().unwrap();
            assert!(direct || !volume.is_direct());
            assert!(entries(folder.path()).is_empty());
        }
    }
}
