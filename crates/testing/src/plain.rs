//! Components, forests and triangles by searches and loops, of another shape than what they judge.
//!
//! Vertices are their numbers among those of the graph ([`Graph::numbers`]).

use std::collections::BTreeSet;

use crate::graph::Graph;

/// An edge of a forest: the smaller end, the larger end, the weight.
pub type Branch = (u64, u64, f64);

/// The targets of each vertex, and the sources.
pub fn neighbours(graph: &Graph) -> [Vec<Vec<usize>>; 2] {
    let numbers = graph.numbers();
    let mut both = [vec![Vec::new(); graph.vertices()], vec![Vec::new(); graph.vertices()]];
    for pair in &graph.pairs {
        let [from, to] = pair.map(|slot| numbers[slot as usize]);
        both[0][from].push(to);
        both[1][to].push(from);
    }
    both
}

/// Vertices reached from one past those that are not free; each when all behind it was.
pub fn reached(rows: &[Vec<usize>], from: usize, free: &mut [bool]) -> Vec<usize> {
    let (mut done, mut stack) = (Vec::new(), Vec::new());
    if std::mem::take(&mut free[from]) {
        stack.push((from, 0));
    }
    while let Some((here, next)) = stack.last_mut() {
        if let Some(&there) = rows[*here].get(*next) {
            *next += 1;
            if std::mem::take(&mut free[there]) {
                stack.push((there, 0));
            }
        } else {
            done.push(*here);
            stack.pop();
        }
    }
    done
}

/// The smallest vertex of the component of each: what reaches it among those that are left, taken
/// in the reverse of the order in which searches were done with them (Kosaraju).
pub fn strong_components(graph: &Graph) -> Vec<u64> {
    let [targets, sources] = neighbours(graph);
    let mut free = vec![true; graph.vertices()];
    let order: Vec<usize> =
        (0..graph.vertices()).flat_map(|from| reached(&targets, from, &mut free)).collect();
    free.fill(true);
    let mut components = vec![0; graph.vertices()];
    for &from in order.iter().rev() {
        let members = reached(&sources, from, &mut free);
        let smallest = members.iter().min().copied().unwrap_or_default();
        for member in members {
            components[member] = smallest as u64;
        }
    }
    components
}

/// The smallest vertex that each hangs together with, whatever way edges point.
pub fn components(graph: &Graph) -> Vec<u64> {
    let [mut near, sources] = neighbours(graph);
    near.iter_mut().zip(sources).for_each(|(near, sources)| near.extend(sources));
    let mut free = vec![true; graph.vertices()];
    let mut components = vec![0; graph.vertices()];
    for smallest in 0..graph.vertices() {
        for member in reached(&near, smallest, &mut free) {
            components[member] = smallest as u64;
        }
    }
    components
}

/// The edges between two vertices, the lightest (or the heaviest) first, then by their ends.
pub fn by_cost(graph: &Graph, heaviest: bool) -> Vec<Branch> {
    let numbers = graph.numbers();
    let found = |(edge, pair): (usize, &[u32; 2])| {
        let [one, other] = pair.map(|slot| numbers[slot as usize] as u64);
        (one.min(other), one.max(other), graph.weight(edge))
    };
    let mut edges: Vec<Branch> = graph.pairs.iter().enumerate().map(found).collect();
    edges.retain(|(one, other, _)| one != other);
    edges.sort_by(|a, b| {
        let (one, other) = if heaviest { (b.2, a.2) } else { (a.2, b.2) };
        one.total_cmp(&other).then((a.0, a.1).cmp(&(b.0, b.1)))
    });
    edges
}

/// A spanning forest of the lightest (or the heaviest) edges, by their ends: takes the best ones,
/// but for those that close a cycle (Kruskal).
pub fn forest(graph: &Graph, heaviest: bool) -> Vec<Branch> {
    let mut components: Vec<u64> = (0..graph.vertices() as u64).collect();
    let mut forest = Vec::new();
    for edge in by_cost(graph, heaviest) {
        let [one, other] = [edge.0, edge.1].map(|end| components[end as usize]);
        if one != other {
            components.iter_mut().filter(|at| **at == one).for_each(|at| *at = other);
            forest.push(edge);
        }
    }
    forest.sort_by_key(|edge| (edge.0, edge.1));
    forest
}

/// Neighbours of each vertex, edges between these, and pairs of these that some edge joins, by
/// looking at all pairs.
pub fn closed(graph: &Graph) -> Vec<(usize, usize, usize)> {
    let numbers = graph.numbers();
    let ends = graph.pairs.iter().map(|pair| pair.map(|slot| numbers[slot as usize]));
    let arcs: BTreeSet<[usize; 2]> = ends.filter(|[from, to]| from != to).collect();
    let mut near = vec![BTreeSet::new(); graph.vertices()];
    for &[from, to] in &arcs {
        near[from].insert(to);
        near[to].insert(from);
    }
    let of = |near: &BTreeSet<usize>| {
        let pairs = || near.iter().flat_map(|u| near.range(u + 1..).map(move |w| [*u, *w]));
        let ways = |[u, w]: [usize; 2]| {
            usize::from(arcs.contains(&[u, w])) + usize::from(arcs.contains(&[w, u]))
        };
        let edges = pairs().map(ways).sum();
        (near.len(), edges, pairs().filter(|pair| ways(*pair) > 0).count())
    };
    near.iter().map(of).collect()
}
