//! Tar archives that hold one file: its bytes.
//!
//! An archive is blocks of 512 bytes: a header and the data of an entry, one after the other, and
//! two blocks of zeros. Directories, links, and files that begin with a dot or `_` (what macOS and
//! Spark write beside the data) are passed over, as in a directory; a second file is an error,
//! found when the first one ends. Sizes are those of the header, or of the extension before it.
//!
//! Invariant: what extensions hold is kept to [`EXTENSION_BYTES_MAX`]; nothing else is held.
//! Checked in `OneFile::extension`.

use std::io::{self, BufRead, Read};

use tar::{EntryType, Header, PaxExtensions};

use super::bytes::{Counted, Fault};

/// Bytes of a block.
const BLOCK_BYTES: usize = 512;

/// Bytes of an extended header: names and times.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;

/// The bytes of the one file.
pub(crate) struct OneFile {
    inner: Counted,
    at: At,
    /// The name of the file, once it was found.
    found: Option<String>,
}

/// Position of the reader in the archive.
#[derive(Clone, Copy)]
enum At {
    /// Before a header.
    Header,
    /// In the data of the file, of which `left` bytes are left, and what fills its last block.
    Data { left: u64, filling: u64 },
    /// Behind the end mark.
    End,
}

impl OneFile {
    pub(crate) fn new(inner: Counted) -> Self {
        Self { inner, at: At::Header, found: None }
    }

    /// Goes to the data of the file, or to the end.
    fn advance(&mut self) -> io::Result<()> {
        let (mut size, mut name) = (None, None);
        loop {
            let Some(block) = self.block()? else { return self.end() };
            let header = Header::from_byte_slice(&block);
            let kind = header.entry_type();
            let stated = match size.filter(|_| !kind.is_pax_local_extensions()) {
                Some(size) => size,
                None => header.entry_size()?,
            };
            let filling = stated.wrapping_neg() % BLOCK_BYTES as u64;
            match kind {
                EntryType::XHeader => {
                    let bytes = self.extension(stated, filling)?;
                    (size, name) = extensions(&bytes)?;
                    continue;
                }
                EntryType::GNULongName => {
                    let bytes = self.extension(stated, filling)?;
                    let end = memchr::memchr(0, &bytes).unwrap_or(bytes.len());
                    name = Some(String::from_utf8_lossy(&bytes[..end]).into_owned());
                    continue;
                }
                EntryType::GNUSparse => {
                    return Err(Fault::error("a tar archive with sparse files is not read"));
                }
                _ => {}
            }
            let name = name.take();
            let name = name.unwrap_or_else(|| String::from_utf8_lossy(&header.path_bytes()).into());
            size = None;
            if !matches!(kind, EntryType::Regular | EntryType::Continuous) || !is_data(&name) {
                self.skip(stated.saturating_add(filling))?;
                continue;
            }
            if let Some(first) = &self.found {
                return Err(several("tar", first, &name, "tar -xf"));
            }
            self.found = Some(name);
            self.at = At::Data { left: stated, filling };
            return Ok(());
        }
    }

    /// The next header; `None` at the end.
    fn block(&mut self) -> io::Result<Option<[u8; BLOCK_BYTES]>> {
        if self.inner.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut block = [0; BLOCK_BYTES];
        self.inner.read_exact(&mut block)?;
        if block == [0; BLOCK_BYTES] {
            return Ok(None);
        }
        if !begins(&block) {
            return Err(io::Error::other("a header whose checksum is wrong"));
        }
        Ok(Some(block))
    }

    fn extension(&mut self, size: u64, filling: u64) -> io::Result<Vec<u8>> {
        if size > EXTENSION_BYTES_MAX {
            return Err(io::Error::other(format!("an extended header of {size} bytes")));
        }
        let mut bytes = vec![0; size as usize];
        self.inner.read_exact(&mut bytes)?;
        self.skip(filling)?;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.inner).take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Nothing more comes; what lies around the archive is read to its end, which may be damaged.
    fn end(&mut self) -> io::Result<()> {
        io::copy(&mut self.inner, &mut io::sink())?;
        self.at = At::End;
        match self.found {
            Some(_) => Ok(()),
            None => Err(nothing("tar")),
        }
    }
}

impl Read for OneFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.at {
                _ if buffer.is_empty() => return Ok(0),
                At::End => return Ok(0),
                At::Header => self.advance()?,
                At::Data { left: 0, filling } => {
                    self.skip(filling)?;
                    self.at = At::Header;
                }
                At::Data { left, filling } => {
                    let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    let count = self.inner.read(&mut buffer[..length])?;
                    if count == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.at = At::Data { left: left - count as u64, filling };
                    return Ok(count);
                }
            }
        }
    }
}

/// Whether bytes begin with the header of a tar archive: its checksum tells.
pub(crate) fn begins(head: &[u8]) -> bool {
    let Some(block) = head.first_chunk::<BLOCK_BYTES>().filter(|block| block[0] != 0) else {
        return false;
    };
    // The checksum counts as spaces.
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let expected = sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]);
    Header::from_byte_slice(block).cksum().is_ok_and(|stated| stated == expected)
}

/// The name of the first file, from the first bytes of an archive, if it is among them.
pub(crate) fn name(head: &[u8]) -> Option<String> {
    let stored: super::Bytes = Box::new(io::Cursor::new(head.to_vec()));
    let mut file = OneFile::new(Counted::new(stored, std::sync::Arc::default()));
    // An error may come from the end of the first bytes.
    let _ = file.advance();
    file.found
}

/// The size and the name that an extended header states.
fn extensions(bytes: &[u8]) -> io::Result<(Option<u64>, Option<String>)> {
    let (mut size, mut name) = (None, None);
    for extension in PaxExtensions::new(bytes) {
        let extension = extension?;
        match extension.key_bytes() {
            b"size" => {
                let number = extension.value().ok().and_then(|value| value.parse().ok());
                let wrong = || io::Error::other("an extended header without a size");
                size = Some(number.ok_or_else(wrong)?);
            }
            b"path" => name = Some(String::from_utf8_lossy(extension.value_bytes()).into_owned()),
            key if key.starts_with(b"GNU.sparse") => {
                return Err(Fault::error("a tar archive with sparse files is not read"));
            }
            _ => {}
        }
    }
    Ok((size, name))
}

/// Whether a file of an archive or a directory, by its name, is one of those that hold data.
pub(crate) fn is_data(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    !last.is_empty() && !last.starts_with(['.', '_']) && !name.starts_with("__MACOSX/")
}

/// An archive that holds more than one file.
pub(crate) fn several(kind: &str, first: &str, second: &str, way: &str) -> io::Error {
    Fault::error(format!(
        "expected a {kind} archive of one file, found {first:?} and {second:?}; unpack it ({way}) \
         and name the files that hold edges"
    ))
}

/// An archive that holds none.
pub(crate) fn nothing(kind: &str) -> io::Error {
    Fault::error(format!(
        "expected a {kind} archive of one file, found none (those that begin with a dot or _ are \
         passed over)"
    ))
}
