//! Rounds of strong components: the stages through which both programs go that find them by labels.
//!
//! All vertices are *open* at first. A round
//!
//! 1. trims: an open vertex that no edge from an open one enters, or from which none leads to an
//!    open one, is a component by itself;
//! 2. spreads: `label(v) = min(v, label(u) for edges u -> v)`, the smallest vertex that reaches v;
//! 3. reaches: a vertex that is its own label is of its component, and so is v when an edge leads
//!    from it to a vertex of one label with it that is. The others are open in the next round.
//!
//! A vertex with label r was reached by r, so it is of r's component when it reaches r; and all on
//! the way to r have that label. Label r is the smallest vertex that reaches r, so the smallest of
//! its component. Every second round goes against the edges, so that chains of components are
//! decided at once whether their numbers rise or fall along them.
//!
//! Each program says in its own way how an edge hands on what a vertex tells: what was told comes
//! here as [`Received`].
//!
//! Source: S. Orzan, "On distributed verification and verified distribution", 2004 (colours).
//!
//! Two circles, of which one leads to the other, by both programs:
//!
//! ```
//! # use welter_testing::interpreter::{interpret, interpret_contract};
//! # use welter_testing::{graph::Graph, reading::read_as};
//! use welter_algorithms::{StrongContraction, StrongLabels};
//! use welter_model::edges::{Duplicates, Reading};
//! use welter_model::program::Value;
//! use welter_model::table::ColumnData;
//!
//! let circles = Graph::new(4, vec![[0, 1], [1, 0], [1, 2], [2, 3], [3, 2]]);
//! let ways = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
//! let graph = read_as(&circles, ways);
//! let labels = interpret(&graph, &StrongLabels);
//! let contraction = interpret_contract(&graph, &StrongContraction);
//! let components = [("component", ColumnData::Vertices(vec![0, 0, 2, 2]))];
//! assert_eq!(Value::columns(&labels.values), components);
//! assert_eq!(Value::columns(&contraction.values), components);
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::table::ColumnData;

/// Trimming continues while it decides at least one vertex for each `TRIM_PAYS` that are open.
const TRIM_PAYS: u64 = 4;

/// No label: more than all.
pub(crate) const NONE: u32 = u32::MAX;

/// The component is known.
pub(crate) const DECIDED: u16 = 0;
/// Stage: other vertices reach their labels, this one does not yet.
pub(crate) const SILENT: u16 = 1;
/// Stage: vertices tell that they are open, with and against the edges.
pub(crate) const TRIM: u16 = 2;
/// Stage: vertices tell their labels along the edges.
pub(crate) const SPREAD: u16 = 4;
/// Stage: vertices tell against the edges that they reach their labels.
pub(crate) const REACH: u16 = 6;
/// Added to a stage of a round that goes against the edges.
pub(crate) const AGAINST: u16 = 1;

/// In the weight of an arc: an edge leads along it.
pub(crate) const ALONG: u32 = 1;
/// In the weight of an arc: an edge leads back.
pub(crate) const BACK: u32 = 2;

/// A stage, whichever way its round goes.
#[inline(always)]
pub(crate) fn kind(stage: u16) -> u16 {
    stage & !AGAINST
}

/// Whether a stage is of a round that goes against the edges.
#[inline(always)]
pub(crate) fn is_against(stage: u16) -> bool {
    stage & AGAINST != 0
}

/// The stage that follows one in which `changed` of the `open` vertices changed.
#[inline(always)]
pub(crate) fn after(stage: u16, open: u64, changed: u64) -> u16 {
    match kind(stage) {
        TRIM if changed * TRIM_PAYS < open => SPREAD | (stage & AGAINST),
        SPREAD if changed == 0 => REACH | (stage & AGAINST),
        REACH if changed == 0 => TRIM | (!stage & AGAINST),
        _ => stage,
    }
}

/// Bound of both programs. A round decides the open vertex with the smallest number at least, so
/// there are `V` at most. In each a label passes less than `V` edges, and so does the word that a
/// vertex is reached, with an iteration that finds nothing new after either. Trimming continues
/// while it decides a vertex, or has just begun.
pub(crate) fn limit() -> Limit {
    let invariant = "each round decides the open vertex with the smallest number";
    let most = |vertices: u64| vertices.saturating_mul(2 * vertices + 8);
    Limit::Proved { most, invariant }
}

/// Words that a vertex heard in an iteration, along the edges as its round sees them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    /// An edge from an open vertex enters it.
    pub(crate) is_entered: bool,
    /// An edge to an open vertex leaves it.
    pub(crate) is_left: bool,
    /// A vertex ahead of it reaches the label that both have.
    pub(crate) reaches: bool,
    /// The smallest label behind it, or [`NONE`].
    pub(crate) label: u32,
}

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Labelled {
    pub(crate) vertex: u32,
    /// Component of the vertex, once that is decided.
    pub(crate) label: u32,
    /// The stage as of which it speaks, or [`DECIDED`] or [`SILENT`].
    pub(crate) says: u16,
    /// Mark that the program keeps beside it.
    pub(crate) mark: u16,
}

/// State of a vertex after an iteration.
pub(crate) struct Step {
    pub(crate) now: Labelled,
    pub(crate) changed: bool,
    /// Whether it has something to send.
    pub(crate) speaks: bool,
}

impl Labelled {
    /// A vertex of the first round.
    #[inline(always)]
    pub(crate) fn open(vertex: u32) -> Self {
        Self { vertex, label: vertex, says: TRIM, mark: 0 }
    }

    #[inline(always)]
    pub(crate) fn is_open(self) -> bool {
        self.says != DECIDED
    }

    #[inline(always)]
    pub(crate) fn decide(self, label: u32) -> Self {
        Self { label, says: DECIDED, ..self }
    }

    /// The state after receiving messages of a stage.
    #[inline(always)]
    fn learn(self, stage: u16, received: Received) -> Self {
        match kind(stage) {
            TRIM if !(received.is_entered && received.is_left) => self.decide(self.vertex),
            SPREAD => Self { label: self.label.min(received.label), ..self },
            REACH if received.reaches => Self { says: stage, ..self },
            _ => self,
        }
    }

    /// The state as it enters another stage.
    #[inline(always)]
    fn enter(self, stage: u16) -> Self {
        match kind(stage) {
            TRIM if self.says != SILENT => self.decide(self.label),
            SPREAD => Self { label: self.vertex, says: stage, ..self },
            REACH if self.label != self.vertex => Self { says: SILENT, ..self },
            _ => Self { says: stage, ..self },
        }
    }

    /// An iteration of an open vertex, after one of a stage and before one of the next.
    #[inline(always)]
    pub(crate) fn step(self, [stage, next]: [u16; 2], received: Received) -> Step {
        let learnt = self.learn(stage, received);
        let enters = learnt.is_open() && next != stage;
        let now = if enters { learnt.enter(next) } else { learnt };
        let changed = now != self;
        let speaks = now.says > SILENT && (changed || kind(now.says) == TRIM);
        Step { now, changed, speaks }
    }

    /// The column `component`.
    pub(crate) fn column(values: impl Iterator<Item = Self>) -> (&'static str, ColumnData) {
        ("component", ColumnData::Vertices(values.map(|value| value.label.into()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_end_when_nothing_happens_and_rounds_turn() {
        let next = |stage, changed| after(stage, 8, changed);
        assert_eq!([next(TRIM, 2), next(TRIM, 1)], [TRIM, SPREAD]);
        assert_eq!([next(SPREAD, 1), next(SPREAD, 0)], [SPREAD, REACH]);
        assert_eq!([next(REACH, 1), next(REACH, 0)], [REACH, TRIM | AGAINST]);
        assert_eq!(next(REACH | AGAINST, 0), TRIM);
        assert_eq!(next(SPREAD | AGAINST, 0), REACH | AGAINST);
    }

    #[test]
    fn a_vertex_without_edges_on_one_side_is_trimmed() {
        let step = |is_entered, is_left| {
            let received = Received { is_entered, is_left, label: NONE, ..Received::default() };
            Labelled::open(7).step([TRIM, TRIM], received)
        };
        for (is_entered, is_left) in [(false, false), (true, false), (false, true)] {
            let Step { now, changed, speaks, .. } = step(is_entered, is_left);
            assert_eq!((now.says, now.label, changed, speaks), (DECIDED, 7, true, false));
        }
        let Step { changed, speaks, .. } = step(true, true);
        assert!(!changed && speaks, "an open vertex says so in each iteration of trimming");
    }

    #[test]
    fn who_reaches_its_label_is_of_its_component() {
        for against in [0, AGAINST] {
            let at = Labelled { label: 3, says: SILENT, ..Labelled::open(7) };
            let reach = REACH | against;
            let hears = |reaches| Received { reaches, label: NONE, ..Received::default() };
            let reached = at.step([reach, reach], hears(true));
            assert_eq!((reached.now.says, reached.speaks), (reach, true));
            assert_eq!(at.step([reach, reach], hears(false)).now, at);
            let trim = TRIM | (against ^ AGAINST);
            let ended = reached.now.step([reach, trim], hears(false));
            assert_eq!(ended.now, at.decide(3));
            let again = at.step([reach, trim], hears(false));
            assert_eq!((again.now.says, again.speaks), (trim, true));
        }
    }

    #[test]
    fn labels_begin_anew_in_each_round() {
        let at = Labelled { label: 3, ..Labelled::open(7) };
        let received = Received { is_entered: true, is_left: true, reaches: false, label: NONE };
        assert_eq!(at.step([TRIM, SPREAD], received).now.label, 7);
        let spread = Labelled { says: SPREAD, ..at };
        assert_eq!(spread.step([SPREAD, SPREAD], Received { label: 2, ..received }).now.label, 2);
        assert_eq!(spread.step([SPREAD, REACH], received).now.says, SILENT);
        let own = Labelled { says: SPREAD, ..Labelled::open(7) };
        assert_eq!(own.step([SPREAD, REACH], received).now.says, REACH);
    }
}
