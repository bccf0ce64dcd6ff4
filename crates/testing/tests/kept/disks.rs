//! Kept graphs over several disks: the same graph, all of which is found, and removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use welter_engine::EngineError;
use welter_engine::kept::{self, KeptGraph, is_kept};
use welter_model::ids::{IdMap, Names};
use welter_progress::{FailureKind, Progress};
use welter_store::io::{Call, Fault, Faults, IoMode, IoOptions};
use welter_testing::executors::{Folder, workers};

use crate::Input;
use crate::damage::{answer, check, names};

/// More calls than an ingest of the small graph makes.
const CALLS_MOST: u64 = 400;

/// Folders that stand for disks.
struct Disks(Vec<Folder>);

impl Disks {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| Folder::new()).collect())
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.0.iter().map(|folder| folder.graph().parent().unwrap().to_owned()).collect()
    }

    /// Files on the disks.
    fn files(&self) -> Vec<PathBuf> {
        let list = |folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        self.paths().into_iter().flat_map(list).collect()
    }
}

fn input(slots: u32, edges: usize, seed: u64) -> Input {
    let mut input = Input::random(slots, edges, true, seed);
    input.settings.threads = Some(1);
    input
}

fn small() -> Input {
    input(9000, 800, 6)
}

/// The input, to be kept with a part of each column on each disk.
fn parted(input: Input) -> Input {
    Input { parts_from: Some(1), ..input }
}

/// Graphs that have, together, all columns, the larger ones of several blocks.
fn with_columns() -> [Input; 3] {
    let slots: u32 = 6 << 17;
    let ids = (0..u64::from(slots)).map(|slot| slot * 3).collect();
    let text: Vec<String> = (0..slots).map(|slot| format!("vertex {slot:06}")).collect();
    let text: Names = text.iter().map(String::as_str).collect();
    [
        Input { ids: IdMap::Sparse(ids), ..input(slots, 4000, 9) },
        Input { ids: IdMap::Names(text), ..input(slots, 4000, 10) },
        small(),
    ]
}

/// Payload of a sealed file, as `docs/format.md` draws it.
fn payload(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).unwrap();
    let blocks = bytes[64..].chunks((1 << 20) + 4);
    blocks.flat_map(|block| &block[..block.len() - 4]).copied().collect()
}

/// Payload of a column over three files, a block of each by turns.
fn payload_of(files: &[PathBuf; 3]) -> Vec<u8> {
    let payloads = files.each_ref().map(|file| payload(file));
    let blocks = payloads.each_ref().map(|payload| payload.chunks(1 << 20).collect::<Vec<_>>());
    let turns = blocks.iter().map(Vec::len).max().unwrap();
    let mut all = Vec::new();
    for turn in 0..turns {
        for block in blocks.iter().filter_map(|blocks| blocks.get(turn)) {
            all.extend_from_slice(block);
        }
    }
    all
}

#[test]
fn columns_over_several_disks_are_those_of_one() {
    for input in with_columns() {
        let (one, several) = (Folder::new(), Folder::new());
        let (some, others) = (Disks::new(2), Disks::new(2));
        let io = IoOptions::default();
        let plain = input.keep_on(one.graph(), some.paths(), &io, Some(7)).unwrap();
        let input = parted(input);
        let listed = input.keep_on(several.graph(), others.paths(), &io, Some(7)).unwrap();
        let [here, there] = [&one, &several].map(|folder| folder.graph().join("gen-0"));
        let columns = plain.files.iter().filter(|file| !file.name.starts_with("edges-"));
        let mut parts = 0_usize;
        for name in columns.map(|file| &file.name) {
            let names = [name.clone(), format!("{name}-1"), format!("{name}-2")];
            let lists = |name: &String| listed.files.iter().any(|file| file.name == *name);
            assert!(names.iter().all(lists), "{names:?}");
            assert!(fs::symlink_metadata(there.join(&names[2])).unwrap().is_symlink());
            let files = names.map(|name| there.join(name));
            assert!(payload_of(&files) == payload(&here.join(name)), "{name}");
            parts += 2;
        }
        assert_eq!(others.files().len(), 2 + parts);
        assert_eq!(listed.files.len(), plain.files.len() + parts);
        // Only a graph with such columns is refused by earlier readers.
        let versions = [&one, &several].map(|it| fs::read(it.graph().join("manifest")).unwrap()[8]);
        assert_eq!(versions, [1, 2]);
        let [plain, found] = [&one, &several].map(|folder| check(&folder.graph()).unwrap());
        assert_eq!((found.edges, found.files), (plain.edges, plain.files + parts as u64));
        assert_eq!(found.foreign, [""; 0]);
        assert!(answer(&one.graph()).unwrap() == answer(&several.graph()).unwrap());
        let kept = KeptGraph::open(&several.graph(), &io).unwrap();
        assert!(kept.ids().unwrap() == input.ids);
        kept::remove(&several.graph()).unwrap();
        assert!(others.files().is_empty() && !several.graph().exists());
        assert!(check(&one.graph()).is_ok());
    }
}

/// A graph with columns of several blocks on two other disks.
fn spread_columns() -> (Folder, Disks) {
    let (folder, disks) = (Folder::new(), Disks::new(2));
    let [input, ..] = with_columns();
    let io = IoOptions::default();
    parted(input).keep_on(folder.graph(), disks.paths(), &io, None).unwrap();
    (folder, disks)
}

#[test]
fn damage_in_a_part_of_a_column_names_the_part() {
    let (folder, disks) = spread_columns();
    let expected = answer(&folder.graph()).unwrap();
    let is_part = |part: &PathBuf| !part.to_str().unwrap().contains(".edges-");
    let parts: Vec<PathBuf> = disks.files().into_iter().filter(is_part).collect();
    assert_eq!(parts.len(), 8);
    for part in &parts {
        let (name, whole) = (part.to_str().unwrap(), fs::read(part).unwrap());
        let named = |what: &str| names(&check(&folder.graph()).expect_err(what), name, what);
        for place in [20, whole.len() / 2, whole.len() - 1] {
            let mut flipped = whole.clone();
            flipped[place] ^= 4;
            fs::write(part, &flipped).unwrap();
            named("a flipped bit");
        }
        fs::write(part, &whole[..whole.len() - 1]).unwrap();
        named("a part cut short");
        fs::write(part, [&whole[..], &[0; 4]].concat()).unwrap();
        named("a part that is too long");
        fs::remove_file(part).unwrap();
        named("a missing part");
        let text = answer(&folder.graph()).unwrap_err().to_string();
        assert!(text.contains(name) && text.contains("gen-0 leads to it"), "{text}");
        fs::write(part, &whole).unwrap();
    }
    // Parts in each other's place, of which each is whole.
    for column in [".ids-", ".degrees-"] {
        let both: Vec<&PathBuf> =
            parts.iter().filter(|part| part.to_str().unwrap().contains(column)).collect();
        let [one, other] = [both[0], both[1]].map(|part| fs::read(part).unwrap());
        assert!(one.len() == other.len() && one.len() > 1 << 20);
        fs::write(both[0], &other).unwrap();
        fs::write(both[1], &one).unwrap();
        names(&check(&folder.graph()).unwrap_err(), column, "parts in each other's place");
        names(&answer(&folder.graph()).unwrap_err(), column, "parts in each other's place");
        fs::write(both[0], &one).unwrap();
        fs::write(both[1], &other).unwrap();
    }
    assert!(answer(&folder.graph()).unwrap() == expected);
}

#[test]
fn parts_of_columns_may_lie_beside_each_other() {
    let (folder, disks) = spread_columns();
    let expected = answer(&folder.graph()).unwrap();
    let entries = fs::read_dir(folder.graph().join("gen-0")).unwrap();
    let links = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_symlink());
    for link in links.collect::<Vec<_>>() {
        let bytes = fs::read(&link).unwrap();
        fs::remove_file(&link).unwrap();
        fs::write(&link, bytes).unwrap();
    }
    for part in disks.files() {
        fs::remove_file(part).unwrap();
    }
    assert_eq!(check(&folder.graph()).unwrap().foreign, [""; 0]);
    assert!(answer(&folder.graph()).unwrap() == expected);
    kept::remove(&folder.graph()).unwrap();
    assert!(!folder.graph().exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_number_of_disks_gives_the_same_graph(
        disks in 0..6_usize,
        slots in 1..20_000_u32,
        edges in 0..60_000_usize,
        seed in any::<u64>(),
    ) {
        let input = input(slots, edges, seed);
        let (one, several, disks) = (Folder::new(), Folder::new(), Disks::new(disks));
        let io = IoOptions::default();
        let plain = input.keep(one.graph(), &io, Some(7)).unwrap();
        let spread = input.keep_on(several.graph(), disks.paths(), &io, Some(7)).unwrap();
        prop_assert_eq!(spread.bytes(), plain.bytes());
        prop_assert_eq!(disks.files().len(), disks.0.len());
        let [here, there] = [one.graph(), several.graph()].map(|path| check(&path).unwrap());
        let listed = 64 * disks.0.len() as u64;
        prop_assert_eq!((here.edges, here.bytes), (there.edges, there.bytes - listed));
        prop_assert_eq!(&there.foreign, &[""; 0]);
        prop_assert!(answer(&one.graph()).unwrap() == answer(&several.graph()).unwrap());
        kept::remove(&several.graph()).unwrap();
        prop_assert!(disks.files().is_empty() && !several.graph().exists());
        let left = KeptGraph::open(&one.graph(), &io).unwrap();
        prop_assert_eq!(left.manifest(), &plain);
    }
}

/// A graph with extents on each of two other disks.
fn spread() -> (Folder, Disks) {
    let (folder, disks) = (Folder::new(), Disks::new(2));
    let input = input(60_000, 400_000, 3);
    input.keep_on(folder.graph(), disks.paths(), &IoOptions::default(), None).unwrap();
    (folder, disks)
}

#[test]
fn damage_on_any_disk_is_found_and_names_the_part() {
    let (folder, disks) = spread();
    let parts = disks.files();
    for part in &parts {
        let (name, whole) = (part.to_str().unwrap(), fs::read(part).unwrap());
        assert!(whole.len() > 1 << 19, "{name} has {} bytes", whole.len());
        let named = |what: &str| {
            names(&check(&folder.graph()).expect_err(what), name, what);
            names(&answer(&folder.graph()).expect_err(what), name, what);
        };
        let mut flipped = whole.clone();
        flipped[whole.len() / 3] ^= 16;
        fs::write(part, &flipped).unwrap();
        named("a flipped bit");
        fs::write(part, &whole[..whole.len() - 4096]).unwrap();
        named("a part cut short");
        fs::write(part, [&whole[..], &[0; 4096]].concat()).unwrap();
        named("a part that is too long");
        fs::remove_file(part).unwrap();
        named("a missing part");
        let text = check(&folder.graph()).unwrap_err().to_string();
        assert!(text.contains("it is missing") && text.contains("gen-0 leads to it"), "{text}");
        fs::write(part, &whole).unwrap();
    }
    // Parts in each other's place, and of another graph.
    let [one, other] = [&parts[0], &parts[1]].map(|part| fs::read(part).unwrap());
    let least = one.len().min(other.len());
    if one.len() == other.len() {
        fs::write(&parts[0], &other[..least]).unwrap();
        names(&check(&folder.graph()).unwrap_err(), parts[0].to_str().unwrap(), "another part");
        fs::write(&parts[0], &one).unwrap();
    }
    let (_others, more) = spread();
    fs::copy(&more.files()[0], &parts[0]).unwrap();
    names(&check(&folder.graph()).unwrap_err(), parts[0].to_str().unwrap(), "of another graph");
    fs::write(&parts[0], &one).unwrap();
    assert!(check(&folder.graph()).is_ok());
}

#[test]
fn a_part_that_was_moved_is_found_where_its_link_leads() {
    let (folder, disks) = spread();
    let moved = Folder::new();
    let part = &disks.files()[0];
    let link = folder.graph().join("gen-0/edges-1");
    let to = moved.graph().with_file_name(part.file_name().unwrap());
    fs::rename(part, &to).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&to, &link).unwrap();
    assert!(check(&folder.graph()).is_ok());
    // In the place of links there may be files: a copy that follows links is the graph.
    for name in ["edges-1", "edges-2"] {
        let link = folder.graph().join("gen-0").join(name);
        let bytes = fs::read(&link).unwrap();
        fs::remove_file(&link).unwrap();
        fs::write(&link, bytes).unwrap();
    }
    fs::remove_file(&to).unwrap();
    for part in disks.files() {
        fs::remove_file(part).unwrap();
    }
    assert_eq!(check(&folder.graph()).unwrap().foreign, [""; 0]);
}

fn io(faults: std::sync::Arc<Faults>) -> IoOptions {
    let mode = IoMode::Blocking;
    IoOptions { mode, direct: false, faults: Some(faults), ..IoOptions::default() }
}

fn whole(directory: &Path) -> bool {
    let kept = KeptGraph::open(directory, &IoOptions::default()).unwrap();
    kept.check(workers(1), &Progress::new()).is_ok()
}

#[test]
fn a_call_that_fails_leaves_nothing_on_any_disk() {
    for (only, number) in [(None, 5), (Some(Call::Write), 28)] {
        let mut fired = 0;
        for nth in 1..CALLS_MOST {
            let (folder, disks) = (Folder::new(), Disks::new(2));
            let fault = Fault::Errno(number);
            let faults = match only {
                None => Faults::nth(nth, fault),
                Some(call) => Faults::nth_of(call, nth, fault),
            };
            let (input, io) = (parted(small()), io(faults.clone()));
            let done = input.keep_on(folder.graph(), disks.paths(), &io, None);
            if !faults.fired() {
                assert!(done.is_ok(), "{nth} calls: {done:?}");
                break;
            }
            fired = nth;
            let error: EngineError = done.expect_err("a call failed");
            let kinds = [FailureKind::Output, FailureKind::Storage];
            assert!(kinds.contains(&error.kind()), "call {nth}: {error}");
            if is_kept(&folder.graph()) {
                // The very last sync comes after the name.
                assert!(whole(&folder.graph()), "call {nth}");
            } else {
                assert!(disks.files().is_empty(), "call {nth}: {:?}", disks.files());
            }
        }
        assert!(fired > 5 && fired + 1 < CALLS_MOST, "{fired} calls failed");
    }
}

/// Set in a process that shall be killed at this call, in a folder, with these disks.
const KILLED: [&str; 3] = ["WELTER_TEST_KILLED_AT", "WELTER_TEST_GRAPH", "WELTER_TEST_DISKS"];

#[test]
fn a_kill_leaves_nothing_on_any_disk_once_the_next_ingest_has_cleared_it() {
    if let [Ok(nth), Ok(graph), Ok(disks)] = KILLED.map(std::env::var) {
        let faults = Faults::nth(nth.parse().unwrap(), Fault::Kill);
        let disks = disks.split(':').map(PathBuf::from).collect();
        parted(small()).keep_on(graph.into(), disks, &io(faults), None).unwrap();
        return;
    }
    let mut left = 0;
    for nth in 1..CALLS_MOST {
        let (folder, disks) = (Folder::new(), Disks::new(2));
        let mut child = Command::new(std::env::current_exe().unwrap());
        let name = "a_kill_leaves_nothing_on_any_disk_once_the_next_ingest_has_cleared_it";
        child.args(["--exact", &format!("disks::{name}")]);
        let paths: Vec<String> =
            disks.paths().iter().map(|disk| disk.to_str().unwrap().to_owned()).collect();
        child.env(KILLED[0], nth.to_string()).env(KILLED[1], folder.graph());
        child.env(KILLED[2], paths.join(":"));
        let ended = child.output().unwrap();
        if ended.status.success() {
            assert!(left > 5 && whole(&folder.graph()), "killed at call {nth}, {left} with parts");
            return;
        }
        left += u64::from(!disks.files().is_empty());
        if is_kept(&folder.graph()) {
            assert!(whole(&folder.graph()), "killed at call {nth}");
            continue;
        }
        // In one directory, so that what is left of the others is seen.
        small().keep(folder.graph(), &IoOptions::default(), None).unwrap();
        assert!(disks.files().is_empty(), "killed at call {nth}: {:?}", disks.files());
    }
    panic!("an ingest makes more than {CALLS_MOST} calls");
}

#[test]
fn a_graph_is_removed_from_all_disks_and_nothing_else_is() {
    let (folder, disks) = (Folder::new(), Disks::new(2));
    let (input, io) = (parted(small()), IoOptions::default());
    let keep = || input.keep_on(folder.graph(), disks.paths(), &io, None);
    keep().unwrap();
    let mine = folder.graph().join("gen-0/notes.txt");
    fs::write(&mine, "mine").unwrap();
    let refused = kept::remove(&folder.graph()).unwrap_err();
    assert!(refused.to_string().contains("not all in it is of a kept graph"), "{refused}");
    assert!(whole(&folder.graph()));
    fs::remove_file(mine).unwrap();
    let mine = disks.paths()[0].join("mine");
    fs::write(&mine, "mine").unwrap();
    kept::remove(&folder.graph()).unwrap();
    assert_eq!(disks.files(), [mine.as_path()]);
    assert!(!folder.graph().exists());
    let gone = kept::remove(&folder.graph()).unwrap_err();
    assert_eq!(gone.kind(), FailureKind::Missing, "{gone}");
    // A removal that was cut short is done by the next.
    keep().unwrap();
    fs::remove_file(folder.graph().join("manifest")).unwrap();
    fs::remove_file(folder.graph().join("gen-0/chunks")).unwrap();
    kept::remove(&folder.graph()).unwrap();
    assert_eq!(disks.files(), [mine.as_path()]);
}

#[test]
fn what_a_link_leads_to_is_removed_if_it_is_ours_alone() {
    let (folder, disks) = (Folder::new(), Disks::new(1));
    small().keep_on(folder.graph(), disks.paths(), &IoOptions::default(), None).unwrap();
    let mine = disks.paths()[0].join("letters.txt");
    fs::write(&mine, "mine").unwrap();
    let link = folder.graph().join("gen-0/edges-1");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&mine, &link).unwrap();
    assert!(kept::remove(&folder.graph()).is_err());
    assert_eq!(fs::read(&mine).unwrap(), b"mine");
}

#[test]
fn a_disk_that_has_the_file_already_or_is_none_is_refused() {
    let (folder, disks) = (Folder::new(), Disks::new(1));
    let keep = |folder: &Folder, disks| {
        small().keep_on(folder.graph(), disks, &IoOptions::default(), Some(1))
    };
    keep(&folder, disks.paths()).unwrap();
    let before = disks.files();
    assert!(before[0].ends_with("graph-0000000000000001.edges-1"), "{before:?}");
    let other = Folder::new();
    let refused = keep(&other, disks.paths()).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Output, "{refused}");
    assert_eq!(disks.files(), before);
    assert!(whole(&folder.graph()));
    let refused = keep(&other, vec![other.graph().join("nowhere")]).unwrap_err();
    assert_eq!(refused.kind(), FailureKind::Output, "{refused}");
    assert!(!other.graph().exists());
}
