//! Updates that are made while others are gathered (Chaos scatters all that it gathers; programs
//! over triangles answer what comes to a vertex).
//!
//! ```text
//! gather i    streams updates of iteration i; who streams, and who applies, may make updates of
//!             iteration i + 1: these are *carried*
//! scatter i+1 makes more of them where vertices are active; in programs that carry none is
//! gather i+1  streams all of them
//! gathered(i+1) = carried(i) + made(scatter i+1)
//! ```
//!
//! A machine flushes its buffers when the last chunk of a partition is streamed, stealers too, so
//! that nothing is left in them when accumulators are handed over. What a master makes as it
//! applies may be much more than a vertex set. So applying is asked for in parts
//! ([`crate::Outcome::Applied`]), and the next one only while the window of stores has room.
//!
//! Carried updates are in no manifest. So a checkpoint that is due waits for the end of an
//! iteration that carries nothing, and a machine that goes back makes again what was carried since.
//!
//! **Invariant:** a checkpoint is made only when nothing is carried, and a run does not end before.
//! Checked in `Due::after`. Tested by `a_checkpoint_waits_until_nothing_is_carried`.
//! **Invariant:** updates are carried by programs that say so, on route `spill`. Asserted in
//! `gathered_in`.

use crate::config::{Config, Route};
use crate::context::Context;
use crate::counters::Path;
use crate::ids::{Phase, Step};

/// Whether updates are made while this phase streams, to be gathered one iteration later.
pub(crate) fn carries(config: &Config, phase: Phase) -> bool {
    config.carries && phase == Phase::Gather && config.route == Route::Spill
}

/// Updates that wait for the next gather after a step that made `made`, where `waited` waited
/// before.
pub(crate) fn waiting(step: Step, waited: u64, made: u64) -> u64 {
    if step.phase == Phase::Scatter { waited + made } else { made }
}

/// The iteration that gathers what a step has stored.
pub(crate) fn gathered_in(cx: &mut Context, step: Step) -> u32 {
    if step.phase == Phase::Scatter {
        return step.iteration;
    }
    assert!(carries(&cx.config, step.phase), "updates are made by scatter, or carried");
    cx.counters.count(Path::Carried);
    step.iteration + 1
}
