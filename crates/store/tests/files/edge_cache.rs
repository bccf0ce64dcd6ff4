//! A cache of edges that lie elsewhere: bytes are those of the files, whatever is in it, and it
//! keeps to its size.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use tempfile::TempDir;
use welter_store::StoreError;
use welter_store::edge_cache::{BYTES_LEAST, Cached, EdgeCache, EdgeCacheStats, NAME};
use welter_store::io::Remote;

use crate::known::{Known, LENGTH, byte};

const SLOT: u64 = 256 << 10;

impl Known {
    fn asked_bytes(&self) -> u64 {
        self.asked.lock().unwrap().drain(..).map(|(_, range)| range.end - range.start).sum()
    }
}

/// Two files of chunks and one of another kind.
const FILES: [(&str, u64); 3] =
    [("far://g/edges-0", 5 << 20), ("far://g/edges-1a", 2_000_001), ("far://g/degrees-1", 900_000)];
const CHUNKS: u64 = FILES[0].1 + FILES[1].1;
const ALL: u64 = CHUNKS + FILES[2].1;

fn of(graph: u64) -> Cached {
    let files = FILES.map(|(name, bytes)| (PathBuf::from(name), bytes)).into();
    Cached { graph, generation: 0, files, chunk_files: 2 }
}

fn open(folder: &TempDir, bytes: u64, graph: u64) -> Result<(Arc<Known>, EdgeCache), StoreError> {
    let known = Arc::new(Known::default());
    let cache = EdgeCache::open(known.clone(), &[(folder.path().to_owned(), bytes)], &of(graph))?;
    Ok((known, cache))
}

fn read(cache: &EdgeCache, file: usize, range: Range<u64>) {
    let name = Path::new(FILES[file].0);
    let mut found = Vec::new();
    cache.read(name, range.clone(), &mut |bytes| found.extend_from_slice(bytes)).unwrap();
    let expected: Vec<u8> = range.map(|offset| byte(name, offset)).collect();
    assert!(found == expected);
}

/// Reads all files, in pieces that do not end where blocks do.
fn read_all(cache: &EdgeCache) {
    for (file, (_, bytes)) in FILES.iter().enumerate() {
        for begin in (0..*bytes).step_by(700_001) {
            read(cache, file, begin..(*bytes).min(begin + 700_001));
        }
    }
}

fn length(folder: &TempDir) -> u64 {
    fs::metadata(folder.path().join(NAME)).unwrap().len()
}

#[test]
fn a_second_reading_asks_for_what_is_not_pinned_alone() {
    for slots in [1, 3, 8, 20, 29, 30, 40] {
        let folder = TempDir::new().unwrap();
        let bytes = (slots + 1) * SLOT + 77;
        let (known, cache) = open(&folder, bytes, 7).unwrap();
        read_all(&cache);
        assert_eq!(known.asked_bytes(), ALL);
        let first = cache.stats().bytes_cached;
        read_all(&cache);
        let EdgeCacheStats { bytes_pinned, bytes_kept, bytes_cached, damaged, .. } = cache.stats();
        assert_eq!(bytes_cached - first, bytes_kept, "{slots}");
        assert!(bytes_kept <= bytes_pinned && damaged == 0);
        assert_eq!(known.asked_bytes(), ALL - bytes_kept, "{slots}");
        assert!(length(&folder) <= bytes);
        drop(cache);
        // A later run finds it all.
        let (known, cache) = open(&folder, bytes, 7).unwrap();
        read_all(&cache);
        assert_eq!(known.asked_bytes(), ALL - bytes_kept, "{slots}");
        assert_eq!(cache.stats().bytes_cached, bytes_kept);
        assert_eq!(cache.bytes(Path::new(FILES[1].0)).unwrap(), FILES[1].1);
        assert_eq!(cache.bytes(Path::new("far://g/manifest")).unwrap(), LENGTH);
        assert_eq!(known.lengths.load(Ordering::Relaxed), 1);
        // Chunks come first.
        assert!(bytes_kept > 0 && (bytes_kept < CHUNKS || slots >= 29));
        assert_eq!(bytes_kept == ALL, slots == 40);
    }
}

#[test]
fn damage_is_found_and_fetched_again() {
    let folder = TempDir::new().unwrap();
    let bytes = 40 * SLOT;
    let (_, cache) = open(&folder, bytes, 7).unwrap();
    read_all(&cache);
    drop(cache);
    let file = folder.path().join(NAME);
    let whole = fs::read(&file).unwrap();
    // A flipped bit in a label, in a block and in padding; a torn write; a file that was cut.
    let mut torn = whole.clone();
    let begin = 4 * SLOT as usize + 9000;
    torn[begin..5 * SLOT as usize].fill(0);
    let flipped = |at: u64| {
        let mut bytes = whole.clone();
        bytes[at as usize] ^= 4;
        bytes
    };
    for (damaged, blocks) in [
        (flipped(3 * SLOT + 20), 1),
        (flipped(3 * SLOT + 5000), 1),
        (torn, 1),
        (whole[..whole.len() / 2 + 1000].to_vec(), 1),
    ] {
        fs::write(&file, damaged).unwrap();
        let (known, cache) = open(&folder, bytes, 7).unwrap();
        read_all(&cache);
        assert_eq!(cache.stats().damaged, blocks);
        assert!(known.asked_bytes() >= SLOT / 2);
        read_all(&cache);
        assert_eq!(known.asked_bytes(), 0);
        drop(cache);
        assert!(fs::read(&file).unwrap() == whole);
    }
    // Blocks whose content turned out to be wrong are not handed over again.
    let (known, cache) = open(&folder, bytes, 7).unwrap();
    cache.distrust(Path::new(FILES[0].0), SLOT - 10..2 * SLOT);
    read_all(&cache);
    assert!((2 * SLOT - 128..3 * SLOT).contains(&known.asked_bytes()));
}

#[test]
fn another_graph_takes_it_over_and_two_at_a_time_are_refused() {
    let folder = TempDir::new().unwrap();
    let (_, first) = open(&folder, 10 * SLOT, 7).unwrap();
    read_all(&first);
    // Two runs share it.
    let (known, second) = open(&folder, 10 * SLOT, 7).unwrap();
    read_all(&second);
    assert!(known.asked_bytes() < ALL);
    for (bytes, graph) in [(10 * SLOT, 8), (9 * SLOT, 7)] {
        let error = open(&folder, bytes, graph).unwrap_err().to_string();
        assert!(error.contains("another graph, or with another size"), "{error}");
    }
    drop((first, second));
    let (known, other) = open(&folder, 6 * SLOT, 8).unwrap();
    assert!(length(&folder) < SLOT);
    read_all(&other);
    assert!(known.asked_bytes() >= ALL && length(&folder) <= 6 * SLOT);
}

#[test]
fn several_disks_have_a_share_each() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let sizes = [9 * SLOT, 5 * SLOT];
    let opened = |disks: &[usize]| {
        let known = Arc::new(Known::default());
        let place = |disk: &usize| (folders[*disk].path().to_owned(), sizes[*disk]);
        let places: Vec<_> = disks.iter().map(place).collect();
        let cache = EdgeCache::open(known.clone(), &places, &of(7)).unwrap();
        (known, cache)
    };
    let (_, cache) = opened(&[0, 1]);
    read_all(&cache);
    let kept = cache.stats().bytes_kept;
    assert!(kept > 11 * (SLOT - 64) && cache.stats().bytes_pinned == 12 * (SLOT - 64));
    for (folder, size) in folders.iter().zip(sizes) {
        // The last slot of each is used.
        assert!((size - SLOT + 1..=size).contains(&length(folder)), "{}", length(folder));
    }
    drop(cache);
    // Later runs find it all, in whatever order disks are named.
    let (known, cache) = opened(&[1, 0]);
    read_all(&cache);
    assert_eq!(known.asked_bytes(), ALL - kept);
    assert_eq!((cache.stats().bytes_cached, cache.stats().damaged), (kept, 0));
    drop(cache);
    // Blocks of a disk that was lost are fetched again, and others are where they were.
    fs::remove_file(folders[1].path().join(NAME)).unwrap();
    let (known, cache) = opened(&[0, 1]);
    read_all(&cache);
    let there = cache.stats().bytes_cached;
    assert!(kept / 2 < there && there < kept, "{there} of {kept}");
    known.asked_bytes();
    read_all(&cache);
    assert_eq!(known.asked_bytes(), ALL - kept);
    drop(cache);
    // One disk alone is another cache.
    let (known, cache) = opened(&[0]);
    read_all(&cache);
    assert_eq!((known.asked_bytes(), cache.stats().damaged), (ALL, 0));
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join(NAME);
    fs::write(&file, "mine").unwrap();
    let error = open(&folder, BYTES_LEAST, 7).unwrap_err().to_string();
    assert!(error.ends_with("it is there, and no cache of edges"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(folder.path().join("other"), &file).unwrap();
    open(&folder, BYTES_LEAST, 7).unwrap_err();
    assert!(!folder.path().join("other").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_ranges_in_any_order_are_those_of_the_files(
        slots in 1_u64..40,
        disks in 1_usize..4,
        ranges in prop::collection::vec((0..3_usize, any::<u64>(), any::<u64>()), 1..24),
    ) {
        let folders: Vec<TempDir> = (0..disks).map(|_| TempDir::new().unwrap()).collect();
        let bytes = (slots + 1) * SLOT;
        let place = |folder: &TempDir| (folder.path().to_owned(), bytes);
        let places: Vec<_> = folders.iter().map(place).collect();
        let cache = EdgeCache::open(Arc::new(Known::default()), &places, &of(7)).unwrap();
        for (file, begin, bytes) in ranges {
            let begin = begin % FILES[file].1;
            read(&cache, file, begin..begin + bytes % (FILES[file].1 - begin + 1));
        }
        prop_assert!(folders.iter().all(|folder| length(folder) <= bytes));
    }
}
