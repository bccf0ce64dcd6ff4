//! Table 1: bytes that codecs save of raw edges, in the order of the input, and what welter's own
//! chunks save.

use anyhow::Result;
use welter_input::generate::Weights;
use welter_sim::figures::{Claim, Figure, Series};
use welter_store::frame::Compression;

use super::run::Graph;
use crate::compression::{RAW_BYTES, REAL, graphs, pairs, read, saved, saved_by_chunks};
use crate::inputs::{Kind, Shape};

const CODECS: [Compression; 4] =
    [Compression::Zlib, Compression::Snappy, Compression::Lz4, Compression::Zstd];
/// Bytes of an edge of X-Stream: two vertices, and a weight at random. The paper's 2^29 edges are
/// 6 GB.
const WEIGHTED_BYTES: usize = 12;
const PAIR_BYTES: usize = 8;

/// Percents that are saved, by graph and way.
pub(super) fn table(graph: &Graph) -> Result<Figure> {
    let weights = weights(Shape { kind: Kind::Rmat, scale: graph.scale })?;
    let mut series = Vec::new();
    for kind in [Kind::Rmat, Kind::Web] {
        let shape = Shape { kind, scale: graph.scale };
        let pairs = pairs(&*shape.stream()?)?;
        series.push(Series::new(shape.to_string(), savings(&pairs, &[])));
        if kind == Kind::Rmat {
            let name = format!("{shape}, with weights");
            let row = Series::new(name, savings(&pairs, &weights)).beside("R-MAT 25");
            series.push(row.claimed(0, Claim::About(13.3)).claimed(1, Claim::AtMost(0.5)));
        }
    }
    for file in REAL {
        let path = graphs().join(file);
        let name = file.split('/').next().unwrap_or(file);
        if !path.exists() {
            eprintln!("table 1: {} is not there", path.display());
            continue;
        }
        let pairs = read(&path)?;
        series.push(Series::new(name, savings(&pairs, &[])));
        if file.starts_with("cnr-2000") {
            let name = format!("{name}, with weights");
            let row = Series::new(name, savings(&pairs, &weights)).beside("Twitter");
            series.push(row.claimed(0, Claim::About(35.3)).claimed(1, Claim::About(17.6)));
        }
    }
    let codecs = CODECS.map(|codec| codec.name().to_owned());
    Ok(Figure {
        number: "table1",
        title: "Table 1: bytes of raw edges that are saved, %",
        axis: "way",
        ticks: [&codecs[..], &["chunks".to_owned(), "chunks, zstd".to_owned()]].concat(),
        series,
        paper: "R-MAT 25: zlib 13.3, Snappy 0. Twitter, as it was crawled: zlib 35.3, Snappy 17.6.",
        notes: "Raw pairs have 8 bytes an edge; *with weights* they have the paper's 12, of which \
                4 are a weight at random that no codec makes smaller (6 GB for 2^29 edges, 17 GB \
                for Twitter's). Both are compressed in blocks of 1 MiB. Ids of small scales have \
                more zeros. *Chunks* are welter's, whose edges are sorted and encoded: a codec \
                then has less to find and does it on fewer bytes. Twitter's graph is not here: its \
                numbers stand beside a crawled web graph, of which more is saved.",
    })
}

/// Weights of edges, uniform in [0, 1).
fn weights(shape: Shape) -> Result<Vec<f32>> {
    let stream = shape.stream_with(Weights::Unit)?;
    let mut weights = Vec::new();
    for part in 0..stream.parts() {
        let read = stream.read(part, &mut |batch| {
            weights.extend(batch.weights.into_iter().flatten().map(|weight| *weight as f32));
            true
        });
        read.map_err(anyhow::Error::from_boxed)?;
    }
    Ok(weights)
}

/// Percents of the bytes of edges that each way saves. Weights are taken in turn, if there are any.
fn savings(pairs: &[[u32; 2]], weights: &[f32]) -> Vec<f64> {
    let edge_bytes = if weights.is_empty() { PAIR_BYTES } else { WEIGHTED_BYTES };
    let raw = |codec: Compression| {
        let (mut bytes, mut weights) = (Vec::new(), weights.iter().cycle());
        let percents = pairs.chunks(RAW_BYTES / edge_bytes).map(|edges| {
            bytes.clear();
            for pair in edges {
                bytes.extend_from_slice(bytemuck::bytes_of(pair));
                bytes.extend(weights.next().into_iter().flat_map(|weight| weight.to_le_bytes()));
            }
            saved([&*bytes].into_iter(), codec) * edges.len() as f64
        });
        percents.sum::<f64>() / pairs.len() as f64
    };
    let chunks = if weights.is_empty() { saved_by_chunks(pairs) } else { [f64::NAN; 2] };
    CODECS.map(raw).into_iter().chain(chunks).collect()
}
