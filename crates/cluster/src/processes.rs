//! A host whose machines are processes of this computer, which it speaks to by pipes.
//!
//! A process ends when its standard input does, so none outlives its host.

use std::io::{BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use welter_protocol::Rank;

use crate::ask::{Answer, Ask};
use crate::control::{Request, Word, piece, read};
use crate::error::ClusterError;
use crate::host::{Host, Started};
use crate::report::{Report, Reported};

/// Time in which a process must say something that it was asked for.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 60 });

/// Time between two looks at a process that has said nothing.
const LOOK: Duration = Duration::from_millis(200);

/// How often a process is started that is killed before it has said anything.
const STARTS_MAX: u32 = 8;

/// Makes the command of a rank, on this directory, with an incarnation above this.
pub type MakeCommand = Box<dyn FnMut(Rank, &Path, u32) -> Command + Send>;

/// Machines as processes, each with a folder `machine-RANK` of its own.
pub struct Processes {
    directory: PathBuf,
    command: MakeCommand,
    machines: Vec<Option<Process>>,
    reports: (Sender<Reported>, Receiver<Reported>),
}

struct Process {
    child: Child,
    input: ChildStdin,
    /// Words of the process, but for reports.
    answers: Receiver<Word>,
}

impl Processes {
    /// A host of `machines` machines, in this directory.
    pub fn new(machines: usize, directory: &Path, command: MakeCommand) -> Self {
        let machines = (0..machines).map(|_| None).collect();
        Self { directory: directory.to_owned(), command, machines, reports: channel() }
    }

    /// Kills the process of a rank, as `kill -9` does.
    ///
    /// # Errors
    /// When there is none, or the system refuses.
    pub fn kill(&mut self, rank: Rank) -> std::io::Result<()> {
        match &mut self.machines[rank] {
            Some(process) => process.child.kill(),
            None => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

impl Process {
    fn ask(&mut self, request: &Request) -> std::io::Result<()> {
        self.input.write_all(request.line().as_bytes())
    }

    /// The first word, which follows its look at the input. That may take long: it has as long as
    /// it lives.
    fn first_word(&mut self) -> Result<Word, RecvTimeoutError> {
        loop {
            match self.answers.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if matches!(self.child.try_wait(), Ok(None)) => {}
                said => return said,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Processes {
    /// Starts a process of a rank.
    fn spawn(&mut self, rank: Rank, above: u32) -> Result<Process, ClusterError> {
        let folder = self.directory.join(format!("machine-{rank}"));
        let mut command = (self.command)(rank, &folder, above);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(ClusterError::Start)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let Some((input, output)) = pipes else { unreachable!("both were asked for") };
        let (answers, words) = channel();
        let process = Process { child, input, answers: words };
        let reports = self.reports.0.clone();
        let thread = Builder::new().name(format!("machine-{rank}"));
        // It ends with the process.
        let spawned = thread.spawn(move || {
            hear(rank, BufReader::new(output), &answers, &reports);
        });
        spawned.map_err(ClusterError::Start)?;
        Ok(process)
    }
}

impl Host for Processes {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        for _ in 0..STARTS_MAX {
            let mut process = self.spawn(rank, above)?;
            match process.first_word() {
                Ok(Word::Listening { incarnation, address }) => {
                    self.machines[rank] = Some(process);
                    return Ok(Started { incarnation, address });
                }
                // It was killed before it had said anything.
                Err(_) if process.child.wait().is_ok_and(|it| it.signal().is_some()) => {}
                _ => break,
            }
        }
        Err(ClusterError::Silent { rank })
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        if let Some(process) = &mut self.machines[rank] {
            // One that has died is started again, and receives it again.
            let _ = process.ask(&Request::Peer(peer, address));
        }
        Ok(())
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        self.reports.1.recv_timeout(wait).ok()
    }

    fn ask(&mut self, rank: Rank, ask: Ask) -> Result<(), ClusterError> {
        let process = self.machines[rank].as_mut().ok_or(ClusterError::Silent { rank })?;
        // A pipe that nothing reads is that of a process that has died.
        process.ask(&Request::Result(ask)).map_err(|_| ClusterError::Silent { rank })
    }

    fn answer(&mut self, rank: Rank) -> Result<Answer, ClusterError> {
        let silent = || ClusterError::Silent { rank };
        let process = self.machines[rank].as_mut().ok_or_else(silent)?;
        piece(rank, process.answers.recv_timeout(PATIENCE).map_err(|_| silent())?)
    }

    fn stop(&mut self, rank: Rank) {
        self.machines[rank] = None;
    }
}

/// Takes the words of a process until its end, which is the last report.
pub(crate) fn hear(
    rank: Rank,
    mut output: impl std::io::BufRead,
    answers: &Sender<Word>,
    reports: &Sender<Reported>,
) {
    let mut process = None;
    // The listener may be gone by now, which is no error.
    while let Ok(Some(word)) = read(&mut output) {
        match (word, process) {
            (Word::Report(report), Some(incarnation)) => {
                let is_last = matches!(report, Report::Ended(_));
                let _ = reports.send(Reported { rank, incarnation, report });
                if is_last {
                    return;
                }
            }
            (Word::Alive, _) => {}
            (word, _) => {
                if let Word::Listening { incarnation, .. } = word {
                    process = Some(incarnation);
                }
                let _ = answers.send(word);
            }
        }
    }
    if let Some(incarnation) = process {
        let _ = reports.send(Reported { rank, incarnation, report: Report::Ended(None) });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_process_has_as_long_as_it_lives_until_it_listens() {
        for (script, is_started) in
            [("sleep 2; echo listening 1 127.0.0.1:9 0", true), ("sleep 0.1", false)]
        {
            let command = move |_, _: &Path, _| {
                let mut command = Command::new("sh");
                command.args(["-c", script]);
                command
            };
            let mut host = Processes::new(1, Path::new("."), Box::new(command));
            let started = host.start(0, 0);
            assert_eq!(started.is_ok(), is_started, "{script}: {started:?}");
        }
    }

    #[test]
    fn a_process_that_has_died_is_silent_when_it_is_asked() {
        let command = |_, _: &Path, _| {
            let mut command = Command::new("echo");
            command.arg("listening 1 127.0.0.1:9 0");
            command
        };
        let mut host = Processes::new(1, Path::new("."), Box::new(command));
        assert_eq!(host.start(0, 0).unwrap().incarnation, 1);
        let began = Instant::now();
        // Its pipe has room until it has ended.
        let asked = loop {
            let asked = host.ask(0, Ask::Vertices);
            if asked.is_err() || began.elapsed() > Duration::from_mins(1) {
                break asked;
            }
        };
        assert!(matches!(asked, Err(ClusterError::Silent { rank: 0 })), "{asked:?}");
    }
}
