//! Folders for tests.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that is removed when it is dropped: in memory where the system has such a place, since
/// tests of answers need no device that is asked to be sure.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let shared = PathBuf::from("/dev/shm");
        let parent = if shared.is_dir() { shared } else { std::env::temp_dir() };
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("welter-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder can be made");
        Self(path)
    }

    /// Where a graph may be kept in it.
    pub fn graph(&self) -> PathBuf {
        self.0.join("graph")
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Files that are left of a test do no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
