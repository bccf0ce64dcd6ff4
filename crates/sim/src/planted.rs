//! The planted bugs, and how many seeds it takes to find each.

use welter_protocol::planted::Bug;

use crate::schedule::Wishes;
use crate::world::attempt;

/// All bugs.
pub const BUGS: [Bug; 41] = [
    Bug::NoDedup,
    Bug::StaleEpoch,
    Bug::CommitBeforePrepare,
    Bug::HandedTwice,
    Bug::MergedTwice,
    Bug::NotCollected,
    Bug::UnwantedCounted,
    Bug::EndsAlone,
    Bug::PairsUnwatched,
    Bug::WaitsUnbounded,
    Bug::FirstNoneEnds,
    Bug::EagerCursor,
    Bug::EarlyBarrier,
    Bug::StealerDrops,
    Bug::StoresNotAwaited,
    Bug::StoresUnbounded,
    Bug::OrphansLeft,
    Bug::EffectsOvertake,
    Bug::WorksOverlap,
    Bug::DepthIgnored,
    Bug::SetsUnbounded,
    Bug::StreamsNotAwaited,
    Bug::StaleTotals,
    Bug::WrongSummary,
    Bug::EarlyDelete,
    Bug::NoChecksum,
    Bug::NoSync,
    Bug::KeptUpdates,
    Bug::LostUpdates,
    Bug::AnotherShape,
    Bug::EdgesNotSynced,
    Bug::RewriteDropped,
    Bug::CellSkipped,
    Bug::NoFrameSum,
    Bug::CombinedTwice,
    Bug::EdgesDropped,
    Bug::PieceSkipped,
    Bug::MirrorNotStored,
    Bug::MirrorNotSynced,
    Bug::NotRestored,
    Bug::OlderProcess,
];

/// Whether disks say that blocks are durable when they are not.
pub fn lies(bug: Option<Bug>) -> bool {
    bug == Some(Bug::NoSync)
}

/// Whether what is wanted of one block is done in any order.
pub fn overtakes(bug: Option<Bug>) -> bool {
    bug == Some(Bug::EffectsOvertake)
}

/// Whether damaged blocks are taken as they are.
pub fn trusts(bug: Option<Bug>) -> bool {
    bug == Some(Bug::NoChecksum)
}

/// Whether frames that were garbled are taken as they are.
pub fn garbles(bug: Option<Bug>) -> bool {
    bug == Some(Bug::NoFrameSum)
}

/// The first seed of `seeds` that finds a bug, and what it says; where `unaudited`, without the
/// help of the protocol's own audits.
pub fn find(bug: Bug, unaudited: bool, mut seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    // Few programs rewrite edges.
    let of_edges = matches!(bug, Bug::EdgesNotSynced | Bug::RewriteDropped);
    let algorithm = of_edges.then_some("sum-product");
    let wishes = Wishes { bug: Some(bug), unaudited, algorithm, ..Wishes::default() };
    seeds.find_map(|seed| {
        let failure = attempt(seed, &wishes).map_or_else(Some, |report| report.failure);
        failure.map(|failure| (seed, failure))
    })
}
