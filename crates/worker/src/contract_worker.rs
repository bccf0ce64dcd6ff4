//! The worker of a contracting program: edges see both their ends, send updates, and are binned
//! anew.
//!
//! ```text
//! edges      generation 0: chunks of the store's format
//!            later: source u32, target u32, and what the program holds, one edge after the other
//! vertex     the program's value
//! updates    update chunks of the engine: of edges, or merged by vertex
//! total      the program's total
//! ```
//!
//! Edges of one cell at a time are streamed, on both routes, with the vertices of both its
//! partitions in memory. Updates are for the partition that is open: on route `fold` they are
//! merged there, on route `spill` they wait in the buffer of a chunk.
//!
//! **Invariant:** an edge that is not of the cell that it was pulled for, and a chunk that has not
//! as many bytes as its edges, are errors. Checked in `ContractWorker::edges`.

use std::any::type_name;
use std::sync::Arc;

use bytemuck::{bytes_of, cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{DecodeBuffers, UpdateKey, open_updates, write_updates};
use welter_model::contract::{Contract, RewrittenEdge};
use welter_model::program::{Next, Total, Vertex};
use welter_protocol::ids::{Block, Bytes, Cell, Phase, Step};
use welter_protocol::work::{self, Filled};
use welter_protocol::{Outcome, Payload, Work};

use crate::bins::Bin;
use crate::degrees::degrees;
use crate::edge_bins::EdgeBins;
use crate::ingest::Ingest;
use crate::input::Input;
use crate::partitioning::Partitioning;
use crate::resources::CallerAlone;
use crate::{Worker, other};

/// Bytes of the ends of an edge.
const ENDS_BYTES: usize = 8;

/// A program, and what its worker has in memory of the partition that it works on.
pub struct ContractWorker<C: Contract> {
    program: Arc<C>,
    ingest: Ingest,
    /// Number of the graph.
    graph: u64,
    cut: Partitioning,
    step: Step,
    /// The open partition, and its vertices.
    partition: u32,
    own: Vec<C::Value>,
    /// The source partition of the cell at work, and its vertices.
    source: u32,
    sources: Vec<C::Value>,
    /// Updates for the open partition's vertices, merged.
    accums: Vec<Option<C::Update>>,
    /// Updates that wait for their chunk to be full.
    updates: Bin,
    edges: EdgeBins,
    last: C::Total,
    /// Whether edges are rewritten in this step.
    rewrites: bool,
    scratch: DecodeBuffers,
    looked_at: u64,
}

impl<C: Contract> ContractWorker<C> {
    /// The worker of a machine that reads this share of a graph of this number.
    ///
    /// # Errors
    /// When numbers of vertices are wider than ends of rewritten edges.
    pub fn new(
        program: Arc<C>,
        cut: Partitioning,
        graph: u64,
        input: Box<dyn Input>,
    ) -> Result<Self, EngineError> {
        cut.numbers_fit(type_name::<C>(), false)?;
        Ok(Self {
            program,
            ingest: Ingest::new(input, cut.clone(), (graph, C::WEIGHTED), (true, None))
                .looking_at(C::DEGREES),
            graph,
            edges: EdgeBins::new(ENDS_BYTES + size_of::<C::EdgeData>(), &cut),
            cut,
            step: Step { iteration: 0, phase: Phase::Ingest },
            partition: 0,
            own: Vec::new(),
            source: 0,
            sources: Vec::new(),
            accums: Vec::new(),
            updates: Bin::new(size_of::<C::Update>()),
            last: C::Total::default(),
            rewrites: false,
            scratch: DecodeBuffers::default(),
            looked_at: 0,
        })
    }

    /// The vertices of a partition.
    fn load(&mut self, partition: u32, chunks: &[Payload]) -> Result<Vec<C::Value>, EngineError> {
        let (count, width) = (self.cut.vertices(partition), size_of::<C::Value>());
        let bytes: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        let values = chunks.iter().flat_map(|chunk| chunk.chunks_exact(width));
        let values: Vec<C::Value> = values.map(pod_read_unaligned).collect();
        self.looked_at = count as u64;
        if (values.len(), bytes) == (count, count * width) {
            return Ok(values);
        }
        Err(other(format!("{bytes} bytes of {count} vertices, of {width} each")))
    }

    /// The vertex set in memory, and which ranges of it speak.
    fn made(&self, total: C::Total) -> Outcome {
        let vertices = self.cut.vertex_chunks(cast_slice(&self.own), size_of::<C::Value>());
        let first = self.cut.partitions.range(self.partition).start;
        let speaking = (first..).zip(&self.own).filter(|(_, value)| self.program.speaks(value));
        let active = speaking.fold(0, |ranges, (vertex, _)| ranges | self.cut.range_of(vertex));
        Outcome::Made { vertices, total: bytes_of(&total).into(), active }
    }

    fn init(&mut self, partition: u32, counts: &[Payload]) -> Result<Outcome, EngineError> {
        let degrees = degrees(counts, (&self.cut.partitions, partition), C::DEGREES)?;
        let first = self.cut.partitions.range(partition).start;
        let vertices = degrees.iter().zip(first..);
        let made = vertices
            .map(|(&degree, index)| self.program.init(Vertex { index, out_degree: degree.into() }));
        let (own, totals): (Vec<_>, Vec<C::Total>) = made.unzip();
        (self.partition, self.own) = (partition, own);
        Ok(self.made(totals.into_iter().fold(C::Total::default(), C::Total::merge)))
    }

    fn open(
        &mut self,
        (step, partition): (Step, u32),
        vertices: &[Payload],
        control: &[u8],
    ) -> Result<Outcome, EngineError> {
        self.own = self.load(partition, vertices)?;
        self.last = total::<C>(control)?;
        self.rewrites = step.phase != Phase::Gather && self.program.rewrites(&self.last);
        self.accums.clear();
        self.accums.resize(self.own.len(), None);
        self.updates.clear();
        self.edges.clear();
        (self.step, self.partition) = (step, partition);
        Ok(Outcome::Opened)
    }

    /// The edges of a chunk of the cell at work.
    fn edges(
        &mut self,
        block: &Block,
        payload: &[u8],
    ) -> Result<Vec<RewrittenEdge<C::EdgeData>>, EngineError> {
        let cell = Cell { partition: self.partition, source: Some(self.source) };
        let mut edges = Vec::with_capacity(payload.len() / ENDS_BYTES);
        if block.name.iteration == 0 {
            let place = self.cut.chunk_cell(self.graph, cell, 0);
            place.open(payload)?.show(C::WEIGHTED, &mut self.scratch, |edge| {
                let (source, target, data) =
                    (edge.source, edge.target, self.program.edge_data(edge));
                edges.push(RewrittenEdge { source, target, data });
            })?;
            return Ok(edges);
        }
        let width = ENDS_BYTES + size_of::<C::EdgeData>();
        if payload.len() != block.records as usize * width {
            let what = format!("{} bytes of {} edges of {cell}", payload.len(), block.records);
            return Err(other(what));
        }
        edges.extend(payload.chunks_exact(width).map(|edge| {
            let [source, target] = [0, 4].map(|at| pod_read_unaligned(&edge[at..at + 4]));
            RewrittenEdge { source, target, data: pod_read_unaligned(&edge[ENDS_BYTES..]) }
        }));
        let partitions = &self.cut.partitions;
        let [from, to] = [cell.sources(), cell.partition].map(|of| partitions.range(of));
        let outside = |edge: &&RewrittenEdge<_>| {
            !(from.contains(&edge.source.into()) && to.contains(&edge.target.into()))
        };
        if let Some(RewrittenEdge { source, target, .. }) = edges.iter().find(outside) {
            let what = format!("an edge from {source} to {target} in a chunk of {cell}");
            return Err(other(what));
        }
        Ok(edges)
    }

    fn rewrite(&mut self, block: &Block, payload: &[u8]) -> Result<Outcome, EngineError> {
        let edges = self.edges(block, payload)?;
        let [from, to] =
            [self.source, self.partition].map(|of| self.cut.partitions.range(of).start);
        self.looked_at = edges.len() as u64;
        let (mut made, mut kept) = (0, 0);
        let mut full = Vec::new();
        for edge in edges {
            let place = (u64::from(edge.target) - to) as usize;
            let source = &self.sources[(u64::from(edge.source) - from) as usize];
            let (update, becomes) =
                self.program.rewrite(edge, [source, &self.own[place]], &self.last);
            if let Some(update) = update {
                made += 1;
                self.send(place, update);
            }
            if let Some(edge) = becomes.filter(|_| self.rewrites) {
                kept += 1;
                full.extend(self.keep(edge));
            }
        }
        let filled = if self.updates.is_full(self.cut.chunk_records) {
            self.updates.take(self.updates_here(), &CallerAlone).into_iter().collect()
        } else {
            Vec::new()
        };
        // On route fold updates wait nowhere.
        let made = if self.step.phase == Phase::Fold { 0 } else { made };
        let dropped = self.looked_at - kept;
        let rewritten = if self.rewrites {
            work::Rewritten::Moved { kept, dropped, filled: full }
        } else {
            work::Rewritten::Not
        };
        Ok(Outcome::Streamed { made, gathered: 0, rewritten, filled })
    }

    fn send(&mut self, place: usize, update: C::Update) {
        if self.step.phase == Phase::Fold {
            self.merge(place, update);
        } else {
            self.updates.extend(&[place as u32], bytes_of(&update));
        }
    }

    fn merge(&mut self, place: usize, update: C::Update) {
        let own = &mut self.accums[place];
        *own = Some(own.map_or(update, |before| self.program.merge(before, update)));
    }

    fn keep(&mut self, edge: RewrittenEdge<C::EdgeData>) -> Option<Filled> {
        let RewrittenEdge { source, target, data } = edge;
        let partitions = &self.cut.partitions;
        let [source_partition, partition] = [source, target].map(|end| partitions.of(end.into()));
        let cell = Cell { partition, source: Some(source_partition) };
        let range = self.cut.range_of(source.into());
        self.edges.put(cell, range, &[bytes_of(&[source, target]), bytes_of(&data)])
    }

    /// The name of updates for the open partition in this iteration.
    fn updates_here(&self) -> (u64, UpdateKey) {
        let iteration = self.step.iteration.into();
        (self.graph, UpdateKey::new(iteration, self.partition, self.partition))
    }

    /// Meets updates for the open partition; how many they stand for.
    fn gather(&mut self, payload: &[u8]) -> Result<u64, EngineError> {
        let records = open_updates(size_of::<C::Update>(), self.updates_here(), payload)?;
        self.looked_at = records.targets.len() as u64;
        let updates = records.accums.chunks_exact(size_of::<C::Update>());
        for (&target, update) in records.targets.iter().zip(updates) {
            if target as usize >= self.accums.len() {
                return Err(other(format!("an update for {target} of {}", self.accums.len())));
            }
            self.merge(target as usize, pod_read_unaligned(update));
        }
        Ok(records.updates)
    }

    fn flush(&mut self) -> Outcome {
        let filled = self.updates.take(self.updates_here(), &CallerAlone).into_iter().collect();
        Outcome::Flushed { filled, rewritten: self.edges.rest() }
    }

    fn hand_over(&mut self) -> Payload {
        let met = (0..).zip(&self.accums).filter_map(|(place, accum)| Some((place, (*accum)?)));
        let (targets, accums): (Vec<u32>, Vec<C::Update>) = met.unzip();
        let (width, count) = (size_of::<C::Update>(), targets.len() as u64);
        write_updates(width, self.updates_here(), (&targets, cast_slice(&accums)), count).into()
    }

    fn apply(&mut self) -> Outcome {
        let mut sum = C::Total::default();
        self.looked_at = self.own.len() as u64;
        for (value, accum) in self.own.iter_mut().zip(&self.accums) {
            let (new, own) = self.program.apply(*value, *accum, &self.last);
            *value = new;
            sum = sum.merge(own);
        }
        self.made(sum)
    }

    fn decide(&self, iterations: u32, totals: &[(u32, Bytes)]) -> Result<Outcome, EngineError> {
        let mut sum = C::Total::default();
        for (_, bytes) in totals {
            sum = sum.merge(total::<C>(bytes)?);
        }
        let goes_on = self.program.next(iterations.into(), &sum) == Next::Iterate;
        let rewrites = self.program.rewrites(&sum);
        Ok(Outcome::Decided { goes_on, control: bytes_of(&sum).into(), rewrites })
    }
}

impl<C: Contract + Send> Worker for ContractWorker<C> {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        self.looked_at = 0;
        if let Some(outcome) = self.ingest.splits(work, &mut self.looked_at)? {
            return Ok(outcome);
        }
        match work {
            Work::Ingest { first } => self.ingest.piece(*first, &mut self.looked_at),
            Work::Init { partition, degrees } => self.init(*partition, degrees),
            Work::Open { step, partition, vertices, control } => {
                self.open((*step, *partition), vertices, control)
            }
            Work::Turn { source, vertices } => {
                self.sources = self.load(*source, vertices)?;
                self.source = *source;
                Ok(Outcome::Turned)
            }
            Work::Stream { payload, .. } if self.step.phase == Phase::Gather => {
                let gathered = self.gather(payload)?;
                let (rewritten, filled) = (work::Rewritten::Not, Vec::new());
                Ok(Outcome::Streamed { made: 0, gathered, rewritten, filled })
            }
            Work::Stream { block, payload } => self.rewrite(block, payload),
            Work::Flush => Ok(self.flush()),
            Work::HandOver => Ok(Outcome::HandedOver(self.hand_over())),
            Work::Merge(payload) => self.gather(payload).map(|_| Outcome::Merged),
            Work::Apply => Ok(self.apply()),
            Work::Decide { iterations, totals, .. } => self.decide(*iterations, totals),
        }
    }

    fn looked_at(&self) -> u64 {
        self.looked_at
    }
}

fn total<C: Contract>(bytes: &[u8]) -> Result<C::Total, EngineError> {
    bytemuck::try_pod_read_unaligned(bytes)
        .map_err(|_| other(format!("a total of {} bytes", bytes.len())))
}
