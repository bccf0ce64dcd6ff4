//! Options of runs that can be resumed.

use std::num::NonZero;
use std::path::{Path, PathBuf, absolute};

use clap::Args;
use welter_objects::Location;
use welter_output::TableFormat;

use super::values::parsed;
use super::{ResourceArgs, RunOptions};
use crate::stdout::{is_directory, is_stdout};

/// Location of checkpoints.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Checkpoints")]
pub(crate) struct CheckpointArgs {
    /// Write checkpoints into this directory, empty or not there yet, from which `welter resume
    /// DIR` resumes the run, whatever ended it. It takes three times the values of all vertices at
    /// most, and is removed when the results are written
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Write one after every N iterations [default: as many as take a twentieth of the time,
    /// and none in the first 10 seconds]
    #[arg(long, alias = "every", value_name = "N", requires = "checkpoint")]
    pub(crate) checkpoint_every: Option<NonZero<u64>>,
    /// Directory of another disk, which takes its share of each checkpoint; may be given more than
    /// once: docs/disks.md
    #[arg(long = "checkpoint-disk", value_name = "DIR", requires = "checkpoint")]
    #[arg(hide_short_help = true)]
    pub(crate) checkpoint_disks: Vec<PathBuf>,
}

/// Arguments of `resume`.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Directory of the checkpoints
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directory: PathBuf,
    /// Write the result of every vertex here; `-` for standard output [default: as the run
    /// was begun]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// csv, tsv, jsonl, parquet, arrow, npy or ldbc [default: what the name of the file ends with]
    #[arg(long, value_name = "FORMAT", requires = "output", help_heading = "Output")]
    #[arg(value_parser = parsed::<TableFormat>)]
    output_format: Option<TableFormat>,
    /// Write a report here [default: as the run was begun]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceArgs,
}

impl ResumeArgs {
    /// The arguments with paths that mean the same from any directory.
    pub(crate) fn absolute(mut self) -> std::io::Result<Self> {
        let whole = |path: &mut PathBuf| -> std::io::Result<()> {
            if !is_stdout(path) && Location::of(path).is_none() {
                *path = absolute(Path::new(path))?;
            }
            Ok(())
        };
        whole(&mut self.directory)?;
        self.output.iter_mut().try_for_each(whole)?;
        self.report.iter_mut().try_for_each(whole)?;
        self.resources.scratch.iter_mut().try_for_each(whole)?;
        self.resources.edge_cache.iter_mut().try_for_each(|cache| whole(&mut cache.directory))?;
        Ok(self)
    }

    /// Whether it names a directory for results in parts.
    pub(crate) fn says_parts(&self) -> bool {
        self.output.as_deref().is_some_and(is_directory)
    }

    /// Whether it says where results go.
    pub(crate) fn says_output(&self) -> bool {
        self.output.is_some()
    }

    /// An option that machines of a cluster would not hear of; `are_processes`: those of one
    /// computer.
    pub(crate) fn unheard_by_machines(&self, are_processes: bool) -> Option<&'static str> {
        self.resources.unheard_by_machines(are_processes)
    }

    /// Puts what is said now over what was said of the run.
    pub(crate) fn put(self, run: &mut RunOptions) {
        if self.output.is_some() {
            (run.output.output, run.output.output_format) = (self.output, self.output_format);
        }
        run.output.report = self.report.or(run.output.report.take());
        self.resources.put(&mut run.resources);
    }
}
