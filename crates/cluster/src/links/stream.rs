//! A connection, with or without proof of who speaks, that must be useful by a time.
//!
//! **Invariant:** until a peer has introduced itself, a connection lasts no longer than a deadline,
//! however slowly it says something. Checked in `Socket::remaining`. Tested by
//! `who_says_nothing_or_little_is_gone_after_a_while`.

use std::io::{self, BufReader, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection, StreamOwned};

use crate::credentials::Trust;

/// Bytes that are read of a connection at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// Bytes that wait to be encrypted and written together.
const WRITE_BYTES: usize = 1 << 18;

/// A name that TLS wants and nothing is made of: keys are compared, and no names.
const NAME: &str = "machine.welter.invalid";

/// A socket that must have been of use by a time.
pub(crate) struct Socket {
    stream: BufReader<TcpStream>,
    until: Option<Instant>,
}

/// A connection.
pub(crate) enum Stream {
    Plain(Socket),
    Connected(Box<StreamOwned<ClientConnection, Socket>>),
    Accepted(Box<StreamOwned<ServerConnection, Socket>>),
}

impl Socket {
    fn new(stream: TcpStream, within: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(within))?;
        let stream = BufReader::with_capacity(BUFFER_BYTES, stream);
        Ok(Self { stream, until: Some(Instant::now() + within) })
    }

    /// Gives what is read next the time that is left.
    fn remaining(&self) -> io::Result<()> {
        let Some(until) = self.until else { return Ok(()) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.get_ref().set_read_timeout(Some(left))
    }
}

impl Read for Socket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.stream.buffer().is_empty() {
            self.remaining()?;
        }
        self.stream.read(to)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.get_mut().write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.get_mut().write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.get_mut().flush()
    }
}

impl Stream {
    /// Proves this side to a machine that was connected to, and has it prove itself, in this time.
    ///
    /// # Errors
    /// When it does not, or the connection breaks.
    pub(crate) fn connected(
        stream: TcpStream,
        trust: &Trust,
        within: Duration,
    ) -> io::Result<Self> {
        let mut socket = Socket::new(stream, within)?;
        let Trust::Key(credentials) = trust else { return Ok(Self::Plain(socket)) };
        let name = ServerName::try_from(NAME).map_err(io::Error::other)?;
        let config = Arc::clone(&credentials.client);
        let mut tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        tls.set_buffer_limit(Some(WRITE_BYTES));
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        Ok(Self::Connected(Box::new(StreamOwned::new(tls, socket))))
    }

    /// As `connected`, of a connection that was accepted.
    ///
    /// # Errors
    /// As of `connected`.
    pub(crate) fn accepted(stream: TcpStream, trust: &Trust, within: Duration) -> io::Result<Self> {
        let mut socket = Socket::new(stream, within)?;
        let Trust::Key(credentials) = trust else { return Ok(Self::Plain(socket)) };
        let config = Arc::clone(&credentials.server);
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        Ok(Self::Accepted(Box::new(StreamOwned::new(tls, socket))))
    }

    /// Lets a connection last, now that its peer is known.
    ///
    /// # Errors
    /// Broken connection.
    pub(crate) fn last(&mut self) -> io::Result<()> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Connected(tls) => &mut tls.sock,
            Self::Accepted(tls) => &mut tls.sock,
        };
        socket.until = None;
        let stream = socket.stream.get_ref();
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)
    }
}

impl Stream {
    /// Lets a connection last as long as its peer is never silent for this time.
    ///
    /// # Errors
    /// Broken connection.
    pub(crate) fn last_while(&mut self, silence: Duration) -> io::Result<()> {
        self.last()?;
        let stream = match self {
            Self::Plain(socket) => &socket.stream,
            Self::Connected(tls) => &tls.sock.stream,
            Self::Accepted(tls) => &tls.sock.stream,
        };
        stream.get_ref().set_read_timeout(Some(silence))?;
        stream.get_ref().set_write_timeout(Some(silence))
    }
}

impl Stream {
    /// The socket once more, to close it while another thread waits for it.
    ///
    /// # Errors
    /// Broken connection, or too many open files.
    pub(crate) fn handle(&self) -> io::Result<TcpStream> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Connected(tls) => &tls.sock,
            Self::Accepted(tls) => &tls.sock,
        };
        socket.stream.get_ref().try_clone()
    }

    /// Whether a call that reads finds bytes, or the end of the connection, without a wait.
    ///
    /// # Errors
    /// Broken connection.
    pub(crate) fn is_readable(&self) -> io::Result<bool> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Connected(tls) => &tls.sock,
            Self::Accepted(tls) => &tls.sock,
        };
        if !socket.stream.buffer().is_empty() {
            return Ok(true);
        }
        let stream = socket.stream.get_ref();
        stream.set_nonblocking(true)?;
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        match peeked {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(to),
            Self::Connected(tls) => tls.read(to),
            Self::Accepted(tls) => tls.read(to),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Connected(tls) => tls.write(bytes),
            Self::Accepted(tls) => tls.write(bytes),
        }
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write_vectored(pieces),
            Self::Connected(tls) => tls.write_vectored(pieces),
            Self::Accepted(tls) => tls.write_vectored(pieces),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Connected(tls) => tls.flush(),
            Self::Accepted(tls) => tls.flush(),
        }
    }
}
