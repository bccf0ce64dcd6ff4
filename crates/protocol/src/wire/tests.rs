//! Round trips, and bytes that are none.
//!
//! Envelopes are made by reading random bodies: whatever can be read at all is a message, and there
//! is no list of examples that could forget a variant.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::random::Random;

const MACHINES: usize = 5;
/// Of [`Message`].
const VARIANTS: u8 = 38;
/// Payload of those that have one.
const PAYLOAD: &[u8] = b"4 MiB of edges";

/// A body that may be an envelope with this message: small numbers, so that lengths and tags fit.
fn body(random: &mut Random, tag: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let rank = |random: &mut Random| (random.below(MACHINES as u64) as u32).to_le_bytes();
    bytes.extend(rank(random));
    bytes.extend((random.number() as u32).to_le_bytes());
    bytes.extend(rank(random));
    (0..36).for_each(|_| bytes.push(random.number() as u8));
    bytes.push(tag);
    let zeros = 500 + random.below(500);
    (0..random.below(400)).for_each(|_| {
        bytes.push(if random.chance(zeros) { 0 } else { random.below(4) as u8 });
    });
    bytes
}

/// The envelope that these bytes begin with, and how many of them it takes.
fn read(bytes: &[u8]) -> Option<(Envelope, usize)> {
    let mut reader = Reader::carrying(bytes, MACHINES, Payload::from(PAYLOAD));
    let envelope = Envelope::take(&mut reader)?;
    Some((envelope, bytes.len() - reader.bytes.len()))
}

fn written(envelope: &Envelope) -> Vec<u8> {
    let mut form = Form::of(Vec::new());
    envelope.put(&mut form);
    form.bytes
}

/// The envelope that a receiver makes of a frame.
fn received(frame: &Frame) -> Result<Envelope, Malformed> {
    open(&frame.head, frame.payload[..].into(), MACHINES)
}

#[test]
fn every_message_has_one_form_and_comes_back() {
    let random = &mut Random::new(5);
    let mut carried = BTreeSet::new();
    for tag in 0..VARIANTS {
        let mut seen = 0;
        for _ in 0..200_000 {
            let bytes = body(random, tag);
            let Some((envelope, length)) = read(&bytes) else { continue };
            assert_eq!(written(&envelope), bytes[..length], "tag {tag}");
            let frame = seal(&envelope);
            let opened = received(&frame).unwrap();
            assert_eq!(written(&opened), bytes[..length], "tag {tag}");
            assert_eq!(seal(&opened).payload, frame.payload, "tag {tag}");
            carried.insert((tag, frame.payload.is_empty()));
            seen += 1;
            if seen == 50 {
                break;
            }
        }
        assert_eq!(seen, 50, "bodies of tag {tag}");
    }
    let bulk = carried.iter().filter(|(_, is_empty)| !is_empty).map(|(tag, _)| *tag);
    assert_eq!(bulk.collect::<Vec<_>>(), [8, 17, 20, 23, 24, 32], "and never without it");
    assert_eq!(carried.len(), usize::from(VARIANTS));
    let unknown = body(random, VARIANTS);
    assert!(read(&unknown).is_none(), "a variant more needs a tag, and this test to know of it");
}

fn sample() -> Frame {
    let random = &mut Random::new(11);
    let found = std::iter::repeat_with(|| read(&body(random, 8))).flatten().next();
    seal(&found.unwrap().0)
}

#[test]
fn every_flipped_bit_and_every_missing_byte_is_seen() {
    let frame = sample();
    assert_eq!(&frame.payload[..], PAYLOAD);
    let [head, payload] = frame.parts();
    for bit in 0..8 * (head.len() + payload.len()) {
        let mut parts = [head.to_vec(), payload.to_vec()];
        let (part, at) = if bit / 8 < head.len() { (0, bit) } else { (1, bit - 8 * head.len()) };
        parts[part][at / 8] ^= 1 << (at % 8);
        let [head, payload] = parts;
        assert!(open(&head, payload.into(), MACHINES).is_err(), "bit {bit}");
    }
    for length in 0..head.len() {
        let found = open(&head[..length], payload.into(), MACHINES);
        assert_eq!(found.err(), Some(Malformed::Length));
    }
    for length in 0..payload.len() {
        let found = open(head, payload[..length].into(), MACHINES);
        assert_eq!(found.err(), Some(Malformed::Length));
    }
}

#[test]
fn payloads_are_sent_as_they_are_and_stay_where_they_were_read() {
    let frame = sample();
    let envelope = received(&frame).unwrap();
    let Message::Copied { payload, .. } = &envelope.message else { panic!("it has tag 8") };
    let [_, sent] = seal(&envelope).parts().map(<[u8]>::as_ptr);
    assert_eq!(sent, payload.as_ptr(), "no byte was copied to be sent");
    let buffer = Buffer::from(PAYLOAD);
    let read_to = buffer.as_ptr();
    let opened = Opening::of(&frame.head).unwrap();
    assert_eq!(opened.payload_bytes(), PAYLOAD.len());
    let envelope = opened.open(buffer, MACHINES).unwrap();
    let Message::Copied { payload, .. } = envelope.message else { panic!("it has tag 8") };
    assert_eq!(payload.as_ptr(), read_to, "nor after it was read");
}

#[test]
fn heads_say_what_is_wrong() {
    let frame = sample();
    let with = |at: usize, bytes: &[u8]| {
        let mut frame = frame.clone();
        frame.head[at..at + bytes.len()].copy_from_slice(bytes);
        received(&frame).err()
    };
    assert_eq!(with(0, b"GET "), Some(Malformed::Magic));
    assert_eq!(with(4, &(VERSION + 1).to_le_bytes()), Some(Malformed::Version(VERSION + 1)));
    for at in [8, 16] {
        assert_eq!(with(at, &u64::MAX.to_le_bytes()), Some(Malformed::TooLarge(u64::MAX)));
    }
    assert_eq!(with(8, &3u64.to_le_bytes()), Some(Malformed::Length));
    for at in [16, 24, 32] {
        assert_eq!(with(at, &[0; 8]), Some(Malformed::Damaged));
    }
}

#[test]
fn a_payload_that_no_message_asks_for_is_refused() {
    let random = &mut Random::new(2);
    let (ping, _) = std::iter::repeat_with(|| read(&body(random, 3))).flatten().next().unwrap();
    let mut frame = seal(&ping);
    assert!(received(&frame).is_ok() && frame.payload.is_empty());
    frame.payload = Payload::from(PAYLOAD);
    frame.head[16..24].copy_from_slice(&(PAYLOAD.len() as u64).to_le_bytes());
    frame.head[24..32].copy_from_slice(&frame.payload.hash().to_le_bytes());
    let right = sum(&frame.head);
    frame.head[32..HEAD_BYTES].copy_from_slice(&right.to_le_bytes());
    assert_eq!(received(&frame).err(), Some(Malformed::Body));
}

#[test]
fn ranks_are_those_of_the_cluster() {
    let random = &mut Random::new(2);
    let (mut envelope, _) =
        std::iter::repeat_with(|| read(&body(random, 3))).flatten().next().unwrap();
    envelope.from = 4;
    let frame = seal(&envelope);
    assert!(received(&frame).is_ok());
    assert_eq!(open(&frame.head, Buffer::zeroed(0), 4).err(), Some(Malformed::Body));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Messages that are read are those that would be written, and nothing panics.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600), tag in 0..VARIANTS) {
        let _ = open(&bytes, Buffer::zeroed(0), MACHINES);
        let mut framed = bytes.clone();
        framed.splice(0..0, [0; HEAD_BYTES]);
        framed[..4].copy_from_slice(b"wlt>");
        framed[4..8].copy_from_slice(&VERSION.to_le_bytes());
        framed[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        framed[24..32].copy_from_slice(&checksum(&[]).to_le_bytes());
        let right = sum(&framed);
        framed[32..HEAD_BYTES].copy_from_slice(&right.to_le_bytes());
        if let Ok(envelope) = open(&framed, Buffer::zeroed(0), MACHINES) {
            prop_assert_eq!(seal(&envelope).head, framed);
        }
        let mut body = body(&mut Random::new(u64::from(tag)), tag);
        body.truncate(49);
        body.extend(&bytes);
        if let Some((envelope, length)) = read(&body) {
            prop_assert_eq!(written(&envelope), &body[..length]);
        }
    }

    /// Lengths that lie make no room: they are refused, or there is that much.
    #[test]
    fn lengths_are_bounded_by_what_came(length in any::<u64>(), rest in 0..100usize) {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.resize(8 + rest, 0);
        let found = Vec::<u8>::take(&mut Reader::new(&bytes, MACHINES));
        prop_assert_eq!(found.is_some(), length <= rest as u64);
    }
}
