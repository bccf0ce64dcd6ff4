//! In which order a pass takes stripes, chunks and tiles.

use welter_model::stream::RevisitPolicy;

use crate::edges::graph::Graph;
use crate::kernels::gather::VisitOrder;
use crate::kernels::shape::StreamShape;

/// Edges of a vertex that are shown first where only a few are, on average.
const FEW_EDGES: f64 = 2.25;

/// Chunks of a stripe that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// Edges of the first few sources.
    Few,
    /// Chunks of the other sources.
    Others,
    /// Every chunk.
    All,
}

/// The order of a pass.
pub(super) struct Order<'g> {
    graph: &'g Graph,
    share: Share,
    way: SweepOrder,
    /// Stripes in the order in which they are taken.
    pub(super) stripes: Vec<usize>,
}

/// The order within a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SweepOrder {
    /// As they lie.
    First,
    /// Each stripe begins as far down its list as it is down the list of stripes.
    Turned,
    /// By rising sources.
    Up,
    /// By falling sources.
    Down,
}

impl<'g> Order<'g> {
    /// The order of pass number `pass`.
    pub(super) fn new(graph: &'g Graph, share: Share, again: RevisitPolicy, pass: u64) -> Self {
        let mut stripes: Vec<usize> = (0..graph.stripes.len()).collect();
        let way = match again {
            RevisitPolicy::Anytime | RevisitPolicy::Never => {
                // The longest first, so that no worker waits long for the last.
                stripes.sort_by_key(|&stripe| std::cmp::Reverse(graph.stripes[stripe].edges));
                if share == Share::Few { SweepOrder::First } else { SweepOrder::Turned }
            }
            _ if pass.is_multiple_of(2) => {
                stripes.reverse();
                SweepOrder::Down
            }
            RevisitPolicy::SourceChanged
            | RevisitPolicy::TargetChanged
            | RevisitPolicy::EitherChanged => SweepOrder::Up,
        };
        Self { graph, share, way, stripes }
    }

    /// Numbers of the chunks of a stripe that are shown.
    pub(super) fn chunks(&self, stripe: usize) -> impl Iterator<Item = usize> + use<> {
        let Self { graph, share, way, .. } = *self;
        let chunks = graph.stripes[stripe].chunks.len();
        let few = FEW_EDGES * graph.vertices() as f64 / graph.edges().max(1) as f64;
        let few = ((chunks as f64 * few).ceil() as usize).min(chunks);
        let (begin, count) = match share {
            Share::Few => (0, few),
            Share::Others => (few, chunks - few),
            Share::All => (0, chunks),
        };
        let turn = count * stripe / graph.stripes.len();
        // Chunks on storage are read ahead, and best as they lie there.
        let is_down = way == SweepOrder::Down && graph.stored.is_none();
        (0..count).map(move |step| match way {
            SweepOrder::Turned => begin + (turn + step) % count,
            SweepOrder::Down if is_down => begin + count - 1 - step,
            SweepOrder::First | SweepOrder::Up | SweepOrder::Down => begin + step,
        })
    }

    /// Order in which the edges of a tile are looked at.
    pub(super) fn visit_order(&self, shape: &StreamShape) -> VisitOrder {
        match self.way {
            SweepOrder::Turned | SweepOrder::First if shape.unequal => VisitOrder::Unequal,
            SweepOrder::Turned | SweepOrder::First => VisitOrder::Runs,
            SweepOrder::Up => VisitOrder::Up,
            SweepOrder::Down => VisitOrder::Down,
        }
    }

    /// Puts the tiles of a chunk in order.
    pub(super) fn turn<T>(&self, tiles: &mut [T]) {
        if self.way == SweepOrder::Down {
            tiles.reverse();
        }
    }
}
