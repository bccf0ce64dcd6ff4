//! Text of a plan for a person.

use std::fmt;
use std::fmt::Write;

use welter_store::frame::Compression;
use welter_store::header::Encoding;

use super::device::Measured;
use super::disk_usage::DiskUsage;
use super::index::Index;
use super::memory::Memory;
use super::out_of_core::{OutOfCore, StateAccess};
use super::premises::Premises;
use super::ranges::RangesPlan;
use super::requests::{PlannedReads, PlannedRequests};
use super::settings::{CompressionMode, FrontierMode};
use super::spill::SpillPlan;
use super::stored::StoragePlan;
use super::traffic::Traffic;
use super::triangles::TrianglesPlan;
use super::{Access, Plan};
use crate::units::human_bytes;

/// `33,554,432`, for people.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Plan {
    /// Memory that is held all along, with its use.
    fn held(&self, held: u64) -> [(u64, &'static str); 2] {
        let process = self.premises.settings.process_bytes;
        let ids = if self.premises.program.own > 0 {
            "ids, and what the program is given"
        } else {
            "ids"
        };
        [(process, "the process itself"), (held - process, ids)]
    }

    /// Whether passes over the input may turn out to be too many.
    pub(super) fn may_give_up(&self) -> bool {
        self.premises.program.input_scan.is_some_and(|takes| !takes.always)
    }

    /// Shows that passes write edges that are left. How many these will be is not known before.
    fn show_rewriting(&self, lines: &mut String) -> fmt::Result {
        if !self.premises.program.rewrites() || self.premises.settings.keeps_edges {
            return Ok(());
        }
        writeln!(
            lines,
            "rewritten edges that are left, once they take a quarter of what was read,"
        )?;
        if self.premises.program.contracts() {
            let what = "or of each two components that they lie between the best one, likewise,";
            writeln!(lines, "          {what}")?;
        }
        writeln!(lines, "          and later passes read these; how many is not known before")
    }

    /// The memory of a run on a graph that stays in its input.
    fn show_over_input(&self, lines: &mut String) -> fmt::Result {
        let Memory { held, input, marks, vertices, counts, workers, .. } = self.memory;
        writeln!(lines, "memory    {:>10}  at most at any time", human_bytes(self.memory.peak()))?;
        writeln!(lines, "          {:>10}  budget", human_bytes(self.premises.budget_bytes))?;
        for (bytes, what) in self.held(held).into_iter().chain([
            (input, "input"),
            (marks + vertices, "which ids are vertices"),
            (counts, "what vertices are told, and values"),
            (workers, "buffers of the workers"),
        ]) {
            if bytes > 0 {
                writeln!(lines, "          {:>10}  {what}", human_bytes(bytes))?;
            }
        }
        if let Some(made) = self.instead().filter(|_| self.may_give_up()) {
            writeln!(lines, "instead   {}, if few levels do not reach most:", route(made))?;
            writeln!(lines, "          {:>10}  at most then", human_bytes(made.memory.peak()))?;
        }
        if let Some(most) = self.passes_max().filter(|_| self.may_give_up()) {
            writeln!(
                lines,
                "passes    one a level, {most} at most: to make a graph instead there is"
            )?;
            writeln!(
                lines,
                "          not the memory; a run that needs more ends, and says how much"
            )?;
        }
        Ok(())
    }

    /// Shows how storage is asked for what it has.
    fn show_requests(&self, lines: &mut String) -> fmt::Result {
        let Some(requests) = self.requests() else { return Ok(()) };
        let PlannedRequests { reads, temporary, elsewhere, write_bytes, writes, .. } = requests;
        let found = match requests.measured {
            Some(Measured::Probe) => ", after what the probe found",
            Some(Measured::AtStart) => ", after a short look",
            None => "",
        };
        let writes = PlannedReads {
            bytes: write_bytes,
            in_flight: requests.writes_in_flight,
            count: writes,
        };
        let read = if elsewhere { "read of edges" } else { "read" };
        // Nothing is written where edges lie.
        let written = (!elsewhere || writes.count > 0).then_some(("", writes, "write", ""));
        let temporary = temporary.map(|reads| ("", reads, "read of temporary files", ""));
        let lines_of = [("requests", reads, read, found)].into_iter().chain(temporary);
        for (head, requests, what, found) in lines_of.chain(written) {
            let PlannedReads { bytes, in_flight, count } = requests;
            let (bytes, count) = (human_bytes(bytes), grouped(count));
            let times = format!("{in_flight} at a time a thread, {count} an iteration");
            writeln!(lines, "{head:<9} {bytes:>10}  a {what} at most, {times}{found}")?;
        }
        if requests.cached {
            writeln!(lines, "          through the page cache")?;
        }
        Ok(())
    }

    /// Shows the room on storage, and the bytes that go there and come back.
    fn show_storage(&self, lines: &mut String) -> fmt::Result {
        let Some(storage) = self.storage() else { return Ok(()) };
        let streamed = storage.state.out_of_core();
        show_room(lines, &storage.room)?;
        let Traffic { read, written } = self.traffic();
        let read = human_bytes(read);
        if let Some(OutOfCore::Triangles(_)) = streamed {
            writeln!(lines, "moved     {read:>10}  read at most, in all")?;
        } else {
            writeln!(lines, "iteration {read:>10}  read at most, each time")?;
        }
        if written > 0 {
            writeln!(lines, "          {:>10}  written", human_bytes(written))?;
        }
        self.show_requests(lines)?;
        self.show_rewriting(lines)?;
        match streamed {
            Some(OutOfCore::Ranges(RangesPlan { ranges, .. })) => {
                writeln!(lines, "          {ranges:>10}  ranges of destinations at most")
            }
            Some(OutOfCore::Spill(SpillPlan { sources, .. })) => {
                let partitions = self.premises.vertices.div_ceil(sources);
                writeln!(lines, "          {partitions:>10}  partitions, about")
            }
            Some(OutOfCore::Triangles(TrianglesPlan { ranges, .. })) => {
                writeln!(lines, "          {ranges:>10}  ranges of rows at most")
            }
            None => Ok(()),
        }
    }
}

/// The route, and what is on storage.
fn route(plan: &Plan) -> &'static str {
    let storage = match &plan.access {
        Access::Input { .. } if plan.may_give_up() => {
            return "scan of the input, a level at a time";
        }
        Access::Input { .. } => return "scan of the input, which is read twice",
        Access::Memory { .. } => return "fold, in memory",
        Access::Storage(storage) => storage,
    };
    match storage.state {
        StateAccess::OutOfCore(OutOfCore::Ranges(_)) => "ranges, edges and state on storage",
        StateAccess::OutOfCore(OutOfCore::Spill(plan)) if plan.resident => {
            match (plan.combined, plan.fused) {
                (true, true) => "spill, edges and updates on storage",
                (true, false) => "spill, not fused; edges and updates on storage",
                (false, true) => "spill, not combined; edges and updates on storage",
                (false, false) => "spill, plain; edges and updates on storage",
            }
        }
        StateAccess::OutOfCore(OutOfCore::Spill(plan)) => match (plan.combined, plan.fused) {
            (true, true) => "spill, edges, state and updates on storage",
            (true, false) => "spill, not fused; edges, state and updates on storage",
            (false, true) => "spill, not combined; edges, state and updates on storage",
            (false, false) => "spill, plain; edges, state and updates on storage",
        },
        StateAccess::OutOfCore(OutOfCore::Triangles(_)) => {
            "spill; edges, rows, state and what vertices are told on storage"
        }
        StateAccess::Dense { values_stored: true, .. } => "fold, edges and values on storage",
        StateAccess::Dense { values_stored: false, .. } => "fold, edges on storage",
    }
}

/// The state in memory.
fn state_is(storage: Option<&StoragePlan>) -> &'static str {
    match storage.map(|storage| storage.state) {
        Some(StateAccess::OutOfCore(OutOfCore::Triangles(_))) => {
            "rows of some, marks, and what goes by"
        }
        Some(StateAccess::OutOfCore(OutOfCore::Spill(SpillPlan { resident: true, .. }))) => {
            "values, signals of some, and what goes by"
        }
        Some(StateAccess::OutOfCore(_)) => "signals of some, and what goes by",
        Some(StateAccess::Dense { values_stored: true, .. }) => "signals, and some values",
        Some(StateAccess::Dense { values_stored: false, .. }) | None => "values and signals",
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Premises { threads, shape, .. } = &self.premises;
        let about = if shape.estimated { "about " } else { "" };
        let weighted = if shape.weighted { ", weighted" } else { "" };
        let mut lines = String::new();
        let most = if shape.estimated { "" } else { " at most" };
        writeln!(lines, "graph     {about}{} edges{weighted}", grouped(shape.edges))?;
        writeln!(lines, "          {about}{} vertices{most}", grouped(shape.slots))?;
        writeln!(lines, "route     {}", route(self))?;
        writeln!(lines, "threads   {threads}")?;
        if self.scans_input() {
            self.show_over_input(&mut lines)?;
            return f.write_str(lines.trim_end());
        }
        self.show_edges(&mut lines)?;
        self.show_memory(&mut lines)?;
        self.show_storage(&mut lines)?;
        f.write_str(lines.trim_end())
    }
}

impl Plan {
    /// Shows how edges lie in tiles, and how those of active vertices are found.
    fn show_edges(&self, lines: &mut String) -> fmt::Result {
        let Premises { edges: layout, program, settings, .. } = &self.premises;
        let encoding = match layout.encoding {
            Encoding::Packed => "packed, 4 bytes an edge",
            Encoding::Short => "short, 3 bytes an edge",
            Encoding::Compressed => "compressed (stream-vbyte)",
            Encoding::Pairs => "pairs, 8 bytes an edge",
        };
        writeln!(lines, "tiles     stripes of 2^{} destinations,", layout.stripe_bits)?;
        writeln!(lines, "          blocks of 2^{} sources, {encoding}", layout.block_bits)?;
        if self.storage().is_some() && layout.compression != Compression::None {
            let measured = settings.compression == CompressionMode::Measured;
            let name = if measured { "compressed if that pays" } else { layout.compression.name() };
            writeln!(lines, "          {name} on storage")?;
        }
        if program.has_frontier() {
            match (self.storage(), self.frontier_mode()) {
                (Some(_), FrontierMode::Auto) => writeln!(
                    lines,
                    "frontier  edges of active vertices are met in passing; after many \
                     iterations,\n          {}",
                    FrontierMode::Asynchronous
                )?,
                (_, mode) => writeln!(lines, "frontier  {mode}")?,
            }
        }
        Ok(())
    }

    /// Shows the memory of a run by use.
    fn show_memory(&self, lines: &mut String) -> fmt::Result {
        let program = &self.premises.program;
        let Memory { held, input, bins, chunks, vertices, state, edges, .. } = self.memory;
        let Memory { frontier, rows, workers, .. } = self.memory;
        writeln!(lines, "memory    {:>10}  at most at any time", human_bytes(self.memory.peak()))?;
        writeln!(lines, "          {:>10}  budget", human_bytes(self.premises.budget_bytes))?;
        for (bytes, what) in self.held(held).into_iter().filter(|(bytes, _)| *bytes > 0) {
            writeln!(lines, "          {:>10}  {what}", human_bytes(bytes))?;
        }
        let ingest = [
            (input, "input, while it is ingested"),
            (bins, "edges in bins, while they are ingested"),
        ];
        let run = [
            (chunks, if self.storage().is_some() { "chunks that stay" } else { "edges in chunks" }),
            (vertices, "degrees and vertex numbers"),
            (state, state_is(self.storage())),
            (workers, "accumulators and buffers of the workers"),
        ];
        let ingest = ingest.into_iter().filter(|_| self.is_ingested());
        for (bytes, what) in ingest.chain(run) {
            writeln!(lines, "          {:>10}  {what}", human_bytes(bytes))?;
        }
        if edges > 0 {
            let what = if self.edge_states_stored() > 0 {
                "states of edges that stay"
            } else {
                "states of edges"
            };
            writeln!(lines, "          {:>10}  {what}", human_bytes(edges))?;
        }
        if frontier > 0 {
            let what = "frontier: who is active, and where the edges of each source lie";
            writeln!(lines, "          {:>10}  {what}", human_bytes(frontier))?;
        }
        if rows > 0 {
            let what = match self.index() {
                _ if program.intersects() => "rows that meet, and marks",
                _ if program.groups() => "rows of each vertex, its neighbours side by side",
                Index::Rows { .. } => "rows of each vertex, to look it up again and again",
                _ => "rows of each vertex, once looking up pays",
            };
            writeln!(lines, "          {:>10}  {what}", human_bytes(rows))?;
        }
        Ok(())
    }
}

/// Shows the room on storage.
fn show_room(lines: &mut String, room: &DiskUsage) -> fmt::Result {
    let peak = human_bytes(room.peak());
    writeln!(lines, "storage   {peak:>10}  at most at any time")?;
    for (bytes, what) in [
        (room.bins, "edges in bins, written once and read once"),
        (room.chunks, "edges in chunks; what does not stay is read in each iteration"),
        (room.degrees, "degrees"),
        (room.values, "values"),
        (room.signals, "signals"),
        (room.updates, "updates that wait"),
        (room.edges, "states of edges, read and written in each iteration"),
    ] {
        if bytes > 0 {
            writeln!(lines, "          {:>10}  {what}", human_bytes(bytes))?;
        }
    }
    Ok(())
}

impl fmt::Display for FrontierMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "edges of few active vertices are looked up, of many met in passing",
            Self::Dense => "edges of active vertices are met in passing",
            Self::Pull => "vertices look for an active neighbour where they have rows to look in",
            Self::Asynchronous => {
                "parts are finished while they are in memory, where programs allow it"
            }
            Self::Sparse | Self::Serial | Self::Parallel => {
                "edges of active vertices are looked up"
            }
        })
    }
}
