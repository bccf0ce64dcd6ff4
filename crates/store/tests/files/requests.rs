//! Requests of other sizes than the places that they move.

use std::sync::Arc;

use proptest::prelude::*;
use welter_store::StoreError;
use welter_store::io::{
    Call, Fault, Faults, IoOptions, Memory, Pages, Place, Queue, Requests, Volume,
};

use crate::round_trip::{run, steps};
use crate::{all_options, content, dirty, filled, scratch_in, with_faults};

/// Options with requests of at most `bytes` bytes.
fn small(options: &IoOptions, bytes: u32, in_flight: Option<u32>) -> IoOptions {
    let (read_bytes, write_bytes) = (Some(bytes), Some(2 * bytes));
    let requests = Requests { read_bytes, write_bytes, in_flight, cached: false };
    IoOptions { requests, ..options.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn what_was_written_in_parts_is_read_in_parts(
        steps in steps(),
        bytes in (12..21_u32).prop_map(|bits| 1 << bits),
        in_flight in prop::option::of(1..20_u32),
    ) {
        for options in all_options() {
            run(&small(&options, bytes, in_flight), &steps, 2, 3);
        }
    }
}

/// Options with requests of up to `bytes` bytes, of which two are in flight.
fn large(options: &IoOptions, bytes: u32) -> IoOptions {
    let (read_bytes, write_bytes) = (Some(bytes), Some(bytes));
    let requests = Requests { read_bytes, write_bytes, ..Requests::default() };
    IoOptions { requests, ..options.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn what_was_written_together_is_read_together(
        steps in steps(),
        bytes in (13..27_u32).prop_map(|bits| 1 << bits),
        in_flight in prop::option::of(1..5_u32),
        folders in 1..3_usize,
    ) {
        for options in all_options() {
            let options = large(&options, bytes);
            let requests = Requests { in_flight, ..options.requests };
            run(&IoOptions { requests, ..options }, &steps, folders, 12);
        }
    }
}

/// Eight neighbours of 5,000 bytes, and one more behind a gap.
fn neighbours(volume: &Arc<Volume>) -> Vec<Place> {
    let mut room = volume.reserve(20 * 8192);
    let mut places = Vec::new();
    for number in 0..9 {
        room.offset += if number == 8 { 4096 } else { 0 };
        places.push(Place { bytes: 5000, ..room });
        room.offset += 8192;
    }
    places
}

/// All of them, read or written by one queue, and how each ended.
fn moved(
    options: &IoOptions,
    volume: &Arc<Volume>,
    places: &[Place],
    to_write: bool,
) -> Vec<Result<u64, StoreError>> {
    let mut queue = Queue::new(options, 16).unwrap();
    for (number, place) in places.iter().enumerate() {
        let tag = number as u64;
        if to_write {
            queue.write(volume, *place, filled(*place, tag), tag).unwrap();
        } else {
            queue.read(volume, *place, dirty(*place), tag).unwrap();
        }
    }
    assert_eq!(queue.in_flight(), places.len());
    let mut ends = Vec::new();
    while queue.in_flight() > 0 {
        ends.push(queue.wait().map(|done| {
            let done = done.unwrap();
            assert_eq!((done.place, done.wrote), (places[done.tag as usize], to_write));
            let bytes = &done.memory.bytes()[..done.place.bytes as usize];
            assert!(bytes == content(done.tag, bytes.len()), "{} of {options:?}", done.tag);
            done.tag
        }));
    }
    assert!(queue.wait().unwrap().is_none());
    ends
}

#[test]
fn neighbours_are_one_request() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        // Eight places fill one; what is behind the gap is another.
        let options = large(&options, 8 * 8192);
        let volume = scratch_in(folder.path(), &options);
        let places = neighbours(&volume);
        for to_write in [true, false] {
            let ends = moved(&options, &volume, &places, to_write);
            let mut tags: Vec<u64> = ends.into_iter().map(Result::unwrap).collect();
            tags.sort_unstable();
            assert!(tags.iter().copied().eq(0..9), "{tags:?}");
        }
        let stats = volume.stats();
        assert_eq!((stats.writes, stats.reads), (2, 2), "{options:?}");
        assert_eq!((stats.bytes_written, stats.bytes_read), (9 * 8192, 9 * 8192));
        // Places that are wanted in another order are no neighbours of those before.
        let backwards: Vec<Place> = places[..4].iter().rev().copied().collect();
        let mut queue = Queue::reading(&options, 16).unwrap();
        for place in &backwards {
            queue.read(&volume, *place, dirty(*place), 0).unwrap();
        }
        while queue.wait().unwrap().is_some() {}
        assert_eq!(volume.stats().reads, 2 + 4);
    }
}

#[test]
fn a_caller_that_looks_for_what_has_ended_is_not_left_waiting() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let options = large(&options, 1 << 20);
        let volume = scratch_in(folder.path(), &options);
        let places = neighbours(&volume);
        moved(&options, &volume, &places, true);
        let mut queue = Queue::reading(&options, 16).unwrap();
        queue.read(&volume, places[0], dirty(places[0]), 3).unwrap();
        let done = loop {
            if let Some(done) = queue.try_wait().unwrap() {
                break done;
            }
            std::thread::yield_now();
        };
        assert_eq!((done.tag, queue.in_flight()), (3, 0));
    }
}

#[test]
fn each_of_neighbours_fails_where_their_request_does() {
    for options in all_options() {
        for (call, to_write) in [(Call::Write, true), (Call::Read, false)] {
            let folder = tempfile::tempdir().unwrap();
            let faults = Faults::nth_of(call, 1, Fault::Errno(5));
            let options = with_faults(&large(&options, 8 * 8192), &faults);
            let path = folder.path().join("edges");
            let volume = Arc::new(Volume::create(&[path], &options).unwrap());
            let places = &neighbours(&volume)[..8];
            if !to_write {
                moved(&options, &volume, places, true);
            }
            let ends = moved(&options, &volume, places, to_write);
            let failed: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err()).collect();
            assert_eq!(failed.len(), places.len(), "{options:?}: {failed:?}");
            for error in failed {
                let message = error.to_string();
                assert!(message.contains("edges") && message.contains("Input/output"), "{message}");
            }
        }
    }
}

#[test]
fn neighbours_are_continued_where_a_call_did_less() {
    for options in all_options() {
        for nth in 1..5 {
            let folder = tempfile::tempdir().unwrap();
            let options = large(&options, 8 * 8192);
            for call in [Call::Read, Call::Write] {
                let options = with_faults(&options, &Faults::from(call, nth, Fault::Short));
                let volume = scratch_in(folder.path(), &options);
                let places = neighbours(&volume);
                for to_write in [true, false] {
                    let ends = moved(&options, &volume, &places, to_write);
                    assert!(ends.iter().all(Result::is_ok), "{nth} of {options:?}: {ends:?}");
                }
            }
        }
    }
}

/// A bit of any of the neighbours, and the end of their file before the last.
#[test]
fn damage_among_neighbours_is_found() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let options = large(&options, 8 * 8192);
        let path = folder.path().join("edges");
        let volume = Volume::create(std::slice::from_ref(&path), &options);
        let volume = Arc::new(volume.unwrap());
        let places = &neighbours(&volume)[..8];
        moved(&options, &volume, places, true);
        for (bit, place) in [(0, 0), (8 * 8192 * 5 + 77, 5), (8 * (7 * 8192 + 4999) + 7, 7)] {
            let faults = Faults::nth_of(Call::Read, 1, Fault::FlipBit(bit));
            let bad = with_faults(&options, &faults);
            let flipped = Volume::open(std::slice::from_ref(&path), &bad);
            let flipped = Arc::new(flipped.unwrap());
            let mut queue = Queue::reading(&bad, 16).unwrap();
            for (number, place) in places.iter().enumerate() {
                queue.read(&flipped, *place, dirty(*place), number as u64).unwrap();
            }
            let mut other = Vec::new();
            while let Some(done) = queue.wait().unwrap() {
                if done.memory.bytes()[..5000] != content(done.tag, 5000) {
                    other.push(done.tag);
                }
            }
            assert_eq!(other, [place], "bit {bit} of {options:?}");
        }
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(7 * 8192 + 4096).unwrap();
        let ends = moved(&options, &volume, places, false);
        let is_ended = |end: &Result<u64, StoreError>| matches!(end, Err(StoreError::Ended { .. }));
        assert!(ends.len() == 8 && ends.iter().all(is_ended), "{options:?}: {ends:?}");
    }
}

#[test]
fn no_request_is_larger_than_the_settings_say() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let options = small(&options, 8192, None);
        let volume = scratch_in(folder.path(), &options);
        let mut queue = Queue::new(&options, 2).unwrap();
        let place = volume.reserve(100_000);
        queue.write(&volume, place, filled(place, 1), 0).unwrap();
        assert_eq!(queue.in_flight(), 1, "a place, of any number of requests");
        queue.wait().unwrap().unwrap();
        let mut memory = dirty(place);
        volume.read_at_once(place, &mut memory).unwrap();
        queue.read(&volume, place, memory, 7).unwrap();
        let done = queue.wait().unwrap().unwrap();
        assert_eq!((done.tag, done.place, queue.in_flight()), (7, place, 0));
        assert!(done.memory.bytes()[..100_000] == content(1, 100_000));
        let stats = volume.stats();
        assert_eq!((stats.writes, stats.reads), (100_000_u64.div_ceil(16_384), 2 * 13));
        assert_eq!(stats.bytes_written, place.rounded_bytes() as u64);
        assert_eq!(stats.bytes_read, 2 * place.rounded_bytes() as u64);
    }
}

#[test]
fn parts_of_a_place_are_moved_side_by_side() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let options = small(&options, 4096, Some(16));
        let volume = scratch_in(folder.path(), &options);
        let mut queue = Queue::new(&options, 1).unwrap();
        let places: Vec<Place> = (0..4).map(|_| volume.reserve(300_001)).collect();
        for (number, place) in places.iter().enumerate() {
            queue.write(&volume, *place, filled(*place, number as u64), 0).unwrap();
        }
        while queue.wait().unwrap().is_some() {}
        let mut queue = Queue::reading(&options, 1).unwrap();
        for (number, place) in places.iter().enumerate() {
            queue.read(&volume, *place, dirty(*place), number as u64).unwrap();
        }
        let mut seen = 0;
        while let Some(done) = queue.wait().unwrap() {
            seen += 1;
            assert!(done.memory.bytes()[..300_001] == content(done.tag, 300_001), "{options:?}");
        }
        assert_eq!(seen, places.len());
    }
}

#[test]
fn a_place_fails_once_whichever_of_its_requests_fails() {
    for options in all_options() {
        for nth in 1..=8 {
            let folder = tempfile::tempdir().unwrap();
            let faults = Faults::from(Call::Read, nth, Fault::Errno(5));
            let options = small(&with_faults(&options, &faults), 4096, Some(3));
            let volume = scratch_in(folder.path(), &options);
            let places = [(); 2].map(|()| volume.reserve(4 * 4096));
            for place in places {
                volume.write_at_once(place, &mut filled(place, 3)).unwrap();
            }
            let mut queue: Queue<Pages> = Queue::reading(&options, 4).unwrap();
            for place in places {
                queue.read(&volume, place, dirty(place), 0).unwrap();
            }
            let (mut read, mut failed) = (0, 0);
            while queue.in_flight() > 0 {
                match queue.wait() {
                    Ok(Some(_)) => read += 1,
                    Ok(None) => panic!("a place was lost"),
                    Err(_) => failed += 1,
                }
            }
            assert_eq!((read + failed, failed > 0), (2, true), "{nth} of {options:?}");
            assert!(queue.wait().unwrap().is_none());
        }
    }
}

#[test]
fn requests_go_through_the_page_cache_where_they_are_told_to() {
    let folder = tempfile::tempdir().unwrap();
    let requests = Requests { cached: true, ..Requests::default() };
    let options = IoOptions { requests, ..IoOptions::default() };
    let volume: Arc<_> = scratch_in(folder.path(), &options);
    assert!(!volume.is_direct());
    let place = volume.reserve(5000);
    volume.write_at_once(place, &mut filled(place, 1)).unwrap();
    let mut memory = dirty(place);
    volume.read_at_once(place, &mut memory).unwrap();
    assert!(memory.bytes()[..5000] == content(1, 5000));
}
