//! A run of the command on the nodes of a Ray cluster.
//!
//! The command is the host ([`crate::hosted`]). Ray speaks Python, so a process of welter's Python
//! package starts the machines, and others in their place: `python/welter/_hosted.py` says what the
//! two say to each other. It ends the machines when its standard input ends, so none outlives the
//! command.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use welter_cluster::{Credentials, Peers, Seating, Trust};
use welter_progress::FailureKind;

use crate::algorithms::algorithm::Algorithm;
use crate::args::RunOptions;
use crate::argv;
use crate::cluster::ClusterOutcome;
use crate::cluster_options::unfit;
use crate::computers::{RunHooks, verdict};
use crate::failure::Failure;
use crate::hosted::Hosted;

/// Word by which the Python package starts machines, instead of being the command.
const STARTER: &str = "--cluster-starter";

/// Entry point of the Python package, which says nothing where there is no such package.
const ENTRY: &str = "import sys
try:
    from welter._command import main
except ImportError:
    sys.exit(1)
sys.exit(main())";

/// Runs an algorithm on the nodes of the Ray cluster at this address.
pub(crate) fn run(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    address: Option<&str>,
    ends: RunHooks,
) -> Result<(), Failure> {
    let cluster = &args.cluster.place;
    let unused = [
        ("--rank", cluster.rank.is_some()),
        ("--credentials", cluster.credentials.is_some()),
        ("--insecure-trusted-network", cluster.insecure_trusted_network),
    ];
    if let Some((option, _)) = unused.iter().find(|(_, is_stated)| *is_stated) {
        let what = format!("{option}: a run on Ray makes a key for its machines, and ranks");
        return Err(Failure::usage(what).hint("leave it out"));
    }
    let (session, source) = (ends.begin)(args)?;
    if !source.lasts() {
        return Err(unfit("each machine reads the input, which a pipe gives once"));
    }
    let words = words()?;
    let mut starter = Starter::new(&words, address, cluster.patience.max(1))?;
    let seating = starter.seating.clone();
    let hosted = Hosted { algorithm, args, source: &source, words: &words };
    let mut peers: Option<Peers> = None;
    let found = hosted.run(&session, (&seating, |at| starter.begin(&at.to_string())), &mut peers);
    let done = found.and_then(|found: ClusterOutcome| {
        let show = || (ends.show)(algorithm, args, session, &found);
        match &mut peers {
            Some(peers) => peers.attended(show),
            None => show(),
        }
    });
    if let Some(peers) = peers {
        peers.end(&verdict(&done));
    }
    done
}

/// Words of the command for its machines, which come to their host as the environment says.
fn words() -> Result<Vec<String>, Failure> {
    let all: Result<Vec<String>, _> =
        argv::words().iter().skip(1).map(|word| word.clone().into_string()).collect();
    let all = all.map_err(|_| Failure::usage("words for machines on Ray must be UTF-8"))?;
    Ok(of_machines(&all))
}

fn of_machines(all: &[String]) -> Vec<String> {
    // Inputs may follow a `--`, behind which there are no options.
    let options = all.iter().position(|word| word == "--").unwrap_or(all.len());
    let follows = |at: usize| at > 0 && all[at - 1] == "--cluster";
    let word = |(at, word): (usize, &String)| match word.as_str() {
        _ if at >= options => word.clone(),
        _ if follows(at) => "env".to_owned(),
        stated if stated.starts_with("--cluster=") => "--cluster=env".to_owned(),
        _ => word.clone(),
    };
    all.iter().enumerate().map(word).collect()
}

/// The process that starts machines. It is waited for when this is dropped.
struct Starter {
    child: Child,
    input: Option<ChildStdin>,
    seating: Seating,
}

impl Starter {
    fn new(words: &[String], address: Option<&str>, patience: u64) -> Result<Self, Failure> {
        let mut command = if argv::is_started() {
            argv::program()
        } else {
            let mut python = Command::new("python3");
            python.args(["-c", ENTRY]);
            python
        };
        command.arg(STARTER).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for the command alone, which ends its machines.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let lacking = |what: String| {
            Failure::new(FailureKind::Usage, format!("--cluster ray: {what}"))
                .hint("Ray wants a Python with both: pip install welter ray")
        };
        let child = command.spawn();
        let mut child = child.map_err(|error| lacking(format!("python3: {error}")))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let Some((mut input, output)) = pipes else { return Err(Failure::bug("two pipes")) };
        let asked = json!({ "words": words, "address": address, "patience": patience });
        // One that is gone says nothing, either.
        let _ = writeln!(input, "{asked}");
        let answer = answer(output);
        let mut starter = Self { child, input: Some(input), seating: seating(&Value::Null, 0) };
        let answer =
            answer.ok_or_else(|| lacking("the Python package of welter is not there".into()))?;
        if let Some(why) = answer["error"].as_str() {
            return Err(lacking(why.to_owned()));
        }
        starter.seating = seating(&answer, patience);
        if matches!(starter.seating.trust, Trust::Loopback) {
            return Err(lacking("the Python package of welter is another version".into()));
        }
        Ok(starter)
    }

    /// Has machines started, which come to this address.
    fn begin(&mut self, first: &str) {
        if let Some(input) = &mut self.input {
            // Where it is gone no machine comes, which is noticed.
            let _ = writeln!(input, "{}", json!({ "first": first }));
        }
    }
}

fn answer(output: ChildStdout) -> Option<Value> {
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// Place of the host that an answer states: without a key where it states none.
fn seating(answer: &Value, patience: u64) -> Seating {
    let key = answer["key"].as_str().and_then(Credentials::of);
    Seating {
        rank: 0,
        machines: answer["machines"].as_u64().unwrap_or(0) as usize,
        first: answer["first"].as_str().unwrap_or_default().to_owned(),
        port: 0,
        trust: key.map_or(Trust::Loopback, Trust::Key),
        patience: Duration::from_secs(patience),
        apart: true,
    }
}

impl Drop for Starter {
    fn drop(&mut self) {
        // It ends its machines when its input ends.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_come_as_their_environment_says() {
        let words = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            of_machines(&words).join(" ")
        };
        assert_eq!(words("run bfs g --cluster ray -q"), "run bfs g --cluster env -q");
        assert_eq!(words("run bfs --cluster=ray:a:1 g"), "run bfs --cluster=env g");
        assert_eq!(words("run bfs -q -- --cluster ray"), "run bfs -q -- --cluster ray");
    }
}
