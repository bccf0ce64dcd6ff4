//! Bytes on their way from layer to layer: counted, and with the faults that are found in them.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a layer holds of what it reads.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// Bytes that come one after the other.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// Fault in the bytes of a layer. The text is the rest of a sentence about the file.
#[derive(Debug)]
pub(crate) struct Fault(pub(crate) String);

impl Fault {
    pub(crate) fn error(what: impl Into<String>) -> io::Error {
        io::Error::other(Self(what.into()))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Fault {}

/// Counts what is taken from a reader, without what is only buffered.
pub(crate) struct Counted {
    inner: BufReader<Bytes>,
    count: Arc<AtomicU64>,
}

impl Counted {
    pub(crate) fn new(inner: Bytes, count: Arc<AtomicU64>) -> Self {
        Self { inner: BufReader::with_capacity(BUFFER_BYTES, inner), count }
    }
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
