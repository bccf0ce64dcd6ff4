//! Requests of other sizes than the places that they move.

use std::sync::Arc;

use proptest::prelude::*;
use welter_store::io::{Call, Fault, Faults, IoOptions, Memory, Pages, Place, Queue, Requests};

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
