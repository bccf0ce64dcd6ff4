//! Other programs, which benches/peers/peers.py runs, one in a process.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::outcome::{self, Outcome};
use crate::outofcore::job::ended_after;

/// The program that runs them.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/peers.py");

/// One of them, as the program lists it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Peer {
    #[serde(rename = "peer")]
    pub(super) name: String,
    version: Option<String>,
    #[serde(default)]
    algorithms: Vec<String>,
    missing: Option<String>,
}

impl Peer {
    pub(super) fn has(&self, algorithm: &str) -> bool {
        self.algorithms.iter().any(|name| name == algorithm)
    }
}

/// Peers that are installed.
#[derive(Clone, Debug, Default)]
pub(super) struct Peers {
    python: PathBuf,
    pub(super) all: Vec<Peer>,
}

impl Peers {
    /// Asks which there are, and says aloud which are not. None without Python.
    pub(super) fn find(python: Option<&Path>) -> Result<Self> {
        let Some(python) = python else {
            eprintln!("no peers: they take --peers PYTHON");
            return Ok(Self::default());
        };
        let mut command = Command::new(python);
        let listed = command.args([SCRIPT, "list"]).output();
        let listed = listed.with_context(|| format!("starting {}", python.display()))?;
        let stderr = String::from_utf8_lossy(&listed.stderr);
        ensure!(listed.status.success(), "{SCRIPT} list: {}: {stderr}", listed.status);
        let all = listed_in(&listed.stdout)?;
        for Peer { name, missing, .. } in &all {
            if let Some(missing) = missing {
                eprintln!("{name} is left out: {missing}");
            }
        }
        Ok(Self { python: python.to_owned(), all })
    }

    /// Names and versions, for a remark below the tables.
    pub(super) fn described(&self) -> String {
        let one = |Peer { name, version, missing, .. }: &Peer| match (version, missing) {
            (Some(version), None) => format!("{name} {version}"),
            _ => format!("{name} left out"),
        };
        let all: Vec<String> = self.all.iter().map(one).collect();
        if all.is_empty() { "none were asked for".to_owned() } else { all.join(", ") }
    }

    /// Runs one.
    pub(super) fn run(&self, peer: &str, task: &Task<'_>, seconds_most: u64) -> Result<Outcome> {
        let mut command = ended_after(seconds_most, &self.python);
        command.args([SCRIPT, "run", peer, task.algorithm]).arg(task.input);
        command.args(["--source", &task.source.to_string()]);
        command.args(["--iterations", &task.iterations.to_string()]);
        command.env("OMP_NUM_THREADS", task.threads.to_string());
        outcome::of(command, seconds_most)
    }
}

fn listed_in(stdout: &[u8]) -> Result<Vec<Peer>> {
    serde_json::from_slice(stdout).context("the list of peers")
}

/// Task that peers are given.
pub(super) struct Task<'a> {
    pub(super) algorithm: &'a str,
    pub(super) input: &'a Path,
    pub(super) source: u32,
    pub(super) threads: usize,
    pub(super) iterations: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_there_or_missing() {
        let text = br#"[{"peer": "scipy", "version": "1.17.1", "algorithms": ["wcc"]},
            {"peer": "igraph", "missing": "No module named 'igraph'"}]"#;
        let peers = Peers { python: PathBuf::new(), all: listed_in(text).unwrap() };
        assert!(peers.all[0].has("wcc") && !peers.all[0].has("mis") && !peers.all[1].has("wcc"));
        assert_eq!(peers.described(), "scipy 1.17.1, igraph left out");
        assert!(listed_in(b"[{}]").is_err());
    }
}
