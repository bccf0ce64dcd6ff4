//! Clusters whose machines are processes: this executable runs itself as a machine when it is told
//! so, and else makes the tests.

mod common;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use welter_cluster::host::Started;
use welter_cluster::{ClusterError, Host, Parts, Processes, Report, Reported, serve};
use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::config::Route;

use common::{Job, graph, job};

const MACHINES: usize = 4;

fn of(name: &str) -> Job {
    job(name, &graph(11, 300, 4000), MACHINES, Route::Spill)
}

/// A host that kills a process as soon as all have been introduced.
struct Killer {
    inner: Processes,
    victim: Option<Rank>,
    reports: u32,
}

impl Host for Killer {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        self.inner.start(rank, above)
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.inner.locate(rank, peer, address)
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        if let Some(rank) = self.victim.take() {
            self.inner.kill(rank).expect("it lives");
        }
        let reported = self.inner.next(wait);
        self.reports += u32::from(matches!(&reported, Some(it) if died(&it.report)));
        reported
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        self.inner.vertices(rank, manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.inner.stop(rank);
    }
}

fn died(report: &Report) -> bool {
    matches!(report, Report::Ended(None))
}

/// The host's side: a job on processes, of which one may be killed.
fn check(name: &'static str, victim: Option<Rank>) {
    let directory = TempDir::new().expect("there is a place for it");
    let this = std::env::current_exe().expect("it runs");
    let command = move |rank: Rank, folder: &Path, above: u32| {
        let mut command = Command::new(&this);
        command.args(["machine", name, &rank.to_string(), &above.to_string()]).arg(folder);
        command
    };
    let inner = Processes::new(MACHINES, directory.path(), Box::new(command));
    let mut host = Killer { inner, victim, reports: 0 };
    let finished = of(name).check(&mut host);
    let kills = u32::from(victim.is_some());
    assert_eq!((finished.restarts, host.reports), (kills, kills), "{name}");
}

/// The machine's side.
fn machine(arguments: &[String]) {
    let [name, rank, above, folder] = arguments else { panic!("machine NAME RANK ABOVE FOLDER") };
    let me = (rank.parse().expect("a rank"), above.parse().expect("an incarnation"));
    let job = of(name);
    let worker = job.workers()(me.0).expect("it is made");
    let input = std::io::BufReader::new(std::io::stdin());
    serve(&job.run, me, &PathBuf::from(folder), (worker, None), (input, &mut std::io::stdout()))
        .expect("it serves");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == "machine" => machine(rest),
        // Runners of tests ask for a list.
        Some((first, _)) if first == "--list" => println!("processes: test"),
        // As of other tests, words are parts of names.
        Some((first, _)) if !first.starts_with('-') && !"processes".contains(&**first) => {}
        _ => {
            check("pagerank", None);
            check("bfs", Some(2));
            check("contraction", Some(0));
        }
    }
}
