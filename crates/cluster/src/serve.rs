//! A machine as a process of its own: what the process does, from its first word to its end.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;

use welter_protocol::Rank;
use welter_store::io::Faults;

use crate::control::{Request, Word, write};
use crate::disk::folder::Folder;
use crate::error::ClusterError;
use crate::leaving::LEAVE;
use crate::meeting::BEAT;
use crate::parts::{PartWriter, answer};
use crate::report::{Report, Reported};
use crate::running::{Run, RunningMachine};
use crate::task::Task;

/// Event that the process waits for.
enum Event {
    Reported(Reported),
    Asked(Request),
    /// The host is gone.
    Alone,
}

/// Runs the machine of a rank on a directory, with an incarnation above this. The host asks by
/// `input`, and is answered by `output`; `writer` writes its part of the result, where it is asked
/// to. Ends when the machine or the host does.
///
/// # Errors
/// When the machine cannot be started, or its last words do not reach the host.
pub fn serve(
    run: &Run,
    (rank, above): (Rank, u32),
    directory: &Path,
    (task, mut writer): (Task, Option<&mut dyn PartWriter>),
    (input, output): (impl BufRead + Send + 'static, &mut (impl Write + Send)),
) -> Result<(), ClusterError> {
    // Tests plan them for the first process of a rank.
    let faults = if above == 0 { Faults::of_machine(rank) } else { None };
    let me = (rank, run.config.machines());
    let folder = Folder::open(directory, faults)?.with_copies(run.copies.as_ref(), me)?;
    let folder = Arc::new(folder);
    let incarnation = folder.incarnation(above)?;
    let (reports, reported) = channel();
    let machine = RunningMachine::start(run, (rank, incarnation), folder, task, reports)?;
    let mut say = |word| {
        let sent = write(output, &word);
        sent.map_err(|source| ClusterError::Socket { what: "speak to the host", source })
    };
    say(Word::Listening { incarnation, address: machine.address() })?;
    let (events, waiting) = channel();
    let asked = events.clone();
    let spawned = Builder::new().name("reports".to_owned()).spawn(move || {
        // It ends with the process.
        let _ = reported.iter().try_for_each(|it| events.send(Event::Reported(it)));
    });
    spawned.map_err(ClusterError::Start)?;
    let spawned = Builder::new().name("host".to_owned()).spawn(move || listen(input, &asked));
    spawned.map_err(ClusterError::Start)?;
    let ended = converse(&machine, &waiting, &mut writer, &mut say);
    machine.leave(LEAVE);
    ended
}

/// Does what the host asks for, and reports to it, until either ends.
fn converse(
    machine: &RunningMachine,
    waiting: &Receiver<Event>,
    writer: &mut Option<&mut dyn PartWriter>,
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
) -> Result<(), ClusterError> {
    let mut finished = None;
    loop {
        let event = match waiting.recv_timeout(BEAT) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => {
                say(Word::Alive)?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match event {
            Event::Alone => break,
            Event::Asked(Request::Peer(peer, address)) => machine.locate(peer, address)?,
            Event::Asked(Request::Await(peer)) => machine.awaits(peer),
            Event::Asked(Request::Result(ask)) => {
                answer((machine, finished.as_deref()), ask, writer, say)?;
            }
            Event::Reported(Reported { report, .. }) => {
                if let Report::Finished(manifest) = &report {
                    finished = Some(manifest.clone());
                }
                let is_last = matches!(report, Report::Ended(_));
                say(Word::Report(report))?;
                if is_last {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn listen(input: impl BufRead, events: &Sender<Event>) {
    for line in input.lines() {
        let request = line.ok().and_then(|line| Request::of(&line));
        let Some(request) = request else { break };
        if events.send(Event::Asked(request)).is_err() {
            return;
        }
    }
    // It has ended by itself otherwise.
    let _ = events.send(Event::Alone);
}
