//! Bytes of Arrow data: of a file or an object, of a pipe, or in memory.

use std::io::Read;
use std::ops::Range;

use welter_objects::Ahead;

use crate::error::InputError;
use crate::source::stored::{Onward, StoredBytes};
use crate::unpack::Unpacked;

/// Bytes in order.
pub(crate) enum Feed {
    /// A file or an object, whose length is known.
    File { file: Onward, at: u64, bytes: u64, stored: StoredBytes, ahead: Ahead },
    /// A pipe, or a compressed file.
    Unpacked(Box<Unpacked>),
    /// Bytes in memory: the whole of a source, or its beginning.
    Bytes { bytes: Vec<u8>, at: usize, whole: bool },
}

impl Feed {
    /// Bytes that are known to be left.
    pub(super) fn left(&self) -> Option<u64> {
        match self {
            Self::File { at, bytes, .. } => Some(bytes - at),
            Self::Unpacked(_) => None,
            Self::Bytes { bytes, at, .. } => Some((bytes.len() - at) as u64),
        }
    }

    /// Bytes in all, where any of them can be gone to.
    pub(super) fn seekable(&self) -> Option<u64> {
        match self {
            Self::File { bytes, .. } => Some(*bytes),
            Self::Bytes { bytes, whole: true, .. } => Some(bytes.len() as u64),
            Self::Unpacked(_) | Self::Bytes { .. } => None,
        }
    }

    /// Goes to a byte inside, where that can be done.
    pub(super) fn go_to(&mut self, offset: u64) {
        match self {
            Self::File { file, at, .. } => {
                *at = offset;
                file.go_to(offset);
            }
            Self::Bytes { at, .. } => *at = offset as usize,
            Self::Unpacked(_) => {}
        }
    }

    /// Reads as many bytes as fit, fewer at the end.
    pub(super) fn fill(&mut self, name: &str, buffer: &mut [u8]) -> Result<usize, InputError> {
        match self {
            Self::File { file, at, bytes, .. } => {
                let length = buffer.len().min((*bytes - *at) as usize);
                file.read_exact(&mut buffer[..length])
                    .map_err(|error| InputError::io(name, format!("read at byte {at}"), error))?;
                *at += length as u64;
                Ok(length)
            }
            Self::Unpacked(unpacked) => unpacked.fill(buffer),
            Self::Bytes { bytes, at, .. } => {
                let length = buffer.len().min(bytes.len() - *at);
                buffer[..length].copy_from_slice(&bytes[*at..*at + length]);
                *at += length;
                Ok(length)
            }
        }
    }

    /// Bytes of a range of a file or an object.
    pub(super) fn range(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, InputError> {
        let Self::File { stored, ahead, .. } = self else {
            return Err(InputError::byte(name, range.start, "expected a file"));
        };
        let length = range.end - range.start;
        let mut bytes = Vec::new();
        // The length of an object is stated by its server: room is made for what has come.
        if let StoredBytes::File(_) = stored {
            bytes.reserve_exact(length as usize);
        }
        let ahead = ahead.at_most(length).surely();
        let taken = stored.onward(range.clone(), ahead).take(length).read_to_end(&mut bytes);
        let unread = |error| InputError::io(name, format!("read at byte {}", range.start), error);
        if (taken.map_err(unread)? as u64) < length {
            let what = "expected a batch, found the end of the file";
            return Err(InputError::byte(name, range.start, what));
        }
        Ok(bytes)
    }
}
