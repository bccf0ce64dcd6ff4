//! Programs over triangles as jobs: streamed set intersection in blocks of vertices, as a fold
//! program of two phases a block.
//!
//! ```text
//! Show   marks(u) = { b in block : an edge joins b and u }      b tells its neighbours
//! Meet   met(v, b) = number of u in N(v) with b in marks(u)     u tells its neighbours marks(u)
//! then   closed(v) += sum over b in marks(v) of met(v, b)       pairs u, b of N(v) with an edge
//! ```
//!
//! Each pair comes up twice, once with either end in the block of the phase. Where a program counts
//! the directions of the edge on the far side, a mark says whether there are both. What is folded
//! are sets and counts, so this is a program like any other, by either route: blocks bound what a
//! vertex has to hold, as they do in the engine.
//!
//! Edges are followed both ways, without loops, each pair of neighbours joined by one edge.

use bytemuck::{Pod, Zeroable};
use welter_model::intersect::Intersect;
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;
use welter_testing::graph::Graph;
use welter_testing::plain::closed;

use crate::kernel_job::{KernelJob, numbers};

/// Vertices in a block.
const BLOCK: u32 = 16;

/// The job of a program on a graph as it was given, and as it is to be read.
pub fn intersect_job<I: Intersect + Copy + Send + 'static>(
    name: &'static str,
    [given, read]: [&Graph; 2],
    program: I,
) -> KernelJob {
    let of = |(neighbours, edges, pairs): (usize, usize, usize)| {
        let closed = if I::DIRECTED { edges } else { pairs };
        program.value(neighbours as u64, closed as u64)
    };
    let expected: Vec<f64> = numbers(&closed(given).into_iter().map(of).collect::<Vec<_>>());
    let judge = move |states: &[State], _| {
        let of =
            |state: &State| program.value(state.neighbours.into(), u64::from(state.closed) / 2);
        let found = numbers(&states.iter().map(of).collect::<Vec<_>>());
        let bits =
            |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        if bits(&found) == bits(&expected) {
            return Ok(());
        }
        Err(format!("{found:?} are not {expected:?}"))
    };
    let blocks = (read.slots() as u64).div_ceil(BLOCK.into());
    KernelJob::judged(name, read, Blocks { blocks, program }, Box::new(judge))
}

/// The fold program.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<I> {
    blocks: u64,
    #[expect(dead_code, reason = "its value is made when all is counted")]
    program: I,
}

/// Vertices of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Marks {
    /// Vertices that an edge leads to, or from.
    any: u32,
    /// Vertices with both.
    both: u32,
}

impl Marks {
    fn or(self, other: Self) -> Self {
        Self { any: self.any | other.any, both: self.both | other.both }
    }
}

/// State of a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct State {
    vertex: u32,
    neighbours: u32,
    /// Twice.
    closed: u32,
    /// Phases that were done.
    phases: u32,
    marks: Marks,
}

impl Value for State {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("closed", ColumnData::U32(values.iter().map(|value| value.closed).collect()))]
    }
}

/// Messages that a vertex got in a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Told {
    marks: Marks,
    met: [u32; BLOCK as usize],
}

impl<I: Intersect> Program for Blocks<I> {
    type Value = State;
    type Signal = State;
    type Update = Marks;
    type Accum = Told;
    type Total = ();

    const WEIGHTED: bool = I::DIRECTED;

    fn init(&self, vertex: Vertex) -> Applied<State, ()> {
        let (vertex, neighbours) = (vertex.index as u32, vertex.out_degree as u32);
        Applied::active(State { vertex, neighbours, ..State::default() }, ())
    }

    fn signal(&self, value: &State) -> State {
        *value
    }

    /// Weights: 1 along an edge, 2 against it, 3 where there is one each way.
    fn scatter(&self, state: State, weight: f64) -> Option<Marks> {
        if state.phases % 2 == 1 {
            return (state.marks.any != 0).then_some(state.marks);
        }
        let any = 1 << (state.vertex % BLOCK);
        let both = if I::DIRECTED && weight as u32 == 3 { any } else { 0 };
        (state.vertex / BLOCK == state.phases / 2).then_some(Marks { any, both })
    }

    fn identity(&self) -> Told {
        Told::default()
    }

    fn gather(&self, accum: Told, update: Marks) -> Told {
        let ways = |bit: usize| (update.any >> bit & 1) + (update.both >> bit & 1);
        let met = std::array::from_fn(|bit| accum.met[bit] + ways(bit));
        Told { marks: accum.marks.or(update), met }
    }

    fn merge(&self, left: Told, right: Told) -> Told {
        let met = std::array::from_fn(|bit| left.met[bit] + right.met[bit]);
        Told { marks: left.marks.or(right.marks), met }
    }

    fn apply(&self, state: State, told: Told, (): &()) -> Applied<State, ()> {
        let State { marks, closed, phases, .. } = state;
        let phases = phases + 1;
        if phases % 2 == 1 {
            return Applied::active(State { phases, marks: told.marks, ..state }, ());
        }
        let met = told.met.iter().enumerate().filter(|(bit, _)| marks.any >> bit & 1 == 1);
        let closed = met.fold(closed, |sum, (_, met)| sum + met);
        Applied::active(State { phases, closed, marks: Marks::default(), ..state }, ())
    }

    fn next(&self, iterations: u64, (): &()) -> Next {
        if iterations < 2 * self.blocks { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(2 * self.blocks)
    }
}
