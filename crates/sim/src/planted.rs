//! The planted bugs, and those that simulated devices have.

use welter_protocol::Config;
use welter_protocol::planted::Bug;

use crate::job::Cut;

/// All bugs.
pub const BUGS: [Bug; 44] = [
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
    Bug::NoPayloadSum,
    Bug::CombinedTwice,
    Bug::BinsUnbounded,
    Bug::CommitBeforeSplit,
    Bug::EdgesDropped,
    Bug::PieceSkipped,
    Bug::MirrorNotStored,
    Bug::MirrorNotSynced,
    Bug::NotRestored,
    Bug::OlderProcess,
];

/// Cut that workers are told: edges that are binned by both ends are so at once, however many
/// bins that takes.
pub fn cut(config: &Config, cut: Cut) -> Cut {
    if config.planted != Some(Bug::BinsUnbounded) || !config.by_cells() {
        return cut;
    }
    Cut { bins_open_max: cut.bins_open_max.max(cut.partitions.cells()), ..cut }
}

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

/// Part of a frame in which bits that flip are not seen: the head with the body, or the payload.
pub fn unsummed(bug: Option<Bug>) -> Option<usize> {
    match bug {
        Some(Bug::NoFrameSum) => Some(0),
        Some(Bug::NoPayloadSum) => Some(1),
        _ => None,
    }
}
