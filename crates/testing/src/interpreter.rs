//! The definitions of a fold program, of an extended one and of one that contracts, as loops: what
//! every executor must agree with.

use bytemuck::{Zeroable, cast_slice};
use welter_model::contract::{Contract, RewrittenEdge};
use welter_model::extended::Extended;
use welter_model::limit::Limit;
use welter_model::program::{Next, Program, Total, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

use crate::graph::Graph;

/// Answer of a run, on any executor.
#[derive(Clone, Debug)]
pub struct Answer<V, T> {
    /// Values of the vertices, in the order of their slots.
    pub values: Vec<V>,
    /// Iterations that were done.
    pub iterations: u64,
    /// Whether all vertices were at the same iteration all along; else their number says little.
    pub in_step: bool,
    /// Totals of the last one.
    pub total: T,
    /// Totals of `init`, and of each iteration.
    pub totals: Vec<T>,
}

impl<V: Value, T> Answer<V, T> {
    /// The bytes of all values.
    pub fn bits(&self) -> Vec<u8> {
        cast_slice(&self.values).to_vec()
    }

    /// The columns of the result, one after the other.
    ///
    /// # Panics
    /// When a column has a type that this crate does not know.
    pub fn numbers(&self) -> Vec<f64> {
        let numbers = |data| match data {
            ColumnData::F32(values) => values.into_iter().map(f64::from).collect(),
            ColumnData::F64(values) => values,
            ColumnData::U64(values) | ColumnData::Vertices(values) => {
                values.into_iter().map(|value| value as f64).collect()
            }
            ColumnData::U32(values) => values.into_iter().map(f64::from).collect(),
            ColumnData::I64(values) => values.into_iter().map(|value| value as f64).collect(),
            other => panic!("{other:?} is not known"),
        };
        V::columns(&self.values)
            .into_iter()
            .flat_map(|(_, data)| -> Vec<f64> { numbers(data) })
            .collect()
    }
}

/// Runs a program on a graph, one edge after the other.
///
/// Updates meet an accumulator in the order of their sources, those of parallel edges in input
/// order: the order that the route `fold` promises, so that even sums of floats can be compared bit
/// by bit. Totals are merged in the order of the vertices.
pub fn interpret<P: Program>(graph: &Graph, program: &P) -> Answer<P::Value, P::Total> {
    let numbers = graph.numbers();
    let mut edges: Vec<usize> = (0..graph.pairs.len()).collect();
    edges.sort_by_key(|&edge| graph.pairs[edge][0]);
    let ends = |edge: usize| graph.pairs[edge].map(|slot| numbers[slot as usize]);
    let mut degrees = vec![0; graph.vertices()];
    for &edge in &edges {
        degrees[ends(edge)[0]] += 1;
    }

    let mut total = P::Total::default();
    let mut values = Vec::new();
    let mut active = Vec::new();
    for (index, &out_degree) in degrees.iter().enumerate() {
        let first = program.init(Vertex { index: index as u64, out_degree });
        values.push(first.value);
        total = total.merge(first.total);
        active.push(first.active || !P::FRONTIER);
    }
    let mut totals = vec![total];
    let mut iterations = 0;
    while program.next(iterations, &total) == Next::Iterate && active.contains(&true) {
        within(program.limit(), iterations, values.len());
        let signals: Vec<P::Signal> = values.iter().map(|value| program.signal(value)).collect();
        let mut accums: Vec<P::Accum> =
            values.iter().map(|value| program.init_accum(value)).collect();
        let mut groups = vec![Vec::new(); if P::GROUPS { values.len() } else { 0 }];
        for &edge in &edges {
            let [from, to] = ends(edge);
            let weight = if P::WEIGHTED { graph.weight(edge) } else { 1.0 };
            let update = active[from].then(|| program.scatter(signals[from], weight)).flatten();
            match update {
                Some(update) if P::GROUPS => groups[to].push(update),
                Some(update) => accums[to] = program.gather(accums[to], update),
                None => {}
            }
        }
        for (accum, mut group) in accums.iter_mut().zip(groups) {
            group.sort_by(|left, right| program.order(left, right));
            *accum = group.into_iter().fold(*accum, |accum, update| program.gather(accum, update));
        }
        let mut sum = P::Total::default();
        for (vertex, value) in values.iter_mut().enumerate() {
            let applied = program.apply(*value, accums[vertex], &total);
            *value = applied.value;
            sum = sum.merge(applied.total);
            active[vertex] = applied.active || !P::FRONTIER;
        }
        total = sum;
        totals.push(total);
        iterations += 1;
    }
    Answer { values, iterations, in_step: true, total, totals }
}

/// Runs an extended program on a graph, one edge after the other: by their sources, parallel ones
/// in input order.
pub fn interpret_extended<E: Extended>(graph: &Graph, program: &E) -> Answer<E::Value, E::Total> {
    let numbers = graph.numbers();
    let mut order: Vec<usize> = (0..graph.pairs.len()).collect();
    order.sort_by_key(|&edge| graph.pairs[edge][0]);
    let edge = |edge: usize| {
        let [source, target] = graph.pairs[edge].map(|slot| numbers[slot as usize] as u32);
        let weight = if E::WEIGHTED { graph.weight(edge) } else { 1.0 };
        (Edge { source, target, weight }, E::State::zeroed())
    };
    let mut edges: Vec<(Edge, E::State)> = order.into_iter().map(edge).collect();
    let mut degrees = vec![0; graph.vertices()];
    for (edge, _) in &edges {
        degrees[edge.source as usize] += 1;
    }

    let (mut values, mut total) = begin(&degrees, |vertex| program.init(vertex));
    let mut totals = vec![total];
    let mut iterations = 0;
    while program.next(iterations, &total) == Next::Iterate {
        within(program.limit(), iterations, values.len());
        let signals: Vec<E::Signal> = values.iter().map(|value| program.signal(value)).collect();
        let mut accums = vec![program.identity(); values.len()];
        for (edge, state) in &mut edges {
            let [source, target] = [edge.source, edge.target].map(|end| end as usize);
            let update = program.edge(*edge, &signals[source], &signals[target], state);
            accums[target] = program.gather(accums[target], update);
        }
        let mut sum = E::Total::default();
        for (value, accum) in values.iter_mut().zip(accums) {
            let (new, own) = program.apply(*value, accum, &total);
            *value = new;
            sum = sum.merge(own);
        }
        total = sum;
        totals.push(total);
        iterations += 1;
    }
    Answer { values, iterations, in_step: true, total, totals }
}

/// Runs a contracting program on a graph, one edge after the other.
pub fn interpret_contract<C: Contract>(graph: &Graph, program: &C) -> Answer<C::Value, C::Total> {
    let numbers = graph.numbers();
    let hold = |edge: usize| {
        let [source, target] = graph.pairs[edge].map(|slot| numbers[slot as usize] as u32);
        let weight = if C::WEIGHTED { graph.weight(edge) } else { 1.0 };
        RewrittenEdge { source, target, data: program.edge_data(Edge { source, target, weight }) }
    };
    let mut edges: Vec<RewrittenEdge<C::EdgeData>> = (0..graph.pairs.len()).map(hold).collect();
    let mut degrees = vec![0; graph.vertices()];
    for edge in &edges {
        degrees[edge.source as usize] += 1;
    }
    let (mut values, mut total) = begin(&degrees, |vertex| program.init(vertex));
    let mut totals = vec![total];
    let mut iterations = 0;
    while program.next(iterations, &total) == Next::Iterate {
        within(program.limit(), iterations, values.len());
        let mut messages: Vec<Option<C::Update>> = vec![None; values.len()];
        let rewrites = program.rewrites(&total);
        let mut left = Vec::new();
        for edge in edges {
            let ends = [edge.source, edge.target].map(|end| &values[end as usize]);
            let (message, becomes) = program.rewrite(edge, ends, &total);
            if let Some(message) = message {
                let messages = &mut messages[edge.target as usize];
                *messages = Some(messages.map_or(message, |before| program.merge(before, message)));
            }
            left.extend(if rewrites { becomes } else { Some(edge) });
        }
        edges = left;
        let mut sum = C::Total::default();
        for (value, messages) in values.iter_mut().zip(messages) {
            let (new, own) = program.apply(*value, messages, &total);
            *value = new;
            sum = sum.merge(own);
        }
        total = sum;
        totals.push(total);
        iterations += 1;
    }
    Answer { values, iterations, in_step: true, total, totals }
}

/// Compares a run that begins another iteration with the limit of its program.
fn within(limit: Limit, iterations: u64, vertices: usize) {
    let most = limit.iterations(vertices as u64);
    assert!(iterations < most, "more than {most} iterations: {limit:?}");
}

/// First values of vertices with these degrees, and their total.
fn begin<V, T: Total>(degrees: &[u64], init: impl Fn(Vertex) -> (V, T)) -> (Vec<V>, T) {
    let vertices = degrees.iter().enumerate();
    let first =
        vertices.map(|(index, &out_degree)| init(Vertex { index: index as u64, out_degree }));
    let (values, totals): (Vec<V>, Vec<T>) = first.unzip();
    (values, totals.into_iter().fold(T::default(), T::merge))
}
