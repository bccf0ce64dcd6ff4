//! Damage and misuse are errors that name the file, and have the right exit code.

use std::fs::{self, OpenOptions};
use std::sync::Arc;

use welter_store::StoreError;
use welter_store::io::{IoOptions, Memory, Pages, Place, Queue, Volume};

use crate::{all_options, content, dirty, filled, scratch_in};
use welter_progress::FailureKind;

#[test]
fn a_file_that_was_cut_short_is_damage() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges");
        let paths = [path.clone()];
        let volume = Volume::create(&paths, &options).unwrap();
        let place = volume.reserve(100_000);
        volume.write_at_once(place, &mut filled(place, 1)).unwrap();
        drop(volume);
        for length in [0, 4096, 50_000, 99_999] {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
            let volume = Arc::new(Volume::open(&paths, &options).unwrap());
            let mut queue = Queue::new(&options, 2).unwrap();
            queue.read(&volume, place, dirty(place), 7).unwrap();
            let error = queue.wait().unwrap_err();
            assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
            assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
            let StoreError::Ended { offset: 0, need: 100_000, have, .. } = error else {
                panic!("{length}: {error}");
            };
            assert!(have <= length, "{have} of {length}");
            assert!(queue.wait().unwrap().is_none());
        }
    }
}

#[test]
fn a_file_that_ends_within_the_padding_is_whole() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let paths = [folder.path().join("edges")];
        fs::write(&paths[0], content(3, 10_000)).unwrap();
        let volume = Volume::open(&paths, &options).unwrap();
        let place = Place { file: 0, offset: 0, bytes: 10_000 };
        let mut memory = dirty(place);
        volume.read_at_once(place, &mut memory).unwrap();
        assert!(memory.bytes()[..10_000] == content(3, 10_000));
        let place = Place { bytes: 10_001, ..place };
        assert_eq!(
            volume.read_at_once(place, &mut memory).unwrap_err().kind(),
            FailureKind::Damaged
        );
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for options in all_options() {
        let volume = scratch_in(folder.path(), &options);
        let mut queue = Queue::new(&options, 2).unwrap();
        let good = volume.reserve(5000);
        let bad = [
            (Place { file: 1, ..good }, 8192),
            (Place { bytes: 0, ..good }, 8192),
            (Place { offset: 512, ..good }, 8192),
            (Place { offset: u64::MAX - 4095, ..good }, 8192),
            (Place { offset: 1 << 63, ..good }, 8192),
            (good, 4096),
        ];
        for (place, bytes) in bad {
            let memory = || Pages::zeroed(bytes).unwrap();
            let error = queue.write(&volume, place, memory(), 0).unwrap_err();
            assert!(matches!(error, StoreError::Request(_)), "{error}");
            assert!(queue.read(&volume, place, memory(), 0).is_err());
        }
        assert_eq!(queue.in_flight(), 0);
        assert!(queue.wait().unwrap().is_none());
    }
}

#[test]
fn a_queue_that_was_made_to_read_does_not_write() {
    let folder = tempfile::tempdir().unwrap();
    for options in all_options() {
        let volume = scratch_in(folder.path(), &options);
        let mut queue = Queue::reading(&options, 2).unwrap();
        let place = volume.reserve(5000);
        let error = queue.write(&volume, place, filled(place, 1), 0).unwrap_err();
        assert!(matches!(error, StoreError::Request(_)), "{error}");
        volume.write_at_once(place, &mut filled(place, 1)).unwrap();
        queue.read(&volume, place, dirty(place), 7).unwrap();
        let done = queue.wait().unwrap().unwrap();
        assert_eq!((done.tag, done.wrote), (7, false));
        assert!(done.memory.bytes()[..5000] == content(1, 5000));
    }
}

#[test]
fn files_are_not_overwritten_and_not_made_up() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let options = IoOptions::default();
    fs::write(&b, "kept").unwrap();
    let error = Volume::create(&[a.clone(), b.clone()], &options).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Output);
    assert!(!a.exists(), "what was made before is removed");
    assert_eq!(fs::read(&b).unwrap(), b"kept");
    assert_eq!(Volume::open(&[a], &options).unwrap_err().kind(), FailureKind::Missing);
    assert!(Volume::open(&[], &options).is_err());
    let nowhere = folder.path().join("nowhere");
    assert_eq!(Volume::scratch(&[nowhere], &options).unwrap_err().kind(), FailureKind::Output);
    let volume = Volume::open(&[b], &options).unwrap();
    let place = Place { file: 0, offset: 0, bytes: 4 };
    assert!(volume.write_at_once(place, &mut dirty(place)).is_err());
}
