//! Decompression with its limits: what is stored in, what it stands for out.
//!
//! Invariants: never more than one buffer is held, whatever a header says; a stream that ends early
//! is an error and not an end; a stream that grows beyond the stated ratio is refused while it is
//! being read, before anybody keeps what it stands for.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::InputError;
use crate::options::Limits;
use crate::source::Compression;

const BUFFER_BYTES: usize = 256 << 10;

type Stored = Box<dyn Read + Send>;

/// Decompressed bytes of one source.
pub struct Unpacked {
    file: String,
    inner: Stored,
    compression: Compression,
    stored: Arc<AtomicU64>,
    written: u64,
    limits: Limits,
}

impl Unpacked {
    pub(crate) fn new(
        file: &str,
        compression: Compression,
        stored_bytes: Stored,
        limits: &Limits,
    ) -> Result<Self, InputError> {
        let stored = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            inner: BufReader::with_capacity(BUFFER_BYTES, stored_bytes),
            count: Arc::clone(&stored),
        };
        let inner: Stored = match compression {
            Compression::None => Box::new(counted),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(counted)),
            Compression::Zstd => {
                let unread = |error| InputError::io(file, "decompress", error);
                let mut decoder = zstd::Decoder::with_buffer(counted).map_err(unread)?;
                decoder.window_log_max(limits.zstd_window_log_max).map_err(unread)?;
                Box::new(decoder)
            }
        };
        Ok(Self { file: file.to_owned(), inner, compression, stored, written: 0, limits: *limits })
    }

    /// Reads some bytes into `buffer`; 0 is the end, and never comes where a compressed stream is
    /// cut.
    ///
    /// # Errors
    /// When the source cannot be read, is damaged or truncated, or grows too much.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, InputError> {
        loop {
            match self.inner.read(buffer) {
                Ok(count) => {
                    self.written += count as u64;
                    return self.check_ratio().map(|()| count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.explain(error)),
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

    fn check_ratio(&self) -> Result<(), InputError> {
        let Limits { ratio_max, ratio_free_bytes, .. } = self.limits;
        let stored = self.stored();
        let allowed = stored.saturating_mul(ratio_max).max(ratio_free_bytes);
        if self.compression == Compression::None || self.written <= allowed {
            return Ok(());
        }
        let what = format!(
            "decompresses to more than {ratio_max} times its size ({} bytes so far), \
             which no edge list does",
            self.written
        );
        Err(InputError::byte(&self.file, stored, what))
    }

    fn explain(&self, error: io::Error) -> InputError {
        let kind = match self.compression {
            Compression::None => return InputError::io(&self.file, "read", error),
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        };
        // An error with a number comes from the system, one without from the decoder.
        if error.raw_os_error().is_some() {
            return InputError::io(&self.file, "read", error);
        }
        let what = if error.kind() == io::ErrorKind::UnexpectedEof {
            format!("truncated: the file ends in the middle of its {kind} data")
        } else {
            format!("not valid {kind} data: {error}")
        };
        InputError::byte(&self.file, self.stored(), what)
    }
}

/// Counts what is taken from storage, without what is only buffered.
struct Counted {
    inner: BufReader<Stored>,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.count.fetch_add(amount as u64, Ordering::Relaxed);
        self.inner.consume(amount);
    }
}
