//! A reader of chunks as plain as `docs/format.md`: numbers at offsets, one byte after the other.
//! It shares no code with the crate, and believes what it reads but for the checksums.

use std::ops::Range;

/// All that a chunk says.
#[derive(Debug, PartialEq)]
pub(crate) struct Plain {
    pub(crate) version: u64,
    pub(crate) encoding: u64,
    pub(crate) weight_type: u64,
    pub(crate) target_bits: u64,
    pub(crate) graph: u64,
    pub(crate) generation: u64,
    pub(crate) source_partition: u64,
    pub(crate) stripe: u64,
    pub(crate) number: u64,
    pub(crate) source_base: u64,
    pub(crate) target_base: u64,
    pub(crate) bytes: u64,
    /// First source, relative to the base; keys; weights (as bits, so that -0 is not 0).
    pub(crate) tiles: Vec<(u64, Vec<u32>, Vec<u64>)>,
}

/// The little-endian number in some bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(crate) fn read(chunk: &[u8]) -> Plain {
    let at = |range: Range<usize>| number(&chunk[range]);
    assert_eq!(&chunk[0..8], b"WELTERCH");
    let (tiles, groups) = (at(72..76) as usize, at(76..80) as usize);
    let (keys_at, keys_bytes) = (at(80..84) as usize, at(84..88) as usize);
    let (weights_at, weights_bytes) = (at(88..92) as usize, at(92..96) as usize);
    let directory = |tile: usize| 128 + 16 * tile;
    let group = |group: usize| 128 + 16 * tiles + 12 * group;
    let mut plain = Plain {
        version: at(8..10),
        encoding: at(10..11),
        weight_type: at(11..12),
        target_bits: at(12..13),
        graph: at(16..24),
        generation: at(24..28),
        source_partition: at(28..32),
        stripe: at(32..36),
        number: at(36..40),
        source_base: at(40..48),
        target_base: at(48..56),
        bytes: at(64..72),
        tiles: Vec::new(),
    };
    let width = [0, 1, 2, 4, 4, 8][plain.weight_type as usize];

    let tables = [&chunk[..124], &[0; 4], &chunk[128..group(groups)]].concat();
    assert_eq!(u64::from(crc32c(&tables)), at(124..128));
    let mut edges = 0;
    let mut first = 0;
    for table in (0..groups).map(group) {
        let end = at(table..table + 4) as usize;
        let start =
            |tile| if tile == tiles { keys_bytes } else { at_offset(chunk, directory(tile)) };
        let keys = &chunk[keys_at + start(first)..keys_at + start(end)];
        assert_eq!(u64::from(crc32c(keys)), at(table + 4..table + 8));
        let begin = edges;
        for tile in (first..end).map(directory) {
            let count = at(tile + 4..tile + 8) as usize;
            let keys = &chunk[keys_at + at_offset(chunk, tile)..];
            let keys = match plain.encoding {
                0 => packed(keys, count),
                1 => vbyte(keys, count),
                2 => short(keys, count),
                _ => pairs(keys, count, plain.target_bits),
            };
            let weights = (edges..edges + count).filter(|_| width > 0).map(|edge| {
                let start = weights_at + edge * width;
                weight(plain.weight_type, &chunk[start..start + width]).to_bits()
            });
            plain.tiles.push((at(tile..tile + 4), keys, weights.collect()));
            edges += count;
        }
        let weights = &chunk[weights_at + begin * width..weights_at + edges * width];
        assert_eq!(u64::from(crc32c(weights)), at(table + 8..table + 12));
        first = end;
    }
    assert_eq!((first, edges as u64, edges * width), (tiles, at(56..64), weights_bytes));
    plain
}

fn at_offset(chunk: &[u8], entry: usize) -> usize {
    number(&chunk[entry + 8..entry + 12]) as usize
}

fn packed(bytes: &[u8], count: usize) -> Vec<u32> {
    (0..count).map(|key| number(&bytes[4 * key..4 * key + 4]) as u32).collect()
}

/// The source and the destination of each key, apart.
fn pairs(bytes: &[u8], count: usize, target_bits: u64) -> Vec<u32> {
    let half = |at: usize| number(&bytes[at..at + 4]) as u32;
    (0..count).map(|key| half(8 * key) << target_bits | half(8 * key + 4)).collect()
}

/// Stream-vbyte: two bits a key say how long its difference to the key before is.
fn vbyte(bytes: &[u8], count: usize) -> Vec<u32> {
    let mut data = count.div_ceil(4);
    let mut last = 0;
    let key = |key: usize| {
        let length = usize::from(bytes[key / 4] >> (key % 4 * 2) & 3) + 1;
        last += number(&bytes[data..data + length]) as u32;
        data += length;
        last
    };
    (0..count).map(key).collect()
}

/// Three bytes a key, behind runs of keys that share the byte above.
fn short(bytes: &[u8], count: usize) -> Vec<u32> {
    let runs = number(&bytes[..4]) as usize;
    let mut highs = Vec::new();
    for run in 0..runs {
        let run = &bytes[4 + 3 * run..][..3];
        highs.extend(vec![number(&run[..1]); number(&run[1..]) as usize + 1]);
    }
    assert_eq!(highs.len(), count);
    let key = |key: usize| number(&bytes[4 + 3 * (runs + key)..][..3]) | highs[key] << 24;
    (0..count).map(|place| key(place) as u32).collect()
}

fn weight(kind: u64, bytes: &[u8]) -> f64 {
    match kind {
        4 => f32::from_bits(number(bytes) as u32).into(),
        5 => f64::from_bits(number(bytes)),
        _ => number(bytes) as f64,
    }
}

/// CRC-32C: polynomial 0x1EDC6F41, reflected, one bit after the other.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !sum
}

#[test]
fn the_checksum_is_crc_32c() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
}
