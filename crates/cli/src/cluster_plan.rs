//! The plan of a machine: settings with which it keeps its budget, and what it takes.
//!
//! Invariant: all machines of a run come to one plan, since it follows from the options, the graph
//! and the number of machines, but for the chunks that each streams at a time and those that a bin
//! holds, by cores and memory of its own. Checked in `Hello::refusal`, by the digest of their
//! configuration.

use std::fmt::Write;

use serde::Serialize;
use welter_cluster::{Demand, Footprint, Settings, Widths, send, writing_bytes};
use welter_engine::plan::{EdgeWork, human_bytes};
use welter_model::edges::{EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_progress::FailureKind;
use welter_protocol::config::Route;
use welter_store::header::Encoding;

use crate::algorithms::on_cluster::ClusterProgram;
use crate::cluster_forecast::{MachineForecast, MachineWork};
use crate::cluster_placement::KnownDisks;
use crate::failure::Failure;
use crate::number_format::{counted, grouped};

/// Bytes of a pair of ends beyond those of a packed edge, by which widths are reckoned.
const PAIR_BYTES: u64 = 4;

/// Bytes of an edge that is in memory, with a weight.
const EDGE_BYTES: u64 = 16;

/// Bytes of an edge of the part of the input at hand, in a list that has grown by doubling.
const AT_HAND_BYTES: u64 = 48;

/// Bytes of the edges of a class while parallel ones are merged.
const CLASS_BYTES: u64 = 320 << 20;

/// Premises of a plan, which all machines have alike.
pub(crate) struct Premises<'a> {
    /// Settings of the cluster, on whatever route.
    pub(crate) settings: Settings,
    /// Settings of messages, where machines send them.
    pub(crate) sending: send::Settings,
    /// Program of the run.
    pub(crate) program: &'a ClusterProgram,
    /// Edges as machines read them, and as they were listed.
    pub(crate) edges: [&'a dyn EdgeStream; 2],
    /// Reading of these edges, and that by machines that send.
    pub(crate) reading: Reading,
    pub(crate) sent_reading: Reading,
    /// Rates of the disks of machines.
    pub(crate) disks: &'a KnownDisks,
}

/// Plan of each machine.
#[derive(Clone, Debug)]
pub(crate) struct MachinePlan {
    /// Settings of the cluster.
    pub(crate) settings: Settings,
    /// Settings of messages, where machines send them.
    pub(crate) sending: Option<send::Settings>,
    footprint: Footprint,
    /// Work of its cores, where that is foreseen.
    work: Option<MachineWork>,
    /// Bytes of the process that writes the result, beside those of a machine.
    writing_bytes: u64,
    budget: Option<u64>,
}

/// Figures that are foreseen of each machine, for reports.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct PlanFigures {
    /// Of memory that a machine may take, where that is stated or decided on the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_bytes: Option<u64>,
    /// Of memory, at most.
    memory_bytes: u64,
    /// On its disk, at most.
    disk_bytes: u64,
    /// To other machines, in an iteration over all edges.
    iteration_bytes_sent: u64,
    /// From its disk, likewise.
    iteration_bytes_read: u64,
    /// To its disk.
    iteration_bytes_written: u64,
    /// Of such an iteration at least, where any of it is foreseen.
    #[serde(skip_serializing_if = "Option::is_none")]
    iteration_seconds: Option<f64>,
}

impl Premises<'_> {
    /// The plan of a route on which machines pull chunks. None where memory of the program is not
    /// foreseen.
    ///
    /// # Errors
    /// With the least budget that would do.
    pub(crate) fn chunks(
        &self,
        route: Route,
        budget: Option<u64>,
    ) -> Result<Option<MachinePlan>, u64> {
        let Some(widths) = self.program.widths else { return Ok(None) };
        let more = if self.settings.encoding == Encoding::Pairs { PAIR_BYTES } else { 0 };
        let widths = Widths { edge: widths.edge + more, ..widths };
        let all = Settings { route, ..self.settings }.keeping(&widths);
        let demand = |budget: Option<u64>| Demand {
            edges: self.streamed(self.reading),
            input_bytes: input_bytes(self.edges, (self.reading, 1), budget),
            widths,
        };
        let within = |budget: u64| all.within(budget, &demand(Some(budget)));
        let settings = match budget {
            Some(budget) => within(budget).map_err(|need| least(need, within))?,
            None => all.without_budget(),
        };
        let footprint = settings.footprint(&demand(budget));
        Ok(footprint.map(|footprint| MachinePlan {
            settings,
            sending: None,
            footprint,
            work: self.work((self.reading, settings.streams.max(1))),
            writing_bytes: 0,
            budget,
        }))
    }

    /// The plan of a program whose updates are messages, likewise. None where it has none.
    /// `is_sure`: whether updates that wait for their group have room however they are dealt out.
    ///
    /// # Errors
    /// With the least budget that would do.
    pub(crate) fn messages(
        &self,
        budget: Option<u64>,
        is_sure: bool,
    ) -> Result<Option<MachinePlan>, u64> {
        let Ok((kernel, widths)) = &self.program.sent else { return Ok(None) };
        let reading = self.sent_reading;
        let demand = |budget: Option<u64>| send::Demand {
            kernel,
            machines: self.settings.machines,
            vertices: self.settings.vertices,
            edges: self.streamed(reading),
            edge_bytes: widths.edge,
            // Each computation thread reads a share.
            input_bytes: {
                let threads = self.sending.sub_ranges as u64;
                input_bytes(self.edges, (reading, threads), budget)
            },
        };
        let within = |budget: u64| {
            let (sending, demand) = (self.sending.clone(), demand(Some(budget)));
            if is_sure {
                sending.surely_within(budget, &demand)
            } else {
                sending.within(budget, &demand)
            }
        };
        let sending = match budget {
            Some(budget) => within(budget).map_err(|need| least(need, within))?,
            None => self.sending.clone().without_budget(&demand(None)),
        };
        let footprint = sending.footprint(&demand(budget));
        let work = self.work((reading, sending.sub_ranges));
        let (settings, sending) = (self.settings, Some(sending));
        Ok(Some(MachinePlan { settings, sending, footprint, work, writing_bytes: 0, budget }))
    }

    /// Work of the threads of a machine in an iteration over all edges, read so.
    fn work(&self, (reading, threads): (Reading, usize)) -> Option<MachineWork> {
        let Settings { encoding, machines, vertices, .. } = self.settings;
        let of = EdgeWork { encoding, ..self.program.work? };
        let share = |all: u64| all.div_ceil(machines as u64);
        let (edges, vertices) = (share(self.streamed(reading)), share(vertices));
        Some(MachineWork { of, edges, vertices, threads })
    }

    /// Edges as they stream, in all, read so.
    fn streamed(&self, reading: Reading) -> u64 {
        let members = if self.program.has_members() { self.settings.vertices } else { 0 };
        reading.arcs(self.edges[1].edges()) + members
    }
}

impl MachinePlan {
    /// The plan with the bytes of the process that writes the result. `writes`: vertices of the
    /// result that are in memory at a time, where this process writes it.
    ///
    /// # Errors
    /// When these are beyond a budget that is stated.
    pub(crate) fn with_writing(
        self,
        widths: Option<Widths>,
        (ids, writes): (&IdMap, Option<u64>),
        stated: Option<u64>,
    ) -> Result<Self, Failure> {
        let Some(widths) = widths else { return Ok(self) };
        let writing_bytes = writing(&self.settings, &widths, (ids, writes), stated)?;
        Ok(Self { writing_bytes, ..self })
    }

    /// Footprint of each machine.
    pub(crate) fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// Work of each machine's cores, where that is foreseen.
    pub(crate) fn work(&self) -> Option<&MachineWork> {
        self.work.as_ref()
    }

    /// The plan of machines that keep the chunks of their partitions.
    pub(crate) fn with_owners(mut self) -> Self {
        let of_others = std::mem::take(&mut self.footprint.placed_bytes);
        self.footprint.sent_bytes = self.footprint.sent_bytes.saturating_sub(of_others);
        self
    }

    /// Figures of a machine with this forecast for reports, which have the outcome beside them.
    pub(crate) fn figures(&self, forecast: &MachineForecast) -> PlanFigures {
        PlanFigures {
            budget_bytes: self.budget,
            memory_bytes: self.footprint.memory_bytes(),
            disk_bytes: self.footprint.disk_bytes(),
            iteration_bytes_sent: forecast.sent_bytes,
            iteration_bytes_read: forecast.read_bytes,
            iteration_bytes_written: forecast.written_bytes,
            iteration_seconds: forecast.seconds(),
        }
    }

    /// The line of how the graph is cut.
    fn cut(&self) -> String {
        let Self { settings, sending, .. } = self;
        let machines = settings.machines;
        if let Some(sending) = sending {
            let sub_ranges = (machines * sending.sub_ranges) as u64;
            let chunk = grouped(sending.chunk_edges as u64);
            let sub_ranges = counted(sub_ranges, "sub-range", "sub-ranges");
            let senders = match (machines * sending.senders) as u64 {
                0 => String::new(),
                count => format!(", {}", counted(count, "sender thread", "sender threads")),
            };
            return format!(
                "{machines} machines, route send, {sub_ranges}{senders}, chunks of {chunk} edges"
            );
        }
        let route = match settings.route {
            Route::Fold => "fold",
            Route::Spill => "spill",
        };
        let partitions = settings.cut().map_or(0, |cut| cut.partitions.count());
        let (partitions, chunk) =
            (grouped(partitions.into()), grouped(settings.chunk_records.into()));
        let bins = match settings.bin_chunks {
            1 => String::new(),
            chunks => format!(", bins of {chunks} chunks"),
        };
        format!(
            "{machines} machines, route {route}, {partitions} partitions, \
             chunks of {chunk} edges{bins}"
        )
    }

    /// The plan for a person.
    pub(crate) fn lines(&self) -> String {
        let Self { footprint, writing_bytes, budget, .. } = self;
        let parts = |parts: &[(&str, u64)]| {
            let parts = parts.iter().filter(|(_, bytes)| *bytes > 0);
            let parts = parts.map(|(name, bytes)| format!("{name} {}", human_bytes(*bytes)));
            parts.collect::<Vec<_>>().join(", ")
        };
        let of = budget.map_or(String::new(), |budget| format!(" of {}", human_bytes(budget)));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "cluster   {}", self.cut());
        let _ = writeln!(
            text,
            "memory    {}{of} a machine\n          {}",
            human_bytes(footprint.memory_bytes()),
            parts(&footprint.memory)
        );
        let _ = writeln!(
            text,
            "          {} in the process that writes the result",
            human_bytes(*writing_bytes)
        );
        let disk = human_bytes(footprint.disk_bytes());
        let _ = writeln!(text, "disk      {disk} a machine at most");
        if footprint.disk_bytes() > 0 {
            let _ = writeln!(text, "          {}", parts(&footprint.disk));
        }
        let _ = writeln!(
            text,
            "network   {} from a machine to others in an iteration over all edges",
            human_bytes(footprint.sent_bytes)
        );
        text
    }
}

/// Bytes that the input takes on each machine: what is in memory of edges that were read and
/// listed, of which reading leaves no more than a quarter of a budget there, once, and the part at
/// hand of each of `threads`.
fn input_bytes(
    [edges, listed]: [&dyn EdgeStream; 2],
    (reading, threads): (Reading, u64),
    budget: Option<u64>,
) -> u64 {
    let is_merged = !std::ptr::addr_eq(edges, listed);
    let class = if is_merged { CLASS_BYTES.min(listed.edges().saturating_mul(48)) } else { 0 };
    let merging = threads.saturating_mul(class);
    let at_hand =
        |edges: u64| reading.arcs(edges).saturating_mul(AT_HAND_BYTES).saturating_mul(threads);
    if listed.resident_bytes() > 0 {
        let all = listed.edges().saturating_mul(EDGE_BYTES);
        return merging + all.min(budget.map_or(u64::MAX, |budget| budget / 4)) + at_hand(1 << 16);
    }
    let parts = listed.parts().max(1) as u64;
    merging + at_hand(listed.edges().div_ceil(parts))
}

/// Bytes of the process that writes the result, if they are within the budget.
fn writing(
    settings: &Settings,
    widths: &Widths,
    (ids, writes): (&IdMap, Option<u64>),
    budget: Option<u64>,
) -> Result<u64, Failure> {
    let ids_bytes = if writes.is_some() { ids.bytes() } else { 0 };
    let bytes = writing_bytes(writes.unwrap_or(settings.vertices), widths, ids_bytes);
    let is_over = |budget: &u64| writes.is_some() && bytes > *budget;
    match budget.filter(is_over) {
        Some(budget) => Err(refusal(budget, bytes)),
        None => Ok(bytes),
    }
}

/// The least budget that is enough, from one on that may be. With more memory more of the input
/// stays there, up to a part of it.
fn least<T>(from: u64, within: impl Fn(u64) -> Result<T, u64>) -> u64 {
    let mut least = from;
    while let Err(need) = within(least) {
        least = need.max(least + 1);
    }
    least
}

/// Refusal of a budget that no route keeps, with the least that would be.
pub(crate) fn refusal(budget: u64, need: u64) -> Failure {
    let [has, wants] = [budget, need].map(human_bytes);
    let enough = wants.replace(' ', "");
    Failure::new(
        FailureKind::Budget,
        format!("--memory {has}: a machine of this cluster takes {wants} at least"),
    )
    .hint(format!("give each --memory {enough} or more, or take more machines"))
}

#[cfg(test)]
mod tests {
    use welter_model::edges::EdgeList;

    use super::*;

    #[test]
    fn work_on_chunks_is_shared_by_threads_that_stream() {
        let program = ClusterProgram::of_labels();
        let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2]]);
        for streams in [1, 3] {
            let settings = Settings::new(2, 3, program.vertex_bytes, Route::Fold);
            let premises = Premises {
                settings: Settings { streams, ..settings },
                sending: send::Settings::default(),
                program: &program,
                edges: [&edges, &edges],
                reading: Reading::default(),
                sent_reading: Reading::default(),
                disks: &KnownDisks::Unknown,
            };
            let plan = premises.chunks(Route::Fold, None).unwrap().unwrap();
            assert_eq!(plan.settings.streams, streams);
            assert_eq!(plan.work().unwrap().threads, streams);
        }
    }
}
