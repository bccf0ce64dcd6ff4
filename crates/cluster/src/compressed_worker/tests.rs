//! A worker by hand, behind codecs: chunks that it makes, and those that it is given.

use std::sync::{Arc, Mutex};

use welter_protocol::ids::{Block, BlockName, Bytes, Epoch, Kind, Role, Step};
use welter_protocol::random::Random;

use super::*;

/// Makes a chunk of updates of the bytes at hand for each that it streams, and notes the chunks
/// that it is given.
struct Echo {
    makes: Vec<u8>,
    given: Arc<Mutex<Vec<Vec<u8>>>>,
}

fn filled(bytes: &[u8]) -> Filled {
    let (partition, source, records, combined, sources) = (0, None, 1, 0, u64::MAX);
    Filled { partition, source, records, combined, sources, payload: bytes.into() }
}

impl Worker for Echo {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        let filled = vec![filled(&self.makes)];
        Ok(match work {
            Work::Ingest { .. } => Outcome::Ingested { read: 1, filled, degrees: None },
            Work::Stream { payload, .. } => {
                self.given.lock().unwrap().push(payload.to_vec());
                let rewritten = Rewritten::InPlace(self.makes[..].into());
                Outcome::Streamed { made: 1, gathered: 0, rewritten, filled }
            }
            Work::Flush => Outcome::Flushed { filled, rewritten: Vec::new() },
            Work::HandOver => Outcome::HandedOver(self.makes[..].into()),
            _ => Outcome::Opened,
        })
    }

    fn borrow_streamer(&mut self) -> Option<Box<dyn Streamer>> {
        Some(Box::new(EchoPart(self.makes.clone(), self.given.clone())))
    }

    fn looked_at(&self) -> u64 {
        7
    }
}

/// Does so on another thread.
struct EchoPart(Vec<u8>, Arc<Mutex<Vec<Vec<u8>>>>);

impl Streamer for EchoPart {
    fn stream(&mut self, chunk: &[u8]) -> Result<Outcome, EngineError> {
        self.1.lock().unwrap().push(chunk.to_vec());
        let (rewritten, filled) = (Rewritten::Not, vec![filled(&self.0)]);
        Ok(Outcome::Streamed { made: 1, gathered: 0, rewritten, filled })
    }
}

struct Harness {
    worker: CompressedWorker,
    given: Arc<Mutex<Vec<Vec<u8>>>>,
}

fn harness(makes: &[u8], codecs: Codecs, disk: Option<DiskRates>) -> Harness {
    let given = Arc::default();
    let echo = Echo { makes: makes.to_vec(), given: Arc::clone(&given) };
    Harness { worker: CompressedWorker::new(Box::new(echo), codecs, disk), given }
}

impl Harness {
    fn stream(&mut self, payload: &Payload) -> Result<Outcome, EngineError> {
        let (kind, role, epoch) = (Kind::Edges, Role::Primary, Epoch { coordinator: 1, count: 1 });
        let (iteration, partition, source, number) = (0, 0, None, 1);
        let name = BlockName { kind, role, epoch, iteration, partition, source, number };
        let block = Block::of(name, 1, u64::MAX, payload);
        self.worker.work(&Work::Stream { block, payload: payload.clone() })
    }

    /// The bytes that it stores of a chunk of edges.
    fn ingested(&mut self) -> Payload {
        match self.worker.work(&Work::Ingest { first: true }) {
            Ok(Outcome::Ingested { filled, .. }) => filled[0].payload.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The bytes that it stores of updates, and of edges that were rewritten.
    fn streamed(&mut self, stored: &Payload) -> [Payload; 2] {
        match self.stream(stored) {
            Ok(Outcome::Streamed { rewritten: Rewritten::InPlace(edges), filled, .. }) => {
                [filled[0].payload.clone(), edges]
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Bytes that codecs make smaller.
fn plain(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 9 % 7) as u8).collect()
}

/// Bytes that they do not.
fn noise(length: usize) -> Vec<u8> {
    let mut random = Random::new(5);
    (0..length).map(|_| random.below(256) as u8).collect()
}

#[test]
fn chunks_come_back_whatever_is_in_them() {
    let framed =
        |chunk: &[u8]| Compressor::new(Compression::Lz4).unwrap().frame(chunk).unwrap().to_vec();
    let magic = |rest: &[u8]| [&MAGIC[..], rest].concat();
    let chunks = [
        Vec::new(),
        vec![1],
        plain(300_000),
        noise(5000),
        MAGIC.to_vec(),
        magic(&noise(700)),
        magic(&magic(&noise(70))),
        magic(&plain(70_000)),
        framed(&plain(70_000)),
    ];
    for compression in Compression::ALL {
        for chunk in &chunks {
            let mut harness = harness(chunk, Codecs::Stated(compression), None);
            let stored = harness.ingested();
            assert_eq!(stored.hash(), Payload::from(&stored[..]).hash());
            let [updates, edges] = harness.streamed(&stored);
            harness.stream(&updates).unwrap();
            harness.stream(&edges).unwrap();
            let given = harness.given.lock().unwrap();
            let name = compression.name();
            assert!(given.iter().all(|it| it == chunk), "{name}, {} bytes", chunk.len());
        }
        let stored = harness(&plain(300_000), Codecs::Stated(compression), None).ingested();
        assert_eq!(stored.len() < 300_000, compression != Compression::None);
    }
}

#[test]
fn streamers_have_codecs_of_their_own() {
    let chunk = plain(100_000);
    let slow = Some(DiskRates { read: 1e6, write: 1e6 });
    let mut harness = harness(&chunk, Codecs::Measured, slow);
    let stored = harness.ingested();
    assert!(stored.len() < chunk.len());
    let mut parts = [0; 3].map(|_| harness.worker.borrow_streamer().unwrap());
    for part in &mut parts {
        let Outcome::Streamed { filled, .. } = part.stream(&stored).unwrap() else {
            panic!("streamed")
        };
        assert!(filled[0].payload.len() < chunk.len(), "updates are compressed");
    }
    let damaged = &stored[..stored.len() - 1];
    assert!(parts[0].stream(damaged).is_err(), "a part of a frame");
    for part in parts {
        harness.worker.take_back(part);
    }
    assert_eq!(harness.worker.idle.len(), 3, "they came back");
    assert!(harness.worker.chosen.iter().all(Option::is_some), "what one chose is known");
    let given = harness.given.lock().unwrap();
    assert_eq!(given.len(), 3);
    assert!(given.iter().all(|it| *it == chunk));
}

#[test]
fn what_is_no_chunk_for_storage_stays_as_it_is() {
    let chunk = plain(100_000);
    let mut harness = harness(&chunk, Codecs::Stated(Compression::Zstd), None);
    let handed = harness.worker.work(&Work::HandOver).unwrap();
    assert!(matches!(handed, Outcome::HandedOver(payload) if payload[..] == chunk[..]));
    assert_eq!(harness.worker.looked_at(), 7);
}

#[test]
fn machines_need_not_have_one_codec() {
    let chunk = plain(100_000);
    for from in Compression::ALL {
        let stored = harness(&chunk, Codecs::Stated(from), None).ingested();
        for to in [Codecs::Stated(Compression::Zlib), Codecs::Measured] {
            let mut other = harness(b"", to, None);
            other.stream(&stored).unwrap();
            assert_eq!(
                other.given.lock().unwrap()[..],
                *std::slice::from_ref(&chunk),
                "{from:?} {to:?}"
            );
        }
    }
}

#[test]
fn codecs_are_chosen_by_the_disk_on_the_first_chunk_that_is_large_enough() {
    let slow = Some(DiskRates { read: 1e6, write: 1e6 });
    let fast = Some(DiskRates { read: 1e15, write: 1e15 });
    for (disk, is_compressed) in [(slow, true), (fast, false), (None, false)] {
        let mut harness = harness(&plain(100_000), Codecs::Measured, disk);
        let stored = harness.ingested();
        assert_eq!(stored.len() < 100_000, is_compressed, "{disk:?}");
        let step = Step { iteration: 0, phase: Phase::Scatter };
        let (vertices, control) = (Vec::new(), Bytes::from([]));
        harness.worker.work(&Work::Open { step, partition: 0, vertices, control }).unwrap();
        let [updates, edges] = harness.streamed(&stored);
        assert_eq!([updates, edges].map(|it| it.len() < 100_000), [is_compressed; 2], "{disk:?}");
    }
    let mut harness = harness(&plain(1000), Codecs::Measured, slow);
    assert_eq!(harness.ingested().len(), 1000, "too small to tell");
    assert_eq!(harness.worker.chosen, [None; 2]);
}

#[test]
fn damaged_frames_are_errors() {
    let stored = harness(&plain(3000), Codecs::Stated(Compression::Snappy), None).ingested();
    let mut other = harness(b"", Codecs::Stated(Compression::Snappy), None);
    // Behind the magic: without that it is a chunk, whose reader says that it is none.
    for at in MAGIC.len()..stored.len() {
        let mut bytes = stored.to_vec();
        bytes[at] ^= 1;
        let error = other.stream(&bytes.into()).expect_err("it is damaged");
        assert!(error.to_string().contains("frame"), "byte {at}: {error}");
    }
    let longer = [&stored[..], &[0; 64]].concat();
    assert!(other.stream(&longer.into()).is_err(), "a frame is all of a payload");
    assert!(other.stream(&stored[..stored.len() - 1].into()).is_err());
    assert!(other.given.lock().unwrap().is_empty());
}
