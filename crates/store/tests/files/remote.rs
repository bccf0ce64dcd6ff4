//! Files that lie elsewhere: neighbours come by one request, and errors reach each of them.

use std::ops::Range;
use std::sync::Arc;

use welter_progress::FailureKind;
use welter_store::io::{
    IoOptions, JOINED_BYTES, Memory, Pages, Place, Queue, Remote, Requests, Volume,
};

use crate::known::{Known, byte};

const PLACE: u64 = 512 << 10;
const AWAY: &str = "far://away";

fn begin(is_broken: bool) -> (Arc<Known>, Arc<Volume>, IoOptions) {
    let known = Arc::new(Known { is_broken, ..Known::default() });
    let remote: Arc<dyn Remote> = known.clone();
    let io = IoOptions { remote: Some(remote), ..IoOptions::default() };
    let volume = Volume::open(&[AWAY.into()], &io).unwrap();
    (known, Arc::new(volume), io)
}

fn place(offset: u64, bytes: u32) -> Place {
    Place { file: 0, offset, bytes }
}

#[test]
fn neighbours_come_by_one_request_and_gaps_are_left_out() {
    let (known, volume, io) = begin(false);
    let mut queue = Queue::reading(&io, 64).unwrap();
    // A short one with a small gap behind it, more than fit one request, and one far away.
    let mut places = vec![place(0, 5000), place(64 << 10, 4096)];
    places.extend((1..=20).map(|number| place(number * PLACE, PLACE as u32)));
    places.push(place(1 << 30, 8192));
    for (tag, place) in places.iter().enumerate() {
        let mut memory = Pages::zeroed(place.rounded_bytes()).unwrap();
        memory.bytes_mut().fill(7);
        queue.read(&volume, *place, memory, tag as u64).unwrap();
    }
    let mut seen = 0;
    while let Some(done) = queue.wait().unwrap() {
        let place = places[done.tag as usize];
        let end = place.offset + u64::from(place.bytes);
        let expected: Vec<u8> =
            (place.offset..end).map(|offset| byte(AWAY.as_ref(), offset)).collect();
        let (found, padding) = done.memory.bytes().split_at(place.bytes as usize);
        assert!(found == expected, "{place:?}");
        assert!(padding.iter().all(|byte| *byte == 0), "{place:?}");
        seen += 1;
    }
    assert_eq!(seen, places.len());
    let asked = std::mem::take(&mut *known.asked.lock().unwrap());
    let mut asked: Vec<_> = asked.into_iter().map(|(_, range)| range).collect();
    asked.sort_by_key(|range| range.start);
    let whole = 1 + (JOINED_BYTES / PLACE);
    assert_eq!(
        asked,
        [
            0..(64 << 10) + 4096,
            PLACE..whole * PLACE,
            whole * PLACE..21 * PLACE,
            1 << 30..(1 << 30) + 8192
        ]
    );
    let bytes: u64 = asked.iter().map(|range| range.end - range.start).sum();
    let stats = volume.stats();
    assert_eq!((stats.reads, stats.fetches, stats.bytes_read), (4, 4, bytes));
}

/// Reads neighbours with these settings, `depth` at a time; says what was asked for, and how much
/// at once.
fn read_with(
    requests: Requests,
    depth: usize,
    (places, gate): (u64, usize),
) -> (Vec<Range<u64>>, usize) {
    let known = Arc::new(Known { gate, ..Known::default() });
    let remote: Arc<dyn Remote> = known.clone();
    let io = IoOptions { remote: Some(remote), requests, ..IoOptions::default() };
    let volume = Arc::new(Volume::open(&[AWAY.into()], &io).unwrap());
    let mut queue = Queue::reading(&io, depth).unwrap();
    let mut next = 0;
    loop {
        if next < places && queue.in_flight() < depth {
            let memory = Pages::zeroed(PLACE as usize).unwrap();
            queue.read(&volume, place(next * PLACE, PLACE as u32), memory, next).unwrap();
            next += 1;
            continue;
        }
        let Some(done) = queue.wait().unwrap() else { break };
        // Looked at in part: bytes of a whole request are compared elsewhere.
        for at in [0, 4095, 4096, PLACE - 1] {
            let found = done.memory.bytes()[at as usize];
            assert_eq!(found, byte(AWAY.as_ref(), done.place.offset + at), "{:?}", done.place);
        }
    }
    let mut asked: Vec<_> = known.asked.lock().unwrap().drain(..).map(|(_, range)| range).collect();
    asked.sort_by_key(|range| range.start);
    assert_eq!(volume.stats().reads, asked.len() as u64);
    let most = known.at_once.lock().unwrap()[1];
    (asked, most)
}

#[test]
fn sizes_and_numbers_that_are_stated_are_those_of_the_store() {
    const KIB: u64 = 1 << 10;
    for (read_bytes, in_flight, depth, places) in [
        (Some(4 * KIB), Some(1), 1, 1),
        (Some(4 * KIB), Some(256), 2, 4),
        (Some(64 * KIB), Some(24), 3, 12),
        (Some(512 * KIB), Some(5), 5, 15),
        (Some(1024 * KIB), Some(3), 6, 18),
        (Some(16_384 * KIB), Some(2), 64, 128),
        (Some(65_536 * KIB), Some(1), 128, 128),
        (None, Some(1), 8, 16),
        (None, Some(40), 40, 80),
    ] {
        let read_size = read_bytes.map(|bytes| bytes as u32);
        let requests = Requests { read_bytes: read_size, in_flight, ..Requests::default() };
        let number = in_flight.unwrap() as usize;
        let (asked, most) = read_with(requests, depth, (places, number));
        let size = read_bytes.unwrap_or((depth as u64 * PLACE / number as u64).max(PLACE));
        let expected: Vec<_> =
            (0..places * PLACE).step_by(size as usize).map(|from| from..from + size).collect();
        if size <= PLACE {
            assert_eq!(asked, expected, "{requests:?}");
        }
        // A caller that waits for one place of a request begins the next before it is as large.
        let ends = asked.windows(2).all(|pair| pair[0].end == pair[1].start);
        let (first, last) = (asked[0].start, asked[asked.len() - 1].end);
        assert!(ends && (first, last) == (0, places * PLACE), "{requests:?} {asked:?}");
        let bytes = |range: &Range<u64>| range.end - range.start;
        assert_eq!(asked.iter().map(bytes).max(), Some(size), "{requests:?} {asked:?}");
        let whole = asked.iter().filter(|range| bytes(range) == size).count();
        assert!(whole >= number, "{requests:?} {asked:?}");
        assert_eq!(most, number, "{requests:?}");
    }
    // Where nothing is stated, what was measured best: half of what may be in flight, up to 8 MiB.
    let (asked, most) = read_with(Requests::default(), 64, (64, 2));
    assert!(asked.iter().all(|range| range.end - range.start == JOINED_BYTES), "{asked:?}");
    assert!((2..=4).contains(&most), "{most}");
}

#[test]
fn an_error_reaches_each_of_the_neighbours() {
    let (known, volume, io) = begin(true);
    let mut queue = Queue::reading(&io, 8).unwrap();
    for number in 0..4 {
        let memory = Pages::zeroed(PLACE as usize).unwrap();
        queue.read(&volume, place(number * PLACE, PLACE as u32), memory, number).unwrap();
    }
    for _ in 0..4 {
        assert_eq!(queue.wait().unwrap_err().to_string(), "far://away: it broke");
    }
    assert!(queue.wait().unwrap().is_none());
    assert_eq!(known.asked.lock().unwrap().len(), 1);
    let mut memory = Pages::zeroed(4096).unwrap();
    let error = volume.read_at_once(place(0, 4096), &mut memory).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Storage);
}
