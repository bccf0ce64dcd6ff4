//! Checkpoints that are due: after a scatter, after a number of iterations, and as soon as nothing
//! is carried any more ([`crate::carrying`]).

use crate::checkpoint::{Manifest, is_due};
use crate::context::Context;
use crate::counters::Path;
use crate::ids::Epoch;

/// Whether a scatter is checkpointed that began with these values, which those of the newest
/// manifest may be.
pub(crate) fn is_due_scattered(
    cx: &Context,
    newest: Option<&Manifest>,
    state: (Epoch, u32),
) -> bool {
    let wanted = cx.config.scatter_checkpoints && !cx.config.rewrites();
    wanted && newest.map(Manifest::state) == Some(state)
}

/// Checkpoints that are due, which wait while updates are carried ([`crate::carrying`]).
#[derive(Debug, Default)]
pub(crate) struct Due {
    overdue: bool,
}

impl Due {
    /// Whether the result of `iterations` iterations is checkpointed now.
    pub(crate) fn after(
        &mut self,
        cx: &mut Context,
        iterations: u32,
        (goes_on, carried): (bool, bool),
    ) -> bool {
        assert!(goes_on || !carried, "what is carried is gathered");
        let due = self.overdue || is_due(iterations, cx.config.checkpoint_interval, goes_on);
        self.overdue = due && carried;
        if !due || carried {
            cx.counters.count(Path::NotCheckpointed);
        }
        due && !carried
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{Config, of_two};

    #[test]
    fn a_checkpoint_waits_until_nothing_is_carried() {
        // A gather carries, or not: checkpointed every second iteration, or as soon as it can be.
        let cases: [(&[bool], &[bool]); 4] = [
            (&[false, false, false, false], &[false, true, false, true]),
            (&[true, true, true, false], &[false, false, false, true]),
            (&[true, false, true, true, false], &[false, true, false, false, true]),
            (&[false, true, false, false], &[false, false, true, true]),
        ];
        for (carried, checkpointed) in cases {
            let config = Config { checkpoint_interval: 2, ..of_two() };
            let (mut cx, mut due) = (Context::new(Arc::new(config), 0, 1), Due::default());
            let found = (1..)
                .zip(carried)
                .map(|(done, &carried)| due.after(&mut cx, done, (true, carried)));
            assert_eq!(found.collect::<Vec<_>>(), checkpointed, "{carried:?}");
        }
    }
}
