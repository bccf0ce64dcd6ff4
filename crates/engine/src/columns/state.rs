//! The columns of a run, and the parts of them that stripes own.

use std::ops::Range;
use std::sync::Mutex;

use welter_model::program::{Program, Total};

use crate::EngineError;
use crate::columns::results::Values;
use crate::columns::values::StoredValues;
use crate::edges::graph::{Graph, Stripe};
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::storage::Storage;

/// The columns of a run.
pub(crate) struct State<P: Program> {
    pub(crate) values: Buffer<P::Value>,
    /// Where values are instead, when they do not fit in memory.
    pub(crate) stored: Option<StoredValues>,
    /// Signals that scatter reads, and those that the next dense iteration will read.
    pub(crate) signals: [Buffer<P::Signal>; 2],
    /// Flags of active vertices, likewise, for programs whose vertices fall inactive; empty
    /// otherwise.
    pub(crate) active: [Buffer<u8>; 2],
    /// Accumulators of all vertices for sparse iterations, all of them the identity in between.
    /// Empty for programs that are not monotone.
    pub(crate) accums: Buffer<P::Accum>,
    /// Totals by segment.
    pub(crate) totals: Vec<P::Total>,
    /// Vertices that are active.
    pub(crate) active_count: u64,
    /// Stripes by falling number of edges, so that the longest do not come last.
    pub(crate) order: Vec<usize>,
}

/// The part of the columns that belongs to one stripe.
pub(crate) struct Part<'a, P: Program> {
    pub(crate) stripe: &'a Stripe,
    pub(crate) values: &'a mut [P::Value],
    pub(crate) signals: &'a mut [P::Signal],
    pub(crate) active: &'a mut [u8],
    pub(crate) totals: &'a mut [P::Total],
    pub(crate) active_count: u64,
}

/// All parts, and the columns that are read meanwhile.
pub(crate) struct Parts<'a, P: Program> {
    pub(crate) stripes: Vec<Mutex<Part<'a, P>>>,
    pub(crate) stored: Option<&'a StoredValues>,
    pub(crate) signals: &'a [P::Signal],
    pub(crate) active: &'a [u8],
}

impl<P: Program> Part<'_, P> {
    /// No update came: in a monotone program vertices are what they were, and silent. `signals`:
    /// what all of them said last.
    pub(crate) fn stay(&mut self, signals: &[P::Signal]) {
        let Range { start, end } = self.stripe.vertices;
        self.signals.copy_from_slice(&signals[start as usize..end as usize]);
        self.active.fill(0);
        self.totals.fill(P::Total::default());
        self.active_count = 0;
    }
}

impl<P: Program> State<P> {
    pub(crate) fn new(graph: &Graph, storage: Option<&Storage>) -> Result<Self, EngineError> {
        let count = graph.vertices() as usize;
        let padded = count + graph.signal_padding();
        let flags = if P::FRONTIER { padded } else { 0 };
        let mut order: Vec<usize> = (0..graph.stripes.len()).collect();
        order.sort_by_key(|&stripe| std::cmp::Reverse(graph.stripes[stripe].edges));
        // What earlier columns left in the arena is written over: by `init` what is read first, by
        // a dense iteration what the next one reads. Of the padding only a damaged key reads.
        let arena = &graph.arena;
        let away = graph.plan.storage().is_some_and(|storage| storage.state.values_stored());
        let stored = storage.filter(|_| away);
        let stored = stored.map(|storage| StoredValues::new::<P::Value>(graph, storage));
        let stored = stored.transpose()?;
        let state = Self {
            values: Buffer::used(if stored.is_some() { 0 } else { count }, arena)?,
            stored,
            signals: [Buffer::used(padded, arena)?, Buffer::used(padded, arena)?],
            active: [Buffer::used(flags, arena)?, Buffer::used(flags, arena)?],
            accums: Buffer::zeroed(0)?,
            totals: vec![P::Total::default(); graph.vertices.segments()],
            active_count: graph.vertices(),
            order,
        };
        arena.drop_columns();
        Ok(state)
    }

    /// The values of all vertices; all else goes first.
    pub(crate) fn into_values(self, graph: &Graph) -> Values<P::Value> {
        let Self { values, stored, signals, active, accums, .. } = self;
        let Some(stored) = stored else { return Values::resident(values) };
        drop((values, signals, active, accums));
        graph.arena.drop_columns();
        Values::stored(stored, graph)
    }

    /// Cuts the columns by stripe.
    pub(crate) fn parts<'a>(&'a mut self, graph: &'a Graph) -> Parts<'a, P> {
        let [signals_now, signals_next] = &mut self.signals;
        let [active_now, active_next] = &mut self.active;
        let stored = self.stored.as_ref();
        let mut values = Slices(&mut self.values[..]);
        let mut signals = Slices(&mut signals_next[..]);
        let mut active = Slices(&mut active_next[..]);
        let mut totals = Slices(&mut self.totals[..]);
        let parts = graph.stripes.iter().map(|stripe| {
            let width = stripe.width();
            let flags = if P::FRONTIER { width } else { 0 };
            Mutex::new(Part {
                stripe,
                values: values.take(if stored.is_some() { 0 } else { width }),
                signals: signals.take(width),
                active: active.take(flags),
                totals: totals.take(stripe.segments.len()),
                active_count: width as u64,
            })
        });
        Parts { stripes: parts.collect(), stored, signals: signals_now, active: active_now }
    }

    /// Ends a dense iteration: what was written is what is read next. Merges totals in their order.
    pub(crate) fn close(&mut self) -> P::Total {
        self.signals.swap(0, 1);
        self.active.swap(0, 1);
        self.totals.iter().fold(P::Total::default(), |sum, total| sum.merge(*total))
    }
}

/// The vertices of each segment of a stripe, relative to the stripe.
pub(crate) fn segments<'a>(
    graph: &'a Graph,
    stripe: &'a Stripe,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let place = |segment| (graph.vertices.segment_start(segment) - stripe.vertices.start) as usize;
    stripe.segments.clone().map(move |segment| place(segment)..place(segment + 1))
}
