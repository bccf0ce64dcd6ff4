//! Files that lie elsewhere, whose bytes are known.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_progress::FailureKind;
use welter_store::StoreError;
use welter_store::io::{Remote, RemoteVersion, RemoteWriter};

/// Bytes that every file says it has.
pub(crate) const LENGTH: u64 = 1 << 40;

/// The files, and how they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Ranges of bytes.
    pub(crate) asked: Mutex<Vec<(PathBuf, Range<u64>)>>,
    /// How often a length was asked for.
    pub(crate) lengths: AtomicU64,
    /// Whether every reading fails.
    pub(crate) is_broken: bool,
}

/// A byte of a file.
pub(crate) fn byte(file: &Path, offset: u64) -> u8 {
    (offset ^ offset >> 9 ^ offset >> 17) as u8 ^ file.as_os_str().len() as u8
}

impl Remote for Known {
    fn bytes(&self, _: &Path) -> Result<u64, StoreError> {
        self.lengths.fetch_add(1, Ordering::Relaxed);
        Ok(LENGTH)
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        self.asked.lock().unwrap().push((file.to_owned(), range.clone()));
        if self.is_broken {
            let (file, what) = (file.to_owned(), "it broke".to_owned());
            return Err(StoreError::Remote { file, what, kind: FailureKind::Storage });
        }
        let bytes: Vec<u8> = range.map(|offset| byte(file, offset)).collect();
        // Pieces end anywhere.
        bytes.chunks(100_003).for_each(take);
        Ok(())
    }

    fn create(&self, _: &Path) -> Result<Box<dyn RemoteWriter>, StoreError> {
        Err(StoreError::Request("read only".to_owned()))
    }

    fn put_if(
        &self,
        _: &Path,
        _: &[u8],
        _: Option<&RemoteVersion>,
    ) -> Result<Option<RemoteVersion>, StoreError> {
        Ok(None)
    }

    fn load(&self, file: &Path, _: u64) -> Result<(Vec<u8>, RemoteVersion), StoreError> {
        Err(StoreError::Missing { file: file.to_owned() })
    }

    fn list(&self, _: &Path) -> Result<Vec<PathBuf>, StoreError> {
        Ok(Vec::new())
    }

    fn delete(&self, _: &Path) -> Result<(), StoreError> {
        Ok(())
    }
}
