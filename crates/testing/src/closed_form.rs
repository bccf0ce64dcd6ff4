//! Graphs whose PageRank follows from mathematics (damping 0.85, lost rank spread or none lost), or
//! how many vertices lie how far from one of them.
//!
//! In a vertex-transitive graph all ranks are equal. In a star of `n` leaves the centre's rank `c`
//! and a leaf's rank `l` solve `c = 0.15/(n+1) + 0.85 n l` and `l = 0.15/(n+1) + 0.85 c/n`.

use crate::graph::Graph;

/// A graph and its converged ranks.
#[derive(Clone, Debug)]
pub struct Known {
    /// Name of the graph.
    pub name: String,
    /// Graph whose slots are all vertices.
    pub graph: Graph,
    /// Converged ranks by slot, for damping 0.85.
    pub ranks: Vec<f64>,
}

/// All graphs with known answers, in sizes from a handful to some thousand vertices.
pub fn known() -> Vec<Known> {
    let sized = |make: fn(u32) -> Known, sizes: &[u32]| sizes.iter().map(|n| make(*n)).collect();
    let all: [Vec<Known>; 4] = [
        sized(complete, &[2, 3, 50]),
        sized(hypercube, &[1, 4, 10]),
        sized(directed_cycle, &[2, 7, 5000]),
        sized(star, &[1, 8, 3000]),
    ];
    all.concat()
}

/// A graph, a search in it, and how many vertices lie how deep.
#[derive(Clone, Debug)]
pub struct Search {
    /// Name of the graph.
    pub name: String,
    /// Connected graph whose slots are all vertices.
    pub graph: Graph,
    /// Whether edges go both ways.
    pub undirected: bool,
    /// Vertex where the search begins.
    pub source: u32,
    /// Number of vertices of each depth. All are reached.
    pub levels: Vec<u64>,
}

/// Searches in graphs of up to some thousand vertices.
pub fn searches() -> Vec<Search> {
    let search = |known: Known, undirected, source, levels| Search {
        name: known.name,
        graph: known.graph,
        undirected,
        source,
        levels,
    };
    let binomials = vec![1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1];
    let both_ways = [vec![1], vec![2; 749], vec![1]].concat();
    vec![
        search(hypercube(10), false, 5, binomials),
        search(complete(50), false, 7, vec![1, 49]),
        search(star(3000), false, 9, vec![1, 1, 2999]),
        search(directed_cycle(1500), false, 0, vec![1; 1500]),
        search(directed_cycle(1500), true, 0, both_ways),
        grid(60, 90),
    ]
}

/// The grid of `rows` rows of `places` vertices, each edge once, and a search from a corner. One
/// row is a path.
pub fn grid(rows: u32, places: u32) -> Search {
    let at = |row: u32, place: u32| row * places + place;
    let right = (0..rows).flat_map(|row| (1..places).map(move |p| [at(row, p - 1), at(row, p)]));
    let down = (1..rows).flat_map(|row| (0..places).map(move |p| [at(row - 1, p), at(row, p)]));
    let (short, far) = (rows.min(places) - 1, rows + places - 2);
    // A depth is a diagonal, which lengthens from either corner until it meets the long sides.
    let diagonal = |depth: u32| u64::from(depth.min(far - depth).min(short) + 1);
    Search {
        name: format!("grid of {rows} by {places}"),
        graph: Graph::new((rows * places) as usize, right.chain(down).collect()),
        undirected: true,
        source: 0,
        levels: (0..=far).map(diagonal).collect(),
    }
}

/// The complete graph on `n` vertices.
pub fn complete(n: u32) -> Known {
    let others = |v| (0..n).filter(move |w| *w != v).map(move |w| [v, w]);
    even(format!("complete K_{n}"), n, (0..n).flat_map(others).collect())
}

/// The hypercube of `2^dimensions` vertices; neighbours differ in one bit.
pub fn hypercube(dimensions: u32) -> Known {
    let n = 1 << dimensions;
    let neighbours = |v| (0..dimensions).map(move |bit| [v, v ^ (1 << bit)]);
    even(format!("hypercube Q_{dimensions}"), n, (0..n).flat_map(neighbours).collect())
}

/// The directed cycle of `n` vertices.
pub fn directed_cycle(n: u32) -> Known {
    even(format!("directed cycle C_{n}"), n, (0..n).map(|v| [v, (v + 1) % n]).collect())
}

/// The undirected star: vertex 0 and `leaves` others.
pub fn star(leaves: u32) -> Known {
    let pairs = (1..=leaves).flat_map(|leaf| [[0, leaf], [leaf, 0]]).collect();
    let (n, base) = (f64::from(leaves), 0.15 / f64::from(leaves + 1));
    let centre = (base + 0.85 * n * base) / (1.0 - 0.85 * 0.85);
    let mut ranks = vec![base + 0.85 * centre / n; leaves as usize + 1];
    ranks[0] = centre;
    let graph = Graph::new(leaves as usize + 1, pairs);
    Known { name: format!("star S_{leaves}"), graph, ranks }
}

fn even(name: String, n: u32, pairs: Vec<[u32; 2]>) -> Known {
    let graph = Graph::new(n as usize, pairs);
    Known { name, graph, ranks: vec![1.0 / f64::from(n); n as usize] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Dangling, Stop, pagerank};
    use crate::relative_error;

    #[test]
    fn a_search_reaches_every_vertex() {
        for Search { name, graph, levels, .. } in searches() {
            assert_eq!(levels.iter().sum::<u64>(), graph.slots() as u64, "{name}");
        }
    }

    #[test]
    fn the_reference_finds_every_known_rank() {
        // 0.85^250 is below 1e-17: nothing is left of the start.
        let stop = Stop::Iterations(250);
        for Known { name, graph, ranks } in known() {
            let spread = pagerank(&graph, 0.85, stop, Dangling::Spread);
            assert!(relative_error(&ranks, &spread) < 1e-12, "{name}");
            // No vertex is dangling, so nothing is lost; the papers' ranks are V times as large.
            let dropped = pagerank(&graph, 0.85, stop, Dangling::Drop);
            assert!(relative_error(&ranks, &dropped) < 1e-12, "{name}, dropped");
            let papers = pagerank(&graph, 0.85, stop, Dangling::Papers);
            let scaled: Vec<f64> = papers.iter().map(|rank| rank / ranks.len() as f64).collect();
            assert!(relative_error(&ranks, &scaled) < 1e-12, "{name}, papers");
        }
    }
}
