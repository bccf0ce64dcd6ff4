//! The shape of a kernel: widths of its columns, and what a schedule may do with it.
//!
//! Capabilities of programs are constants of their types, with rules among them. They become values
//! here, and here alone these rules are checked, when a program is compiled.

use std::any::type_name;

use welter_model::extended::Extended;
use welter_model::input_scan::InputScan;
use welter_model::intersect::Intersect;
use welter_model::program::Program;
use welter_model::stream::Stream;

use crate::kernels::records::RECORD_ALIGN;

/// Widths and capabilities of a program, as values.
#[derive(Clone, Copy, Debug)]
pub struct KernelShape {
    /// Says the name of the program's type.
    pub program: fn() -> &'static str,
    /// Bytes of the value of a vertex.
    pub value: usize,
    /// Bytes of the signal of a vertex.
    pub signal: usize,
    /// Bytes of an update.
    pub update: usize,
    /// Bytes of an accumulator.
    pub accum: usize,
    /// Bytes of the totals.
    pub total: usize,
    /// Bytes of the state of an edge; 0 where edges have none.
    pub state: usize,
    /// Properties that a schedule may use, or must respect.
    pub capabilities: Capabilities,
}

/// Properties of a program that a schedule may use, or must respect.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a constant of the program's type")]
pub struct Capabilities {
    /// Whether edges look at their weights.
    pub weighted: bool,
    /// Whether vertices may fall inactive.
    pub frontier: bool,
    /// Whether values only ever move towards the answer.
    pub monotone: bool,
    /// Whether relaxing edges until nothing changes gives the answer.
    pub relaxes: bool,
    /// Whether only relaxing continues from values that were relaxed.
    pub must_relax: bool,
    /// Whether the updates of a vertex wait for each other.
    pub groups: bool,
    /// Whether accumulators begin from the value of their vertex.
    pub knows_target: bool,
    /// Whether updates may be merged before they meet an accumulator of their destination.
    pub combines: bool,
    /// Whether numbers of vertices may have more than 32 bits.
    pub wide: bool,
    /// Whether first values look at degrees.
    pub degrees: bool,
}

impl KernelShape {
    /// Bytes of a record that waits: an accumulator where the program combines, else an update.
    pub fn record(&self) -> usize {
        if self.capabilities.combines { self.accum } else { self.update }
    }

    /// The shape of a fold program.
    pub(crate) const fn of<P: Program>() -> Self {
        const {
            assert!(P::FRONTIER || !P::MONOTONE, "a monotone program has a frontier");
            assert!(
                P::MONOTONE || !P::ANY_UPDATE_SUFFICES,
                "one update suffices monotone programs only"
            );
            assert!(P::MONOTONE || !P::ORDER_INDEPENDENT, "monotone programs alone are relaxed");
            assert!(!(P::GROUPS && P::FRONTIER), "a program that groups has no frontier");
            assert!(!(P::GROUPS && P::COMBINABLE), "updates that are grouped are not merged");
            assert!(
                !(P::ACCUM_FROM_VALUE && (P::MONOTONE || P::GROUPS)),
                "accumulators know no target"
            );
            assert!(
                size_of::<P::Value>() > 0 && size_of::<P::Signal>() > 0,
                "columns have a width"
            );
            assert!(size_of::<P::Accum>() > 0, "accumulators have a width");
            assert!(P::COMBINABLE || size_of::<P::Update>() > 0, "updates that wait have a width");
            assert!(
                align_of::<P::Accum>() <= RECORD_ALIGN && align_of::<P::Update>() <= RECORD_ALIGN,
                "records lie where the widest number may"
            );
        }
        Self {
            program: type_name::<P>,
            value: size_of::<P::Value>(),
            signal: size_of::<P::Signal>(),
            update: size_of::<P::Update>(),
            accum: size_of::<P::Accum>(),
            total: size_of::<P::Total>(),
            state: 0,
            capabilities: Capabilities {
                weighted: P::WEIGHTED,
                frontier: P::FRONTIER,
                monotone: P::MONOTONE,
                relaxes: P::ORDER_INDEPENDENT,
                must_relax: P::ORDER_INDEPENDENT && !P::UPDATES_ARE_COMPLETE,
                groups: P::GROUPS,
                knows_target: P::ACCUM_FROM_VALUE,
                combines: P::COMBINABLE,
                wide: P::WIDE,
                degrees: P::DEGREES,
            },
        }
    }

    /// The shape of an extended program.
    pub(crate) const fn of_extended<E: Extended>() -> Self {
        const {
            assert!(
                size_of::<E::Value>() > 0 && size_of::<E::Signal>() > 0,
                "columns have a width"
            );
            assert!(size_of::<E::Accum>() > 0, "accumulators have a width");
            assert!(size_of::<E::Update>() > 0, "updates that wait have a width");
            assert!(size_of::<E::State>() > 0, "edges of an extended program have a state");
        }
        Self {
            program: type_name::<E>,
            value: size_of::<E::Value>(),
            signal: size_of::<E::Signal>(),
            update: size_of::<E::Update>(),
            accum: size_of::<E::Accum>(),
            total: size_of::<E::Total>(),
            state: size_of::<E::State>(),
            capabilities: Capabilities {
                weighted: E::WEIGHTED,
                frontier: false,
                monotone: false,
                relaxes: false,
                must_relax: false,
                groups: false,
                knows_target: false,
                combines: false,
                // Edges are shown with ends of 32 bits.
                wide: false,
                degrees: E::DEGREES,
            },
        }
    }
}

/// Widths and capabilities of a stream program, as values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamShape {
    /// Bytes of the value of a vertex.
    pub(crate) value: usize,
    /// Whether edges look at their weights.
    pub(crate) weighted: bool,
    /// Whether edges are candidates where the states of their ends are unequal words.
    pub(crate) unequal: bool,
    /// Whether edges may be contracted.
    pub(crate) contracts: bool,
    /// Number of passes, where that is known beforehand.
    pub(crate) passes: Option<u64>,
}

impl StreamShape {
    /// The shape of a stream program.
    pub(crate) fn of<S: Stream>() -> Self {
        const {
            assert!(size_of::<S::Value>() > 0, "values have a width");
            assert!(
                !S::UNEQUAL
                    || size_of::<S::VertexState>() == 4 && align_of::<S::VertexState>() == 4,
                "states that are compared by words are words"
            );
        }
        Self {
            value: size_of::<S::Value>(),
            weighted: S::WEIGHTED,
            unequal: S::UNEQUAL,
            contracts: S::CONTRACTS,
            passes: S::PASSES,
        }
    }
}

/// Widths of an input scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanShape {
    /// Bytes of the value of a vertex.
    pub(crate) value: usize,
    /// Bytes of an accumulator.
    pub(crate) accum: usize,
    /// Bytes of the totals.
    pub(crate) total: usize,
}

impl ScanShape {
    /// The shape of an input scan.
    pub(crate) fn of<P: InputScan>() -> Self {
        const {
            assert!(size_of::<P::Value>() > 0, "values have a width");
            assert!(size_of::<P::Accum>() > 0, "accumulators have a width");
        }
        Self {
            value: size_of::<P::Value>(),
            accum: size_of::<P::Accum>(),
            total: size_of::<P::Total>(),
        }
    }
}

/// Widths and capabilities of a program over triangles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriangleShape {
    /// Bytes of the value of a vertex.
    pub(crate) value: usize,
    /// Whether an edge on the far side counts once for each direction that it has.
    pub(crate) directed: bool,
}

impl TriangleShape {
    /// The shape of a program over triangles.
    pub(crate) const fn of<I: Intersect>() -> Self {
        const { assert!(size_of::<I::Value>() > 0, "values have a width") }
        Self { value: size_of::<I::Value>(), directed: I::DIRECTED }
    }
}
