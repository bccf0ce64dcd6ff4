//! Frames: chunks go in and come out, whatever is in them, or it is an error.

use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use welter_store::frame::{Compression, Compressor, Decompressor, Frame};
use welter_store::header::{ALIGN, Encoding};
use welter_store::weights::WeightKind;
use welter_store::{ChunkError, fuzzing};

use crate::plain::crc32c;
use crate::samples::{Aligned, Sample, groups, label, small};

/// Compressions that make frames.
fn codecs() -> impl Iterator<Item = Compression> {
    Compression::ALL.into_iter().filter(|compression| *compression != Compression::None)
}

/// A chunk that every codec makes smaller.
fn regular() -> Sample {
    let keys = (0..300).map(|key| key * 1000).collect();
    Sample { label: label(Encoding::Packed, WeightKind::None), tiles: vec![(0, keys, Vec::new())] }
}

fn framed(compression: Compression, plain: &[u8]) -> Option<Vec<u8>> {
    Compressor::new(compression).unwrap().frame(plain).map(<[u8]>::to_vec)
}

/// The chunk that a reader with so much room makes of stored bytes.
fn opened(stored: &[u8], room: usize) -> Result<Vec<u8>, ChunkError> {
    let mut room = vec![0xaa; room];
    Decompressor::new().chunk(stored, &mut room).map(<[u8]>::to_vec)
}

#[test]
fn chunks_of_every_encoding_come_out_of_every_frame() {
    let mut samples: Vec<Sample> = small().into_iter().map(|(_, sample)| sample).collect();
    for encoding in Encoding::ALL {
        let groups = groups();
        samples.push(Sample { label: label(encoding, groups.label.weights), ..groups });
    }
    for compression in codecs() {
        let mut compressor = Compressor::new(compression).unwrap();
        let mut decompressor = Decompressor::new();
        for sample in &samples {
            let chunk = sample.build();
            let plain = chunk.bytes();
            let stored = compressor.frame(plain).unwrap_or(plain);
            assert_eq!(stored.len() % ALIGN, 0);
            let mut room = vec![0_u64; plain.len() / 8];
            let room = bytemuck::cast_slice_mut(&mut room);
            let found = decompressor.chunk(stored, room).unwrap();
            assert!(found == plain, "{compression:?}");
            crate::round_trip::check(sample, found);
        }
    }
}

#[test]
fn tables_and_contexts_fit_what_they_are_said_to_take() {
    use zstd::zstd_safe::{CCtx, DCtx, compress_bound};
    let plain: Vec<u8> =
        (0_u32..1 << 17).flat_map(|n| (n.wrapping_mul(n) / 7).to_le_bytes()).collect();
    let (mut compress, mut decompress) = (CCtx::create(), DCtx::create());
    let mut frame = vec![0; compress_bound(plain.len())];
    let bytes = compress.compress(&mut frame[..], &plain, 1).unwrap();
    let mut back = vec![0; plain.len()];
    decompress.decompress(&mut back[..], &frame[..bytes]).unwrap();
    let beside = |all: usize, bound: usize| all - bound;
    let expected = Compression::Zstd.compressor_bytes(plain.len());
    assert!(compress.sizeof() <= beside(expected, frame.len()), "{}", compress.sizeof());
    let expected = Compression::Zstd.decompressor_bytes();
    assert!(decompress.sizeof() <= expected, "{}", decompress.sizeof());
}

proptest! {
    #[test]
    fn any_bytes_come_out_of_their_frame(
        compression in select(codecs().collect::<Vec<_>>()),
        words in vec(any::<u8>(), 1..40),
        order in vec(any::<prop::sample::Index>(), 0..600),
    ) {
        let plain: Vec<u8> = order.iter().map(|place| *place.get(&words)).collect();
        let mut compressor = Compressor::new(compression).unwrap();
        for plain in [&plain[..], &plain[..plain.len() / 2], &plain] {
            let Some(stored) = compressor.frame(plain) else { continue };
            prop_assert!(stored.len() < plain.len());
            let frame = Frame::open(stored).unwrap();
            prop_assert_eq!(frame.compression(), compression);
            prop_assert_eq!((frame.plain_bytes(), frame.bytes()), (plain.len(), stored.len()));
            prop_assert_eq!(&opened(stored, 600).unwrap()[..], plain);
            if !plain.is_empty() {
                prop_assert!(opened(stored, plain.len() - 1).is_err());
            }
        }
    }

    #[test]
    fn nonsense_with_a_right_checksum_is_an_error_or_bytes(
        codec in 0_u8..6,
        plain_bytes in 0_u32..5000,
        compressed in vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = b"WELTERFR\x01\0".to_vec();
        bytes.extend([codec, 0]);
        bytes.extend(plain_bytes.to_le_bytes());
        bytes.extend((compressed.len() as u32).to_le_bytes());
        bytes.extend([0; 8]);
        let sum = crc32c(&[&bytes[..], &compressed].concat());
        bytes.extend(sum.to_le_bytes());
        bytes.extend(compressed);
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        if let Ok(plain) = opened(&bytes, 4096) {
            prop_assert_eq!(plain.len(), plain_bytes as usize);
        }
        fuzzing::chunk(&bytes);
    }
}

#[test]
fn chunks_that_do_not_become_smaller_are_stored_as_they_are() {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as u8
    };
    let plain: Vec<u8> = (0..4096).map(|_| noise()).collect();
    for compression in codecs() {
        assert_eq!(framed(compression, &plain), None, "{compression:?}");
        assert_eq!(framed(compression, &[]), None, "{compression:?}");
    }
    assert!(Compressor::new(Compression::None).is_none());
    assert_eq!(opened(&plain, 0).unwrap(), plain);
}

fn golden(compression: Compression) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(format!("tests/golden-frames/{}.frame", compression.name()))
}

/// Codecs may write other bytes in a later version, so only what comes out is compared.
#[test]
fn frames_of_ever_are_read() {
    let expected = regular().build();
    for compression in codecs() {
        let path = golden(compression);
        if std::env::var_os("WELTER_BLESS").is_some() {
            let frame = framed(compression, expected.bytes()).unwrap();
            fs::write(&path, &frame).unwrap();
            let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
            let seed = format!("../../fuzz/seeds/chunk/frame-{}", compression.name());
            fs::write(root.join(seed), &frame).unwrap();
        }
        let frame = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let number = |at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().unwrap());
        let end = 32 + number(16) as usize;
        assert_eq!(&frame[..12], &[&b"WELTERFR\x01\0"[..], &[compression as u8, 0]].concat());
        assert_eq!(number(12) as usize, expected.bytes().len());
        assert_eq!(number(28), crc32c(&[&frame[..28], &frame[32..end]].concat()));
        assert_eq!(frame.len(), end.next_multiple_of(64));
        assert!(opened(&frame, 1 << 12).unwrap() == expected.bytes(), "{compression:?}");
    }
    let files = golden(Compression::Zstd).parent().unwrap().read_dir().unwrap();
    assert_eq!(files.count(), codecs().count());
}

#[test]
fn every_flipped_bit_of_a_frame_is_noticed() {
    for compression in codecs() {
        let mut frame = Aligned::new(&framed(compression, regular().build().bytes()).unwrap());
        for bit in 0..frame.bytes().len() * 8 {
            frame.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
            let place = format!("{compression:?}: bit {} of byte {}", bit % 8, bit / 8);
            match opened(frame.bytes(), 1 << 12) {
                // It is no frame any more, and so it is to be a chunk.
                Ok(_) => assert!(bit < 64, "{place}"),
                Err(_) => assert!(bit >= 64, "{place}"),
            }
            frame.bytes_mut()[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_missing_byte_of_a_frame_is_noticed() {
    for compression in codecs() {
        let frame = framed(compression, regular().build().bytes()).unwrap();
        for length in 8..frame.len() {
            let error = opened(&frame[..length], 1 << 12).unwrap_err();
            let ChunkError::Short { need, have } = error else { panic!("{error}") };
            assert!(have == length as u64 && need > have && need <= frame.len() as u64);
        }
        // A chunk has its bytes alone.
        let longer = [&frame[..], &[0; 64]].concat();
        assert!(opened(&longer, 1 << 12).is_err());
    }
}

#[test]
fn forged_frames_are_refused() {
    let plain = regular().build();
    for compression in codecs() {
        let forged = |at: usize, value: &[u8]| {
            let mut frame = framed(compression, plain.bytes()).unwrap();
            frame[at..at + value.len()].copy_from_slice(value);
            let end = 32 + u32::from_le_bytes(frame[16..20].try_into().unwrap()) as usize;
            if let Some(compressed) = frame.get(32..end) {
                let sum = crc32c(&[&frame[..28], compressed].concat());
                frame[28..32].copy_from_slice(&sum.to_le_bytes());
            }
            opened(&frame, 1 << 12).unwrap_err()
        };
        let field = |error: ChunkError| match error {
            ChunkError::Field { what, .. } => what,
            other => panic!("{compression:?}: {other}"),
        };
        assert_eq!(forged(8, &[2]), ChunkError::Version { found: 2, known: 1 });
        assert_eq!(field(forged(10, &[0])), "compression");
        assert_eq!(field(forged(10, &[5])), "compression");
        assert_eq!(field(forged(11, &[1])), "padding of the frame");
        assert_eq!(field(forged(20, &[1])), "padding of the frame");
        // More than the room of the reader, whatever that would decompress to.
        assert_eq!(field(forged(12, &[0xff; 4])), "size of the chunk");
        let longer = plain.bytes().len() as u32 + 1;
        let shorter = plain.bytes().len() as u32 - 1;
        for bytes in [longer, shorter] {
            let (codec, error) = (compression.name(), forged(12, &bytes.to_le_bytes()));
            assert_eq!(error, ChunkError::Compressed { codec, bytes: bytes.into() });
        }
        let short = matches!(forged(16, &[0xff; 4]), ChunkError::Short { .. });
        assert!(short, "{compression:?}");
        // Bytes of another codec.
        for other in codecs().filter(|other| *other != compression) {
            let error = forged(10, &[other as u8]);
            assert!(matches!(error, ChunkError::Compressed { .. }), "{error}");
        }
    }
}
