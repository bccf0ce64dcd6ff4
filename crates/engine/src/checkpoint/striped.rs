//! The payload of a state in one file, or dealt out to several of them, piece by piece in turns.
//!
//! Files are written by a thread each, and all are durable before [`StripedWriter::commit`] ends.
//! Each is sealed, of the same run and iteration; that they are in each other's place is found by
//! the checksum of the whole payload, which the manifest has.
//!
//! Invariant: pieces come back in the order in which they were appended. Tested by
//! `what_was_dealt_out_comes_back`.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use welter_store::StoreError;
use welter_store::sealed::{BLOCK_BYTES, SealedReader, SealedWriter};

/// Bytes of a piece.
pub(super) const PIECE: usize = BLOCK_BYTES;
/// Pieces that wait for a file at most, beside the one that is being filled and the one that is
/// being written.
const WAITING: usize = 1;
/// Bytes of memory that each of several files takes while they are written.
pub const PART_BYTES: u64 = (PIECE * (WAITING + 3)) as u64;

/// A payload that is written.
pub(super) enum StripedWriter {
    One(SealedWriter),
    Several { parts: Vec<Part>, piece: Vec<u8>, turn: usize },
}

/// One of several files, and the thread that writes it.
pub(super) struct Part {
    pieces: SyncSender<Vec<u8>>,
    thread: JoinHandle<Result<(), StoreError>>,
    path: PathBuf,
}

impl StripedWriter {
    /// Writes to these files, each with its path.
    pub(super) fn new(mut files: Vec<(SealedWriter, PathBuf)>) -> Result<Self, StoreError> {
        if files.len() == 1
            && let Some((file, _)) = files.pop()
        {
            return Ok(Self::One(file));
        }
        let begin = |(file, path): (SealedWriter, PathBuf)| {
            let (pieces, waiting) = sync_channel(WAITING);
            let thread = thread::Builder::new().name("checkpoint".to_owned());
            let thread = thread.spawn(move || write(file, &waiting));
            let thread = thread.map_err(|source| StoreError::Io {
                what: "write",
                file: path.clone(),
                source,
            })?;
            Ok(Part { pieces, thread, path })
        };
        let parts = files.into_iter().map(begin).collect::<Result<_, StoreError>>()?;
        Ok(Self::Several { parts, piece: Vec::with_capacity(PIECE), turn: 0 })
    }

    /// Adds bytes to the payload.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        let (parts, piece, turn) = match self {
            Self::One(file) => return file.append(bytes),
            Self::Several { parts, piece, turn } => (parts, piece, turn),
        };
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - piece.len()));
            piece.extend_from_slice(now);
            bytes = later;
            if piece.len() == PIECE {
                deal(parts, piece, turn)?;
            }
        }
        Ok(())
    }

    /// Makes all files durable, and gives them their names.
    pub(super) fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::One(file) => file.commit(),
            Self::Several { mut parts, mut piece, mut turn } => {
                if !piece.is_empty() {
                    deal(&mut parts, &mut piece, &mut turn)?;
                }
                // All of them know that they are whole before one is waited for, so that disks are
                // waited for side by side: bytes lie in memory until a file is made durable.
                let threads: Vec<_> = parts.into_iter().map(Part::close).collect();
                threads.into_iter().map(joined).fold(Ok(()), Result::and)
            }
        }
    }
}

/// Gives a piece to the file whose turn it is.
fn deal(parts: &mut Vec<Part>, piece: &mut Vec<u8>, turn: &mut usize) -> Result<(), StoreError> {
    let part = *turn % parts.len();
    *turn += 1;
    let full = std::mem::replace(piece, Vec::with_capacity(PIECE));
    if parts[part].pieces.send(full).is_ok() {
        return Ok(());
    }
    // Its thread has ended, and says why.
    let part = parts.swap_remove(part);
    let path = part.path.clone();
    joined(part.close())?;
    Err(StoreError::Poisoned { file: path })
}

type Thread = (JoinHandle<Result<(), StoreError>>, PathBuf);

impl Part {
    /// Says that no more pieces will come.
    fn close(self) -> Thread {
        (self.thread, self.path)
    }
}

fn joined((thread, path): Thread) -> Result<(), StoreError> {
    thread.join().unwrap_or(Err(StoreError::Poisoned { file: path }))
}

/// Writes a file, and makes it durable unless less came than was said to.
fn write(mut file: SealedWriter, pieces: &Receiver<Vec<u8>>) -> Result<(), StoreError> {
    for piece in pieces {
        file.append(&piece)?;
    }
    file.commit()
}

/// A payload that is read.
pub(super) struct StripedReader {
    parts: Vec<SealedReader>,
    /// Bytes that were read.
    read: u64,
}

impl StripedReader {
    /// The payload of these files.
    pub(super) fn new(parts: Vec<SealedReader>) -> Self {
        Self { parts, read: 0 }
    }

    /// The next bytes of the payload.
    pub(super) fn read(&mut self, mut bytes: &mut [u8]) -> Result<(), StoreError> {
        let count = self.parts.len() as u64;
        while !bytes.is_empty() {
            let (piece, begin) = (self.read / PIECE as u64, self.read as usize % PIECE);
            let room = if count == 1 { bytes.len() } else { bytes.len().min(PIECE - begin) };
            let (now, later) = bytes.split_at_mut(room);
            self.parts[(piece % count) as usize].read(now)?;
            self.read += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use welter_store::sealed::{Identity, part_bytes};

    use super::*;

    const KIND: [u8; 8] = *b"RUNSTATE";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn what_was_dealt_out_comes_back(
            bytes in 0_usize..5 * PIECE,
            parts in 1_usize..5,
            step in 1_usize..3 * PIECE,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let identity = Identity { kind: KIND, version: 1, graph: 7, generation: 3 };
            let all: Vec<u8> = (0..bytes as u32).map(|n| (n ^ n >> 8 ^ n >> 16) as u8).collect();
            let lengths: Vec<u64> =
                (0..parts).map(|part| part_bytes(bytes as u64, part, parts)).collect();
            prop_assert_eq!(lengths.iter().sum::<u64>(), bytes as u64);
            let path = |part: usize| folder.path().join(part.to_string());
            let file = |part: usize| {
                let made = SealedWriter::create(&path(part), &identity, lengths[part], None);
                (made.unwrap(), path(part))
            };
            let mut writer = StripedWriter::new((0..parts).map(file).collect()).unwrap();
            all.chunks(step).for_each(|chunk| writer.append(chunk).unwrap());
            writer.commit().unwrap();
            let readers =
                (0..parts).map(|part| SealedReader::open(&path(part), KIND, None).unwrap());
            let mut reader = StripedReader::new(readers.collect());
            let mut found = vec![0; bytes];
            found.chunks_mut(step / 2 + 1).for_each(|chunk| reader.read(chunk).unwrap());
            prop_assert!(found == all);
        }
    }

    #[test]
    fn files_are_made_durable_side_by_side() {
        let all = std::sync::Arc::new(std::sync::Barrier::new(3));
        let part = |number: usize| {
            let (pieces, waiting) = sync_channel::<Vec<u8>>(WAITING);
            let all = std::sync::Arc::clone(&all);
            let thread = thread::spawn(move || {
                waiting.into_iter().for_each(drop);
                // As if a device was slow: until all are at it.
                all.wait();
                Ok(())
            });
            Part { pieces, thread, path: number.to_string().into() }
        };
        let parts = (0..3).map(part).collect();
        let writer = StripedWriter::Several { parts, piece: vec![1], turn: 0 };
        let (ended, ends) = std::sync::mpsc::channel();
        thread::spawn(move || ended.send(writer.commit()));
        let patience = std::time::Duration::from_mins(1);
        assert!(ends.recv_timeout(patience).is_ok_and(|end| end.is_ok()));
    }

    #[test]
    fn a_file_that_gets_too_little_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let identity = Identity { kind: KIND, version: 1, graph: 7, generation: 3 };
        let file = |name: &str| {
            let path = folder.path().join(name);
            (SealedWriter::create(&path, &identity, 10, None).unwrap(), path)
        };
        let writer = StripedWriter::new(vec![file("a"), file("b")]).unwrap();
        assert!(writer.commit().is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
