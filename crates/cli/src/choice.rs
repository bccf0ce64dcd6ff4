//! Choice between the two methods of an algorithm: a program that learns in memory as long as that
//! fits, and a fold program on routes that the first one does not have, and in less memory.
//!
//! Invariant: what was taken is told, with the reason: by `explain`, and by the report. Tested
//! by `components_go_by_labels_where_a_route_is_forced` and
//! `components_go_by_labels_where_cells_do_not_fit`.

use clap::{Args, ValueEnum};

/// Reason why the first method was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FallbackReason {
    /// The method does not have the route that was forced.
    Route,
    /// The method does not fit in memory.
    Memory,
}

/// The method that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodUsed {
    /// Name that `--method` has for the method.
    pub(crate) name: &'static str,
    /// Reason why the method was taken.
    pub(crate) why: String,
}

/// The methods of an algorithm that has two, as its help tells them.
pub(crate) trait Methods: ValueEnum + PartialEq + Clone + Send + Sync + 'static {
    /// The first one where it can be, else the other.
    const AUTO: Self;
    /// The other one, a fold program.
    const LABELS: Self;
    /// Name that `--method` has for the first one, and a clause that says what that does.
    const FIRST: [&'static str; 2];
}

/// Name that `--method` has for the other one.
const LABELS: &str = "label-propagation";

/// The method of an algorithm that has two.
#[derive(Clone, Debug, Args)]
pub(crate) struct MethodArgs<M: Methods> {
    /// Method by which the result is found; it is the same either way
    #[arg(long, value_name = "METHOD", default_value = "auto")]
    method: M,
    /// Reason why it is not the first method, where the choice was ours.
    #[arg(skip)]
    why: Option<FallbackReason>,
}

impl<M: Methods> MethodArgs<M> {
    /// Whether it is the other one.
    pub(crate) fn by_labels(&self) -> bool {
        self.method == M::LABELS
    }

    /// Whether the choice is left to us.
    pub(crate) fn is_free(&self) -> bool {
        self.method == M::AUTO
    }

    /// The other one, where the choice is left to us.
    pub(crate) fn otherwise(&self, why: FallbackReason) -> Option<Self> {
        (self.method == M::AUTO).then_some(Self { method: M::LABELS, why: Some(why) })
    }

    /// The way that is taken.
    pub(crate) fn taken(&self) -> MethodUsed {
        let [name, called] = M::FIRST;
        let name = if self.by_labels() { LABELS } else { name };
        let why = match self.why {
            Some(FallbackReason::Route) => {
                format!("{called} does not have the route that is forced")
            }
            Some(FallbackReason::Memory) => format!("{called} does not fit in memory"),
            None if self.method == M::AUTO => {
                "it fits in memory, and has the route if one is forced".to_owned()
            }
            None => "as --method says".to_owned(),
        };
        MethodUsed { name, why }
    }
}
