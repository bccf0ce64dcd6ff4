//! Edge lists written in every format. That the readers of welter understand them is shown in
//! `tests/round_trip.rs`.

use std::fs;

use welter_model::edges::EdgeList;

use super::*;

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

#[test]
fn what_does_not_fit_is_refused() {
    let refuse = |list: &EdgeList, ids: &IdMap, format: &str| {
        let error = write(list, ids, format).unwrap_err();
        assert_eq!(error.exit_code(), 73, "{error}");
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
        let options = EdgeFormatOptions::default();
        let error = write_edges(&Broken, &IdMap::Same, &path, &options, 2, &Progress::new());
        assert_eq!(error.unwrap_err().to_string(), "part 1 is gone");
        let progress = Progress::new();
        progress.cancel();
        let error = write_edges(&Broken, &IdMap::Same, &path, &options, 2, &progress);
        assert_eq!(error.unwrap_err().exit_code(), 130);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
