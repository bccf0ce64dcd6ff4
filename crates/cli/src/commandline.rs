//! The command line, as clap reads it.
//!
//! Text about an algorithm (its name, its formula, examples) comes from the registry in
//! [`crate::algorithms`], so that help, `welter algorithms` and the manual cannot disagree.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::algorithms::{AlgorithmCommand, REGISTRY};
use crate::args::{ConvertArgs, ExplainOptions, InfoArgs, ResumeArgs, RunOptions};
use crate::generate::Generator;
use crate::graphalytics::GraphalyticsArgs;
use crate::ingest::{CheckArgs, IngestArgs, RemoveArgs};
use crate::probe::ProbeArgs;

/// Graph analytics: from an edge list to ranks with one command.
#[derive(Debug, Parser)]
#[command(name = "welter", version = env!("WELTER_VERSION"))]
#[command(max_term_width = 100, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  welter run pagerank links.tsv.zst
  welter run pagerank 'part-*.parquet' -o ranks.parquet
  welter explain pagerank links.tsv.zst
  welter generate rmat 20 -o graph.u32

Exit codes:
    0  done                        73  the output cannot be made
    2  wrong usage                 74  reading or writing failed
   65  bad input (content)         75  interrupted; see `welter resume`
   66  an input is not there       77  it belongs to another user
   70  damaged data, or a bug      78  it does not fit the memory budget
  130  interrupted

`welter help COMMAND`, or `welter COMMAND --help`, says more.";

/// Commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an algorithm on a graph
    #[command(after_help = RUN_EXAMPLES, disable_help_subcommand = true)]
    Run {
        #[command(subcommand)]
        algorithm: Box<AlgorithmCommand<RunOptions>>,
    },
    /// Resume a run that was interrupted, from its last checkpoint
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(ResumeArgs),
    /// Say how a run would be done and what memory it would take, without doing it
    #[command(after_help = EXPLAIN_EXAMPLES, disable_help_subcommand = true)]
    Explain {
        #[command(subcommand)]
        algorithm: Box<AlgorithmCommand<ExplainOptions>>,
    },
    /// Read a graph once and keep it in a directory, for any number of runs
    #[command(after_help = INGEST_EXAMPLES)]
    Ingest(IngestArgs),
    /// Verify every byte of a graph that is kept in a directory
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Remove a kept graph, on whatever disks it lies
    Remove(RemoveArgs),
    /// Describe a graph: vertices, edges, ids, self-loops, parallel edges, degrees
    #[command(after_help = INFO_EXAMPLES)]
    Info(InfoArgs),
    /// Read a graph in one format and write it in another
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// Make a graph
    #[command(after_help = GENERATE_EXAMPLES, disable_help_subcommand = true)]
    Generate {
        #[command(subcommand)]
        generator: Generator,
    },
    /// Run data sets of LDBC Graphalytics, and validate the results by its rules
    #[command(after_help = GRAPHALYTICS_EXAMPLES)]
    Graphalytics(GraphalyticsArgs),
    /// Measure how fast a directory is read and written, by size of the requests
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(ProbeArgs),
    /// Make the key by which machines of a cluster know each other
    Cluster {
        #[command(subcommand)]
        what: ClusterCommand,
    },
    /// List the algorithms: what they compute, from what, into which columns
    Algorithms,
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Write a page for every command into this folder, instead of printing the first one
        #[arg(short, long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
    /// Print a page that is made from the code: of the documentation, or of the Python package
    #[command(hide = true)]
    Markdown {
        /// The page
        #[arg(default_value = "cli")]
        page: Page,
    },
}

/// Commands about clusters.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Write a new key, of which all machines must have a copy, and no one else
    Init {
        /// The file
        #[arg(default_value = "welter-cluster.key")]
        file: PathBuf,
    },
}

/// Pages of the documentation that are made from the code.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Page {
    /// The help of all commands
    Cli,
    /// A table of the algorithms
    Algorithms,
    /// The functions of the Python package
    Python,
}

const RUN_EXAMPLES: &str = "\
Examples:
  welter run pagerank links.tsv                        the 20 highest ranks
  welter run pagerank links.csv.gz -o ranks.parquet    the ranks of all vertices
  zcat links.gz | welter run pagerank -                from standard input
  welter run pagerank rmat:22 --iterations 10          on a generated graph
  welter run pagerank --help                           all options

`welter algorithms` says what each computes.";

const RESUME_EXAMPLES: &str = "\
Examples:
  welter run pagerank big --checkpoint ranks.run -o ranks.parquet
  welter resume ranks.run                              the same result, as if nothing had happened
  welter resume ranks.run --memory 4GiB --threads 8    with more of the machine

The run is the one that was begun: its inputs, which must be as they were, its options and where its
results go are read from the checkpoint.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  welter explain pagerank links.tsv
  welter explain pagerank rmat:30 --memory 64GiB --precision f32";

const INGEST_EXAMPLES: &str = "\
Examples:
  welter ingest links.tsv.zst -o links    then: welter run pagerank links
  welter ingest friends.csv --undirected --drop-duplicates -o friends
  welter ingest rmat:26 -o big --memory 1GiB --scratch /mnt/nvme
  welter ingest big.csv -o big --cluster local:4    a part a machine

The graph is there once all of it is on the device. What a run wants read otherwise (--direction in,
--undirected) is made from it again, in memory or in temporary files.";

const CHECK_EXAMPLES: &str = "\
Examples:
  welter check links    ends with 70 at the first damage, and says in which file and where";

const INFO_EXAMPLES: &str = "\
Examples:
  welter info links.tsv.zst
  welter info edges.u32
  welter info web:1000000";

const CONVERT_EXAMPLES: &str = "\
Examples:
  welter convert links.tsv.gz -o links.parquet
  welter convert links.parquet -o links.u32    raw pairs of 32-bit ids: the fastest to read
  welter convert 'part-*.csv' -o all.tsv.zst --no-weights";

const GENERATE_EXAMPLES: &str = "\
Examples:
  welter generate rmat 20 -o graph.u32
  welter generate rmat 16 --scramble --weights 255 -o graph.parquet
  welter generate web 1000000 -o web.tsv.zst
  welter generate rmat 8 | welter run pagerank -";

const GRAPHALYTICS_EXAMPLES: &str = "\
Examples:
  welter graphalytics datagen-7_5-fb    all algorithms that the properties list
  welter graphalytics . --graph wiki-Talk --algorithm bfs,pr --memory 1GiB --scratch /mnt/nvme
  welter graphalytics sets --reference answers -o outputs --report report.json

A data set is NAME.properties, with the files of vertices and edges that it names beside it, and
references NAME-BFS, NAME-CDLP, NAME-LCC, NAME-PR, NAME-SSSP and NAME-WCC, compressed or not.

BFS and CDLP must be as in the reference, WCC the same partition, PR, LCC and SSSP within 0.0001 of
each value, relatively. Every vertex must be there once. What has no reference is not validated.

Each algorithm is a run of its own: load is the time from the first look at the files until the
graph is ready, processing from then on until the result is there. EVPS and EPS are vertices and
edges, and edges alone, for each second of processing.

Ends with 70 where a result is wrong, and with 65 where a reference is not one of this graph.";

const PROBE_EXAMPLES: &str = "\
Examples:
  welter probe /mnt/nvme
  welter probe /mnt/a /mnt/b --html rates.html         side by side, with charts
  welter probe /mnt/a /mnt/b --together                as a run would stripe them
  welter probe . --seconds 5 --json -";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  welter completions bash > ~/.local/share/bash-completion/completions/welter
  welter completions zsh > ~/.zfunc/_welter
  welter completions fish > ~/.config/fish/completions/welter.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  welter man | man -l -
  welter man -o ~/.local/share/man/man1";

/// The whole command line, with what the registry says of each algorithm.
pub(crate) fn command() -> clap::Command {
    let with_algorithms = |command: clap::Command, run: bool| {
        REGISTRY.iter().fold(command, |command, entry| {
            command.mut_subcommand(entry.name, |algorithm| {
                let algorithm = algorithm.about(entry.about).long_about(entry.long_about());
                if run { algorithm.after_help(entry.examples) } else { algorithm }
            })
        })
    };
    Cli::command()
        .mut_subcommand("run", |command| with_algorithms(command, true))
        .mut_subcommand("explain", |command| with_algorithms(command, false))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_has_no_contradictions() {
        super::command().debug_assert();
    }
}
