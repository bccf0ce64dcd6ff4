//! Directions in which an algorithm reads edges, over what was stated of the graph.
//!
//! Invariant: options about the graph (`--drop-duplicates`, `--drop-self-loops`) mean the graph
//! that was stated. An algorithm that reads a directed one both ways makes no duplicates of its
//! edges, and one that would be content with one way makes none of two that are. Tested by
//! `merging_follows_what_was_stated` and
//! `what_is_left_is_the_graph_without_them_for_every_algorithm_and_route`.

use welter_model::edges::{Duplicates, Reading};

/// Directions in which edges are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Directions {
    /// As the graph was stated.
    #[default]
    Stated,
    /// Both ways; edges of a directed graph that go opposite ways stay two.
    Both,
    /// Both ways, as a simple graph: whichever ways edges go, two vertices have one between them.
    Simple,
    /// Either way: both ends of an edge are looked at where it is met.
    Either,
}

impl Directions {
    /// Reading of the edges of a graph that was stated as an undirected or a directed one.
    pub(crate) fn of(self, reading: Reading, stated_undirected: bool) -> Reading {
        let merges = reading.duplicates != Duplicates::Keep;
        let undirected = match self {
            Self::Stated => stated_undirected,
            Self::Both | Self::Simple => true,
            // Edges that were listed from opposite ends must meet to be merged.
            Self::Either => stated_undirected && merges,
        };
        let stated_directed = !stated_undirected && self != Self::Simple;
        Reading { undirected, stated_directed, ..reading }
    }

    /// Whether edges are read both ways, whatever was stated.
    pub(crate) fn are_both(self) -> bool {
        matches!(self, Self::Both | Self::Simple)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_follows_what_was_stated() {
        let merging = Reading { duplicates: Duplicates::First, ..Reading::default() };
        let apart = |ways: Directions, undirected| {
            let reading = ways.of(merging, undirected);
            (reading.undirected, reading.keeps_ways_apart())
        };
        assert_eq!(apart(Directions::Stated, false), (false, false));
        assert_eq!(apart(Directions::Both, false), (true, true));
        assert_eq!(apart(Directions::Simple, false), (true, false));
        assert_eq!(apart(Directions::Either, false), (false, false));
        for ways in [Directions::Stated, Directions::Both, Directions::Simple, Directions::Either] {
            assert_eq!(apart(ways, true), (true, false), "{ways:?}");
        }
        assert!(!Directions::Either.of(Reading::default(), true).undirected, "nothing has to meet");
    }
}
