//! Golden files: what is written today, byte for byte.
//!
//! A change of any byte is a new version of the format. `WELTER_WRITE_GOLDEN=1` writes the files;
//! those of versions that are still read lie beside them.

use std::fs;
use std::path::PathBuf;

use welter_algorithms::Bfs;
use welter_engine::Checkpoints;
use welter_testing::executors::Folder;

use crate::{PLAIN, alone, begin, ladder, names, place};

#[test]
fn todays_writer_writes_the_golden_files() {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/checkpoint");
    let (graph, program, folder) = (ladder(30, 1), Bfs::new(vec![3]), Folder::new());
    let begun = begin(&place(&folder));
    let answer = alone().run_resumable(&graph, PLAIN, &program, Some(&begun)).unwrap();
    drop(begun);
    for name in names(&place(&folder)) {
        let (path, found) = (golden.join(&name), fs::read(place(&folder).join(&name)).unwrap());
        if std::env::var_os("WELTER_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(&golden).unwrap();
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(found == expected, "{} is not what is written today", path.display());
    }
    assert_eq!(names(&golden), names(&place(&folder)));
    // And today's reader continues from them, and from those of the version before.
    let before = golden.with_file_name("checkpoint-3");
    assert_ne!(
        fs::read(golden.join("state-8")).unwrap(),
        fs::read(before.join("state-8")).unwrap()
    );
    for golden in [golden, before] {
        let copy = Folder::new();
        fs::create_dir(place(&copy)).unwrap();
        for name in names(&golden) {
            fs::copy(golden.join(&name), place(&copy).join(&name)).unwrap();
        }
        let opened = Checkpoints::open(&place(&copy), None).unwrap();
        let found = alone().run_resumable(&graph, PLAIN, &program, Some(&opened)).unwrap();
        assert_eq!((found.bits(), found.iterations), (answer.bits(), answer.iterations));
        assert_eq!(found.totals, answer.totals);
        assert_eq!(opened.stats().resumed_at, Some(answer.iterations));
    }
}
