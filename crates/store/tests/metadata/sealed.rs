//! Every flipped bit and every missing byte is noticed, and reported with its file.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use welter_store::StoreError;
use welter_store::io::{Fault, Faults};
use welter_store::sealed::{BLOCK_BYTES, Identity, SealedReader, SealedWriter, seal, unseal};

use crate::entries;
use welter_progress::FailureKind;

const KIND: [u8; 8] = *b"MANIFEST";
const IDENTITY: Identity = Identity { kind: KIND, version: 1, graph: 0xABCD, generation: 7 };

fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    unseal(path, KIND, 1 << 30, None).map(|(_, payload)| payload)
}

/// Asserts that reading fails as damage that names the file.
fn assert_damaged(path: &Path, what: &str) {
    let error = read(path).map(drop).expect_err(what);
    assert_eq!(error.kind(), FailureKind::Damaged, "{what}: {error}");
    assert!(error.to_string().starts_with(path.to_str().unwrap()), "{what}: {error}");
    assert!(error.to_string().contains("offset"), "{what}: {error}");
}

fn sample(folder: &Path, payload: &[u8]) -> PathBuf {
    let path = folder.join("manifest");
    seal(&path, &IDENTITY, payload, None).unwrap();
    assert_eq!(read(&path).unwrap(), payload);
    path
}

#[test]
fn every_flipped_bit_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for payload in [&b""[..], b"x", b"a manifest of some bytes"] {
        let path = sample(folder.path(), payload);
        let good = fs::read(&path).unwrap();
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bad).unwrap();
            assert_damaged(&path, &format!("bit {} of byte {}", bit % 8, bit / 8));
        }
    }
}

#[test]
fn every_missing_or_added_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    for payload in [&b""[..], b"x", b"a manifest of some bytes"] {
        let path = sample(folder.path(), payload);
        let good = fs::read(&path).unwrap();
        for length in 0..good.len() {
            fs::write(&path, &good[..length]).unwrap();
            assert_damaged(&path, &format!("{length} of {} bytes", good.len()));
        }
        for more in [1, 4, 100] {
            let mut bad = good.clone();
            bad.resize(good.len() + more, 0);
            fs::write(&path, &bad).unwrap();
            assert_damaged(&path, &format!("{more} bytes too many"));
        }
    }
}

#[test]
fn the_place_of_the_damage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("degrees");
    let degrees: Vec<u32> = (0..BLOCK_BYTES as u32).collect();
    seal(&path, &IDENTITY, bytemuck::cast_slice(&degrees), None).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let at = 64 + 2 * (BLOCK_BYTES as u64 + 4) + 1000;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    let mut reader = SealedReader::open(&path, KIND, None).unwrap();
    let mut some = [0; 100];
    reader.read_items(&mut some).unwrap();
    assert_eq!(some[..], degrees[..100]);
    let StoreError::Damaged { offset, what, .. } = reader.verify().unwrap_err() else { panic!() };
    assert_eq!(offset, at - 1000);
    assert!(what.contains("block 2"), "{what}");
    // Behind it all is well, and it is noticed again each time.
    reader.read_at(3 * BLOCK_BYTES as u64, &mut [0; 10]).unwrap();
    assert!(reader.read_at(3 * BLOCK_BYTES as u64 - 1, &mut [0]).is_err());
    assert!(reader.read_at(3 * BLOCK_BYTES as u64 - 1, &mut [0]).is_err());
}

#[test]
fn blocks_that_changed_places_or_files_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    let payload = vec![7; 2 * BLOCK_BYTES + 1];
    seal(&a, &IDENTITY, &payload, None).unwrap();
    seal(&b, &Identity { generation: 8, ..IDENTITY }, &payload, None).unwrap();
    let block = BLOCK_BYTES + 4;
    let (good, other) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
    // The blocks hold the same bytes, and still one is not the other.
    let mut bad = good.clone();
    bad.copy_within(64..64 + block, 64 + block);
    fs::write(&a, &bad).unwrap();
    assert_damaged(&a, "a block in the place of the next one");
    let mut bad = good;
    bad[64..64 + block].copy_from_slice(&other[64..64 + block]);
    fs::write(&a, &bad).unwrap();
    assert_damaged(&a, "a block of another generation");
}

#[test]
fn files_of_another_kind_graph_version_or_size_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path(), b"payload");
    let error = SealedReader::open(&path, *b"DEGREES ", None).unwrap_err();
    assert!(
        error.to_string().contains("MANIFEST") && error.kind() == FailureKind::Damaged,
        "{error}"
    );
    assert!(unseal(&path, KIND, 6, None).is_err());
    assert!(unseal(&path, KIND, 7, None).is_ok());
    let mut reader = SealedReader::open(&path, KIND, None).unwrap();
    assert_eq!((reader.identity(), reader.payload_bytes()), (IDENTITY, 7));
    reader.belongs_to(0xABCD, 7).unwrap();
    assert!(reader.belongs_to(0xABCD, 6).is_err() && reader.belongs_to(0xABCE, 7).is_err());
    reader.is_version(1).unwrap();
    assert_eq!(reader.is_version(2).unwrap_err().kind(), FailureKind::Input);
    assert!(reader.read_at(u64::MAX, &mut [0]).is_err());
    assert!(reader.read(&mut [0; 8]).is_err());
    assert_eq!(reader.read_rest(100).unwrap(), b"payload");
    let missing = SealedReader::open(&folder.path().join("none"), KIND, None).unwrap_err();
    assert_eq!(missing.kind(), FailureKind::Missing);
}

#[test]
fn a_stated_length_is_held_against_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manifest");
    for payload_bytes in [8_u64, 1 << 40, 1 << 62, u64::MAX] {
        let identity = IDENTITY;
        let mut writer = SealedWriter::create(&path, &identity, payload_bytes, None).unwrap();
        writer.append(b"seven..").unwrap();
        assert!(writer.commit().is_err(), "less than was promised");
    }
    assert!(entries(folder.path()).is_empty());
    let mut writer = SealedWriter::create(&path, &IDENTITY, 2, None).unwrap();
    assert!(writer.append(b"three").is_err(), "more than was promised");
}

#[test]
fn nothing_comes_behind_the_last_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sealed");
    for bytes in [0, 3, BLOCK_BYTES, BLOCK_BYTES + 3] {
        let mut writer = SealedWriter::create(&path, &IDENTITY, bytes as u64, None).unwrap();
        writer.append(&vec![1; bytes]).unwrap();
        writer.append(&[]).unwrap();
        assert!(matches!(writer.append(&[1]), Err(StoreError::Request(_))), "{bytes}");
        writer.commit().unwrap();
        assert_eq!(read(&path).unwrap(), vec![1; bytes]);
    }
}

#[test]
fn each_call_fails_once() {
    let payload: Vec<u8> = (0..BLOCK_BYTES + 10).map(|number| number as u8).collect();
    for fault in [Fault::Errno(5), Fault::Errno(28), Fault::Short, Fault::FlipBit(77)] {
        for nth in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("column");
            let faults = Faults::nth(nth, fault);
            let came = seal(&path, &IDENTITY, &payload, Some(&faults));
            let sealed = came.is_ok();
            let came = came.and_then(|()| unseal(&path, KIND, 1 << 30, Some(&faults)));
            if !faults.fired() {
                assert!(nth > 2);
                break;
            }
            match came {
                Ok((_, read)) => assert!(fault == Fault::Short && read == payload),
                Err(error) => {
                    let flipped = matches!(fault, Fault::FlipBit(_));
                    assert_eq!(error.kind() == FailureKind::Damaged, flipped, "{error}");
                    let left = entries(folder.path());
                    assert!(left.is_empty() || left == [path], "{left:?}, sealed: {sealed}");
                }
            }
        }
    }
}

/// A head that says anything, with its checksum put right.
fn forged(kind: [u8; 8], fields: [u64; 3], payload_bytes: u64) -> [u8; 64] {
    let mut head = [0; 64];
    head[..8].copy_from_slice(b"WELTERSF");
    head[16..24].copy_from_slice(&kind);
    head[8..16].copy_from_slice(&fields[0].to_le_bytes());
    head[24..32].copy_from_slice(&fields[1].to_le_bytes());
    head[32..40].copy_from_slice(&fields[2].to_le_bytes());
    head[40..48].copy_from_slice(&payload_bytes.to_le_bytes());
    let sum = crc32c::crc32c(&head[..60]);
    head[60..].copy_from_slice(&sum.to_le_bytes());
    head
}

proptest! {
    #[test]
    fn a_forged_head_is_held_against_the_file(
        fields: [u64; 3],
        payload_bytes in
            prop_oneof![0..200_u64, any::<u64>(), (0..64_u32).prop_map(|bit| 1 << bit)],
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest");
        let head = forged(KIND, fields, payload_bytes);
        fs::write(&path, [&head[..], &rest].concat()).unwrap();
        match SealedReader::open(&path, KIND, None) {
            // The checksums of the blocks are not right.
            Ok(mut reader) => {
                let sums = 4 * u64::from(payload_bytes > 0);
                prop_assert_eq!(payload_bytes + sums, rest.len() as u64);
                prop_assert!(payload_bytes == 0 || reader.read_rest(u64::MAX).is_err());
                prop_assert!(reader.read_at(payload_bytes, &mut [0]).is_err());
            }
            Err(error) => prop_assert_eq!(error.kind(), FailureKind::Damaged),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn what_was_written_in_pieces_is_read_in_others(
        items in 0..700_000_usize,
        written in 1..400_000_usize,
        read in 1..400_000_usize,
        places in prop::collection::vec((any::<prop::sample::Index>(), 1..2_000_000_usize), 0..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("column");
        let column: Vec<u32> = (0..items as u32).map(|i| i.wrapping_mul(0x9E37_79B9)).collect();
        let mut writer = SealedWriter::create(&path, &IDENTITY, items as u64 * 4, None).unwrap();
        for part in column.chunks(written) {
            writer.append_items(part).unwrap();
        }
        writer.commit().unwrap();
        let mut reader = SealedReader::open(&path, KIND, None).unwrap();
        reader.verify().unwrap();
        let bytes: &[u8] = bytemuck::cast_slice(&column);
        let mut found = vec![0_u32; items];
        for part in found.chunks_mut(read) {
            reader.read_items(part).unwrap();
            if let Some((place, length)) = places.first() {
                let from = place.index(bytes.len());
                let mut some = vec![0; (*length).min(bytes.len() - from)];
                reader.read_at(from as u64, &mut some).unwrap();
                prop_assert!(some == bytes[from..from + some.len()]);
            }
        }
        prop_assert!(found == column);
        for (place, length) in &places {
            if bytes.is_empty() {
                break;
            }
            let from = place.index(bytes.len());
            let mut some = vec![0; (*length).min(bytes.len() - from)];
            reader.read_at(from as u64, &mut some).unwrap();
            prop_assert!(some == bytes[from..from + some.len()]);
        }
    }
}
