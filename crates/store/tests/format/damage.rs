//! A chunk is whole, or it is an error: nothing in between, and never a panic.

use welter_store::ChunkError;
use welter_store::chunk::Chunk;
use welter_store::fuzzing;

use crate::plain::crc32c;
use crate::samples::{Aligned, groups, small};

fn whole(bytes: &[u8]) -> Result<(), ChunkError> {
    Chunk::open(bytes)?.verify()
}

#[test]
fn every_flipped_bit_is_noticed() {
    for (name, sample) in small() {
        let mut chunk = sample.build();
        whole(chunk.bytes()).unwrap();
        for bit in 0..chunk.bytes().len() * 8 {
            chunk.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
            assert!(whole(chunk.bytes()).is_err(), "{name}: bit {} of byte {}", bit % 8, bit / 8);
            chunk.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn bits_flipped_anywhere_in_a_larger_chunk_are_noticed() {
    let mut chunk = groups().build();
    let bits = chunk.bytes().len() * 8;
    for bit in (0..bits).step_by(97) {
        chunk.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
        assert!(whole(chunk.bytes()).is_err(), "bit {} of byte {}", bit % 8, bit / 8);
        chunk.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_missing_byte_is_noticed() {
    for (name, sample) in small() {
        let chunk = sample.build();
        for length in 0..chunk.bytes().len() {
            let error = whole(&chunk.bytes()[..length]).unwrap_err();
            let ChunkError::Short { need, have } = error else { panic!("{name}: {error}") };
            assert!(have == length as u64 && need > have && need <= chunk.bytes().len() as u64);
        }
    }
}

#[test]
fn the_error_says_what_is_damaged_and_where() {
    let sample = small().into_iter().find(|(name, _)| name == "packed-f32").unwrap().1;
    let damaged = |at: usize| {
        let mut chunk = sample.build();
        chunk.bytes_mut()[at] ^= 1;
        whole(chunk.bytes()).unwrap_err()
    };
    assert_eq!(damaged(0), ChunkError::Magic);
    assert_eq!(damaged(8), ChunkError::Version { found: 0, known: 1 });
    let head = ChunkError::Checksum { what: "header and directory", offset: 0 };
    assert_eq!(damaged(40), head);
    assert_eq!(damaged(130), head);
    // 128 bytes of header, 4 tiles of 16, 1 group of 12: keys begin at 256, weights at 320.
    assert_eq!(damaged(256), ChunkError::Checksum { what: "keys", offset: 256 });
    assert_eq!(damaged(330), ChunkError::Checksum { what: "weights", offset: 320 });
    let padding = |offset| ChunkError::Field { what: "padding", offset, value: 1 };
    assert_eq!(damaged(210), padding(210));
    assert_eq!(damaged(319), ChunkError::Checksum { what: "keys", offset: 256 });
    assert_eq!(damaged(500), padding(500));
}

#[test]
fn parts_before_the_one_that_is_damaged_are_whole() {
    let mut chunk = groups().build();
    let parts = |bytes: &[u8]| -> Vec<bool> {
        Chunk::open(bytes).unwrap().verified().map(|part| part.is_ok()).collect()
    };
    assert_eq!(parts(chunk.bytes()), [true, true]);
    // The last key, before the padding: that of the second group.
    let number =
        |at: usize, bytes: &[u8]| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let end = (number(80, chunk.bytes()) + number(84, chunk.bytes())) as usize;
    chunk.bytes_mut()[end - 1] ^= 1;
    assert_eq!(parts(chunk.bytes()), [true, false]);
}

#[test]
fn a_chunk_at_an_odd_address_is_an_error() {
    let chunk = small()[0].1.build();
    let shifted = Aligned::new(&[&[0], chunk.bytes()].concat());
    let error = whole(&shifted.bytes()[1..]).unwrap_err();
    assert!(matches!(error, ChunkError::Field { what: "alignment of the buffer", .. }));
}

/// Puts the checksum of header, directory and groups right.
fn sign(bytes: &mut [u8]) {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let end = 128 + 16 * number(72) + 12 * number(76);
    let sum = crc32c(&[&bytes[..124], &[0; 4], &bytes[128..end]].concat());
    bytes[124..128].copy_from_slice(&sum.to_le_bytes());
}

/// Changes one number of a signed chunk.
fn forged(name: &str, at: usize, value: &[u8]) -> Result<(), ChunkError> {
    let sample = small().into_iter().find(|(found, _)| found == name).unwrap().1;
    let mut chunk = sample.build();
    chunk.bytes_mut()[at..at + value.len()].copy_from_slice(value);
    sign(chunk.bytes_mut());
    whole(chunk.bytes())
}

#[test]
fn forgeries_that_are_signed_are_refused() {
    let field = |found: Result<(), ChunkError>| match found {
        Err(ChunkError::Field { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    let check = |at, value: &[u8]| field(forged("packed-u8", at, value));
    assert_eq!(check(10, &[4]), "encoding");
    assert_eq!(check(11, &[6]), "weight type");
    assert_eq!(check(12, &[32]), "number of destination bits");
    assert_eq!(check(13, &[1]), "padding");
    assert_eq!(check(96, &[1]), "padding");
    assert_eq!(check(56, &[15]), "number of edges");
    // Sources that no 64 bits can number.
    assert_eq!(check(40, &[0xff; 8]), "tile of the directory");
    // A tile that begins beyond the keys, in the middle of a key, or before the tile before it.
    assert_eq!(check(128 + 8, &[0xff; 4]), "tile of the directory");
    assert_eq!(check(144 + 8, &[37]), "tile of the directory");
    assert_eq!(check(128 + 8, &[4]), "tile of the directory");
    assert_eq!(check(128 + 12, &[1]), "tile of the directory");
    // A tile with more edges than keys.
    assert_eq!(check(128 + 4, &[10]), "tile of the directory");
    // A group that ends where it begins, or not with the last tile.
    assert_eq!(check(192, &[0]), "checksum table");
    assert_eq!(check(192, &[3]), "checksum table");
    assert_eq!(check(192, &[5]), "checksum table");
    // Sections that overlap, or lie askew.
    assert_eq!(check(80, &[128, 0]), "layout of sections");
    assert_eq!(check(80, &[1, 1]), "layout of sections");
    assert_eq!(check(88, &[0, 1]), "layout of sections");
    assert_eq!(check(64 + 4, &[1]), "layout of sections");
}

/// Groups of no tiles once made `verify` look for keys that begin after they end.
#[test]
fn a_group_without_tiles_is_refused() {
    let mut chunk = groups().build();
    let table = 128 + 16 * 15;
    for end in [0_u32, 15] {
        chunk.bytes_mut()[table..table + 4].copy_from_slice(&end.to_le_bytes());
        sign(chunk.bytes_mut());
        let error = whole(chunk.bytes()).unwrap_err();
        assert!(matches!(error, ChunkError::Field { what: "checksum table", .. }), "{error}");
    }
}

/// Every number of the head and the tables, set to what breaks programs.
#[test]
fn no_forgery_panics() {
    let telling: [u64; 14] = [
        0,
        1,
        2,
        15,
        63,
        64,
        127,
        256,
        1 << 16,
        (1 << 31) - 1,
        1 << 31,
        4_294_967_295,
        1 << 63,
        u64::MAX,
    ];
    for (_, sample) in small() {
        let chunk = sample.build();
        for at in 8..256 {
            for value in telling {
                for width in [1, 2, 4, 8] {
                    let mut forged = chunk.bytes().to_vec();
                    forged[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                    fuzzing::chunk(&forged);
                }
            }
        }
    }
}
