//! Decoders against each other and against hostile bytes.

use proptest::prelude::*;

use super::*;

fn decode(bytes: &[u8], count: usize, level: Level, buffer: usize) -> Vec<u32> {
    let mut decoder = Decoder::new(bytes, count, level);
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
    let mut bytes = Vec::new();
    encode(&keys, &mut bytes);
    for level in Level::available() {
        assert_eq!(decode(&bytes, keys.len(), level, 16), keys, "{level:?}");
    }
}

/// A number of about so many bits.
fn wide(bits: u32) -> u32 {
    (1_u64 << bits) as u32 / 3
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
        let mut bytes = Vec::new();
        encode(&keys, &mut bytes);
        if pad {
            bytes.resize(bytes.len() + OVERREAD, 0xee);
        }
        for level in Level::available() {
            prop_assert_eq!(&decode(&bytes, keys.len(), level, buffer), &keys);
        }
    }

    #[test]
    fn hostile_bytes_decode_to_the_same_nonsense_everywhere(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        count in 1_usize..500,
    ) {
        let expected = decode(&bytes, count, Level::Scalar, 64);
        for level in Level::available() {
            prop_assert_eq!(&decode(&bytes, count, level, 64), &expected);
        }
    }
}
