//! Errors of a chunk, and of files.
//!
//! Invariant: the text of every [`StoreError`] names the file, and the offset where there is one.
//! Tested by `the_error_says_what_is_damaged_and_where`, `the_place_of_the_damage_is_told` and
//! `a_full_disk_is_told_by_its_directory`.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;
use welter_progress::FailureKind;

/// Reason why bytes are not the chunk that was asked for. Offsets are in bytes from the chunk's
/// start.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkError {
    /// The bytes end before what they promise.
    #[error("the chunk is cut short: {need} bytes needed, {have} there")]
    Short {
        /// Bytes that the header promises.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// The first bytes are not those of a chunk.
    #[error("not a chunk: the magic bytes are wrong")]
    Magic,
    /// Written by another version of the format.
    #[error("chunk format version {found} is not known (this build reads {known})")]
    Version {
        /// Version in the header.
        found: u16,
        /// Version that this build reads.
        known: u16,
    },
    /// A checksum does not fit the bytes that it covers.
    #[error("checksum mismatch in the {what} at offset {offset}")]
    Checksum {
        /// Name of the part of the chunk.
        what: &'static str,
        /// Offset of the part, in bytes.
        offset: u64,
    },
    /// A field holds what no writer writes.
    #[error("the {what} at offset {offset} makes no sense: {value}")]
    Field {
        /// Name of the field.
        what: &'static str,
        /// Offset of the field, in bytes.
        offset: u64,
        /// Value of the field.
        value: u64,
    },
    /// A codec does not make of a frame what is said to be in it.
    #[error("the frame does not give {bytes} bytes by {codec}")]
    Compressed {
        /// Name of the codec.
        codec: &'static str,
        /// Bytes of the chunk, as the frame says.
        bytes: u64,
    },
}

/// Reason why files could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file or directory cannot be made.
    #[error("{}: cannot create it: {source}", file.display())]
    Create {
        /// Name of the file.
        file: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that should be there is not.
    #[error("{}: there is no such file", file.display())]
    Missing {
        /// Name of the file.
        file: PathBuf,
    },
    /// A read or write failed.
    #[error(
        "{}: cannot {what} {bytes} bytes at offset {offset}: {source}", file.display()
    )]
    Transfer {
        /// `read` or `write`.
        what: &'static str,
        /// Name of the file; of a scratch file, of its directory.
        file: PathBuf,
        /// Offset of the request in the file, in bytes.
        offset: u64,
        /// Bytes of the request.
        bytes: u32,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that lies elsewhere, such as in a bucket, cannot be read or written.
    #[error("{}: {what}", file.display())]
    Remote {
        /// URL of the file.
        file: PathBuf,
        /// Text of the failure, without the name.
        what: String,
        /// Kind of the failure.
        kind: FailureKind,
    },
    /// Another call failed.
    #[error("{}: cannot {what}: {source}", file.display())]
    Io {
        /// Call that was tried.
        what: &'static str,
        /// Name of the file or directory.
        file: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file system is full.
    #[error("{}: its file system is full", directory.display())]
    Full {
        /// A directory on it.
        directory: PathBuf,
    },
    /// A file system has less room than will be needed. Nothing was done.
    #[error(
        "{}: {need} bytes of space are needed here, and {free} are free", directory.display()
    )]
    Space {
        /// A directory on it; where there are several, the first.
        directory: PathBuf,
        /// Bytes that are needed, in all directories.
        need: u64,
        /// Bytes that can be written to them, in equal parts.
        free: u64,
    },
    /// A file ends before what it should hold.
    #[error(
        "{}: cut short: {need} bytes should lie at offset {offset}, and {have} do", file.display()
    )]
    Ended {
        /// Name of the file.
        file: PathBuf,
        /// Offset at which the bytes should begin.
        offset: u64,
        /// Number of bytes that should be there.
        need: u64,
        /// Number of bytes that are there.
        have: u64,
    },
    /// A file is not what was written.
    #[error("{}: damaged at offset {offset}: {what}", file.display())]
    Damaged {
        /// Name of the file.
        file: PathBuf,
        /// Offset of the damage in the file, in bytes.
        offset: u64,
        /// Damage that was found there.
        what: String,
    },
    /// A file was written by another version.
    #[error(
        "{}: version {found} of its format is not known (this build reads {known})", file.display()
    )]
    Version {
        /// Name of the file.
        file: PathBuf,
        /// Version in the file.
        found: u16,
        /// Version that this build reads.
        known: u16,
    },
    /// An earlier fsync failed: what was written may be lost, and cannot be told from what is not.
    #[error("{}: a sync failed before, so what was written cannot be relied on", file.display())]
    Poisoned {
        /// A file of the volume.
        file: PathBuf,
    },
    /// The system refuses `io_uring`, or it failed as a whole.
    #[error("io_uring cannot be used here: {0}")]
    Ring(#[source] io::Error),
    /// The system has no memory left: this number of bytes was asked for.
    #[error("the system refused {0} bytes of memory")]
    Memory(u64),
    /// The run was asked to end.
    #[error("interrupted")]
    Cancelled,
    /// A request that no correct caller makes.
    #[error("a request for storage makes no sense: {0}")]
    Request(String),
}

impl StoreError {
    /// Kind of this failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Missing { .. } => FailureKind::Missing,
            Self::Version { .. } => FailureKind::Input,
            Self::Ended { .. } | Self::Damaged { .. } => FailureKind::Damaged,
            Self::Request(_) => FailureKind::Internal,
            Self::Create { source, .. } if is_full(source) => FailureKind::Storage,
            Self::Create { .. } => FailureKind::Output,
            Self::Transfer { .. }
            | Self::Io { .. }
            | Self::Poisoned { .. }
            | Self::Full { .. }
            | Self::Space { .. } => FailureKind::Storage,
            Self::Remote { kind, .. } => *kind,
            Self::Ring(source) if !is_refusal(source) => FailureKind::Storage,
            Self::Ring(_) | Self::Memory(_) => FailureKind::Budget,
            Self::Cancelled => FailureKind::Cancelled,
        }
    }

    /// The error of the system, where it gave one; else one with the text of this.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Create { source, .. }
            | Self::Transfer { source, .. }
            | Self::Io { source, .. }
            | Self::Ring(source) => source,
            Self::Full { .. } => rustix::io::Errno::NOSPC.into(),
            other => io::Error::other(other),
        }
    }

    /// The error for a file that a manifest lists: one that is missing is damage.
    #[must_use]
    pub fn of_listed_file(self) -> Self {
        match self {
            Self::Missing { file } => Self::Damaged {
                file,
                offset: 0,
                what: "it is missing, and the manifest lists it".to_owned(),
            },
            other => other,
        }
    }

    /// The error for files of a folder, some of which lie on other disks, where links of the folder
    /// lead: one that is missing is damage, and says of what.
    #[must_use]
    pub fn of_linked_file(self, folder: &Path) -> Self {
        match self {
            Self::Missing { file } if file.parent() != Some(folder) => {
                let folder = folder.display();
                let what = format!(
                    "it is missing, and a link in {folder} leads to it (is its disk there?)"
                );
                Self::Damaged { file, offset: 0, what }
            }
            other => other.of_listed_file(),
        }
    }

    /// The error of a writer of a file that lies elsewhere: what it says itself, where it does.
    pub fn of_writer(file: &Path, error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => error,
            Err(source) => Self::io("write", file, source),
        }
    }

    /// An equal error for another request that failed with this one.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Remote { file, what, kind } => {
                Self::Remote { file: file.clone(), what: what.clone(), kind: *kind }
            }
            Self::Missing { file } => Self::Missing { file: file.clone() },
            Self::Ended { file, offset, need, have } => {
                let (offset, need, have) = (*offset, *need, *have);
                Self::Ended { file: file.clone(), offset, need, have }
            }
            Self::Full { directory } => Self::Full { directory: directory.clone() },
            Self::Poisoned { file } => Self::Poisoned { file: file.clone() },
            Self::Transfer { what, file, offset, bytes, source } => {
                let source = source.raw_os_error().map_or_else(
                    || io::Error::new(source.kind(), source.to_string()),
                    io::Error::from_raw_os_error,
                );
                let (offset, bytes) = (*offset, *bytes);
                Self::Transfer { what, file: file.clone(), offset, bytes, source }
            }
            other => Self::Request(other.to_string()),
        }
    }

    pub(crate) fn create(file: &Path, source: io::Error) -> Self {
        Self::Create { file: file.to_owned(), source }
    }

    pub(crate) fn open(file: &Path, source: io::Error) -> Self {
        if source.kind() == ErrorKind::NotFound {
            return Self::Missing { file: file.to_owned() };
        }
        Self::io("open it", file, source)
    }

    pub(crate) fn io(what: &'static str, file: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { what, file: file.to_owned(), source: source.into() }
    }
}

/// Whether the system never lets us, rather than failed once.
fn is_refusal(error: &io::Error) -> bool {
    let kinds = [ErrorKind::Unsupported, ErrorKind::PermissionDenied, ErrorKind::OutOfMemory];
    kinds.contains(&error.kind())
}

/// Whether the system has no room for more bytes or files.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
