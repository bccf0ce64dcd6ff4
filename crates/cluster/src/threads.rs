//! A host whose machines are threads of this process: for tests, and for one computer.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_store::io::Faults;

use crate::disk::folder::{Folder, Parts};
use crate::error::ClusterError;
use crate::host::{Host, Started};
use crate::report::{Report, Reported};
use crate::running::{Run, RunningMachine};
use crate::task::Task;

/// Makes the task of a rank, for each process anew.
pub type MakeTask = Box<dyn FnMut(Rank) -> Result<Task, ClusterError> + Send>;

/// Machines as threads, each with a folder `machine-RANK` of its own.
pub struct Threads {
    run: Run,
    directory: PathBuf,
    task: MakeTask,
    machines: Vec<Option<RunningMachine>>,
    reports: (Sender<Reported>, Receiver<Reported>),
    /// Faults of a machine's disk.
    faults: Option<(Rank, Arc<Faults>)>,
}

impl Threads {
    /// The host of a run, in this directory.
    pub fn new(run: Run, directory: &Path, task: MakeTask) -> Self {
        let machines = (0..run.config.machines()).map(|_| None).collect();
        let (directory, reports) = (directory.to_owned(), channel());
        Self { run, directory, task, machines, reports, faults: None }
    }

    /// The host, where the disk of the machine of a rank has these faults, for tests.
    #[must_use]
    pub fn with_faults(self, rank: Rank, faults: Arc<Faults>) -> Self {
        Self { faults: Some((rank, faults)), ..self }
    }

    /// The machine of a rank, if it lives.
    pub fn machine(&self, rank: Rank) -> Option<&RunningMachine> {
        self.machines.get(rank)?.as_ref()
    }

    /// Ends a machine as a crash does, and takes notice of that.
    pub fn kill(&mut self, rank: Rank) {
        if let Some(machine) = self.machines[rank].take() {
            let incarnation = machine.incarnation();
            drop(machine);
            // The receiver is here.
            let _ =
                self.reports.0.send(Reported { rank, incarnation, report: Report::Ended(None) });
        }
    }
}

impl Host for Threads {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        let folder = self.directory.join(format!("machine-{rank}"));
        let faults = self.faults.as_ref().filter(|(of, _)| *of == rank);
        let faults = faults.map(|(_, faults)| faults.clone());
        let folder = Folder::open(&folder, faults)?;
        let me = (rank, self.run.config.machines());
        let folder = Arc::new(folder.with_copies(self.run.copies.as_ref(), me)?);
        let incarnation = folder.incarnation(above)?;
        let task = (self.task)(rank)?;
        let me = (rank, incarnation);
        let machine = RunningMachine::start(&self.run, me, folder, task, self.reports.0.clone())?;
        let address = machine.address();
        self.machines[rank] = Some(machine);
        Ok(Started { incarnation, address })
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        self.machine(rank).map_or(Ok(()), |machine| machine.locate(peer, address))
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        self.reports.1.recv_timeout(wait).ok()
    }

    fn vertices(&mut self, rank: Rank, manifest: &Manifest) -> Result<Parts, ClusterError> {
        let gone = || ClusterError::Result { rank, what: "it has ended".to_owned() };
        self.machine(rank).ok_or_else(gone)?.vertices(manifest)
    }

    fn stop(&mut self, rank: Rank) {
        self.machines[rank] = None;
    }
}
