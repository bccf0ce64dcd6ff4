//! Files that are closed while something else continues.
//!
//! The last handle of a file without a name gives its blocks back, and a file system that tells its
//! device of each takes its time: 1.5 s for 1.1 GiB on ext4 with `discard` on a virtual disk.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Volumes that are being closed.
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Closing {
    /// Closes a volume, when no other thread has it any more. Its blocks are free some time later.
    pub fn close<V: Send + Sync + 'static>(&self, volume: Arc<V>) {
        // Where no thread can be started the volume was dropped with what it should have run.
        let started = thread::Builder::new().name("close".to_owned()).spawn(|| drop(volume));
        if let Ok(thread) = started {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        }
    }

    /// Waits until the blocks of all are free.
    pub fn wait(&self) {
        let threads = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Dropping a volume does not panic, and there is nothing to know but that it is done.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{IoOptions, Volume};

    #[test]
    fn volumes_are_gone_when_all_was_waited_for() {
        let options = IoOptions::default();
        let volumes = [(); 3].map(|()| {
            Arc::new(Volume::scratch(&[std::env::temp_dir()], &options).expect("a scratch file"))
        });
        let seen = volumes.each_ref().map(Arc::downgrade);
        for volume in volumes {
            options.closing.close(volume);
        }
        options.closing.clone().wait();
        assert!(seen.iter().all(|volume| volume.upgrade().is_none()));
        options.closing.wait();
    }
}
