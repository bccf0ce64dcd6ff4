//! Names that people know algorithms by, and the algorithms that answer what they mean.
//!
//! `welter run louvain` ends with 2 and names the algorithms for communities; `welter run pagernak`
//! what is spelt nearly so.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::algorithms::REGISTRY;
use crate::failure::Failure;

/// Words, and what to take for them. A word stands for all names that contain it.
const MEANINGS: &[(&[&str], &[&str])] = &[
    (&["cc", "component", "connect", "union-find", "disjoint-set", "weak"], &["wcc", "scc"]),
    (&["strong", "tarjan", "kosaraju"], &["scc"]),
    (
        &["louvain", "leiden", "communit", "modularity", "label", "lpa", "infomap", "partition"],
        &["cdlp", "wcc"],
    ),
    (&["mst", "msf", "spanning", "kruskal", "boruvka", "prim"], &["mcst"]),
    (&["betweenness", "closeness", "harmonic", "eccentricity", "diameter"], &["hyperball"]),
    (&["centrality"], &["pagerank", "hyperball", "kcore"]),
    (&["neighborhood-function", "neighbourhood-function", "anf"], &["hyperball"]),
    (&["eigenvector", "katz", "hits", "rank", "random-walk", "personali"], &["pagerank"]),
    (&["shortest", "dijkstra", "bellman", "path", "distance", "apsp", "astar"], &["sssp", "bfs"]),
    (&["breadth", "travers", "hops", "reachab", "dfs", "depth"], &["bfs"]),
    (&["degree"], &["spmv"]),
    (&["matvec", "matrix", "multiply", "product"], &["spmv"]),
    (&["core", "degeneracy", "k-shell", "truss"], &["kcore"]),
    (&["triangle", "motif"], &["triangles", "lcc"]),
    (&["clustering", "transitivity"], &["lcc", "triangles", "cdlp"]),
    (&["independent", "maximal", "colouring", "coloring"], &["mis"]),
    (&["cut", "cheeger"], &["conductance"]),
    (&["belief", "inference", "sum-product"], &["bp"]),
    (&["recommend", "factoriz", "factoris", "collaborative"], &["als"]),
];

/// Words of so few letters are whole names.
const LETTERS_FEW: usize = 4;

/// Hints at what is found elsewhere under a name.
const ELSEWHERE: &[(&str, &str)] = &[(
    "degree",
    "`welter info` describes degrees, and `welter run spmv --vector ones --no-weights` counts the \
     edges that come to each vertex",
)];

/// Says which algorithms are near a name that is none, if that is what is wrong with a command
/// line.
pub(crate) fn explained(error: &clap::Error, words: &[String]) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    match words.get(1).map(String::as_str) {
        Some(command @ ("run" | "explain")) => Some(unknown(command, name, &spelt_so(error))),
        _ if REGISTRY.iter().any(|entry| entry.name == *name) => {
            let what = format!("{name} is an algorithm and no command");
            Some(Failure::usage(what).hint(format!("welter run {name}")))
        }
        _ => None,
    }
}

/// Names that are spelt nearly as what was said.
fn spelt_so(error: &clap::Error) -> Vec<String> {
    match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.clone(),
        Some(ContextValue::String(name)) => vec![name.clone()],
        _ => Vec::new(),
    }
}

fn unknown(command: &str, name: &str, spelt: &[String]) -> Failure {
    // By meaning first.
    let mut names: Vec<&str> = meant(name);
    for near in spelt {
        if !names.contains(&near.as_str()) {
            names.push(near);
        }
    }
    let entry = |name: &&str| REGISTRY.iter().find(|entry| entry.name == *name);
    let near: Vec<_> = names.iter().filter_map(entry).collect();
    let elsewhere = ELSEWHERE.iter().find(|(word, _)| plain(name).contains(word));
    let mut what = format!("there is no algorithm \"{name}\"");
    if near.is_empty() {
        let all: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        what = format!("{what}; there are {}", all.join(", "));
    }
    for entry in near {
        what = format!("{what}; {}: {}", entry.name, entry.about);
    }
    let list = format!("`welter algorithms` lists all, `welter {command} NAME --help` tells more");
    match elsewhere {
        Some((_, more)) => Failure::usage(what).hint(*more).and_hint(&list),
        None => Failure::usage(what).hint(list),
    }
}

/// Algorithms that answer what a name means.
fn meant(name: &str) -> Vec<&'static str> {
    let name = plain(name);
    let is = |word: &&str| {
        let few = word.len() < LETTERS_FEW;
        if few { name.split('-').any(|part| part == *word) } else { name.contains(*word) }
    };
    let found = MEANINGS.iter().filter(|(words, _)| words.iter().any(&is));
    found.flat_map(|(_, names)| names.iter().copied()).collect()
}

/// A name without case, and with one sign between its words.
fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_known_elsewhere_lead_to_what_there_is() {
        for (name, first) in [
            ("cc", "wcc"),
            ("Connected_Components", "wcc"),
            ("louvain", "cdlp"),
            ("label-propagation", "cdlp"),
            ("mst", "mcst"),
            ("msf", "mcst"),
            ("minimum spanning tree", "mcst"),
            ("betweenness", "hyperball"),
            ("closeness_centrality", "hyperball"),
            ("shortest path", "sssp"),
            ("dijkstra", "sssp"),
            ("degree", "spmv"),
            ("k-core", "kcore"),
            ("triangle_count", "triangles"),
            ("clustering_coefficient", "lcc"),
        ] {
            assert_eq!(meant(name).first(), Some(&first), "{name}");
        }
        assert!(meant("prima").contains(&"mcst") && meant("accent").is_empty());
    }

    #[test]
    fn all_that_is_named_exists() {
        let names = MEANINGS.iter().flat_map(|(_, names)| names.iter());
        for name in names {
            assert!(REGISTRY.iter().any(|entry| entry.name == *name), "{name}");
        }
    }
}
