//! Graphs of two files and their properties.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use super::benchmark::Benchmark;
use crate::fuzzing::edges;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::{Input, InputError};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn read(folder: &Path, name: &str) -> Result<Input, InputError> {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let path = folder.join(name).to_string_lossy().into_owned();
    crate::read(&[path], &options, &Progress::new())
}

const PROPERTIES: &str = "# c\ngraph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\n\
    graph.g.directed = false\ngraph.g.meta.vertices = 4\ngraph.g.meta.edges = 2\n\
    graph.g.edge-properties.names = colour, weight\ngraph.g.bfs.source-vertex = 1\n";

#[test]
fn the_list_beside_the_edges_states_the_vertices() {
    let folder =
        folder(&[("g.v", "1 9\n2\n3\n4 x"), ("g.e", "1 3 0.5\n3 4 2\n"), ("h.e", "1 3\n")]);
    let input = read(folder.path(), "g.e").unwrap();
    assert_eq!((&input.ids, input.edges.slots()), (&IdMap::Offset(1), Some(4)));
    assert_eq!(edges(&input), (vec![[0, 2], [2, 3]], vec![0.5, 2.0]));
    assert_eq!(input.summary.undirected, None);
    assert_eq!(read(folder.path(), "h.e").unwrap().ids, IdMap::Same);
}

#[test]
fn sparse_and_named_vertices_are_stated_too() {
    let folder = folder(&[
        ("g.v", "70\n10\n5000000000\n"),
        ("g.e", "70 10\n"),
        ("bad.v", "70\n10\n30\n"),
        ("bad.e", "70 10\n10 31\n"),
        ("n.v", "a\nb\nc\n"),
        ("n.e", "c a\n"),
    ]);
    let input = read(folder.path(), "g.e").unwrap();
    assert_eq!(input.ids, IdMap::Sparse(vec![10, 70, 5_000_000_000]));
    let error = read(folder.path(), "bad.e").err().unwrap().to_string();
    assert!(
        error.ends_with("bad.e:2: expected an id of the list of vertices, found 31"),
        "{error}"
    );
    let input = read(folder.path(), "n.e").unwrap();
    assert_eq!(input.ids, IdMap::Names(["a", "b", "c"].into_iter().collect()));
    let options = ReadOptions { ids: IdKind::Integers, ..ReadOptions::default() };
    let path = folder.path().join("n.e").to_string_lossy().into_owned();
    assert_eq!(
        crate::read(&[path], &options, &Progress::new()).err().unwrap().kind(),
        FailureKind::Input
    );
}

#[test]
fn properties_name_files_direction_and_weights() {
    let folder = folder(&[
        ("g.properties", PROPERTIES),
        ("g.v", "1\n2\n3\n4\n"),
        ("g.e", "1 3 7 0.5\n3 4 8 2\n"),
    ]);
    let input = read(folder.path(), "g.properties").unwrap();
    assert_eq!(edges(&input), (vec![[0, 2], [2, 3]], vec![0.5, 2.0]));
    assert_eq!((input.summary.undirected, input.edges.slots()), (Some(true), Some(4)));
    fs::write(folder.path().join("g.e"), "1 3 7 0.5\n").unwrap();
    let error = read(folder.path(), "g.properties").err().unwrap().to_string();
    assert!(error.ends_with("expected 2 edges, as it states, found 1"), "{error}");
    fs::remove_file(folder.path().join("g.v")).unwrap();
    assert_eq!(read(folder.path(), "g.properties").err().unwrap().kind(), FailureKind::Missing);
}

#[test]
fn properties_that_lead_elsewhere_or_nowhere_are_refused() {
    for (from, to, expected) in [
        ("= g.v", "= ../g.v", "g.properties:2: expected the name of a file"),
        ("= g.v", "= /etc/passwd", "g.properties:2: expected the name of a file"),
        ("graph.g.edge-file = g.e", "", "expected the key graph.NAME.edge-file, found none"),
        ("= false", "= maybe", "g.properties:4: expected true or false"),
        ("= 4", "= many", "g.properties:5: expected a number"),
        ("# c", "words", "g.properties:1: expected KEY = VALUE"),
    ] {
        let text = PROPERTIES.replace(from, to);
        let folder =
            folder(&[("g.properties", &text), ("g.v", "1\n2\n3\n4\n"), ("g.e", "1 2 1 1\n")]);
        let error = read(folder.path(), "g.properties").err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.kind(), FailureKind::Input);
    }
}

#[test]
fn parameters_of_algorithms_are_those_of_the_graph() {
    let text = format!(
        "{PROPERTIES}graph.other.pr.num-iterations = 9\ngraph.g.pr.num-iterations = x\n\
         graph.g.pr.num-iterations = 3\ngraph.g.algorithms = bfs , pr,\n"
    );
    let folder = folder(&[("a.properties", &text), ("b.properties", "a = b\n")]);
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let number = |value: &str| value.parse::<u64>().map_err(|_| "expected a number".to_owned());
    let benchmark = Benchmark::open(&path("a.properties")).unwrap();
    assert_eq!((benchmark.name(), benchmark.directed()), ("g", Some(false)));
    assert_eq!(benchmark.counts(), Some((4, 2)));
    assert_eq!(benchmark.parameter("bfs.source-vertex", number).unwrap(), 1);
    assert_eq!(benchmark.parameter("pr.num-iterations", number).unwrap(), 3);
    let all = |name: &str| Some(name.to_owned());
    assert_eq!(benchmark.algorithms(all).unwrap(), ["bfs", "pr"]);
    let error = benchmark.algorithms(|name| (name == "bfs").then_some(())).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("a.properties:12: expected the name of an algorithm, found \"pr\""),
        "{error}"
    );
    let refused = |value: &str| Err::<(), _>(format!("expected more than {value}"));
    let error = benchmark.parameter("bfs.source-vertex", refused).unwrap_err().to_string();
    let message = "a.properties:8: expected more than 1 for graph.g.bfs.source-vertex, found \"1\"";
    assert!(error.ends_with(message), "{error}");
    let error = benchmark.parameter("source-vertex", number).unwrap_err().to_string();
    assert!(error.ends_with("expected the key graph.g.source-vertex, found none"), "{error}");
    assert_eq!(benchmark.files().unwrap_err().kind(), FailureKind::Missing);
    assert!(Benchmark::is_one(&path("a.properties")).unwrap());
    assert!(!Benchmark::is_one(&path("b.properties")).unwrap());
}

#[test]
fn data_sets_without_a_name_of_their_own_are_refused() {
    for name in ["", "../g", "a/b", ".."] {
        let text = PROPERTIES.replace("graph.g.", &format!("graph.{name}."));
        let folder = folder(&[("g.properties", &text)]);
        let path = folder.path().join("g.properties").to_string_lossy().into_owned();
        let error = Benchmark::open(&path).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Input, "{error}");
        assert!(error.to_string().contains("graph.NAME.vertex-file"), "{error}");
    }
}
