//! Decoders against each other and against hostile bytes.

use proptest::prelude::*;

use super::*;

/// Encodings that have a decoder.
const CODED: [Encoding; 3] = [Encoding::Compressed, Encoding::Short, Encoding::Pairs];
/// Bits of a key that are the destination's.
const TARGET_BITS: u32 = 20;

fn encoded(encoding: Encoding, keys: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(encoding, TARGET_BITS, keys, &mut bytes);
    assert!(bytes.len() <= encoding.bytes_most(keys.len()), "{encoding:?}");
    assert!(bytes.len() >= encoding.bytes_least(keys.len()), "{encoding:?}");
    bytes
}

fn decode(
    (encoding, bytes): (Encoding, &[u8]),
    count: usize,
    level: SimdLevel,
    buffer: usize,
) -> Vec<u32> {
    let mut decoder = Decoder::new(encoding, TARGET_BITS, bytes, count, level).unwrap();
    let mut out = Vec::new();
    let mut part = vec![0; buffer];
    while out.len() < count {
        let filled = decoder.fill(&mut part);
        assert!(filled > 0);
        out.extend_from_slice(&part[..filled]);
    }
    assert_eq!(decoder.fill(&mut part), 0);
    out
}

#[test]
fn boundaries_of_the_byte_lengths_survive() {
    let mut keys = Vec::new();
    let mut key = 0_u32;
    for delta in [0, 1, 255, 256, 65_535, 65_536, 16_777_215, 16_777_216, 4_000_000_000] {
        key = key.saturating_add(delta);
        keys.push(key);
    }
    for encoding in CODED {
        let bytes = encoded(encoding, &keys);
        for level in SimdLevel::available() {
            let found = decode((encoding, &bytes), keys.len(), level, 16);
            assert_eq!(found, keys, "{encoding:?} {level:?}");
        }
    }
}

/// A number of about `bits` bits.
fn wide(bits: u32) -> u32 {
    (1_u64 << bits) as u32 / 3
}

#[test]
fn runs_of_any_length_survive() {
    let keys: Vec<u32> = (0..200_000).map(|key| (key / 131_073) << 24 | key).collect();
    let bytes = encoded(Encoding::Short, &keys);
    // Two runs, one of which is cut in three and the other in two.
    assert_eq!(bytes.len(), 4 + 3 * (5 + keys.len()));
    for level in SimdLevel::available() {
        assert_eq!(decode((Encoding::Short, &bytes), keys.len(), level, 1024), keys);
    }
}

proptest! {
    #[test]
    fn every_level_gives_back_what_was_encoded(
        deltas in prop::collection::vec((0_u32..33).prop_map(wide), 0..400),
        pad in prop::bool::ANY,
        buffer in 16_usize..200,
    ) {
        let keys: Vec<u32> = deltas
            .iter()
            .scan(0_u32, |key, &delta| { *key = key.saturating_add(delta); Some(*key) })
            .collect();
        for encoding in CODED {
            let mut bytes = encoded(encoding, &keys);
            if pad {
                bytes.resize(bytes.len() + OVERREAD, 0xee);
            }
            for level in SimdLevel::available() {
                let found = decode((encoding, &bytes), keys.len(), level, buffer);
                prop_assert_eq!(&found, &keys);
            }
        }
    }

    /// Of sources in order, and destinations in none.
    #[test]
    fn keys_that_stand_alone_are_found_without_those_before_them(
        sources in prop::collection::vec((any::<u8>(), 0_usize..60), 0..12),
        seed: u32,
        first in 0_usize..700,
        pad in prop::bool::ANY,
    ) {
        let mut sources = sources;
        sources.sort_unstable();
        let all = sources.iter().flat_map(|&(source, count)| std::iter::repeat_n(source, count));
        let low = |place: usize| seed.wrapping_mul(2 * place as u32 + 1) >> 8;
        let keys: Vec<u32> =
            all.enumerate().map(|(place, source)| u32::from(source) << 24 | low(place)).collect();
        let first = first.min(keys.len());
        for encoding in [Encoding::Short, Encoding::Pairs] {
            let mut bytes = encoded(encoding, &keys);
            bytes.resize(bytes.len() + if pad { OVERREAD } else { 0 }, 0xee);
            for level in SimdLevel::available() {
                let mut decoder =
                    Decoder::new(encoding, TARGET_BITS, &bytes, keys.len(), level).unwrap();
                prop_assert_eq!(decoder.skip(first), first);
                let mut out = vec![0; keys.len().next_multiple_of(16)];
                let count = decoder.fill(&mut out);
                prop_assert_eq!(&out[..count], &keys[first..]);
            }
        }
    }

    #[test]
    fn hostile_bytes_decode_to_the_same_nonsense_everywhere(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        count in 1_usize..500,
    ) {
        for encoding in CODED {
            let expected = decode((encoding, &bytes), count, SimdLevel::Scalar, 64);
            for level in SimdLevel::available() {
                prop_assert_eq!(&decode((encoding, &bytes), count, level, 64), &expected);
            }
        }
    }
}
