//! Bounds of sub-ranges by edges: accumulator threads have about as much to fold as each other, and
//! computation threads about as much to send.
//!
//! ```text
//! each machine     counts edges of its shares, at both ends, by ranges of vertices
//! rank 0           sums, and says the bounds, which all cut by
//! ```
//!
//! Where an epoch begins with a checkpoint, the bounds are those that the checkpoint has: a sample
//! depends on how a machine has the input in parts.
//!
//! An edge costs a thread where it leaves, which sends its update, and one where it leads, which
//! folds it; a vertex costs both. So a sample of the shares is read before edges are sent, of which
//! hubs would else make one thread of many that all others wait for: one edge in 16 of many, all of
//! few. Reading all of them took a fifth of the processor time before the first iteration. No
//! sub-range has more than
//! [`WIDER`] times the vertices of an even one, so that memory is bounded too.
//!
//! **Invariant:** all machines cut alike. Tested by `sub_ranges_of_a_skewed_graph_have_equal_work`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};

use welter_engine::EngineError;
use welter_protocol::partitions::Partitions;
use welter_protocol::weights::Weights;
use welter_worker::{Input, InputEdge, weigh_sample};

use super::ending::Ending;
use super::error::Stop;
use super::seat::LOOK;
use super::words::{Word, WordReader};
use crate::program::panic_message;

/// Ranges of vertices whose edges are counted, at most.
const RANGES_MAX: u64 = 1 << 14;

/// Vertices of a sub-range at most, in those of an even one.
pub(super) const WIDER: u64 = 2;

/// Edges that are read at a time.
const PIECE_EDGES: usize = 1 << 16;

/// Word of a machine that reads these shares, on a thread of its own, which may take long: `look`
/// is called meanwhile, so that others know that the machine is there.
///
/// # Errors
/// Failure of the input, or of `look`; when the epoch is over.
pub(super) fn weighed(
    shares: impl Iterator<Item = Box<dyn Input>> + Send,
    vertices: u64,
    ending: &Ending,
    mut look: impl FnMut() -> Result<(), Stop>,
) -> Result<Word, Stop> {
    scope(|scope| {
        let (done, is_done) = channel();
        let weighing = Builder::new().name("weighing".to_owned()).spawn_scoped(scope, move || {
            let weighing = AssertUnwindSafe(|| weights(shares, vertices, ending));
            let panicked = |panic: Box<dyn Any + Send>| Err(Stop::broken(panic_message(&*panic)));
            // The other end has a reason of its own where it does not wait any more.
            let _ = done.send(catch_unwind(weighing).unwrap_or_else(panicked));
        });
        weighing?;
        loop {
            match is_done.recv_timeout(LOOK) {
                Ok(weights) => return Ok(Word::default().numbers(weights?.counts())),
                // The thread ends before its next piece.
                Err(RecvTimeoutError::Timeout) => look().inspect_err(|_| ending.end_epoch())?,
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Over),
            }
        }
    })
}

/// Edges of these shares by ranges of vertices.
fn weights(
    shares: impl Iterator<Item = Box<dyn Input>>,
    vertices: u64,
    ending: &Ending,
) -> Result<Weights, Stop> {
    let mut weights = Weights::within(vertices, RANGES_MAX);
    for share in shares {
        let weighed =
            weigh_sample(&mut StoppableInput { share, ending }, PIECE_EDGES, &mut weights);
        weighed.map_err(|error| if ending.is_set() { Stop::Over } else { error.into() })?;
    }
    Ok(weights)
}

/// A share that is read until the epoch is over.
struct StoppableInput<'e> {
    share: Box<dyn Input>,
    ending: &'e Ending,
}

impl Input for StoppableInput<'_> {
    fn begin(&mut self) {
        self.share.begin();
    }

    fn piece(&mut self, edges_max: usize) -> Result<(&[InputEdge], bool), EngineError> {
        if self.ending.is_set() { Err(EngineError::Cancelled) } else { self.share.piece(edges_max) }
    }

    fn sample(
        &mut self,
        edges_max: usize,
        visit: &mut dyn FnMut(&[InputEdge]) -> bool,
    ) -> Result<u64, EngineError> {
        let Self { share, ending } = self;
        let each = share.sample(edges_max, &mut |edges| !ending.is_set() && visit(edges))?;
        if ending.is_set() { Err(EngineError::Cancelled) } else { Ok(each) }
    }
}

/// The answer of rank 0: the first vertex of each sub-range, and the end of the last.
pub(super) fn bounds(even: &Partitions, words: &[Vec<u8>]) -> Result<Word, Stop> {
    let mut weights = Weights::within(even.vertices(), RANGES_MAX);
    for word in words {
        if !weights.add_counts(&WordReader(word).numbers()?) {
            return Err(Stop::broken("weights of another graph"));
        }
    }
    Ok(Word::default().numbers(&weights.cut(even.count(), WIDER * even.width())))
}

/// Sub-ranges with these bounds, as many on each machine.
pub(super) fn cut(machines: usize, answer: &[u8]) -> Result<Partitions, Stop> {
    of_bounds(machines, &WordReader(answer).numbers()?)
}

/// Sub-ranges of which these are the first vertices, and the end of the last.
pub(super) fn of_bounds(machines: usize, bounds: &[u64]) -> Result<Partitions, Stop> {
    let ranges: Vec<_> = bounds.windows(2).map(|ends| ends[0]..ends[1]).collect();
    let cut = Partitions::of_ranges(machines, &ranges);
    cut.ok_or_else(|| Stop::broken("sub-ranges are in order"))
}

/// The first vertex of each sub-range, and the end of the last.
pub(super) fn bounds_of(cut: &Partitions) -> Arc<[u64]> {
    (0..cut.count()).map(|sub_range| cut.range(sub_range).start).chain([cut.end()]).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use welter_worker::Listed;

    use super::*;

    /// An input that takes its time for each edge, and has no last one.
    struct Slow([InputEdge; 1]);

    impl Input for Slow {
        fn begin(&mut self) {}

        fn piece(&mut self, _: usize) -> Result<(&[InputEdge], bool), EngineError> {
            std::thread::sleep(Duration::from_millis(20));
            Ok((&self.0, false))
        }
    }

    #[test]
    fn others_are_looked_at_while_shares_are_weighed() {
        let slow = || Box::new(Slow([InputEdge { source: 1, target: 2, weight: 1.0 }]));
        let (ending, mut looks) = (Ending::default(), 0);
        let shares = [slow() as Box<dyn Input>].into_iter();
        let weighed = weighed(shares, 9, &ending, || {
            looks += 1;
            if looks < 3 { Ok(()) } else { Err(Stop::Gone("another one".to_owned())) }
        });
        assert!(matches!(weighed.err(), Some(Stop::Gone(_))));
        assert!(looks == 3 && ending.is_set());
    }

    #[test]
    fn sub_ranges_of_a_skewed_graph_have_equal_work() {
        // Half of all edges lead to the first hundredth of the vertices, and leave it.
        let (vertices, edges) = (10_000, 60_000_u64);
        let end = |edge: u64, prime: u64| {
            let bound = if edge.is_multiple_of(2) { vertices / 100 } else { vertices };
            edge.wrapping_mul(prime) / 7 % bound
        };
        let edge = |edge| InputEdge {
            source: end(edge, 2_654_435_761),
            target: end(edge, 40_503),
            weight: 1.0,
        };
        let edges: Vec<InputEdge> = (0..edges).map(edge).collect();
        let even = Partitions::fitting(2, vertices, 1, vertices.div_ceil(8)).unwrap();
        let share = |part: usize| Box::new(Listed::new(edges[part * 30_000..][..30_000].to_vec()));
        let word = |part| {
            let shares = [share(part) as Box<dyn Input>].into_iter();
            weighed(shares, vertices, &Ending::default(), || Ok(())).unwrap().end()
        };
        let answer = bounds(&even, &[word(0), word(1)]).unwrap().end();
        let cut = cut(2, &answer).unwrap();
        assert_eq!((cut.count(), cut.vertices()), (8, vertices));
        let most = |cut: &Partitions, end: &dyn Fn(&InputEdge) -> u64| {
            let mut counts = vec![0; 8];
            for edge in &edges {
                counts[cut.of(end(edge)) as usize] += 1;
            }
            counts.into_iter().max().unwrap()
        };
        for end in [&|edge: &InputEdge| edge.target, &|edge: &InputEdge| edge.source]
            as [&dyn Fn(&InputEdge) -> u64; 2]
        {
            let (by_edges, even) = (most(&cut, end), most(&even, end));
            assert!(by_edges < 9_500 && even > 30_000, "{by_edges} of 7,500, and {even}");
        }
        assert!(cut.width() <= WIDER * even.width(), "no sub-range is much wider");
        let again = of_bounds(2, &bounds_of(&cut)).unwrap();
        assert_eq!((again.bounds_hash(), again.width()), (cut.bounds_hash(), cut.width()));
        assert!(of_bounds(3, &bounds_of(&cut)).is_err(), "not as many for each machine");
        assert!(bounds(&even, &[Word::default().numbers(&[1]).end()]).is_err());
    }
}
