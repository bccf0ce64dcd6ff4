//! The budget of a run, and the plan that it gets for it.
//!
//! Invariants: the budget is all that the process holds, so what it takes anyway is in every plan
//! (tested by `every_kind_of_input_keeps_its_budget`); a refusal names a budget that is enough, as
//! it is rounded for people, because that is found by the planning that a run with it would do.
//! Tested by `the_budget_that_a_refusal_names_is_enough`.

use welter_engine::EngineError;
use welter_engine::kept::KeptGraph;
use welter_engine::plan::{self, InputPasses, Layout, Plan, Settings, Shape, StorageMode};
use welter_input::{Estimate, IdKind, ReadOptions};
use welter_model::edges::Duplicates;

use super::fit::{Fit, fit};
use super::{Forecast, GraphRequest, Session};
use crate::failure::Failure;
use crate::input_traffic;
use crate::load::Source;

/// Bytes of text that a thread has in its hands while it reads, and lists that it makes of them.
const READER_BYTES: u64 = 2 << 20;
/// Threads a core that are of use while an input is read, or as many where these are more.
const READERS: usize = 4;
const READERS_LEAST: usize = 16;

/// Bytes of an edge about, where none are stored.
const EDGE_BYTES: u64 = 8;

/// Edges a vertex where the number of vertices is not known before reading. Real graphs have more
/// and fewer; what is decided with it is decided again once the graph is read.
const FACTOR_GUESS: u64 = 8;

impl Session {
    /// Plans a run before reading. `None` where nothing is known, as of a pipe.
    ///
    /// A run that certainly cannot fit is refused here; what perhaps can is decided after reading.
    pub(crate) fn forecast(&self, wanted: &GraphRequest<'_>) -> Result<Option<Forecast>, Failure> {
        let mut estimate = wanted.source.estimate(&self.for_a_look(wanted))?;
        self.look_for_rates(wanted, estimate.bytes);
        self.look_where_it_sends(graph_bytes(&estimate));
        let reading = wanted.reading(estimate.undirected.unwrap_or(false));
        estimate.undirected = Some(reading.undirected);
        if let Source::Kept(_, kept) = wanted.source
            && fit(kept, wanted)? == Fit::Reuse
        {
            let plan = self.plan_kept(kept, wanted)?;
            let traffic = input_traffic::of_kept(kept, &plan);
            return Ok(Some(Forecast { plan, estimate, requests: None, traffic }));
        }
        let weighted = wanted.keeps_weights(estimate.weighted);
        let Some(edges) = estimate.edges else {
            // Settings that make no sense are still refused.
            let shape = Shape { slots: 0, edges: 0, weighted, estimated: true, input_bytes: 0 };
            self.plan(wanted, 0, |_| shape)?;
            return Ok(None);
        };
        let read = wanted.reads_weights(estimate.weighted);
        let edge_bytes = wanted.source.edge_bytes_min(&wanted.options, read)?;
        let shape = |slots, edges: u64, budget| Shape {
            slots,
            edges: reading.arcs(edges),
            weighted,
            estimated: !estimate.exact || estimate.slots.is_none(),
            // Bytes beyond go to temporary files.
            input_bytes: edges.saturating_mul(edge_bytes).min(budget / 2),
        };
        let known = estimate.slots.or(estimate.slots_seen);
        let likely = known.unwrap_or((edges / FACTOR_GUESS).max(1));
        let budget = self.budget();
        // A guess refuses no run.
        let plan = self.plan_with(wanted, 0, shape(likely, edges, budget), budget).or_else(|_| {
            self.plan_with(wanted, 0, shape(known.unwrap_or(1), edges, budget), budget)
        });
        let plan = match plan {
            Err(EngineError::Budget { .. }) => {
                // A refusal names what is enough, whatever the rest of the input is like.
                let enough = Enough::of(&estimate, edges);
                let (input_bytes, ids_bytes) = wanted.source.opened_bytes(&wanted.options)?;
                let shape = |budget| {
                    let shape = shape(enough.slots, enough.edges, budget);
                    let input_bytes = shape.input_bytes.max(input_bytes).max(WINDOW_BYTES);
                    Shape { input_bytes, ..shape }
                };
                self.plan(wanted, enough.ids_bytes + ids_bytes, shape)?
            }
            plan => plan?,
        };
        let requests = self.input_requests(wanted.source, &wanted.options);
        // Raw records whose ids can be slots stay where they are, and so does a kept graph.
        let is_raw = edge_bytes == 0 && wanted.options.vertex_tables.is_empty();
        let is_kept = matches!(wanted.source, Source::Kept(..) | Source::Parts(..));
        let stays = is_kept || (is_raw && known.is_some());
        let passes = if stays { plan.input_passes() } else { InputPasses::ONE };
        let traffic = self.input_traffic(wanted, estimate.bytes, passes);
        Ok(Some(Forecast { plan, estimate, requests, traffic }))
    }

    /// Names a budget that is enough where distinct ids take too much, which are counted by then.
    pub(super) fn with_enough(&self, failure: Failure, wanted: &GraphRequest<'_>) -> Failure {
        let Some((count, bytes)) = failure.ids() else { return failure };
        let looked = wanted.source.estimate(&self.for_a_look(wanted));
        let Ok(estimate) = looked else { return failure };
        let edges = estimate.edges.unwrap_or(count);
        let Enough { edges, .. } = Enough::of(&estimate, edges.max(count / 2));
        let shape = |budget| Shape {
            slots: count,
            edges: wanted.reading(estimate.undirected.unwrap_or(false)).arcs(edges),
            weighted: wanted.keeps_weights(estimate.weighted),
            estimated: false,
            input_bytes: edges.saturating_mul(16).min(budget / 2),
        };
        let readers = self.reading_bytes(wanted.options.thread_count(), u64::MAX);
        // Memory that maps ids is taken before the rest, and gone by then.
        let arriving = self.requests_bytes(wanted.source, &wanted.options, u64::MAX);
        let mapping = bytes + bytes / 2 + readers + self.beside_bytes(u64::MAX) + arriving;
        let need = match self.plan(wanted, bytes, shape) {
            Err(EngineError::Budget { need, .. }) => need.max(mapping),
            _ => mapping,
        };
        let enough = plan::human_bytes(need).replace(' ', "");
        failure.hint(format!("give it --memory {enough} or more, where the machine has it"))
    }

    /// Bytes that `threads` threads take while they read, of a budget.
    fn reading_bytes(&self, threads: usize, budget: u64) -> u64 {
        (self.readers(threads) as u64 * READER_BYTES).min(budget / 4)
    }

    /// Threads that read, of `threads` that may.
    pub(super) fn readers(&self, threads: usize) -> usize {
        threads.min((READERS * self.machine.cores).max(READERS_LEAST))
    }

    /// Says what of the machine reading may take.
    pub(crate) fn limit(&self, source: &Source, options: &mut ReadOptions) {
        let budget = self.budget();
        options.threads = self.readers(options.thread_count());
        // Buffers of readers beside parts of the input.
        let arriving = self.arriving_bytes(source, options, budget);
        options.limits.object_bytes_max = (arriving > 0).then_some(arriving);
        options.limits.read_requests = self.read_requests();
        options.limits.page_cache = self.resources.page_cache();
        let buffers = self.reading_bytes(options.threads, budget)
            + self.requests_bytes(source, options, budget);
        let taken = self.beside_bytes(budget) + buffers;
        options.limits.memory_bytes_max = Some(budget.saturating_sub(taken));
        let left = self.machine.memory_bytes.saturating_sub(self.budget());
        options.limits.cache_bytes_max = Some(left);
        options.scratch = self.resources.scratch();
    }

    /// Bytes of memory that are taken beside a plan of this budget, by the process and by parts of
    /// objects on their way to buckets.
    fn beside_bytes(&self, budget: u64) -> u64 {
        self.process_bytes.saturating_add(self.uploads.memory_bytes(budget))
    }

    /// Refuses a budget that has no room for parts of objects on their way and for reading, of a
    /// command that makes no plan.
    pub(crate) fn check_parts(&self) -> Result<(), Failure> {
        let threads = self.resources.threads.unwrap_or(self.machine.cores);
        let fits = |budget| {
            let need = self.beside_bytes(budget) + self.reading_bytes(threads, budget);
            if need <= budget {
                return Ok(());
            }
            Err(EngineError::Budget { need, budget, advice: String::new() })
        };
        Ok(plan::within(self.budget(), fits)?)
    }

    /// Bytes of memory that may be used.
    pub(crate) fn budget(&self) -> u64 {
        self.resources.settings(0).budget(&self.machine)
    }

    /// The plan of a graph that is kept.
    pub(super) fn plan_kept(
        &self,
        kept: &KeptGraph,
        wanted: &GraphRequest<'_>,
    ) -> Result<Plan, EngineError> {
        plan::within(self.budget(), |budget| {
            kept.plan(wanted.layout, &self.settings(wanted, 0, budget), &self.machine)
        })
    }

    /// The plan of a graph whose shape may depend on the budget. A refusal names one that is
    /// enough.
    pub(super) fn plan(
        &self,
        wanted: &GraphRequest<'_>,
        held_bytes: u64,
        shape: impl Fn(u64) -> Shape,
    ) -> Result<Plan, EngineError> {
        let plan = |budget| self.plan_with(wanted, held_bytes, shape(budget), budget);
        plan::within(self.budget(), plan)
    }

    fn plan_with(
        &self,
        wanted: &GraphRequest<'_>,
        held_bytes: u64,
        shape: Shape,
        budget: u64,
    ) -> Result<Plan, EngineError> {
        let settings = self.settings(wanted, held_bytes, budget);
        // Edges that are merged must meet, and iterations that are kept are those of a graph.
        let merged = wanted.reading.duplicates != Duplicates::Keep;
        let input_scan = wanted.layout.input_scan.filter(|takes| {
            // Edges that are made take longer than edges that are read, in each pass.
            let pays = takes.always || !matches!(wanted.source, Source::Generator(..));
            pays && !merged && self.checkpoints.is_none()
        });
        let layout = Layout { input_scan, ..wanted.layout };
        self.granted(Plan::new(shape, layout, &settings, &self.machine), budget)
    }

    /// The plan, where the budget is also enough for what comes after it.
    pub(super) fn granted(
        &self,
        plan: Result<Plan, EngineError>,
        budget: u64,
    ) -> Result<Plan, EngineError> {
        let after = self.beside_bytes(budget) + self.least_bytes;
        match plan {
            Err(EngineError::Budget { need, budget, advice }) => {
                Err(EngineError::Budget { need: need.max(after), budget, advice })
            }
            Ok(_) if self.least_bytes > 0 && budget < after => {
                // Advice is given where it is known what would be enough.
                Err(EngineError::Budget { need: after, budget, advice: String::new() })
            }
            plan => plan,
        }
    }

    pub(super) fn settings(
        &self,
        wanted: &GraphRequest<'_>,
        held_bytes: u64,
        budget: u64,
    ) -> Settings {
        Settings {
            memory_bytes: Some(budget),
            process_bytes: self.beside_bytes(budget)
                + self.requests_bytes(wanted.source, &wanted.options, budget),
            frontier: wanted.frontier,
            index: wanted.index,
            device: self.device(),
            storage: match self.resources.edge_memory {
                Some(cache_bytes) => StorageMode::Always { cache_bytes, values: false },
                None => StorageMode::Auto,
            },
            ..self.resources.settings(held_bytes + wanted.source.held_bytes())
        }
    }
}

/// Bytes of a graph before it is read, as far as they are known: a generator has nothing stored.
fn graph_bytes(estimate: &Estimate) -> Option<u64> {
    let edges = estimate.edges.map(|edges| edges.saturating_mul(EDGE_BYTES));
    estimate.bytes.max(edges)
}

/// Slots of two segments of a graph.
const SEGMENTS_SLOTS: u64 = 2 << 12;
/// Bytes of an input that are in memory at a time, whatever else of it is.
const WINDOW_BYTES: u64 = 1 << 20;

/// A graph that is hardly larger than that of an input of which only a part was looked at.
struct Enough {
    edges: u64,
    slots: u64,
    /// Bytes that its ids take.
    ids_bytes: u64,
}

impl Enough {
    /// The estimate for about `edges` edges. Few graphs have more than a vertex for two edges,
    /// unless these are names, and names seldom more than 32 bytes.
    fn of(estimate: &Estimate, edges: u64) -> Self {
        let edges = if estimate.exact { edges } else { edges + edges / 16 };
        let named = estimate.ids == IdKind::Names;
        let many = if named { edges } else { edges / 2 }.max(1);
        // Few ids lie beyond the largest of a sample, but columns grow by segments.
        let seen = estimate.slots_seen.map(|seen| seen + seen / 16 + SEGMENTS_SLOTS);
        let slots = estimate.slots.unwrap_or(seen.unwrap_or(many));
        Self { edges, slots, ids_bytes: if named { slots * 40 } else { 0 } }
    }
}
