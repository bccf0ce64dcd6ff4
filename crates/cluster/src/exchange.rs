//! Bytes that machines hand each other before there is a run: what they read of an input together.
//!
//! ```text
//! member   ── READUP   ──>  hub    who it is; then frames for others
//!          <── READDOWN ──         lines until all are there; then frames of others
//! ```
//!
//! The hub ([`hub`]) is at the side of who hosts the run, and passes frames on; it holds a bounded
//! number of them. What is done in a round is the members' own.
//!
//! A member says something each second, as long as its process works or waits for others itself, so
//! that one whose input hangs is noticed. Where one is lost, all are told so, and each continues as
//! if it had come to no hub.
//!
//! **Invariant:** a member waits for others no longer than they are heard, and ends when it is
//! cancelled. Checked in `Member::next`. Tested by `who_is_lost_ends_the_rounds_of_all`.
//! **Invariant:** a message is what was sent, or the member is lost. Checked in `Member::take`, by
//! a checksum. Tested by `all_have_what_others_sent`.

mod frames;
pub(crate) mod hub;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, BufReader};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use welter_progress::Progress;
use welter_protocol::payload::checksum;

use self::frames::{Frame, PIECE_BYTES, read, write, write_piece};
use crate::error::ClusterError;
use crate::join::{connect, out_of_reach};
use crate::links::stream::Stream;
use crate::meeting::{
    BEAT, Buffered, Joining, Purpose, READ_ALL, READ_SHARES, START, Seating, Verdict, line,
    verdict_of,
};
use crate::processes::Work;

/// Pause between two attempts to reach the hub.
const PAUSE: Duration = Duration::from_millis(100);

/// Time between two looks at whether a member is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Outcome of coming to a hub.
pub enum Met {
    /// It is one of them.
    Member(Box<Member>),
    /// The run has begun, and its machines have read a share each: as they were dealt out, where
    /// machines have said that of each other.
    Shares(String),
    /// The run has begun, and its machines have read all.
    All,
    /// Not all machines can take part, for this reason.
    Verdict(Verdict),
}

/// A machine that exchanges bytes with others.
pub struct Member {
    me: usize,
    members: usize,
    up: Arc<Mutex<Stream>>,
    heard: Receiver<Result<Frame, String>>,
    /// The beginning of the message at hand of each other member, and messages that are whole.
    partial: Vec<Vec<u8>>,
    whole: Vec<VecDeque<Vec<u8>>>,
    progress: Progress,
    pulse: Arc<Pulse>,
    sockets: Vec<TcpStream>,
}

/// Whether a member is waiting for others, and whether it has ended.
#[derive(Default)]
struct Pulse {
    is_waiting: AtomicBool,
    has_ended: AtomicBool,
}

fn lost(what: impl Into<String>) -> ClusterError {
    ClusterError::Parted(what.into())
}

impl Member {
    /// Comes to the hub at the address of the first machine, as the member of its rank, of as many,
    /// and waits until all are there. Tries for as long as patience lasts.
    ///
    /// # Errors
    /// When the hub is out of reach, or the run is cancelled.
    pub fn join(
        seating: &Seating,
        members: usize,
        progress: &Progress,
    ) -> Result<Met, ClusterError> {
        Self::join_while(seating, members, progress, &mut || true)
    }

    /// As [`Self::join`], for as long as all others may come still, which is asked each second.
    ///
    /// # Errors
    /// As of [`Self::join`].
    pub fn join_while(
        seating: &Seating,
        members: usize,
        progress: &Progress,
        may_come: &mut dyn FnMut() -> bool,
    ) -> Result<Met, ClusterError> {
        if let Ok(address) = seating.address() {
            seating.trust.check(address)?;
        }
        let mut since = Instant::now();
        let mut nonce = u64::from(std::process::id());
        loop {
            nonce = checksum(format!("{nonce} {:?}", Instant::now()).as_bytes());
            let joining =
                |purpose| Joining { digest: 0, contents: 0, rank: seating.rank, nonce, purpose };
            let came = connect(seating, &joining(Purpose::ReadDown)).and_then(|(down, _)| {
                let (up, _) = connect(seating, &joining(Purpose::ReadUp))?;
                Ok((BufReader::new(down), up))
            });
            match came {
                Ok((mut down, up)) => match Self::waited(&mut down, progress, may_come)? {
                    Some(FirstWord::Start) => {
                        let member = Self::new((seating.rank, members), (down, up), progress)?;
                        return Ok(Met::Member(Box::new(member)));
                    }
                    Some(FirstWord::Shares(deal)) => return Ok(Met::Shares(deal)),
                    Some(FirstWord::All) => return Ok(Met::All),
                    Some(FirstWord::Verdict(verdict)) => return Ok(Met::Verdict(verdict)),
                    // It was heard of until now.
                    None => {}
                },
                Err(error) if since.elapsed() > seating.patience => {
                    return Err(out_of_reach(seating, seating.patience, error));
                }
                Err(_) => {
                    sleep(PAUSE);
                    continue;
                }
            }
            if progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            // The hub was there, and is not any more: it may be that the run begins.
            since = Instant::now();
            sleep(PAUSE);
        }
    }

    /// The first word of the hub; none where it is gone.
    fn waited(
        down: &mut Buffered,
        progress: &Progress,
        may_come: &mut dyn FnMut() -> bool,
    ) -> Result<Option<FirstWord>, ClusterError> {
        loop {
            if progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            if !may_come() {
                return Ok(Some(FirstWord::All));
            }
            let Ok(line) = line(down) else { return Ok(None) };
            match &line[..] {
                START => return Ok(Some(FirstWord::Start)),
                READ_ALL => return Ok(Some(FirstWord::All)),
                _ => {}
            }
            if let Some(deal) = line.strip_prefix(READ_SHARES) {
                return Ok(Some(FirstWord::Shares(deal.trim_start().to_owned())));
            }
            if let Some(verdict) = line.strip_prefix("verdict ").and_then(verdict_of) {
                return Ok(Some(FirstWord::Verdict(verdict)));
            }
        }
    }

    fn new(
        (me, members): (usize, usize),
        (down, up): (Buffered, Stream),
        progress: &Progress,
    ) -> Result<Self, ClusterError> {
        let broken = |source| ClusterError::Socket { what: "speak to other machines", source };
        let sockets = vec![down.get_ref().handle().map_err(broken)?, up.handle().map_err(broken)?];
        let (frames, heard) = channel();
        let up = Arc::new(Mutex::new(up));
        let pulse = Arc::new(Pulse::default());
        let (beats, beating) = (pulse.clone(), up.clone());
        let thread = Builder::new().name("exchange".to_owned());
        thread.spawn(move || listen(down, &frames)).map_err(ClusterError::Start)?;
        let thread = Builder::new().name("exchange-beat".to_owned());
        thread.spawn(move || beat(&beating, &beats)).map_err(ClusterError::Start)?;
        Ok(Self {
            me,
            members,
            up,
            heard,
            partial: vec![Vec::new(); members],
            whole: vec![VecDeque::new(); members],
            progress: progress.clone(),
            pulse,
            sockets,
        })
    }

    /// Number of this member.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Hands the piece of each place to the member of that number, and waits for those of all
    /// others for this one. Its own piece comes back.
    ///
    /// # Errors
    /// When a member is lost, or the run is cancelled.
    pub fn all_to_all(&mut self, pieces: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ClusterError> {
        self.pulse.is_waiting.store(true, Ordering::Relaxed);
        let found = self.round(pieces);
        self.pulse.is_waiting.store(false, Ordering::Relaxed);
        found
    }

    fn round(&mut self, mut pieces: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, ClusterError> {
        pieces.resize_with(self.members, Vec::new);
        let mut found = vec![Vec::new(); self.members];
        found[self.me] = std::mem::take(&mut pieces[self.me]);
        // Not all of them begin with the same one.
        for step in 1..self.members {
            let peer = (self.me + step) % self.members;
            self.say(peer as u32, &std::mem::take(&mut pieces[peer]))?;
        }
        let me = self.me;
        for peer in (0..self.members).filter(|peer| *peer != me) {
            found[peer] = loop {
                match self.whole[peer].pop_front() {
                    Some(message) => break message,
                    None => self.take()?,
                }
            };
        }
        Ok(found)
    }

    /// Sends a message.
    fn say(&self, peer: u32, message: &[u8]) -> Result<(), ClusterError> {
        for piece in message.chunks(PIECE_BYTES) {
            if self.progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            self.put(|up| write_piece(up, peer, piece))?;
        }
        let end = Frame::End(peer, checksum(message));
        self.put(|up| write(up, &end))
    }

    /// Writes something for the hub.
    fn put(&self, write: impl FnOnce(&mut Stream) -> io::Result<()>) -> Result<(), ClusterError> {
        let mut up = self.up.lock().unwrap_or_else(PoisonError::into_inner);
        write(&mut up).map_err(|error| lost(error.to_string()))
    }

    /// Takes the next frame of another member.
    fn take(&mut self) -> Result<(), ClusterError> {
        let unclear = || lost("a message of another machine makes no sense");
        match self.next()? {
            Frame::Piece(from, bytes) => {
                let partial = self.partial.get_mut(from as usize).ok_or_else(unclear)?;
                partial.extend_from_slice(&bytes);
            }
            Frame::End(from, sum) => {
                let partial = self.partial.get_mut(from as usize).ok_or_else(unclear)?;
                let message = std::mem::take(partial);
                if checksum(&message) != sum {
                    return Err(lost("bytes of another machine are not those that it sent"));
                }
                self.whole[from as usize].push_back(message);
            }
            Frame::Beat => {}
            Frame::Done => return Err(lost("others have ended")),
        }
        Ok(())
    }

    /// The next frame, which is waited for as long as the hub is heard.
    fn next(&self) -> Result<Frame, ClusterError> {
        loop {
            if self.progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            match self.heard.recv_timeout(LOOK) {
                Ok(Ok(frame)) => return Ok(frame),
                Ok(Err(what)) => return Err(lost(what)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(lost("it has ended")),
            }
        }
    }

    /// Ends, when all others do so too.
    ///
    /// # Errors
    /// As of [`Self::all_to_all`].
    pub fn end(self) -> Result<(), ClusterError> {
        self.pulse.is_waiting.store(true, Ordering::Relaxed);
        self.put(|up| write(up, &Frame::Done))?;
        match self.next()? {
            Frame::Done => Ok(()),
            _ => Err(lost("others go on")),
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.pulse.has_ended.store(true, Ordering::Relaxed);
        for socket in &self.sockets {
            // Its threads end with the connections, which may be broken already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// The first word of the hub.
enum FirstWord {
    Start,
    Shares(String),
    All,
    Verdict(Verdict),
}

/// Hears frames until there are no more.
fn listen(mut down: Buffered, frames: &Sender<Result<Frame, String>>) {
    loop {
        match read(&mut down) {
            Ok(Frame::Beat) => {}
            Ok(frame) => {
                let is_last = frame == Frame::Done;
                if frames.send(Ok(frame)).is_err() || is_last {
                    return;
                }
            }
            Err(error) => {
                // The member may have ended by now.
                let _ = frames.send(Err(error.to_string()));
                return;
            }
        }
    }
}

/// Shows the hub that a member is there, while it works or waits.
fn beat(up: &Mutex<Stream>, pulse: &Pulse) {
    let mut work = Work::of(std::process::id());
    while !pulse.has_ended.load(Ordering::Relaxed) {
        let is_seen = work.is_seen();
        if is_seen || pulse.is_waiting.load(Ordering::Relaxed) {
            let mut up = up.lock().unwrap_or_else(PoisonError::into_inner);
            if write(&mut *up, &Frame::Beat).is_err() {
                return;
            }
        }
        sleep(BEAT);
    }
}
