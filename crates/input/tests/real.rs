//! Graphs as people publish them, read from the data folder beside the repository: rows, vertices,
//! loops and ids must be what the answers there say. Where the folder is absent, that is said
//! aloud.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use welter_input::{IdKind, Input, ReadOptions, WeightChoice, estimate, read};
use welter_model::ids::IdMap;
use welter_progress::Progress;

fn graphs() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/graphs");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is absent, so no published graph was read", folder.display());
    None
}

fn options() -> ReadOptions {
    ReadOptions { weight: WeightChoice::IfPresent, threads: 2, ..ReadOptions::default() }
}

fn load(folder: &Path, file: &str, options: &ReadOptions) -> Input {
    let path = folder.join(file).to_string_lossy().into_owned();
    read(&[path], options, &Progress::new()).unwrap()
}

/// Counts that a graph is known to have.
struct Known {
    file: &'static str,
    rows: u64,
    vertices: u64,
    loops: u64,
    first: u64,
    last: u64,
    weighted: bool,
}

const KNOWN: &[Known] = &[
    known("wiki-Vote/wiki-Vote.txt.zst", 103_689, 7_115, 0, (3, 8_297), false),
    known("facebook_combined/facebook_combined.txt.gz", 88_234, 4_039, 0, (0, 4_038), false),
    known("soc-Slashdot0902/*.txt.gz", 948_464, 82_168, 78_303, (0, 82_167), false),
    known("email-Eu-core/email-Eu-core.csv.zst", 25_571, 1_005, 642, (0, 1_004), true),
    known("cnr-2000/cnr-2000.txt.zst", 3_216_152, 325_557, 87_442, (0, 325_556), false),
    known("p2p-31/p2p-31.e.zst", 147_892, 62_586, 0, (1, 62_586), true),
    known("osm-andorra/osm-andorra.wel.zst", 75_937, 38_542, 0, (625_022, 2_321_077_150), true),
    known("debian-depends/debian-bookworm-depends.tsv.zst", 287_172, 64_047, 0, (0, 64_046), false),
    known(
        "sbp-5000/simulated_blockmodel_graph_5000_nodes.tsv.zst",
        101_973,
        5_000,
        0,
        (1, 5_000),
        true,
    ),
];

const fn known(
    file: &'static str,
    rows: u64,
    vertices: u64,
    loops: u64,
    (first, last): (u64, u64),
    weighted: bool,
) -> Known {
    Known { file, rows, vertices, loops, first, last, weighted }
}

/// The distinct ids of all edges, and the number of edges from a vertex to itself.
fn survey(input: &Input) -> (Vec<u64>, u64) {
    let (mut ids, mut loops) = (Vec::new(), 0);
    for part in 0..input.edges.parts() {
        let read = input.edges.read(part, &mut |batch| {
            loops += batch.pairs.iter().filter(|[source, target]| source == target).count() as u64;
            ids.extend(batch.pairs.iter().flatten().map(|slot| match &input.ids {
                IdMap::Sparse(ids) => ids[*slot as usize],
                IdMap::Same | IdMap::Declared => u64::from(*slot),
                IdMap::Offset(first) => first + u64::from(*slot),
                IdMap::Names(_) | IdMap::NonCompact(_) | IdMap::TwoKinds(_) => {
                    panic!("ids are integers of one kind, and few")
                }
            }));
            assert!(batch.weights.is_none_or(|weights| weights.len() == batch.pairs.len()));
            true
        });
        read.unwrap();
    }
    ids.sort_unstable();
    ids.dedup();
    (ids, loops)
}

#[test]
fn published_graphs_hold_what_is_known_of_them() {
    let Some(folder) = graphs() else { return };
    for known in KNOWN {
        let input = load(&folder, known.file, &options());
        let (ids, loops) = survey(&input);
        let file = known.file;
        assert_eq!(input.edges.edges(), known.rows, "{file}");
        assert_eq!((ids.len() as u64, loops), (known.vertices, known.loops), "{file}");
        assert_eq!((ids[0], ids[ids.len() - 1]), (known.first, known.last), "{file}");
        assert_eq!(input.edges.weighted(), known.weighted, "{file}");
        assert!(input.summary.bytes.is_some());
    }
}

#[test]
fn estimates_are_near() {
    let Some(folder) = graphs() else { return };
    for known in KNOWN.iter().filter(|known| !known.file.contains('*')) {
        let path = folder.join(known.file).to_string_lossy().into_owned();
        let estimate = estimate(&[path], &options()).unwrap();
        let ratio = estimate.edges.unwrap() as f64 / known.rows as f64;
        assert!((0.6..1.7).contains(&ratio), "{}: {ratio}", known.file);
        assert!(!estimate.exact || estimate.edges == Some(known.rows), "{}", known.file);
        assert_eq!(estimate.weighted, known.weighted, "{}", known.file);
    }
}

#[test]
fn a_first_line_that_counts_vertices_and_edges_is_no_edge_unless_it_is_said_to_be_one() {
    let Some(folder) = graphs() else { return };
    let file = "email-Enron/email-Enron.txt.zst";
    let input = load(&folder, file, &options());
    assert_eq!(input.edges.edges(), 367_662);
    assert_eq!(survey(&input).0.len(), 36_692);
    assert!(input.summary.notes[0].contains("36692 367662"), "{:?}", input.summary.notes);
    let input = load(&folder, file, &ReadOptions { header: Some(false), ..options() });
    assert_eq!(input.edges.edges(), 367_663);
    assert!(input.summary.notes.is_empty());
}

#[test]
fn names_are_read_as_names() {
    let Some(folder) = graphs() else { return };
    // A number and a name a row: a table of vertices, which is refused as edges.
    let file = "debian-depends/debian-bookworm-depends.names.tsv.zst";
    let path = folder.join(file).to_string_lossy().into_owned();
    let refused = read(&[path], &options(), &Progress::new()).err().unwrap().to_string();
    assert!(refused.contains("--ids strings"), "{refused}");
    let input = load(&folder, file, &ReadOptions { ids: IdKind::Names, ..options() });
    let IdMap::Names(names) = &input.ids else { panic!("{:?}", input.edges.slots()) };
    assert_eq!(input.edges.edges(), 64_047);
    assert!(names.iter().any(|name| name == "libc6"));
    assert!(names.iter().zip(names.iter().skip(1)).all(|(a, b)| a < b));
}

#[test]
fn small_lists_of_other_tools_are_read() {
    let Some(folder) = graphs() else { return };
    let folder = folder.join("../suites/networkit-input");
    let input = load(&folder, "comments.edgelist", &options());
    assert_eq!((input.edges.edges(), survey(&input).0.len()), (20, 10));
    let input = load(&folder, "alphabet.edgelist", &options());
    assert_eq!((input.edges.edges(), input.edges.slots()), (4, Some(5)));
    assert!(input.edges.weighted());
}
