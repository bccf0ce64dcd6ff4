//! Options of `welter graphalytics`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::validate::Rule;
use crate::args::ResourceArgs;

/// Arguments of `graphalytics`.
#[derive(Debug, Args)]
pub(crate) struct GraphalyticsArgs {
    /// A folder with data sets, each a .properties file and the files that it names; or one such
    /// file
    #[arg(value_name = "DIR")]
    pub(super) input: PathBuf,
    /// Only the data set of this graph; may be said several times [default: all in the folder]
    #[arg(long, value_name = "NAME")]
    pub(super) graph: Vec<String>,
    /// Only these algorithms, separated by commas [default: those that the properties list]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', ignore_case = true)]
    pub(super) algorithm: Vec<Kind>,
    /// Folder of the references [default: that of the properties]
    #[arg(long, value_name = "DIR")]
    pub(super) reference: Option<PathBuf>,
    /// Write outputs into this folder, as lines `vertex value` in files NAME-BFS and so on
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// Write a report here, as JSON: times, what validation found, and the report of each run
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) report: Option<PathBuf>,
    #[command(flatten)]
    pub(super) resources: ResourceArgs,
}

/// An algorithm of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Breadth-first search
    Bfs,
    /// Community detection by label propagation
    Cdlp,
    /// Local clustering coefficients
    Lcc,
    /// PageRank
    Pr,
    /// Single-source shortest paths
    Sssp,
    /// Weakly connected components
    Wcc,
}

impl Kind {
    /// The algorithm that properties call by this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }

    /// Acronym that outputs are called by.
    pub(super) fn acronym(self) -> &'static str {
        match self {
            Self::Bfs => "BFS",
            Self::Cdlp => "CDLP",
            Self::Lcc => "LCC",
            Self::Pr => "PR",
            Self::Sssp => "SSSP",
            Self::Wcc => "WCC",
        }
    }

    /// Rule by which its output is compared with a reference.
    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Bfs | Self::Cdlp => Rule::Exact,
            Self::Lcc | Self::Pr | Self::Sssp => Rule::Near,
            Self::Wcc => Rule::Partition,
        }
    }
}
