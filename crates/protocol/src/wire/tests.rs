//! Round trips, and bytes that are none.
//!
//! Envelopes are made by reading random bodies: whatever can be read at all is a message, and there
//! is no list of examples that could forget a variant.

use proptest::prelude::*;

use super::*;
use crate::random::Random;

const MACHINES: usize = 5;
/// Of [`Message`].
const VARIANTS: u8 = 38;

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
    let mut reader = Reader::new(bytes, MACHINES);
    let envelope = Envelope::take(&mut reader)?;
    Some((envelope, bytes.len() - reader.bytes.len()))
}

fn written(envelope: &Envelope) -> Vec<u8> {
    let mut bytes = Vec::new();
    envelope.put(&mut bytes);
    bytes
}

#[test]
fn every_message_has_one_form_and_comes_back() {
    let random = &mut Random::new(5);
    for tag in 0..VARIANTS {
        let mut seen = 0;
        for _ in 0..200_000 {
            let bytes = body(random, tag);
            let Some((envelope, length)) = read(&bytes) else { continue };
            assert_eq!(written(&envelope), bytes[..length], "tag {tag}");
            let opened = open(&seal(&envelope), MACHINES).unwrap();
            assert_eq!(written(&opened), bytes[..length], "tag {tag}");
            seen += 1;
            if seen == 50 {
                break;
            }
        }
        assert_eq!(seen, 50, "bodies of tag {tag}");
    }
    let unknown = body(random, VARIANTS);
    assert!(read(&unknown).is_none(), "a variant more needs a tag, and this test to know of it");
}

fn sample() -> Vec<u8> {
    let random = &mut Random::new(11);
    let found = std::iter::repeat_with(|| read(&body(random, 8))).flatten().next();
    seal(&found.unwrap().0)
}

#[test]
fn every_flipped_bit_and_every_missing_byte_is_seen() {
    let frame = sample();
    for bit in 0..8 * frame.len() {
        let mut flipped = frame.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&flipped, MACHINES).is_err(), "bit {bit}");
    }
    for length in 0..frame.len() {
        assert_eq!(open(&frame[..length], MACHINES).err(), Some(Malformed::Length));
    }
}

#[test]
fn heads_say_what_is_wrong() {
    let frame = sample();
    let with = |at: usize, bytes: &[u8]| {
        let mut frame = frame.clone();
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        open(&frame, MACHINES).err()
    };
    assert_eq!(with(0, b"GET "), Some(Malformed::Magic));
    assert_eq!(with(4, &9u32.to_le_bytes()), Some(Malformed::Version(9)));
    assert_eq!(with(8, &u64::MAX.to_le_bytes()), Some(Malformed::TooLarge(u64::MAX)));
    assert_eq!(with(8, &3u64.to_le_bytes()), Some(Malformed::Length));
    assert_eq!(with(16, &[0; 8]), Some(Malformed::Damaged));
}

#[test]
fn ranks_are_those_of_the_cluster() {
    let random = &mut Random::new(2);
    let (mut envelope, _) =
        std::iter::repeat_with(|| read(&body(random, 3))).flatten().next().unwrap();
    envelope.from = 4;
    let frame = seal(&envelope);
    assert!(open(&frame, 5).is_ok());
    assert_eq!(open(&frame, 4).err(), Some(Malformed::Body));
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
        let _ = open(&bytes, MACHINES);
        let mut framed = bytes.clone();
        framed.splice(0..0, [0; HEAD_BYTES]);
        framed[..4].copy_from_slice(b"wlt>");
        framed[4..8].copy_from_slice(&VERSION.to_le_bytes());
        framed[8..16].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let right = sum(&framed);
        framed[16..24].copy_from_slice(&right.to_le_bytes());
        if let Ok(envelope) = open(&framed, MACHINES) {
            prop_assert_eq!(seal(&envelope), framed);
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
