//! Shares that members read, held to what one reads of all.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use welter_model::rank_select::RankSelectBitmap;
use welter_progress::FailureKind;

use super::*;
use crate::options::WeightChoice;

/// Ends and weights of edges, by numbers of vertices.
type Edges = Vec<([u64; 2], u64)>;

/// Edges as they are handed out, and the bits of their weights.
fn listed(edges: &dyn EdgeStream) -> Edges {
    let mut list = Vec::new();
    for part in 0..edges.parts() {
        let visit = &mut |batch: welter_model::edges::Batch<'_>| {
            for (edge, pair) in batch.pairs.iter().enumerate() {
                let weight = batch.weights.map_or(1.0, |weights| weights[edge]);
                list.push((pair.map(u64::from), weight.to_bits()));
            }
            true
        };
        edges.read(part, visit).unwrap();
    }
    list
}

fn id_of(ids: &IdMap, slot: u64) -> String {
    match ids {
        IdMap::Same | IdMap::Declared => slot.to_string(),
        IdMap::Offset(first) => (slot + first).to_string(),
        IdMap::Sparse(ids) => ids[slot as usize].to_string(),
        IdMap::Names(names) => names.get(slot as usize).to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Edges and ids in order, as one reader of all has them.
fn whole(paths: &[PathBuf], options: &ReadOptions) -> (Edges, Vec<String>) {
    let input = crate::read(paths, options, &Progress::new()).unwrap();
    let mut edges = listed(&*input.edges);
    let mut slots: Vec<u64> = edges.iter().flat_map(|(pair, _)| *pair).collect();
    slots.sort_unstable();
    slots.dedup();
    if input.ids.all_present() {
        slots = (0..input.edges.slots().unwrap()).collect();
    }
    for (pair, _) in &mut edges {
        *pair = pair.map(|slot| slots.binary_search(&slot).unwrap() as u64);
    }
    (edges, slots.iter().map(|slot| id_of(&input.ids, *slot)).collect())
}

/// Edges of a share by the numbers of their ends, and all ids if it has them.
fn numbered(share: &SharedInput) -> (Edges, Option<Vec<String>>) {
    let mut edges = listed(&*share.edges);
    let marks = match &share.ids {
        SharedIds::Bitmap(words) => RankSelectBitmap::new(words.clone()),
        _ => RankSelectBitmap::default(),
    };
    let number = |place: u64| match (&share.ids, &share.numbers) {
        (SharedIds::Bitmap(_), None) => marks.number(place).unwrap(),
        (SharedIds::Stated(..), None) => place,
        (SharedIds::Numbered(..), Some(numbers)) => numbers[place as usize].into(),
        other => panic!("{other:?}"),
    };
    for (pair, _) in &mut edges {
        *pair = pair.map(number);
    }
    let ids = match &share.ids {
        SharedIds::Bitmap(_) => {
            Some((0..marks.count()).map(|mark| marks.slot(mark).to_string()).collect())
        }
        SharedIds::Stated(ids, slots) => {
            Some((0..*slots).map(|slot| id_of(ids, slot)).collect::<Vec<_>>())
        }
        SharedIds::Numbered(ids, count) => {
            ids.as_ref().map(|ids| (0..*count).map(|slot| id_of(ids, slot)).collect())
        }
    };
    (edges, ids)
}

/// Shares of inputs, of a member each, and of one that has none.
fn shared(
    paths: &[PathBuf],
    options: &ReadOptions,
    shares: usize,
) -> Vec<Result<Option<SharedInput>, InputError>> {
    let read = |mut member: Channels| {
        let wants_ids = member.me() == 0 || member.me() == shares;
        let role = Role { shares, wants_ids };
        read_shared(paths, options, &Progress::new(), &mut member, role)
    };
    let read = &read;
    std::thread::scope(|scope| {
        let members = Channels::of(shares + 1).into_iter();
        let threads: Vec<_> = members.map(|it| scope.spawn(move || read(it))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn file(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn packed(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// Rows of edges with weights.
fn rows(edges: u64, id: impl Fn(u64) -> String) -> String {
    let row = |at: u64| {
        let [source, target] = [at * at % 97, at * 7 % 89];
        format!("{}\t{}\t{}\n", id(source), id(target), 1 + at % 5)
    };
    (0..edges).map(row).collect()
}

fn weighed() -> ReadOptions {
    ReadOptions { weight: WeightChoice::IfPresent, threads: 2, ..ReadOptions::default() }
}

/// Inputs of ids of every kind, in one file and in several.
fn inputs(folder: &TempDir) -> Vec<Vec<PathBuf>> {
    let sparse = |id: u64| (id * 700_000_000_003 % 999_983_000_017).to_string();
    let name = |id: u64| format!("n{}", id * 37 % 101);
    let holes = |id: u64| (id * 3 + 5).to_string();
    let short = "5\t8\t1\n8\t11\t2\n";
    let matrix =
        "%%MatrixMarket matrix coordinate integer general\n120 120 3\n1 2 7\n9 1 8\n3 3 9\n";
    vec![
        vec![file(folder, "dense.tsv", rows(9000, |id| id.to_string()))],
        vec![file(folder, "holes.tsv", rows(9000, holes))],
        vec![file(folder, "sparse.tsv", rows(9000, sparse))],
        vec![file(folder, "names.tsv", format!("from\tto\tweight\n{}", rows(9000, name)))],
        vec![
            file(folder, "a.tsv", rows(300, holes)),
            file(folder, "b.tsv.gz", packed(&rows(500, holes))),
            file(folder, "c.tsv", short),
        ],
        vec![
            file(folder, "d.tsv.gz", packed(&rows(200, name))),
            file(folder, "e.tsv", rows(400, name)),
        ],
        vec![file(folder, "whole.tsv.gz", packed(&rows(300, sparse)))],
        vec![file(folder, "stated.mtx", matrix)],
        vec![file(folder, "short.tsv", short)],
    ]
}

#[test]
fn shares_are_numbered_as_all_are() {
    let folder = tempfile::tempdir().unwrap();
    // Parts of the last of these are on files.
    let limits = crate::options::Limits { memory_bytes_max: Some(64 << 10), ..Default::default() };
    let scratch = vec![folder.path().to_owned()];
    let small = ReadOptions { limits, scratch, ..weighed() };
    for paths in inputs(&folder) {
        for (options, shares) in
            [(weighed(), 1), (weighed(), 2), (weighed(), 5), (small.clone(), 3)]
        {
            let (edges, ids) = whole(&paths, &options);
            let members = shared(&paths, &options, shares);
            let mut found = Vec::new();
            for (member, read) in members.into_iter().enumerate() {
                let share = read.unwrap().unwrap();
                let (own, all) = numbered(&share);
                assert!(member < shares || own.is_empty(), "{paths:?}");
                found.extend(own);
                assert_eq!((share.count, share.weighted), (edges.len() as u64, true));
                let wants_ids = member == 0 || member == shares;
                assert!(!wants_ids || all.is_some(), "{paths:?}");
                assert!(all.is_none_or(|all| all == ids), "{paths:?}, {shares} shares");
            }
            assert_eq!(found, edges, "{paths:?}, {shares} shares");
        }
    }
}

#[test]
fn each_member_reads_about_its_share() {
    let folder = tempfile::tempdir().unwrap();
    let text = rows(40_000, |id| (id * 1_000_003).to_string());
    let paths = vec![file(&folder, "large.tsv", &text)];
    let members = shared(&paths, &weighed(), 4);
    for read in members {
        let share = read.unwrap().unwrap();
        let quarter = text.len() as f64 / 4.0;
        assert_eq!(share.bytes.len(), 5);
        for bytes in &share.bytes[..4] {
            let of_it = *bytes as f64 / quarter;
            assert!((0.95..1.1).contains(&of_it), "{:?} of {quarter}", share.bytes);
        }
        assert_eq!(share.bytes[4], 0);
    }
}

#[test]
fn one_that_is_alone_reads_as_a_member_does() {
    let folder = tempfile::tempdir().unwrap();
    for paths in inputs(&folder) {
        let members = shared(&paths, &weighed(), 3);
        for (number, read) in members.into_iter().enumerate().take(3) {
            let role = Role { shares: 3, wants_ids: number == 0 };
            let alone = read_alone(&paths, &weighed(), &Progress::new(), (number, role));
            let (alone, read) = (alone.unwrap().unwrap(), read.unwrap().unwrap());
            assert_eq!(numbered(&alone), numbered(&read), "{paths:?}");
            assert_eq!(alone.contents, read.contents);
        }
    }
}

#[test]
fn the_first_error_in_input_order_is_that_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let good = rows(500, |id| id.to_string());
    for wrong in [["1\tx\t2", "1\t2\t3"], ["1\t2\tmany", "y\t2\t3"], ["1\t2\t3", "1\t2"]] {
        let text = format!("{good}{}\n{good}{}\n{good}", wrong[0], wrong[1]);
        let paths = vec![file(&folder, "wrong.tsv", text)];
        let options = ReadOptions { ids: crate::options::IdKind::Integers, ..weighed() };
        let expected = crate::read(&paths, &options, &Progress::new()).err().unwrap();
        assert!(expected.to_string().contains("wrong.tsv:"), "{expected}");
        for read in shared(&paths, &options, 4) {
            let error = read.err().unwrap();
            assert_eq!(error.to_string(), expected.to_string());
            assert_eq!(error.kind(), FailureKind::Input);
        }
    }
}

#[test]
fn inputs_that_are_not_read_in_shares_are_so_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let raw = vec![file(&folder, "pairs.u32", [0_u8; 64])];
    let missing = vec![folder.path().join("missing.tsv")];
    let table = file(&folder, "all.csv", "id\n1\n").display().to_string();
    let rows = vec![file(&folder, "rows.tsv", rows(9, |id| id.to_string()))];
    let mut with_table = weighed();
    with_table.vertex_tables.files.push(table);
    let two_kinds = ReadOptions { two_kinds: Some(true), ..weighed() };
    for (paths, options) in
        [(&raw, weighed()), (&missing, weighed()), (&rows, with_table), (&rows, two_kinds)]
    {
        for read in shared(paths, &options, 2) {
            assert!(read.unwrap().is_none(), "{paths:?}");
        }
    }
}

#[test]
fn tables_with_other_columns_are_refused_on_all() {
    let folder = tempfile::tempdir().unwrap();
    let paths = vec![
        file(&folder, "a.csv", format!("source,target\n{}", "1,2\n".repeat(50))),
        file(&folder, "b.csv", format!("id,other\n{}", "1,2\n".repeat(50))),
    ];
    let expected = crate::read(&paths, &weighed(), &Progress::new()).err().unwrap();
    for read in shared(&paths, &weighed(), 2) {
        assert_eq!(read.err().unwrap().to_string(), expected.to_string());
    }
}
