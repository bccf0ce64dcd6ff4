//! Table 1: bytes that codecs save of raw pairs, in the order of the input, and what welter's own
//! chunks save.

use anyhow::Result;
use welter_sim::figures::{Figure, Series};
use welter_store::frame::Compression;

use super::run::Graph;
use crate::compression::{REAL, graphs, pairs, read, savings};
use crate::inputs::{Kind, Shape};

const CODECS: [Compression; 4] =
    [Compression::Zlib, Compression::Snappy, Compression::Lz4, Compression::Zstd];

/// Percents that are saved, by graph and way.
pub(super) fn table(graph: &Graph) -> Result<Figure> {
    let mut series = Vec::new();
    for (kind, paper) in [(Kind::Rmat, "zlib 13.3, Snappy 0"), (Kind::Web, "")] {
        let shape = Shape { kind, scale: graph.scale };
        let saved = savings(&pairs(&*shape.stream()?)?, &CODECS);
        series.push(Series::new(shape.to_string(), saved).beside(paper));
    }
    for file in REAL {
        let path = graphs().join(file);
        let name = file.split('/').next().unwrap_or(file);
        if path.exists() {
            series.push(Series::new(name, savings(&read(&path)?, &CODECS)));
        } else {
            eprintln!("table 1: {} is not there", path.display());
        }
    }
    let codecs = CODECS.map(|codec| codec.name().to_owned());
    Ok(Figure {
        number: "table1",
        title: "Table 1: bytes of raw pairs that are saved, %",
        axis: "way",
        ticks: [&codecs[..], &["chunks".to_owned(), "chunks, zstd".to_owned()]].concat(),
        series,
        paper: "R-MAT 25: zlib 13.3, Snappy 0. Twitter, as it was crawled: zlib 35.3, Snappy 17.6.",
        notes: "Raw pairs have 8 bytes an edge and are compressed in blocks of 1 MiB, as in the \
                paper; ids of small scales have more zeros. *Chunks* are welter's, whose edges are \
                sorted and encoded: a codec then has less to find and does it on fewer bytes. \
                Twitter's graph is not here.",
    })
}
