//! Damage: one flipped bit anywhere, files that are missing or of another run; and graphs and
//! programs that are not those of the checkpoint.

use std::fs;
use std::path::Path;

use welter_algorithms::{Bfs, LabelPropagation, Sssp};
use welter_engine::{Checkpoints, EngineError};
use welter_model::program::Program;
use welter_testing::executors::Folder;
use welter_testing::graph::Graph;

use crate::{PLAIN, alone, begin, ladder, names, place, routes, stored};
use welter_progress::FailureKind;

fn graph() -> Graph {
    ladder(300, 5)
}

fn program() -> Bfs {
    Bfs::new(vec![7])
}

/// A directory in which a run left its last two checkpoints; also its answer.
fn left() -> (Folder, Vec<u8>) {
    let folder = Folder::new();
    let begun = begin(&place(&folder));
    let answer = alone().run_resumable(&graph(), PLAIN, &program(), Some(&begun)).unwrap();
    (folder, answer.bits())
}

/// The answer of a run that continues, and what it says.
fn go_on<P: Program>(
    directory: &Path,
    graph: &Graph,
    program: &P,
) -> Result<(Vec<u8>, Vec<String>), EngineError> {
    let opened = Checkpoints::open(directory, None)?;
    let answer = alone().run_resumable(graph, PLAIN, program, Some(&opened))?;
    Ok((answer.bits(), opened.notes()))
}

/// A copy of all files.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |name: String| (name.clone(), fs::read(directory.join(name)).unwrap());
    names(directory).into_iter().map(read).collect()
}

/// Names of the files of the checkpoints, the last one last.
fn states(directory: &Path) -> [String; 2] {
    let mut states = names(directory);
    states.retain(|name| name.starts_with("state-"));
    states.sort_by_key(|name| (name.len(), name.clone()));
    states.try_into().unwrap()
}

/// Puts all files back.
fn put_back(directory: &Path, files: &[(String, Vec<u8>)]) {
    for name in names(directory) {
        fs::remove_file(directory.join(name)).unwrap();
    }
    for (name, bytes) in files {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

/// The last file is damaged: the one before serves, which is said with its name.
fn falls_back(directory: &Path, name: &str, expected: &[u8], what: &str) {
    let (found, notes) = go_on(directory, &graph(), &program()).expect(what);
    assert!(found == expected, "{what}: a wrong answer");
    assert_eq!(notes.len(), 1, "{what}: {notes:?}");
    assert!(notes[0].contains(name) && notes[0].contains("the one before"), "{what}: {notes:?}");
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let (folder, expected) = left();
    let directory = place(&folder);
    let all = files(&directory);
    let [before, last] = states(&directory);
    for (name, whole) in &all {
        for place in (0..whole.len()).step_by((whole.len() / 200).max(1)) {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            put_back(&directory, &all);
            fs::write(directory.join(name), &bytes).unwrap();
            let what = format!("a bit of byte {place} of {name}");
            let versioned = |error: &EngineError| error.kind() == FailureKind::Input && place < 10;
            if *name == before {
                // It is not looked at while the last one is whole.
                let (found, notes) = go_on(&directory, &graph(), &program()).expect(&what);
                assert!(found == expected && notes.is_empty(), "{what}");
            } else if *name == last {
                falls_back(&directory, name, &expected, &what);
            } else {
                let error = go_on(&directory, &graph(), &program()).expect_err(&what);
                let text = error.to_string();
                assert!(
                    error.kind() == FailureKind::Damaged || versioned(&error),
                    "{what}: {text}"
                );
                assert!(text.contains("graph/checkpoint: "), "{what}: {text}");
            }
        }
    }
}

#[test]
fn both_damaged_is_an_error_that_names_the_last() {
    let (folder, expected) = left();
    let directory = place(&folder);
    let all = files(&directory);
    let mut states: Vec<_> = all.iter().filter(|(name, _)| name.starts_with("state-")).collect();
    states.sort_by_key(|(name, _)| (name.len(), name.clone()));
    let damage = |(name, bytes): &(String, Vec<u8>)| {
        let mut bytes = bytes.clone();
        bytes[100] ^= 1;
        fs::write(directory.join(name), bytes).unwrap();
    };
    for state in &states {
        damage(state);
    }
    let error = go_on(&directory, &graph(), &program()).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
    assert!(error.to_string().contains(&format!("{}: damaged", states[1].0)), "{error}");

    // Missing, cut short, or that of another iteration: as good as damaged.
    put_back(&directory, &all);
    let (name, bytes) = states[1];
    fs::remove_file(directory.join(name)).unwrap();
    falls_back(&directory, name, &expected, "missing");
    for odd in [&bytes[..bytes.len() - 1], &bytes[..80], &[], &states[0].1] {
        put_back(&directory, &all);
        fs::write(directory.join(name), odd).unwrap();
        falls_back(&directory, name, &expected, &format!("{} bytes", odd.len()));
    }
    put_back(&directory, &all);
    fs::remove_file(directory.join("checkpoint")).unwrap();
    let error = go_on(&directory, &graph(), &program()).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Missing, "{error}");
}

#[test]
fn every_route_falls_back() {
    let (folder, expected) = left();
    let directory = place(&folder);
    let all = files(&directory);
    let [_, last] = states(&directory);
    let whole = fs::read(directory.join(&last)).unwrap();
    for executor in [stored()].into_iter().chain(routes()) {
        // In the head, the values, the flags, the levels, and the totals.
        for place in [20, 900, whole.len() - 330, whole.len() - 100, whole.len() - 1] {
            put_back(&directory, &all);
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(directory.join(&last), bytes).unwrap();
            let opened = Checkpoints::open(&directory, None).unwrap();
            let found = executor.run_resumable(&graph(), PLAIN, &program(), Some(&opened)).unwrap();
            assert!(found.bits() == expected, "byte {place}, {executor:?}");
            assert_eq!(opened.notes().len(), 1, "byte {place}, {executor:?}");
        }
    }
}

#[test]
fn a_run_that_fell_back_writes_the_last_one_anew() {
    let (folder, _) = left();
    let directory = place(&folder);
    let before = names(&directory);
    let [_, last] = states(&directory);
    let mut bytes = fs::read(directory.join(&last)).unwrap();
    bytes[70] ^= 8;
    fs::write(directory.join(&last), bytes).unwrap();
    go_on(&directory, &graph(), &program()).unwrap();
    assert_eq!(names(&directory), before);
    assert_eq!(go_on(&directory, &graph(), &program()).unwrap().1, [""; 0]);
}

#[test]
fn another_graph_or_program_is_refused() {
    let (folder, _) = left();
    let directory = place(&folder);
    let refused = |error: EngineError, message: &str| {
        assert_eq!(error.kind(), FailureKind::Input, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    };
    let mut more = graph();
    more.pairs.push([1, 2]);
    more.weights.as_mut().unwrap().push(1.0);
    refused(go_on(&directory, &more, &program()).unwrap_err(), "900 edges then, 300 and 901 now");
    let mut turned = graph();
    turned.pairs[0].reverse();
    refused(go_on(&directory, &turned, &program()).unwrap_err(), "other edges");
    refused(
        go_on(&directory, &graph(), &Sssp::<f64>::new(vec![7], 1.0)).unwrap_err(),
        "another version of this program",
    );
    refused(go_on(&directory, &graph(), &LabelPropagation).unwrap_err(), "another version");
    go_on(&directory, &graph(), &program()).unwrap();
}
