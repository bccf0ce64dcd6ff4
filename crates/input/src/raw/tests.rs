//! Raw files, good and bad.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use welter_objects::ReadRequests;
use welter_progress::{FailureKind, Progress};

use super::*;
use crate::{ColumnRef, Input, Limits, PageCache, WeightChoice, read};

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn file(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn read_all(paths: &[&PathBuf], options: &ReadOptions) -> Result<Input, InputError> {
    let names: Vec<_> = paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    read(&names, options, &Progress::new())
}

/// All edges of a stream with their weights, 1 where there are none.
fn edges(input: &Input) -> Vec<([u32; 2], f64)> {
    let mut all = Vec::new();
    for part in 0..input.edges.parts() {
        input
            .edges
            .read(part, &mut |batch| {
                let weight = |edge: usize| batch.weights.map_or(1.0, |weights| weights[edge]);
                all.extend(
                    batch.pairs.iter().enumerate().map(|(edge, pair)| (*pair, weight(edge))),
                );
                true
            })
            .unwrap();
    }
    all
}

fn failure(bytes: &[u8], name: &str, options: &ReadOptions) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), name, bytes);
    let error = read_all(&[&path], options).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Input, "{error}");
    error.to_string().replace(&format!("{}/", directory.path().display()), "")
}

/// Edges in each layout.
fn layouts() -> Vec<(&'static str, Vec<u8>)> {
    let edges: Vec<([u32; 2], f32)> =
        (0..100_000_u32).map(|i| ([i * 7 % 1_000, i % 999], (i % 100) as f32 / 4.0)).collect();
    let encode = |wide: bool, weight: usize| {
        let mut bytes = Vec::new();
        for (pair, value) in &edges {
            for id in pair {
                bytes.extend_from_slice(&u64::from(*id).to_le_bytes()[..if wide { 8 } else { 4 }]);
            }
            match weight {
                4 => bytes.extend_from_slice(&value.to_le_bytes()),
                8 => bytes.extend_from_slice(&f64::from(*value).to_le_bytes()),
                _ => {}
            }
        }
        bytes
    };
    vec![
        ("e.u32", encode(false, 0)),
        ("e.u64", encode(true, 0)),
        ("e.u32f32", encode(false, 4)),
        ("e.u32f64", encode(false, 8)),
        ("e.u64f32", encode(true, 4)),
        ("e.u64f64", encode(true, 8)),
    ]
}

/// Takes a file out of the system's cache, where the file system has one beside itself.
fn evict(path: &Path) {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
}

#[test]
fn the_cache_is_passed_by_where_that_is_stated_or_pays() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "e.u32", &bytes_of(&[1; 2000]));
    let of = |page_cache, cache_bytes_max, again| {
        let source = Source::open(path.to_str().unwrap(), None).unwrap();
        let shape = shape(&source, &ReadOptions::default()).unwrap();
        let mut stream = RawStream::open(std::slice::from_ref(&source), shape).unwrap();
        let limits = Limits { cache_bytes_max, page_cache, ..Limits::default() };
        stream.set_limits(&limits, 1, again);
        let before = stream.is_past_cache(0);
        stream.spare_memory(1 << 30);
        (before, stream.is_past_cache(0))
    };
    assert_eq!(of(PageCache::Auto, None, true), (false, false));
    assert_eq!(of(PageCache::Auto, Some(10), false), (false, false));
    // Memory that others leave is for the first parts.
    assert_eq!(of(PageCache::Auto, Some(10), true), (true, false));
    assert_eq!(of(PageCache::Past, None, false), (true, true));
    assert_eq!(of(PageCache::Through, Some(10), true), (false, false));
}

#[test]
fn requests_that_are_stated_read_the_same_edges() {
    let directory = tempfile::tempdir().unwrap();
    let usual = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for (name, bytes) in layouts() {
        let record = bytes.len() / 100_000;
        let path = file(directory.path(), name, &bytes.repeat(2)[..150_007 * record]);
        let expected = edges(&read_all(&[&path], &usual).unwrap());
        for (bytes, in_flight, page_cache) in [
            (Some(4 << 10), Some(1), PageCache::Past),
            (Some(64 << 10), Some(40), PageCache::Past),
            (Some(64 << 20), None, PageCache::Past),
            (None, Some(2), PageCache::Auto),
            (None, None, PageCache::Past),
            (None, None, PageCache::Through),
        ] {
            evict(&path);
            let mut options = usual.clone();
            options.limits.read_requests = ReadRequests { bytes, in_flight };
            options.limits.page_cache = page_cache;
            let found = read_all(&[&path], &options).unwrap();
            found.edges.spare_memory(1 << 30);
            assert!(edges(&found) == expected, "{name} {:?}", options.limits.read_requests);
        }
    }
}

#[test]
fn files_read_past_the_cache_hold_the_same_edges() {
    let directory = tempfile::tempdir().unwrap();
    let through = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    let mut past = through.clone();
    past.limits.cache_bytes_max = Some(0);
    for (name, bytes) in layouts() {
        // More than a window, in several parts, and no multiple of a page.
        let record = bytes.len() / 100_000;
        let long = bytes.repeat(15)[..1_450_007 * record].to_vec();
        let path = file(directory.path(), name, &long);
        // A file that was just written is in the cache, and taken from there; then it is not.
        let mut expected = None;
        for evicted in [false, true] {
            if evicted {
                evict(&path);
            }
            let found = edges(&read_all(&[&path], &past).unwrap());
            assert!(*expected.get_or_insert_with(|| found.clone()) == found, "{name}");
        }
        let [through, past] = [&through, &past].map(|options| read_all(&[&path], options).unwrap());
        assert!(edges(&through) == edges(&past) && expected == Some(edges(&past)), "{name}");
        // The first part through it, and the others past it.
        past.edges.spare_memory(17 << 20);
        assert!(edges(&through) == edges(&past), "{name}");
    }
}

#[test]
fn every_layout_holds_the_same_edges() {
    let directory = tempfile::tempdir().unwrap();
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for (name, bytes) in layouts() {
        let path = file(directory.path(), name, &bytes);
        let input = read_all(&[&path], &options).unwrap();
        let expected = |edge: u32| {
            let weight = f64::from(edge % 100) / 4.0;
            ([edge * 7 % 1_000, edge % 999], if name.contains('f') { weight } else { 1.0 })
        };
        let all = edges(&input);
        assert!(all.iter().copied().eq((0..100_000).map(expected)), "{name}");
        assert_eq!((input.edges.slots(), &input.ids), (Some(1_000), &IdMap::Same));
        assert_eq!(input.edges.weighted(), name.contains('f'));
        let unweighted = read_all(&[&path], &ReadOptions::default()).unwrap();
        assert!(!unweighted.edges.weighted());
        assert_eq!(unweighted.summary.edges, 100_000);
    }
}

#[test]
fn compressed_files_read_as_plain_ones_do() {
    let directory = tempfile::tempdir().unwrap();
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    for (name, bytes) in layouts() {
        let plain = file(directory.path(), name, &bytes);
        let packed = zstd::encode_all(bytes.as_slice(), 1).unwrap();
        let packed = file(directory.path(), &format!("{name}.zst"), &packed);
        let [plain, packed] = [plain, packed].map(|path| read_all(&[&path], &options).unwrap());
        assert!(edges(&plain) == edges(&packed), "{name}");
        assert_eq!(plain.edges.slots(), packed.edges.slots());
    }
}

#[test]
fn several_files_are_one_list_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let a = file(directory.path(), "a.u32", &bytes_of(&[1, 2, 3, 4]));
    let empty = file(directory.path(), "b.u32", &[]);
    let c = file(directory.path(), "c.u32", &bytes_of(&[5, 0]));
    let input = read_all(&[&a, &empty, &c], &ReadOptions::default()).unwrap();
    let pairs: Vec<_> = edges(&input).into_iter().map(|(pair, _)| pair).collect();
    assert_eq!(pairs, [[1, 2], [3, 4], [5, 0]]);
    assert_eq!(input.edges.slots(), Some(6));
}

#[test]
fn sparse_ids_get_slots_in_their_order() {
    let directory = tempfile::tempdir().unwrap();
    let narrow = file(directory.path(), "a.u32", &bytes_of(&[4_000_000_000, 7, 9, 7]));
    let input = read_all(&[&narrow], &ReadOptions::default()).unwrap();
    assert_eq!(input.ids, IdMap::Sparse(vec![7, 9, 4_000_000_000]));
    assert_eq!(edges(&input), [([2, 0], 1.0), ([1, 0], 1.0)]);
    let wide: Vec<u8> =
        [1_u64 << 40, 3, 3, u64::MAX].iter().flat_map(|id| id.to_le_bytes()).collect();
    let wide = file(directory.path(), "b.u64", &wide);
    let input = read_all(&[&wide], &ReadOptions::default()).unwrap();
    assert_eq!(input.ids, IdMap::Sparse(vec![3, 1 << 40, u64::MAX]));
}

#[test]
fn a_declared_number_of_vertices_is_held_against_the_ids() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.u32", &bytes_of(&[1, 2, 9, 0]));
    let options = |vertices| ReadOptions { vertices: Some(vertices), ..ReadOptions::default() };
    let input = read_all(&[&path], &options(1 << 20)).unwrap();
    assert_eq!((input.edges.slots(), input.ids), (Some(1 << 20), IdMap::Declared));
    let input = read_all(&[&path], &options(9)).unwrap();
    let error = input.edges.read(0, &mut |_| true).unwrap_err();
    let error = error.downcast::<InputError>().unwrap();
    assert_eq!(error.kind(), FailureKind::Input);
    assert!(error.to_string().contains("byte 8: expected ids within"), "{error}");
    // More than there are slots for: those with edges have some.
    let input = read_all(&[&path], &options(u64::MAX)).unwrap();
    assert_eq!((input.edges.slots(), input.ids.others()), (Some(5), u64::MAX - 4));
}

#[test]
fn columns_may_be_swapped() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.u32", &bytes_of(&[1, 2, 3, 0]));
    let options = ReadOptions {
        source: Some(ColumnRef::Number(2)),
        target: Some(ColumnRef::Name("source".to_owned())),
        ..ReadOptions::default()
    };
    let input = read_all(&[&path], &options).unwrap();
    assert_eq!(edges(&input), [([2, 1], 1.0), ([0, 3], 1.0)]);
}

#[test]
fn bad_files_are_refused_with_their_place() {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    assert_eq!(
        failure(&[0; 19], "a.u32", &options),
        "a.u32: byte 16: expected a record of 8 bytes, found only 3 more bytes"
    );
    let mut nan = bytes_of(&[0, 1, 0, 2, 3, 0]);
    nan[20..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_eq!(
        failure(&nan, "a.u32f32", &options),
        "a.u32f32: byte 20: expected a weight, found a NaN (not a number)"
    );
    assert!(failure(&[], "a.u64", &options).contains("expected edges, found none"));
    let column = WeightChoice::Column(ColumnRef::Name("weight".to_owned()));
    let options = ReadOptions { weight: column, ..options };
    assert!(failure(&[0; 8], "a.u32", &options).contains("weight column"));
    let options = ReadOptions { ids: IdKind::Names, ..ReadOptions::default() };
    assert!(failure(&[0; 8], "a.u32", &options).contains("names as ids"));
    let packed = zstd::encode_all([0_u8; 12].as_slice(), 1).unwrap();
    let error = failure(&packed, "a.u32.zst", &ReadOptions::default());
    assert!(error.contains("byte 8: expected a record"), "{error}");
}

#[test]
fn a_file_that_changes_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.u32", &bytes_of(&[1, 2, 3, 0]));
    let input = read_all(&[&path], &ReadOptions::default()).unwrap();
    file(directory.path(), "a.u32", &bytes_of(&[1, 2, 4, 0]));
    let error = input.edges.read(0, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("byte 8: expected ids as the file had"), "{error}");
    file(directory.path(), "a.u32", &bytes_of(&[1, 2]));
    let error = input.edges.read(0, &mut |_| true).unwrap_err().to_string();
    assert!(error.contains("byte 0: the file has become shorter"), "{error}");
    fs::remove_file(&path).unwrap();
    assert!(input.edges.read(0, &mut |_| true).is_err());
}

#[test]
fn visitors_may_end_early_and_read_other_parts_meanwhile() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.u32");
    let mut out = fs::File::create(&path).unwrap();
    for part in 0..3_u32 {
        out.write_all(&bytes_of(&[part, part + 1]).repeat(2 << 20)).unwrap();
    }
    let mut past = ReadOptions::default();
    past.limits.cache_bytes_max = Some(0);
    for options in [ReadOptions::default(), past] {
        let input = read_all(&[&path], &options).unwrap();
        assert_eq!(input.edges.parts(), 3);
        let mut batches = 0;
        let mut inner = 0;
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            let pairs = batch.pairs.to_vec();
            let nested = input.edges.read(2, &mut |batch| {
                inner += batch.pairs.iter().filter(|pair| **pair == [2, 3]).count();
                true
            });
            nested.unwrap();
            assert!(pairs == batch.pairs, "a nested read does not touch the batch");
            batches += 1;
            batches < 2
        };
        input.edges.read(1, &mut visit).unwrap();
        assert_eq!((batches, inner), (2, 2 * (2 << 20)));
    }
}

#[test]
fn a_sample_says_what_slots_are_likely() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.u32", &bytes_of(&[1, 2, 900, 0]));
    let mut options = ReadOptions { sampled: true, ..ReadOptions::default() };
    let input = read_all(&[&path], &options).unwrap();
    let look = input.edges.known_sample().unwrap();
    assert_eq!((look.slots(), look.edges(), input.edges.slots()), (901, 2, Some(901)));
    assert_eq!(look.rounds().last().unwrap().vertices, [4]);
    // Marks on 901 slots take 113 bytes, and that many threads have them.
    options.limits.memory_bytes_max = Some(512);
    let input = read_all(&[&path], &options).unwrap();
    assert!(input.edges.known_sample().unwrap().rounds().last().unwrap().vertices.is_empty());
    assert_eq!((input.edges.slots(), edges(&input).len()), (Some(901), 2));
    // Without a guess all are looked at.
    options.sampled = false;
    let input = read_all(&[&path], &options).unwrap();
    assert!(input.edges.known_sample().is_none());
    assert_eq!(input.edges.slots(), Some(901));
}

/// Many edges between the vertices below 1,000, and one to a far vertex that no sample has.
fn with_one_far_away() -> Vec<u8> {
    let mut pairs: Vec<u32> = (0..2 << 21).map(|end| end % 1000).collect();
    pairs[1] = 5_000_000;
    bytes_of(&pairs)
}

#[test]
fn an_id_that_no_sample_is_near_ends_the_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a.u32", &with_one_far_away());
    let options = ReadOptions { sampled: true, ..ReadOptions::default() };
    let input = read_all(&[&path], &options).unwrap();
    assert_eq!(input.edges.slots(), Some(4096));
    let error = input.edges.read(0, &mut |_| true).unwrap_err();
    let error = error.downcast::<InputError>().unwrap();
    assert!(matches!(*error, InputError::Unlikely { slots: 4096 }), "{error}");
    let input = read_all(&[&path], &ReadOptions::default()).unwrap();
    assert_eq!(input.edges.slots(), Some(5_000_001));
}

#[test]
fn ids_that_ascend_with_their_places_are_expected_to_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let pairs: Vec<u32> = (0..2 << 22).map(|end| end / 8).collect();
    let path = file(directory.path(), "a.u32", &bytes_of(&pairs));
    for cache in [None, Some(0)] {
        let mut options = ReadOptions { sampled: true, ..ReadOptions::default() };
        options.limits.cache_bytes_max = cache;
        let input = read_all(&[&path], &options).unwrap();
        let slots = input.edges.slots().unwrap();
        assert!((1 << 20..3 << 19).contains(&slots), "{slots}");
        assert_eq!(edges(&input).len(), 1 << 22);
        let look = input.edges.known_sample().unwrap();
        assert!((1 << 19..1 << 21).contains(&look.edges()), "{}", look.edges());
    }
}

/// Packed edges as the Graph500 generator writes them.
fn packed(edges: &[[u64; 2]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for [source, target] in edges {
        bytes.extend_from_slice(&(*source as u32).to_le_bytes());
        bytes.extend_from_slice(&(*target as u32).to_le_bytes());
        let high = (target >> 32) << 16 | source >> 32;
        bytes.extend_from_slice(&(high as u32).to_le_bytes());
    }
    bytes
}

#[test]
fn packed_edges_read_at_either_width() {
    let directory = tempfile::tempdir().unwrap();
    let narrow = [[1, 2], [3, 0]];
    let path = file(directory.path(), "a.graph500", &packed(&narrow));
    let input = read_all(&[&path], &ReadOptions::default()).unwrap();
    assert_eq!(edges(&input), [([1, 2], 1.0), ([3, 0], 1.0)]);
    assert_eq!((input.edges.resident_bytes() < 1 << 10, input.ids), (true, IdMap::Same));
    // Wide ids in the second batch only, and each half of the high word by itself.
    let mut wide: Vec<[u64; 2]> = vec![[5, 6]; 30_000];
    wide.extend([[3 << 32 | 9, 6], [5, (1 << 47) - 1]]);
    let path = file(directory.path(), "b.graph500", &packed(&wide));
    let compressed = zstd::encode_all(packed(&wide).as_slice(), 1).unwrap();
    let compressed = file(directory.path(), "c.graph500.zst", &compressed);
    for path in [path, compressed] {
        let input = read_all(&[&path], &ReadOptions::default()).unwrap();
        let IdMap::Sparse(ids) = &input.ids else { panic!("{:?}", input.ids) };
        assert_eq!(ids, &[5, 6, 3 << 32 | 9, (1 << 47) - 1]);
        let all = edges(&input);
        assert_eq!(all[30_000..], [([2, 1], 1.0), ([0, 3], 1.0)]);
        assert!(all[..30_000].iter().all(|(pair, _)| *pair == [0, 1]));
    }
}

#[test]
fn packed_edges_that_are_none_are_refused() {
    let options = ReadOptions::default();
    assert_eq!(
        failure(&[0; 25], "a.graph500", &options),
        "a.graph500: byte 24: expected a record of 12 bytes, found only 1 more bytes"
    );
    let unused = packed(&[[0, 1], [u64::MAX >> 16, 3]]);
    let error = failure(&unused, "a.graph500", &options);
    assert!(error.starts_with("a.graph500: byte 12: expected ids of 48 bits"), "{error}");
    let edges: Vec<_> = (1..100).map(|id| [id, id * 2]).collect();
    let mut swapped = packed(&edges);
    swapped.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
    let error = failure(&swapped, "a.graph500", &options);
    assert!(error.contains("multiples of 256, as if a big-endian machine"), "{error}");
}

#[test]
fn a_published_packed_file_reads_as_its_kind_of_graph() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/suites");
    let path = folder.join("graph500-packed/scale_8.graph500");
    if !path.exists() {
        eprintln!("SKIPPED: no {}", path.display());
        return;
    }
    let input = read_all(&[&path], &ReadOptions::default()).unwrap();
    let all = edges(&input);
    assert_eq!(all.len(), 16 << 8);
    assert_eq!(all[..3].iter().map(|(pair, _)| *pair).collect::<Vec<_>>(), PACKED_FIRST);
    assert!(all.iter().flat_map(|(pair, _)| pair).all(|id| *id < 1 << 8));
}

/// The first edges of the published file, read from a dump of its bytes.
const PACKED_FIRST: [[u32; 2]; 3] = [[0x11, 0x8a], [0x52, 0x7f], [0xfa, 0x3c]];
