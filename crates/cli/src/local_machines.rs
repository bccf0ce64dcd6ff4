//! A run on machines that are processes of this computer: the command's side, and that of its
//! machines.
//!
//! ```text
//! command    starts all, is at the hub where they meet   has ids, chooses a route   hosts the run
//! machine    parses its share of the input with them     is told the route          is a machine
//! ```
//!
//! The command starts itself once a machine, with its own words and a place in the cluster. Where
//! the input is not read in shares, or a machine is lost while it is, the command and each machine
//! read all, one after the other: the machines that have begun are killed, and others are started
//! with the route in their words.

use std::io::BufReader;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use welter_cluster::{
    ClusterError, Host, Hub, Member, Met, PartWriter, Processes, Seating, Trust, serve,
};
use welter_engine::Machine;
use welter_progress::{FailureKind, Progress};

use crate::algorithms::algorithm::Algorithm;
use crate::args::{MachineRoute, ResourceArgs, RunOptions, Seat, SeatReading};
use crate::argv;
use crate::cluster::{ClusterOutcome, Job, ProcessRole, SEAT};
use crate::cluster_options::unfit;
use crate::cluster_parts::{Parts, watched};
use crate::failure::Failure;
use crate::load::Source;
use crate::metrics;
use crate::session::Session;
use crate::shares::{self, GraphInput, InputReading, may_share};

/// Time in which processes that were started come to the hub. They have read nothing by then.
const COMING: Duration = Duration::from_secs(30);

/// Words that name a run: of the program, of the command, and of the algorithm.
const RUN_NAMES: usize = 3;

/// Time in which a machine whose command has ended removes what it has made, and ends. Passes over
/// all edges do not look whether they are to end.
const LEAVING: Duration = Duration::from_secs(5);

/// Words of a seat that machines are told which are started from now on.
#[derive(Clone, Default)]
struct SeatWords(Arc<Mutex<String>>);

impl SeatWords {
    fn set(&self, words: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words;
    }

    fn words(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The command among its machines, which have read the input together.
struct Meeting {
    hub: Hub,
    member: Box<Member>,
}

impl Meeting {
    /// Tells all machines something, with which they go on. Whether all have received it.
    fn tell(self, words: &str) -> bool {
        let Self { hub, mut member } = self;
        let pieces = vec![words.as_bytes().to_vec(); member.members()];
        let is_told = member.all_to_all(pieces).is_ok() && member.end().is_ok();
        if is_told {
            hub.end();
        }
        is_told
    }
}

/// The place of a member at the hub of a command, of as many machines; the command is the last one.
pub(crate) fn seating(rank: usize, machines: usize, port: u16) -> Seating {
    Seating {
        rank,
        machines: machines + 1,
        first: format!("127.0.0.1:{port}"),
        port: 0,
        trust: Trust::Loopback,
        patience: COMING,
        apart: true,
    }
}

/// Runs an algorithm on a cluster.
pub(crate) fn run(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (source, machines, directory): (&Source, usize, &Path),
    session: &Session,
) -> Result<ClusterOutcome, Failure> {
    if !source.lasts() {
        return Err(unfit("each machine reads the input, which a pipe gives once"));
    }
    let place = ProcessRole { rank: None, writes: true, tells: true, told: None };
    let told = SeatWords::default();
    let words = told.clone();
    let command = move |rank: usize, directory: &Path, above: u32| {
        machine((rank, above), (&words.words(), RUN_NAMES), directory)
    };
    let host = Processes::new(machines, directory, Box::new(command));
    let mut host = host.cancelled_with(&session.progress);
    let (input, meeting) =
        match met(algorithm, args, (source, machines), (&mut host, &told, session))? {
            Some((input, meeting)) => (Some(input), Some(meeting)),
            None => (None, None),
        };
    let job = Job::of(algorithm, args, (source, machines), (place, session), input)?;
    let reading = if job.has_share() { SeatReading::Share } else { SeatReading::All };
    let words = format!("{}:{reading}", job.choice.told());
    told.set(words.clone());
    if meeting.is_some_and(|meeting| !meeting.tell(&words)) {
        // Others are started, each of which reads as those have.
        (0..machines).for_each(|rank| host.stop(rank));
    }
    let (live, metrics) = metrics::watch(&args.cluster)?;
    let ended = watched(&mut host, (&job, machines), (&session.progress, &live))?;
    drop(metrics);
    job.found(ended)
}

/// The input as machines read it together, which are started. None where each is to read all, and
/// none is started.
fn met(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (source, machines): (&Source, usize),
    (host, told, session): (&mut Processes, &SeatWords, &Session),
) -> Result<Option<(GraphInput, Meeting)>, Failure> {
    if !may_share(algorithm, args, (source, machines)) {
        return Ok(None);
    }
    let hub = Hub::open(&seating(machines, machines, 0), machines + 1)?;
    let port = hub.address().port();
    let route = MachineRoute::Fold.name();
    told.set(format!("{route}:0:{}", SeatReading::Joint(port)));
    host.begin()?;
    let (place, all) = (seating(machines, machines, port), machines + 1);
    let met = Member::join_while(&place, all, &session.progress, &mut || host.are_begun());
    let read = match met {
        Ok(Met::Member(mut member)) => {
            let wanted = InputReading::of(algorithm, args, (None, machines));
            let role = shares::role(algorithm, args, (machines, true))?;
            let of = (&mut *member, role);
            let read = shares::together((source, &wanted), session, of)?;
            read.map(|input| (input, Meeting { hub, member }))
        }
        Err(ClusterError::Cancelled) => return Err(ClusterError::Cancelled.into()),
        Ok(_) | Err(_) => None,
    };
    if read.is_none() {
        (0..machines).for_each(|rank| host.stop(rank));
    }
    Ok(read)
}

/// The command of a machine: this one, and its place with what it is told, behind as many words
/// that name what is done.
pub(crate) fn machine(
    (rank, above): (usize, u32),
    (told, names): (&str, usize),
    directory: &Path,
) -> Command {
    let mut command = argv::program();
    let mut place = std::ffi::OsString::from(format!("{rank}:{above}:{told}:"));
    place.push(directory);
    // Inputs may follow a `--`, behind which there are no options.
    let words = argv::run_words();
    let (begin, rest) = words.split_at(words.len().min(names));
    command.args(begin.iter().skip(1)).arg(SEAT).arg(place).args(rest);
    // Ctrl-C is for the command alone, which ends its machines.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Ends the work of a machine when its standard input ends, as that does with the command, and the
/// process where the work does not look.
pub(crate) fn end_with_host(progress: &Progress) -> Result<(), Failure> {
    let progress = progress.clone();
    let wait = move || {
        // An error is the end of it too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        progress.cancel();
        std::thread::sleep(LEAVING);
        std::process::exit(0);
    };
    let started = std::thread::Builder::new().name("host".to_owned()).spawn(wait);
    let failed =
        |error| Failure::new(FailureKind::Storage, format!("the system starts no thread: {error}"));
    started.map(drop).map_err(failed)
}

/// Is a machine of a cluster, until its host says that it is not.
pub(crate) fn be(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (machines, seat): (usize, &Seat),
) -> Result<(), Failure> {
    // Machines share the memory of this computer, where it is not said what each may take. One
    // whose route was chosen for some reads with half of it, as with a budget that is stated, and
    // so does one whose route is not known yet.
    let resources = args.resources.of_machine();
    let budget = resources.settings(0).budget(&Machine::detect());
    let share = budget / machines as u64;
    let is_together = matches!(seat.reading, SeatReading::Joint(_));
    let chosen_for = Some(seat.memory_bytes / 2).filter(|bytes| *bytes > 0);
    let chosen_for = chosen_for.or(is_together.then_some(share / 2));
    let budget = resources.memory.or(chosen_for).unwrap_or(share);
    let resources = ResourceArgs { memory: Some(budget), ..resources };
    let session = Session::within(resources, &Progress::new())?;
    let source = Source::with(&args.input, &args.resources)?;
    let wanted = InputReading::of(algorithm, args, (Some(seat.rank), machines));
    let role = shares::role(algorithm, args, (machines, false))?;
    let (input, seat) = match seat.reading {
        SeatReading::All => (None, seat.clone()),
        SeatReading::Share => {
            let input = shares::alone((&source, &wanted), &session, (seat.rank, role))?;
            (Some(input), seat.clone())
        }
        SeatReading::Joint(port) => {
            let place = seating(seat.rank, machines, port);
            let read = |member: &mut Member| {
                shares::together((&source, &wanted), &session, (member, role)).ok().flatten()
            };
            // The command reads all without it, and knows why.
            let Some((input, seat)) = joined(seat, &place, read) else { std::process::exit(0) };
            (Some(input), seat)
        }
    };
    let told = Some((seat.route, seat.memory_bytes));
    let place = ProcessRole { rank: Some(seat.rank), writes: false, tells: false, told };
    let job = Job::of(algorithm, args, (&source, machines), (place, &session), input)?;
    let (run, cut) = job.run()?;
    let task = job.task(cut, (seat.rank, machines))?;
    let host = (BufReader::new(std::io::stdin()), &mut std::io::stdout());
    let mut writer = Parts::of(&job);
    let writer = writer.as_mut().map(|writer| writer as &mut dyn PartWriter);
    serve(&run, (seat.rank, seat.above), &seat.directory, (task, writer), host)?;
    // Threads that wait for the host would wait for ever.
    std::process::exit(0)
}

/// The share of a machine that reads with others, and its seat with what the command tells all.
/// None where machines are to be started anew.
fn joined(
    seat: &Seat,
    place: &Seating,
    read: impl FnOnce(&mut Member) -> Option<GraphInput>,
) -> Option<(GraphInput, Seat)> {
    let met = Member::join(place, place.machines, &Progress::new()).ok()?;
    let Met::Member(mut member) = met else { return None };
    let input = read(&mut member)?;
    let all = member.all_to_all(Vec::new()).ok()?;
    let words = String::from_utf8(all.into_iter().next_back()?).ok()?;
    member.end().ok()?;
    Some((input, seat.told(&words).ok()?))
}
