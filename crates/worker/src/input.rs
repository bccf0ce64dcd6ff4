//! The share of the edges that a machine reads, in pieces; and edges in memory as one.

use std::ops::Range;
use std::sync::Arc;

use welter_engine::EngineError;

/// An edge of the input, between numbers of vertices of the whole graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputEdge {
    /// The vertex that it leaves.
    pub source: u64,
    /// The vertex that it leads to.
    pub target: u64,
    /// Weight; 1 where there are none.
    pub weight: f64,
}

/// The share of the edges that a machine reads.
pub trait Input: Send {
    /// Begins anew.
    fn begin(&mut self);

    /// The next edges, at most `edges_max`, and whether these were the last.
    ///
    /// # Errors
    /// When the input cannot be read.
    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError>;

    /// Begins anew and hands all edges to `visit`, at most `edges_max` at a time, until it returns
    /// `false`.
    ///
    /// # Errors
    /// As of [`Self::piece`].
    fn each(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<(), EngineError> {
        self.begin();
        loop {
            let (edges, is_last) = self.piece(edges_max)?;
            if !visit(edges) || is_last {
                return Ok(());
            }
        }
    }

    /// Hands a sample of the edges to `visit`, as [`Self::each`] does, or all of them. How many
    /// edges each of those stands for.
    ///
    /// # Errors
    /// As of [`Self::piece`].
    fn sample(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<u64, EngineError> {
        self.each(edges_max, visit)?;
        Ok(1)
    }
}

/// Consecutive edges of a list in memory, which shares of several machines have in common.
#[derive(Clone, Debug)]
pub struct Listed {
    edges: Arc<[InputEdge]>,
    share: Range<usize>,
    /// The next one.
    at: usize,
}

impl Listed {
    /// All edges of a list.
    pub fn new(edges: impl Into<Arc<[InputEdge]>>) -> Self {
        let edges = edges.into();
        let share = 0..edges.len();
        Self { edges, share, at: 0 }
    }

    /// The share of machine `rank` of `machines`.
    #[must_use]
    pub fn share(&self, rank: usize, machines: usize) -> Self {
        let first = |rank| self.share.start + self.share.len() * rank / machines;
        let share = first(rank)..first(rank + 1);
        Self { edges: self.edges.clone(), at: share.start, share }
    }
}

impl Input for Listed {
    fn begin(&mut self) {
        self.at = self.share.start;
    }

    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError> {
        let start = self.at;
        self.at = self.share.end.min(start + edges_max);
        Ok((&self.edges[start..self.at], self.at == self.share.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_edges_once_and_again() {
        let edge = |vertex| InputEdge { source: vertex, target: 0, weight: 1.0 };
        let all = Listed::new((0..11).map(edge).collect::<Vec<_>>());
        let mut read = Vec::new();
        for rank in 0..4 {
            let mut share = all.share(rank, 4);
            for is_read in [false, true] {
                share.begin();
                loop {
                    let (edges, is_last) = share.piece(2).expect("it is in memory");
                    read.extend(edges.iter().filter(|_| is_read).map(|edge| edge.source));
                    if is_last {
                        break;
                    }
                }
            }
        }
        assert!(read.into_iter().eq(0..11));
    }
}
