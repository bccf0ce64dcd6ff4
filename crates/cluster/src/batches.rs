//! Count of the batches that the input of a process has given, by which a reading that takes long
//! is told from one that hangs.
//!
//! ```text
//! reader ── batch ──> CountedEdges, which counts it ──> a share, a program, a sort
//! watch      has the count grown since the last look?
//! ```
//!
//! **Invariant:** all edges of a stream pass by its counter, those of samples too. Tested by
//! `batches_of_all_readings_are_counted`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use welter_model::edge_sample::Sample;
use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::stream_wrapper::StreamWrapper;

/// Counter of the batches of an input. A clone shares it.
#[derive(Clone, Debug, Default)]
pub struct BatchCounter(Arc<AtomicU64>);

impl BatchCounter {
    /// The edges of a stream, whose batches are counted here.
    #[must_use]
    pub fn counted(&self, edges: Arc<dyn EdgeStream>) -> Arc<dyn EdgeStream> {
        Arc::new(CountedEdges { edges, batches: self.clone() })
    }

    /// Batches until now.
    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A look at a counter, which remembers since when nothing has come.
#[derive(Debug)]
pub(crate) struct Pause {
    batches: BatchCounter,
    seen: u64,
    since: Instant,
}

impl Pause {
    /// The pause that begins now.
    pub(crate) fn of(batches: &BatchCounter) -> Self {
        Self { batches: batches.clone(), seen: batches.so_far(), since: Instant::now() }
    }

    /// Whether it is shorter than this, as far as earlier looks show.
    pub(crate) fn is_within(&mut self, time: Duration) -> bool {
        let batches = self.batches.so_far();
        if batches != self.seen {
            (self.seen, self.since) = (batches, Instant::now());
        }
        self.since.elapsed() < time
    }
}

/// A stream whose batches are counted.
struct CountedEdges {
    edges: Arc<dyn EdgeStream>,
    batches: BatchCounter,
}

impl StreamWrapper for CountedEdges {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn sample_through(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.edges.sample(part, of, &mut |batch| {
            self.batches.count();
            visit(batch)
        })
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.edges.read(part, &mut |batch| {
            self.batches.count();
            visit(batch)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use welter_model::edges::EdgeList;

    use super::*;

    #[test]
    fn batches_of_all_readings_are_counted() {
        let mut list = EdgeList::new(Some(3), true);
        list.push(vec![[0, 1], [1, 2]], vec![0.5, 2.0]);
        list.push(vec![[2, 0]], vec![1.0]);
        let batches = BatchCounter::default();
        let counted = batches.counted(Arc::new(list));
        assert_eq!((counted.parts(), counted.edges(), counted.weighted()), (2, 3, true));
        let mut pause = Pause::of(&batches);
        assert!(!pause.is_within(Duration::ZERO));
        for part in 0..2 {
            let before = batches.so_far();
            let mut pairs = Vec::new();
            let visit = &mut |batch: Batch<'_>| {
                pairs.extend_from_slice(batch.pairs);
                true
            };
            counted.read(part, visit).unwrap();
            assert_eq!(pairs, [vec![[0, 1], [1, 2]], vec![[2, 0]]][part]);
            assert!(batches.so_far() > before);
        }
        let before = batches.so_far();
        counted.sample(0, (Sample::of(3), 0), &mut |_| true).unwrap();
        assert!(batches.so_far() > before, "the sample is all edges of so few");
        // A batch ends the pause before it.
        let since = pause.since;
        sleep(Duration::from_millis(2));
        assert!(pause.is_within(Duration::from_mins(1)) && pause.since > since);
        let since = pause.since;
        assert!(pause.is_within(Duration::from_mins(1)) && pause.since == since);
    }
}
