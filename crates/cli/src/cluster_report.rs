//! The report of a run on a cluster: what was found, and what each machine did for it.
//!
//! Times are of computation engines, by the kinds of Figure 16 of Chaos: they add up to the life of
//! a machine. Bytes are those of chunks and vertex sets. The plan of a machine stands beside what
//! became of it, as the process that reports has made it: all machines have come to the same.

use serde::Serialize;
use serde_json::Value;
use welter_cluster::{Activity, IterationsMoved, MovedByIteration, Recovery};
use welter_engine::plan::human_bytes;
use welter_objects::Traffic;
use welter_protocol::Time;
use welter_protocol::times::Times;

use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::on_cluster::Finding;
use crate::argv;
use crate::cluster_plan::PlanFigures;
use crate::number_format::counted;
use crate::price::{Price, Spent};
use crate::report::ObjectFigures;
use crate::session::Session;

/// Machines of a run.
#[derive(Clone, Debug)]
pub(crate) struct Machines {
    /// Activity of each machine.
    pub(crate) activities: Vec<Activity>,
    /// Figures that were foreseen of each, by rank, where they have a plan.
    pub(crate) plans: Vec<PlanFigures>,
    /// Bytes that each moved, by iteration.
    pub(crate) moved: Vec<MovedByIteration>,
    /// Place where updates waited.
    pub(crate) route: &'static str,
    /// Reason for it, in words.
    pub(crate) route_reason: String,
    /// Place of chunks, and the reason for it, where machines stored some.
    pub(crate) placement: Option<(&'static str, String)>,
    /// Bytes of the input that each has parsed, where each has parsed its share.
    pub(crate) parsed_bytes: Option<Vec<u64>>,
    /// Way of messages, where updates are messages.
    pub(crate) transport: Option<&'static str>,
    /// Streaming partitions, or sub-ranges.
    pub(crate) partitions: u64,
    /// Number of times that machines were started again.
    pub(crate) restarts: u32,
    /// Number of times that one was silent for long.
    pub(crate) suspicions: u32,
    /// Machines that were lost or silent, with the time until the run came further.
    pub(crate) recoveries: Vec<Recovery>,
    /// Connections to the first machine that were of none.
    pub(crate) strangers: u64,
    /// Proof that machines give each other.
    pub(crate) trust: &'static str,
    /// Whether this process is the first of them.
    pub(crate) is_host: bool,
    /// Seconds that were taken until each number of iterations was done.
    pub(crate) iteration_times: Vec<(u32, f64)>,
}

/// The file.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    version: &'static str,
    command: Vec<String>,
    algorithm: &'static str,
    parameters: Value,
    vertices: u64,
    /// Of the input.
    edges: u64,
    cluster: Cluster<'a>,
    iterations: u64,
    note: Option<&'a str>,
    /// Of the graph as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<&'a Value>,
    seconds: f64,
    /// Requests of stores, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    objects: Option<ObjectFigures>,
    /// Price of the run, if prices were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
}

#[derive(Debug, Serialize)]
struct Cluster<'a> {
    route: &'static str,
    /// Reason for it, in words.
    route_reason: &'a str,
    /// Place of chunks, and the reason for it, where machines stored some.
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'static str>,
    partitions: u64,
    restarts: u32,
    suspicions: u32,
    /// Machines that were lost or silent, in the order in which the run came further.
    recoveries: Vec<RecoveryFigures>,
    /// Connections and datagrams that were of no machine, to the host and to machines.
    strangers: u64,
    /// Proof that machines give each other.
    trust: &'static str,
    /// The beginning (0), and each iteration.
    iteration_times: Vec<IterationTime>,
    /// Read and written by disks, of an edge in an iteration.
    bytes_per_edge: f64,
    /// By rank.
    machines: Vec<Machine>,
}

/// Time for which a machine that was lost or silent held the run up.
#[derive(Debug, Serialize)]
struct RecoveryFigures {
    rank: usize,
    /// Whether it was started again, or another one in its place.
    restarted: bool,
    /// Iterations that were done by then.
    iterations: u32,
    /// From the end of the last of them until the host noticed.
    unnoticed_seconds: f64,
    /// From then until a later one was done.
    seconds: f64,
}

impl From<&Recovery> for RecoveryFigures {
    fn from(recovery: &Recovery) -> Self {
        let &Recovery { rank, is_restart, iterations, unnoticed_seconds, seconds } = recovery;
        Self { rank, restarted: is_restart, iterations, unnoticed_seconds, seconds }
    }
}

/// Time that an iteration took.
#[derive(Debug, Serialize)]
struct IterationTime {
    iteration: u32,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Machine {
    /// Where memory of the program is foreseen.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanFigures>,
    /// The most memory that its process had at any time, where the system states it.
    #[serde(skip_serializing_if = "is_zero")]
    resident_bytes_max: u64,
    seconds: Seconds,
    /// Processor time of its threads, where updates are messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    processor_seconds: Option<ProcessorSeconds>,
    /// Of the input, as they are stored, where each machine has parsed its share.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_parsed: Option<u64>,
    bytes_read: u64,
    bytes_written: u64,
    /// Chunks that these were.
    reads: u64,
    writes: u64,
    bytes_sent: u64,
    /// Mean of all iterations, with what is sent before the first one. Where a machine was replaced
    /// it is not said, since some was sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration_bytes_sent: Option<u64>,
    /// The beginning, and iterations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    iteration_bytes: Vec<IterationBytes>,
    messages_sent: u64,
    /// Updates that these stood for, where updates are messages.
    #[serde(skip_serializing_if = "is_zero")]
    updates_sent: u64,
    /// Updates that met before they were sent, to itself too.
    #[serde(skip_serializing_if = "is_zero")]
    updates_combined: u64,
    /// Seconds that combining them was expected to gain.
    #[serde(skip_serializing_if = "is_zero_seconds")]
    seconds_saved: f64,
    /// Chunks of edges and updates that its storage engine handed out.
    chunks_served: u64,
    /// Partitions of others that it streamed a part of.
    partitions_helped: u64,
    /// Proposals of others to help it.
    help_accepted: u64,
    help_declined: u64,
}

/// Bytes of consecutive iterations, or of the beginning.
#[derive(Debug, Serialize)]
struct IterationBytes {
    /// The last of them; 0 of the beginning.
    iteration: u64,
    iterations: u64,
    bytes_read: u64,
    bytes_written: u64,
    bytes_sent: u64,
}

impl From<IterationsMoved> for IterationBytes {
    fn from(IterationsMoved { last, count, moved }: IterationsMoved) -> Self {
        Self {
            iteration: last,
            iterations: count,
            bytes_read: moved.read,
            bytes_written: moved.written,
            bytes_sent: moved.sent,
        }
    }
}

/// Time of a computation engine, by what it went into.
#[derive(Debug, Serialize)]
struct Seconds {
    own: f64,
    stolen: f64,
    copying: f64,
    merging: f64,
    idle: f64,
}

/// Processor time of threads by their role, looks at lanes to which nothing came among them.
#[derive(Debug, Serialize)]
struct ProcessorSeconds {
    /// To read, apply and scatter, and to send where there are no sender threads.
    computation: f64,
    /// To receive and fold.
    accumulator: f64,
    /// To send what computation threads wrote.
    #[serde(skip_serializing_if = "is_zero_seconds")]
    sender: f64,
}

impl ProcessorSeconds {
    fn of(activity: &Activity) -> Option<Self> {
        let Activity { computation, accumulation, sending, .. } = *activity;
        let [computation, accumulator, sender] = [computation, accumulation, sending].map(seconds);
        let any = computation + accumulator + sender > 0.0;
        any.then_some(Self { computation, accumulator, sender })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero_seconds(seconds: &f64) -> bool {
    *seconds == 0.0
}

fn seconds(nanos: Time) -> f64 {
    nanos as f64 / 1e9
}

impl Machine {
    /// Figures of a machine that has done this in as many iterations, if all of them are in it.
    fn of(activity: &Activity, plan: Option<PlanFigures>, iterations: Option<u64>) -> Self {
        let Times { own, stolen, copying, merging, idle } = activity.times;
        Self {
            plan,
            resident_bytes_max: activity.resident_bytes_max,
            seconds: Seconds {
                own: seconds(own),
                stolen: seconds(stolen),
                copying: seconds(copying),
                merging: seconds(merging),
                idle: seconds(idle),
            },
            processor_seconds: ProcessorSeconds::of(activity),
            bytes_parsed: None,
            bytes_read: activity.read_bytes,
            bytes_written: activity.written_bytes,
            reads: activity.reads,
            writes: activity.writes,
            bytes_sent: activity.sent_bytes,
            iteration_bytes_sent: iterations.map(|count| activity.sent_bytes / count.max(1)),
            iteration_bytes: Vec::new(),
            messages_sent: activity.sent,
            updates_sent: activity.stood_for,
            updates_combined: activity.combined,
            seconds_saved: seconds(activity.saved),
            chunks_served: activity.served,
            partitions_helped: activity.helped,
            help_accepted: activity.accepted,
            help_declined: activity.declined,
        }
    }
}

impl Machines {
    fn sum(&self, of: impl Fn(&Activity) -> u64) -> u64 {
        self.activities.iter().map(of).sum()
    }

    /// Figures of each machine, after as many iterations.
    fn each(&self, iterations: u64) -> Vec<Machine> {
        let iterations = (self.restarts == 0).then_some(iterations);
        let parsed = |rank: usize| self.parsed_bytes.as_ref()?.get(rank).copied();
        let moved = |rank: usize| self.moved.get(rank).map(MovedByIteration::entries);
        let machine = |(rank, activity)| Machine {
            bytes_parsed: parsed(rank),
            iteration_bytes: moved(rank).into_iter().flatten().map(Into::into).collect(),
            ..Machine::of(activity, self.plans.get(rank).copied(), iterations)
        };
        self.activities.iter().enumerate().map(machine).collect()
    }

    /// Bytes that went to and came from disks.
    fn bytes_moved(&self) -> u64 {
        self.sum(|it| it.read_bytes + it.written_bytes)
    }

    /// Requests of stores that all machines have made, and this process of its `own`.
    fn objects(&self, own: Traffic) -> Traffic {
        let Traffic { reads, writes, bytes_received, bytes_sent } = own;
        let own = [reads, writes, bytes_received, bytes_sent];
        // A process that is a machine has counted its requests already.
        let others = self.activities.iter().skip(usize::from(self.is_host));
        let all = others.fold(own, |sums, it| [0, 1, 2, 3].map(|at| sums[at] + it.objects[at]));
        let [reads, writes, bytes_received, bytes_sent] = all;
        Traffic { reads, writes, bytes_received, bytes_sent }
    }

    /// The price of the run until now, where prices were named.
    pub(crate) fn price(&self, session: &Session) -> Option<Price> {
        let spent = Spent {
            seconds: session.started.elapsed().as_secs_f64(),
            others: self.activities.len().saturating_sub(1),
            bytes_kept: [self.sum(|it| it.edge_bytes), 0],
            requests: [self.sum(|it| it.reads), self.sum(|it| it.writes)],
            objects: self.objects(session.objects()),
        };
        Some(session.prices.as_ref()?.price(&spent))
    }
}

impl<'a> Report<'a> {
    /// The report with requests of stores, and with the price where prices were named.
    pub(crate) fn with_costs(self, session: &Session, machines: &Machines) -> Self {
        let objects = ObjectFigures::of(machines.objects(session.objects()));
        Self { objects, price: machines.price(session), ..self }
    }

    /// The report of an algorithm with its numbers of vertices and edges and the seconds that it
    /// took.
    pub(crate) fn of(
        algorithm: &dyn Algorithm,
        machines: &'a Machines,
        finding: &'a Finding,
        (vertices, edges, seconds): (u64, u64, f64),
    ) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            command: argv::shown(),
            algorithm: algorithm.entry().name,
            parameters: algorithm.parameters(),
            vertices,
            edges,
            cluster: Cluster {
                route: machines.route,
                route_reason: &machines.route_reason,
                placement: machines.placement.as_ref().map(|(name, _)| *name),
                placement_reason: machines.placement.as_ref().map(|(_, why)| &**why),
                transport: machines.transport,
                partitions: machines.partitions,
                restarts: machines.restarts,
                suspicions: machines.suspicions,
                recoveries: machines.recoveries.iter().map(Into::into).collect(),
                strangers: machines.strangers
                    + machines.activities.iter().map(|it| it.strangers).sum::<u64>(),
                trust: machines.trust,
                iteration_times: machines
                    .iteration_times
                    .iter()
                    .map(|&(iteration, seconds)| IterationTime { iteration, seconds })
                    .collect(),
                bytes_per_edge: machines.bytes_moved() as f64
                    / (edges.max(1) * finding.iterations.max(1)) as f64,
                machines: machines.each(finding.iterations),
            },
            iterations: finding.iterations,
            note: finding.note.as_deref(),
            found: finding.found.as_ref(),
            seconds,
            objects: None,
            price: None,
        }
    }
}

/// A line for a person on what each machine did.
pub(crate) fn lines(machines: &Machines) -> Vec<String> {
    machines
        .activities
        .iter()
        .enumerate()
        .map(|(rank, activity)| match machines.transport {
            Some(transport) => sent(rank, activity, transport),
            None => described(rank, activity),
        })
        .collect()
}

/// A line on a machine that sent messages.
fn sent(rank: usize, activity: &Activity, transport: &str) -> String {
    let Times { own, idle, .. } = activity.times;
    let all = (own + idle).max(1);
    let combined = if activity.combined > 0 {
        let gain = seconds(activity.saved);
        format!(" for {} updates, combined to gain {gain:.1} s", activity.stood_for)
    } else {
        String::new()
    };
    format!(
        "machine {rank}: {:.0} % own work, {:.0} % waiting; {} in {} sent by {transport}{combined}",
        100.0 * own as f64 / all as f64,
        100.0 * idle as f64 / all as f64,
        human_bytes(activity.sent_bytes),
        counted(activity.sent, "message", "messages"),
    )
}

fn described(rank: usize, activity: &Activity) -> String {
    let Times { own, stolen, copying, merging, idle } = activity.times;
    let all = activity.times.sum().max(1);
    let share = |nanos: Time, of: &str| format!("{:.0} % {of}", 100.0 * nanos as f64 / all as f64);
    let shares = [
        share(own, "own work"),
        share(stolen, "stolen"),
        share(copying, "copying"),
        share(merging, "merging"),
        share(idle, "idle"),
    ];
    format!(
        "machine {rank}: {}; {} read, {} written, {} sent; {} served, help with {}",
        shares.join(", "),
        human_bytes(activity.read_bytes),
        human_bytes(activity.written_bytes),
        human_bytes(activity.sent_bytes),
        counted(activity.served, "chunk", "chunks"),
        counted(activity.helped, "partition", "partitions"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_the_host_counts_once() {
        let of = |objects| Activity { objects, ..Activity::default() };
        let machines = |is_host| Machines {
            activities: vec![of([1, 2, 3, 4]), of([10, 20, 30, 40])],
            plans: Vec::new(),
            moved: Vec::new(),
            route: "fold",
            route_reason: String::new(),
            placement: None,
            parsed_bytes: None,
            transport: None,
            partitions: 2,
            restarts: 0,
            suspicions: 0,
            recoveries: Vec::new(),
            strangers: 0,
            trust: "loopback",
            is_host,
            iteration_times: Vec::new(),
        };
        let traffic = |[reads, writes, bytes_received, bytes_sent]: [u64; 4]| Traffic {
            reads,
            writes,
            bytes_received,
            bytes_sent,
        };
        let own = traffic([5, 6, 7, 8]);
        assert_eq!(machines(true).objects(own), traffic([15, 26, 37, 48]));
        assert_eq!(machines(false).objects(own), traffic([16, 28, 40, 52]));
    }

    #[test]
    fn shares_are_of_the_life_of_a_machine() {
        let times = Times { own: 60, stolen: 20, copying: 5, merging: 5, idle: 10 };
        let activity = Activity { times, read_bytes: 3 << 20, helped: 1, ..Activity::default() };
        let line = described(2, &activity);
        assert!(line.starts_with("machine 2: 60 % own work, 20 % stolen, 5 % copying"), "{line}");
        assert!(line.ends_with("0 chunks served, help with 1 partition"), "{line}");
        assert!(described(0, &Activity::default()).contains("0 % idle"), "no division by 0");
    }
}
