//! Bodies of the fuzz targets, so that tests can replay their seeds; no part of the interface.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use rayon::{ThreadPool, ThreadPoolBuilder};
use welter_progress::{Progress, Unit};

use crate::collect::Collector;
use crate::columnar::PathColumns;
use crate::error::InputError;
use crate::ids::Finished;
use crate::layout::Separator;
use crate::options::{IdKind, Limits, ReadOptions, WeightChoice};
use crate::reader::Context;
use crate::source::Source;
use crate::source::stored::StoredBytes;
use crate::unpack::{Layer, Unpacked, zip};
use crate::{Format, Input};

/// Reads bytes as text, twice: the fast and the careful way must agree, and neither may panic. The
/// first byte chooses options, the second the number of vertices.
pub fn text(data: &[u8]) {
    let Some(([choice, vertices], text)) = data.split_first_chunk::<2>() else { return };
    let fast = crate::text::in_memory::parse(text, &options(*choice, *vertices), false);
    let careful = crate::text::in_memory::parse(text, &options(*choice, *vertices), true);
    match (fast, careful) {
        (Ok(fast), Ok(careful)) => assert!(fast == careful, "fast and careful differ"),
        (Err(fast), Err(careful)) => assert_eq!(fast.to_string(), careful.to_string()),
        (fast, careful) => panic!("fast {:?}, careful {:?}", fast.err(), careful.err()),
    }
}

/// Reads bytes as compressed, as an archive and as text in other encodings: an error or an end,
/// within the limits.
pub fn unpack(data: &[u8]) {
    let limits = Limits { ratio_free_bytes: 1 << 20, zstd_window_log_max: 20, ..Limits::default() };
    let layers = [
        Layer::Gzip,
        Layer::Zstd,
        Layer::Bzip2,
        Layer::Xz,
        Layer::Lz4,
        Layer::Snappy,
        Layer::Brotli,
        Layer::Tar,
        Layer::Returns,
        Layer::Encoded(encoding_rs::UTF_16LE),
        Layer::Encoded(encoding_rs::WINDOWS_1252),
    ];
    let whole = layers.into_iter().map(|layer| (layer, data));
    for (layer, bytes) in whole.chain(zipped(data)) {
        let stored = Box::new(std::io::Cursor::new(bytes.to_vec()));
        let Ok(mut unpacked) = Unpacked::new("fuzz", &[layer], stored, &limits) else { continue };
        let mut buffer = vec![0; 64 << 10];
        let mut total = 0;
        while let Ok(count @ 1..) = unpacked.read(&mut buffer) {
            total += count as u64;
            let allowed = limits.ratio_free_bytes.max(data.len() as u64 * limits.ratio_max);
            assert!(total <= allowed + buffer.len() as u64);
        }
    }
}

/// The data of the one file of a zip archive, if bytes are one.
fn zipped(data: &[u8]) -> Option<(Layer, &[u8])> {
    let mut file = tempfile::tempfile().ok().filter(|_| data.starts_with(zip::MAGIC))?;
    file.write_all(data).ok()?;
    let file = StoredBytes::File(Arc::new(file));
    let (member, _) = zip::only(&file, data.len() as u64).ok()?;
    let (start, packed) = (member.start as usize, member.packed as usize);
    Some((Layer::Zip(member), &data[start..start + packed]))
}

fn options(choice: u8, vertices: u8) -> ReadOptions {
    let separators = [
        Separator::Tab,
        Separator::Comma,
        Separator::Semicolon,
        Separator::Pipe,
        Separator::Spaces,
    ];
    ReadOptions {
        separator: separators.get(usize::from(choice & 7)).copied(),
        header: [None, None, Some(true), Some(false)][usize::from(choice >> 3 & 3)],
        ids: [IdKind::Auto, IdKind::Integers, IdKind::Names][usize::from(choice >> 5 & 3) % 3],
        weight: if choice & 128 == 0 { WeightChoice::Ignore } else { WeightChoice::IfPresent },
        vertices: (vertices > 127).then(|| u64::from(vertices & 127) * 1000),
        ..ReadOptions::default()
    }
}

/// Reads a text `rounds` times without a file, for the benchmark, and says how many edges it read.
pub fn parse_rounds(text: &[u8], rounds: usize, options: &ReadOptions) -> usize {
    crate::text::in_memory::parse_rounds(text, rounds, options)
}

/// Reads bytes as raw records. The first byte chooses the layout and the columns.
pub fn raw(data: &[u8]) {
    let Some((choice, records)) = data.split_first() else { return };
    crate::raw::decode_for_fuzzing(*choice, records);
}

/// Reads bytes as a Parquet file: an error or edges, within the limits.
pub fn parquet(data: &[u8]) {
    table(data, |context, collector, bytes| {
        let (path, bytes) = (PathColumns::default(), bytes::Bytes::copy_from_slice(bytes));
        crate::parquet::read(("fuzz", None), path, bytes, context, collector)
    });
}

/// Reads bytes as an Arrow file or stream: an error or edges, within the limits.
pub fn arrow(data: &[u8]) {
    table(data, |context, collector, bytes| {
        let feed = crate::arrow::Feed::Bytes { bytes: bytes.to_vec(), at: 0, whole: true };
        crate::arrow::read("fuzz", PathColumns::default(), feed, context, collector)
    });
}

/// Reads bytes as GML: an error or edges, within the limits.
pub fn gml(data: &[u8]) {
    small(data, &crate::gml::GML);
}

/// Reads bytes as GraphML: an error or edges, within the limits.
pub fn graphml(data: &[u8]) {
    small(data, &crate::graphml::GRAPHML);
}

/// Reads bytes as GEXF: an error or edges, within the limits.
pub fn gexf(data: &[u8]) {
    small(data, &crate::gexf::GEXF);
}

/// Reads bytes as a Pajek network: an error or edges, within the limits.
pub fn pajek(data: &[u8]) {
    small(data, &crate::pajek::PAJEK);
}

/// Reads bytes as DOT: an error or edges, within the limits.
pub fn dot(data: &[u8]) {
    small(data, &crate::dot::DOT);
}

/// Reads bytes as TGF: an error or edges, within the limits.
pub fn tgf(data: &[u8]) {
    small(data, &crate::tgf::TGF);
}

/// Reads bytes as JSON: an error or edges, within the limits.
pub fn json(data: &[u8]) {
    small(data, &crate::json::JSON);
}

/// Reads bytes as the lists of a graph of WebGraph. The first byte chooses how they are coded.
pub fn webgraph(data: &[u8]) {
    let choice = data.first().copied().unwrap_or(0);
    table(data, |context, collector, bytes| {
        crate::webgraph::read_for_fuzzing(choice, bytes, context.options, collector)
    });
}

fn small(data: &[u8], reader: &crate::documents::DocumentReader) {
    table(data, |context, collector, bytes| {
        let bytes = crate::documents::bytes::Bytes::of_slice("fuzz", bytes);
        reader.read_bytes("fuzz", bytes, context.options, collector)
    });
}

/// Reads bytes as Matrix Market. Here and below the first byte chooses options.
pub fn matrix_market(data: &[u8]) {
    held(data, Format::MatrixMarket);
}

/// Reads bytes as METIS.
pub fn metis(data: &[u8]) {
    held(data, Format::Metis);
}

/// Reads bytes as DIMACS.
pub fn dimacs(data: &[u8]) {
    held(data, Format::Dimacs);
}

/// Reads bytes as TNTP.
pub fn tntp(data: &[u8]) {
    held(data, Format::Tntp);
}

/// Reads bytes as an adjacency list.
pub fn adjacency(data: &[u8]) {
    held(data, Format::Adjacency);
}

/// Reads bytes as N-Triples.
pub fn ntriples(data: &[u8]) {
    held(data, Format::NTriples);
}

/// Reads bytes as graph6, sparse6 or digraph6.
pub fn graph6(data: &[u8]) {
    held(data, Format::Graph6);
}

/// Reads bytes as a NumPy array.
pub fn npy(data: &[u8]) {
    held(data, Format::Npy);
}

/// Reads bytes as the properties of LDBC Graphalytics, and as a list of vertices and, after a byte
/// that is no text, edges.
pub fn ldbc(data: &[u8]) {
    crate::ldbc::properties::read_for_fuzzing(data);
    table(data, |context, collector, bytes| {
        let cut = memchr::memchr(0xff, bytes).unwrap_or(bytes.len());
        let edges = bytes.get(cut + 1..).unwrap_or_default();
        crate::ldbc::read_for_fuzzing(&bytes[..cut], edges, context, collector)
    });
}

/// Reads bytes as an output of LDBC Graphalytics.
pub fn outputs(data: &[u8]) {
    crate::ldbc::outputs::read_for_fuzzing(data);
}

/// Reads bytes as whatever they look like.
pub fn guess(data: &[u8]) {
    held(data, None);
}

/// Reads bytes as a format, or as what they look like.
fn held(data: &[u8], format: impl Into<Option<Format>>) {
    table(data, |context, collector, bytes| {
        let source = Source::held("fuzz", bytes, format)?;
        crate::readers::of(&source).read(&source, context, collector)
    });
}

/// Lets foreign decoders panic in silence inside their fence, and ends the process where code of
/// this crate panics there, which the fence would hide.
pub fn guard_fences() {
    std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|place| place.file().contains("crates/input/")) {
            eprintln!("{panic}");
            std::process::abort();
        }
    }));
}

/// Reads a table. The first byte of the data chooses options.
fn table(
    data: &[u8],
    read: impl FnOnce(&Context<'_>, &Collector, &[u8]) -> Result<(), InputError>,
) {
    static POOL: OnceLock<ThreadPool> = OnceLock::new();
    let Some((choice, bytes)) = data.split_first() else { return };
    let pool = POOL.get_or_init(|| match ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool,
        Err(error) => panic!("no thread: {error}"),
    });
    let limits = Limits { ratio_free_bytes: 1 << 20, ..Limits::default() };
    let options = ReadOptions { limits, threads: 1, ..options(*choice & 0xe0, 0) };
    let progress = Progress::new();
    let phase = progress.phase("read", Unit::Bytes, None);
    let context = Context { options: &options, progress: &progress, phase: &phase, pool };
    let collector = Collector::new(None);
    collector.begin("fuzz");
    if read(&context, &collector, bytes).is_ok()
        && let Ok(Finished { edges, .. }) = collector.finish(None, pool, &Progress::new())
    {
        let allowed = limits.ratio_free_bytes.max(bytes.len() as u64 * limits.ratio_max);
        assert!(welter_model::edges::EdgeStream::edges(&*edges) * 8 <= allowed);
    }
}

/// Reads bytes as a file of this name and format, as [`crate::read`] reads a compressed one or a
/// pipe.
///
/// # Errors
/// See [`InputError`].
pub fn read_bytes(
    name: &str,
    bytes: &[u8],
    format: Format,
    options: &ReadOptions,
) -> Result<Input, InputError> {
    let source = Source::held(name, bytes, format)?;
    crate::read_sources(&[source], options, &Progress::new())
}

/// Reads a text with weights, where there are some.
///
/// # Errors
/// See [`InputError`].
pub fn weighing(name: &str, text: &str, format: Format) -> Result<Input, InputError> {
    let options = ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() };
    read_bytes(name, text.as_bytes(), format, &options)
}

/// All edges and weights of an input.
#[cfg(test)]
pub(crate) fn edges(input: &Input) -> (Vec<welter_model::edges::Pair>, Vec<f64>) {
    let (mut pairs, mut weights) = (Vec::new(), Vec::new());
    for part in 0..input.edges.parts() {
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            pairs.extend_from_slice(batch.pairs);
            weights.extend_from_slice(batch.weights.unwrap_or_default());
            true
        };
        assert!(input.edges.read(part, &mut visit).is_ok());
    }
    (pairs, weights)
}

/// Texts that a format must refuse, with 65 and a message that holds the second string.
#[cfg(test)]
pub(crate) fn refusals(format: Format, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        match weighing("f", text, format) {
            Ok(_) => panic!("{text:?} must be refused"),
            Err(error) => {
                assert!(error.to_string().contains(expected), "{text:?}: {error}");
                assert_eq!(error.kind(), welter_progress::FailureKind::Input, "{text:?}");
            }
        }
    }
}
