//! Calls on small files, by the calling thread, whole or not at all.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::faults::{Call, Fault, Faults};
use super::file::parent;
use crate::StoreError;

/// The next call: how many of `left` bytes it may move, and which bit of them shall be another one.
fn plan(
    faults: Option<&Arc<Faults>>,
    call: Call,
    left: usize,
) -> Result<(usize, Option<u64>), Errno> {
    match faults.and_then(|faults| faults.hit(call)) {
        // A process that is to be killed does not see this; a slow call has had its wait.
        None | Some(Fault::Slow(_) | Fault::Kill) => Ok((left, None)),
        Some(Fault::Errno(number)) => Err(Errno::from_raw_os_error(number)),
        Some(Fault::Short) => Ok((left.div_ceil(2), None)),
        Some(Fault::FlipBit(bit)) => Ok((left, Some(bit))),
    }
}

/// Fills `bytes` from a place of a file. `path` is its name, for errors.
///
/// # Errors
/// When the file ends before, or the system cannot read it.
pub fn read_exact(
    file: &File,
    path: &Path,
    offset: u64,
    bytes: &mut [u8],
    faults: Option<&Arc<Faults>>,
) -> Result<(), StoreError> {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &mut bytes[done..];
        let answer = plan(faults, Call::Read, rest.len()).and_then(|(most, flip)| {
            let read = rustix::io::pread(file, &mut rest[..most], offset + done as u64)?;
            if let Some(bit) = flip.filter(|_| read > 0).map(|bit| bit % (read as u64 * 8)) {
                rest[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            Ok(read)
        });
        match answer {
            Ok(0) => {
                return Err(StoreError::Ended {
                    file: path.to_owned(),
                    offset,
                    need: bytes.len() as u64,
                    have: done as u64,
                });
            }
            Ok(read) => done += read,
            Err(Errno::INTR) => {}
            Err(source) => return Err(transfer("read", path, offset, bytes.len(), source)),
        }
    }
    Ok(())
}

/// Writes all of `bytes` to a place of a file. `path` is its name, for errors.
///
/// # Errors
/// When the file system is full, or the system cannot write it.
pub fn write_all(
    file: &File,
    path: &Path,
    offset: u64,
    bytes: &[u8],
    faults: Option<&Arc<Faults>>,
) -> Result<(), StoreError> {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &bytes[done..];
        let answer = plan(faults, Call::Write, rest.len()).and_then(|(most, _)| {
            let written = rustix::io::pwrite(file, &rest[..most], offset + done as u64)?;
            if written == 0 { Err(Errno::IO) } else { Ok(written) }
        });
        match answer {
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT) => {
                return Err(StoreError::Full { directory: parent(path).to_owned() });
            }
            Err(source) => return Err(transfer("write", path, offset, bytes.len(), source)),
        }
    }
    Ok(())
}

fn transfer(
    what: &'static str,
    path: &Path,
    offset: u64,
    bytes: usize,
    source: Errno,
) -> StoreError {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    StoreError::Transfer { what, file: path.to_owned(), offset, bytes, source: source.into() }
}
