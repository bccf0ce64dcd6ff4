//! `compression`: what general-purpose codecs make of chunks and of raw pairs, in bytes and time an
//! edge, and below which bandwidth of a device they pay.
//!
//! *Raw pairs* are those of X-Stream's files, eight bytes an edge in the order of the input, in
//! blocks of 1 MiB as in "X-Stream in the cloud", Table 1. *Chunks* are welter's, of all stripes of
//! 2^18 destinations, with blocks of 2^12 sources, in each encoding. One thread; to the time in
//! which bytes become edges again that of reading them at a bandwidth is added. Where two ways take
//! as long at some bandwidth, the one with fewer bytes pays below it.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use welter_input::ReadOptions;
use welter_model::edges::EdgeStream;
use welter_progress::Progress;
use welter_store::ChunkBuilder;
use welter_store::chunk::Chunk;
use welter_store::codec::{Decoder, SimdLevel};
use welter_store::frame::{Compression, Compressor, Decompressor};
use welter_store::header::{CellId, Encoding, Label};
use welter_store::weights::WeightKind;

use crate::Settings;
use crate::measure::{Contender, Samples, interleave};
use crate::report::{Table, digits};

const STRIPE_BITS: u32 = 18;
const BLOCK_BITS: u32 = 12;
/// Edges of a tile at most, and bytes at which a chunk is closed, as in the engine.
const TILE_EDGES_MAX: usize = 1 << 15;
const CHUNK_BYTES: usize = (1 << 19) - (1 << 16);
/// Bytes of a block of raw pairs.
const RAW_BYTES: usize = 1 << 20;
/// Keys that are decoded at a time.
const BUFFER: usize = 256;

/// Real graphs that are measured too, where the shared data are beside the repository.
pub(crate) const REAL: [&str; 5] = [
    "cnr-2000/cnr-2000.txt.zst",
    "soc-Slashdot0902/soc-Slashdot0902.txt.gz",
    "email-Enron/email-Enron.txt.zst",
    "cit-HepTh/arxiv-cit-hep-th.jlg",
    "debian-depends/debian-bookworm-depends.tsv.zst",
];

/// Measures generated graphs of the settings, and real ones.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        let name = shape.to_string();
        tables.push(measure(&name, &pairs(&*shape.stream()?)?, settings.rounds)?);
    }
    for file in REAL {
        let path = graphs().join(file);
        let name = file.split('/').next().unwrap_or(file);
        if path.exists() {
            tables.push(measure(name, &read(&path)?, settings.rounds)?);
        } else {
            eprintln!("compression: {} is not there", path.display());
        }
    }
    Ok(tables)
}

/// Percents of the bytes of raw pairs that ways save: codecs on the pairs, then on encoded chunks
/// (none and zstd).
pub(crate) fn savings(pairs: &[[u32; 2]], codecs: &[Compression]) -> Vec<f64> {
    let all = layouts(pairs);
    let whole = size_of_val(pairs) as f64;
    let saved = |layout: &Layout, compression: Compression| {
        let stored = CompressedLayout::new(layout, compression)
            .stored
            .iter()
            .map(|block| block.bytes)
            .sum::<usize>();
        100.0 * (1.0 - stored as f64 / whole)
    };
    let of_pairs = codecs.iter().map(|codec| saved(&all[0], *codec));
    let encoded = all.last().into_iter().flat_map(|layout| {
        [Compression::None, Compression::Zstd].map(|codec| saved(layout, codec))
    });
    of_pairs.chain(encoded).collect()
}

/// Folder of real graphs, beside the repository.
pub(crate) fn graphs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/graphs")
}

/// Pairs of a file, in its order.
pub(crate) fn read(path: &Path) -> Result<Vec<[u32; 2]>> {
    let name = path.to_string_lossy().into_owned();
    let options = ReadOptions::default();
    let input = welter_input::read(&[name], &options, &Progress::new())
        .with_context(|| path.display().to_string())?;
    pairs(&*input.edges)
}

/// The edges in the order of their stream.
pub(crate) fn pairs(stream: &dyn EdgeStream) -> Result<Vec<[u32; 2]>> {
    let mut pairs = Vec::new();
    for part in 0..stream.parts() {
        let read = stream.read(part, &mut |batch| {
            pairs.extend_from_slice(batch.pairs);
            true
        });
        read.map_err(anyhow::Error::from_boxed)?;
    }
    Ok(pairs)
}

/// A way to lay edges out: blocks of bytes that are stored one by one.
struct Layout {
    name: &'static str,
    blocks: Vec<Block>,
    /// Whether blocks are chunks, which are decoded.
    is_chunks: bool,
}

/// Bytes at an address that chunks may lie at.
struct Block {
    words: Vec<u64>,
    bytes: usize,
}

impl Block {
    fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, bytes: bytes.len() }
    }

    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.bytes]
    }
}

/// The layouts of a graph.
fn layouts(pairs: &[[u32; 2]]) -> Vec<Layout> {
    let raw = bytemuck::cast_slice(pairs).chunks(RAW_BYTES).map(Block::new).collect();
    let mut all = vec![Layout { name: "raw pairs", blocks: raw, is_chunks: false }];
    let mut sorted: Vec<(u32, [u32; 2])> =
        pairs.iter().map(|pair| (pair[1] >> STRIPE_BITS, *pair)).collect();
    sorted.sort_unstable();
    for (name, encoding) in [
        ("packed", Encoding::Packed),
        ("short", Encoding::Short),
        ("compressed", Encoding::Compressed),
        ("pairs", Encoding::Pairs),
    ] {
        let stripes = sorted.chunk_by(|one, next| one.0 == next.0);
        let blocks = stripes.flat_map(|stripe| chunks(stripe, encoding)).collect();
        all.push(Layout { name, blocks, is_chunks: true });
    }
    all
}

/// The chunks of a stripe, whose edges are sorted.
fn chunks(stripe: &[(u32, [u32; 2])], encoding: Encoding) -> Vec<Block> {
    let number = stripe[0].0;
    let mut label = Label {
        graph: 1,
        generation: 0,
        cell: CellId { source_partition: 0, stripe: number },
        number: 0,
        source_base: 0,
        target_base: u64::from(number) << STRIPE_BITS,
        target_bits: STRIPE_BITS,
        encoding,
        weights: WeightKind::None,
    };
    let (mut builder, of_tiles) = (ChunkBuilder::new(false), label);
    let (mut blocks, mut bytes) = (Vec::new(), Vec::new());
    let mut close = |builder: &mut ChunkBuilder| {
        bytes.clear();
        builder.finish(&label, &mut bytes);
        blocks.push(Block::new(&bytes));
        label.number += 1;
    };
    let block = |edge: &(u32, [u32; 2])| edge.1[0] >> BLOCK_BITS;
    let tiles = stripe.chunk_by(|one, next| block(one) == block(next));
    for tile in tiles.flat_map(|tile| tile.chunks(TILE_EDGES_MAX)) {
        let first = block(&tile[0]) << BLOCK_BITS;
        let key = |(_, [source, target]): &(u32, [u32; 2])| {
            (source - first) << STRIPE_BITS | target & ((1 << STRIPE_BITS) - 1)
        };
        let keys: Vec<u32> = tile.iter().map(key).collect();
        if !builder.is_empty() && builder.bytes() + encoding.bytes_most(keys.len()) > CHUNK_BYTES {
            close(&mut builder);
        }
        builder.push(first, &keys, &[], &of_tiles);
    }
    close(&mut builder);
    blocks
}

/// A layout under a compression.
struct CompressedLayout<'l> {
    layout: &'l Layout,
    compression: Compression,
    /// Blocks as they are stored.
    stored: Vec<Block>,
}

impl<'l> CompressedLayout<'l> {
    fn new(layout: &'l Layout, compression: Compression) -> Self {
        let mut compressor = Compressor::new(compression);
        let stored = layout.blocks.iter().map(|block| {
            let frame = compressor.as_mut().and_then(|compressor| compressor.frame(block.bytes()));
            Block::new(frame.unwrap_or(block.bytes()))
        });
        Self { layout, compression, stored: stored.collect() }
    }

    fn name(&self) -> String {
        match self.compression {
            Compression::None => self.layout.name.to_owned(),
            compression => format!("{}, {}", self.layout.name, compression.name()),
        }
    }

    fn bytes(&self) -> usize {
        self.stored.iter().map(|block| block.bytes).sum()
    }

    /// Seconds to compress all blocks.
    fn compress(&self) -> f64 {
        let Some(mut compressor) = Compressor::new(self.compression) else { return 0.0 };
        let start = Instant::now();
        for block in &self.layout.blocks {
            black_box(compressor.frame(block.bytes()));
        }
        start.elapsed().as_secs_f64()
    }

    /// Seconds to get all edges from what is stored: keys, or pairs as they are.
    fn edges(&self) -> Result<f64> {
        let mut decompressor = Decompressor::new();
        let mut room = vec![0_u64; RAW_BYTES / 8];
        let start = Instant::now();
        for block in &self.stored {
            let room = bytemuck::cast_slice_mut(&mut room);
            let plain = decompressor.chunk(block.bytes(), room)?;
            if self.layout.is_chunks {
                decode(plain)?;
            }
            black_box(plain);
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Checks that what was stored comes back.
    fn check(&self) -> Result<()> {
        let mut decompressor = Decompressor::new();
        let mut room = vec![0; RAW_BYTES];
        for (block, stored) in self.layout.blocks.iter().zip(&self.stored) {
            let plain = decompressor.chunk(stored.bytes(), &mut room)?;
            ensure!(plain == block.bytes(), "{} gives other bytes", self.name());
        }
        Ok(())
    }
}

/// Decodes the keys of a chunk.
fn decode(bytes: &[u8]) -> Result<()> {
    let chunk = Chunk::open(bytes)?;
    let (encoding, level) = (chunk.label().encoding, SimdLevel::detect());
    let mut buffer = [0; BUFFER];
    for tile in chunk.tiles() {
        match &mut Decoder::new(encoding, STRIPE_BITS, tile.keys, tile.edges, level) {
            None => _ = black_box(tile.packed()),
            Some(decoder) => while black_box(decoder.fill(&mut buffer)) > 0 {},
        }
    }
    Ok(())
}

fn measure(name: &str, pairs: &[[u32; 2]], rounds: usize) -> Result<Table> {
    let of = |seconds: &Samples| seconds.median() * 1e9 / pairs.len() as f64;
    let mut costs: Vec<Cost> = Vec::new();
    let mut rows = Vec::new();
    for layout in layouts(pairs) {
        let ways = Compression::ALL.map(|compression| CompressedLayout::new(&layout, compression));
        ways.iter().try_for_each(CompressedLayout::check)?;
        let compress =
            |way| Contender::new("", 1, move || Ok(vec![CompressedLayout::compress(way)]));
        let edges = |way| Contender::new("", 1, move || Ok(vec![CompressedLayout::edges(way)?]));
        let contenders = ways.iter().map(compress).chain(ways.iter().map(edges)).collect();
        let samples = interleave(&format!("{name}, {}", layout.name), contenders, rounds)?;
        let (compress, edges) = samples.split_at(ways.len());
        let bytes = |way: &CompressedLayout<'_>| way.bytes() as f64 / pairs.len() as f64;
        let own = ways.iter().zip(edges).map(|(way, edges)| Cost::new(bytes(way), of(edges)));
        let own: Vec<Cost> = own.collect();
        for ((way, compress), cost) in ways.iter().zip(compress).zip(&own) {
            rows.push(vec![
                way.name(),
                format!("{:.2}", cost.bytes),
                format!("{:.1} %", 100.0 * (1.0 - cost.bytes / own[0].bytes)),
                format!("{:.2}", of(compress)),
                format!("{:.2}", cost.nanos),
                cost.pays_below(own[0]),
            ]);
        }
        costs.extend(own);
    }
    let columns =
        ["way", "bytes/edge", "saved", "compress, ns", "to edges, ns", "pays below", "best at"];
    let mut table = Table::new(format!("{name}: {} edges", pairs.len()), &columns);
    for (mut row, cost) in rows.into_iter().zip(&costs) {
        row.push(cost.best_at(&costs));
        table.row(row);
    }
    table.note("Times are of one thread, by the edge; \"to edges\" is decompressing and decoding.");
    table.note(
        "\"Pays below\": MB/s of a device below which reading and that together take less time \
         than without compression. \"Best at\": MB/s at which no other way here takes less.",
    );
    Ok(table)
}

/// Cost of an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    bytes: f64,
    nanos: f64,
}

impl Cost {
    fn new(bytes: f64, nanos: f64) -> Self {
        Self { bytes, nanos }
    }

    /// Bandwidth in MB/s at which it takes as long as one that has more bytes and is faster.
    fn equal(self, faster: Self) -> f64 {
        1e3 * (faster.bytes - self.bytes) / (self.nanos - faster.nanos)
    }

    /// Bandwidth below which it beats the same layout as it is.
    fn pays_below(self, plain: Self) -> String {
        if self.bytes >= plain.bytes {
            return "-".to_owned();
        }
        if self.nanos <= plain.nanos { "any".to_owned() } else { digits(self.equal(plain)) }
    }

    /// Bandwidths at which it beats all.
    fn best_at(self, all: &[Self]) -> String {
        let (mut least, mut most) = (0.0_f64, f64::INFINITY);
        for other in all.iter().filter(|other| **other != self) {
            match (other.bytes < self.bytes, other.nanos < self.nanos) {
                (true, true) => return "-".to_owned(),
                (false, true) => most = most.min(self.equal(*other)),
                (true, false) => least = least.max(other.equal(self)),
                (false, false) => {}
            }
        }
        match least < most {
            false => "-".to_owned(),
            true if most.is_infinite() => format!("from {}", digits(least)),
            true => format!("{} to {}", digits(least), digits(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_those_at_which_times_are_equal() {
        let (plain, quick, small) =
            (Cost::new(8.0, 0.0), Cost::new(6.0, 2.0), Cost::new(5.0, 12.0));
        let (poor, grown) = (Cost::new(7.0, 3.0), Cost::new(9.0, 1.0));
        let all = [plain, quick, small, poor, grown];
        assert_eq!(all.map(|cost| cost.pays_below(plain)), ["-", "1000", "250", "333", "-"]);
        let best = all.map(|cost| cost.best_at(&all));
        assert_eq!(best, ["from 1000", "100 to 1000", "0.00 to 100", "-", "-"]);
    }

    #[test]
    fn what_is_stored_comes_back_in_every_way() {
        let shape = crate::inputs::Shape { kind: crate::inputs::Kind::Rmat, scale: 12 };
        let table = measure("small", &pairs(&*shape.stream().unwrap()).unwrap(), 1).unwrap();
        assert_eq!(table.rows.len(), 25);
        let row = |name: &str| table.rows.iter().find(|row| row[0] == name).unwrap();
        assert_eq!(row("raw pairs")[1], "8.00");
        assert_ne!(row("raw pairs, zlib")[2], "0.0 %");
    }
}
