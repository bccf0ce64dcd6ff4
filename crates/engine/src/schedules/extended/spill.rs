//! Extended programs on route `spill`: what sources say waits on storage.
//!
//! As in [`crate::schedules::spill`], vertices are cut into partitions whose signals fit in memory.
//! Scatter takes one partition after the other, looks through the edges that leave it, and writes
//! what their sources say to the stripes that these lead to ([`told`](super::told)). Gather takes
//! one stripe after the other: its edges come by once more, with their states, and meet what was
//! told. What their targets say follows from values, which gather has in any case.
//!
//! So edges are read twice in each iteration, and neither they nor their states travel: states lie
//! with the stripe, as on route `fold`. The edge itself could travel, with its state, to and fro
//! between its ends: what is read and written then is 24 bytes an arc and more with weights or more
//! states, three times an iteration, where a source's signal is 12 for all edges to a stripe,
//! twice, and its edges 3 each. And a program would have to say what the reverse of a state is.
//!
//! Edges of a stripe are shown in the order in which they lie, so results are the same bits as on
//! route `fold`.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytemuck::{Pod, bytes_of};
use welter_model::extended::Extended;
use welter_model::program::{Next, Total, Vertex};
use welter_progress::{Phase, Progress};
use welter_store::chunk::Chunk;

use super::resume::{BY_STRIPE, OnStorage, Resume};
use super::told::{Listener, Teller};
use super::{Part, rewriters};
use crate::EngineError;
use crate::checkpoint::{self, Checkpoints, Reached};
use crate::columns::edge_states::{EdgeStates, Rewriter};
use crate::columns::ends::{Ends, Said};
use crate::columns::outcome::Outcome;
use crate::columns::results::Values;
use crate::columns::updates::{Pool, Reader, UpdateChunk, Writer};
use crate::columns::values::{Desk, StoredValues};
use crate::columns::windows::PieceReader;
use crate::edges::graph::Graph;
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{BUFFER, Coding, Scratch};
use crate::kernels::keys::{Reach, Width};
use crate::kernels::update_chunk::Cell;
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::storage::Storage;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::plan::SpillPlan;
use crate::schedules::limit::check_limit;
use crate::schedules::spill::Basis;
use crate::schedules::spill::partitions::{cut, vertices};
use crate::schedules::spill::records::Records;

/// Runs a program on a graph.
///
/// # Errors
/// When storage fails, memory runs out, what is read is damaged, or the run is cancelled.
pub(super) fn run<E: Extended>(
    graph: &Graph,
    program: &E,
    plan: SpillPlan,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    let (Some(storage), Some(degrees)) = (workers.storage(), &graph.degrees_stored) else {
        let what = "the plan keeps state on storage, and graph or workers do not";
        return Err(EngineError::internal(what));
    };
    graph.arena.drop_columns();
    let columns = Columns::new::<E>(graph, storage, plan)?;
    let lanes: Vec<u64> = graph.stripes.iter().map(|stripe| stripe.edges).collect();
    let mut states = EdgeStates::new(graph, &lanes, workers)?;
    let resume = Resume::new::<E>(checkpoints, graph, &lanes, BY_STRIPE)?;
    let settable = OnStorage::new(graph, &columns.values, &mut states)?;
    let reached = resume.restore(graph, settable)?;
    let pool = Pool::new(storage, graph)?;
    let partitions = cut(graph, plan.sources);
    let benches = workers.states(|| Bench::<E>::new((graph, degrees), &columns, &pool))?;
    let mut window = Window::new(graph, &partitions, columns.signals.as_ref())?;
    let driver = Driver { graph, program, plan, workers, progress, partitions, benches };
    let mut state = State::<E>::new(graph, states);
    let may_go_on = |iterations| program.limit().stated().is_none_or(|most| iterations < most);
    let goes_on =
        |reached: &Reached| program.next(reached.iterations, &reached.total()) == Next::Iterate;
    let mut reached = if let Some(reached) = reached {
        let go_on = may_go_on(reached.iterations) && goes_on(&reached);
        driver.turn(&mut state, &mut window, Basis::Values, go_on)?;
        reached
    } else {
        let total = driver.turn(&mut state, &mut window, Basis::Nothing, may_go_on(0))?;
        Reached::begun(bytes_of(&total))
    };
    phase.add(reached.iterations);
    while goes_on(&reached) {
        check_limit(program.limit(), graph, reached.iterations)?;
        let (go_on, last) = (may_go_on(reached.iterations + 1), reached.total());
        let total = driver.turn(&mut state, &mut window, Basis::Updates(&last), go_on)?;
        reached.note(bytes_of(&total));
        phase.add(1);
        phase.add_bytes(2 * graph.chunk_bytes());
        let values = checkpoint::Column::Storage(&columns.values);
        resume.write(graph, values, &state.states, &reached)?;
    }
    drop((driver, window, state, pool));
    // Results may be written where the states of edges were.
    workers.settle();
    Ok(reached.outcome(Values::stored(columns.values, graph).rows()?))
}

/// The columns of a run, all of them on storage.
struct Columns {
    values: StoredValues,
    /// Signals that edges see, between gather and scatter, where these are not fused.
    signals: Option<StoredValues>,
}

impl Columns {
    fn new<E: Extended>(
        graph: &Graph,
        storage: &Storage,
        plan: SpillPlan,
    ) -> Result<Self, EngineError> {
        let signals = || StoredValues::new::<E::Signal>(graph, storage);
        let values = StoredValues::new::<E::Value>(graph, storage)?;
        Ok(Self { values, signals: (!plan.fused).then(signals).transpose()? })
    }
}

/// Signals of the sources of a partition.
struct Window<'c, S: Pod + Send> {
    signals: Buffer<S>,
    stored: Option<(&'c StoredValues, PieceReader<S>)>,
}

impl<'c, S: Pod + Send> Window<'c, S> {
    fn new(
        graph: &Graph,
        partitions: &[Range<usize>],
        stored: Option<&'c StoredValues>,
    ) -> Result<Self, EngineError> {
        let widths = partitions.iter().map(|stripes| vertices(graph, stripes));
        let widest = widths.map(|own| own.end - own.start).max().unwrap_or(0);
        let reader = |stored| Ok::<_, EngineError>((stored, PieceReader::new(stored)?));
        let stored = stored.map(reader).transpose()?;
        Ok(Self { signals: Buffer::zeroed(widest as usize)?, stored })
    }

    /// Reads what the sources of a partition said, where that is not there.
    fn load(&mut self, graph: &Graph, own: &Range<u64>) -> Result<(), EngineError> {
        let Some((stored, reader)) = &mut self.stored else { return Ok(()) };
        reader.read(graph, stored, own, &mut self.signals)
    }
}

/// State that changes from iteration to iteration.
struct State<E: Extended> {
    /// The iteration that gathers next.
    turn: u64,
    states: EdgeStates<E::State>,
    /// Whether no state was written yet.
    fresh: bool,
    /// Updates that were told and wait, by stripe.
    waiting: Vec<Vec<UpdateChunk>>,
    /// How many records that are.
    told: u64,
    totals: Vec<E::Total>,
}

impl<E: Extended> State<E> {
    fn new(graph: &Graph, states: EdgeStates<E::State>) -> Self {
        Self {
            turn: 0,
            states,
            fresh: true,
            waiting: nothing(graph),
            told: 0,
            totals: vec![E::Total::default(); graph.vertices.segments()],
        }
    }
}

/// Nothing that waits for any stripe.
fn nothing(graph: &Graph) -> Vec<Vec<UpdateChunk>> {
    graph.stripes.iter().map(|_| Vec::new()).collect()
}

/// Tools that one worker has all along.
struct Bench<'g, E: Extended> {
    accums: Buffer<E::Accum>,
    /// Signals of the vertices of a stripe.
    targets: Buffer<E::Signal>,
    /// Signals of the sources of some edges.
    said: Vec<E::Signal>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
    values: Desk<'g, E::Value>,
    degrees: Desk<'g, u32>,
    signals: Option<Desk<'g, E::Signal>>,
    writer: Writer,
    reader: Reader,
    records: Records<E::Signal>,
    /// Records that were written, and that were met, in this iteration.
    told: u64,
    heard: u64,
}

impl<'g, E: Extended> Bench<'g, E> {
    fn new(
        (graph, degrees): (&'g Graph, &'g StoredValues),
        columns: &'g Columns,
        pool: &Arc<Pool>,
    ) -> Result<Self, EngineError> {
        let width = 1 << graph.layout.stripe_bits;
        Ok(Self {
            accums: Buffer::zeroed(width)?,
            targets: Buffer::zeroed(width)?,
            said: Vec::with_capacity(BUFFER),
            scratch: Scratch::new(),
            chunks: ReadAhead::new(graph)?,
            values: Desk::new(&columns.values, graph)?,
            degrees: Desk::new(degrees, graph)?,
            signals: columns.signals.as_ref().map(|it| Desk::new(it, graph)).transpose()?,
            writer: Writer::new(pool, &graph.arena)?,
            reader: Reader::new(pool, &graph.arena)?,
            records: Records::new(true),
            told: 0,
            heard: 0,
        })
    }

    /// Stores what the vertices of a stripe say, where scatter comes later.
    fn store(&mut self, number: usize, said: &[E::Signal]) -> Result<(), EngineError> {
        let Some(signals) = &mut self.signals else { return Ok(()) };
        let mut column = signals.blank()?;
        column[..said.len()].copy_from_slice(said);
        signals.put(number, column)
    }

    /// Waits until all columns are written.
    fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.signals.as_mut().map_or(Ok(()), Desk::finish)
    }
}

/// Parts that all iterations of a run have in common.
struct Driver<'a, E: Extended> {
    graph: &'a Graph,
    program: &'a E,
    plan: SpillPlan,
    workers: &'a Workers,
    progress: &'a Progress,
    /// Stripes of each partition.
    partitions: Vec<Range<usize>>,
    benches: Vec<Mutex<Bench<'a, E>>>,
}

/// Arguments by which the stripes of an iteration are gathered.
struct Pass<'p, E: Extended> {
    /// Basis of the values.
    basis: Basis<'p, E::Total>,
    waiting: Vec<Mutex<Vec<UpdateChunk>>>,
    /// By stripe.
    resident: Vec<Mutex<&'p mut [E::State]>>,
    rewriters: Vec<Mutex<Rewriter<'p, E::State>>>,
}

impl<E: Extended> Driver<'_, E> {
    /// Sets the values of all vertices, and tells stripes what follows from them if there may be
    /// another iteration.
    fn turn(
        &self,
        state: &mut State<E>,
        window: &mut Window<'_, E::Signal>,
        basis: Basis<'_, E::Total>,
        go_on: bool,
    ) -> Result<E::Total, EngineError> {
        let graph = self.graph;
        let expected = state.told;
        state.turn += 1;
        // What is told for the next iteration is not to be heard in this one.
        let waiting = std::mem::replace(&mut state.waiting, nothing(graph));
        let (resident, stored) = state.states.parts();
        let pass = Pass::<E> {
            basis,
            waiting: waiting.into_iter().map(Mutex::new).collect(),
            resident: resident.into_iter().map(Mutex::new).collect(),
            rewriters: rewriters(self.workers, stored, state.fresh)?,
        };
        let turn = state.turn;
        let scatters = |fused: bool| go_on && self.plan.fused == fused;
        let tell = |partition: usize, window: &Window<'_, _>, waiting: &mut Vec<_>| {
            self.scatter((partition, turn), window, waiting)
        };
        for partition in 0..self.partitions.len() {
            self.gather(partition, &pass, window, &mut state.totals)?;
            if scatters(true) {
                tell(partition, window, &mut state.waiting)?;
            }
        }
        pass.rewriters.iter().try_for_each(|rewriter| lock(rewriter).finish())?;
        drop(pass);
        for partition in 0..self.partitions.len() {
            if scatters(false) {
                window.load(graph, &vertices(graph, &self.partitions[partition]))?;
                tell(partition, window, &mut state.waiting)?;
            }
        }
        (state.fresh, state.told) = (matches!(basis, Basis::Nothing), 0);
        let mut heard = 0;
        for bench in &self.benches {
            let bench = &mut *lock(bench);
            state.told += std::mem::take(&mut bench.told);
            heard += std::mem::take(&mut bench.heard);
        }
        if heard != expected {
            let what = format!("{expected} signals were told, and {heard} heard");
            return Err(EngineError::Internal(what));
        }
        Ok(state.totals.iter().fold(E::Total::default(), |sum, part| sum.merge(*part)))
    }

    /// Sets the values of a partition, and what its vertices say.
    fn gather(
        &self,
        partition: usize,
        pass: &Pass<'_, E>,
        window: &mut Window<'_, E::Signal>,
        totals: &mut [E::Total],
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let stripes = self.partitions[partition].clone();
        let own = &graph.stripes[stripes.clone()];
        let first = own.first().map_or(0, |stripe| stripe.segments.start);
        let mut totals = Slices(&mut totals[first..]);
        let mut signals = Slices(&mut window.signals[..]);
        let parts = own.iter().map(|stripe| {
            Mutex::new((signals.take(stripe.width()), totals.take(stripe.segments.len())))
        });
        let parts: Vec<_> = parts.collect();
        let tools: Vec<_> = self.benches.iter().zip(&pass.rewriters).map(Mutex::new).collect();
        self.workers.tasks_ahead(parts.len(), self.progress, &tools, |tools, task, next| {
            let (bench, rewriter) = (&mut *lock(tools.0), &mut *lock(tools.1));
            let at = (stripes.start + task, next.map(|task| stripes.start + task));
            let (signals, totals) = &mut *lock(&parts[task]);
            let mut values = match pass.basis {
                Basis::Updates(_) => self.meet(at, pass, rewriter, bench)?,
                Basis::Values => {
                    bench.values.fetch(at.0)?;
                    bench.values.take(at.0)?
                }
                Basis::Nothing => bench.values.blank()?,
            };
            let stripe = &graph.stripes[at.0];
            let own = &mut values[..stripe.width()];
            let mut part = Part::<E> { stripe, values: own, signals, totals };
            match pass.basis {
                Basis::Updates(last) => part.renew(graph, self.program, |place, value| {
                    self.program.apply(value, bench.accums[place], last)
                }),
                // What these add to the totals is known.
                Basis::Values => {
                    part.renew(graph, self.program, |_, value| (value, E::Total::default()));
                }
                Basis::Nothing => self.begin(at.0, &mut part, bench)?,
            }
            bench.store(at.0, signals)?;
            bench.values.put(at.0, values)
        })?;
        self.benches.iter().try_for_each(|bench| lock(bench).finish())
    }

    /// Sets the first values of a stripe.
    fn begin(
        &self,
        number: usize,
        part: &mut Part<'_, E>,
        bench: &mut Bench<'_, E>,
    ) -> Result<(), EngineError> {
        bench.degrees.fetch(number)?;
        let degrees = bench.degrees.take(number)?;
        let first = part.stripe.vertices.start;
        part.renew(self.graph, self.program, |place, _| {
            let out_degree = degrees[place].into();
            self.program.init(Vertex { index: first + place as u64, out_degree })
        });
        bench.degrees.done(degrees);
        Ok(())
    }

    /// Folds what the edges of a stripe tell into a worker's accumulators, and hands over the
    /// values of its vertices. `at`: the stripe, and the one that the worker will take then.
    fn meet(
        &self,
        at: (usize, Option<usize>),
        pass: &Pass<'_, E>,
        rewriter: &mut Rewriter<'_, E::State>,
        bench: &mut Bench<'_, E>,
    ) -> Result<Buffer<E::Value>, EngineError> {
        let Self { graph, program, plan, .. } = *self;
        bench.values.fetch(at.0)?;
        bench.accums.fill(program.identity());
        let mut waiting = std::mem::take(&mut *lock(&pass.waiting[at.0]));
        // One worker wrote what a partition has for a stripe, in order.
        waiting.sort_by_key(|chunk| chunk.cell.window);
        let values = bench.values.take(at.0)?;
        let Bench { accums, targets, said, scratch, chunks, reader, records, .. } = bench;
        for (target, value) in targets.iter_mut().zip(&values[..graph.stripes[at.0].width()]) {
            *target = program.signal(value);
        }
        rewriter.begin(at.0, at.1)?;
        let resident = &mut **lock(&pass.resident[at.0]);
        let mut listener = Listener::new(reader.follow(&waiting), records, plan.combined);
        let all = |stripe: usize| 0..graph.stripes[stripe].chunks.len();
        chunks.stripe(at, all, |stripe, chunk| {
            let coding = Coding::weighted(chunk.label(), E::WEIGHTED);
            for tile in chunk.tiles() {
                let base = [tile.source, stripe.vertices.start].map(|first| first as usize);
                let mut done = Ok(());
                coding.keys(&tile, 0..tile.edges, scratch, |keys, weights| {
                    let mut rest = weights;
                    for keys in keys.chunks(BUFFER) {
                        let (weights, others) =
                            rest.map(|weights| weights.split_at(keys.len())).unzip();
                        rest = others;
                        if done.is_ok() {
                            let first = (tile.source, coding.target_bits);
                            done = listener.listen(keys, first, said).and_then(|()| {
                                let (said, targets) = (Said::Edges(said), &targets[..]);
                                let ends = Ends { program, base, said, targets };
                                let keys = Width.hold(keys, coding.target_bits);
                                let states = (&mut *resident, &mut *rewriter);
                                ends.fold((keys, weights), states, accums)
                            });
                        }
                    }
                });
                done?;
            }
            Ok(())
        })?;
        bench.heard += listener.end()?;
        rewriter.end(resident.len())?;
        Ok(values)
    }

    /// Tells all stripes what the sources of a partition say, which is in the window, for the
    /// gathers of a turn.
    fn scatter(
        &self,
        (partition, turn): (usize, u64),
        window: &Window<'_, E::Signal>,
        waiting: &mut [Vec<UpdateChunk>],
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let own = vertices(graph, &self.partitions[partition]);
        let signals = &window.signals[..(own.end - own.start) as usize];
        let wants = |stripe: usize| {
            let chunks = &graph.stripes[stripe].chunks;
            let first = chunks.partition_point(|place| place.sources.end <= own.start);
            let end = chunks.partition_point(|place| place.sources.start < own.end);
            first..end.max(first)
        };
        let tasks = graph.stripes.len();
        self.workers.tasks_ahead(tasks, self.progress, &self.benches, |bench, task, next| {
            let Bench { scratch, chunks, writer, records, told, .. } = bench;
            let cell = Cell { turn, stripe: task as u32, window: partition as u32 };
            let mut teller = Teller::new(&own, signals, self.plan.combined);
            records.clear();
            chunks.stripe((task, next), wants, |_, chunk: Chunk<'_>| {
                let coding = Coding::weighted(chunk.label(), false);
                for tile in chunk.tiles() {
                    let end = tile.source + chunk.block_width();
                    if tile.source >= own.end || end <= own.start {
                        continue;
                    }
                    coding.keys(&tile, 0..tile.edges, scratch, |keys, _| {
                        teller.tell(keys, (tile.source, coding.target_bits), records);
                    });
                    if records.is_full() {
                        *told += records.write(writer, cell, None)?;
                    }
                }
                Ok(())
            })?;
            *told += records.write(writer, cell, None)?;
            Ok(())
        })?;
        for bench in &self.benches {
            for chunk in lock(bench).writer.finish()? {
                waiting[chunk.cell.stripe as usize].push(chunk);
            }
        }
        Ok(())
    }
}
