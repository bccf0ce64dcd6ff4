//! Checkpoints that are copied elsewhere: machines that have nothing go on from them.

mod common;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use welter_cluster::{ClusterError, Copies, Run, Threads};
use welter_progress::FailureKind;
use welter_protocol::config::Route;
use welter_protocol::failure::Exit;
use welter_store::StoreError;
use welter_store::io::{Remote, RemoteVersion, RemoteWriter};

use common::{graph, job};

type FileMap = Arc<Mutex<BTreeMap<PathBuf, (Vec<u8>, u64)>>>;

/// Files in memory, which counts manifests, and takes no more than a number of them.
#[derive(Debug)]
struct MemoryFiles {
    files: FileMap,
    puts: AtomicUsize,
    puts_max: usize,
}

/// A file that is being written.
struct Draft {
    files: FileMap,
    file: PathBuf,
    bytes: Vec<u8>,
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RemoteWriter for Draft {
    fn complete(self: Box<Self>) -> Result<(), StoreError> {
        let Self { files, file, bytes } = *self;
        files.lock().expect("no panic").insert(file, (bytes, 0));
        Ok(())
    }
}

fn version(number: u64) -> RemoteVersion {
    RemoteVersion { tag: Some(number.to_string()), number: None }
}

impl MemoryFiles {
    fn new(files: &FileMap, puts_max: usize) -> Arc<Self> {
        Arc::new(Self { files: Arc::clone(files), puts: AtomicUsize::new(0), puts_max })
    }

    fn found(&self, file: &Path) -> Result<(Vec<u8>, u64), StoreError> {
        let found = self.files.lock().expect("no panic").get(file).cloned();
        found.ok_or_else(|| StoreError::Missing { file: file.to_owned() })
    }
}

impl Remote for MemoryFiles {
    fn bytes(&self, file: &Path) -> Result<u64, StoreError> {
        Ok(self.found(file)?.0.len() as u64)
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        take(&self.found(file)?.0[range.start as usize..range.end as usize]);
        Ok(())
    }

    fn create(&self, file: &Path) -> Result<Box<dyn RemoteWriter>, StoreError> {
        let files = Arc::clone(&self.files);
        Ok(Box::new(Draft { files, file: file.to_owned(), bytes: Vec::new() }))
    }

    fn put_if(
        &self,
        file: &Path,
        bytes: &[u8],
        then: Option<&RemoteVersion>,
    ) -> Result<Option<RemoteVersion>, StoreError> {
        if self.puts.fetch_add(1, Ordering::Relaxed) >= self.puts_max {
            let (file, what) = (file.to_owned(), "access is denied".to_owned());
            return Err(StoreError::Remote { file, what, kind: FailureKind::Storage });
        }
        let mut files = self.files.lock().expect("no panic");
        let now = files.get(file).map(|(_, number)| *number);
        if now.map(version).as_ref() != then {
            return Ok(None);
        }
        let next = now.unwrap_or(0) + 1;
        files.insert(file.to_owned(), (bytes.to_vec(), next));
        Ok(Some(version(next)))
    }

    fn load(&self, file: &Path, _: u64) -> Result<(Vec<u8>, RemoteVersion), StoreError> {
        self.found(file).map(|(bytes, number)| (bytes, version(number)))
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let files = self.files.lock().expect("no panic");
        Ok(files.keys().filter(|file| file.starts_with(folder)).cloned().collect())
    }

    fn delete(&self, file: &Path) -> Result<(), StoreError> {
        self.files.lock().expect("no panic").remove(file);
        Ok(())
    }
}

/// The run with copies in a place.
fn copied(run: &Run, place: Arc<MemoryFiles>) -> Run {
    let copies = Copies::new(place, "far://away/run".into(), 1);
    Run { copies: Some(copies), ..run.clone() }
}

/// Iterations of the newest manifest that is there.
fn reached(files: &FileMap) -> u32 {
    let files = files.lock().expect("no panic");
    let (bytes, _) = &files[Path::new("far://away/run/manifest")];
    welter_protocol::checkpoint::Manifest::decode(bytes).expect("it is a manifest").version
}

#[test]
fn machines_that_have_nothing_resume_from_copies() {
    let graph = graph(1, 300, 4000);
    // Edges of the last one are in no input.
    for (name, machines, route) in [
        ("pagerank", 1, Route::Fold),
        ("pagerank", 3, Route::Spill),
        ("labels", 2, Route::Fold),
        ("contraction", 2, Route::Fold),
    ] {
        let (job, files) = (job(name, &graph, machines, route), FileMap::default());
        // A manifest of the beginning, and one more.
        let (begun, place) = (TempDir::new().expect("a place"), MemoryFiles::new(&files, 2));
        let mut host = Threads::new(copied(&job.run, place), begun.path(), job.workers());
        match job.end(&mut host) {
            Err(ClusterError::Failed(failure)) => {
                assert_eq!(failure.why, Exit::Full, "{name}: {}", failure.what);
                assert!(failure.what.contains("access is denied"), "{name}: {}", failure.what);
            }
            ended => panic!("{name}: {ended:?}"),
        }
        drop(host);
        assert_eq!(reached(&files), 1, "{name}");
        let (other, place) =
            (TempDir::new().expect("a place"), MemoryFiles::new(&files, usize::MAX));
        let mut host =
            Threads::new(copied(&job.run, Arc::clone(&place)), other.path(), job.workers());
        let finished = job.check(&mut host);
        let iterations = finished.manifest.version;
        assert_eq!(finished.restarts, 0, "{name}");
        // At most one more than there are iterations left, since edges are read again.
        let puts = place.puts.load(Ordering::Relaxed) as u32;
        assert!(puts <= iterations, "{name}: {puts} manifests, {iterations} iterations");
        assert_eq!(reached(&files), iterations, "{name}");
    }
}

#[test]
fn of_two_clusters_that_resume_one_run_one_goes_on() {
    let (graph, files) = (graph(1, 300, 4000), FileMap::default());
    let job = job("pagerank", &graph, 2, Route::Fold);
    let (first, place) = (TempDir::new().expect("a place"), MemoryFiles::new(&files, usize::MAX));
    let mut host = Threads::new(copied(&job.run, place), first.path(), job.workers());
    job.check(&mut host);
    drop(host);
    // The other one has read a manifest that is replaced before it puts its own.
    let second = TempDir::new().expect("a place");
    let late = LateFiles { place: MemoryFiles::new(&files, usize::MAX) };
    let copies = Copies::new(Arc::new(late), "far://away/other".into(), 1);
    let run = Run { copies: Some(copies), ..job.run.clone() };
    let mut host = Threads::new(run, second.path(), job.workers());
    match job.end(&mut host) {
        Err(ClusterError::Failed(failure)) => {
            assert!(failure.what.contains("another process has resumed"), "{}", failure.what);
        }
        ended => panic!("{ended:?}"),
    }
}

/// A place whose manifests another process has put first.
#[derive(Debug)]
struct LateFiles {
    place: Arc<MemoryFiles>,
}

impl Remote for LateFiles {
    fn behind(&self) -> Option<&dyn Remote> {
        Some(&*self.place)
    }

    fn bytes(&self, file: &Path) -> Result<u64, StoreError> {
        self.place.bytes(file)
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        self.place.read(file, range, take)
    }

    fn put_if(
        &self,
        _: &Path,
        _: &[u8],
        _: Option<&RemoteVersion>,
    ) -> Result<Option<RemoteVersion>, StoreError> {
        Ok(None)
    }
}
