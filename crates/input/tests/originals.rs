//! Graphs and suites as people publish them, in the formats that state their vertices, read from
//! the data folder beside the repository. Every file loads with the vertices and edges that are
//! known of it, or is refused where it must be. Where the folder is absent, that is said aloud.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use welter_input::{Input, InputError, ReadOptions, WeightChoice, read};
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

fn data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is absent, so no published graph was read", folder.display());
    None
}

fn load(path: &Path) -> Result<Input, InputError> {
    let options =
        ReadOptions { weight: WeightChoice::IfPresent, threads: 2, ..ReadOptions::default() };
    read(&[path.to_string_lossy().into_owned()], &options, &Progress::new())
}

/// Number of vertices: all slots, or those that edges name.
fn vertices(input: &Input) -> u64 {
    if input.ids != IdMap::Same {
        return input.edges.slots().unwrap();
    }
    let mut seen = vec![false; input.edges.slots().unwrap() as usize];
    for part in 0..input.edges.parts() {
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            batch.pairs.iter().flatten().for_each(|slot| seen[*slot as usize] = true);
            true
        };
        input.edges.read(part, &mut visit).unwrap();
    }
    seen.into_iter().filter(|seen| *seen).count() as u64
}

/// File, vertices, rows, whether there are weights, what is said of direction.
type Known = (&'static str, u64, u64, bool, Option<bool>);

const GRAPHS: &[Known] = &[
    ("wiki-Vote/wiki-Vote.txt.zst", 7_115, 103_689, false, None),
    ("facebook_combined/facebook_combined.txt.gz", 4_039, 88_234, false, None),
    ("p2p-31/p2p-31.e.zst", 62_586, 147_892, true, None),
    ("p2p-31/p2p-Gnutella31.e.zst", 62_586, 147_892, false, None),
    ("email-Enron/email-Enron.txt.zst", 36_692, 367_662, false, None),
    ("ca-AstroPh-cc1/astro-ph-cc1.jlg", 17_903, 197_031, false, Some(true)),
    ("ca-CondMat-cc1/ca-condmat-cc1.jlg", 21_363, 91_342, false, Some(true)),
    ("as-caida20071105/as-caida20071105.jlg", 26_475, 53_381, false, Some(true)),
    ("cit-HepTh/arxiv-cit-hep-th.jlg", 27_770, 352_807, false, Some(false)),
    ("soc-Slashdot0902/soc-Slashdot0902.txt.gz", 82_168, 948_464, false, None),
    ("email-Eu-core/email-Eu-core.csv.zst", 1_005, 25_571, true, None),
    ("cnr-2000/cnr-2000.txt.zst", 325_557, 3_216_152, false, None),
    ("polblogs-metis/polblogs.graph.zst", 1_490, 33_430, false, Some(false)),
    ("astro-ph-metis/astro-ph.graph.zst", 16_706, 242_502, false, Some(false)),
    ("power-metis/power.graph.zst", 4_941, 13_188, false, Some(false)),
    ("4elt/4elt.graph.zst", 15_606, 91_756, false, Some(false)),
    ("delaunay_n15/delaunay_n15.graph.zst", 32_768, 196_548, false, Some(false)),
    ("rome99-half/rome99.gr.zst", 3_353, 4_444, true, Some(false)),
    ("debian-depends/debian-bookworm-depends.tsv.zst", 64_047, 287_172, false, None),
    ("osm-andorra/osm-andorra.wel.zst", 38_542, 75_937, true, None),
    ("sbp-5000/simulated_blockmodel_graph_5000_nodes.tsv.zst", 5_000, 101_973, true, None),
];

const SUITES: &[Known] = &[
    ("gapbs/graphs/4.el", 13, 256, false, None),
    ("gapbs/graphs/4.wel", 13, 256, true, None),
    ("gapbs/graphs/4.gr", 14, 256, true, Some(false)),
    ("gapbs/graphs/4.mtx", 14, 256, false, Some(false)),
    ("gapbs/graphs/4w.mtx", 14, 256, true, Some(false)),
    ("gapbs/graphs/4.graph", 14, 53, false, Some(false)),
    ("gapbs/graphs/4w.graph", 14, 53, true, Some(false)),
    ("networkit-input/celegans_metabolic.graph", 453, 4_050, false, Some(false)),
    ("networkit-input/example.graph", 4, 4, false, Some(false)),
    ("networkit-input/grid-5x5-dist-arch.graph", 25, 80, false, Some(false)),
    ("networkit-input/jazz.graph", 198, 5_484, false, Some(false)),
    ("networkit-input/karate.graph", 34, 156, false, Some(false)),
    ("networkit-input/lesmis.graph", 77, 508, true, Some(false)),
    ("networkit-input/tie.graph", 7, 26, true, Some(false)),
    ("networkit-input/tiny_01.graph", 7, 22, false, Some(false)),
    ("networkit-input/tiny_02.graph", 7, 22, true, Some(false)),
    ("networkit-input/tiny_03.graph", 7, 22, true, Some(false)),
    ("networkit-input/tiny_04.graph", 7, 22, false, Some(false)),
    ("networkit-input/GD01_b.mtx", 18, 37, false, Some(false)),
    ("networkit-input/chesapeake.mtx", 39, 170, false, Some(true)),
    ("cugraph-datasets/karate.mtx", 34, 78, false, Some(true)),
    ("cugraph-datasets/netscience.mtx", 1_589, 2_742, true, Some(true)),
    ("graphchallenge/A_adj.mmio", 5, 6, true, Some(true)),
    ("gunrock/test_cc.mtx", 11, 20, false, Some(false)),
    ("ldbc-validation/example/example-directed.e", 10, 17, true, None),
    ("ldbc-validation/example/example-undirected.e", 9, 12, true, None),
    ("ldbc-validation/sssp/dir-input.e", 10, 13, true, None),
    ("ldbc-validation/sssp/undir-input.e", 12, 14, true, None),
];

fn check(folder: &Path, all: &[Known]) {
    for (file, count, rows, weighted, undirected) in all {
        let input = load(&folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!((vertices(&input), input.edges.edges()), (*count, *rows), "{file}");
        assert_eq!((input.edges.weighted(), input.summary.undirected), (*weighted, *undirected));
    }
}

#[test]
fn every_graph_loads_from_its_original_file() {
    let Some(data) = data() else { return };
    check(&data.join("graphs"), GRAPHS);
    let folders = std::fs::read_dir(data.join("graphs")).unwrap().count();
    let known: std::collections::BTreeSet<_> =
        GRAPHS.iter().filter_map(|(file, ..)| file.split('/').next()).collect();
    assert_eq!(known.len(), folders, "a graph is missing here");
}

#[test]
fn the_files_of_suites_load() {
    let Some(data) = data() else { return };
    check(&data.join("suites"), SUITES);
}

#[test]
fn properties_lead_to_vertices_and_edges() {
    let Some(data) = data() else { return };
    let suite = data.join("suites/ldbc-validation");
    let folder = tempfile::tempdir().unwrap();
    for (name, vertices, edges, undirected) in
        [("example-directed", 10, 17, false), ("example-undirected", 9, 12, true)]
    {
        for file in ["example", "properties"] {
            for entry in std::fs::read_dir(suite.join(file)).unwrap() {
                let entry = entry.unwrap();
                std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
            }
        }
        let input = load(&folder.path().join(format!("{name}.properties"))).unwrap();
        assert_eq!((input.edges.slots(), input.edges.edges()), (Some(vertices), edges), "{name}");
        assert!(input.edges.weighted());
        assert_eq!(input.summary.undirected, Some(undirected));
    }
}

#[test]
fn adjacency_lists_of_ldbc_load() {
    let Some(data) = data() else { return };
    let suite = data.join("suites/ldbc-validation");
    let options =
        ReadOptions { format: Some("adjacency".parse().unwrap()), ..ReadOptions::default() };
    for (file, count, edges) in [
        ("bfs/dir-input", 10, 17),
        ("cdlp/undir-input", 8, 26),
        ("pr/dir-input", 50, 246),
        ("wcc/dir-input", 8, 10),
    ] {
        let path = suite.join(file).to_string_lossy().into_owned();
        let input = read(&[path], &options, &Progress::new()).unwrap();
        assert_eq!((vertices(&input), input.edges.edges()), (count, edges), "{file}");
    }
}

/// Matrix Market files of `LAGraph` whose rows and columns are two kinds of vertices. One has no
/// entry, so a graph without edges comes of it; another is mangled by an entry that comes twice,
/// which is a parallel edge here.
const RECTANGULAR: [&str; 5] =
    ["empty", "lp_afiro", "lp_afiro_structure", "sources_7", "mangled14"];

/// Whether a Matrix Market file of `LAGraph` is no graph: mangled on purpose, dense, complex, or
/// with a weight that is not a number.
fn is_no_graph(name: &str) -> bool {
    let others = ["comments_west0067"];
    let dense = ["full", "full_noheader", "full_symmetric", "comments_full", "complex"];
    let mangled = name.starts_with("mangled") && !RECTANGULAR.contains(&name);
    mangled || others.contains(&name) || dense.contains(&name)
}

#[test]
fn lagraphs_matrices_load_and_its_mangled_ones_are_refused() {
    let Some(data) = data() else { return };
    let mut refused = 0;
    for entry in std::fs::read_dir(data.join("suites/lagraph")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "mtx") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let loaded = load(&path);
        if is_no_graph(&name) {
            let error = loaded.err().unwrap_or_else(|| panic!("{name} must be refused"));
            assert_eq!(error.kind(), FailureKind::Input, "{name}: {error}");
            refused += 1;
            continue;
        }
        let input = loaded.unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&path).unwrap();
        let size = text.lines().find(|line| !line.starts_with('%') && !line.is_empty()).unwrap();
        let sizes: Vec<u64> = size.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let arcs = if name.starts_with("skew") { 2 * sizes[2] } else { sizes[2] };
        let rectangular = RECTANGULAR.contains(&&name[..]);
        let slots = if rectangular { sizes[0] + sizes[1] } else { sizes[0] };
        assert_eq!((input.edges.slots(), input.edges.edges()), (Some(slots), arcs), "{name}");
    }
    assert_eq!(refused, 24 + 6);
}

#[test]
fn what_is_no_matrix_is_refused_and_negative_ids_are_names() {
    let Some(data) = data() else { return };
    for file in ["cugraph-datasets/karate_mod.mtx", "cugraph-datasets/karate_str.mtx"] {
        let error = load(&data.join("suites").join(file)).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input, "{file}: {error}");
    }
    let input = load(&data.join("suites/cugraph-datasets/negative-vertex-id.csv")).unwrap();
    assert_eq!((vertices(&input), input.edges.edges()), (3, 3));
    assert!(input.summary.notes[0].contains("negative"), "{:?}", input.summary.notes);
}
