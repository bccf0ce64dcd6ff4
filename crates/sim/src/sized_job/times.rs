//! Times of kernels: nanoseconds that one core takes for a record, by kind of work.
//!
//! A record is an edge where edges are read, scattered or folded, an update where updates are
//! gathered, and a vertex where vertex sets are opened or applied.

use welter_protocol::ids::Kind;
use welter_protocol::{Time, Work};

/// Kind of work whose time is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Edges of the input, or of rough chunks, are binned.
    Ingest,
    /// A vertex set is taken up, or signals are made of one.
    Open,
    /// Edges make updates, which are put into bins.
    Scatter,
    /// Updates meet accumulators.
    Gather,
    /// Edges make updates that meet accumulators at once.
    Fold,
    /// Accumulators meet values.
    Apply,
}

impl WorkKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Ingest, Self::Open, Self::Scatter, Self::Gather, Self::Fold, Self::Apply];

    /// The kind of a piece of work; none of what is done once a partition or iteration. Flushes
    /// are what scattering leaves, and accumulators that are handed over what gathering leaves.
    pub fn of(work: &Work) -> Option<Self> {
        match work {
            Work::Ingest { .. } => Some(Self::Ingest),
            Work::Open { .. } | Work::Turn { .. } => Some(Self::Open),
            Work::Stream { block, .. } => match (block.name.kind, block.name.source) {
                (Kind::Rough, _) => Some(Self::Ingest),
                (Kind::Edges, None) => Some(Self::Scatter),
                (Kind::Edges, Some(_)) => Some(Self::Fold),
                _ => Some(Self::Gather),
            },
            Work::Flush => Some(Self::Scatter),
            Work::HandOver | Work::Merge(_) => Some(Self::Gather),
            Work::Apply => Some(Self::Apply),
            Work::Init { .. } | Work::Decide { .. } => None,
        }
    }

    /// Name of the kind, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Open => "open",
            Self::Scatter => "scatter",
            Self::Gather => "gather",
            Self::Fold => "fold",
            Self::Apply => "apply",
        }
    }
}

/// Nanoseconds of a record, by kind of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelTimes([f64; WorkKind::ALL.len()]);

impl KernelTimes {
    /// As many nanoseconds for each kind.
    pub fn even(nanos: f64) -> Self {
        Self([nanos; WorkKind::ALL.len()])
    }

    /// A copy with another time for a kind.
    #[must_use]
    pub fn with(mut self, kind: WorkKind, nanos: f64) -> Self {
        self.0[kind as usize] = nanos;
        self
    }

    /// Nanoseconds of a record of a kind.
    pub fn of(&self, kind: WorkKind) -> f64 {
        self.0[kind as usize]
    }

    /// Times of records that stand for `grain` of these each.
    #[must_use]
    pub fn grained(self, grain: u64) -> Self {
        Self(self.0.map(|nanos| nanos * grain as f64))
    }

    /// Nanoseconds of a piece of work that looks at `records` records.
    pub fn nanos(&self, work: &Work, records: u64) -> Time {
        let of = WorkKind::of(work).map_or(0.0, |kind| self.of(kind));
        (of * records as f64).round() as Time
    }
}

#[cfg(test)]
mod tests {
    use welter_protocol::Payload;
    use welter_protocol::ids::{Block, BlockName, Epoch, Role};

    use super::*;

    /// A chunk of a kind that is streamed.
    fn stream(kind: Kind, source: Option<u32>) -> Work {
        let (role, epoch) = (Role::Primary, Epoch::default());
        let name = BlockName { kind, role, epoch, iteration: 0, partition: 0, source, number: 0 };
        let payload = Payload::default();
        Work::Stream { block: Block::of(name, 1, u64::MAX, &payload), payload }
    }

    #[test]
    fn chunks_are_told_apart_by_what_is_done_with_them() {
        let kinds = [
            stream(Kind::Rough, None),
            stream(Kind::Edges, None),
            stream(Kind::Edges, Some(0)),
            stream(Kind::Updates, None),
        ];
        let found = kinds.map(|work| WorkKind::of(&work).expect("it is timed"));
        let expected = [WorkKind::Ingest, WorkKind::Scatter, WorkKind::Fold, WorkKind::Gather];
        assert_eq!(found, expected);
        for (place, kind) in WorkKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "kinds are places of their times");
        }
    }

    #[test]
    fn a_piece_of_work_takes_the_time_of_its_kind_for_each_record() {
        let times = KernelTimes::even(2.0).with(WorkKind::Gather, 0.25);
        assert_eq!(times.nanos(&stream(Kind::Updates, None), 10), 3, "2.5, rounded");
        assert_eq!(times.grained(16).nanos(&stream(Kind::Updates, None), 10), 40);
        assert_eq!(times.nanos(&Work::Apply, 10), 20);
        let decide = Work::Decide { iterations: 0, control: [].into(), totals: Vec::new() };
        assert_eq!(times.nanos(&decide, 10), 0);
    }
}
