//! The planted bugs, and those that simulated devices have.

use welter_protocol::Config;
use welter_protocol::planted::Bug;

use crate::job::Partitioning;

/// Bugs that can be planted.
pub const BUGS: [Bug; 59] = [
    Bug::NoDedup,
    Bug::StaleEpoch,
    Bug::CommitBeforePrepare,
    Bug::HandedTwice,
    Bug::MergedTwice,
    Bug::NotCollected,
    Bug::UnwantedCounted,
    Bug::OwnDiskAlone,
    Bug::EndsAlone,
    Bug::PairsUnwatched,
    Bug::WaitsUnbounded,
    Bug::FirstNoneEnds,
    Bug::NoneForAll,
    Bug::PullsUnbounded,
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
    Bug::ContractedDropped,
    Bug::EdgesNotMoved,
    Bug::KeptNotSynced,
    Bug::IdleNotRewritten,
    Bug::CellSkipped,
    Bug::CellUntold,
    Bug::NoFrameSum,
    Bug::NoPayloadSum,
    Bug::CombinedTwice,
    Bug::DegreesOfAll,
    Bug::UpdatesHandedOver,
    Bug::KeptUnbounded,
    Bug::BinsUnbounded,
    Bug::CommitBeforeSplit,
    Bug::EdgesDropped,
    Bug::PieceSkipped,
    Bug::MirrorNotStored,
    Bug::MirrorNotSynced,
    Bug::NotRestored,
    Bug::OlderProcess,
    Bug::RowNotSent,
    Bug::CornerTwice,
    Bug::RowsMeetTwice,
    Bug::RowsUnbounded,
];

/// Partitioning that workers are given: edges that are binned by both ends are so at once, however
/// many bins that takes.
pub fn cut(config: &Config, cut: Partitioning) -> Partitioning {
    if config.planted != Some(Bug::BinsUnbounded) || !config.by_cells() {
        return cut;
    }
    Partitioning { bins_open_max: cut.bins_open_max.max(cut.partitions.cells()), ..cut }
}

/// Whether a bug is one of what workers of programs over triangles send.
pub fn is_of_rows(bug: Option<Bug>) -> bool {
    matches!(bug, Some(Bug::RowNotSent | Bug::CornerTwice | Bug::RowsMeetTwice))
}

/// Bytes of rows that workers are allowed to have in memory, of `allowed`.
pub fn rows_bytes(bug: Option<Bug>, allowed: u64) -> u64 {
    if bug == Some(Bug::RowsUnbounded) { u64::MAX } else { allowed }
}

/// Updates that workers keep in memory, of `allowed`.
pub fn kept_updates(bug: Option<Bug>, allowed: u64) -> u64 {
    if bug == Some(Bug::KeptUnbounded) { u64::MAX } else { allowed }
}

/// Algorithm in which a bug shows, where few of all programs have it.
pub fn algorithm(bug: Bug) -> Option<&'static str> {
    match bug {
        Bug::EdgesNotSynced | Bug::RewriteDropped => Some("sum-product"),
        Bug::ContractedDropped | Bug::EdgesNotMoved | Bug::KeptNotSynced => Some("wcc"),
        Bug::IdleNotRewritten => Some("scc"),
        Bug::RowNotSent | Bug::CornerTwice | Bug::RowsMeetTwice => Some("lcc"),
        Bug::RowsUnbounded => Some("triangles"),
        Bug::KeptUnbounded => Some("cdlp"),
        _ => None,
    }
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
