//! A program whose edges have state, made to notice.
//!
//! Edges hash what they see, so any edge that is shown twice, to another state, in another order or
//! with what another vertex said changes all that follows.

use welter_model::extended::Extended;
use welter_model::limit::Limit;
use welter_model::program::{Next, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

/// A number of iterations of hashing.
#[derive(Debug)]
pub struct Hashed(pub u64);

/// A number of iterations of hashing, in which the order of updates makes no difference, nor how
/// many edges leave a vertex. Parallel edges are alike.
#[derive(Debug)]
pub struct UnorderedHashes(pub u64);

/// Hash that a vertex has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Hash(pub u64);

impl Value for Hash {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("hash", ColumnData::U64(values.iter().map(|value| value.0).collect()))]
    }
}

fn mixed(number: u64) -> u64 {
    (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The state of an edge that sees this, which is also its update.
fn shown(edge: Edge, source: u64, target: u64, state: u64) -> u64 {
    let ends = u64::from(edge.source) << 32 | u64::from(edge.target);
    let message = source.rotate_left(7) ^ target.rotate_left(31);
    mixed(state ^ message ^ ends ^ edge.weight.to_bits())
}

impl Extended for Hashed {
    type Value = Hash;
    type Signal = u64;
    type State = u64;
    type Update = u64;
    type Accum = u64;
    type Total = ();

    const WEIGHTED: bool = true;
    const SYMMETRIC: bool = false;

    fn init(&self, vertex: Vertex) -> (Hash, ()) {
        (Hash(mixed(vertex.index + (vertex.out_degree << 32))), ())
    }

    /// A hash of the value, and not the value: on some routes it is made of that once more.
    fn signal(&self, value: &Hash) -> u64 {
        mixed(value.0.wrapping_add(1))
    }

    fn edge(&self, edge: Edge, source: &u64, target: &u64, state: &mut u64) -> u64 {
        *state = shown(edge, *source, *target, *state);
        *state
    }

    fn identity(&self) -> u64 {
        0
    }

    /// The order of updates makes a difference.
    fn gather(&self, accum: u64, update: u64) -> u64 {
        mixed(accum ^ update)
    }

    fn apply(&self, value: Hash, accum: u64, (): &()) -> (Hash, ()) {
        (Hash(mixed(value.0 ^ accum)), ())
    }

    fn next(&self, iterations: u64, (): &()) -> Next {
        if iterations < self.0 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.0)
    }
}

impl Extended for UnorderedHashes {
    type Value = Hash;
    type Signal = u64;
    type State = u64;
    type Update = u64;
    type Accum = u64;
    type Total = ();

    const WEIGHTED: bool = true;
    const SYMMETRIC: bool = false;
    const DEGREES: bool = false;

    fn init(&self, vertex: Vertex) -> (Hash, ()) {
        (Hash(mixed(vertex.index + 1)), ())
    }

    fn signal(&self, value: &Hash) -> u64 {
        mixed(value.0.wrapping_add(1))
    }

    fn edge(&self, edge: Edge, source: &u64, target: &u64, state: &mut u64) -> u64 {
        *state = shown(edge, *source, *target, *state);
        *state
    }

    fn identity(&self) -> u64 {
        0
    }

    fn gather(&self, accum: u64, update: u64) -> u64 {
        accum.wrapping_add(update)
    }

    fn apply(&self, value: Hash, accum: u64, (): &()) -> (Hash, ()) {
        (Hash(mixed(value.0 ^ accum)), ())
    }

    fn next(&self, iterations: u64, (): &()) -> Next {
        if iterations < self.0 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.0)
    }
}
