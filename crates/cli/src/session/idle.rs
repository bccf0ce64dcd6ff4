//! Options that were said and have no part in what is done: groups of options are those of several
//! commands and inputs, so an option is taken where it changes nothing. That is no error, since
//! scripts say one for all their inputs, and not silent, since a user wants something by it.

use welter_engine::plan::Plan;
use welter_input::ReadOptions;
use welter_store::io::Requests;

use super::Session;
use crate::args::{IoArg, ResourceArgs};
use crate::load::Source;

impl Session {
    /// A note on options that have no part in a run of this plan, or in a command that makes no
    /// graph; none where all that were said have one.
    pub(crate) fn idle_options(
        &self,
        (source, options): (&Source, &ReadOptions),
        plan: Option<&Plan>,
    ) -> Option<String> {
        let stated = &self.resources;
        let mut idle = if plan.is_none() { of_plans(stated) } else { Vec::new() };
        let asks_past = stated.io == Some(IoArg::Direct);
        let asks = stated.requests() != Requests::default() || asks_past;
        if asks && plan.is_none_or(|plan| plan.storage().is_none()) {
            let is_asked = matches!(source, Source::Kept(..)) || source.holds_raw(options);
            let comes = is_asked || source.arrives(options);
            let goes = !self.upload_requests().is_empty();
            idle.extend([
                ("--read-size", stated.read_size.is_some() && !comes),
                ("--write-size", stated.write_size.is_some() && !goes),
                ("--in-flight", stated.in_flight.is_some() && !comes && !goes),
                ("--io", asks_past && !is_asked),
            ]);
        }
        let names: Vec<&str> =
            idle.into_iter().filter(|(_, is_idle)| *is_idle).map(|(name, _)| name).collect();
        let (last, before) = names.split_last()?;
        let names = match before {
            [] => format!("{last} has"),
            before => format!("{} and {last} have", before.join(", ")),
        };
        let why = match plan {
            Some(_) => "nothing is moved by such requests",
            None => "edges go from one file to another",
        };
        Some(format!("{names} no part in this: {why}"))
    }
}

/// Options that only plans of graphs heed, and whether each was said.
fn of_plans(stated: &ResourceArgs) -> Vec<(&'static str, bool)> {
    vec![
        ("--edge-memory", stated.edge_memory.is_some()),
        ("--encoding", stated.encoding.is_some()),
        ("--compression", stated.compression.is_some()),
        ("--stripe-bits", stated.stripe_bits.is_some()),
        ("--block-bits", stated.block_bits.is_some()),
        ("--route", stated.route.is_some()),
        ("--no-combine", stated.no_combine),
        ("--no-fuse", stated.no_fuse),
        ("--vertices-in-memory", stated.vertices_in_memory),
    ]
}
