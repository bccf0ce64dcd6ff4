//! A graph on a cluster and what is done with it, as each of its machines and their host know it.
//!
//! All have the same options; a digest of these is compared when machines meet. Each has parsed its
//! share of the input ([`crate::shares`]), or all of it, and reads its share of the edges.

use std::sync::Arc;

use welter_cluster::host::Finished;
use welter_cluster::send;
use welter_cluster::{
    BatchCounter, ClusterError, Copies, Merged, Reach, RequestCounter, Run, Settings, Share, Task,
    own_edges,
};
use welter_model::edges::{EdgeList, EdgeStream, Pair, Reading};
use welter_model::ids::IdMap;
use welter_model::table::{Column, Columns, Table, VertexColumn};
use welter_model::with_sides::WithSides;
use welter_objects::Traffic;
use welter_protocol::ids::Bytes;
use welter_worker::{Input, Partitioning};

use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::on_cluster::{
    Beforehand, ClusterGraph, ClusterProgram, Decoder, Finding, MachinesOutcome,
};
use crate::args::{Cluster, MachineRoute, RunOptions};
use crate::argv;
use crate::cluster_codecs::ChunkCodecs;
use crate::cluster_copies::copies;
use crate::cluster_options::{check_vertices, sending, settings, transport_name};
use crate::cluster_parts::{Looked, Parted, PartsAt};
use crate::cluster_plan::Premises;
use crate::cluster_report::Machines;
use crate::cluster_routes::{RouteChoice, choose};
use crate::contents;
use crate::failure::Failure;
use crate::finite;
use crate::load::Source;
use crate::number_format::counted;
use crate::numbered::{Numbered, column};
use crate::preview::Top;
use crate::session::Session;
use crate::shares::{GraphInput, InputReading, Shares, known_disks};

/// Number of the graph in its chunks: a cluster has one.
const GRAPH: u64 = 1;

/// Result of a run.
pub(crate) struct ClusterOutcome {
    /// The result of every vertex.
    pub(crate) table: Table<Box<dyn Columns>>,
    /// Words about it.
    pub(crate) finding: Finding,
    /// Edges of the input.
    pub(crate) edges: u64,
    /// Machines, and what each did.
    pub(crate) machines: Machines,
    /// Notes for a person about how the graph was read.
    pub(crate) notes: Vec<String>,
    /// Part of the table that is shown.
    pub(crate) top: Top,
    /// Rows and parts, where machines wrote the result, which the table has not then.
    pub(crate) written: Option<(u64, usize)>,
}

/// Place of this process in a cluster.
#[derive(Clone, Copy)]
pub(crate) struct ProcessRole {
    /// Rank of its machine, if it is one.
    pub(crate) rank: Option<usize>,
    /// Whether it writes the result, with the ids of the vertices.
    pub(crate) writes: bool,
    /// Whether machines have the route that it chooses, and do not choose.
    pub(crate) tells: bool,
    /// Route that its machine was told, and bytes of memory for which that was chosen.
    pub(crate) told: Option<(MachineRoute, u64)>,
}

/// A graph, and what is to be done with it.
pub(crate) struct Job {
    /// Edges of which this machine reads its share, or nothing but that.
    edges: Arc<dyn EdgeStream>,
    /// Place of the share, and the number of shares.
    share: (usize, usize),
    /// Edges of the input.
    count: u64,
    /// Number of what was read, where machines are computers.
    contents: u64,
    /// Whether their weights are looked at.
    weighted: bool,
    reading: Reading,
    vertices: u64,
    /// Ids, where this process writes.
    named: VertexColumn,
    /// Whether results may be no numbers, which is looked for.
    is_checked: bool,
    /// Where machines write the result, if they do.
    parts: Option<PartsAt>,
    program: ClusterProgram,
    codecs: ChunkCodecs,
    copies: Option<Copies>,
    /// Route of machines, with their settings and their plan.
    pub(crate) choice: RouteChoice,
    /// Machines that send messages.
    messages: Option<send::Job>,
    notes: Vec<String>,
    /// Requests that this process had made of stores when it began.
    objects: Traffic,
    /// Batches that the input has given.
    batches: BatchCounter,
    /// Number of machines.
    machines: usize,
    /// Facts of the shares, where each machine has one.
    shares: Option<Shares>,
}

impl Job {
    /// The job of a process, of the input as it has read that, which it does here else.
    pub(crate) fn of(
        algorithm: &dyn Algorithm,
        args: &RunOptions,
        (source, machines): (&Source, usize),
        (place, session): (ProcessRole, &Session),
        input: Option<GraphInput>,
    ) -> Result<Self, Failure> {
        let wanted = InputReading::of(algorithm, args, (place.rank, machines));
        let (reading, weighs) = (wanted.reading, wanted.weighs);
        let input = input.map_or_else(|| GraphInput::all(source, wanted, session), Ok)?;
        let contents = contents_of(algorithm, args, &input)?;
        let GraphInput { numbered, undirected, notes, shares } = input;
        let Numbered { edges: listed, ids, vertices, batches } = numbered;
        check_vertices(vertices)?;
        let count = listed.edges();
        let reading = algorithm.ways().of(reading, undirected);
        let (edges, weighted) = read_edges(algorithm, args, &listed, (reading, weighs, machines));
        let graph = ClusterGraph {
            ids: &ids,
            vertices,
            has: if shares.is_some() { algorithm.beforehand() } else { Beforehand::Edges },
            listed: &listed,
            edges: &edges,
            weighted,
            reading,
            session,
        };
        let program = algorithm.on_cluster(&graph)?;
        let premises = Premises {
            settings: settings(args, &program, (machines, vertices)),
            sending: sending(args),
            program: &program,
            edges: [&*edges, &*listed],
            reading: program.reading(reading),
            sent_reading: program.sent_reading(reading),
            disks: &known_disks((args, session), machines, shares.as_ref()),
        };
        let parts = PartsAt::of(&args.output)?.map(|it| it.sent_by(&args.resources));
        let (writes, held) = writing(place, parts.is_some(), &premises.settings);
        let choice = choose(&premises, (args, session), (place.tells, place.told), (&ids, held))?;
        let sends = choice.route == MachineRoute::Send;
        let reading = if sends { premises.sent_reading } else { premises.reading };
        // A machine that sends messages reads several shares of all edges.
        let reads_all = sends || shares.is_some();
        let (edges, share) = shared(edges, listed, (place.rank, machines), reads_all)?;
        let ids = if writes { ids } else { IdMap::default() };
        let mut job = Self {
            edges,
            share,
            count,
            contents,
            weighted,
            reading,
            vertices,
            named: column(ids, vertices),
            is_checked: algorithm.weighs() || !algorithm.tables().is_empty(),
            parts,
            program,
            codecs: ChunkCodecs::of(args, machines, session),
            copies: copies(args)?,
            choice,
            messages: None,
            notes,
            objects: session.objects_before(),
            batches,
            machines,
            shares,
        };
        job.messages = sends.then(|| job.sending(algorithm, args)).transpose()?;
        Ok(job)
    }

    /// The job of machines that send messages, if the program has updates that can be messages.
    fn sending(&self, algorithm: &dyn Algorithm, args: &RunOptions) -> Result<send::Job, Failure> {
        let planned = self.choice.plan.as_ref().and_then(|plan| plan.sending.clone());
        let settings = planned.unwrap_or_else(|| sending(args));
        let name = algorithm.entry().name;
        let cannot = |why: &str| {
            let other = match name {
                "wcc" | "mcst" | "scc" => ", or --method label-propagation",
                _ => "",
            };
            Failure::usage(format!("--route send: {name} cannot send its updates so: {why}"))
                .hint(format!("leave --route out, or take fold or spill{other}"))
        };
        let (kernel, _) = self.program.sent.clone().map_err(cannot)?;
        let (edges, reading, weighted) = (self.edges.clone(), self.reading, self.weighted);
        let members = self.members();
        let own = self.has_share().then_some(self.machines);
        let input = move |me: (usize, usize)| -> Box<dyn Input> {
            // Sub-ranges of all machines are numbered in turns, and a machine reads for its own.
            let of = own.map_or(me, |machines| (me.0 / machines, me.1 / machines));
            let share = Share::new(edges.clone(), reading, of).weighted(weighted);
            Box::new(share.with_members(members, me))
        };
        send::Job::new(kernel, self.vertices, Arc::new(input), settings).map_err(cannot)
    }

    /// Number of vertices that get a loop.
    fn members(&self) -> u64 {
        if self.program.has_members() { self.vertices } else { 0 }
    }

    pub(crate) fn run(&self) -> Result<(Run, Partitioning), Failure> {
        let settings = &self.choice.settings;
        let cut = settings.cut().ok_or_else(|| Failure::bug("a vertex fits"))?;
        let mut config = settings.config(&cut);
        if let Some(choice) = &self.choice.placement {
            config.placement = choice.placement.clone();
        }
        let config = Arc::new(config);
        // All words but the name of the program and a machine's own place.
        let words: Vec<String> = argv::run_shown().into_iter().skip(1).collect();
        let shared = words.split(|word| word == SEAT).enumerate();
        let shared = shared.flat_map(|(part, words)| words.iter().skip(usize::from(part > 0)));
        // Nor its rank.
        let is_rank = |at: usize| words_are_rank(&words, at);
        let places = 0..words.len();
        let shared = shared.collect::<Vec<_>>();
        let shared = if words.iter().any(|word| word == SEAT) {
            shared
        } else {
            places.filter(|&at| !is_rank(at)).map(|at| &words[at]).collect()
        };
        let words = self.words(&shared);
        let reach = Reach::default();
        let (bounds, contents) = (Settings::bounds(), self.contents);
        let (batches, copies) = (self.batches.clone(), self.copies.clone());
        let begun = self.objects;
        let objects = RequestCounter::new(move || {
            let Traffic { reads, writes, bytes_received, bytes_sent } =
                Traffic::so_far().since(begun);
            [reads, writes, bytes_received, bytes_sent]
        });
        Ok((Run { config, words, contents, bounds, reach, objects, batches, copies }, cut))
    }

    /// The run in words, of which these are the command's.
    pub(crate) fn words<W: std::fmt::Debug>(&self, shared: &[W]) -> String {
        let (count, route) = (self.count, self.choice.route.name());
        let read = if self.has_share() { "shares" } else { "all" };
        format!("{shared:?} {count} {:?} {route} {read}", self.reading)
    }

    /// Whether each machine has its share of the input, and has no other edges.
    pub(crate) fn has_share(&self) -> bool {
        self.shares.is_some()
    }

    /// Deal of the shares, in words for a machine that comes later.
    pub(crate) fn deal(&self) -> &str {
        self.shares.as_ref().map_or("", |shares| shares.deal.as_str())
    }

    /// The task of a machine, which reads its share.
    pub(crate) fn task(&self, cut: Partitioning, me: (usize, usize)) -> Result<Task, Failure> {
        if let Some(job) = &self.messages {
            return Ok(job.clone().into());
        }
        let share =
            Share::new(self.edges.clone(), self.reading, self.share).weighted(self.weighted);
        let share = share.with_members(self.members(), me);
        let worker = (self.program.worker)(cut, GRAPH, Box::new(share))?;
        Ok(self.codecs.worker(worker).into())
    }

    /// Result, from what the machines have made.
    pub(crate) fn found(
        self,
        (finished, looked): (Finished, Option<Looked>),
    ) -> Result<ClusterOutcome, Failure> {
        let mut columns: Box<dyn Columns> = Box::new(Vec::<Column>::new());
        let written = looked.as_ref().map(|looked| (looked.rows, looked.parts));
        let finding = if let Some(looked) = looked {
            looked.finding
        } else {
            columns = self.decoder().columns(&finished.vertices());
            self.finding_of(&columns, &finished.decided)?
        };
        let Self { count, named, program, choice, messages, mut notes, shares, .. } = self;
        notes.extend(restarts(&finished));
        notes.extend(finding.note.clone());
        notes.extend(choice.placement.as_ref().and_then(|placement| placement.note.clone()));
        let columns: Box<dyn Columns> = match &named {
            VertexColumn::TwoKinds(ids) if written.is_none() => {
                Box::new(WithSides::new(columns, ids.sources()))
            }
            _ => columns,
        };
        Ok(ClusterOutcome {
            table: Table { vertices: named, columns },
            finding,
            edges: count,
            machines: Machines {
                activities: finished.activities,
                plans: choice.figures(),
                moved: finished.moved,
                route: choice.route.name(),
                placement: choice.placement.map(|it| (it.name(), it.reason)),
                route_reason: choice.reason,
                transport: messages.map(|job| transport_name(job.settings.transport)),
                parsed_bytes: shares.map(|shares| shares.bytes),
                partitions: finished.manifest.shape.partitions,
                restarts: finished.restarts,
                suspicions: finished.suspicions,
                recoveries: finished.recoveries,
                strangers: 0,
                is_host: false,
                trust: "loopback",
                iteration_times: finished.iteration_times,
            },
            notes,
            top: program.top,
            written,
        })
    }
}

impl Parted for Job {
    fn parts(&self) -> Option<&PartsAt> {
        self.parts.as_ref()
    }

    fn named(&self) -> &VertexColumn {
        &self.named
    }

    fn decoder(&self) -> Decoder {
        self.program.decoder()
    }

    fn rows(&self, offset_bytes: u64, vertices: &[u8]) -> Table<Box<dyn Columns>> {
        let vertex = |bytes: u64| bytes / self.program.vertex_bytes;
        let [first, count] = [offset_bytes, vertices.len() as u64].map(vertex);
        let columns = self.decoder().columns(vertices);
        let columns: Box<dyn Columns> = match &self.named {
            VertexColumn::TwoKinds(ids) => {
                Box::new(WithSides::new(columns, ids.sources()).at(first))
            }
            _ => columns,
        };
        Table { vertices: self.named.slice(first as usize..(first + count) as usize), columns }
    }

    fn finding_of(&self, columns: &dyn Columns, decided: &[Bytes]) -> Result<Finding, Failure> {
        let made = MachinesOutcome { columns, vertices: self.vertices, decided };
        let finding = (self.program.finding)(&made)?;
        if self.is_checked {
            finite::check(columns, &self.named, self.program.top)?;
        }
        Ok(finding)
    }
}

/// Number of the contents of an input, by which computers compare their copies.
fn contents_of(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    GraphInput { numbered, shares, .. }: &GraphInput,
) -> Result<u64, Failure> {
    // Processes of one computer read the same files.
    if matches!(args.cluster.place.cluster, Some(Cluster::Local(_)) | None) {
        return Ok(0);
    }
    match shares {
        Some(shares) => Ok(shares.contents ^ contents::of_tables(&algorithm.tables())?),
        None => contents::of(&*numbered.edges, &numbered.ids, &algorithm.tables()),
    }
}

/// Edges as machines read them, without those that are dropped as duplicates, and whether their
/// weights are looked at.
fn read_edges(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    listed: &Arc<dyn EdgeStream>,
    (reading, weighs, machines): (Reading, bool, usize),
) -> (Arc<dyn EdgeStream>, bool) {
    // An algorithm that merges parallel edges itself does so on a cluster too, at less cost.
    let drops = args.graph.drop_duplicates;
    let merged = drops.and_then(|_| Merged::new(listed, (reading, weighs), machines));
    let is_weighed = if merged.is_some() { algorithm.weighs() } else { weighs };
    let edges: Arc<dyn EdgeStream> = match merged {
        Some(merged) => Arc::new(merged),
        None => listed.clone(),
    };
    let weighted = is_weighed && edges.weighted();
    (edges, weighted)
}

/// Whether a process writes, and vertices of the result that it has in memory then: of results in
/// parts one chunk at a time.
fn writing(place: ProcessRole, is_parted: bool, settings: &Settings) -> (bool, Option<u64>) {
    let all = settings.vertices;
    let held = if is_parted { settings.chunk_vertices.min(all) } else { all };
    let writes = place.writes || is_parted;
    (writes, writes.then_some(held))
}

/// Edges, and the place of a machine's share of them with the number of shares.
type Shared = (Arc<dyn EdgeStream>, (usize, usize));

/// The edges of which a machine reads its share; nothing but that share, where all were `listed` in
/// memory, which others have then. All of them, where the machine is to read all.
fn shared(
    edges: Arc<dyn EdgeStream>,
    listed: Arc<dyn EdgeStream>,
    (rank, machines): (Option<usize>, usize),
    reads_all: bool,
) -> Result<Shared, Failure> {
    if reads_all {
        return Ok((edges, (0, 1)));
    }
    let Some(rank) = rank else {
        let none = EdgeList::new(edges.slots(), edges.weighted());
        return Ok((Arc::new(none), (0, 1)));
    };
    let held = listed.resident_bytes() >= listed.edges().saturating_mul(size_of::<Pair>() as u64);
    if !held {
        return Ok((edges, (rank, machines)));
    }
    let own = own_edges(&*edges, (rank, machines)).map_err(Failure::read)?;
    drop((edges, listed));
    welter_engine::trim();
    Ok((Arc::new(own), (0, 1)))
}

/// Whether a word says which rank this machine has.
fn words_are_rank(words: &[String], at: usize) -> bool {
    let is_option = |word: &str| word == "--rank";
    let follows = at > 0 && is_option(&words[at - 1]);
    follows || is_option(&words[at]) || words[at].starts_with("--rank=")
}

/// Option that tells a machine its place.
pub(crate) const SEAT: &str = "--cluster-machine";

fn restarts(finished: &Finished) -> Option<String> {
    let times = counted(finished.restarts.into(), "time", "times");
    let replaced = finished.recoveries.iter().filter(|it| it.is_restart);
    let longest = replaced.map(|it| it.unnoticed_seconds + it.seconds).fold(0.0, f64::max);
    let note = || format!("a machine was replaced {times}, in {longest:.1} s at most");
    (finished.restarts > 0).then(note)
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}
