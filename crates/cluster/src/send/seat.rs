//! A machine at the table: words to it and from it, and whether it is still there.
//!
//! ```text
//! word     length u64, bytes           beat     u64::MAX, which says that the sender is there
//! ```
//!
//! A machine beats once a second while it waits for others or for its own threads. What it receives
//! is kept until it is asked for, so a look takes no word away.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use super::ending::Ending;
use crate::links::stream::Stream;

/// Time after which a machine that waits looks whether it is to end, or another has gone.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Time between two beats.
const BEAT: Duration = Duration::from_secs(1);

/// Time of silence after which a machine is gone.
pub(super) const SILENCE: Duration = Duration::from_secs(20);

/// Bytes of a word, at most.
const WORD_BYTES_MAX: u64 = 1 << 30;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// The connection to a machine.
pub(super) struct Seat {
    stream: Stream,
    /// Bytes that came and were not asked for yet.
    received: Vec<u8>,
    last_received: Instant,
    last_sent: Instant,
}

impl Seat {
    /// A connection that was made now, whose calls take [`LOOK`] at most.
    pub(super) fn new(stream: Stream) -> Self {
        let now = Instant::now();
        Self { stream, received: Vec::new(), last_received: now, last_sent: now }
    }

    /// Says a word, which takes as long as the other side reads on.
    ///
    /// # Errors
    /// When the connection ends, or the run (`Interrupted`).
    pub(super) fn say(&mut self, word: &[u8], ending: &Ending) -> io::Result<()> {
        self.write(&[&(word.len() as u64).to_le_bytes(), word].concat(), Some(ending))
    }

    /// A word, if it is whole within [`LOOK`].
    ///
    /// # Errors
    /// When the connection ends, or a word is longer than any.
    pub(super) fn hear(&mut self) -> io::Result<Option<Vec<u8>>> {
        let since = Instant::now();
        loop {
            if let Some(word) = self.word()? {
                return Ok(Some(word));
            }
            if since.elapsed() > LOOK || !self.read()? {
                return Ok(None);
            }
        }
    }

    /// Finds out whether the other side is there, and shows it that this one is.
    ///
    /// # Errors
    /// When the connection ends, or was silent for [`SILENCE`].
    pub(super) fn look(&mut self) -> io::Result<()> {
        if self.received.len() < PIECE_BYTES && self.stream.is_readable()? {
            self.read()?;
        }
        if self.last_received.elapsed() > SILENCE {
            return Err(silent());
        }
        if self.last_sent.elapsed() > BEAT {
            self.write(&u64::MAX.to_le_bytes(), None)?;
        }
        Ok(())
    }

    /// The word that has been received, if it is whole.
    fn word(&mut self) -> io::Result<Option<Vec<u8>>> {
        while let Some((length, rest)) = self.received.split_first_chunk::<8>() {
            let length = u64::from_le_bytes(*length);
            if length == u64::MAX {
                self.received.drain(..8);
                continue;
            }
            if length > WORD_BYTES_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            let Some(word) = rest.get(..length as usize).map(<[u8]>::to_vec) else { break };
            self.received.drain(..8 + word.len());
            return Ok(Some(word));
        }
        Ok(None)
    }

    /// Reads what comes within [`LOOK`], and says whether anything did. Words take memory as they
    /// come, whatever their length is said to be.
    fn read(&mut self) -> io::Result<bool> {
        let have = self.received.len();
        self.received.resize(have + PIECE_BYTES, 0);
        let read = self.stream.read(&mut self.received[have..]);
        self.received.truncate(have + read.as_ref().map_or(0, |&read| read));
        match read {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {
                self.last_received = Instant::now();
                Ok(true)
            }
            Err(error) if may_go_on(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(&mut self, mut bytes: &[u8], ending: Option<&Ending>) -> io::Result<()> {
        let mut moved = Instant::now();
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    moved = Instant::now();
                }
                Err(error) if may_go_on(&error) => {}
                Err(error) => return Err(error),
            }
            if moved.elapsed() > SILENCE {
                return Err(silent());
            }
            if ending.is_some_and(Ending::is_set) {
                return Err(ErrorKind::Interrupted.into());
            }
        }
        while let Err(error) = self.stream.flush() {
            if !may_go_on(&error) {
                return Err(error);
            }
            if moved.elapsed() > SILENCE {
                return Err(silent());
            }
        }
        self.last_sent = Instant::now();
        Ok(())
    }
}

fn may_go_on(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn silent() -> io::Error {
    io::Error::new(ErrorKind::ConnectionAborted, format!("silent for {} s", SILENCE.as_secs()))
}
