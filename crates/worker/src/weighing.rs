//! Weights of the vertices of a machine's share of the input, so that partitions can have bounds by
//! edges: what all machines have counted, summed, says where these are
//! ([`welter_protocol::weights`]).
//!
//! ```text
//! edges by cells       an edge counts where it leads to: there it is streamed
//! by their sources     it counts at both ends: it is streamed at one, and its update at the other
//! ```
//!
//! **Invariant:** shares weigh together as all edges do in one. Tested by
//! `shares_weigh_together_as_all_edges_do`.

use welter_engine::EngineError;
use welter_protocol::weights::Weights;

use crate::ingest::no_vertex;
use crate::input::{Input, InputEdge};

/// Adds the edges of a share of the input, of which `edges_max` are read at a time.
///
/// # Errors
/// When the input cannot be read, or has an edge of a vertex that there is not.
pub fn weigh(
    input: &mut dyn Input,
    edges_max: usize,
    by_cells: bool,
    weights: &mut Weights,
) -> Result<(), EngineError> {
    input.begin();
    loop {
        let (edges, is_last) = input.piece(edges_max)?;
        add(edges, by_cells, weights)?;
        if is_last {
            return Ok(());
        }
    }
}

/// Adds the edges of a share of the input, at both ends, by a sample of them.
///
/// # Errors
/// As of [`weigh`].
pub fn weigh_sample(
    input: &mut dyn Input,
    edges_max: usize,
    weights: &mut Weights,
) -> Result<(), EngineError> {
    let (mut sample, mut failed) = (weights.empty(), None);
    let each = input.sample(edges_max, &mut |edges| {
        failed = add(edges, false, &mut sample).err();
        failed.is_none()
    })?;
    failed.map_or(Ok(()), Err)?;
    weights.add_times(&sample, each);
    Ok(())
}

/// Adds edges where they lead to, or at both ends.
fn add(edges: &[InputEdge], by_cells: bool, weights: &mut Weights) -> Result<(), EngineError> {
    for edge in edges {
        if edge.source.max(edge.target) >= weights.vertices() {
            return Err(no_vertex(edge, weights.vertices()));
        }
        weights.count(edge.target);
        if !by_cells {
            weights.count(edge.source);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Listed;

    fn listed(pairs: &[[u32; 2]]) -> Listed {
        let edge = |pair: &[u32; 2]| {
            let [source, target] = pair.map(u64::from);
            InputEdge { source, target, weight: 1.0 }
        };
        Listed::new(pairs.iter().map(edge).collect::<Vec<_>>())
    }

    #[test]
    fn shares_weigh_together_as_all_edges_do() {
        let pairs: Vec<[u32; 2]> = (0..100).map(|edge| [edge % 7, edge * edge % 11]).collect();
        for by_cells in [false, true] {
            let mut expected = Weights::new(11);
            for &[source, target] in &pairs {
                expected.count(target.into());
                if !by_cells {
                    expected.count(source.into());
                }
            }
            for share in [1, 3, 40, 100] {
                let mut found = Weights::new(11);
                for pairs in pairs.chunks(share) {
                    let mut one = Weights::new(11);
                    weigh(&mut listed(pairs), 7, by_cells, &mut one).unwrap();
                    found.add(&one);
                }
                assert_eq!(found, expected, "{share} edges each");
                let mut found = Weights::new(11);
                for pairs in pairs.chunks(share) {
                    weigh_sample(&mut listed(pairs), 7, &mut found).unwrap();
                }
                assert_eq!(found == expected, !by_cells, "a list is its own sample");
            }
        }
        let error = weigh(&mut listed(&[[3, 11]]), 7, true, &mut Weights::new(11)).unwrap_err();
        assert!(error.to_string().contains("an edge from 3 to 11 in a graph of 11"), "{error}");
    }
}
