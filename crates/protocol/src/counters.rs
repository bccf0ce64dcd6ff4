//! Number of times that a machine went down each path of the protocol.
//!
//! The simulator prints them and fails where one is never taken: a path that no test takes is not
//! tested.

macro_rules! paths {
    ($($(#[$doc:meta])* $path:ident,)*) => {
        /// Path of the protocol that is taken now and then.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Path {
            $($(#[$doc])* $path,)*
        }

        /// Paths in the order of their declaration.
        pub const PATHS: &[Path] = &[$(Path::$path,)*];
    };
}

paths! {
    /// A master accepted help.
    StealAccepted,
    /// A master declined by the criterion.
    StealDeclined,
    /// A proposal came when the partition was done.
    StealTooLate,
    /// A proposal came before the master knew of the step, and was kept until it did.
    StealTooEarly,
    /// A stealer streamed edges in the scatter phase.
    StolenScatter,
    /// A stealer streamed updates, or edges on route `fold`, into accumulators of its own.
    StolenGather,
    /// A stealer had done its part and waited for the master.
    StealerWaited,
    /// The master had done its part and waited for a stealer.
    MasterWaited,
    /// The master asked before the stealer knew that it was accepted.
    CollectedEarly,
    /// The master asked a stealer that had ended before it began the partition itself.
    CollectedBefore,
    /// Updates for one destination were merged before they were stored.
    Combined,
    /// A chunk of edges, or what was left of some, was split by their sources.
    Split,
    /// A chunk of edges was rewritten.
    Rewritten,
    /// A chunk of edges with new ends was stored.
    Contracted,
    /// Edges with new ends went to another partition than that which they led to.
    Moved,
    /// An iteration of a program that may rewrite edges left them as they are.
    NotRewritten,
    /// A chunk of updates was made in a gather, for the next one.
    Carried,
    /// A master has sent a part of what it sends as it applies.
    AppliedInParts,
    /// Accumulators were handed over.
    HandedOver,
    /// A master merged accumulators between two of its chunks.
    Interrupted,
    /// Accumulators were stored by a stealer.
    Parked,
    /// Accumulators were merged.
    Merged,
    /// As much was under way to storage as the window allows, so work waited.
    StoresWaited,
    /// A request was with the disk together with others.
    Overlapped,
    /// A chunk was streamed together with others.
    StreamedTogether,
    /// A vertex set had more chunks than could be asked for at a time.
    SetInParts,
    /// A pull came before its engine knew of the step.
    PulledEarly,
    /// An engine was asked for a chunk while another pull of the same cell was open at it.
    AskedAgain,
    /// A central directory was asked who has a chunk.
    Directed,
    /// A central directory was asked where a chunk of vertices is.
    VerticesDirected,
    /// Chunks had no active source and were not read.
    Inactive,
    /// A cell or partition without active sources was not asked for.
    Skipped,
    /// A cell had nothing left for this engine, so the signals of its sources were not loaded.
    NotLoaded,
    /// Some engines were not asked for a cell, for they had reported that they have none of it.
    NotAsked,
    /// Chunks of a cell were asked for before the one at work had ended.
    LookedAhead,
    /// Chunks of a cell were asked for before the one before it was at work.
    LookedFar,
    /// A message was sent again.
    Resent,
    /// A message came again.
    Repeated,
    /// A message of another epoch came.
    OtherEpoch,
    /// A message for, or of, another process of a rank came.
    OtherProcess,
    /// This process learnt that it was replaced.
    Fenced,
    /// A silence was reported to the host.
    Suspected,
    /// An epoch began.
    Epoch,
    /// A block was on its way to the disk when an epoch ended, and was deleted.
    Orphaned,
    /// An engine said at once that it has no chunk left, though its disk was busy.
    NoneAtOnce,
    /// A chunk of vertices was read from memory, though the disk was busy.
    ReadBeside,
    /// The program was at work of an epoch before when there was work in this one.
    WorkWaited,
    /// An epoch began while another one was being begun.
    EpochAgain,
    /// A checkpoint was committed.
    Committed,
    /// A checkpoint with the updates of a scatter was committed.
    ScatterCommitted,
    /// A run went back to the end of a scatter, which was not done again.
    ScatterKept,
    /// Updates of a checkpoint were not all there, so the scatter was done again.
    ScatterLost,
    /// Vertices of an iteration were not checkpointed.
    NotCheckpointed,
    /// A run went back to a checkpoint.
    WentBack,
    /// A run began.
    Started,
    /// A run that had begun went back to the beginning.
    Restarted,
    /// Storage is of a cluster of another shape, and was left.
    Reshaped,
    /// A checkpoint could not be had, and one before was taken.
    FellBack,
    /// Edges were read again.
    EdgesReingested,
    /// A chunk of vertices was restored from its copy.
    RestoredVertices,
    /// A chunk of edges was restored from its copy.
    RestoredEdges,
    /// A manifest was damaged, and left.
    ManifestDamaged,
    /// A block was damaged, or missing.
    Damaged,
    /// Storage failed.
    StorageFailed,
    /// A machine failed, or received the end of the run.
    Failed,
    /// Two machines received nothing from each other for too long.
    PairCut,
    /// A disk or a program did not answer for too long.
    Waited,
}

/// A count for each path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters([u64; PATHS.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; PATHS.len()])
    }
}

impl Counters {
    /// Counts one.
    pub(crate) fn count(&mut self, path: Path) {
        self.0[path as usize] += 1;
    }

    /// Number of times that a path was taken.
    pub fn get(&self, path: Path) -> u64 {
        self.0[path as usize]
    }

    /// Adds the counts of another machine.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }
}
