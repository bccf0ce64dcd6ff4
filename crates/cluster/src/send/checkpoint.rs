//! Checkpoints: values of a machine's sub-ranges as they were at a barrier, in files of its disk.
//!
//! ```text
//! DIRECTORY/messages/ITERATION-SUBRANGE    a sealed file, written by the computation thread
//!   iteration, edges, control of the barrier, bounds of sub-ranges | values | signals | flags
//! ```
//!
//! Rank 0 says at a barrier that one is made; each computation thread writes its file before it
//! scatters, and says its next word after that. So at the next barrier all machines have it, and
//! older ones are removed. At the beginning of an epoch each machine says which it has; the newest
//! that all have is where the run continues, with edges that are read again. Edges themselves are
//! not written: they are the input. Bounds of sub-ranges are: they come of a sample of the input,
//! and a machine that comes anew may have it in other parts than the one before it had.
//!
//! Rank 0 asks for one when the last one is as long ago as [`Interval::TIMES`] times what it took,
//! so they take a twentieth of the time at most.
//!
//! **Invariant:** a machine removes a checkpoint only when all have a newer one. Checked in
//! `Epoch::iterate`. Tested by `a_machine_that_is_lost_costs_no_iteration_before_a_checkpoint`.
//! **Invariant:** an epoch that begins with a checkpoint has its sub-ranges. Checked in
//! `Computing::restored`. Tested by
//! `a_machine_whose_input_has_other_parts_continues_as_it_was_cut`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use welter_protocol::partitions::Partitions;
use welter_store::StoreError;
use welter_store::durable;
use welter_store::sealed::{Identity, SealedWriter, unseal};

use super::calls::{CallsUnderWay, WatchedDirectory};
use super::error::Stop;
use super::words::{Word, WordReader};
use crate::disk::folder::Folder;
use crate::error::ClusterError;

const KIND: [u8; 8] = *b"MESSAGES";

/// Bytes of a head at most: a control has the totals of a program, and each sub-range a bound.
const HEAD_BYTES_MAX: u64 = 4 << 20;

/// Files of a machine.
#[derive(Clone)]
pub(super) struct Checkpoints {
    directory: WatchedDirectory,
    run: u64,
    /// Held as long as its files are used.
    _folder: Arc<Folder>,
}

/// A checkpoint that is to be made, and the decision of its barrier.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pub(super) iteration: u64,
    /// Edges of the whole graph.
    pub(super) edges: u64,
    pub(super) control: Arc<[u8]>,
    /// The first vertex of each sub-range, and the end of the last.
    pub(super) bounds: Arc<[u64]>,
}

impl Due {
    /// Whether it has as many sub-ranges as these, of as many vertices.
    pub(super) fn is_of(&self, even: &Partitions) -> bool {
        let last = self.bounds.last().copied();
        self.bounds.len() as u64 == u64::from(even.count()) + 1 && last == Some(even.vertices())
    }

    /// The word that says it.
    pub(super) fn word(&self) -> Word {
        let Self { iteration, edges, control, bounds } = self;
        Word::default().number(*iteration).number(*edges).bytes(control).numbers(bounds)
    }

    /// Reads it where [`Self::word`] begins.
    ///
    /// # Errors
    /// When the word is another one.
    pub(super) fn read(reader: &mut WordReader<'_>) -> Result<Self, Stop> {
        let (iteration, edges) = (reader.number()?, reader.number()?);
        let (control, bounds) = (reader.bytes()?.into(), reader.numbers()?.into());
        Ok(Self { iteration, edges, control, bounds })
    }
}

/// State of a sub-range.
pub(super) struct SubRangeState {
    pub(super) due: Due,
    /// Values, signals and flags.
    pub(super) columns: [Vec<u8>; 3],
}

impl Checkpoints {
    /// Of a run, in the folder of a machine with these calls.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub(super) fn new(
        folder: Arc<Folder>,
        run: u64,
        calls: CallsUnderWay,
    ) -> Result<Self, ClusterError> {
        let path = folder.directory().join("messages");
        std::fs::create_dir_all(&path).map_err(|source| {
            let file = path.clone();
            ClusterError::from(StoreError::Io { what: "make it", file, source })
        })?;
        let directory = WatchedDirectory::new(path, calls, folder.faults().cloned());
        Ok(Self { directory, run, _folder: folder })
    }

    /// Directory of what the machine keeps.
    pub(super) fn directory(&self) -> &WatchedDirectory {
        &self.directory
    }

    fn path(&self, iteration: u64, sub_range: usize) -> PathBuf {
        self.directory.path().join(format!("{iteration}-{sub_range}"))
    }

    /// Iterations of which the files of all sub-ranges are there.
    pub(super) fn whole(&self, sub_ranges: usize) -> Vec<u64> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for (_, iteration, sub_range) in self.files() {
            *counts.entry(iteration).or_insert(0) += usize::from(sub_range < sub_ranges);
        }
        let whole = counts.into_iter().filter(|&(_, count)| count == sub_ranges);
        whole.map(|(iteration, _)| iteration).collect()
    }

    /// Files with their iteration and sub-range. Where the directory cannot be read there are none:
    /// the run begins anew.
    fn files(&self) -> Vec<(PathBuf, u64, usize)> {
        let path = self.directory.path();
        let _call = self.directory.call(path, 0);
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name();
            let (iteration, sub_range) = name.to_str()?.split_once('-')?;
            Some((entry.path(), iteration.parse().ok()?, sub_range.parse().ok()?))
        });
        named.collect()
    }

    /// Removes those before an iteration, or all.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub(super) fn forget_before(&self, iteration: u64) -> Result<(), Stop> {
        let old = self.files().into_iter().filter(|&(_, of, _)| of < iteration);
        for (path, ..) in old {
            let _call = self.directory.call(&path, 0);
            durable::remove(&path, self.directory.faults()).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the columns of a sub-range, durably.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn write(
        &self,
        sub_range: usize,
        due: &Due,
        columns: [&[u8]; 3],
    ) -> Result<u64, Stop> {
        let lengths = columns.map(|column| column.len() as u64);
        let head = due.word().numbers(&lengths).end();
        let head = Word::default().bytes(&head).end();
        let bytes = head.len() as u64 + lengths.iter().sum::<u64>();
        let (path, faults) = (self.path(due.iteration, sub_range), self.directory.faults());
        let _call = self.directory.call(&path, bytes);
        let mut writer =
            SealedWriter::create(&path, &self.identity(), bytes, faults).map_err(failed)?;
        let parts = [&head[..]].into_iter().chain(columns);
        parts.into_iter().try_for_each(|part| writer.append(part)).map_err(failed)?;
        writer.commit().map_err(failed)?;
        Ok(bytes)
    }

    /// Removes the file of a sub-range that an epoch has left which was cut otherwise.
    pub(super) fn cut_otherwise(&self, iteration: u64, sub_range: usize) -> Stop {
        let path = self.path(iteration, sub_range);
        let _call = self.directory.call(&path, 0);
        self.remove(&path, "of other sub-ranges")
    }

    /// Removes a file that is no checkpoint of this run, as `what` says.
    fn remove(&self, path: &Path, what: &str) -> Stop {
        match durable::remove(path, self.directory.faults()) {
            Ok(()) => Stop::Gone(format!("{}: a checkpoint is {what}", path.display())),
            Err(error) => failed(error),
        }
    }

    fn identity(&self) -> Identity {
        Identity { kind: KIND, version: 2, graph: self.run, generation: 0 }
    }

    /// Reads the columns of a sub-range, of `bytes_max` bytes in all at most.
    ///
    /// # Errors
    /// When the file is damaged: it is removed, and the epoch begins anew without it.
    pub(super) fn read(
        &self,
        iteration: u64,
        sub_range: usize,
        bytes_max: u64,
    ) -> Result<SubRangeState, Stop> {
        let (path, faults) = (self.path(iteration, sub_range), self.directory.faults());
        let _call = self.directory.call(&path, bytes_max);
        let read = unseal(&path, KIND, bytes_max + HEAD_BYTES_MAX, faults);
        let bytes = read.ok().filter(|(identity, _)| *identity == self.identity());
        let kept = bytes.and_then(|(_, bytes)| kept(&bytes).ok());
        kept.ok_or_else(|| self.remove(&path, "damaged"))
    }
}

fn failed(error: StoreError) -> Stop {
    ClusterError::from(error).into()
}

/// Columns of a file, and its head.
fn kept(bytes: &[u8]) -> Result<SubRangeState, Stop> {
    let mut reader = WordReader(bytes);
    let mut head = WordReader(reader.bytes()?);
    let due = Due::read(&mut head)?;
    let lengths = head.numbers()?;
    let mut columns: [Vec<u8>; 3] = Default::default();
    for (column, length) in columns.iter_mut().zip(lengths) {
        *column = reader.take(length)?.to_vec();
    }
    Ok(SubRangeState { due, columns })
}

/// When rank 0 asks for a checkpoint.
pub(super) struct Interval {
    /// Time between two, at least.
    least: Duration,
    last: Instant,
    took: Duration,
}

impl Interval {
    /// Time between two checkpoints by the time that one takes.
    const TIMES: u32 = 20;

    /// Of checkpoints with this time between them at least.
    pub(super) fn new(least: Duration) -> Self {
        Self { least, last: Instant::now(), took: Duration::ZERO }
    }

    /// Notes how long the last one took.
    pub(super) fn took(&mut self, took: Duration) {
        self.took = took;
    }

    /// Whether one is to be made now; then the next one is counted from here.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.last.elapsed() >= self.least.max(self.took * Self::TIMES);
        if is_due {
            self.last = Instant::now();
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn columns_come_back_and_damage_is_no_checkpoint() {
        let directory = TempDir::new().unwrap();
        let folder = Arc::new(Folder::open(directory.path(), None).unwrap());
        let checkpoints = Checkpoints::new(folder, 7, CallsUnderWay::default()).unwrap();
        let columns: [&[u8]; 3] = [&[1; 80], &[2; 40], &[3; 10]];
        for iteration in [3, 4] {
            let (control, bounds) = (vec![9; 5].into(), vec![0, 4, 4, 10].into());
            let due = Due { iteration, edges: 99, control, bounds };
            for sub_range in 0..2 {
                checkpoints.write(sub_range, &due, columns).unwrap();
            }
        }
        assert_eq!((checkpoints.whole(2), checkpoints.whole(3)), (vec![3, 4], vec![]));
        let kept = checkpoints.read(3, 1, 130).unwrap();
        assert_eq!((kept.due.edges, &kept.due.control[..]), (99, &[9; 5][..]));
        assert_eq!(kept.due.bounds[..], [0, 4, 4, 10]);
        let is_of = |machines, vertices, width| {
            kept.due.is_of(&Partitions::fitting(machines, vertices, 1, width).unwrap())
        };
        assert!(is_of(1, 10, 4) && is_of(3, 10, 4));
        assert!(!is_of(1, 9, 3) && !is_of(1, 10, 3), "other vertices, or more sub-ranges");
        assert_eq!(kept.columns.each_ref().map(|column| &column[..]), columns);
        // Checkpoints of another run.
        let other = Checkpoints { run: 8, ..checkpoints.clone() };
        assert!(matches!(other.read(3, 1, 130), Err(Stop::Gone(_))));
        assert_eq!(checkpoints.whole(2), [4]);
        // A file with one flipped bit.
        let path = checkpoints.path(4, 0);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.len() - 20;
        bytes[at] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(checkpoints.read(4, 0, 130), Err(Stop::Gone(_))));
        assert!(checkpoints.whole(2).is_empty());
        checkpoints.forget_before(4).unwrap();
        assert_eq!(checkpoints.files().len(), 1);
        assert!(matches!(checkpoints.cut_otherwise(4, 1), Stop::Gone(_)));
        assert!(checkpoints.files().is_empty());
    }

    #[test]
    fn a_checkpoint_that_took_long_is_made_rarely() {
        let mut interval = Interval::new(Duration::ZERO);
        assert!(interval.is_due() && interval.is_due());
        interval.took(Duration::from_secs(100));
        assert!(!interval.is_due());
        assert!(!Interval::new(Duration::from_secs(100)).is_due());
    }
}
