//! `codec`: what it costs to encode and decode the keys of tiles, beside copying them; and how many
//! bytes an edge takes ([`crate::bytes`]).
//!
//! The keys are those of one stripe of a scrambled R-MAT graph, tile by tile, as the engine cuts
//! them on a processor with small caches: 2^18 destinations, blocks of 2^12 sources. One thread.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use welter_store::codec::{Decoder, OVERREAD, SimdLevel, encode};
use welter_store::header::Encoding;

use crate::Settings;
use crate::bytes;
use crate::inputs::{Kind, Shape};
use crate::measure::{Contender, interleave};
use crate::report::{Table, digits, ratio};

/// Log2 of the destinations of the stripe.
const STRIPE_BITS: u32 = 18;
/// Log2 of the sources of a block.
const BLOCK_BITS: u32 = 12;
/// Keys that are decoded at a time, as in the engine: 1 KiB of them.
const BUFFER: usize = 256;

/// Measures the codec, then the bytes of all graphs of the settings.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let scale = settings.scales.first().copied().unwrap_or(22).max(STRIPE_BITS);
    let shape = Shape { kind: Kind::RmatScrambled, scale };
    let mut tables = Vec::new();
    let coded = [
        (Encoding::Compressed, "Stream-vbyte"),
        (Encoding::Short, "Short"),
        (Encoding::Pairs, "Pairs"),
    ];
    for (encoding, name) in coded {
        tables.push(speed((encoding, name), shape, settings)?);
    }
    tables.push(bytes::table(settings)?);
    Ok(tables)
}

/// Keys of tiles, one tile after the other, and the same encoded.
struct Tiles {
    encoding: Encoding,
    keys: Vec<u32>,
    /// Where the keys of each tile end.
    ends: Vec<usize>,
    encoded: Vec<u8>,
    /// Where the bytes of each tile begin.
    starts: Vec<usize>,
}

impl Tiles {
    /// The tiles of the first stripe of a graph.
    fn of(encoding: Encoding, shape: Shape) -> Result<Self> {
        let stream = shape.stream()?;
        let mut pairs: Vec<u64> = Vec::new();
        for part in 0..stream.parts() {
            let read = stream.read(part, &mut |batch| {
                let inside = batch.pairs.iter().filter(|pair| pair[1] >> STRIPE_BITS == 0);
                pairs.extend(inside.map(|pair| u64::from(pair[0]) << 32 | u64::from(pair[1])));
                true
            });
            read.map_err(anyhow::Error::from_boxed)?;
        }
        pairs.sort_unstable();
        let block = |pair: u64| pair >> (32 + BLOCK_BITS);
        let mut tiles = Self {
            encoding,
            keys: Vec::new(),
            ends: Vec::new(),
            encoded: Vec::new(),
            starts: Vec::new(),
        };
        for tile in pairs.chunk_by(|&a, &b| block(a) == block(b)) {
            let source = |pair: u64| (pair >> 32) as u32 & ((1 << BLOCK_BITS) - 1);
            let key = |&pair: &u64| source(pair) << STRIPE_BITS | pair as u32;
            let start = tiles.keys.len();
            tiles.keys.extend(tile.iter().map(key));
            tiles.ends.push(tiles.keys.len());
            tiles.starts.push(tiles.encoded.len());
            encode(encoding, STRIPE_BITS, &tiles.keys[start..], &mut tiles.encoded);
        }
        tiles.encoded.resize(tiles.encoded.len() + OVERREAD, 0);
        Ok(tiles)
    }

    /// The keys of each tile.
    fn each(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.keys[std::mem::replace(&mut start, end)..end])
    }

    /// Decodes all tiles and hands on the keys by the buffer.
    fn decode(&self, level: SimdLevel, mut visit: impl FnMut(&[u32])) {
        let mut buffer = [0; BUFFER];
        for (tile, &start) in self.each().zip(&self.starts) {
            let bytes = &self.encoded[start..];
            let mut decoder = Decoder::new(self.encoding, STRIPE_BITS, bytes, tile.len(), level);
            while let Some(decoder) = &mut decoder {
                let count = decoder.fill(&mut buffer);
                if count == 0 {
                    break;
                }
                visit(&buffer[..count]);
            }
        }
    }

    /// Copies all keys through a buffer, as decoding does.
    fn copy(&self) {
        let mut buffer = [0; BUFFER];
        for keys in self.each().flat_map(|tile| tile.chunks(BUFFER)) {
            buffer[..keys.len()].copy_from_slice(keys);
            black_box(&buffer);
        }
    }
}

fn speed((encoding, name): (Encoding, &str), shape: Shape, settings: &Settings) -> Result<Table> {
    let tiles = Tiles::of(encoding, shape)?;
    let mut contenders = vec![Contender::new(COPY, 1, || Ok(vec![timed(|| tiles.copy())]))];
    for level in SimdLevel::available() {
        check(&tiles, level)?;
        let tiles = &tiles;
        contenders.push(Contender::new(format!("decode, {level:?}"), 1, move || {
            Ok(vec![timed(|| decode(tiles, level))])
        }));
    }
    let mut bytes = Vec::with_capacity(tiles.encoded.len() + (4 << 16));
    let tiles = &tiles;
    contenders.push(Contender::new("encode", 1, move || {
        bytes.clear();
        Ok(vec![timed(|| {
            for tile in tiles.each() {
                encode(encoding, STRIPE_BITS, tile, &mut bytes);
            }
        })])
    }));
    let samples = interleave("codec", contenders, 3 * settings.rounds)?;
    let keys = tiles.keys.len();
    let title = format!(
        "{name}, one stripe of {shape}: {keys} keys, {} tiles, {:.2} bytes a key",
        tiles.ends.len(),
        tiles.encoded.len() as f64 / keys as f64
    );
    let mut table = Table::new(title, &["what", "ns/key", "G keys/s", "cost vs memcpy"]);
    let copy = samples.iter().find(|samples| samples.name == COPY);
    for own in &samples {
        let seconds = own.median();
        table.row(vec![
            own.name.clone(),
            format!("{:.3}", seconds * 1e9 / keys as f64),
            digits(keys as f64 / seconds / 1e9),
            ratio(copy.map(|copy| seconds / copy.median())),
        ]);
    }
    Ok(table)
}

const COPY: &str = "memcpy";

/// Checks that decoding gives the keys that were encoded.
fn check(tiles: &Tiles, level: SimdLevel) -> Result<()> {
    let mut rest = &tiles.keys[..];
    let mut same = true;
    tiles.decode(level, |keys| {
        same &= rest.starts_with(keys);
        rest = rest.get(keys.len()..).unwrap_or_default();
    });
    ensure!(same && rest.is_empty(), "{level:?} decodes other keys");
    Ok(())
}

fn decode(tiles: &Tiles, level: SimdLevel) {
    tiles.decode(level, |keys| {
        black_box(keys);
    });
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_decodes_the_tiles() {
        for encoding in [Encoding::Compressed, Encoding::Short, Encoding::Pairs] {
            let shape = Shape { kind: Kind::RmatScrambled, scale: 12 };
            let tiles = Tiles::of(encoding, shape).unwrap();
            assert_eq!(tiles.keys.len(), 16 << 12);
            assert!(tiles.each().all(<[u32]>::is_sorted));
            for level in SimdLevel::available() {
                check(&tiles, level).unwrap();
            }
        }
    }
}
