//! `compression`: what general-purpose codecs make of chunks and of raw pairs, in bytes and time an
//! edge, and below which bandwidth of a device they pay.
//!
//! *Raw pairs* are those of X-Stream's files, eight bytes an edge in the order of the input, in
//! blocks of 1 MiB as in "X-Stream in the cloud", Table 1. *Chunks* are welter's, of all stripes of
//! 2^18 destinations, with blocks of 2^12 sources, in each encoding. *Updates* are what each vertex
//! tells its neighbours in the third iteration of `PageRank` in `f32`, one by one in the order of
//! their sources, or added up by destination; their costs are by the edge too. One thread; to the
//! time in which bytes become edges again that of reading them at a bandwidth is added. Where two
//! ways take as long at some bandwidth, the one with fewer bytes pays below it.

mod cost;
mod layout;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use welter_input::ReadOptions;
use welter_model::edges::EdgeStream;
use welter_progress::Progress;
use welter_store::frame::{Compression, Compressor};
use welter_store::header::Encoding;

use self::cost::Cost;
use self::layout::{CompressedLayout, Layout, SortedEdges};
use crate::Settings;
use crate::measure::{Contender, Samples, interleave};
use crate::report::Table;

pub(crate) use self::layout::RAW_BYTES;

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
        tables.extend(measured(&shape.to_string(), &pairs(&*shape.stream()?)?, settings.rounds)?);
    }
    for file in REAL {
        let path = graphs().join(file);
        let name = file.split('/').next().unwrap_or(file);
        if path.exists() {
            tables.extend(measured(name, &read(&path)?, settings.rounds)?);
        } else {
            eprintln!("compression: {} is not there", path.display());
        }
    }
    Ok(tables)
}

/// The tables of a graph: its edges, and the updates of an iteration.
fn measured(name: &str, pairs: &[[u32; 2]], rounds: usize) -> Result<[Table; 2]> {
    let count = pairs.len();
    Ok([
        measure(name, (count, edges(pairs)), rounds)?,
        measure(&format!("{name}, updates"), (count, updates(pairs)), rounds)?,
    ])
}

/// Percent of the bytes of blocks that a compression saves.
pub(crate) fn saved<'b>(blocks: impl Iterator<Item = &'b [u8]>, compression: Compression) -> f64 {
    let mut compressor = Compressor::new(compression);
    let (mut plain, mut stored) = (0, 0);
    for block in blocks {
        let frame = compressor.as_mut().and_then(|compressor| compressor.frame(block));
        plain += block.len();
        stored += frame.unwrap_or(block).len();
    }
    100.0 * (1.0 - stored as f64 / plain as f64)
}

/// Percents of the bytes of pairs that encoded chunks save, as they are and with zstd.
pub(crate) fn saved_by_chunks(pairs: &[[u32; 2]]) -> [f64; 2] {
    let layout = SortedEdges::of(pairs).chunks("compressed", Encoding::Compressed);
    let kept = layout.bytes() as f64 / size_of_val(pairs) as f64;
    [Compression::None, Compression::Zstd]
        .map(|compression| 100.0 - kept * (100.0 - saved(layout.blocks(), compression)))
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

/// The layouts of a graph's edges.
fn edges(pairs: &[[u32; 2]]) -> impl Iterator<Item = Layout> {
    let sorted = SortedEdges::of(pairs);
    let chunks = move |(name, encoding)| sorted.chunks(name, encoding);
    let encodings = [
        ("packed", Encoding::Packed),
        ("short", Encoding::Short),
        ("compressed", Encoding::Compressed),
        ("pairs", Encoding::Pairs),
    ];
    [Layout::of_pairs(pairs)].into_iter().chain(encodings.into_iter().map(chunks))
}

/// The layouts of the updates of an iteration.
fn updates(pairs: &[[u32; 2]]) -> impl Iterator<Item = Layout> {
    let (sorted, signals) = (SortedEdges::of(pairs), signals(pairs));
    let one_by_one = [("packed", Encoding::Packed), ("short", Encoding::Short)]
        .map(|way| sorted.updates(way, &signals));
    let combined = [("combined", Encoding::Packed), ("combined, compressed", Encoding::Compressed)]
        .map(|way| sorted.combined(way, &signals));
    one_by_one.into_iter().chain(combined)
}

/// Share of its rank that each vertex sends to each of its neighbours after two iterations.
fn signals(pairs: &[[u32; 2]]) -> Vec<f32> {
    let slots = pairs.as_flattened().iter().max().map_or(0, |most| *most as usize + 1);
    let mut degrees = vec![0_u32; slots];
    for [source, _] in pairs {
        degrees[*source as usize] += 1;
    }
    let mut ranks = vec![1.0 / slots as f32; slots];
    let share = |ranks: &[f32]| -> Vec<f32> {
        ranks.iter().zip(&degrees).map(|(rank, degree)| rank / (*degree).max(1) as f32).collect()
    };
    for _ in 0..2 {
        let shares = share(&ranks);
        ranks.fill(0.15 / slots as f32);
        for [source, target] in pairs {
            ranks[*target as usize] += 0.85 * shares[*source as usize];
        }
    }
    share(&ranks)
}

/// Measures layouts under each compression, by the edge.
fn measure(
    name: &str,
    (count, layouts): (usize, impl Iterator<Item = Layout>),
    rounds: usize,
) -> Result<Table> {
    let of = |seconds: &Samples| seconds.median() * 1e9 / count as f64;
    let mut costs: Vec<Cost> = Vec::new();
    let mut rows = Vec::new();
    for layout in layouts {
        let ways = Compression::ALL.map(|compression| CompressedLayout::new(&layout, compression));
        ways.iter().try_for_each(CompressedLayout::check)?;
        let compress =
            |way| Contender::new("", 1, move || Ok(vec![CompressedLayout::compress(way)]));
        let edges = |way| Contender::new("", 1, move || Ok(vec![CompressedLayout::edges(way)?]));
        let contenders = ways.iter().map(compress).chain(ways.iter().map(edges)).collect();
        let samples = interleave(&format!("{name}, {}", layout.name), contenders, rounds)?;
        let (compress, edges) = samples.split_at(ways.len());
        let bytes = |way: &CompressedLayout<'_>| way.bytes() as f64 / count as f64;
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
    let mut table = Table::new(format!("{name}: {count} edges"), &columns);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_comes_back_in_every_way() {
        let shape = crate::inputs::Shape { kind: crate::inputs::Kind::Rmat, scale: 12 };
        let pairs = pairs(&*shape.stream().unwrap()).unwrap();
        let [table, updates] = measured("small", &pairs, 1).unwrap();
        assert_eq!((table.rows.len(), updates.rows.len()), (25, 20));
        let row = |name: &str| table.rows.iter().find(|row| row[0] == name).unwrap();
        assert_eq!(row("raw pairs")[1], "8.00");
        assert_ne!(row("raw pairs, zlib")[2], "0.0 %");
        let bytes = |name: &str| -> f64 {
            let row = updates.rows.iter().find(|row| row[0] == name).unwrap();
            row[1].parse().unwrap()
        };
        assert!((8.0..8.1).contains(&bytes("packed")) && bytes("short") < 7.1);
        assert!(bytes("combined, compressed") < bytes("combined"));
        // Table 1 has what chunks save, of the encoding that the engine takes.
        let [chunks, zstd] = saved_by_chunks(&pairs);
        assert!((60.0..zstd).contains(&chunks) && zstd < 95.0, "{chunks} and {zstd}");
    }
}
