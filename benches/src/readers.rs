//! `readers`: what an edge costs from a file to an edge list, by format.
//!
//! All files hold the same edges, an R-MAT graph in which every edge runs both ways (METIS wants
//! that), sorted, without loops and duplicates. Text with two columns stands beside the others. The
//! file of WebGraph is written here, by the plainest coding that the format has: gaps in ζ3, no
//! references and no intervals.

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use welter_input::ReadOptions;
use welter_model::edges::{EdgeList, EdgeStream};
use welter_model::ids::IdMap;
use welter_output::{EdgeFormatOptions, write_edges};
use welter_progress::Progress;

use crate::Settings;
use crate::inputs::{Kind, Shape};
use crate::measure::{Contender, interleave};
use crate::report::{Table, digits};

/// Scale of the graph: about 7.6 million edges.
const SCALE: u32 = 18;

/// Formats that are read, each with the extension of its file.
const FORMATS: &[(&str, &str)] = &[
    ("text, two columns", "tsv"),
    ("raw pairs", "u32"),
    ("Graph500", "graph500"),
    ("Matrix Market, pattern", "mtx"),
    ("METIS", "graph"),
    ("DIMACS, weight not read", "gr"),
    ("LDBC Graphalytics", "properties"),
    ("adjacency list", "adj"),
    ("WebGraph", "webgraph.properties"),
];

/// Measures all formats.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let folder = settings.inputs.subfolder("readers")?;
    let edges = edges()?;
    let count = edges.edges();
    let mut contenders = Vec::new();
    let mut sizes = Vec::new();
    for (name, extension) in FORMATS {
        let path = folder.join(format!("rmat-{SCALE}.{extension}"));
        make(&edges, &path)?;
        let bytes = stored(&path)?;
        for &threads in &settings.threads {
            sizes.push(bytes);
            let path = path.to_string_lossy().into_owned();
            contenders.push(Contender::new(*name, threads, move || {
                let options = ReadOptions { threads, ..ReadOptions::default() };
                let start = Instant::now();
                let input =
                    welter_input::read(std::slice::from_ref(&path), &options, &Progress::new())?;
                ensure!(input.edges.edges() == count, "{path}: not all edges");
                if input.edges.resident_bytes() == 0 {
                    touch(&*input.edges, threads)?;
                }
                Ok(vec![start.elapsed().as_secs_f64()])
            }));
        }
    }
    let samples = interleave("readers", contenders, settings.rounds)?;
    let columns = ["format", "threads", "bytes/edge", "ms", "ns/edge*core", "M edges/s"];
    let title = format!("From a file to an edge list, R-MAT {SCALE} both ways: {count} edges");
    let mut table = Table::new(title, &columns);
    for (own, bytes) in samples.iter().zip(sizes) {
        let seconds = own.median();
        table.row(vec![
            own.name.clone(),
            own.threads.to_string(),
            digits(bytes as f64 / count as f64),
            digits(seconds * 1e3),
            digits(seconds * 1e9 * own.threads as f64 / count as f64),
            digits(count as f64 / seconds / 1e6),
        ]);
    }
    table.note(
        "Raw and packed records are not loaded but read wherever they are needed; their rows are \
         one pass over them.",
    );
    Ok(vec![table])
}

/// Looks at every edge.
fn touch(edges: &dyn EdgeStream, threads: usize) -> Result<()> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let look = |part| {
        let mut sum = 0_u32;
        let read = edges.read(part, &mut |batch| {
            sum = batch.pairs.iter().fold(sum, |sum, [from, to]| sum.wrapping_add(from ^ to));
            true
        });
        black_box(sum);
        read.map_err(anyhow::Error::from_boxed)
    };
    pool.install(|| (0..edges.parts()).into_par_iter().try_for_each(look))
}

/// The edges, ascending.
fn edges() -> Result<EdgeList> {
    let stream = Shape { kind: Kind::Rmat, scale: SCALE }.stream()?;
    let mut pairs = Vec::new();
    for part in 0..stream.parts() {
        let read = stream.read(part, &mut |batch| {
            let apart = batch.pairs.iter().filter(|[from, to]| from != to);
            pairs.extend(apart.flat_map(|&[from, to]| [[from, to], [to, from]]));
            true
        });
        read.map_err(anyhow::Error::from_boxed)?;
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut list = EdgeList::new(Some(1 << SCALE), false);
    list.push(pairs, Vec::new());
    Ok(list)
}

/// Writes a file that is not there.
fn make(edges: &EdgeList, path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    eprintln!("making {}", path.display());
    if path.to_string_lossy().ends_with("webgraph.properties") {
        return webgraph(edges, path).with_context(|| format!("making {}", path.display()));
    }
    let options = EdgeFormatOptions::default();
    write_edges(edges, &IdMap::Declared, path, &options, 0, &Progress::new())?;
    Ok(())
}

/// Bytes of a file, or of those that belong to it.
fn stored(path: &Path) -> Result<u64> {
    let others = ["v", "e", "graph"].map(|extension| path.with_extension(extension));
    let belongs =
        |other: &PathBuf| path.extension().is_some_and(|end| end == "properties") && other.exists();
    let mut bytes = fs::metadata(path)?.len();
    for other in others.iter().filter(|other| belongs(other)) {
        bytes += fs::metadata(other)?.len();
    }
    Ok(bytes)
}

/// Writes a graph of WebGraph.
fn webgraph(edges: &EdgeList, path: &Path) -> Result<()> {
    let mut lists = vec![Vec::new(); 1 << SCALE];
    for part in 0..edges.parts() {
        let read = edges.read(part, &mut |batch| {
            batch.pairs.iter().for_each(|[from, to]| lists[*from as usize].push(*to));
            true
        });
        read.map_err(anyhow::Error::from_boxed)?;
    }
    let mut bits = Bits::default();
    for (node, list) in lists.iter().enumerate() {
        bits.gamma(list.len() as u64);
        let mut before = None;
        for &target in list {
            bits.zeta3(match before.replace(target) {
                Some(before) => u64::from(target - before - 1),
                None => folded(i64::from(target) - node as i64),
            });
        }
    }
    fs::write(path.with_extension("graph"), bits.bytes())?;
    let properties = format!(
        "graphclass=it.unimi.dsi.webgraph.BVGraph\nnodes={}\narcs={}\nwindowsize=0\n\
         minintervallength=0\nzetak=3\ncompressionflags=\n",
        lists.len(),
        edges.edges()
    );
    Ok(fs::write(path, properties)?)
}

/// A signed number as an unsigned one.
fn folded(number: i64) -> u64 {
    if number >= 0 { 2 * number as u64 } else { 2 * number.unsigned_abs() - 1 }
}

/// Bits, the first one highest in its byte.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    /// Bits that wait for their byte, the last one lowest.
    waiting: u64,
    count: u32,
}

impl Bits {
    /// The lower `width` bits of a number, at most 32.
    fn push(&mut self, number: u64, width: u32) {
        self.waiting = self.waiting << width | number & ((1 << width) - 1);
        self.count += width;
        while self.count >= 8 {
            self.count -= 8;
            self.bytes.push((self.waiting >> self.count) as u8);
        }
    }

    /// Zeros, and a one.
    fn unary(&mut self, zeros: u32) {
        self.push(1, zeros + 1);
    }

    fn gamma(&mut self, number: u64) {
        let width = (number + 1).ilog2();
        self.unary(width);
        self.push(number + 1, width);
    }

    fn zeta3(&mut self, number: u64) {
        let step = (number + 1).ilog2() / 3;
        self.unary(step);
        // Minimal binary: the numbers of this step, the first of which take a bit less.
        let (low, width) = (1_u64 << (3 * step), 3 * step + 3);
        let (place, short) = (number + 1 - low, (1 << width) - 7 * low);
        if place < short {
            self.push(place, width - 1);
        } else {
            self.push(place + short, width);
        }
    }

    fn bytes(mut self) -> Vec<u8> {
        let rest = self.count;
        self.push(0, (8 - rest % 8) % 8);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_graph_of_webgraph_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.webgraph.properties");
        let mut list = EdgeList::new(Some(1 << SCALE), false);
        let pairs =
            vec![[0, 0], [0, 1], [0, 7], [0, 8], [0, 200_000], [3, 1], [3, 2], [262_143, 5]];
        list.push(pairs.clone(), Vec::new());
        webgraph(&list, &path).unwrap();
        let name = path.to_string_lossy().into_owned();
        let input = welter_input::read(&[name], &ReadOptions::default(), &Progress::new()).unwrap();
        let mut found = Vec::new();
        for part in 0..input.edges.parts() {
            let read = input.edges.read(part, &mut |batch| {
                found.extend_from_slice(batch.pairs);
                true
            });
            read.unwrap();
        }
        assert_eq!((found, input.edges.slots()), (pairs, Some(1 << SCALE)));
    }
}
