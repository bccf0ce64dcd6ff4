//! Damage: one flipped bit anywhere, files cut short, missing, too long or of another graph.

use std::fs;
use std::path::Path;

use bytemuck::bytes_of;
use welter_algorithms::Spmv;
use welter_algorithms::spmv::Vector;
use welter_engine::kept::{Checked, KeptGraph};
use welter_engine::plan::{Settings, StorageMode};
use welter_engine::{EngineError, run};
use welter_model::edges::EdgeStream;
use welter_model::ids::{IdMap, Names};
use welter_model::non_compact::NonCompact;
use welter_progress::{FailureKind, Progress};
use welter_store::frame::Compression;
use welter_store::io::{IoMode, IoOptions};
use welter_store::probe::{Probe, Rate};
use welter_testing::executors::{Folder, workers};

use crate::{Input, files, loaded};

const RATE: Rate =
    Rate { request_bytes: 1 << 16, depth: 1, bytes_per_second: 5e8, processor_share: 0.1 };

/// Quick to open, again and again.
fn io() -> IoOptions {
    IoOptions { mode: IoMode::Blocking, direct: false, ..IoOptions::default() }
}

pub(crate) fn check(directory: &Path) -> Result<Checked, EngineError> {
    KeptGraph::open(directory, &io())?.check(workers(1), &Progress::new())
}

/// Result of a program on a kept graph, read from files.
pub(crate) fn answer(directory: &Path) -> Result<Vec<u8>, EngineError> {
    let settings = Settings {
        threads: Some(1),
        storage: StorageMode::Always { cache_bytes: 0, values: false },
        ..Settings::default()
    };
    let kept = KeptGraph::open(directory, &io())?;
    let graph = loaded::<Spmv<f64>>(&kept, &settings)?;
    kept.ids()?;
    let program = Spmv::<f64>::new(Vector::Random { seed: 1 }, 1);
    let values = run(&graph, &program, workers(1), &Progress::new())?.values;
    Ok(values.whole()?.iter().flat_map(|value| bytes_of(value).to_vec()).collect())
}

/// Graphs that have, together, all kinds of files.
fn inputs() -> Vec<Input> {
    let holes = Input::random(9000, 400, true, 1);
    let mut sparse = Input { ids: IdMap::Sparse((0..70).map(|n| n * n).collect()), ..small(70) };
    sparse.settings.compression = Compression::Zstd.into();
    let names: Names = (100..170)
        .map(|n| format!("name{n}"))
        .collect::<Vec<_>>()
        .iter()
        .map(String::as_str)
        .collect();
    let form = NonCompact::new((0..69).map(|n| n * n).collect(), 0..1 << 33);
    let mut many = small(69);
    many.list.set_slots(70);
    let many = Input { ids: IdMap::NonCompact(form.unwrap()), ..many };
    vec![holes, sparse, many, Input { ids: IdMap::Names(names), ..small(70) }]
}

fn small(slots: u32) -> Input {
    let mut input = Input::random(slots, 400, false, 2);
    input.settings.threads = Some(1);
    input
}

/// Asserts that an error is damage and names the file.
pub(crate) fn names(error: &EngineError, name: &str, what: &str) {
    let text = error.to_string();
    let kind = error.kind();
    // A version that is not known is told as such.
    let versioned = kind == FailureKind::Input && text.contains("version");
    assert!(kind == FailureKind::Damaged || versioned, "{what}: {kind:?}, {text}");
    assert!(text.contains(name), "{what} does not name {name}: {text}");
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    for input in inputs() {
        let folder = Folder::new();
        let kept = input.kept(&folder);
        let expected = answer(&folder.graph()).unwrap();
        let rate = Rate { request_bytes: 1 << 19, depth: 4, bytes_per_second: 1e9, ..RATE };
        let probe =
            Probe { read: vec![rate, RATE], write: vec![RATE], direct: true, ..Probe::default() };
        kept.keep_rates(&probe).unwrap();
        assert_eq!(kept.rates().unwrap(), Some(probe));
        let edges = check(&folder.graph()).unwrap().edges;
        assert_eq!(edges, input.list.edges());
        for name in files(&kept).into_iter().chain(["rates".to_owned()]) {
            let path = folder.graph().join(&name);
            let whole = fs::read(&path).unwrap();
            // Every byte of small files, samples of larger ones.
            let step = (whole.len() / 700).max(1);
            for place in (0..whole.len()).step_by(step) {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << (place % 8);
                fs::write(&path, &bytes).unwrap();
                let what = format!("a bit of byte {place} of {name}");
                let error = check(&folder.graph()).expect_err(&what);
                names(&error, &name, &what);
                match answer(&folder.graph()) {
                    Ok(found) => assert!(found == expected, "{what}: a wrong answer"),
                    Err(error) => names(&error, &name, &what),
                }
            }
            fs::write(&path, &whole).unwrap();
        }
        assert!(check(&folder.graph()).is_ok());
    }
}

#[test]
fn files_that_are_cut_too_long_or_missing_are_found() {
    for input in inputs() {
        let folder = Folder::new();
        let kept = input.kept(&folder);
        for name in files(&kept) {
            let path = folder.graph().join(&name);
            let whole = fs::read(&path).unwrap();
            let mut lengths: Vec<usize> = vec![0, 1, 63, 64, 65, whole.len() / 2, whole.len() - 1];
            lengths.retain(|length| *length < whole.len());
            for length in lengths {
                fs::write(&path, &whole[..length]).unwrap();
                let what = format!("{name} cut to {length} bytes");
                names(&check(&folder.graph()).expect_err(&what), &name, &what);
                names(&answer(&folder.graph()).expect_err(&what), &name, &what);
            }
            let longer = [&whole[..], &[0; 4096]].concat();
            fs::write(&path, longer).unwrap();
            names(&check(&folder.graph()).unwrap_err(), &name, "a file that is too long");
            fs::remove_file(&path).unwrap();
            let error = check(&folder.graph()).unwrap_err();
            if name == "manifest" {
                assert_eq!(error.kind(), FailureKind::Missing, "{error}");
            } else {
                names(&error, &name, "a missing file");
            }
            fs::write(&path, &whole).unwrap();
        }
        assert!(check(&folder.graph()).is_ok());
    }
}

#[test]
fn files_of_another_graph_are_found() {
    let input = &inputs()[0];
    let (here, there) = (Folder::new(), Folder::new());
    let kept = input.kept(&here);
    input.kept(&there);
    for name in files(&kept).into_iter().filter(|name| name != "manifest") {
        let path = here.graph().join(&name);
        let own = fs::read(&path).unwrap();
        fs::copy(there.graph().join(&name), &path).unwrap();
        names(&check(&here.graph()).expect_err(&name), &name, "a file of another graph");
        names(&answer(&here.graph()).expect_err(&name), &name, "a file of another graph");
        fs::write(&path, own).unwrap();
    }
    // A file that does not belong there is reported, and is no damage.
    fs::write(here.graph().join("gen-0/notes.txt"), "mine").unwrap();
    assert_eq!(check(&here.graph()).unwrap().foreign, ["gen-0/notes.txt"]);
}
