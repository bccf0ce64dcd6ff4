//! The batch of the examples, run by Slurm on four nodes that are daemons of this computer.
//!
//! It wants root, `slurm-wlm` and `munge`, as Debian has them. Where they are missing nothing is
//! tested, which is said; `WELTER_REQUIRE=slurm` makes that a failure. All that the daemons write
//! is in a folder of the test's own, their ports are free ones of loopback, and the names of nodes
//! are addresses of it, since no name server would resolve them.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, root};

const NODES: usize = 4;

/// Daemons of a Slurm cluster, which end when this is dropped.
struct Slurm<'s> {
    sandbox: &'s Sandbox,
    daemons: Vec<Child>,
}

/// Ports that no process listens at, all different.
fn free_ports(count: usize) -> Vec<u16> {
    let all = (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let all: Vec<_> = all.collect();
    all.iter().map(|it| it.local_addr().unwrap().port()).collect()
}

/// Name of the node of this number, from 1.
fn node(number: usize) -> String {
    format!("127.0.0.{number}")
}

fn configuration(folder: &str, ports: &[u16]) -> String {
    let nodes = (1..=NODES).map(|number| {
        let (name, port) = (node(number), ports[number]);
        format!("NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=16\n")
    });
    let nodes: String = nodes.collect();
    format!(
        "ClusterName=welter
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={}
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
{nodes}PartitionName=all Nodes=ALL Default=YES State=UP
",
        ports[0]
    )
}

impl<'s> Slurm<'s> {
    /// Starts the daemons, and waits until all nodes are idle.
    fn new(sandbox: &'s Sandbox) -> Result<Self, String> {
        let folder = sandbox.path().join("slurm");
        std::fs::create_dir_all(folder.join("state")).unwrap();
        // The key daemon trusts no folder that others may write to.
        let key = folder.join("munge.key");
        std::fs::write(&key, [7; 64]).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o400)).unwrap();
        let at = folder.to_str().unwrap();
        let ports = free_ports(NODES + 1);
        std::fs::write(folder.join("slurm.conf"), configuration(at, &ports)).unwrap();
        let mut slurm = Self { sandbox, daemons: Vec::new() };
        let own = |file: &str| format!("{at}/{file}");
        let munged = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--socket={}", own("munge.socket")),
            format!("--key-file={}", own("munge.key")),
            format!("--pid-file={}", own("munge.pid")),
            format!("--log-file={}", own("munge.log")),
            format!("--seed-file={}", own("munge.seed")),
        ];
        slurm.start("munged", &munged)?;
        Self::wait_for("munged", || folder.join("munge.socket").exists())?;
        slurm.start("slurmctld", &["-D".to_owned(), "-i".to_owned()])?;
        for number in 1..=NODES {
            slurm.start("slurmd", &["-D".to_owned(), "-N".to_owned(), node(number)])?;
        }
        let idle = format!("{NODES} idle");
        Self::wait_for("nodes", || {
            let output = slurm.command("sinfo").args(["-h", "-o", "%D %T"]).output();
            output.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).trim() == idle)
        })?;
        Ok(slurm)
    }

    /// A program of Slurm, in the folder of the test.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        let here = self.sandbox.path();
        command.env("PATH", format!("{}:{path}:/usr/sbin", here.join("bin").display()));
        command.env("SLURM_CONF", here.join("slurm/slurm.conf"));
        command.env("TMPDIR", here).env("NO_COLOR", "1");
        command.current_dir(here).stdin(Stdio::null());
        command
    }

    fn start(&mut self, program: &str, words: &[String]) -> Result<(), String> {
        let mut command = self.command(program);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        let daemon = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        self.daemons.push(daemon);
        Ok(())
    }

    fn wait_for(what: &str, is_there: impl Fn() -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !is_there() {
            if began.elapsed() > Duration::from_mins(1) {
                return Err(format!("{what}: not there within a minute"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            // It may have ended by itself.
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Reason why there can be no Slurm here.
fn missing() -> Option<String> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
    let programs = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "sinfo"];
    let is_there = |program: &&str| folders.iter().any(|it| Path::new(it).join(program).exists());
    if let Some(program) = programs.iter().find(|program| !is_there(program)) {
        return Some(format!("there is no {program} (Debian: slurm-wlm and munge)"));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let is_root = status.lines().any(|line| line.starts_with("Uid:\t0\t0"));
    (!is_root).then(|| "it wants root".to_owned())
}

#[test]
fn the_batch_of_the_examples_runs_on_four_nodes() {
    if let Some(why) = missing() {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|name| name != "slurm"), "slurm: {why}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: a batch of Slurm: {why}");
        return;
    }
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path().join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_welter"), sandbox.path().join("bin/welter")).unwrap();
    sandbox.must("cluster init key");
    sandbox.must("generate rmat 10 -q -o big.mtx");
    sandbox.must("run pagerank big.mtx -q -o one.csv");
    let slurm = Slurm::new(&sandbox).unwrap();
    let mut batch = slurm.command("sbatch");
    batch.arg("--wait").arg("--output=said.txt").arg(root().join("examples/cluster/slurm.sbatch"));
    // It takes the port of the environment, since others may have the one that it would take.
    batch.env("MASTER_PORT", free_ports(1)[0].to_string());
    let ended = Ended::of(batch.output().unwrap());
    let log = String::from_utf8(sandbox.read("said.txt")).unwrap();
    assert_eq!(ended.code, Some(0), "{}{log}", ended.stderr);
    // Each node had a machine, and the first one tells of all.
    let report: Value = serde_json::from_slice(&sandbox.read("ranks.json")).unwrap();
    assert_eq!(report["cluster"]["machines"].as_array().unwrap().len(), NODES, "{report}");
    let ranks = |file| -> Vec<(String, f64)> {
        let text = String::from_utf8(sandbox.read(file)).unwrap();
        let rows = text.lines().skip(1).map(|line| line.rsplit_once(',').unwrap());
        rows.map(|(id, rank)| (id.to_owned(), rank.parse().unwrap())).collect()
    };
    let (one, many) = (ranks("one.csv"), ranks("ranks.csv"));
    assert_eq!(one.len(), 1024);
    let is_alike =
        |(a, b): (&(String, f64), &(String, f64))| a.0 == b.0 && (a.1 - b.1).abs() <= 1e-9 * a.1;
    assert!(one.len() == many.len() && one.iter().zip(&many).all(is_alike));
}
