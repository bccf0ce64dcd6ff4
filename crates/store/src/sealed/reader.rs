//! Reading a sealed file: all of it, in pieces, or from its middle.

use std::fs::File;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rustix::fs::{Advice, fadvise};

use super::header::{
    BLOCK_BYTES, CHECKSUM_BYTES, HEADER_BYTES, Header, Identity, MAGIC, block_offset,
    offset_in_file,
};
use crate::StoreError;
use crate::io::{Call, Faults, IoOptions, Remote, check, read_exact};

/// Bytes of a file elsewhere that are asked for at once.
const AHEAD_BYTES: u64 = 8 * (BLOCK_BYTES + CHECKSUM_BYTES) as u64;

/// Bytes of a file here that the system is advised of at once: by more than its read-ahead it would
/// read the first ones alone.
const ADVISED_BYTES: usize = 128 << 10;

/// Location of the bytes of the file.
#[derive(Debug)]
enum Source {
    Here(File),
    /// The whole file, in memory.
    Held(Vec<u8>),
    Elsewhere(Ahead),
}

/// A file elsewhere, with bytes of it that were asked for and where they begin.
#[derive(Debug)]
struct Ahead {
    remote: Arc<dyn Remote>,
    begin: u64,
    bytes: Vec<u8>,
    /// Bytes of a request at most.
    most: u64,
}

/// A sealed file that is being read.
#[derive(Debug)]
pub struct SealedReader {
    file: Source,
    path: PathBuf,
    header: Header,
    /// The block that was read last, with its checksum, and its number.
    block: Vec<u8>,
    number: Option<u64>,
    /// Where in the payload the next bytes are read.
    at: u64,
    faults: Option<Arc<Faults>>,
}

impl SealedReader {
    /// Opens a file of a kind, and checks its head and its length.
    ///
    /// # Errors
    /// When it is not there, cannot be read, is of another kind, or is damaged. The version of
    /// its payload is left to the caller.
    pub fn open(
        path: &Path,
        kind: [u8; 8],
        faults: Option<&Arc<Faults>>,
    ) -> Result<Self, StoreError> {
        let opened = check(faults, Call::Open).map_err(std::io::Error::from);
        let opened = opened.and_then(|()| File::open(path));
        let file = opened.map_err(|error| StoreError::open(path, error))?;
        let metadata = file.metadata().map_err(|error| StoreError::open(path, error))?;
        Self::of(Source::Here(file), metadata.len(), path, kind, faults)
    }

    /// As [`Self::open`], of a file that lies where these options say.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_in(io: &IoOptions, path: &Path, kind: [u8; 8]) -> Result<Self, StoreError> {
        match &io.remote {
            Some(remote) => {
                let most = io.requests.bytes(false).map_or(AHEAD_BYTES, |bytes| bytes as u64);
                Self::ahead(remote, path, kind, most)
            }
            None => Self::open(path, kind, io.faults.as_ref()),
        }
    }

    /// As [`Self::open`], of a file that lies elsewhere.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_elsewhere(
        remote: &Arc<dyn Remote>,
        path: &Path,
        kind: [u8; 8],
    ) -> Result<Self, StoreError> {
        Self::ahead(remote, path, kind, AHEAD_BYTES)
    }

    /// A file that lies elsewhere and is read by requests of at most `most` bytes.
    fn ahead(
        remote: &Arc<dyn Remote>,
        path: &Path,
        kind: [u8; 8],
        most: u64,
    ) -> Result<Self, StoreError> {
        let all = remote.bytes(path)?;
        let ahead = Ahead { remote: Arc::clone(remote), begin: 0, bytes: Vec::new(), most };
        Self::of(Source::Elsewhere(ahead), all, path, kind, None)
    }

    /// As [`Self::open`], of a file of which all bytes are in memory already.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of_bytes(bytes: Vec<u8>, path: &Path, kind: [u8; 8]) -> Result<Self, StoreError> {
        let length = bytes.len() as u64;
        Self::of(Source::Held(bytes), length, path, kind, None)
    }

    fn of(
        mut file: Source,
        bytes: u64,
        path: &Path,
        kind: [u8; 8],
        faults: Option<&Arc<Faults>>,
    ) -> Result<Self, StoreError> {
        let mut header = Header::zeroed();
        file.read(path, 0, bytemuck::bytes_of_mut(&mut header), (bytes, faults))?;
        checked(path, &header, kind, bytes)?;
        let (path, faults) = (path.to_owned(), faults.cloned());
        Ok(Self { file, path, header, block: Vec::new(), number: None, at: 0, faults })
    }

    /// The identity in the head of the file.
    pub fn identity(&self) -> Identity {
        self.header.identity()
    }

    /// Bytes of its payload; as many are in the file.
    pub fn payload_bytes(&self) -> u64 {
        self.header.payload_bytes
    }

    /// Refuses a file of another version.
    ///
    /// # Errors
    /// [`StoreError::Version`] when it is one.
    pub fn is_version(&self, known: u16) -> Result<(), StoreError> {
        let found = self.header.version;
        if found == known {
            return Ok(());
        }
        Err(StoreError::Version { file: self.path.clone(), found, known })
    }

    /// Refuses a file of another graph or generation.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is one.
    pub fn belongs_to(&self, graph: u64, generation: u32) -> Result<(), StoreError> {
        let found = self.identity();
        if (found.graph, found.generation) == (graph, generation) {
            return Ok(());
        }
        let what = format!(
            "it belongs to graph {:016x}, generation {}, and not to graph {graph:016x}, \
             generation {generation}",
            found.graph, found.generation
        );
        Err(damaged(&self.path, 24, what))
    }

    /// Says that these bytes of the payload will be read soon, so that the system reads them
    /// meanwhile. Of a file elsewhere nothing is asked.
    pub fn will_read(&self, range: Range<u64>) {
        let Source::Here(file) = &self.file else { return };
        let [begin, end] =
            [range.start, range.end].map(|at| offset_in_file(at.min(self.header.payload_bytes)));
        for offset in (begin..end).step_by(ADVISED_BYTES) {
            let bytes = (end - offset).min(ADVISED_BYTES as u64);
            // Advice: where it is not taken, bytes are read when they are wanted.
            let _ = fadvise(file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
        }
    }

    /// Reads the next bytes of the payload.
    ///
    /// # Errors
    /// When the payload ends before, or is damaged there, or cannot be read.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.read_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Reads the next numbers of the payload.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_items<T: Pod>(&mut self, items: &mut [T]) -> Result<(), StoreError> {
        self.read(bytemuck::cast_slice_mut(items))
    }

    /// Reads from anywhere in the payload. What [`read`](Self::read) does next stays as it was.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_at(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        let left = self.header.payload_bytes.saturating_sub(offset);
        if bytes.len() as u64 > left {
            let what = format!("{left} bytes are left of it, and {} should be", bytes.len());
            return Err(damaged(&self.path, 40, what));
        }
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            self.load(at / BLOCK_BYTES as u64)?;
            let from = (at % BLOCK_BYTES as u64) as usize;
            let block = &self.block[from..self.block.len() - CHECKSUM_BYTES];
            let part = block.len().min(bytes.len() - done);
            bytes[done..done + part].copy_from_slice(&block[..part]);
            done += part;
        }
        Ok(())
    }

    /// Reads what is left of the payload, if it is at most `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`StoreError::Damaged`] when more is left, and
    /// [`StoreError::Memory`] when the system has no memory for it.
    pub fn read_rest(&mut self, bytes_max: u64) -> Result<Vec<u8>, StoreError> {
        let left = self.header.payload_bytes - self.at;
        if left > bytes_max {
            let what = format!("it holds {left} bytes, and {bytes_max} at most make sense");
            return Err(damaged(&self.path, 40, what));
        }
        let mut rest = Vec::new();
        rest.try_reserve_exact(left as usize).map_err(|_| StoreError::Memory(left))?;
        rest.resize(left as usize, 0);
        self.read(&mut rest)?;
        Ok(rest)
    }

    /// Reads all of it and checks it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn verify(&mut self) -> Result<(), StoreError> {
        (0..self.header.blocks()).try_for_each(|number| self.load(number))
    }

    /// Makes `block` the one with this number.
    fn load(&mut self, number: u64) -> Result<(), StoreError> {
        if self.number == Some(number) {
            return Ok(());
        }
        // Until it was found to be right.
        self.number = None;
        let bytes = self.header.block_bytes(number);
        self.block.resize(bytes + CHECKSUM_BYTES, 0);
        let offset = block_offset(number);
        let all = self.header.file_bytes().unwrap_or(u64::MAX);
        self.file.read(&self.path, offset, &mut self.block, (all, self.faults.as_ref()))?;
        let (block, sum) = self.block.split_at(bytes);
        if self.header.sum_of_block(number, block).to_le_bytes() != sum {
            if let Source::Elsewhere(Ahead { remote, .. }) = &self.file {
                remote.distrust(&self.path, offset..offset + self.block.len() as u64);
            }
            let what = format!("the checksum of its block {number} is wrong");
            return Err(damaged(&self.path, offset, what));
        }
        self.number = Some(number);
        Ok(())
    }
}

impl Source {
    /// Fills a buffer from a place of the file, which has `all` bytes.
    fn read(
        &mut self,
        path: &Path,
        offset: u64,
        bytes: &mut [u8],
        (all, faults): (u64, Option<&Arc<Faults>>),
    ) -> Result<(), StoreError> {
        let ahead = match self {
            Self::Here(file) => return read_exact(file, path, offset, bytes, faults),
            Self::Held(all) => {
                let there = usize::try_from(offset).ok().and_then(|begin| all.get(begin..));
                let there = there.unwrap_or_default();
                let have = there.len() as u64;
                let there = there.get(..bytes.len()).ok_or_else(|| StoreError::Ended {
                    file: path.to_owned(),
                    offset,
                    need: bytes.len() as u64,
                    have,
                })?;
                bytes.copy_from_slice(there);
                return Ok(());
            }
            Self::Elsewhere(ahead) => ahead,
        };
        let end = offset + bytes.len() as u64;
        if offset < ahead.begin || end > ahead.begin + ahead.bytes.len() as u64 {
            if end > all {
                let (file, need) = (path.to_owned(), bytes.len() as u64);
                let have = all.saturating_sub(offset);
                return Err(StoreError::Ended { file, offset, need, have });
            }
            let more = ahead.most.min(AHEAD_BYTES).max(bytes.len() as u64);
            ahead.fetch(path, offset..all.min(offset + more))?;
        }
        let from = (offset - ahead.begin) as usize;
        let have = ahead.bytes.len() as u64;
        let there = ahead.bytes.get(from..from + bytes.len()).ok_or_else(|| StoreError::Ended {
            file: path.to_owned(),
            offset,
            need: bytes.len() as u64,
            have,
        })?;
        bytes.copy_from_slice(there);
        Ok(())
    }
}

impl Ahead {
    /// Asks for the bytes of a range, in place of those that were asked for before.
    fn fetch(&mut self, path: &Path, range: Range<u64>) -> Result<(), StoreError> {
        let Self { remote, begin, bytes, most } = self;
        bytes.clear();
        bytes.reserve_exact((range.end - range.start) as usize);
        *begin = range.start;
        let mut from = range.start;
        while from < range.end {
            let to = range.end.min(from + *most);
            remote.read(path, from..to, &mut |more| bytes.extend_from_slice(more))?;
            from = to;
        }
        Ok(())
    }
}

/// Checks the head of a file of `bytes` bytes.
fn checked(path: &Path, header: &Header, kind: [u8; 8], bytes: u64) -> Result<(), StoreError> {
    if header.magic != MAGIC {
        return Err(damaged(path, 0, "its magic bytes are wrong".to_owned()));
    }
    if header.checksum != header.sum() {
        return Err(damaged(path, 0, "the checksum of its head is wrong".to_owned()));
    }
    if header.kind != kind {
        let [found, wanted] = [header.kind, kind].map(|kind| kind.escape_ascii().to_string());
        return Err(damaged(path, 16, format!("it is of kind {found}, and {wanted} is wanted")));
    }
    match header.file_bytes() {
        Some(need) if need == bytes => Ok(()),
        Some(need) if need > bytes => {
            let (file, offset) = (path.to_owned(), HEADER_BYTES as u64);
            Err(StoreError::Ended { file, offset, need: need - offset, have: bytes - offset })
        }
        _ => Err(damaged(path, bytes, format!("it is too long: {bytes} bytes"))),
    }
}

fn damaged(path: &Path, offset: u64, what: String) -> StoreError {
    StoreError::Damaged { file: path.to_owned(), offset, what }
}
