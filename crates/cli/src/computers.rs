//! A run on several computers: each runs the same command, and rank 0 writes the result.
//!
//! ```text
//! rank 0        reads the input, waits for the others, is a machine, writes, says the verdict
//! rank 1, 2 ..  reads the input, comes to rank 0, is a machine, ends with the verdict
//! ```
//!
//! Invariant: all machines that are reached end with one exit code and reason. Tested by
//! `computers_end_alike`.

use std::path::Path;
use std::thread::Builder;
use std::time::Duration;

use welter_cluster::host::Finished;
use welter_cluster::{
    ClusterError, Credentials, Files, Live, PartWriter, Peers, Run, Seating, Task, Trust, Verdict,
    decline, join,
};
use welter_progress::{FailureKind, Progress};
use welter_worker::Partitioning;

use crate::algorithms::algorithm::Algorithm;
use crate::args::{Cluster, MACHINES_MAX, PlaceArgs, RunOptions};
use crate::cluster::{ClusterOutcome, Job, ProcessRole};
use crate::cluster_directory::Directory;
use crate::cluster_options::unfit;
use crate::cluster_parts::{Looked, Parts, watched};
use crate::environment;
use crate::failure::{Failure, printable};
use crate::load::Source;
use crate::metrics;
use crate::session::Session;
use crate::shares::of_computers;

/// Time after which a machine that is silent is waited for no longer, which is short, so that a
/// link that is cut for good ends a run within a minute.
const SILENCE: u64 = 30_000_000_000;

/// Time after which a silent machine is suspected.
const SUSPECT: u64 = 5_000_000_000;

/// Begin and end of a run on a cluster, as the command does them.
#[derive(Clone, Copy)]
pub(crate) struct RunHooks {
    /// Promises what will be written.
    pub(crate) begin: fn(&RunOptions) -> Result<(Session, Source), Failure>,
    /// Writes or shows what was found.
    pub(crate) show:
        fn(&dyn Algorithm, &RunOptions, Session, &ClusterOutcome) -> Result<(), Failure>,
}

/// Writes a new key.
pub(crate) fn init(file: &Path) -> Result<(), Failure> {
    Credentials::create(file)?;
    crate::say::line(format_args!(
        "{}: a copy to each machine, and --credentials there",
        printable(&file.to_string_lossy())
    ));
    Ok(())
}

fn lacking(what: &str) -> Failure {
    Failure::usage(format!("--cluster: {what}"))
}

/// The place of this machine.
pub(crate) fn seating(args: &PlaceArgs, cluster: &Cluster) -> Result<Seating, Failure> {
    let rank = args.rank.or_else(environment::rank);
    let rank = rank.ok_or_else(|| lacking("which machine is this? Say --rank I or set RANK"))?;
    let (machines, first, port) =
        if let Cluster::Static(path) = cluster { of_list(path, rank)? } else { of_environment()? };
    if !(1..=MACHINES_MAX).contains(&machines) || rank >= machines {
        return Err(lacking(&format!(
            "rank {rank} of {machines}: there are 1 to {MACHINES_MAX} machines, numbered from 0"
        )));
    }
    let trust = match &args.credentials {
        Some(path) => Trust::Key(Credentials::read(path)?),
        None if args.insecure_trusted_network => Trust::Network,
        None => Trust::Loopback,
    };
    let patience = Duration::from_secs(args.patience.max(1));
    Ok(Seating { rank, machines, first, port, trust, patience, apart: false })
}

/// Number of machines and the first one, as the environment says.
fn of_environment() -> Result<(usize, String, u16), Failure> {
    let says = |name: &str| std::env::var(name).map_err(|_| lacking(&format!("{name} is not set")));
    let machines = environment::machines().ok_or_else(|| lacking("WORLD_SIZE is not set"))?;
    Ok((machines, format!("{}:{}", says("MASTER_ADDR")?, says("MASTER_PORT")?), 0))
}

/// Number of machines, the first one, and the port of this one, of a list.
fn of_list(path: &Path, rank: usize) -> Result<(usize, String, u16), Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(FailureKind::Missing, format!("{shown}: {error}")))?;
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    let first = lines.first().filter(|line| line.contains(':'));
    let first = first.ok_or_else(|| lacking(&format!("{shown}: expected a line HOST:PORT")))?;
    let port = lines.get(rank).filter(|_| rank > 0).and_then(|line| line.rsplit_once(':'));
    let port = port.and_then(|(_, port)| port.parse().ok()).unwrap_or(0);
    Ok((lines.len(), (*first).to_owned(), port))
}

/// Number of machines of a cluster.
pub(crate) fn machines_of(cluster: &Cluster) -> Result<usize, Failure> {
    match cluster {
        Cluster::Local(machines) => Ok(*machines),
        Cluster::Static(path) => Ok(of_list(path, 0)?.0),
        Cluster::Env => environment::machines().ok_or_else(|| lacking("WORLD_SIZE is not set")),
        Cluster::Ray(_) => Err(lacking("how many nodes are there? Say local:N")),
    }
}

/// Is a machine of a cluster of several computers.
pub(crate) fn take_part(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    cluster: &Cluster,
    ends: RunHooks,
) -> Result<(), Failure> {
    let seating = seating(&args.cluster.place, cluster)?;
    if matches!(seating.trust, Trust::Network) {
        crate::say::line(format_args!(
            "warning: machines prove nothing to each other, and what they say can be read"
        ));
    }
    if seating.rank > 0 {
        follow(algorithm, args, &seating)
    } else {
        lead(algorithm, args, &seating, ends)
    }
}

/// A failure, or none, as machines send it to each other.
pub(crate) fn verdict<T>(done: &Result<T, Failure>) -> Verdict {
    let failure = done.as_ref().err()?;
    failure.kind().map(|kind| (kind, failure.message().to_owned()))
}

/// The run, as all machines know it.
pub(crate) fn run_of(job: &Job) -> Result<(Run, Partitioning), Failure> {
    let (mut run, cut) = job.run()?;
    let mut config = (*run.config).clone();
    config.timing.patience = SILENCE;
    config.timing.suspect = SUSPECT;
    run.config = config.into();
    Ok((run, cut))
}

/// Is a machine until there is a verdict.
pub(crate) fn be(
    job: &Job,
    (run, cut): (&Run, &Partitioning),
    seating: &Seating,
    (session, kept): (&Session, Option<&Directory>),
) -> Result<Verdict, ClusterError> {
    let scratch = session.resources.scratch();
    let scratch = scratch.first().cloned().unwrap_or_else(std::env::temp_dir);
    let rank = seating.rank;
    let task = || -> Result<Task, ClusterError> {
        let made = job.task(cut.clone(), (rank, seating.machines));
        made.map_err(|failure| ClusterError::Declined {
            rank,
            kind: failure.kind().unwrap_or(FailureKind::Internal),
            what: failure.message().to_owned(),
        })
    };
    let mut writer = Parts::of(job);
    let writer = writer.as_mut().map(|writer| writer as &mut dyn PartWriter);
    let folder = match kept.and_then(Directory::machine) {
        Some(directory) => Files::Kept(directory),
        None => Files::Passing(scratch),
    };
    join(run, seating, &folder, (Box::new(task), writer))
}

/// A machine that is not the first.
fn follow(algorithm: &dyn Algorithm, args: &RunOptions, seating: &Seating) -> Result<(), Failure> {
    let session = Session::start(args.resources.of_machine())?;
    let looked = (|| {
        let source = Source::with(&args.input, &args.resources)?;
        let place =
            ProcessRole { rank: Some(seating.rank), writes: false, tells: false, told: None };
        let (input, _) = of_computers(algorithm, args, (&source, &session), seating)?;
        let of = (&source, seating.machines);
        let job = Job::of(algorithm, args, of, (place, &session), input)?;
        let run = run_of(&job)?;
        let kept = Directory::of_rank(algorithm, args, (&source, seating.rank))?;
        Ok((job, run, kept))
    })();
    let (ended, kept) = match looked {
        Ok((job, (run, cut), kept)) => {
            let means = (&session, kept.as_ref());
            (be(&job, (&run, &cut), seating, means).map_err(Failure::from), kept)
        }
        Err(failure) => (Err(failure), None),
    };
    let done = match ended {
        Ok(None) => Ok(()),
        Ok(Some((kind, what))) => Err(Failure::new(kind, what)),
        Err(failure) => {
            let failed = Err(failure);
            decline(seating, &verdict(&failed));
            failed
        }
    };
    match kept {
        Some(kept) => kept.end(done),
        None => done,
    }
}

/// The first machine: the host of all, a machine, and the one that writes.
fn lead(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    seating: &Seating,
    ends: RunHooks,
) -> Result<(), Failure> {
    let mut peers = None;
    let done = led(algorithm, args, (seating, ends), &mut peers);
    let host = match peers {
        Some(peers) => Some(peers),
        // Where not even a listener can be had, no machine is told of the verdict.
        None => Peers::new(seating, (None, 0), &Progress::new()).ok(),
    };
    if let Some(peers) = host {
        peers.end(&verdict(&done));
    }
    done
}

fn led(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (seating, ends): (&Seating, RunHooks),
    recipients: &mut Option<Peers>,
) -> Result<(), Failure> {
    let (session, source) = (ends.begin)(args)?;
    if !source.lasts() {
        return Err(unfit("each machine reads the input, which a pipe gives once"));
    }
    let place = ProcessRole { rank: Some(0), writes: true, tells: false, told: None };
    let (input, before) = of_computers(algorithm, args, (&source, &session), seating)?;
    let job = Job::of(algorithm, args, (&source, seating.machines), (place, &session), input)?;
    let (run, cut) = run_of(&job)?;
    let kept = Directory::of_rank(algorithm, args, (&source, 0))?;
    let mut seating = seating.clone();
    let of = (Some([run.digest(), run.contents]), number_of_run());
    let peers = if job.has_share() {
        Peers::of_shares(&seating, of, job.deal(), &session.progress)?
    } else {
        Peers::new(&seating, of, &session.progress)?
    };
    // Where a port of 0 was asked for, and by loopback where that is the way to itself.
    seating.first = own(&seating, &peers);
    let machines = seating.machines;
    let progress = session.progress.clone();
    let (live, metrics) = metrics::watch(&args.cluster)?;
    let hosted = std::thread::scope(|scope| -> Result<_, Failure> {
        let hosts = Builder::new()
            .name("peers".to_owned())
            .spawn_scoped(scope, || host_of(peers, (&job, machines), (&progress, &live)));
        let hosts = hosts.map_err(|error| Failure::new(FailureKind::Budget, error.to_string()))?;
        let was = be(&job, (&run, &cut), &seating, (&session, kept.as_ref()));
        if let Err(error) = &was {
            decline(&seating, &Some((error.kind(), error.to_string())));
        }
        Ok(hosts.join())
    })?;
    drop(metrics);
    let Ok((peers, ended)) = hosted else { return Err(Failure::bug("a host ends")) };
    let peers = recipients.insert(peers);
    let strangers = peers.strangers();
    let done = ended.and_then(|ended| {
        peers.attended(|| {
            let mut found: ClusterOutcome = job.found(ended)?;
            found.machines.strangers = strangers + before;
            found.machines.trust = proof(&seating.trust);
            found.machines.is_host = true;
            (ends.show)(algorithm, args, session, &found)
        })
    });
    match kept {
        Some(kept) => kept.end(done),
        None => done,
    }
}

/// Proof that machines give each other, in a word for reports.
pub(crate) fn proof(trust: &Trust) -> &'static str {
    match trust {
        Trust::Loopback => "loopback",
        Trust::Network => "insecure-trusted-network",
        Trust::Key(_) => "key",
    }
}

/// A number that no other run has.
pub(crate) fn number_of_run() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    u64::from(std::process::id()) ^ now.map_or(0, |since| since.as_nanos() as u64) << 20
}

/// The address by which rank 0 finds itself.
fn own(seating: &Seating, peers: &Peers) -> String {
    if peers.address().ip().is_unspecified() {
        seating.first.clone()
    } else {
        peers.address().to_string()
    }
}

fn host_of(
    mut peers: Peers,
    (job, machines): (&Job, usize),
    watching: (&Progress, &Live),
) -> (Peers, Result<(Finished, Option<Looked>), Failure>) {
    let ended = match peers.gather() {
        Ok(()) => watched(&mut peers, (job, machines), watching),
        Err(error) => Err(error.into()),
    };
    if ended.is_err() {
        // Others must not wait for the end of the machine of this process.
        peers.announce(&verdict(&ended));
    }
    peers.release(0);
    (peers, ended)
}
