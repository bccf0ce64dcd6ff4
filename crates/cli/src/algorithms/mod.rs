//! The registry: all algorithms, said once for help, `welter algorithms` and the manual.
//!
//! An algorithm is one file here: its options, and the call of the engine with its program. It also
//! has a line in [`REGISTRY`] and one in [`AlgorithmCommand`].

pub(crate) mod algorithm;
mod als;
mod bfs;
mod bp;
mod cdlp;
mod conductance;
mod hyperball;
mod kcore;
mod lcc;
mod mcst;
mod mis;
pub(crate) mod on_cluster;
mod pagerank;
mod scc;
mod sources;
mod spmv;
mod sssp;
mod tables;
mod traversal;
mod triangles;
mod wcc;
pub(crate) mod words;

pub use self::tables::MEMORY;

use std::fmt::Write;

use clap::{Args, FromArgMatches, Parser, Subcommand};
use welter_engine::plan::Layout;

pub(crate) use self::algorithm::{Algorithm, Answer, Entry};
use crate::args::RunOptions;

/// Algorithms that there are to run.
pub(crate) const REGISTRY: &[Entry] = &[
    pagerank::ENTRY,
    bfs::ENTRY,
    sssp::ENTRY,
    wcc::ENTRY,
    spmv::ENTRY,
    hyperball::ENTRY,
    cdlp::ENTRY,
    kcore::ENTRY,
    triangles::ENTRY,
    lcc::ENTRY,
    mis::ENTRY,
    conductance::ENTRY,
    bp::ENTRY,
    als::ENTRY,
    scc::ENTRY,
    mcst::ENTRY,
];

/// Bytes that an algorithm takes for a vertex, with the options that it has if nothing is said.
pub(crate) fn layout(entry: &Entry) -> Option<Layout> {
    let command = clap::Command::new("run");
    let command = AlgorithmCommand::<Nothing>::augment_subcommands(command);
    let found = command.try_get_matches_from(["run", entry.name]).ok()?;
    let algorithm = AlgorithmCommand::<Nothing>::from_arg_matches(&found).ok()?;
    Some(algorithm.split().0.layout())
}

/// No options beside those of the algorithm.
#[derive(Debug, Args)]
struct Nothing {}

/// The text of `welter algorithms`.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for entry in REGISTRY {
        let options = entry.options().join(" ");
        let rows = [
            ("kind", entry.kind),
            ("weights", entry.weights),
            ("columns", entry.columns),
            ("options", &options),
            ("source", entry.source),
        ];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {}\n", entry.name, entry.about);
        for line in entry.formula {
            let _ = writeln!(text, "    {line}");
        }
        text.push('\n');
        for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
            let _ = writeln!(text, "    {name:<9}{value}");
        }
        text.push('\n');
    }
    text + "`welter run ALGORITHM --help` says more of each.\n"
}

/// An algorithm with its options, and `C`, what the command takes beside them.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "ALGORITHM", subcommand_help_heading = "Algorithms")]
pub(crate) enum AlgorithmCommand<C: Args> {
    /// See the registry.
    #[command(aliases = words::names("pagerank"))]
    Pagerank(With<pagerank::Options, C>),
    /// PageRank that begins, and jumps, where a table says.
    #[command(hide = true, aliases = words::PERSONALIZED)]
    #[command(mut_arg("personalization", |table| table.required(true)))]
    PersonalizedPagerank(With<pagerank::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("bfs"))]
    Bfs(With<bfs::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("sssp"))]
    Sssp(With<sssp::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("wcc"))]
    Wcc(With<wcc::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("scc"))]
    Scc(With<scc::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("mcst"))]
    Mcst(With<mcst::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("spmv"))]
    Spmv(With<spmv::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("hyperball"))]
    Hyperball(With<hyperball::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("cdlp"))]
    Cdlp(With<cdlp::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("kcore"))]
    Kcore(With<kcore::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("triangles"))]
    Triangles(With<triangles::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("lcc"))]
    Lcc(With<lcc::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("mis"))]
    Mis(With<mis::Options, C>),
    /// See the registry.
    Conductance(With<conductance::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("bp"))]
    Bp(With<bp::Options, C>),
    /// See the registry.
    #[command(aliases = words::names("als"))]
    Als(With<als::Options, C>),
}

/// Options of an algorithm, and of the command.
#[derive(Debug, Args)]
pub(crate) struct With<A: Args, C: Args> {
    #[command(flatten)]
    algorithm: A,
    #[command(flatten)]
    command: C,
}

impl<C: Args> AlgorithmCommand<C> {
    /// The algorithm apart from the rest.
    pub(crate) fn split(self) -> (Box<dyn Algorithm>, C) {
        match self {
            Self::Pagerank(With { algorithm, command })
            | Self::PersonalizedPagerank(With { algorithm, command }) => {
                (Box::new(algorithm), command)
            }
            Self::Bfs(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Sssp(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Wcc(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Scc(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Mcst(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Spmv(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Hyperball(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Cdlp(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Kcore(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Triangles(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Lcc(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Mis(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Conductance(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Bp(With { algorithm, command }) => (Box::new(algorithm), command),
            Self::Als(With { algorithm, command }) => (Box::new(algorithm), command),
        }
    }
}

/// The command line of `welter run`, apart from the help.
#[derive(Debug, Parser)]
#[command(name = "welter")]
struct RunLine {
    #[command(subcommand)]
    command: Runs,
}

/// The one command that a run is begun by.
#[derive(Debug, Subcommand)]
enum Runs {
    /// See the command line.
    #[command(disable_help_subcommand = true)]
    Run {
        #[command(subcommand)]
        algorithm: AlgorithmCommand<RunOptions>,
    },
}

/// The meaning of the words of `welter run`, the name of the program left out.
pub(crate) fn understood(
    arguments: &[String],
) -> Result<(Box<dyn Algorithm>, RunOptions), clap::Error> {
    let words = ["welter"].into_iter().chain(arguments.iter().map(String::as_str));
    let RunLine { command: Runs::Run { algorithm } } = RunLine::try_parse_from(words)?;
    Ok(algorithm.split())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_all_there_is() {
        let list = list();
        for entry in REGISTRY {
            assert!(list.contains(&format!("{}: {}", entry.name, entry.about)));
        }
        assert!(list.contains("options  --damping"));
    }
}
