//! Kinds of faults, and how often each occurred: counted where it occurs, not where it is planned.
//! A disk that is set to fail its next write, and is never written to again, has not failed.

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// Kind of a fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        /// Kinds of faults, each once.
        pub const KINDS: &[Kind] = &[$(Kind::$kind,)*];

        impl Kind {
            /// Name that people have for it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A process died, and its machine lost power.
    Crash = "crash",
    /// Crash of the coordinator.
    CoordinatorCrash = "crash of the coordinator",
    /// One did when an epoch was being begun because of a fault before.
    RecoveryCrash = "crash in a recovery",
    /// No other machine takes its place.
    Gone = "gone for good",
    /// A process did nothing for a while.
    Pause = "pause",
    /// A process was replaced, and lived on.
    Stranger = "replaced though alive",
    /// A message was lost.
    Loss = "message lost",
    /// A message came twice.
    Duplication = "message repeated",
    /// A message came before one that was sent earlier on the same way.
    Reordering = "message overtook another",
    /// A message waited at the interface of its receiver for others.
    Incast = "message waited for its receiver",
    /// A message waited in the switch for others.
    Crowded = "message waited in the switch",
    /// Some bytes of a message found no room at the port of the switch.
    Dropped = "message dropped at a full port",
    /// A message was lost on a way that was cut, while the way back was not.
    OneWay = "message lost, cut one way",
    /// A message was lost on a way that was cut, as was the way back.
    TwoWay = "message lost, cut both ways",
    /// A bit of a message flipped.
    Garbled = "message garbled",
    /// Two machines never receive from each other again.
    CutForGood = "cut for good",
    /// A disk or a program never answered.
    Stuck = "disk or program stuck",
    /// A machine learnt that it cannot continue.
    Fails = "machine fails",
    /// A block that was not synced was gone after a crash.
    Unsynced = "unsynced block lost",
    /// A block that was not synced was half there after a crash.
    Torn = "block torn",
    /// A request was under way in a crash, and took place.
    UnderWay = "request done in a crash",
    /// A block that was deleted was there again after a crash.
    Resurrected = "deleted block came back",
    /// A write landed in the place of another block.
    Misdirected = "misdirected write",
    /// A write failed.
    WriteFails = "write failed",
    /// A sync failed, and what was to be synced was gone.
    SyncFails = "sync failed",
    /// A write found no room.
    Full = "no room on disk",
    /// A request took many times as long as usual.
    Slow = "slow disk",
    /// A bit of a block flipped.
    Rot = "flipped bit in a block",
    /// A bit of a manifest flipped.
    ManifestRot = "flipped bit in a manifest",
    /// A manifest on its way to the disk was half there after a crash.
    ManifestTorn = "manifest torn",
    /// The power of all machines went.
    PowerOfAll = "power of all went",
    /// Power was lost so, and a cluster of another shape was started on their disks.
    OtherCluster = "power of all, other cluster",
    /// A rank got an empty disk for its own, in any cluster.
    DiskLost = "disk lost",
    /// Disks of several machines were lost so, where nothing is kept twice.
    LostWithoutCopies = "disk lost, no copies",
    /// Disks were lost so where vertices are kept twice, and edges are read again.
    LostWithVertices = "disk lost, vertices copied",
    /// Disks were lost so where edges alone are kept twice.
    LostWithEdges = "disk lost, edges copied",
    /// Disks were lost so where both are.
    LostWithBoth = "disk lost, both copied",
}

/// A count for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultCounts([u64; KINDS.len()]);

impl Default for FaultCounts {
    fn default() -> Self {
        Self([0; KINDS.len()])
    }
}

impl FaultCounts {
    /// Counts one fault of a kind.
    pub fn count(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }

    /// Number of faults of a kind.
    pub fn get(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    /// Whether a process died, which may have been about to say why the run ends.
    pub fn any_death(&self) -> bool {
        let kinds = [
            Kind::Crash,
            Kind::CoordinatorCrash,
            Kind::Gone,
            Kind::WriteFails,
            Kind::SyncFails,
            Kind::Full,
        ];
        kinds.into_iter().any(|kind| self.get(kind) > 0)
    }

    /// Adds what happened elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
    }
}
