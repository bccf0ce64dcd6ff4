//! Outputs, looked at before any work is done: that they can be made, and destroy nothing.
//!
//! Invariants: no output is an input, or a part of a kept graph or of checkpoints, by whatever name
//! · no two outputs are one file or object · what is found out here leaves nothing behind. Tested
//! by `outputs_that_would_destroy_something_are_refused_before_the_run`.

use std::fs;
use std::path::{Path, PathBuf};

use welter_engine::kept::{is_kept, is_kept_in_parts};
use welter_input::source;
use welter_objects::Location;
use welter_output::{Destination, probe};

use crate::failure::Failure;
use crate::interrupt;
use crate::load::Source;
use crate::stdout::is_stdout;

/// The outputs of a command.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    inputs: Vec<PathBuf>,
    checkpoint: Option<PathBuf>,
    /// Where checkpoints are kept in a bucket.
    checkpoint_folder: Option<Location>,
    places: Vec<(String, Destination)>,
}

impl Outputs {
    /// Of a command that reads this.
    pub(crate) fn of(source: &Source) -> Self {
        Self { inputs: source.files(), ..Self::default() }
    }

    /// Outputs beside these files.
    pub(crate) fn beside(inputs: Vec<PathBuf>) -> Self {
        Self { inputs, ..Self::default() }
    }

    /// Adds these tables.
    pub(crate) fn with_tables(mut self, tables: impl IntoIterator<Item = String>) -> Self {
        self.inputs.extend(table_files(tables));
        self
    }

    /// Adds checkpoints in this directory.
    pub(crate) fn with_checkpoint(mut self, directory: Option<&PathBuf>) -> Self {
        self.checkpoint = directory.and_then(|directory| fs::canonicalize(directory).ok());
        self.checkpoint_folder = directory.and_then(|directory| Location::of(directory)?.ok());
        self
    }

    /// Refuses an output that cannot be made, or is something else already.
    pub(crate) fn promise(&mut self, path: &Path) -> Result<(), Failure> {
        if is_stdout(path) {
            let what = "-: standard output is taken by something else; name a file";
            return Err(Failure::usage(what));
        }
        let place = self.checked(path)?;
        if let Some(file) = place.file() {
            interrupt::will_write(file);
        }
        self.places.push((path.display().to_string(), place));
        Ok(())
    }

    /// Where an output goes, which can be made and is nothing else already.
    pub(crate) fn checked(&self, path: &Path) -> Result<Destination, Failure> {
        let place = probe(path)?;
        if place.lasts() {
            self.refuse(&path.display().to_string(), &place)?;
        }
        Ok(place)
    }

    /// Refuses what is something else already.
    fn refuse(&self, name: &str, place: &Destination) -> Result<(), Failure> {
        let is = |path: &Path| place.is(&Destination::of_input(path));
        if let Some(input) = self.inputs.iter().find(|input| is(input)) {
            let input = input.display();
            let what = format!("{input}: is an input and cannot be the output too");
            return Err(Failure::output(what));
        }
        let mut folders = place.file().into_iter().flat_map(Path::ancestors).skip(1);
        // A graph has its files in the folder of a generation, and no folders in that.
        let has_graph = |folder: &&Path| is_kept(folder) || is_kept_in_parts(folder);
        if let Some(graph) = folders.clone().take(2).find(has_graph) {
            let what = format!("{name}: a graph is kept in {}", graph.display());
            return Err(Failure::output(what).hint("name a file in another directory"));
        }
        let checkpoint = self.checkpoint.as_deref();
        if checkpoint.is_some_and(|directory| folders.any(|folder| folder == directory)) {
            return Err(Failure::usage(format!("{name}: checkpoints are kept in that directory")));
        }
        if let (Some(folder), Destination::Object(at)) = (&self.checkpoint_folder, place) {
            let below = format!("{}/", folder.key.trim_end_matches('/'));
            if at.root() == folder.root() && at.key.starts_with(&below) {
                return Err(Failure::usage(format!("{name}: checkpoints are kept there")));
            }
        }
        match self.places.iter().find(|(_, other)| place.is(other)) {
            Some((other, _)) if *other == *name => {
                Err(Failure::usage(format!("{name}: is the output and the report")))
            }
            Some((other, _)) => {
                Err(Failure::usage(format!("{name}: is the same file as the output {other}")))
            }
            None => Ok(()),
        }
    }
}

/// The files of tables, which patterns and directories may stand for. What is not there is found
/// out when it is read.
pub(crate) fn table_files(tables: impl IntoIterator<Item = String>) -> Vec<PathBuf> {
    let files = |table: String| source::names(&[&table]).unwrap_or_else(|_| vec![table.into()]);
    tables.into_iter().flat_map(files).collect()
}
