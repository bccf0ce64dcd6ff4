//! Bugs that can be planted, so that the simulator can show that it would see them.
//!
//! Planted bugs are compiled in with the feature `planted` only, which nothing but `welter-sim`
//! asks for, and only where arithmetic is checked: whichever crates are built together, a release
//! has none.

/// Whether bugs are compiled in.
pub const ARE_PLANTED: bool = cfg!(all(feature = "planted", debug_assertions));

/// A mistake that a programmer might make.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(all(feature = "planted", debug_assertions), derive(Debug))]
pub enum Bug {
    /// Messages that come twice are handed on twice.
    NoDedup,
    /// Messages of an older epoch are taken.
    StaleEpoch,
    /// The commit does not wait for what is prepared to be durable.
    CommitBeforePrepare,
    /// A storage engine forgets now and then that it has handed out a chunk.
    HandedTwice,
    /// Accumulators of a stealer are merged twice.
    MergedTwice,
    /// The master does not wait for its stealers.
    NotCollected,
    /// Stealers that have ended count as engines at work, and wait for masters that have not begun.
    StealersStay,
    /// A machine that fails exits at once, and does not report why.
    EndsAlone,
    /// Pairs of machines without the coordinator are not watched.
    PairsUnwatched,
    /// The time that a machine's own disk and program take is not watched.
    WaitsUnbounded,
    /// Chunks without an active source count as work that remains.
    UnwantedCounted,
    /// Masters guess what is left of a partition from their own disk alone.
    OwnDiskAlone,
    /// A storage engine says "none" though its neighbour still has chunks, and is believed for all.
    FirstNoneEnds,
    /// A storage engine that answers a pull by "none" is taken to have answered all that are open.
    NoneForAll,
    /// Four times as many pulls are open as may be, at an engine and in all.
    PullsUnbounded,
    /// Cursors are reset when the engine receives a step, not when it is asked.
    EagerCursor,
    /// The barrier after a scatter opens when all but one have arrived.
    EarlyBarrier,
    /// A stealer in the scatter phase drops the updates that are left in its buffers.
    StealerDrops,
    /// Engines that have all chunks streamed do not wait for their updates to be stored.
    StoresNotAwaited,
    /// Work continues however much is under way to storage.
    StoresUnbounded,
    /// Blocks whose writes were under way when an epoch ended are left where they are.
    OrphansLeft,
    /// Effects on one block are carried out in any order (planted in the simulated disk).
    EffectsOvertake,
    /// After a new epoch began, work begins while the program is at work of the one before.
    WorksOverlap,
    /// A storage engine gives all requests that it has to its disk at once.
    DepthIgnored,
    /// All chunks of a vertex set are asked for at once.
    SetsUnbounded,
    /// A partition is taken for streamed when its last chunk has begun.
    StreamsNotAwaited,
    /// After a recovery totals are those of the iteration that was lost.
    StaleTotals,
    /// A chunk is left out if its first source is inactive.
    WrongSummary,
    /// Update chunks are deleted when the gather begins, and one is read late.
    EarlyDelete,
    /// Damaged blocks are taken as they are.
    NoChecksum,
    /// Blocks are reported durable that are not (planted in the simulated disk).
    NoSync,
    /// Recovery keeps update chunks of the epoch before, as if none of them had been handed out.
    KeptUpdates,
    /// After a recovery the gather begins though updates of the checkpoint are missing.
    LostUpdates,
    /// Storage of a cluster of another shape is taken.
    AnotherShape,
    /// Edges that were rewritten are not made durable with the values of their vertices.
    EdgesNotSynced,
    /// A stealer does not store the edges that it rewrote.
    RewriteDropped,
    /// A chunk of edges of a program that contracts is not sent to storage, now and then.
    ContractedDropped,
    /// Edges whose ends were renamed are kept in the cell where they were streamed (planted in the
    /// workers of the simulator).
    EdgesNotMoved,
    /// A checkpoint makes only edges durable that its own iteration has rewritten.
    KeptNotSynced,
    /// Chunks without an active source are not rewritten, and so not in the next generation.
    IdleNotRewritten,
    /// A cell is left out though it has an active source, now and then.
    CellSkipped,
    /// An engine that reports which cells it has leaves one out, now and then.
    CellUntold,
    /// Frames whose heads or bodies were garbled are taken as they are (planted in the simulated
    /// network).
    NoFrameSum,
    /// Payloads that were garbled on their way are taken as they are (planted there too).
    NoPayloadSum,
    /// An update is merged twice into the record that waits for its destination, now and then
    /// (planted in the kernels of the simulator).
    CombinedTwice,
    /// A machine sends each master the degrees of all vertices, and not of its partition (planted
    /// in the workers of the simulator, as is the next one).
    DegreesOfAll,
    /// A stealer hands over all updates that it has met, and no accumulators.
    UpdatesHandedOver,
    /// All updates of a partition are kept in memory, however many these are, where the program
    /// does not merge them.
    KeptUnbounded,
    /// Edges are binned by both their ends at once, however many bins that takes.
    BinsUnbounded,
    /// Edges that are binned by one end alone are taken for a checkpoint.
    CommitBeforeSplit,
    /// A chunk of edges that was read is not sent to storage, now and then.
    EdgesDropped,
    /// When edges alone are read again, a piece of the input is taken for read, now and then.
    PieceSkipped,
    /// A chunk that is kept twice is kept once, now and then.
    MirrorNotStored,
    /// Copies are not made durable.
    MirrorNotSynced,
    /// Recovery does not ask for copies of what is lost.
    NotRestored,
    /// A row of neighbours goes to one partition too few, now and then (planted in the workers of
    /// the simulator, as are the next ones).
    RowNotSent,
    /// A corner of a triangle counts it twice, now and then.
    CornerTwice,
    /// Rows that come by meet those of a range twice.
    RowsMeetTwice,
    /// All rows of a partition are kept in memory, whatever room they have.
    RowsUnbounded,
    /// Within an epoch, messages of a process that was replaced are taken, and those for one.
    OlderProcess,
}

/// Names of bugs are not in what is shipped either.
#[cfg(not(all(feature = "planted", debug_assertions)))]
impl std::fmt::Debug for Bug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a planted bug")
    }
}
