//! Graphs in parts, as inputs of commands: each machine of a cluster has kept a part
//! ([`crate::cluster_ingest`]), and where all parts are found they are read one after the other.
//!
//! Invariant: an ingest that did not end is no input. Checked in `among`. Tested by
//! `an_ingest_that_is_killed_leaves_no_graph`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use welter_engine::kept::{self, KeptParts, PartsList};
use welter_engine::plan::human_bytes;
use welter_input::{Estimate, IdKind, ReadOptions, WeightChoice};
use welter_progress::FailureKind;
use welter_store::io::IoOptions;

use crate::failure::{Failure, printable};
use crate::kept::{has_two_kinds, id_kind};
use crate::loaded::Loaded;
use crate::number_format::{counted, grouped};

/// The graph in parts among some inputs, if there is one, and how the user named it.
pub(crate) fn among(inputs: &[PathBuf]) -> Result<Option<(&Path, KeptParts)>, Failure> {
    if let Some(input) = inputs.iter().find(|input| kept::is_kept_in_parts(input)) {
        return Ok(Some((input, open(input)?)));
    }
    let Some(left) = inputs.iter().find(|input| kept::has_left_parts(input)) else {
        return Ok(None);
    };
    let what = format!("{}: no graph is kept here: an ingest into it did not end", left.display());
    Err(Failure::new(FailureKind::Missing, what).hint("ingest it again, or `welter remove` it"))
}

/// Opens the graph of a directory.
pub(crate) fn open(directory: &Path) -> Result<KeptParts, Failure> {
    Ok(KeptParts::open(directory, &IoOptions::default())?)
}

/// Whether weights are wanted of a graph. Columns were chosen when it was kept.
pub(crate) fn wants_weights(
    list: &PartsList,
    options: &ReadOptions,
    name: &str,
) -> Result<bool, Failure> {
    if let WeightChoice::Column(column) = &options.weight {
        let what = format!("{name}: columns were chosen when it was kept: {column}");
        return Err(Failure::usage(what));
    }
    let wants = options.weight != WeightChoice::Ignore && list.is_weighted();
    if wants && options.non_negative && list.has_negative() {
        let what = format!("{name}: expected weights that are not negative, and some are");
        return Err(Failure::content(what));
    }
    Ok(wants)
}

/// All parts, one after the other.
pub(crate) fn load(
    name: &str,
    parts: &KeptParts,
    options: &ReadOptions,
) -> Result<Loaded, Failure> {
    let list = parts.list();
    let edges = parts.stream(0..list.parts().len(), wants_weights(list, options, name)?)?;
    Ok(Loaded {
        edges: Box::new(edges),
        ids: parts.ids()?,
        files: vec![(name.to_owned(), format!("kept in {}", count(list)))],
        readings: Vec::new(),
        bytes: Some(list.bytes()),
        undirected: options.undirected.unwrap_or(list.is_undirected()),
        notes: Vec::new(),
    })
}

/// The estimate before reading.
pub(crate) fn estimate(parts: &KeptParts, options: &ReadOptions) -> Estimate {
    let list = parts.list();
    let first = parts.here().next();
    Estimate {
        bytes: Some(list.bytes()),
        edges: Some(list.edges()),
        exact: true,
        slots: Some(list.slots()),
        slots_seen: None,
        ids: first.map_or(IdKind::Auto, |(_, kept)| id_kind(kept.manifest())),
        weighted: list.is_weighted(),
        undirected: options.undirected.or(Some(list.is_undirected())),
    }
}

/// Whether sources and targets are two kinds of vertices, as far as that is known here.
pub(crate) fn are_of_two_kinds(parts: &KeptParts) -> bool {
    parts.here().next().is_some_and(|(_, kept)| has_two_kinds(kept.manifest()))
}

/// Number of parts, in words.
pub(crate) fn count(list: &PartsList) -> String {
    counted(list.parts().len() as u64, "part", "parts")
}

/// The parts that are here, in words: `parts 0 and 2 of 4`.
pub(crate) fn here(parts: &KeptParts) -> String {
    let all = parts.list().parts().len();
    let numbers: Vec<String> = parts.here().map(|(part, _)| part.to_string()).collect();
    match numbers.split_last() {
        None => format!("none of {all} parts"),
        Some((last, [])) => format!("part {last} of {all}"),
        Some((last, before)) => format!("parts {} and {last} of {all}", before.join(", ")),
    }
}

/// Description of a graph of which not all parts are here.
pub(crate) fn description(name: &str, parts: &KeptParts) -> String {
    let list = parts.list();
    let mut text = String::new();
    let mut row = |name: &str, what: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<13}{what}");
    };
    let bytes = human_bytes(list.bytes());
    row("input", format!("{} (kept in {}, {bytes})", printable(name), count(list)));
    row("here", here(parts));
    row("vertices", grouped(list.vertices()));
    let direction = if list.is_undirected() { ", undirected" } else { "" };
    row("edges", format!("{}{direction}", grouped(list.edges())));
    row("weights", if list.is_weighted() { "yes" } else { "no" }.to_owned());
    text
}
