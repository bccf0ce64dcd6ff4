//! The Nth call fails, for each N: an error with the right exit code, or the right answer.

use std::path::Path;
use std::sync::Arc;

use welter_store::StoreError;
use welter_store::io::{Call, Fault, Faults, IoOptions, Memory, Pages, Place, Queue, Volume};

use crate::{all_options, content, dirty, entries, filled, scratch_in, with_faults};
use welter_progress::FailureKind;

const BYTES: u32 = 150_000;
const PLACES: u64 = 6;
const EIO: Fault = Fault::Errno(5);
const ENOSPC: Fault = Fault::Errno(28);

/// Writes places to two files, syncs, opens them again, and counts the bits that differ then.
fn work(folder: &Path, options: &IoOptions) -> Result<u32, StoreError> {
    let paths = ["a", "b"].map(|name| folder.join(name));
    let volume = Arc::new(Volume::create(&paths, options)?);
    let mut queue: Queue<Pages> = Queue::new(options, 3)?;
    let places: Vec<Place> = (0..PLACES).map(|_| volume.reserve(BYTES)).collect();
    for (number, place) in places.iter().enumerate() {
        queue.write(&volume, *place, filled(*place, number as u64), 0)?;
    }
    while queue.wait()?.is_some() {}
    volume.sync()?;
    let volume = Arc::new(Volume::open(&paths, options)?);
    let mut queue: Queue<Pages> = Queue::reading(options, 3)?;
    for (number, place) in places.iter().enumerate() {
        queue.read(&volume, *place, dirty(*place), number as u64)?;
    }
    let mut different = 0;
    while let Some(done) = queue.wait()? {
        let expected = content(done.tag, BYTES as usize);
        let pairs = done.memory.bytes().iter().zip(&expected);
        different += pairs.map(|(found, expected)| (found ^ expected).count_ones()).sum::<u32>();
    }
    Ok(different)
}

/// Does the work with a fault in the Nth call, for each N, and hands over what came of each.
fn for_each_call(
    fault: Fault,
    options: &IoOptions,
    mut check: impl FnMut(Result<u32, StoreError>),
) {
    for nth in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let faults = Faults::nth(nth, fault);
        let came = work(folder.path(), &with_faults(options, &faults));
        if !faults.fired() {
            assert!(nth > PLACES, "the calls were counted");
            assert_eq!(came.unwrap(), 0);
            return;
        }
        check(came);
    }
}

#[test]
fn a_call_that_fails_is_an_error_of_the_device() {
    for options in all_options() {
        for fault in [EIO, ENOSPC] {
            for_each_call(fault, &options, |came| {
                let error = came.unwrap_err();
                let made = matches!(error, StoreError::Create { .. }) && fault == EIO;
                assert_eq!(
                    error.kind(),
                    if made { FailureKind::Output } else { FailureKind::Storage },
                    "{error}"
                );
            });
        }
    }
}

#[test]
fn calls_that_are_interrupted_or_do_less_are_continued() {
    for options in all_options() {
        for_each_call(Fault::Short, &options, |came| assert_eq!(came.unwrap(), 0));
        for errno in [4, 11] {
            // Only reads and writes are tried again; of those, all that remain are asked for.
            for call in [Call::Read, Call::Write] {
                for nth in 1..=PLACES {
                    let folder = tempfile::tempdir().unwrap();
                    let faults = Faults::nth_of(call, nth, Fault::Errno(errno));
                    assert_eq!(work(folder.path(), &with_faults(&options, &faults)).unwrap(), 0);
                    assert!(faults.fired());
                }
            }
        }
    }
}

#[test]
fn one_bit_is_another_one_and_no_more() {
    for options in all_options() {
        for bit in [0, 7, u64::from(BYTES) * 8 - 1, u64::MAX] {
            for_each_call(Fault::FlipBit(bit), &options, |came| assert_eq!(came.unwrap(), 1));
        }
    }
}

#[test]
fn a_full_disk_is_told_by_its_directory_and_the_others_go_on() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let faults = Faults::from(Call::Write, 3, ENOSPC);
        let options = with_faults(&options, &faults);
        let volume = scratch_in(folder.path(), &options);
        let mut queue = Queue::new(&options, 2).unwrap();
        for _ in 0..5 {
            let place = volume.reserve(BYTES);
            queue.write(&volume, place, filled(place, 0), 0).unwrap();
        }
        let (mut good, mut full) = (0, 0);
        while queue.in_flight() > 0 {
            match queue.wait() {
                Ok(done) => good += usize::from(done.is_some()),
                Err(error) => {
                    let StoreError::Full { directory } = &error else { panic!("{error}") };
                    assert_eq!(directory, folder.path());
                    full += 1;
                }
            }
        }
        assert_eq!((good, full), (2, 3));
        assert!(entries(folder.path()).is_empty());
    }
}

#[test]
fn nothing_is_trusted_after_a_failed_sync() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults::nth_of(Call::Sync, 1, EIO);
    let options = with_faults(&IoOptions::default(), &faults);
    let volume = scratch_in(folder.path(), &options);
    let place = volume.reserve(BYTES);
    volume.write_at_once(place, &mut filled(place, 1)).unwrap();
    assert_eq!(volume.sync().unwrap_err().kind(), FailureKind::Storage);
    let poisoned = |result| matches!(result, Err(StoreError::Poisoned { .. }));
    assert!(poisoned(volume.sync()), "a second sync would say that all is well");
    assert!(poisoned(volume.read_at_once(place, &mut dirty(place))));
    assert!(poisoned(volume.write_at_once(place, &mut dirty(place))));
    let mut queue = Queue::new(&options, 2).unwrap();
    assert!(poisoned(queue.read(&volume, place, dirty(place), 0)));
}

#[test]
fn what_is_read_where_a_write_failed_is_no_damage() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let faults = Faults::nth_of(Call::Write, 1, ENOSPC);
        let options = with_faults(&options, &faults);
        let volume = Arc::new(Volume::scratch(&[folder.path().to_owned()], &options).unwrap());
        let place = volume.reserve(BYTES);
        let mut queue: Queue<Pages> = Queue::new(&options, 1).unwrap();
        queue.write(&volume, place, filled(place, 1), 0).unwrap();
        let full = queue.wait().unwrap_err().to_string();
        let mut memory = dirty(place);
        let ended = volume.read_at_once(place, &mut memory).unwrap_err();
        for error in [ended, volume.damaged(place, "it is not what was written")] {
            assert_eq!((error.kind(), error.to_string()), (FailureKind::Storage, full.clone()));
        }
    }
}
