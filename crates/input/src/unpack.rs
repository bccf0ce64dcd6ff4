//! From the bytes that are stored to those that a reader wants: layers of compression, archives and
//! encodings, each with its limits.
//!
//! ```text
//! edges.tar.xz:   stored bytes ─► xz ─► tar (its one file) ─► UTF-16 ─► text
//!                  counted       └── each counts what it gives, against what is stored
//! ```
//!
//! Invariants: never more than one buffer is held a layer, whatever a header says; a stream that
//! ends early is an error and not an end; a layer that grows beyond the stated ratio is refused
//! while it is being read, before a reader keeps what it stands for; a decoder that panics is a
//! file that is damaged. Tested by `no_end_in_gzip`,
//! `every_compression_gives_what_was_packed_and_is_refused_where_it_is_cut` and
//! `every_layer_keeps_to_the_ratio`; checked in `Limited::read`, which catches panics.

mod bytes;
mod decoders;
pub(crate) mod encoding;
mod lz4;
pub(crate) mod tar;
pub(crate) mod zip;

#[cfg(test)]
pub(crate) mod tests;

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use encoding_rs::Encoding;

pub(crate) use self::bytes::Bytes;
use self::bytes::{BUFFER_BYTES, Counted, Fault};
use crate::error::InputError;
use crate::options::Limits;

/// A way in which bytes stand for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// gzip, of one or more members.
    Gzip,
    /// zstd, of one or more frames.
    Zstd,
    /// bzip2, of one or more streams.
    Bzip2,
    /// xz, of one or more streams.
    Xz,
    /// Frames of LZ4.
    Lz4,
    /// Frames of Snappy.
    Snappy,
    /// Brotli.
    Brotli,
    /// The one file in a zip archive.
    Zip(zip::Member),
    /// The one file in a tar archive.
    Tar,
    /// Text that is not in UTF-8, or that begins with a mark of its encoding.
    Encoded(&'static Encoding),
    /// Text whose lines end in carriage returns alone.
    Returns,
}

impl Layer {
    /// The name of the layer.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4 => "LZ4",
            Self::Snappy => "Snappy",
            Self::Brotli => "Brotli",
            Self::Zip(_) => "zip",
            Self::Tar => "tar",
            Self::Encoded(encoding) => encoding.name(),
            Self::Returns => "lines that end in carriage returns",
        }
    }

    fn over(self, inner: Counted, limits: &Limits) -> io::Result<Bytes> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(inner)),
            Self::Zstd => decoders::zstd(inner, limits)?,
            Self::Bzip2 => decoders::bzip2(inner),
            Self::Xz => decoders::xz(inner, limits),
            Self::Lz4 => Box::new(lz4::Frames::new(inner)),
            Self::Snappy => Box::new(snap::read::FrameDecoder::new(inner)),
            Self::Brotli => Box::new(brotli_decompressor::Decompressor::new(inner, BUFFER_BYTES)),
            Self::Zip(member) => member.unpacked(inner, limits)?,
            Self::Tar => Box::new(tar::OneFile::new(inner)),
            Self::Encoded(encoding) => Box::new(encoding::Decoded::new(inner, encoding)),
            Self::Returns => Box::new(encoding::Returns::new(inner)),
        })
    }
}

/// The bytes of one source, under all its layers.
pub struct Unpacked {
    file: String,
    inner: Bytes,
    stored: Arc<AtomicU64>,
}

impl Unpacked {
    /// `layers`: from the stored bytes inwards.
    pub(crate) fn new(
        file: &str,
        layers: &[Layer],
        stored_bytes: Bytes,
        limits: &Limits,
    ) -> Result<Self, InputError> {
        let stored = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&stored);
        let limited = |layer: Layer, counted: Counted| -> Result<Bytes, InputError> {
            let decoder = layer.over(counted, limits);
            let decoder = decoder.map_err(|error| InputError::io(file, "decompress", error))?;
            let stored = Arc::clone(&stored);
            Ok(Box::new(Limited { layer, decoder, stored, given: 0, limits: *limits }))
        };
        // Only the outermost counts what is stored: bytes that its decoder has taken, and none that
        // are only buffered.
        let outermost = Counted::new(stored_bytes, count);
        let inner: Bytes = match layers.split_first() {
            None => Box::new(outermost),
            Some((first, rest)) => {
                let mut inner = limited(*first, outermost)?;
                for layer in rest {
                    inner = limited(*layer, Counted::new(inner, Arc::default()))?;
                }
                inner
            }
        };
        Ok(Self { file: file.to_owned(), inner, stored })
    }

    /// Reads some bytes into `buffer`; 0 is the end, and never comes where a compressed stream is
    /// cut.
    ///
    /// # Errors
    /// When the source cannot be read, is damaged or truncated, or grows too much.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, InputError> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done.map_err(|error| self.explain(error)),
            }
        }
    }

    /// Fills `buffer` as far as the source reaches, and says how far.
    ///
    /// # Errors
    /// As [`Unpacked::read`].
    pub fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, InputError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        Ok(filled)
    }

    /// Stored bytes taken so far.
    pub fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    fn explain(&self, error: io::Error) -> InputError {
        match fault(&error) {
            Some(what) => InputError::byte(&self.file, self.stored(), what),
            None => InputError::io(&self.file, "read", error),
        }
    }
}

/// The fault that an error carries, if it is one of a layer.
fn fault(error: &io::Error) -> Option<&str> {
    error.get_ref()?.downcast_ref::<Fault>().map(|fault| fault.0.as_str())
}

/// Bytes that a layer gives, as long as it is sound and they are not too many.
struct Limited {
    layer: Layer,
    decoder: Bytes,
    /// Bytes taken of those that are stored, under all layers.
    stored: Arc<AtomicU64>,
    given: u64,
    limits: Limits,
}

impl Limited {
    fn check_ratio(&self) -> io::Result<()> {
        let Limits { ratio_max, ratio_free_bytes, .. } = self.limits;
        let stored = self.stored.load(Ordering::Relaxed);
        if self.given <= stored.saturating_mul(ratio_max).max(ratio_free_bytes) {
            return Ok(());
        }
        Err(Fault::error(format!(
            "decompresses to more than {ratio_max} times its size ({} bytes so far), which no edge \
             list does",
            self.given
        )))
    }

    /// Says which layer is wrong. An error with a number comes from the system, and what an object
    /// says is no fault of a layer.
    fn explain(&self, error: io::Error) -> io::Error {
        let name = self.layer.name();
        let foreign = error.raw_os_error().is_some() || welter_objects::fault(&error).is_some();
        if foreign || fault(&error).is_some() {
            error
        } else if error.kind() == io::ErrorKind::UnexpectedEof {
            Fault::error(format!("truncated: the file ends in the middle of its {name} data"))
        } else {
            Fault::error(format!("not valid {name} data: {error}"))
        }
    }
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let decoder = &mut self.decoder;
        let read = catch_unwind(AssertUnwindSafe(|| decoder.read(buffer)));
        match read.unwrap_or_else(|_| Err(io::Error::other("it cannot be decoded"))) {
            Ok(count) => {
                self.given += count as u64;
                self.check_ratio().map(|()| count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(self.explain(error)),
        }
    }
}
