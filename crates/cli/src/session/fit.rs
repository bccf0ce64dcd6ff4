//! Whether a kept graph was read as a command wants it.
//!
//! One that was is opened as it is. Where a command wants another reading (edges backwards, say),
//! the kept edges are read as an input, once more.

use welter_engine::kept::KeptGraph;
use welter_input::WeightChoice;
use welter_model::edges::{Duplicates, Reading};
use welter_progress::FailureKind;

use super::wanted::GraphRequest;
use crate::failure::Failure;

/// Fitness of a kept graph for a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// As it is.
    Reuse,
    /// Edges are read again, for this reason.
    Reread(&'static str),
}

/// Whether a kept graph was read as a command wants it.
pub(crate) fn fit(kept: &KeptGraph, wanted: &GraphRequest<'_>) -> Result<Fit, Failure> {
    let manifest = kept.manifest();
    let refused = |what: &str| Err(Failure::usage(format!("{}: {what}", kept.path().display())));
    let Reading { reversed, drop_self_loops, duplicates, .. } = wanted.reading;
    let Reading { undirected: both_ways, .. } = manifest.reading;
    if wanted.options.non_negative && manifest.negative && wanted.reads_weights(manifest.weighted) {
        let path = kept.path().display();
        let what = format!("{path}: expected weights that are not negative, and some are");
        return Err(Failure::new(FailureKind::Input, what));
    }
    let stated_both = wanted.options.undirected == Some(true);
    let wants_both = stated_both || wanted.ways.are_both();
    let ways = duplicates == Duplicates::Directions;
    let merges = duplicates != Duplicates::Keep && !ways;
    let was_merged = manifest.reading.duplicates != Duplicates::Keep;
    let weighs = wanted.weighs && (manifest.weighted || duplicates == Duplicates::Sum);
    if merges && was_merged && duplicates != manifest.reading.duplicates && weighs {
        return refused("parallel edges were merged when it was kept, with other weights");
    }
    let merges_anew = merges && !was_merged;
    if merges_anew && duplicates == Duplicates::First && weighs && stated_both && !both_ways {
        return refused(
            "the order of edges in the input was not kept, so which of parallel ones is the \
             first is not known; say --drop-duplicates when it is ingested",
        );
    }
    let anew = [
        (wants_both && !both_ways, "both ways"),
        (!both_ways && !wants_both && reversed != manifest.reading.reversed, "backwards"),
        (drop_self_loops && !manifest.reading.drop_self_loops, "without self-loops"),
        (merges_anew, "without parallel edges"),
        (ways, "with the ways that edges go"),
        (
            wanted.weighs && manifest.weighted && wanted.options.weight == WeightChoice::Ignore,
            "without weights",
        ),
    ];
    Ok(anew.into_iter().find(|(is, _)| *is).map_or(Fit::Reuse, |(_, how)| Fit::Reread(how)))
}
