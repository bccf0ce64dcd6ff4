//! Files that lie elsewhere: neighbours come by one request, and errors reach each of them.

use std::sync::Arc;

use welter_progress::FailureKind;
use welter_store::io::{IoOptions, JOINED_BYTES, Memory, Pages, Place, Queue, Remote, Volume};

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
    assert_eq!(volume.stats().reads, places.len() as u64);
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
