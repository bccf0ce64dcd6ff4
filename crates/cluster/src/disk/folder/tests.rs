//! Files as a process leaves them, and as a device or a power cut does.

use std::fs;

use tempfile::TempDir;
use welter_protocol::ids::{Epoch, Kind};
use welter_store::io::Fault;

use super::*;

fn open(directory: &TempDir, faults: Option<Arc<Faults>>) -> Folder {
    Folder::open(directory.path(), faults).unwrap()
}

fn sample(number: u64, bytes: usize) -> (Block, Payload) {
    let name = BlockName {
        kind: Kind::Edges,
        role: Role::Primary,
        epoch: Epoch { coordinator: 2, count: 3 },
        iteration: 1,
        partition: 4,
        source: Some(0),
        number,
    };
    let payload = Payload::from((0..bytes).map(|at| at as u8 ^ number as u8).collect::<Vec<_>>());
    (Block::of(name, 7, 0b11, &payload), payload)
}

fn listed(folder: &Folder) -> (Vec<Block>, usize) {
    let Event::Start { blocks, manifests } = folder.start().unwrap() else { unreachable!() };
    (blocks, manifests.len())
}

fn file_of(directory: &TempDir, folder: &Folder, block: &Block) -> PathBuf {
    let path = folder.place(&block.name);
    assert!(path.starts_with(directory.path()));
    path
}

#[test]
fn blocks_come_back_and_are_listed_by_their_headers() {
    let directory = TempDir::new().unwrap();
    let folder = open(&directory, None);
    let all: Vec<_> = [0, 1, 4096, 9000].into_iter().zip(1..).map(|(b, n)| sample(n, b)).collect();
    for (block, payload) in &all {
        folder.write(block, payload).unwrap();
        folder.sync(block.name).unwrap();
        assert_eq!(folder.read(block.name).unwrap(), (*block, payload.clone()));
        let length = fs::metadata(file_of(&directory, &folder, block)).unwrap().len() as usize;
        assert_eq!(length % PAGE_BYTES, HEADER_BYTES, "payloads are whole pages");
    }
    folder.sync_names().unwrap();
    drop(folder);
    let folder = open(&directory, None);
    assert_eq!(listed(&folder), (all.iter().map(|(block, _)| *block).collect(), 0));
    folder.delete(all[0].0.name).unwrap();
    folder.delete(all[0].0.name).unwrap();
    folder.sync(all[0].0.name).unwrap();
    let missing = folder.read(all[0].0.name).unwrap_err();
    assert_eq!(missing.damage(), Damage::Missing);
    assert_eq!(listed(&folder).0.len(), 3);
}

#[test]
fn what_a_process_was_writing_is_no_block() {
    let directory = TempDir::new().unwrap();
    let folder = open(&directory, None);
    let (block, payload) = sample(1, 5000);
    folder.write(&block, &payload).unwrap();
    let path = file_of(&directory, &folder, &block);
    let whole = fs::read(&path).unwrap();
    let (other, _) = sample(2, 5000);
    let part = folder.place(&other.name).with_added_extension(PART);
    fs::write(&part, &whole[..6000]).unwrap();
    assert_eq!(listed(&folder).0, [block]);
    assert!(!part.exists(), "it makes room");
    // After a power cut a file may have its name and not its bytes.
    for length in [0, 71, 72, 4096, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(folder.read(block.name).unwrap_err().damage(), Damage::Torn, "{length} bytes");
        assert_eq!(listed(&folder).0, [], "{length} bytes");
        assert!(!path.exists());
    }
}

#[test]
fn a_file_under_another_name_is_no_block() {
    let directory = TempDir::new().unwrap();
    let folder = open(&directory, None);
    let [(one, payload), (other, _)] = [1, 2].map(|number| sample(number, 100));
    folder.write(&one, &payload).unwrap();
    fs::copy(folder.place(&one.name), folder.place(&other.name)).unwrap();
    assert_eq!(folder.read(other.name).unwrap_err().damage(), Damage::Misplaced);
    assert_eq!(listed(&folder).0, [one]);
}

#[test]
fn flipped_bits_are_damage() {
    let directory = TempDir::new().unwrap();
    let folder = open(&directory, None);
    let (block, payload) = sample(3, 100);
    folder.write(&block, &payload).unwrap();
    let path = file_of(&directory, &folder, &block);
    let whole = fs::read(&path).unwrap();
    for byte in (0..100).chain(PAGE_BYTES..whole.len()) {
        let mut flipped = whole.clone();
        flipped[byte] ^= 1 << (byte % 8);
        fs::write(&path, flipped).unwrap();
        assert_eq!(folder.read(block.name).unwrap_err().damage(), Damage::Torn, "byte {byte}");
    }
}

#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let directory = TempDir::new().unwrap();
    let (block, payload) = sample(1, 5000);
    for (call, nth) in [(Call::Create, 1), (Call::Write, 1), (Call::Write, 2), (Call::Rename, 1)] {
        let faults = Faults::nth_of(call, nth, Fault::Errno(5));
        let folder = open(&directory, Some(faults.clone()));
        folder.write(&block, &payload).unwrap_err();
        assert!(faults.fired());
        assert_eq!(listed(&folder).0, [], "{call:?} {nth}");
    }
    let folder = open(&directory, Some(Faults::nth_of(Call::Read, 2, Fault::Errno(5))));
    folder.write(&block, &payload).unwrap();
    assert_eq!(folder.read(block.name).unwrap_err().damage(), Damage::Torn, "EIO");
    assert!(folder.read(block.name).is_ok());
}

#[test]
fn a_block_whose_sync_fails_is_gone() {
    let directory = TempDir::new().unwrap();
    // The first three are for the directories themselves.
    let folder = open(&directory, Some(Faults::nth_of(Call::Sync, 4, Fault::Errno(5))));
    let (block, payload) = sample(1, 5000);
    folder.write(&block, &payload).unwrap();
    assert!(folder.sync(block.name).is_err());
    assert_eq!(listed(&folder).0, []);
}

#[test]
fn one_process_at_a_time_uses_a_directory_and_each_gets_a_larger_number() {
    let directory = TempDir::new().unwrap();
    let folder = open(&directory, None);
    assert!(matches!(Folder::open(directory.path(), None), Err(ClusterError::InUse(_))));
    assert_eq!([0, 0, 9, 0].map(|least| folder.incarnation(least).unwrap()), [1, 2, 10, 11]);
    drop(folder);
    let folder = open(&directory, None);
    assert_eq!(folder.incarnation(3).unwrap(), 12);
    let path = directory.path().join("incarnation");
    let bytes = fs::read(&path).unwrap();
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).unwrap();
        let found = folder.incarnation(0);
        let is_damaged = matches!(found, Err(ClusterError::Store(StoreError::Damaged { .. })));
        assert!(is_damaged, "bit {bit}: {found:?}");
    }
}
