//! Ends of edges: what they say, and what an edge with a state of its own makes of it.

use welter_model::extended::Extended;
use welter_model::program::Total;
use welter_model::stream::Edge;

use crate::kernels::kernel::fetch;
use crate::kernels::keys::Keys;
use crate::machine::dispatch::dispatched;

/// Edges between one whose source is asked of memory and the one that is shown.
const AHEAD: usize = 16;

/// Sets the values of some vertices to what `applied` makes of their places and values, and signals
/// with them. The total of all, and that of the last one.
#[inline(always)]
pub(crate) fn apply_vertices<E: Extended>(
    program: &E,
    values: &mut [E::Value],
    signals: &mut [E::Signal],
    applied: impl Fn(usize, E::Value) -> (E::Value, E::Total),
) -> [E::Total; 2] {
    let (mut sum, mut last) = (E::Total::default(), E::Total::default());
    for (place, (value, signal)) in values.iter_mut().zip(signals).enumerate() {
        (*value, last) = applied(place, *value);
        *signal = program.signal(value);
        sum = sum.merge(last);
    }
    [sum, last]
}

/// Signals of the sources of edges.
#[derive(Clone, Copy)]
pub(crate) enum SourceSignals<'a, S> {
    /// Signals by source, from the first source of a tile on.
    Sources(&'a [S]),
    /// Signals by edge, of some edges of a tile.
    Edges(&'a [S]),
}

/// Signals at the ends of a tile's edges.
pub(crate) struct EndpointSignals<'a, E: Extended> {
    pub(crate) program: &'a E,
    /// The numbers of the first source and of the first target.
    pub(crate) base: [usize; 2],
    pub(crate) source_signals: SourceSignals<'a, E::Signal>,
    pub(crate) targets: &'a [E::Signal],
}

impl<E: Extended> EndpointSignals<'_, E> {
    /// Shows edges with as many states, and hands the updates for their targets to `send`.
    pub(crate) fn run(
        &self,
        keys: Keys<'_>,
        weights: Option<&[f64]>,
        states: &mut [E::State],
        send: impl FnMut(usize, E::Update),
    ) {
        dispatched(
            #[inline(always)]
            || match weights {
                None => self.said_by(keys, |_| 1.0, states, send),
                Some(weights) => self.said_by(keys, |edge| weights[edge], states, send),
            },
        );
    }

    #[inline(always)]
    fn said_by(
        &self,
        keys: Keys<'_>,
        weight: impl Fn(usize) -> f64,
        states: &mut [E::State],
        send: impl FnMut(usize, E::Update),
    ) {
        let (all, target_bits) = (keys.keys(), keys.target_bits());
        match self.source_signals {
            SourceSignals::Sources(sources) => {
                let source_signals = |place: usize, source: usize| {
                    let later = all.get(place + AHEAD).map_or(0, |key| key >> target_bits);
                    fetch(sources, later as usize);
                    &sources[source]
                };
                self.show(keys, weight, source_signals, states, send);
            }
            SourceSignals::Edges(source_signals) => {
                self.show(keys, weight, |place, _| &source_signals[place], states, send);
            }
        }
    }

    #[inline(always)]
    fn show<'s>(
        &'s self,
        keys: Keys<'_>,
        weight: impl Fn(usize) -> f64,
        source_signals: impl Fn(usize, usize) -> &'s E::Signal,
        states: &mut [E::State],
        mut send: impl FnMut(usize, E::Update),
    ) {
        let program = self.program;
        let [first_source, first_target] = self.base;
        let (target_bits, mask) = (keys.target_bits(), keys.mask() as usize);
        let (keys, targets) = (keys.keys(), &self.targets[..keys.targets()]);
        for (place, (&key, state)) in keys.iter().zip(states).enumerate() {
            let (source, target) = (key as usize >> target_bits, key as usize & mask);
            let edge = Edge {
                source: (first_source + source) as u32,
                target: (first_target + target) as u32,
                weight: weight(place),
            };
            send(
                target,
                program.edge(edge, source_signals(place, source), &targets[target], state),
            );
        }
    }
}
