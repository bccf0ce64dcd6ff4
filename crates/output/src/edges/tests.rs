//! Edge lists written in every format. That the readers of welter understand them is shown in
//! `tests/round_trip.rs`.

use std::fs;

use welter_model::edges::{Batch, EdgeList};

use super::format::FORMATS;
use super::*;
use welter_progress::FailureKind;

fn weighted() -> EdgeList {
    let mut list = EdgeList::new(None, true);
    list.push(vec![[0, 1], [2, 0]], vec![1.0, 0.25]);
    list.push(vec![[1, 2]], vec![-3.5]);
    list
}

fn ids() -> IdMap {
    IdMap::Names(["a b", "b", "c"].into_iter().collect())
}

fn sparse(last: u64) -> IdMap {
    IdMap::Sparse(vec![10, 20, last])
}

fn write(list: &EdgeList, ids: &IdMap, format: &str) -> Result<Vec<u8>, OutputError> {
    let options =
        EdgeFormatOptions { format: Some(format.parse().unwrap()), ..EdgeFormatOptions::default() };
    let mut bytes = Vec::new();
    write_edges_to(list, ids, &mut bytes, "out", &options, 2, &Progress::new())?;
    Ok(bytes)
}

fn text(list: &EdgeList, ids: &IdMap, format: &str) -> String {
    String::from_utf8(write(list, ids, format).unwrap()).unwrap()
}

#[test]
fn text_shows_the_ids_that_came_in() {
    assert_eq!(
        text(&weighted(), &IdMap::Same, "snap"),
        "# Edges: 3\n# source\ttarget\tweight\n0\t1\t1\n2\t0\t0.25\n1\t2\t-3.5\n"
    );
    assert_eq!(
        text(&weighted(), &sparse(1 << 40), "tsv"),
        "source\ttarget\tweight\n10\t20\t1\n1099511627776\t10\t0.25\n20\t1099511627776\t-3.5\n"
    );
    let plain = EdgeList::from_pairs(vec![[0, 1], [2, 0]]);
    assert_eq!(text(&plain, &ids(), "csv"), "source,target\na b,b\nc,a b\n");
}

#[test]
fn raw_records_lie_as_drawn() {
    let narrow = write(&EdgeList::from_pairs(vec![[1, 2]]), &IdMap::Same, "u32").unwrap();
    assert_eq!(narrow, [1, 0, 0, 0, 2, 0, 0, 0]);
    let bytes = write(&weighted(), &sparse(30), "u32f32").unwrap();
    assert_eq!(bytes[..12], [10, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0x80, 0x3f]);
    assert_eq!(bytes.len(), 36);
    let bytes = write(&weighted(), &sparse(1 << 32), "u64f64").unwrap();
    assert_eq!(bytes[24..32], (1_u64 << 32).to_le_bytes());
    assert_eq!(bytes[40..48], 0.25_f64.to_le_bytes());
    let plain = EdgeList::from_pairs(vec![[1, 2]]);
    let bytes = write(&plain, &IdMap::Same, "u64f32").unwrap();
    assert_eq!(bytes[16..], 1.0_f32.to_le_bytes(), "an edge without a weight weighs 1");
}

/// Writes an undirected graph.
fn undirected(list: &EdgeList, ids: &IdMap, format: &str) -> Result<String, OutputError> {
    let options = EdgeFormatOptions {
        format: Some(format.parse().unwrap()),
        undirected: true,
        memory_bytes_max: Some(200),
        ..EdgeFormatOptions::default()
    };
    let mut bytes = Vec::new();
    write_edges_to(list, ids, &mut bytes, "out", &options, 2, &Progress::new())?;
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn packed_edges_lie_as_drawn() {
    let plain = EdgeList::from_pairs(vec![[1, 2]]);
    let bytes = write(&plain, &IdMap::Same, "graph500").unwrap();
    assert_eq!(bytes, [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let bytes = write(&plain, &sparse(0x1234_5678_9abc), "graph500").unwrap();
    assert_eq!(bytes, [20, 0, 0, 0, 0xbc, 0x9a, 0x78, 0x56, 0, 0, 0x34, 0x12]);
    assert_eq!(
        write(&plain, &sparse(1 << 47), "graph500").unwrap_err().kind(),
        FailureKind::Output
    );
    assert_eq!(write(&plain, &ids(), "graph500").unwrap_err().kind(), FailureKind::Output);
    assert_eq!(
        write(&weighted(), &IdMap::Same, "graph500").unwrap_err().kind(),
        FailureKind::Output
    );
}

#[test]
fn numbered_formats_count_from_one() {
    let banner = "%%MatrixMarket matrix coordinate";
    assert_eq!(
        text(&weighted(), &IdMap::Same, "mtx"),
        format!("{banner} real general\n3 3 3\n1 2 1\n3 1 0.25\n2 3 -3.5\n")
    );
    let mut plain = EdgeList::from_pairs(vec![[0, 1], [2, 2]]);
    plain.set_slots(5);
    assert_eq!(
        text(&plain, &IdMap::Offset(1), "mtx"),
        format!("{banner} pattern general\n5 5 2\n1 2\n3 3\n")
    );
    assert_eq!(
        undirected(&plain, &IdMap::Declared, "mtx").unwrap(),
        format!("{banner} pattern symmetric\n5 5 2\n2 1\n3 3\n")
    );
    assert_eq!(text(&plain, &IdMap::Declared, "gr"), "p sp 5 2\na 1 2 1\na 3 3 1\n");
    let both = undirected(&plain, &IdMap::Declared, "gr").unwrap();
    assert_eq!(both, "p sp 5 3\na 1 2 1\na 2 1 1\na 3 3 1\n");
    for format in ["mtx", "gr", "metis"] {
        for ids in [ids(), sparse(30)] {
            let error = undirected(&plain, &ids, format).unwrap_err();
            assert!(error.to_string().contains("numbers vertices from 1"), "{error}");
        }
    }
}

#[test]
fn lists_hold_the_neighbours_of_each_vertex() {
    let mut list = EdgeList::new(Some(4), true);
    list.push(vec![[2, 0], [0, 1]], vec![7.0, 2.0]);
    assert_eq!(
        undirected(&list, &IdMap::Declared, "metis").unwrap(),
        "4 2 001\n3 7 2 2\n1 2\n1 7\n\n"
    );
    let mut plain = EdgeList::from_pairs(vec![[2, 0], [0, 1], [2, 1], [0, 0]]);
    plain.set_slots(4);
    assert_eq!(text(&plain, &IdMap::Declared, "adj"), "0 1 0\n1\n2 0 1\n3\n");
    assert_eq!(text(&plain, &IdMap::Same, "adj"), "0 1 0\n2 0 1\n");
    let both = undirected(&plain, &IdMap::Offset(5), "adj").unwrap();
    assert_eq!(both, "5 7 6 5\n6 5 7\n7 5 6\n8\n");
    assert_eq!(write(&plain, &ids(), "adj").unwrap_err().kind(), FailureKind::Output);
    let names = IdMap::Names(["a", "b", "c"].into_iter().collect());
    let three = EdgeList::from_pairs(vec![[2, 0], [2, 1]]);
    assert_eq!(text(&three, &names, "adj"), "a\nb\nc a b\n");
}

#[test]
fn metis_takes_edges_that_all_have_one_back() {
    let list = |edges: &[([u32; 2], f64)]| {
        let mut list = EdgeList::new(Some(4), true);
        let (pairs, weights) = edges.iter().copied().unzip();
        list.push(pairs, weights);
        list
    };
    let mut edges = vec![
        ([0, 3], 1.0),
        ([3, 0], 2.0),
        ([2, 0], 5.0),
        ([0, 3], 2.0),
        ([0, 2], 5.0),
        ([3, 0], 1.0),
    ];
    assert_eq!(
        text(&list(&edges), &IdMap::Declared, "metis"),
        "4 3 001\n3 5 4 1 4 2\n\n1 5\n1 1 1 2\n"
    );
    edges[0].1 = 7.0;
    let error = write(&list(&edges), &IdMap::Declared, "metis").unwrap_err().to_string();
    assert!(error.contains("the edge from 0 to 3 has none back"), "{error}");
    for one_way in [vec![[0, 1], [1, 0], [1, 2]], vec![[0, 1], [0, 1], [1, 0]], vec![[2, 1]]] {
        let list = EdgeList::from_pairs(one_way);
        assert_eq!(write(&list, &IdMap::Same, "metis").unwrap_err().kind(), FailureKind::Output);
    }
}

#[test]
fn lists_are_refused_that_cannot_be_or_do_not_fit() {
    let plain = EdgeList::from_pairs(vec![[0, 1]]);
    let error = write(&plain, &IdMap::Same, "metis").unwrap_err().to_string();
    assert!(error.contains("METIS holds undirected graphs"), "{error}");
    assert!(error.contains("the edge from 0 to 1 has none back"), "{error}");
    let loops = EdgeList::from_pairs(vec![[0, 1], [1, 1]]);
    let error = undirected(&loops, &IdMap::Same, "metis").unwrap_err().to_string();
    assert!(error.contains("no self-loops, found 1"), "{error}");
    let error = undirected(&weighted(), &IdMap::Same, "metis").unwrap_err().to_string();
    assert!(error.contains("positive integers as weights, found 0.25"), "{error}");
    assert_eq!(write(&weighted(), &IdMap::Same, "adj").unwrap_err().kind(), FailureKind::Output);
    let mut wide = EdgeList::from_pairs(vec![[0, 1]]);
    wide.set_slots(u32::MAX.into());
    for format in ["metis", "adj"] {
        let error = undirected(&wide, &IdMap::Declared, format).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Budget, "{error}");
    }
}

#[test]
fn graphalytics_is_three_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g.properties");
    let read = |extension: &str| fs::read_to_string(path.with_extension(extension)).unwrap();
    let options = EdgeFormatOptions { undirected: true, ..EdgeFormatOptions::default() };
    assert_eq!(options.files(&path).unwrap().len(), 3);
    let holes = EdgeList::from_pairs(vec![[0, 1], [70, 0]]);
    write_edges(&holes, &IdMap::Same, &path, &options, 2, &Progress::new()).unwrap();
    assert_eq!((read("v").as_str(), read("e").as_str()), ("0\n1\n70\n", "0 1\n70 0\n"));
    assert_eq!(
        read("properties"),
        "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.meta.vertices = 3\n\
         graph.g.meta.edges = 2\ngraph.g.directed = false\n"
    );
    let options = EdgeFormatOptions::default();
    write_edges(&weighted(), &sparse(1 << 40), &path, &options, 2, &Progress::new()).unwrap();
    assert_eq!(read("v"), "10\n20\n1099511627776\n");
    assert_eq!(read("e").lines().next(), Some("10 20 1"));
    assert!(read("properties").contains("graph.g.edge-properties.types = real\n"));
    let error = write(&weighted(), &IdMap::Same, "ldbc").unwrap_err();
    assert_eq!(error.kind(), FailureKind::Usage, "three files are no stream");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |list: &EdgeList, ids: &IdMap, format: &str| {
        let error = write(list, ids, format).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Output, "{error}");
    };
    let plain = EdgeList::from_pairs(vec![[1, 2]]);
    refuse(&plain, &ids(), "u64");
    refuse(&plain, &sparse(1 << 32), "u32");
    refuse(&plain, &ids(), "snap");
    refuse(&weighted(), &IdMap::Same, "u32");
    let mut heavy = EdgeList::new(None, true);
    heavy.push(vec![[0, 1]], vec![1e300]);
    refuse(&heavy, &IdMap::Same, "u32f32");
}

#[test]
fn weights_are_left_out_on_demand() {
    let options = EdgeFormatOptions { drop_weights: true, ..EdgeFormatOptions::default() };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.u32");
    write_edges(&weighted(), &IdMap::Same, &path, &options, 1, &Progress::new()).unwrap();
    assert_eq!(fs::read(path).unwrap().len(), 24);
}

#[test]
fn parts_larger_than_a_piece_keep_their_order() {
    let pairs: Vec<[u32; 2]> = (0..6_000_000).map(|edge| [edge, edge / 2]).collect();
    let mut list = EdgeList::new(None, false);
    list.push(vec![[7, 7]], Vec::new());
    list.push(pairs.clone(), Vec::new());
    list.push(vec![[8, 8]], Vec::new());
    let bytes = write(&list, &IdMap::Same, "u32").unwrap();
    let expected: Vec<u8> = list.pairs().flatten().flat_map(u32::to_le_bytes).collect();
    assert!(bytes == expected);
}

/// A stream whose second part cannot be read.
struct Broken;

impl EdgeStream for Broken {
    fn parts(&self) -> usize {
        3
    }

    fn edges(&self) -> u64 {
        3
    }

    fn weighted(&self) -> bool {
        false
    }

    fn slots(&self) -> Option<u64> {
        None
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), welter_model::edges::StreamError> {
        if part == 1 {
            return Err("part 1 is gone".into());
        }
        visit(Batch { pairs: &[[0, 1]], weights: None });
        Ok(())
    }
}

#[test]
fn errors_of_the_stream_pass_through_and_leave_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for (extension, _) in FORMATS {
        let path = directory.path().join(format!("out.{extension}"));
        let options = EdgeFormatOptions { undirected: true, ..EdgeFormatOptions::default() };
        let error = write_edges(&Broken, &IdMap::Same, &path, &options, 2, &Progress::new());
        assert_eq!(error.unwrap_err().to_string(), "part 1 is gone");
        let progress = Progress::new();
        progress.cancel();
        let error = write_edges(&Broken, &IdMap::Same, &path, &options, 2, &progress);
        assert_eq!(error.unwrap_err().kind(), FailureKind::Cancelled);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
