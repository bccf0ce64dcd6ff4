//! The tests of the Python package, on the native module that was built with this one.

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn the_python_package_passes_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder: PathBuf = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let module = folder.join("libwelter_native.so");
    assert!(module.exists(), "{} was not built", module.display());
    // Beside the folders of profiles, and kept for the next time.
    let place = folder.ancestors().nth(2).unwrap().join("python");
    let mut tests = Command::new("python3");
    tests.arg("python/tests/run.py").arg(&module).arg(&place).current_dir(&root);
    let ended = tests.status().expect("python3");
    assert!(ended.success(), "the tests ended with {ended}");
}
