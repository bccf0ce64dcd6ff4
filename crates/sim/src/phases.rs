//! A program of several phases: strongly connected components by colours, as a fold program whose
//! stage travels with its totals.
//!
//! ```text
//! Forward   colour(v) = min of colour(u) over edges u -> v, until none changes; at first v itself
//! Backward  v is reached if colour(v) = v, or an edge v -> w leads to a reached w of its colour
//! then      component(v) = colour(v) of all that are reached; the others begin anew
//! ```
//!
//! When colours have settled, `colour(w) <= colour(v)` along every edge, so the largest colour of
//! the reached successors tells whether one of them has the colour of `v`: a minimum, or a maximum,
//! is all that is ever gathered. The stage of an iteration stands in all values. `apply` sees in
//! the totals of the last iteration whether it changed anything, so all vertices move on together,
//! and a checkpoint holds the stage like any value.
//!
//! Edges are followed both ways, so the graph is read with
//! [`Duplicates::Directions`](welter_model::edges::Duplicates::Directions).

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Colours;

const FORWARD: u32 = 0;
const BACKWARD: u32 = 1;
/// No component yet, or no update.
const NONE: u32 = u32::MAX;

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct State {
    vertex: u32,
    component: u32,
    colour: u32,
    reached: u32,
    stage: u32,
}

impl Value for State {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let components = values.iter().map(|value| value.component.into()).collect();
        vec![("component", ColumnData::Vertices(components))]
    }
}

/// Counts of all vertices in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PhaseCounts {
    changed: u64,
    open: u64,
    stage: u64,
}

impl Total for PhaseCounts {
    fn merge(self, other: Self) -> Self {
        Self {
            changed: self.changed + other.changed,
            open: self.open + other.open,
            stage: self.stage.max(other.stage),
        }
    }
}

impl State {
    fn applied(self, changed: bool) -> Applied<Self, PhaseCounts> {
        let open = u64::from(self.component == NONE);
        let total = PhaseCounts { changed: changed.into(), open, stage: self.stage.into() };
        Applied::active(self, total)
    }

    /// The first state of the next stage.
    fn moved_on(self) -> Self {
        let Self { vertex, component, colour, reached, stage } = self;
        if stage == FORWARD {
            return Self { stage: BACKWARD, reached: u32::from(colour == vertex), ..self };
        }
        let component = if component == NONE && reached == 1 { colour } else { component };
        Self { vertex, component, colour: vertex, reached: 0, stage: FORWARD }
    }
}

impl Program for Colours {
    type Value = State;
    type Signal = State;
    type Update = u32;
    type Accum = u32;
    type Total = PhaseCounts;

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;

    fn init(&self, vertex: Vertex) -> Applied<State, PhaseCounts> {
        let vertex = vertex.index as u32;
        State { vertex, component: NONE, colour: vertex, reached: 0, stage: FORWARD }.applied(true)
    }

    fn signal(&self, value: &State) -> State {
        *value
    }

    /// Weights: 1 along an edge, 2 against it, 3 where there is one each way.
    fn scatter(&self, state: State, weight: f64) -> Option<u32> {
        let ways = weight as u32;
        let (along, against) = (ways & 1 == 1, ways & 2 == 2);
        let speaks = state.component == NONE;
        match state.stage {
            FORWARD => (speaks && along).then_some(state.colour),
            // The largest colour is the smallest of these.
            _ => (speaks && against && state.reached == 1).then_some(NONE - 1 - state.colour),
        }
    }

    fn identity(&self) -> u32 {
        NONE
    }

    fn gather(&self, accum: u32, update: u32) -> u32 {
        accum.min(update)
    }

    fn merge(&self, left: u32, right: u32) -> u32 {
        left.min(right)
    }

    fn apply(&self, state: State, accum: u32, last: &PhaseCounts) -> Applied<State, PhaseCounts> {
        if last.changed == 0 && last.stage == u64::from(state.stage) {
            return state.moved_on().applied(true);
        }
        if state.component != NONE || accum == NONE {
            return state.applied(false);
        }
        match state.stage {
            FORWARD if accum < state.colour => State { colour: accum, ..state }.applied(true),
            BACKWARD if state.reached == 0 && NONE - 1 - accum == state.colour => {
                State { reached: 1, ..state }.applied(true)
            }
            _ => state.applied(false),
        }
    }

    fn next(&self, _: u64, total: &PhaseCounts) -> Next {
        if total.open > 0 { Next::Iterate } else { Next::Stop }
    }

    /// A round decides the smallest vertex that is open, and what spreads in it, twice, passes less
    /// than `V` edges.
    fn limit(&self) -> Limit {
        let invariant = "each round decides the open vertex with the smallest number";
        let most = |vertices: u64| vertices.saturating_mul(2 * vertices + 8);
        Limit::Proved { most, invariant }
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::{Duplicates, Reading};
    use welter_protocol::random::Random;
    use welter_testing::interpreter::interpret;
    use welter_testing::reading::read_as;

    use super::*;
    use crate::catalogue::graph;

    #[test]
    fn components_are_who_reach_each_other() {
        for seed in 0..200 {
            let graph = graph(&mut Random::new(seed), 30, 60);
            let reading = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
            let found = interpret(&read_as(&graph, reading), &Colours).values;
            // Warshall: who reaches whom.
            let count = graph.slots();
            let mut reaches = vec![vec![false; count]; count];
            (0..count).for_each(|vertex| reaches[vertex][vertex] = true);
            for &[from, to] in &graph.pairs {
                reaches[from as usize][to as usize] = true;
            }
            for over in 0..count {
                for from in 0..count {
                    if reaches[from][over] {
                        let farther = reaches[over].clone();
                        for (reached, also) in reaches[from].iter_mut().zip(farther) {
                            *reached |= also;
                        }
                    }
                }
            }
            for (vertex, state) in found.iter().enumerate() {
                let both = |other: &usize| reaches[vertex][*other] && reaches[*other][vertex];
                let smallest = (0..count).find(both).map(|first| first as u32);
                assert_eq!(Some(state.component), smallest, "seed {seed}, vertex {vertex}");
            }
        }
    }
}
