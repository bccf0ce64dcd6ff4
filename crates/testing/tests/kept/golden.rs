//! Golden files: what today's builder writes, byte for byte.
//!
//! A change of any byte is a new version of the format, unless what it says was true before as
//! well: then what was written earlier stays here, to be read. `WELTER_WRITE_GOLDEN=1` writes the
//! files.

use std::fs;
use std::path::PathBuf;

use welter_engine::kept::KeptGraph;
use welter_model::edges::Reading;
use welter_model::ids::{IdMap, Names};
use welter_model::non_compact::NonCompact;
use welter_progress::Progress;
use welter_store::io::IoOptions;
use welter_testing::executors::{Folder, workers};

use crate::{Input, files};

/// Graphs with all kinds of ids between them, on which one worker writes the same bytes each time.
fn inputs() -> Vec<(&'static str, Input)> {
    let input = |slots, edges, weighted, seed| {
        let mut input = Input::random(slots, edges, weighted, seed);
        input.settings.threads = Some(1);
        input.settings.stripe_bits = Some(12);
        input.settings.block_bits = Some(8);
        input
    };
    let names: Names = ["", "a", "ab", "libc6", "zoë"].into_iter().collect();
    let mut many = input(4, 16, false, 15);
    many.list.set_slots(5);
    let form = NonCompact::new(vec![12, 13, 1 << 33, (1 << 40) + 11], 12..(1 << 40) + 12);
    let both = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    vec![
        ("weighted", input(5000, 64, true, 11)),
        (
            "integers",
            Input { ids: IdMap::Sparse(vec![2, 3, 5, 7, 1 << 60]), ..input(5, 16, false, 12) },
        ),
        ("names", Input { ids: IdMap::Names(names), reading: both, ..input(5, 16, false, 13) }),
        ("non-compact", Input { ids: IdMap::NonCompact(form.unwrap()), ..many }),
        ("offset", Input { ids: IdMap::Offset(1), ..input(9, 8, false, 14) }),
    ]
}

/// Bytes of a graph over several disks, as a copy has them that follows links.
#[test]
fn todays_builder_spreads_the_golden_chunks() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/disks");
    let (folder, disk, io) = (Folder::new(), Folder::new(), IoOptions::default());
    let mut input = Input::random(9000, 96, true, 16);
    input.settings.threads = Some(1);
    input.settings.stripe_bits = Some(12);
    input.settings.block_bits = Some(8);
    let disks = vec![disk.graph().parent().unwrap().to_owned()];
    input.keep_on(folder.graph(), disks, &io, Some(0x6b65_7074_2067_7261)).unwrap();
    let part = disk.graph().with_file_name("graph-6b65707420677261.edges-1");
    assert_eq!(fs::read_link(folder.graph().join("gen-0/edges-1")).unwrap(), part);
    assert!(!fs::read(&part).unwrap().is_empty());
    for file in files(&KeptGraph::open(&folder.graph(), &io).unwrap()) {
        let found = fs::read(folder.graph().join(&file)).unwrap();
        if std::env::var_os("WELTER_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(golden.join("gen-0")).unwrap();
            fs::write(golden.join(&file), &found).unwrap();
        }
        assert!(found == fs::read(golden.join(&file)).unwrap(), "{file} is not what is written");
    }
    let kept = KeptGraph::open(&golden, &io).unwrap();
    assert_eq!(kept.check(workers(1), &Progress::new()).unwrap().foreign, [""; 0]);
}

#[test]
fn todays_builder_writes_the_golden_files() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (name, input) in inputs() {
        let folder = Folder::new();
        let graph = Some(0x6b65_7074_2067_7261);
        input.keep(folder.graph(), &IoOptions::default(), graph).unwrap();
        let kept = KeptGraph::open(&folder.graph(), &IoOptions::default()).unwrap();
        for file in files(&kept) {
            let path = golden.join(name).join(&file);
            let found = fs::read(folder.graph().join(&file)).unwrap();
            if std::env::var_os("WELTER_WRITE_GOLDEN").is_some() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &found).unwrap();
            }
            let expected = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            assert!(found == expected, "{} is not what is written today", path.display());
        }
        // And today's reader reads them.
        let kept = KeptGraph::open(&golden.join(name), &IoOptions::default()).unwrap();
        assert_eq!(kept.check(workers(1), &Progress::new()).unwrap().foreign, [""; 0]);
        assert_eq!(kept.ids().unwrap(), input.ids);
    }
}

/// Directories once said that a chunk's sources may continue as far as its keys could name them.
#[test]
fn graphs_that_say_less_of_their_sources_are_read() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let [today, once] = ["weighted", "weighted-wide"].map(|name| {
        let kept = KeptGraph::open(&golden.join(name), &IoOptions::default()).unwrap();
        kept.check(workers(1), &Progress::new()).unwrap();
        fs::read(golden.join(name).join("manifest")).unwrap()
    });
    assert!(today != once && today.len() == once.len());
}
