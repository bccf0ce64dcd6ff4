//! The host of a run whose machines are started by another process, and which is no machine.

use std::net::SocketAddr;

use welter_cluster::{Peers, Seating};

use crate::algorithms::algorithm::Algorithm;
use crate::args::RunOptions;
use crate::cluster::{ClusterOutcome, Job, ProcessRole};
use crate::cluster_parts::watched;
use crate::computers::{number_of_run, proof, run_of};
use crate::failure::Failure;
use crate::load::Source;
use crate::metrics;
use crate::session::Session;

/// A run, as its host knows it.
pub(crate) struct Hosted<'a> {
    /// Algorithm of the run.
    pub(crate) algorithm: &'a dyn Algorithm,
    /// Options of the run.
    pub(crate) args: &'a RunOptions,
    /// Input of the run.
    pub(crate) source: &'a Source,
    /// Words that the machines are given.
    pub(crate) words: &'a [String],
}

impl Hosted<'_> {
    /// Waits for machines, and has the result. `listening` receives the address that they connect
    /// to, and `recipients` is set when there is a thread that sends them the end.
    pub(crate) fn run(
        &self,
        session: &Session,
        (seating, listening): (&Seating, impl FnOnce(SocketAddr)),
        recipients: &mut Option<Peers>,
    ) -> Result<ClusterOutcome, Failure> {
        let &Self { algorithm, args, source, words } = self;
        let (machines, progress) = (seating.machines, &session.progress);
        let place = ProcessRole { rank: None, writes: true, tells: false, told: None };
        let job = Job::of(algorithm, args, (source, machines), (place, session), None)?;
        let (mut run, _) = run_of(&job)?;
        run.words = words_of_run(words, &job);
        let expected = Some([run.digest(), run.contents]);
        let peers = Peers::new(seating, (expected, number_of_run()), progress)?;
        listening(peers.address());
        let peers = recipients.insert(peers);
        peers.gather()?;
        let (live, metrics) = metrics::watch(&args.cluster)?;
        let ended = watched(peers, (&job, machines), (progress, &live))?;
        drop(metrics);
        let mut found = peers.attended(|| job.found(ended))?;
        found.machines.strangers = peers.strangers();
        found.machines.trust = proof(&seating.trust);
        Ok(found)
    }
}

/// The run in words, where all machines were given these.
pub(crate) fn words_of_run(words: &[String], job: &Job) -> String {
    format!("{words:?} {}", job.words::<String>(&[]))
}
