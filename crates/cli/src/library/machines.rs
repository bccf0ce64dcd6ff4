//! Runs on a cluster whose machines a caller starts, in processes of its own.
//!
//! ```text
//! host      looks at the input, waits for machines, has the result       where the caller is
//! machine   looks at the input, comes to the host, ends with its verdict    a process each
//! ```
//!
//! All are given the same words, which are those of the command that does the same ([`command`]
//! makes them), and the key of the run. Unlike the command's rank 0 ([`crate::computers`]) the host
//! is no machine, so that the caller may be a small one.

use std::net::SocketAddr;
use std::time::Duration;

use welter_cluster::{Credentials, Peers, Seating, Trust, decline};
use welter_progress::{FailureKind, Progress};

use super::{Answer, Graph, lasting, panics, usage};
use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::understood;
use crate::args::{MACHINES_MAX, RunOptions};
use crate::checkpoint;
use crate::cluster::{self, Job};
use crate::cluster_options::{self, unfit};
use crate::computers::{self, verdict};
use crate::failure::Failure;
use crate::hosted::{Hosted, words_of_run};
use crate::load::Source;
use crate::promise::table_files;
use crate::session::Session;

/// Place of a process in a run.
#[derive(Clone)]
pub struct ClusterMember {
    /// Number of machines.
    pub machines: usize,
    /// Where the host listens, `address:port`; a port of 0 is any.
    pub first: String,
    /// Key of the run; without one all are on loopback.
    pub key: Option<String>,
    /// Seconds in which a machine must come.
    pub patience: u64,
}

impl ClusterMember {
    fn seating(&self, rank: usize) -> Result<Seating, Failure> {
        let &Self { machines, ref first, ref key, patience } = self;
        if !(1..=MACHINES_MAX).contains(&machines) || rank >= machines {
            let what = format!("a cluster has 1 to {MACHINES_MAX} machines, not {machines}");
            return Err(Failure::usage(what));
        }
        let trust = match key {
            None => Trust::Loopback,
            Some(text) => Trust::Key(
                Credentials::of(text).ok_or_else(|| Failure::usage("the key of a run is none"))?,
            ),
        };
        let patience = Duration::from_secs(patience.max(1));
        let first = first.clone();
        Ok(Seating { rank, machines, first, port: 0, trust, patience, apart: true })
    }
}

/// A new key for a run.
///
/// # Errors
/// When the system has no random numbers.
pub fn key() -> Result<String, Failure> {
    let none = || Failure::new(FailureKind::Storage, "the system has no random numbers");
    Credentials::fresh().ok_or_else(none)
}

/// Words of the command that reads what a graph was read from, and runs on a cluster what `words`
/// say.
///
/// # Errors
/// When the graph is in memory, where machines cannot read it.
pub fn command(graph: &Graph, words: &[String]) -> Result<Vec<String>, Failure> {
    panics::caught(|| {
        if let Some(read) = &graph.words {
            return lasting::command(read, words);
        }
        let what = "machines of a cluster read the graph, and this one is in memory";
        let hint = "give files, or keep it with its method save and open it with welter.open";
        Err(Failure::usage(what).hint(hint))
    })
}

/// The words as what is to be done.
fn job(words: &[String]) -> Result<(Box<dyn Algorithm>, RunOptions, Source), Failure> {
    let (algorithm, args) = understood(words).map_err(|error| usage::refusal(&error))?;
    let algorithm = cluster_options::otherwise(&*algorithm, &args).unwrap_or(algorithm);
    cluster_options::check(&*algorithm, &args)?;
    if args.checkpoint.checkpoint.is_some() {
        return Err(unfit("--checkpoint: machines of a caller have files of their own"));
    }
    algorithm.check(&args.input.shown())?;
    let source = Source::with(&args.input, &args.resources)?;
    if !source.lasts() {
        return Err(unfit("each machine reads the input, which a pipe gives once"));
    }
    Ok((algorithm, args, source))
}

/// Runs what words say on machines that come, and ends them. `listening` receives the address that
/// they connect to, once that is known.
///
/// # Errors
/// As of `welter run --cluster`.
pub fn host(
    words: &[String],
    place: &ClusterMember,
    listening: impl FnOnce(SocketAddr),
    progress: &Progress,
) -> Result<Answer, Failure> {
    panics::caught(|| {
        let seating = place.seating(0)?;
        let mut peers = None;
        let done = hosted(words, (&seating, listening), progress, &mut peers);
        if let Some(peers) = peers {
            peers.end(&verdict(&done));
        }
        done
    })
}

fn hosted(
    words: &[String],
    (seating, listening): (&Seating, impl FnOnce(SocketAddr)),
    progress: &Progress,
    recipients: &mut Option<Peers>,
) -> Result<Answer, Failure> {
    let (algorithm, args, source) = job(words)?;
    let session = Session::within(args.resources.of_machine(), progress)?;
    let hosted = Hosted { algorithm: &*algorithm, args: &args, source: &source, words };
    let found = hosted.run(&session, (seating, listening), recipients)?;
    let tables = table_files(checkpoint::tables(&*algorithm, &args.input));
    let files = source.files().into_iter().chain(tables).collect();
    Answer::of_cluster(found, &*algorithm, &session, files)
}

/// Is the machine of a rank until there is a verdict.
///
/// # Errors
/// With the reason for which all machines end.
pub fn machine(
    words: &[String],
    place: &ClusterMember,
    rank: usize,
    progress: &Progress,
) -> Result<(), Failure> {
    panics::caught(|| {
        let seating = place.seating(rank)?;
        let was = (|| {
            let (algorithm, args, source) = job(words)?;
            let session = Session::within(args.resources.of_machine(), progress)?;
            let here =
                cluster::ProcessRole { rank: Some(rank), writes: false, tells: false, told: None };
            let job =
                Job::of(&*algorithm, &args, (&source, seating.machines), (here, &session), None)?;
            let (mut run, cut) = computers::run_of(&job)?;
            run.words = words_of_run(words, &job);
            Ok(computers::be(&job, (&run, &cut), &seating, (&session, None))?)
        })();
        if was.is_err() {
            decline(&seating, &verdict(&was));
        }
        match was? {
            None => Ok(()),
            Some((kind, what)) => Err(Failure::new(kind, what)),
        }
    })
}

/// Reports to the host that no machine of a rank will come any more, and why.
///
/// # Errors
/// When the place is none.
pub fn absent(place: &ClusterMember, rank: usize, why: &str) -> Result<(), Failure> {
    let seating = place.seating(rank)?;
    decline(&seating, &Some((FailureKind::Resumable, why.to_owned())));
    Ok(())
}
