//! Graphs that are kept, as inputs of commands: how one is opened, and what may be said of it.

use std::path::Path;

use welter_engine::kept::{self, Kept, Manifest};
use welter_input::IdKind;
use welter_progress::FailureKind;
use welter_store::io::IoOptions;

use crate::args::InputArgs;
use crate::failure::Failure;

/// Opens a directory that a user named as a kept graph.
pub(crate) fn open(directory: &Path) -> Result<Kept, Failure> {
    if directory.is_dir() && !kept::is_kept(directory) {
        let path = directory.display();
        let what = format!("{path}: no graph is kept here: there is no manifest");
        return Err(Failure::new(FailureKind::Missing, what));
    }
    if !directory.exists() {
        let path = directory.display();
        return Err(Failure::new(
            FailureKind::Missing,
            format!("{path}: there is no such directory"),
        ));
    }
    Ok(Kept::open(directory, &IoOptions::default())?)
}

/// Refuses what is said of an input and a kept graph cannot follow any more.
pub(crate) fn refuse_reading(args: &InputArgs, kept: &Kept) -> Result<(), Failure> {
    let path = kept.path().display();
    if args.says_of_files() || args.says_of_vertices() || args.says_of_ids() {
        return Err(Failure::usage(format!(
            "{path}: a kept graph has been read; leave out what is said of formats, columns, ids \
             and vertices"
        )));
    }
    if args.direction.directed && kept.manifest().reading.undirected {
        return Err(Failure::usage(format!(
            "{path}: was kept with every edge both ways; what way each went is not known any more"
        )));
    }
    Ok(())
}

/// Whether sources and targets are two kinds of vertices.
pub(crate) fn has_two_kinds(manifest: &Manifest) -> bool {
    matches!(
        manifest.ids,
        kept::KeptIds::TwoKindsOfNames | kept::KeptIds::TwoKindsOfIntegers { .. }
    )
}

/// Kind of the ids, for the plan that is shown.
pub(crate) fn id_kind(manifest: &Manifest) -> IdKind {
    match manifest.ids {
        kept::KeptIds::Names | kept::KeptIds::TwoKindsOfNames => IdKind::Names,
        _ => IdKind::Integers,
    }
}
