//! The columns of a run in memory, and the parts of them that stripes own.

use bytemuck::cast_slice_mut;
use welter_model::program::Program;

use crate::EngineError;
use crate::columns::stripe_columns::StripeColumns;
use crate::columns::striped::{ColumnPart, ColumnPlace, StripedColumn};
use crate::edges::graph::Graph;
use crate::kernels::shape::KernelShape;
use crate::machine::arena::Buffer;
use crate::machine::slices::{Slices, arranged};
use crate::machine::storage::Storage;

/// The columns of a run, as bytes.
pub(crate) struct State {
    pub(crate) shape: KernelShape,
    /// On storage when they do not fit in memory.
    pub(crate) values: StripedColumn,
    /// Signals that scatter reads, and those that the next dense iteration will read.
    pub(crate) signals: [Buffer<u8>; 2],
    /// Flags of active vertices, likewise, for programs whose vertices fall inactive; empty
    /// otherwise.
    pub(crate) active: [Buffer<u8>; 2],
    /// Accumulators of all vertices for sparse iterations, all of them the identity in between.
    /// Empty before the first of these.
    pub(crate) accums: Buffer<u8>,
    /// Totals by segment.
    pub(crate) totals: Vec<u8>,
    /// Vertices that are active.
    pub(crate) active_count: u64,
    /// Stripes by falling number of edges, so that the longest do not come last.
    pub(crate) order: Vec<usize>,
}

/// The columns of a run of a program, as elements.
pub(crate) struct Elements<'s, P: Program> {
    pub(crate) values: &'s mut [P::Value],
    pub(crate) signals: [&'s mut [P::Signal]; 2],
    pub(crate) active: [&'s mut [u8]; 2],
    pub(crate) accums: &'s mut [P::Accum],
    pub(crate) active_count: &'s mut u64,
    pub(crate) order: &'s [usize],
}

/// The part of the columns that belongs to one stripe.
pub(crate) struct StripeSlice<'a> {
    /// Number of the stripe.
    pub(crate) number: usize,
    pub(crate) values: ColumnPart<'a>,
    pub(crate) columns: StripeColumns<'a>,
    /// Bytes of states of its edges that are in memory.
    pub(crate) states: &'a mut [u8],
}

/// All parts, the largest first, and the columns that are read meanwhile.
pub(crate) struct StripeSlices<'a> {
    pub(crate) stripes: Vec<StripeSlice<'a>>,
    /// Place at which values are opened.
    pub(crate) values: ColumnPlace<'a>,
    pub(crate) signals: &'a [u8],
    pub(crate) active: &'a [u8],
}

impl State {
    pub(crate) fn new(
        graph: &Graph,
        shape: &KernelShape,
        storage: Option<&Storage>,
    ) -> Result<Self, EngineError> {
        let count = graph.vertices() as usize;
        let mut padded = count + graph.signal_padding();
        if shape.state > 0 {
            // Edges look up their targets too. A damaged key names some place of the signals and
            // none outside them.
            padded = padded.max(count + (1 << graph.layout.stripe_bits));
        }
        let flags = if shape.capabilities.frontier { padded } else { 0 };
        let mut order: Vec<usize> = (0..graph.stripes.len()).collect();
        order.sort_by_key(|&stripe| std::cmp::Reverse(graph.stripes[stripe].edges));
        // The bytes that earlier columns left in the arena are written over: by `init` what is read
        // first, by a dense iteration what the next one reads. Of the padding only a damaged key
        // reads.
        let arena = &graph.arena;
        let away = graph.plan.storage().is_some_and(|storage| storage.state.values_stored());
        let signals = || Buffer::used(padded * shape.signal, arena);
        let state = Self {
            shape: *shape,
            values: StripedColumn::new(graph, storage.filter(|_| away), shape.value)?,
            signals: [signals()?, signals()?],
            active: [Buffer::used(flags, arena)?, Buffer::used(flags, arena)?],
            accums: Buffer::zeroed(0)?,
            totals: vec![0; graph.vertices.segments() * shape.total],
            active_count: graph.vertices(),
            order,
        };
        arena.drop_columns();
        Ok(state)
    }

    /// Takes the columns, and leaves none.
    pub(crate) fn take(&mut self) -> Result<Self, EngineError> {
        let none = || Buffer::zeroed(0);
        let empty = Self {
            shape: self.shape,
            values: StripedColumn::empty(self.shape.value)?,
            signals: [none()?, none()?],
            active: [none()?, none()?],
            accums: none()?,
            totals: Vec::new(),
            active_count: 0,
            order: Vec::new(),
        };
        Ok(std::mem::replace(self, empty))
    }

    /// The columns as elements of a program of this shape.
    pub(crate) fn elements<P: Program>(&mut self) -> Elements<'_, P> {
        let Self { values, signals: [now, next], active: [active, silent], accums, .. } = self;
        Elements {
            values: values.elements_mut(),
            signals: [cast_slice_mut(now), cast_slice_mut(next)],
            active: [active, silent],
            accums: cast_slice_mut(accums),
            active_count: &mut self.active_count,
            order: &self.order,
        }
    }

    /// Cuts the columns by stripe.
    pub(crate) fn parts<'a>(&'a mut self, graph: &'a Graph) -> StripeSlices<'a> {
        let shape = self.shape;
        let [signals_now, signals_next] = &mut self.signals;
        let [active_now, active_next] = &mut self.active;
        let (parts, place) = self.values.parts(graph);
        let mut signals = Slices(&mut signals_next[..]);
        let mut active = Slices(&mut active_next[..]);
        let mut totals = Slices(&mut self.totals[..]);
        let parts =
            graph.stripes.iter().zip(parts).enumerate().map(|(number, (stripe, values))| {
                let width = stripe.width();
                let flags = if shape.capabilities.frontier { width } else { 0 };
                let columns = StripeColumns {
                    stripe,
                    signals: signals.take(width * shape.signal),
                    active: active.take(flags),
                    totals: totals.take(stripe.segments.len() * shape.total),
                    active_count: width as u64,
                };
                StripeSlice { number, values, columns, states: &mut [] }
            });
        let stripes = arranged(parts, &self.order);
        StripeSlices { stripes, values: place, signals: signals_now, active: active_now }
    }

    /// Ends a dense iteration: what was written is what is read next.
    pub(crate) fn swap(&mut self) {
        self.signals.swap(0, 1);
        self.active.swap(0, 1);
    }
}
