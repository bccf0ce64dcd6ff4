//! A host whose machines are processes of this computer, which it speaks to by pipes.
//!
//! A process ends when its standard input does, so none outlives its host. It says something each
//! second, and one that is silent for long, such as one that was stopped, is killed and replaced.
//!
//! **Invariant:** what a process is asked for is waited for until the run is cancelled, at most.
//! Checked in `Process::first_word` and `Processes::answer`. Tested by
//! `who_cancels_waits_for_no_process`. **Invariant:** a process whose input hangs is waited for by
//! a bound: one that says nothing must use some processor time. Checked in `Process::first_word`.
//! Tested by `a_process_that_hangs_before_it_listens_is_no_machine`.

use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use welter_progress::Progress;
use welter_protocol::Rank;

use crate::ask::{Answer, Ask};
use crate::control::{Request, Word, piece, read};
use crate::error::ClusterError;
use crate::host::{Host, Started};
use crate::report::{Report, Reported};

/// Time after which a process that says nothing is killed, whether something is asked of it or not.
const SILENCE: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 30 });

/// Time in which a process that has not said anything yet uses [`WORK_TICKS`], unless it hangs.
const HUNG: Duration = Duration::from_secs(if cfg!(test) { 8 } else { 600 });

/// Least processor time that is taken for work, and not for looks of threads that wait, in
/// hundredths of a second.
const WORK_TICKS: u64 = if cfg!(test) { 10 } else { 100 };

/// Time between two looks at a process that has said nothing.
const LOOK: Duration = Duration::from_millis(200);

/// Time between two words to others about a process that they wait for.
const TELLING: Duration = Duration::from_secs(1);

/// Time in which a process that was killed ends.
const LEAVE: Duration = Duration::from_secs(5);

/// Starts of a process that is killed before it has said anything, at most.
const STARTS_MAX: u32 = 8;

/// Makes the command of a rank, on this directory, with an incarnation above this.
pub type MakeCommand = Box<dyn FnMut(Rank, &Path, u32) -> Command + Send>;

/// Machines as processes, each with a folder `machine-RANK` of its own.
pub struct Processes {
    directory: PathBuf,
    command: MakeCommand,
    machines: Vec<Option<Process>>,
    /// Processes that were begun before there is a run, by rank.
    begun: Vec<Option<Process>>,
    reports: (Sender<Reported>, Receiver<Reported>),
    /// Progress of the run, which may be cancelled.
    progress: Progress,
    /// When reports were last waited for.
    waited: Instant,
}

/// When a process was last heard.
#[derive(Clone)]
struct Pulse(Arc<Mutex<Instant>>);

impl Pulse {
    fn lock(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beat(&self) {
        *self.lock() = Instant::now();
    }

    fn is_silent(&self) -> bool {
        self.lock().elapsed() > SILENCE
    }
}

/// Output of a process, whose bytes are noticed.
struct Noticed<R>(R, Pulse);

impl<R: Read> Read for Noticed<R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(to).inspect(|_| self.1.beat())
    }
}

struct Process {
    pulse: Pulse,
    child: Child,
    input: ChildStdin,
    /// Words of the process, but for reports.
    answers: Receiver<Word>,
}

impl Processes {
    /// A host of `machines` machines, in this directory.
    pub fn new(machines: usize, directory: &Path, command: MakeCommand) -> Self {
        let begun = (0..machines).map(|_| None).collect();
        let machines = (0..machines).map(|_| None).collect();
        let (directory, waited) = (directory.to_owned(), Instant::now());
        let progress = Progress::new();
        Self { directory, command, machines, begun, reports: channel(), progress, waited }
    }

    /// The host, which waits for no process once this is cancelled.
    #[must_use]
    pub fn cancelled_with(self, progress: &Progress) -> Self {
        Self { progress: progress.clone(), ..self }
    }

    /// Starts the first process of each rank, which its machine becomes when a run begins.
    ///
    /// # Errors
    /// When the system starts none.
    pub fn begin(&mut self) -> Result<(), ClusterError> {
        for rank in 0..self.begun.len() {
            self.begun[rank] = Some(self.spawn(rank, 0)?);
        }
        Ok(())
    }

    /// Whether all processes that were begun still run.
    pub fn are_begun(&mut self) -> bool {
        let runs = |process: &mut Process| matches!(process.child.try_wait(), Ok(None));
        self.begun.iter_mut().all(|it| it.as_mut().is_some_and(runs))
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
    /// it works. None where it has ended or hangs, or the run is `cancelled`.
    fn first_word(&mut self, mut cancelled: impl FnMut() -> bool) -> Option<Word> {
        let mut work = Work::of(self.child.id());
        while !cancelled() && work.is_seen() {
            match self.answers.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) if matches!(self.child.try_wait(), Ok(None)) => {}
                answer => return answer.ok(),
            }
        }
        None
    }

    /// Whether it has ended by a signal, or does so soon.
    fn was_killed(&mut self) -> bool {
        let until = Instant::now() + LEAVE;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => sleep(Duration::from_millis(1)),
                Ok(Some(status)) => return status.signal().is_some(),
                _ => return false,
            }
        }
    }
}

/// Work of a process, by the processor time that it has used.
pub(crate) struct Work {
    process: u32,
    /// Hundredths of a second that it had used, and when that was.
    used: u64,
    since: Instant,
}

impl Work {
    /// Work of a process that has just begun.
    pub(crate) fn of(process: u32) -> Self {
        Self { process, used: 0, since: Instant::now() }
    }

    /// Whether it has worked lately, also where that is not known. A host that was stopped itself
    /// looks at the process first.
    pub(crate) fn is_seen(&mut self) -> bool {
        let used = used_ticks(self.process);
        if used.is_none_or(|used| used >= self.used + WORK_TICKS) {
            (self.used, self.since) = (used.unwrap_or(0), Instant::now());
        }
        self.since.elapsed() < HUNG
    }
}

/// Processor time of a process, in hundredths of a second, where the system says it.
fn used_ticks(process: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its name, in brackets, may have blanks. Time of the user is the fourteenth field.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    Some(times.next()?.ok()? + times.next()?.ok()?)
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        // One with a thread in a call of the system that never ends is left to the system.
        let until = Instant::now() + LEAVE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
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
        let pulse = Pulse(Arc::new(Mutex::new(Instant::now())));
        let output = Noticed(output, pulse.clone());
        let process = Process { pulse, child, input, answers: words };
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
            let mut process = match self.begun[rank].take() {
                Some(begun) => begun,
                None => self.spawn(rank, above)?,
            };
            // All others hear of one that makes its task in the place of another.
            let (others, progress) = (&mut self.machines, &self.progress);
            let mut told = Instant::now();
            let cancelled = || {
                if above > 0 && told.elapsed() > TELLING {
                    told = Instant::now();
                    for other in others.iter_mut().flatten() {
                        // One that has died is started again.
                        let _ = other.ask(&Request::Await(rank));
                    }
                }
                progress.cancelled()
            };
            match process.first_word(cancelled) {
                Some(Word::Listening { incarnation, address }) => {
                    self.machines[rank] = Some(process);
                    return Ok(Started { incarnation, address });
                }
                None if self.progress.cancelled() => return Err(ClusterError::Cancelled),
                // It was killed before it had said anything.
                None if process.was_killed() => {}
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
        // Else machines answered meanwhile, or this process was stopped too.
        let waits = self.waited.elapsed() < SILENCE / 2;
        self.waited = Instant::now();
        for machine in self.machines.iter_mut().flatten() {
            if !waits {
                machine.pulse.beat();
            } else if machine.pulse.is_silent() {
                // Its end is reported as that of another one; until then it is not killed again.
                let _ = machine.child.kill();
                machine.pulse.beat();
            }
        }
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
        // A process that was stopped together with its host has its time from now on.
        let asked = Instant::now();
        loop {
            if self.progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            match process.answers.recv_timeout(LOOK) {
                Ok(word) => return piece(rank, word),
                Err(RecvTimeoutError::Timeout)
                    if asked.elapsed() < SILENCE || !process.pulse.is_silent() => {}
                Err(_) => return Err(silent()),
            }
        }
    }

    fn stop(&mut self, rank: Rank) {
        self.machines[rank] = None;
        self.begun[rank] = None;
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
    use super::*;

    /// A host of one machine, which is this script.
    fn host(script: impl Into<String>) -> Processes {
        let script = script.into();
        let command = move |_, _: &Path, _| {
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            command
        };
        Processes::new(1, Path::new("."), Box::new(command))
    }

    #[test]
    fn a_process_that_was_stopped_is_killed_and_one_that_speaks_is_not() {
        let stopped = "echo listening 1 127.0.0.1:9 0; kill -STOP $$";
        let speaking = "echo listening 1 127.0.0.1:9 0; while sleep 0.2; do echo alive 0; done";
        for (script, is_killed) in [(stopped, true), (speaking, false)] {
            let mut host = host(script);
            host.start(0, 0).unwrap();
            let until = Instant::now() + if is_killed { SILENCE * 20 } else { SILENCE * 2 };
            let mut reported = None;
            while reported.is_none() && Instant::now() < until {
                reported = host.next(LOOK);
            }
            let is_end = |it: &Reported| matches!(it.report, Report::Ended(None));
            assert_eq!(reported.as_ref().map(is_end), is_killed.then_some(true), "{script}");
        }
    }

    #[test]
    fn a_process_that_beats_has_as_long_as_it_needs_to_answer() {
        // For half as long again as a silence may last.
        let beats = "for i in $(seq 30); do sleep 0.2; echo alive 0; done";
        for (is_heard, then) in
            [(true, format!("{beats}; echo parts-end 0; read end")), (false, "read end".to_owned())]
        {
            let mut host = host(format!("echo listening 1 127.0.0.1:9 0; read ask; {then}"));
            host.start(0, 0).unwrap();
            host.ask(0, Ask::Name).unwrap();
            let answered = host.answer(0);
            assert_eq!(matches!(answered, Ok(Answer::End)), is_heard, "{answered:?}");
            assert_eq!(matches!(answered, Err(ClusterError::Silent { .. })), !is_heard);
        }
    }

    #[test]
    fn a_process_has_as_long_as_it_lives_until_it_listens() {
        for (script, is_started) in
            [("sleep 2; echo listening 1 127.0.0.1:9 0", true), ("sleep 0.1", false)]
        {
            let started = host(script).start(0, 0);
            assert_eq!(started.is_ok(), is_started, "{script}: {started:?}");
        }
    }

    #[test]
    fn who_cancels_waits_for_no_process() {
        let listens = "echo listening 1 127.0.0.1:9 0";
        // Each wait would end by itself after it was to be given up.
        let late = "for i in $(seq 50); do sleep 0.2; echo alive 0; done";
        for (script, is_started) in [
            (format!("{late}; {listens}"), false),
            (format!("{listens}; {late}; echo parts-end 0; read end"), true),
        ] {
            let progress = Progress::new();
            let mut host = host(script).cancelled_with(&progress);
            let ended = if is_started {
                host.start(0, 0).unwrap();
                host.ask(0, Ask::Name).unwrap();
                progress.cancel();
                host.answer(0).err()
            } else {
                progress.cancel();
                host.start(0, 0).err()
            };
            assert!(matches!(ended, Some(ClusterError::Cancelled)), "{ended:?}");
        }
    }

    #[test]
    fn a_process_that_hangs_before_it_listens_is_no_machine() {
        let listens = "echo listening 1 127.0.0.1:9 0";
        let counts = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let works =
            format!("end=$(($(date +%s) + 12)); while [ $(date +%s) -lt $end ]; do {counts}; done");
        for (script, is_started) in
            [(format!("sleep 40; {listens}"), false), (format!("{works}; {listens}"), true)]
        {
            let started = host(script.clone()).start(0, 0);
            assert_eq!(started.is_ok(), is_started, "{script}: {started:?}");
        }
        assert!(used_ticks(std::process::id()).is_some());
    }

    #[test]
    fn a_process_that_has_died_is_silent_when_it_is_asked() {
        let mut host = host("echo listening 1 127.0.0.1:9 0");
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
