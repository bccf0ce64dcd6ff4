//! Meeting of machines of several computers with the one of rank 0, and what is said there.
//!
//! ```text
//! machine r   ── line: who, which run; then lines are heard ──   rank 0   DOWN
//!             ── line: who, which run; then words are said  ──            UP
//!             ── line: who, which run; then why it cannot   ──            FAILED
//!             ── line: who; then frames of what all read ([`crate::exchange`])  READDOWN, READUP
//! ```
//!
//! Each direction has a connection of its own, as between machines ([`crate::links`]), and both
//! ends say something every second, so that a silence means something.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use welter_progress::FailureKind;
use welter_protocol::Rank;

use crate::credentials::Trust;
use crate::links::stream::Stream;

/// Time between two words of one who has nothing to say.
pub(crate) const BEAT: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 1000 });

/// Time after which one who says nothing is taken to be gone.
pub(crate) const SILENCE: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 10 });

/// Time for a handshake. In tests it is longer than they wait, so that none passes by its end.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(if cfg!(test) { 100 } else { 5 });

/// Bytes of a line, at most.
const LINE_BYTES_MAX: u64 = 2000;

const TITLE: &str = "welter-join-2";

/// Place of a machine among those of several computers.
#[derive(Clone, Debug)]
pub struct Seating {
    /// Rank of the machine.
    pub rank: Rank,
    /// Number of machines.
    pub machines: usize,
    /// Where rank 0 listens: `host:port`.
    pub first: String,
    /// Port where this machine listens for others; 0 is any.
    pub port: u16,
    /// Proof that is asked of others.
    pub trust: Trust,
    /// Time in which a machine must be there.
    pub patience: Duration,
    /// Whether the host is a process of its own, beside all machines, and listens at the address of
    /// `first` alone; it stands in the place of rank 0 there.
    pub apart: bool,
}

impl Seating {
    /// The address of rank 0.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        let all = self.first.to_socket_addrs()?;
        // Most listeners of a machine with both are for the older one.
        let mut all: Vec<SocketAddr> = all.collect();
        all.sort_by_key(SocketAddr::is_ipv6);
        all.first().copied().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

/// Use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Down,
    Up,
    Failed,
    ReadDown,
    ReadUp,
}

impl Purpose {
    /// Whether it is for reading an input together, before there is a run.
    pub(crate) fn is_reading(self) -> bool {
        matches!(self, Self::ReadDown | Self::ReadUp)
    }
}

const PURPOSES: [Purpose; 5] =
    [Purpose::Down, Purpose::Up, Purpose::Failed, Purpose::ReadDown, Purpose::ReadUp];

/// Line to machines that read together: all are there.
pub(crate) const START: &str = "start";

/// Begin of the line to one that comes when the run has begun: each machine has read a share.
/// Behind it may stand how shares were dealt out.
pub(crate) const READ_SHARES: &str = "shares";

/// Line to such a one where each machine has read all.
pub(crate) const READ_ALL: &str = "all";

/// First line of a machine that comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joining {
    /// Digest of what all agree on beforehand.
    pub(crate) digest: u64,
    /// Number of the contents of its input.
    pub(crate) contents: u64,
    pub(crate) rank: Rank,
    /// Number that the two connections of a process share.
    pub(crate) nonce: u64,
    pub(crate) purpose: Purpose,
}

impl Joining {
    /// Says it.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let Self { digest, contents, rank, nonce, purpose } = self;
        writeln!(to, "{TITLE} {digest:016x} {contents:016x} {rank} {nonce:016x} {purpose:?}")?;
        to.flush()
    }

    /// Receives the line.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Self> {
        Self::of(&line(from)?).ok_or_else(|| ErrorKind::InvalidData.into())
    }

    fn of(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [TITLE, digest, contents, rank, nonce, purpose] = words[..] else { return None };
        let number = |hex| u64::from_str_radix(hex, 16).ok();
        let purpose = *PURPOSES.iter().find(|known| format!("{known:?}") == purpose)?;
        let [digest, contents, nonce] = [number(digest)?, number(contents)?, number(nonce)?];
        Some(Self { digest, contents, rank: rank.parse().ok()?, nonce, purpose })
    }
}

/// The next line, without its end.
pub(crate) fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.by_ref().take(LINE_BYTES_MAX).read_line(&mut line)?;
    let cut = line.strip_suffix('\n').map(str::to_owned);
    cut.ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

/// End of a run, for all machines alike: none where all went well.
pub type Verdict = Option<(FailureKind, String)>;

/// A verdict as words of a line.
pub(crate) fn verdict_line(verdict: &Verdict) -> String {
    let line = match verdict {
        None => "done".to_owned(),
        Some((kind, what)) => {
            let what: String = what.chars().take(400).collect();
            format!("{kind:?} {}", what.replace(['\n', '\r'], " "))
        }
    };
    debug_assert!(verdict_of(&line).is_some(), "a verdict is one that is read");
    line
}

/// The verdict of such words.
pub(crate) fn verdict_of(words: &str) -> Option<Verdict> {
    if words == "done" {
        return Some(None);
    }
    let (kind, what) = words.split_once(' ')?;
    let kind = *FailureKind::ALL.iter().find(|known| format!("{known:?}") == kind)?;
    Some(Some((kind, what.to_owned())))
}

/// A stream with lines and words in it.
pub(crate) type Buffered = BufReader<Stream>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_others_are_errors() {
        for purpose in PURPOSES {
            let joining = Joining { digest: 7, contents: 9, rank: 3, nonce: u64::MAX, purpose };
            let mut bytes = Vec::new();
            joining.write(&mut bytes).unwrap();
            assert_eq!(Joining::read(&mut &bytes[..]).unwrap(), joining);
            assert!(Joining::read(&mut &bytes[..bytes.len() - 1]).is_err());
        }
        let long = "x".repeat(5000);
        for wrong in ["", "\n", "welter-join-2 7 9 3 Up\n", "welter-join-2 7 9 3 7 Over\n", &long] {
            assert!(Joining::read(&mut wrong.as_bytes()).is_err(), "{wrong}");
        }
        for kind in FailureKind::ALL {
            let verdict = Some((kind, "a\nlong story".to_owned()));
            let expected = Some((kind, "a long story".to_owned()));
            assert_eq!(verdict_of(&verdict_line(&verdict)), Some(expected));
        }
        assert_eq!(verdict_of(&verdict_line(&None)), Some(None));
        assert_eq!(verdict_of("Odd thing"), None);
    }
}
