//! A machine that comes to rank 0 of its cluster, and comes again when that is out of reach.
//!
//! It keeps its folder, so what it has stored is of use when it comes again; a folder of another
//! run is not looked at, for its name has the number of the run.
//!
//! **Invariant:** no machine comes again while threads of the one before it use the folder, and
//! these are waited for no longer than [`AGAIN`]. Checked in `Life::live`. Tested by
//! `a_machine_whose_threads_hang_does_not_come_again`. **Invariant:** rank 0 hears a machine that
//! makes its task as long as the input comes, and no longer. Checked in `Life::prepared`. Tested by
//! `a_machine_beats_while_it_makes_its_task` and `a_machine_whose_task_hangs_is_silent`.

use std::io::{BufReader, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::failure::{Exit, Failure};
use welter_protocol::payload::checksum;

use crate::batches::Pause;
use crate::control::{Request, Word, write};
use crate::credentials::Trust;
use crate::disk::folder::Folder;
use crate::disk::stale::sweep;
use crate::error::ClusterError;
use crate::leaving::{LEAVE, remove_files};
use crate::links::stream::Stream;
use crate::meeting::{
    BEAT, Buffered, HANDSHAKE, Joining, Purpose, SILENCE, Seating, Verdict, line, verdict_line,
    verdict_of,
};
use crate::parts::{Writer, answer, busy_while};
use crate::report::{Report, Reported};
use crate::running::{Reach, Run, RunningMachine};
use crate::task::Task;

/// Pause between two attempts to reach rank 0.
const PAUSE: Duration = Duration::from_millis(200);

/// Time in which a verdict follows the end of a machine, which has a reason of its own.
const LATE: Duration = Duration::from_secs(8);

/// Time in which rank 0 is reached again once a run has begun.
const BEGUN: Duration = Duration::from_secs(30);

/// Time in which the threads of a machine end that is to come again. One that takes longer, because
/// a call of its disk or its input hangs, would be missed by then.
const AGAIN: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 30 });

/// Time between two batches of the input while a task is made, at most, with what is done beside
/// reading, such as a sort.
const PAUSE_MAX: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 600 });

/// Makes the task of this machine.
pub type MakeOne<'t> = Box<dyn FnMut() -> Result<Task, ClusterError> + 't>;

/// Where a machine has its files.
#[derive(Clone, Debug)]
pub enum Files {
    /// In a directory below this one, which goes with the run.
    Passing(PathBuf),
    /// In this directory, which stays, for others to resume from.
    Kept(PathBuf),
}

impl Files {
    fn directory(&self, name: &str) -> PathBuf {
        match self {
            Self::Passing(scratch) => scratch.join(name),
            Self::Kept(directory) => directory.clone(),
        }
    }
}

/// Folder of a machine, its incarnation and its task.
type Prepared = (Arc<Folder>, u32, Task);

/// Event that a machine waits for.
enum Event {
    Reported(Reported),
    Line(String),
    /// Rank 0 is out of reach.
    Alone,
}

/// End of one life of a machine.
enum End {
    Verdict(Verdict),
    /// Rank 0 is out of reach, or the machine is to be started again.
    Again,
}

/// Is a machine of a run until there is a verdict, with its files there. It writes its part
/// of the result with `writer`, where it is asked to.
///
/// # Errors
/// When rank 0 is out of reach for too long, or the machine cannot be started.
pub fn join(
    run: &Run,
    seating: &Seating,
    files: &Files,
    (mut task, mut writer): (MakeOne<'_>, Writer<'_, '_>),
) -> Result<Verdict, ClusterError> {
    // A name that cannot be resolved yet may be in a moment.
    if let Ok(address) = seating.address() {
        seating.trust.check(address)?;
    }
    let mut since = Instant::now();
    let mut patience = seating.patience;
    let mut nonce = u64::from(std::process::id());
    loop {
        nonce = checksum(format!("{nonce} {:?}", Instant::now()).as_bytes());
        match Life::begin(run, seating, nonce) {
            Ok(mut life) => {
                if let End::Verdict(verdict) =
                    life.live(run, seating, files, (&mut task, writer.as_deref_mut()))?
                {
                    return Ok(verdict);
                }
                if life.has_begun {
                    since = Instant::now();
                    patience = patience.min(BEGUN);
                } else if since.elapsed() > patience {
                    return Err(out_of_reach(seating, patience, ErrorKind::TimedOut.into()));
                }
            }
            Err(error) if since.elapsed() > patience => {
                return Err(out_of_reach(seating, patience, error));
            }
            Err(_) => {}
        }
        sleep(PAUSE);
    }
}

/// The error about a rank 0 that is not reached within a patience.
pub(crate) fn out_of_reach(
    seating: &Seating,
    patience: Duration,
    source: std::io::Error,
) -> ClusterError {
    let (first, seconds) = (seating.first.clone(), patience.as_secs());
    ClusterError::OutOfReach { first, seconds, source }
}

/// Reports to rank 0 why this machine cannot take part, if it is reached in time.
pub fn decline(seating: &Seating, verdict: &Verdict) {
    let until = Instant::now() + seating.patience.min(LATE);
    while Instant::now() < until {
        let sent = connect(
            seating,
            &Joining {
                digest: 0,
                contents: 0,
                rank: seating.rank,
                nonce: 0,
                purpose: Purpose::Failed,
            },
        )
        .and_then(|(mut stream, _)| {
            writeln!(stream, "{}", verdict_line(verdict))?;
            stream.flush()
        });
        if sent.is_ok() {
            return;
        }
        sleep(PAUSE);
    }
}

/// A connection to rank 0 for a use, and the addresses of both ends.
pub(crate) fn connect(
    seating: &Seating,
    joining: &Joining,
) -> std::io::Result<(Stream, [SocketAddr; 2])> {
    let address = seating.address()?;
    if seating.trust.check(address).is_err() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let stream = TcpStream::connect_timeout(&address, HANDSHAKE)?;
    let ends = [stream.local_addr()?, stream.peer_addr()?];
    let mut stream = Stream::connected(stream, &seating.trust, HANDSHAKE)?;
    joining.write(&mut stream)?;
    stream.last_while(SILENCE)?;
    Ok((stream, ends))
}

/// A process of a machine while it is connected to rank 0.
struct Life {
    down: Option<Buffered>,
    up: Stream,
    ends: [SocketAddr; 2],
    has_begun: bool,
}

impl Life {
    fn begin(run: &Run, seating: &Seating, nonce: u64) -> std::io::Result<Self> {
        let rank = seating.rank;
        let (digest, contents) = (run.digest(), run.contents);
        let joining = |purpose| Joining { digest, contents, rank, nonce, purpose };
        let (down, ends) = connect(seating, &joining(Purpose::Down))?;
        let (up, _) = connect(seating, &joining(Purpose::Up))?;
        Ok(Self { down: Some(BufReader::new(down)), up, ends, has_begun: false })
    }

    fn live(
        &mut self,
        run: &Run,
        seating: &Seating,
        files: &Files,
        (task, writer): (&mut MakeOne<'_>, Writer<'_, '_>),
    ) -> Result<End, ClusterError> {
        let Some(mut down) = self.down.take() else { return Ok(End::Again) };
        let first = loop {
            match line(&mut down) {
                Ok(line) if line == "beat" => {}
                Ok(line) => break line,
                Err(_) => return Ok(End::Again),
            }
        };
        if let Some(verdict) = first.strip_prefix("verdict ").and_then(verdict_of) {
            return Ok(End::Verdict(verdict));
        }
        let words: Vec<&str> = first.split(' ').collect();
        let ["begin", number, above] = words[..] else { return Ok(End::Again) };
        let Ok(above) = above.parse::<u32>() else { return Ok(End::Again) };
        self.has_begun = true;
        let rank = seating.rank;
        let directory = files.directory(&format!("welter-cluster-{number}-{rank}"));
        let run = self.run_of(run, number, seating);
        let prepared = self.prepared(&run, (directory.as_path(), files), (rank, above), task)?;
        let Some((folder, incarnation, task)) = prepared else { return Ok(End::Again) };
        let (reports, reported) = channel();
        let machine = RunningMachine::start(&run, (rank, incarnation), folder, task, reports)?;
        let (events, waiting) = channel();
        let asked = events.clone();
        let spawned = Builder::new().name("reports".to_owned()).spawn(move || {
            // It ends with the machine.
            let _ = reported.iter().try_for_each(|it| events.send(Event::Reported(it)));
        });
        spawned.map_err(ClusterError::Start)?;
        let spawned = Builder::new().name("host".to_owned()).spawn(move || listen(down, &asked));
        spawned.map_err(ClusterError::Start)?;
        let listening = Word::Listening { incarnation, address: machine.address() };
        if write(&mut self.up, &listening).is_err() {
            return Ok(End::Again);
        }
        let end = self.serve((&machine, writer), seating, &waiting);
        let comes_again = matches!(end, Ok(End::Again));
        let has_ended = machine.leave(if comes_again { AGAIN } else { LEAVE });
        let end = end?;
        if comes_again && !has_ended {
            return Err(hung(rank));
        }
        // A disk that has not answered would not do so now.
        if has_ended && matches!((&end, files), (End::Verdict(_), Files::Passing(_))) {
            remove_files(&directory);
        }
        Ok(end)
    }

    /// Folder, incarnation and task of this machine, which may take as long as its input is read,
    /// while rank 0 hears that it is there. None where that is out of reach.
    fn prepared(
        &mut self,
        run: &Run,
        (directory, files): (&Path, &Files),
        (rank, above): (Rank, u32),
        task: &mut MakeOne<'_>,
    ) -> Result<Option<Prepared>, ClusterError> {
        let (up, mut pause) = (&mut self.up, Pause::of(&run.batches));
        let mut say = |word| speak(up, &word);
        let prepare = || -> Result<Prepared, ClusterError> {
            let folder = Folder::open(directory, None)?;
            let me = (rank, run.config.machines());
            let folder = Arc::new(folder.with_copies(run.copies.as_ref(), me)?);
            if let Files::Passing(scratch) = files {
                sweep(scratch, directory);
            }
            let incarnation = folder.incarnation(above)?;
            Ok((folder, incarnation, task()?))
        };
        // Where nothing is said rank 0 misses this machine, and the run ends.
        match busy_while(|| pause.is_within(PAUSE_MAX), &mut say, prepare) {
            Ok(prepared) => prepared.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The run of this number, at the address by which rank 0 is reached.
    fn run_of(&self, run: &Run, number: &str, seating: &Seating) -> Run {
        let mut at = SocketAddr::new(self.ends[0].ip(), seating.port);
        if seating.rank == 0 && !seating.apart && !matches!(seating.trust, Trust::Loopback) {
            // Others know it by an address that need not be the one by which it knows itself.
            at.set_ip(match at.ip() {
                std::net::IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
                std::net::IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
            });
        }
        let reach = Reach { at, trust: seating.trust.clone() };
        Run { words: format!("{} {number}", run.words), reach, ..run.clone() }
    }

    fn serve(
        &mut self,
        (machine, mut writer): (&RunningMachine, Writer<'_, '_>),
        seating: &Seating,
        waiting: &std::sync::mpsc::Receiver<Event>,
    ) -> Result<End, ClusterError> {
        let mut finished = None;
        // Its own reason to end, and when it had it.
        let mut ended: Option<(Failure, Instant)> = None;
        loop {
            if let Some((failure, at)) = &ended
                && at.elapsed() > LATE
            {
                return Err(ClusterError::Failed(failure.clone()));
            }
            let event = match waiting.recv_timeout(BEAT) {
                Ok(event) => event,
                Err(RecvTimeoutError::Disconnected) => return Ok(End::Again),
                Err(RecvTimeoutError::Timeout) => {
                    if write(&mut self.up, &Word::Alive).is_err() && ended.is_none() {
                        return Ok(End::Again);
                    }
                    continue;
                }
            };
            match event {
                Event::Alone => match ended {
                    Some((failure, _)) => return Err(ClusterError::Failed(failure)),
                    None => return Ok(End::Again),
                },
                Event::Line(line) => {
                    let machine = (machine, finished.as_deref());
                    if let Some(end) = self.obey(&line, machine, &mut writer, seating)? {
                        return Ok(end);
                    }
                }
                Event::Reported(Reported { report, .. }) => {
                    if let Report::Finished(manifest) = &report {
                        finished = Some(manifest.clone());
                    }
                    let end =
                        if let Report::Ended(why) = &report { Some(why.clone()) } else { None };
                    let is_sent = write(&mut self.up, &Word::Report(report)).is_ok();
                    match end {
                        Some(Some(failure)) if failure.why != Exit::Storage => {
                            ended = Some((failure, Instant::now()));
                        }
                        Some(_) => return Ok(End::Again),
                        None if !is_sent && ended.is_none() => return Ok(End::Again),
                        None => {}
                    }
                }
            }
        }
    }

    /// Does what rank 0 asks for in a line. The end, if that was it or rank 0 is out of reach.
    fn obey(
        &mut self,
        line: &str,
        machine: (&RunningMachine, Option<&Manifest>),
        writer: &mut Writer<'_, '_>,
        seating: &Seating,
    ) -> Result<Option<End>, ClusterError> {
        if let Some(verdict) = line.strip_prefix("verdict ").and_then(verdict_of) {
            return Ok(Some(End::Verdict(verdict)));
        }
        match Request::of(line) {
            Some(Request::Peer(peer, mut address)) => {
                if peer == 0 && !seating.apart {
                    address.set_ip(self.ends[1].ip());
                }
                machine.0.locate(peer, address)?;
            }
            Some(Request::Await(peer)) => machine.0.awaits(peer),
            Some(Request::Result(ask)) => {
                let up = &mut self.up;
                let mut say = |word| speak(up, &word);
                match answer(machine, ask, writer, &mut say) {
                    Err(ClusterError::Socket { .. }) => return Ok(Some(End::Again)),
                    answered => answered?,
                }
            }
            None => {}
        }
        Ok(None)
    }
}

/// Failure of a machine whose threads do not end.
fn hung(rank: Rank) -> ClusterError {
    let what = format!("its threads have not ended for {} s", AGAIN.as_secs()).into();
    ClusterError::Failed(Failure { why: Exit::Stalled, rank, what })
}

fn speak(up: &mut Stream, word: &Word) -> Result<(), ClusterError> {
    write(up, word).map_err(|source| ClusterError::Socket { what: "speak to machine 0", source })
}

fn listen(mut down: Buffered, events: &Sender<Event>) {
    while let Ok(line) = line(&mut down) {
        if line != "beat" && events.send(Event::Line(line)).is_err() {
            return;
        }
    }
    // It has ended by itself otherwise.
    let _ = events.send(Event::Alone);
}

#[cfg(test)]
mod tests;
