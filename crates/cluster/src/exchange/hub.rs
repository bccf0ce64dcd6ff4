//! The hub of an exchange, at the side of who hosts the run: it waits for all members, and passes
//! on what they send.
//!
//! **Invariant:** where a member is lost, none waits for it: all connections are closed. Checked in
//! `pass_on`. **Invariant:** a member may end only when all have. Checked in `pass_on`, which says
//! so when it has heard it of all. Tested by `who_is_lost_ends_the_rounds_of_all` and
//! `all_end_together`.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, scope, sleep};
use std::time::{Duration, Instant};

use super::frames::{Frame, read, write};
use crate::error::ClusterError;
use crate::links::stream::Stream;
use crate::meeting::{
    BEAT, Buffered, HANDSHAKE, READ_ALL, READ_SHARES, START, Seating, verdict_line,
};
use crate::peers::door::{Arrival, Door, listener, say};

/// Frames that wait for a member.
const QUEUE_FRAMES: usize = 4;

/// Time between two looks at who has come.
const LOOK: Duration = Duration::from_millis(20);

/// The hub of an exchange. It ends with this, and members that have not ended are lost then.
pub struct Hub {
    address: SocketAddr,
    door: Arc<Door>,
    shared: Arc<Shared>,
    /// The listener, and who passes on.
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Whether the hub is gone.
    is_closed: AtomicBool,
    /// Whether members have ended, or not all have come.
    is_idle: AtomicBool,
    /// Connections of members.
    sockets: Mutex<Vec<TcpStream>>,
    /// Why not all have come.
    failed: Mutex<Option<ClusterError>>,
}

impl Shared {
    /// Closes all connections.
    fn part(&self) {
        for socket in self.sockets.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // It may be broken already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Hub {
    /// A hub at the address of the first machine, for this number of members, who must come within
    /// its patience.
    ///
    /// # Errors
    /// When the address is not one of this computer, or members would prove nothing there.
    pub fn open(seating: &Seating, members: usize) -> Result<Self, ClusterError> {
        let (listens, address) = listener(seating)?;
        let (sender, arrivals) = channel();
        let door = Arc::new(Door::new((None, members), None, seating.trust.clone(), sender));
        let (guarded, shared) = (door.clone(), Arc::new(Shared::default()));
        let thread = Builder::new().name("hub-door".to_owned());
        let listening = thread.spawn(move || guarded.listen(&listens));
        let listening = listening.map_err(ClusterError::Start)?;
        let (patience, all) = (seating.patience, shared.clone());
        let thread = Builder::new().name("hub".to_owned()).spawn(move || {
            serve(&arrivals, (members, patience), &all);
        });
        let threads = vec![listening, thread.map_err(ClusterError::Start)?];
        Ok(Self { address, door, shared, threads })
    }

    /// Address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that were of no machine until now.
    pub fn strangers(&self) -> u64 {
        self.door.strangers()
    }

    /// Ends when all members know that they may, once the one of this process has ended.
    pub fn end(self) {
        while !self.shared.is_idle.load(Ordering::Acquire) {
            sleep(LOOK);
        }
    }

    /// Why not all members have come, if they have not.
    pub fn failed(&self) -> Option<ClusterError> {
        self.shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.door.close();
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.part();
        let until = Instant::now() + HANDSHAKE;
        // The address is another listener's from now on.
        while self.threads.iter().any(|it| !it.is_finished()) && Instant::now() < until {
            // Wakes the listener.
            let _ = TcpStream::connect_timeout(&self.address, LOOK);
            sleep(LOOK);
        }
    }
}

/// Connections of a member: to it, and from it.
type Connections = (Stream, Buffered);

fn serve(arrivals: &Receiver<Arrival>, of: (usize, Duration), shared: &Shared) {
    let members = gathered(arrivals, of, shared);
    let have_ended = members.is_some_and(|members| pass_on(members, shared));
    shared.is_idle.store(true, Ordering::Release);
    // A machine that comes now is told how the others go on.
    let word = if have_ended { READ_SHARES } else { READ_ALL };
    while !shared.is_closed.load(Ordering::Acquire) {
        match arrivals.recv_timeout(LOOK) {
            Ok(Arrival::Reader { mut down, .. }) => {
                say(&mut down, &format!("{word}\n"));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// All members, once they are there. None where one of them does not read so or does not come, or
/// the hub ends.
fn gathered(
    arrivals: &Receiver<Arrival>,
    (members, patience): (usize, Duration),
    shared: &Shared,
) -> Option<Vec<Connections>> {
    let (began, mut beaten) = (Instant::now(), Instant::now());
    let mut seats: Vec<Option<Connections>> = (0..members).map(|_| None).collect();
    let absent = loop {
        let Some(absent) = seats.iter().position(Option::is_none) else { break None };
        if shared.is_closed.load(Ordering::Acquire) {
            return None;
        }
        if beaten.elapsed() >= BEAT {
            beaten = Instant::now();
            // One that is gone may come again.
            for seat in &mut seats {
                if seat.as_mut().is_some_and(|(down, _)| !say(down, "beat\n")) {
                    *seat = None;
                }
            }
        }
        match arrivals.recv_timeout(LOOK) {
            Ok(Arrival::Reader { rank, down, up }) => seats[rank] = Some((down, up)),
            Ok(Arrival::Machine { .. }) => {
                // It reads all, and so do others then.
                for (down, _) in seats.iter_mut().flatten() {
                    say(down, &format!("{READ_ALL}\n"));
                }
                return None;
            }
            Err(RecvTimeoutError::Disconnected) => return None,
            Ok(Arrival::Failed { rank, verdict: Some((kind, what)) }) => {
                break Some(ClusterError::Declined { rank, kind, what });
            }
            Ok(Arrival::Failed { .. }) | Err(RecvTimeoutError::Timeout) => {}
        }
        if began.elapsed() > patience {
            break Some(ClusterError::Absent { rank: absent, seconds: patience.as_secs() });
        }
    };
    if let Some(error) = absent {
        let line = format!("verdict {}\n", verdict_line(&Some((error.kind(), error.to_string()))));
        *shared.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        for (down, _) in seats.iter_mut().flatten() {
            say(down, &line);
        }
        return None;
    }
    let mut all: Vec<Connections> = seats.into_iter().flatten().collect();
    let mut sockets = shared.sockets.lock().unwrap_or_else(PoisonError::into_inner);
    for (down, up) in &all {
        sockets.extend([down.handle().ok(), up.get_ref().handle().ok()].into_iter().flatten());
    }
    drop(sockets);
    let is_told = all.iter_mut().all(|(down, _)| say(down, &format!("{START}\n")));
    is_told.then_some(all)
}

/// Passes on what members send, until all have ended or one is lost. Whether they have ended.
fn pass_on(members: Vec<Connections>, shared: &Shared) -> bool {
    let ended = AtomicUsize::new(0);
    let all = members.len();
    let (senders, receivers): (Vec<_>, Vec<_>) =
        members.iter().map(|_| sync_channel::<Frame>(QUEUE_FRAMES)).unzip();
    scope(|scope| {
        let ended = &ended;
        let mut is_begun = true;
        for (rank, ((down, up), queue)) in members.into_iter().zip(receivers).enumerate() {
            let senders = senders.clone();
            let hears = Builder::new().name(format!("hub-from-{rank}"));
            let heard = hears.spawn_scoped(scope, move || {
                if hear(rank as u32, up, &senders).is_some() {
                    ended.fetch_add(1, Ordering::AcqRel);
                } else {
                    shared.part();
                }
            });
            let says = Builder::new().name(format!("hub-to-{rank}"));
            let said = says.spawn_scoped(scope, move || {
                let has_ended = || ended.load(Ordering::Acquire) == all;
                if tell(down, &queue, has_ended).is_none() {
                    shared.part();
                }
            });
            is_begun &= heard.is_ok() && said.is_ok();
        }
        if !is_begun {
            shared.part();
        }
        // Queues end when all who may fill them have.
        drop(senders);
    });
    ended.into_inner() == all
}

/// Passes on what a member sends. None where it is lost.
fn hear(rank: u32, mut up: Buffered, senders: &[SyncSender<Frame>]) -> Option<()> {
    loop {
        let (to, frame) = match read(&mut up).ok()? {
            Frame::Beat => continue,
            Frame::Done => return Some(()),
            Frame::Piece(to, bytes) => (to, Frame::Piece(rank, bytes)),
            Frame::End(to, sum) => (to, Frame::End(rank, sum)),
        };
        senders.get(to as usize)?.send(frame).ok()?;
    }
}

/// Sends a member what others have for it, and in the end that all have ended. None where it is
/// lost.
fn tell(mut down: Stream, queue: &Receiver<Frame>, has_ended: impl Fn() -> bool) -> Option<()> {
    loop {
        let frame = match queue.recv_timeout(BEAT) {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) => Frame::Beat,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        write(&mut down, &frame).ok()?;
    }
    if has_ended() { write(&mut down, &Frame::Done).ok() } else { None }
}
