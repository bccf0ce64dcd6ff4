//! Other words for what algorithms find, by which people look for them.

use super::algorithm::Entry;

/// By the name of the algorithm; what stands here need not be exactly what it does, but it is the
/// nearest that there is.
const WORDS: &[(&str, &str)] = &[
    (
        "pagerank",
        "centrality, importance, ranking, personalised PageRank, eigenvector, random walk",
    ),
    ("bfs", "shortest paths (unweighted), breadth-first search, hops, reachable, descendants"),
    ("sssp", "shortest paths (weighted), Dijkstra, Bellman-Ford, delta-stepping, route"),
    ("wcc", "connected components, weakly connected components, cc, union-find, islands"),
    ("spmv", "matrix-vector product, degree, strength, sum over neighbours"),
    ("hyperball", "closeness, harmonic centrality, neighbourhood function, diameter, HyperANF"),
    ("cdlp", "community detection, communities, label propagation, LPA, Louvain, Leiden, clusters"),
    ("kcore", "core numbers, k-core, coreness, degeneracy, k-shell"),
    ("triangles", "triangle count, triangle counting, cliques of three"),
    ("lcc", "local clustering coefficient, clustering, transitivity"),
    ("mis", "maximal independent set, independent vertices"),
    ("conductance", "cut, quality of a community, quality of a partition"),
    ("bp", "belief propagation, inference, Markov random field, label inference"),
    ("als", "recommendation, matrix factorisation, collaborative filtering, ratings"),
    ("scc", "strongly connected components, Tarjan, cycles, condensation"),
    ("mcst", "minimum spanning tree, minimum spanning forest, MST, Kruskal, Prim, Boruvka"),
];

/// Names of the field that are the algorithm, and are taken for its name. Words of two parts are
/// joined as in the command, and as in Python.
const NAMES: &[(&str, &[&str])] = &[
    ("pagerank", &["page-rank", "page_rank"]),
    ("bfs", &["breadth-first-search", "breadth_first_search"]),
    ("sssp", &["single-source-shortest-paths", "single_source_shortest_paths"]),
    (
        "wcc",
        &[
            "cc",
            "connected-components",
            "connected_components",
            "weakly-connected-components",
            "weakly_connected_components",
        ],
    ),
    ("scc", &["strongly-connected-components", "strongly_connected_components"]),
    (
        "mcst",
        &[
            "mst",
            "msf",
            "minimum-spanning-tree",
            "minimum_spanning_tree",
            "minimum-spanning-forest",
            "minimum_spanning_forest",
        ],
    ),
    ("spmv", &["matrix-vector-product", "matrix_vector_product"]),
    ("hyperball", &["hyper-anf", "hyper_anf", "neighborhood-function", "neighborhood_function"]),
    ("cdlp", &["label-propagation", "label_propagation", "lpa"]),
    (
        "kcore",
        &[
            "k-core",
            "k_core",
            "core-number",
            "core_number",
            "core-numbers",
            "core_numbers",
            "coreness",
        ],
    ),
    ("triangles", &["triangle-count", "triangle_count", "triangle-counting", "triangle_counting"]),
    (
        "lcc",
        &[
            "clustering-coefficient",
            "clustering_coefficient",
            "local-clustering-coefficient",
            "local_clustering_coefficient",
        ],
    ),
    ("mis", &["maximal-independent-set", "maximal_independent_set"]),
    ("bp", &["belief-propagation", "belief_propagation"]),
    ("als", &["alternating-least-squares", "alternating_least_squares"]),
];

/// Names that mean PageRank from a few vertices, which must be said.
pub(super) const PERSONALIZED: [&str; 4] =
    ["personalized", "personalised", "personalized_pagerank", "personalised-pagerank"];

/// Names that are taken for the name of an algorithm.
pub(crate) fn names(name: &str) -> &'static [&'static str] {
    NAMES.iter().find(|(other, _)| *other == name).map_or(&[], |(_, names)| names)
}

/// Other words for an algorithm.
pub(crate) fn of(name: &str) -> &'static str {
    WORDS.iter().find(|(other, _)| *other == name).map_or("", |(_, words)| words)
}

/// Algorithms of `all` that a text means: each of its words begins one of theirs, in any case.
pub(crate) fn meant(text: &str, all: &'static [Entry]) -> Vec<&'static Entry> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let says = |entry: &&Entry| {
        let entry_words = format!("{} {}", entry.name, of(entry.name)).to_lowercase();
        // A word of two letters is in the midst of many.
        let begins = |word: &str| {
            entry_words.split(|c: char| !c.is_alphanumeric()).any(|own| own.starts_with(word))
        };
        words.iter().all(|word| begins(word))
    };
    if words.is_empty() { Vec::new() } else { all.iter().filter(says).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::REGISTRY;
    use super::*;

    #[test]
    fn names_are_of_one_algorithm() {
        let names = NAMES.iter().flat_map(|(_, names)| names.iter()).chain(&PERSONALIZED);
        let mut names: Vec<&str> = names.copied().collect();
        names.extend(REGISTRY.iter().map(|entry| entry.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(NAMES.iter().all(|(name, _)| REGISTRY.iter().any(|entry| entry.name == *name)));
    }

    #[test]
    fn every_algorithm_has_other_words() {
        for entry in REGISTRY {
            assert!(!of(entry.name).is_empty(), "{}", entry.name);
        }
        assert_eq!(WORDS.len(), REGISTRY.len());
    }

    #[test]
    fn algorithms_are_found_by_what_people_call_them() {
        for (text, expected) in [
            ("connected", &["wcc", "scc"][..]),
            ("connected_components", &["wcc", "scc"]),
            ("cc", &["wcc"]),
            ("Louvain", &["cdlp"]),
            ("community", &["cdlp", "conductance"]),
            ("shortest-path", &["bfs", "sssp"]),
            ("dijkstra", &["sssp"]),
            ("minimum spanning", &["mcst"]),
            ("clustering coefficient", &["lcc"]),
            ("flow", &[]),
            ("", &[]),
        ] {
            let found: Vec<&str> = meant(text, REGISTRY).iter().map(|entry| entry.name).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
