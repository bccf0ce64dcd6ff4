//! Zip archives that hold one file: its bytes.
//!
//! ```text
//! local header, data | ... | a central header for each file | (zip64 end, its locator) | end
//! ```
//!
//! The place of each file is stated at the end, so an archive is a file and no pipe. Directories
//! and files that begin with a dot or `_` are passed over, as in a directory.
//!
//! Invariant: central headers are read one by one, and nothing is held for how many there are.
//! Checked in `directory`.

use std::io::{self, BufReader, Cursor, Read};

use super::bytes::{Bytes, Counted, Fault};
use super::decoders;
use super::tar::{is_data, nothing, several};
use crate::options::Limits;
use crate::source::stored::{self, StoredBytes};

/// First bytes of an archive.
pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";

const END: &[u8] = b"PK\x05\x06";
const END_64_LOCATOR: &[u8] = b"PK\x06\x07";
const END_64: &[u8] = b"PK\x06\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";

/// Bytes of the end, without its comment, and of a comment at most.
const END_BYTES: u64 = 22;
const COMMENT_BYTES_MAX: u64 = u16::MAX as u64;

/// The one file of an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Where its data begins, and how many bytes it has there.
    pub(crate) start: u64,
    pub(crate) packed: u64,
    unpacked: u64,
    checksum: u32,
    method: u16,
}

impl Member {
    /// The data unpacked. `inner`: the data alone.
    pub(super) fn unpacked(self, inner: Counted, limits: &Limits) -> io::Result<Bytes> {
        let bytes: Bytes = match self.method {
            0 => Box::new(inner),
            8 => Box::new(flate2::bufread::DeflateDecoder::new(inner)),
            12 => decoders::bzip2(inner),
            93 => decoders::zstd(inner, limits)?,
            95 => decoders::xz(inner, limits),
            _ => return Err(io::Error::other(self.unknown())),
        };
        let sum = flate2::Crc::new();
        Ok(Box::new(Checked { bytes, sum, member: self }))
    }

    fn unknown(self) -> String {
        format!(
            "a zip archive whose file is compressed with method {} is not read; unpack it",
            self.method
        )
    }
}

/// Data whose length and checksum are compared at its end.
struct Checked {
    bytes: Bytes,
    sum: flate2::Crc,
    member: Member,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.sum.update(&buffer[..count]);
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        // The sum counts bytes modulo 2^32.
        if self.sum.amount() != self.member.unpacked as u32 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.sum.sum() != self.member.checksum {
            return Err(io::Error::other("the checksum is wrong"));
        }
        Ok(0)
    }
}

/// The one file of an archive, and its name.
///
/// # Errors
/// A [`Fault`] where there is none or more than one, or where it is not read; other errors where
/// the archive is damaged.
pub(crate) fn only(file: &StoredBytes, bytes: u64) -> io::Result<(Member, String)> {
    let (count, start) = directory(file, bytes)?;
    let mut headers = BufReader::new(file.onward(start..bytes, stored::ahead(&Limits::default())));
    let mut found: Option<(Entry, String)> = None;
    for _ in 0..count {
        let (entry, name) = Entry::next(&mut headers)?;
        if !is_data(&name) {
            continue;
        }
        if let Some((_, first)) = &found {
            return Err(several("zip", first, &name, "unzip"));
        }
        found = Some((entry, name));
    }
    let (entry, name) = found.ok_or_else(|| nothing("zip"))?;
    Ok((entry.member(file, bytes)?, name))
}

/// Number of central headers, and where they begin.
fn directory(file: &StoredBytes, bytes: u64) -> io::Result<(u64, u64)> {
    let tail_bytes = bytes.min(END_BYTES + COMMENT_BYTES_MAX);
    let mut tail = vec![0; tail_bytes as usize];
    file.read_exact_at(&mut tail, bytes - tail_bytes)?;
    let end = memchr::memmem::rfind(&tail, END).ok_or_else(|| damaged("its end is missing"))?;
    let mut fields = Fields::new(tail.get(end + 10..end + END_BYTES as usize).unwrap_or_default());
    let (count, _, start) = (fields.u16()?, fields.u32()?, fields.u32()?);
    if count < u16::MAX && start < u32::MAX {
        return Ok((count.into(), start.into()));
    }
    let locator = end.checked_sub(20).map(|at| &tail[at..]);
    let locator = locator.and_then(|locator| locator.strip_prefix(END_64_LOCATOR));
    let Some(locator) = locator else { return Ok((count.into(), start.into())) };
    let at = Fields::new(locator.get(4..).unwrap_or_default()).u64()?;
    let mut end = [0; 56];
    file.read_exact_at(&mut end, at)?;
    if !end.starts_with(END_64) {
        return Err(damaged("its end is missing"));
    }
    let mut fields = Fields::new(&end[32..]);
    let (count, _, start) = (fields.u64()?, fields.u64()?, fields.u64()?);
    Ok((count, start))
}

/// Entry that a central header has for a file.
struct Entry {
    flags: u16,
    local: u64,
    member: Member,
}

impl Entry {
    fn next(headers: &mut impl Read) -> io::Result<(Self, String)> {
        let mut fixed = [0; 46];
        headers.read_exact(&mut fixed)?;
        if !fixed.starts_with(CENTRAL) {
            return Err(damaged("its list of files is cut"));
        }
        let mut fields = Fields::new(&fixed[8..]);
        let (flags, method, _) = (fields.u16()?, fields.u16()?, fields.u32()?);
        let (checksum, packed, unpacked) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let lengths = [fields.u16()?, fields.u16()?, fields.u16()?].map(usize::from);
        let mut fields = Fields::new(&fixed[42..]);
        let local = fields.u32()?;
        let mut texts = vec![0; lengths.iter().sum()];
        headers.read_exact(&mut texts)?;
        let (name, rest) = texts.split_at(lengths[0]);
        let mut sizes = [unpacked, packed, local].map(u64::from);
        wide(&rest[..lengths[1]], &mut sizes)?;
        let [unpacked, packed, local] = sizes;
        let member = Member { start: 0, packed, unpacked, checksum, method };
        Ok((Self { flags, local, member }, String::from_utf8_lossy(name).into_owned()))
    }

    /// The file, whose local header says where its data begins.
    fn member(self, file: &StoredBytes, bytes: u64) -> io::Result<Member> {
        if self.flags & 1 == 1 {
            return Err(Fault::error("a zip archive with a password is not read; unpack it"));
        }
        if !matches!(self.member.method, 0 | 8 | 12 | 93 | 95) {
            return Err(Fault::error(self.member.unknown()));
        }
        let mut fixed = [0; 30];
        file.read_exact_at(&mut fixed, self.local)?;
        let mut fields = Fields::new(&fixed[26..]);
        let before = 30 + u64::from(fields.u16()?) + u64::from(fields.u16()?);
        let start = self.local.saturating_add(before);
        let ends = start.checked_add(self.member.packed).filter(|end| *end <= bytes);
        if !fixed.starts_with(MAGIC) || ends.is_none() {
            return Err(damaged("a file lies outside of it"));
        }
        Ok(Member { start, ..self.member })
    }
}

/// Takes sizes that do not fit in 32 bits from the extra fields, in their order.
fn wide(mut extra: &[u8], sizes: &mut [u64; 3]) -> io::Result<()> {
    while extra.len() >= 4 {
        let mut fields = Fields::new(extra);
        let (kind, length) = (fields.u16()?, usize::from(fields.u16()?));
        let Some(data) = extra.get(4..4 + length) else { break };
        if kind == 1 {
            let mut fields = Fields::new(data);
            for size in sizes.iter_mut().filter(|size| **size == u64::from(u32::MAX)) {
                *size = fields.u64()?;
            }
        }
        extra = &extra[4 + length..];
    }
    Ok(())
}

fn damaged(what: &str) -> io::Error {
    Fault::error(format!("the zip archive is damaged: {what}"))
}

/// Little-endian numbers, one after the other.
struct Fields<'a>(Cursor<&'a [u8]>);

impl<'a> Fields<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self(Cursor::new(bytes))
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).map(|()| bytes)
    }

    fn u16(&mut self) -> io::Result<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> io::Result<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> io::Result<u64> {
        self.take().map(u64::from_le_bytes)
    }
}
