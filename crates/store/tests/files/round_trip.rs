//! Reads give what was written, however reads and writes are interleaved.

use std::sync::Arc;

use proptest::prelude::*;
use welter_store::io::{Done, IoMode, IoOptions, Memory, Pages, Place, Queue, Requests, Volume};

use crate::{all_options, content, dirty, filled};

/// A step of a thread that uses a queue.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Write(u32),
    /// Reads the place with this number, modulo those that are written.
    Read(usize),
    Wait,
    Try,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![1..200_000_u32, Just(4096), Just(1 << 20), Just((1 << 20) + 1)];
    let step = prop_oneof![
        3 => bytes.prop_map(Step::Write),
        3 => any::<usize>().prop_map(Step::Read),
        2 => Just(Step::Wait),
        1 => Just(Step::Try),
    ];
    prop::collection::vec(step, 1..40)
}

/// A thread at work: what it wrote, by number.
struct Worker {
    volume: Arc<Volume>,
    queue: Queue<Pages>,
    /// Places by number, and whether they are written.
    places: Vec<(Place, bool)>,
    begun: usize,
    ended: usize,
}

impl Worker {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Write(bytes) => {
                let (place, number) = (self.volume.reserve(*bytes), self.places.len() as u64);
                self.places.push((place, false));
                self.begun += 1;
                self.queue.write(&self.volume, place, filled(place, number), number).unwrap();
            }
            Step::Read(which) => {
                let written: Vec<usize> =
                    (0..self.places.len()).filter(|number| self.places[*number].1).collect();
                let Some(number) = written.get(which % written.len().max(1)) else { return };
                let place = self.places[*number].0;
                self.begun += 1;
                self.queue.read(&self.volume, place, dirty(place), *number as u64).unwrap();
            }
            Step::Wait => {
                let done = self.queue.wait().unwrap();
                assert_eq!(done.is_some(), self.begun > self.ended);
                self.take(done);
            }
            Step::Try => {
                let done = self.queue.try_wait().unwrap();
                self.take(done);
            }
        }
        assert_eq!(self.queue.in_flight(), self.begun - self.ended);
    }

    fn take(&mut self, done: Option<Done<Pages>>) {
        let Some(done) = done else { return };
        self.ended += 1;
        let number = done.tag as usize;
        assert_eq!(done.place, self.places[number].0);
        if done.wrote {
            self.places[number].1 = true;
        }
        let expected = content(done.tag, done.place.bytes as usize);
        assert!(done.memory.bytes()[..expected.len()] == expected, "place {number} differs");
    }

    fn finish(&mut self) {
        while let Some(done) = self.queue.wait().unwrap() {
            self.take(Some(done));
        }
        assert_eq!((self.begun, self.queue.in_flight()), (self.ended, 0));
    }
}

pub(crate) fn run(options: &IoOptions, steps: &[Step], folders: usize, depth: usize) {
    let folders: Vec<_> = (0..folders).map(|_| tempfile::tempdir().unwrap()).collect();
    let paths: Vec<_> = folders.iter().map(|folder| folder.path().join("edges")).collect();
    let volume = Arc::new(Volume::create(&paths, options).unwrap());
    let queue = Queue::new(options, depth).unwrap();
    let places = Vec::new();
    let mut worker = Worker { volume, queue, places, begun: 0, ended: 0 };
    for step in steps {
        worker.step(step);
    }
    worker.finish();
    worker.volume.sync().unwrap();
    let stats = worker.volume.stats();
    let all: usize = worker.places.iter().map(|(place, _)| place.rounded_bytes()).sum();
    assert_eq!(stats.bytes_written, all as u64);
    if options.requests == Requests::default() {
        assert_eq!(stats.writes as usize, worker.places.len());
        assert_eq!(stats.reads as usize, worker.begun - worker.places.len());
    }
    // And once more, by a process that finds only the files, in another way.
    let other = IoOptions { direct: !options.direct, ..options.clone() };
    let kept = Volume::open(&paths, &other).unwrap();
    let end = |(place, _): &(Place, bool)| place.rounded_bytes() as u64;
    assert_eq!(kept.bytes(), worker.places.iter().map(end).sum::<u64>());
    for (number, (place, _)) in worker.places.iter().enumerate() {
        let mut memory = dirty(*place);
        kept.read_at_once(*place, &mut memory).unwrap();
        let expected = content(number as u64, place.bytes as usize);
        assert!(memory.bytes()[..expected.len()] == expected, "place {number} differs");
        assert!(memory.bytes()[expected.len()..].iter().all(|byte| *byte == 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn what_was_written_is_read(steps in steps(), folders in 1..4_usize, depth in 1..6_usize) {
        for options in all_options() {
            run(&options, &steps, folders, depth);
        }
    }
}

#[test]
fn places_are_aligned_and_spread_over_all_folders() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let paths: Vec<_> = folders.iter().map(|folder| folder.path().to_owned()).collect();
    let volume = Volume::scratch(&paths, &IoOptions::default()).unwrap();
    let places: Vec<Place> = [1, 4096, 4097, 70_000].map(|bytes| volume.reserve(bytes)).into();
    let found: Vec<_> = places.iter().map(|place| (place.file, place.offset)).collect();
    assert_eq!(found, [(0, 0), (1, 0), (2, 0), (0, 4096)]);
    assert_eq!(volume.bytes(), 4096 + 4096 + 8192 + 73_728);
    assert_eq!(volume.names().count(), 3);
    assert!(volume.align().is_power_of_two());
    assert!(volume.free_bytes().unwrap() > 0);
}

#[test]
fn a_queue_that_is_dropped_has_written_what_it_began() {
    for options in all_options() {
        let folder = tempfile::tempdir().unwrap();
        let volume = crate::scratch_in(folder.path(), &options);
        let mut queue = Queue::new(&options, 8).unwrap();
        let places: Vec<Place> = (0..8).map(|_| volume.reserve(1 << 20)).collect();
        for (number, place) in places.iter().enumerate() {
            queue.write(&volume, *place, filled(*place, number as u64), 0).unwrap();
        }
        if matches!(options.mode, IoMode::Auto | IoMode::Threads) {
            // Its threads begin when they get to run, so only what came back is certain.
            while queue.wait().unwrap().is_some() {}
        }
        drop(queue);
        let mut queue = Queue::reading(&options, 3).unwrap();
        for (number, place) in places.iter().enumerate() {
            let mut memory = dirty(*place);
            volume.read_at_once(*place, &mut memory).unwrap();
            assert!(memory.bytes() == content(number as u64, 1 << 20), "{options:?}");
            queue.read(&volume, *place, memory, 0).unwrap();
        }
        // Five of them have not begun.
        assert_eq!(queue.in_flight(), 8);
    }
}
