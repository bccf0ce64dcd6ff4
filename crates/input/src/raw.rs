//! Little-endian records: source, target, and the weight if there is one. No header, no padding.
//!
//! ```text
//! u32     | source u32 | target u32 |                 8 bytes
//! u32f32  | source u32 | target u32 | weight f32 |   12
//! u32f64  | source u32 | target u32 | weight f64 |   16
//! u64     | source u64 | target u64 |                16
//! u64f32  | source u64 | target u64 | weight f32 |   20
//! u64f64  | source u64 | target u64 | weight f64 |   24
//!
//! graph500  | source, low u32 | target, low u32 | source, high u16 | target, high u16 |   12
//! ```
//!
//! The last one is the packed edge of the Graph500 generator: two signed 48-bit ids. Its layout on
//! a big-endian machine is another; ids that look like that are refused ([`refuse_big_endian`]).
//!
//! Files are not kept in memory: where their ids can be slots as they are, the stream that the
//! engine gets reads them ([`stream`]). For that it must be known what the largest id may be.
//! Unless the user states the number of vertices, a sample of the records tells, and what was seen
//! of it goes along with the stream; who must have the largest id itself has all of them looked at
//! ([`scan`]). Sparse ids, pipes and compressed files are collected in memory.
//!
//! Columns can be named as in a table: 1 or `source`, 2 or `target`, 3 or `weight`.

mod records;
mod scan;
mod stream;
mod window;

#[cfg(test)]
mod tests;

use welter_model::edge_sample::Sample;
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;

use crate::collect::{Collector, EdgeRun, Ids};
use crate::columns;
use crate::error::InputError;
use crate::format::{Format, RawLayout, RawWeight};
use crate::ids::is_dense;
use crate::options::{IdKind, ReadOptions, WeightBounds};
use crate::reader::{Context, Estimate, Reader, Ready};
use crate::source::Source;
use records::{Batch, Buffers, Pairs, Record, Shape};
use scan::Sampled;
use stream::{IdBound, RawStream, first_error};
use welter_progress::FailureKind;

/// Bytes of a part of a file that comes through a pipe or a decompressor.
const PART_BYTES: usize = 4 << 20;

/// Decompressed bytes to guess the number of edges from.
const SAMPLE_BYTES: usize = 1 << 20;

/// Bytes that are looked at to know the order of bytes.
const LOOK_BYTES: usize = 4 << 10;

/// Edges by which the order of bytes is known.
const BYTE_ORDER_EDGES: usize = 16;

/// The reader of raw records.
pub(crate) struct Raw;

impl Reader for Raw {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let shape = shape(source, context.options)?;
        if source.bytes().is_none() || !source.is_plain() {
            return read_through(source, shape, context, collector);
        }
        let mut file = RawStream::open(std::slice::from_ref(source), shape)?;
        file.set_limits(&context.options.limits, context.options.thread_count(), false);
        first_error(&file, context, |part| {
            let mut all = Collected::default();
            file.pieces(part, &mut |batch, place| {
                context.advance(place.bytes)?;
                all.add(batch);
                Ok(true)
            })?;
            collector.push(part as u64, all.into_part())
        })
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let shape = shape(source, options)?;
        let record = shape.record_bytes() as u64;
        let exact = source.is_plain();
        let edges = match source.bytes() {
            Some(bytes) if exact => Some(bytes / record),
            Some(bytes) => {
                let sample = source.sample(SAMPLE_BYTES, &options.limits)?;
                let (unpacked, stored) = (sample.bytes.len() as u64, sample.stored.max(1));
                Some(
                    (u128::from(bytes) * u128::from(unpacked) / u128::from(stored * record)) as u64,
                )
            }
            None => None,
        };
        let ids = IdKind::Integers;
        let slots_seen = match edges.filter(|_| exact) {
            Some(edges) => {
                let mut stream = RawStream::open(std::slice::from_ref(source), shape)?;
                stream.set_limits(&options.limits, 1, false);
                stream
                    .some()?
                    .filter(|largest| is_dense(*largest, edges))
                    .map(|largest| largest + 1)
            }
            None => None,
        };
        Ok(Estimate {
            bytes: source.bytes(),
            edges,
            exact,
            slots: None,
            slots_seen,
            ids,
            weighted: shape.weights,
            undirected: None,
        })
    }

    fn stream(
        &self,
        sources: &[Source],
        context: &Context<'_>,
    ) -> Result<Option<Ready>, InputError> {
        let stored = |source: &Source| source.bytes().filter(|_| source.is_plain());
        if sources.iter().any(|source| stored(source).is_none()) {
            return Ok(None);
        }
        let mut stream = RawStream::open(sources, shape(&sources[0], context.options)?)?;
        stream.set_limits(&context.options.limits, context.options.thread_count(), true);
        if stream.edges() == 0 {
            return Ok(None);
        }
        if let Some(vertices) = context.options.vertices {
            if vertices > u64::from(u32::MAX) {
                return Ok(None);
            }
            stream.set_ends(IdBound::Stated(vertices));
            return Ok(Some(Ready::new(Box::new(stream), IdMap::Declared)));
        }
        let bytes: u64 = sources.iter().filter_map(Source::bytes).sum();
        let (largest, looked) = if context.options.sampled {
            let looked = Sample::of(stream.edges()).share(bytes);
            context.phase.set_total(looked);
            let Sampled { largest, look } = scan::sample(&stream, context)?;
            if let Some(look) = look {
                let slots = scan::slots_likely(&look, stream.edges());
                stream.set_ends(IdBound::Likely(slots));
                stream.set_look(look.of_slots(slots));
            }
            (largest, looked)
        } else {
            let largest = scan::largest(&stream, context)?;
            stream.set_ends(IdBound::Seen(largest.saturating_add(1)));
            (largest, bytes)
        };
        if !is_dense(largest, stream.edges()) {
            // All will be read once more, and kept.
            context.phase.set_total(looked + bytes);
            return Ok(None);
        }
        Ok(Some(Ready::new(Box::new(stream), IdMap::Same)))
    }
}

/// The shape that the options give the records of a source.
fn shape(source: &Source, options: &ReadOptions) -> Result<Shape, InputError> {
    let record = match source.format() {
        Format::Raw(layout) => Record::Plain(layout),
        Format::Graph500 => Record::Packed,
        _ => return Err(InputError::content(source.name(), "expected raw records")),
    };
    if options.ids == IdKind::Names {
        let what = "expected names as ids, found raw records, which hold integers";
        return Err(InputError::content(source.name(), what));
    }
    if record == Record::Packed {
        let sample = source.sample(LOOK_BYTES, &options.limits)?;
        refuse_big_endian(source.name(), &sample.bytes)?;
    }
    shape_of(source.name(), record, options)
}

fn shape_of(file: &str, record: Record, options: &ReadOptions) -> Result<Shape, InputError> {
    let weighted = matches!(record, Record::Plain(layout) if layout.weight != RawWeight::None);
    let names: &[&str] =
        if weighted { &["source", "target", "weight"] } else { &["source", "target"] };
    let columns = columns::by_name(file, names, options)?;
    let weights = match columns.weight {
        None => false,
        Some(2) => true,
        Some(_) => return Err(InputError::content(file, "an id cannot be the weight")),
    };
    let bounds = options.bounds();
    match (columns.source, columns.target) {
        (0, 1) => Ok(Shape { record, swap: false, weights, bounds }),
        (1, 0) => Ok(Shape { record, swap: true, weights, bounds }),
        _ => {
            let what = "expected the source and the target to be columns 1 and 2 of the records";
            Err(InputError::content(file, what))
        }
    }
}

/// Refuses packed edges that a big-endian machine wrote, where the first ones show it: of ids below
/// 2^24 the lowest byte is then always 0, and each looks like a multiple of 256.
fn refuse_big_endian(file: &str, bytes: &[u8]) -> Result<(), InputError> {
    let edges = bytes.as_chunks::<12>().0;
    let swapped = |edge: &[u8; 12]| edge[0] | edge[4] == 0 && edge[8..] == [0; 4];
    let zero = |edge: &[u8; 12]| *edge == [0; 12];
    if edges.len() < BYTE_ORDER_EDGES || !edges.iter().all(swapped) || edges.iter().all(zero) {
        return Ok(());
    }
    let what = "expected packed edges in little-endian order, found only ids that are multiples of \
                256, as if a big-endian machine had written them; swap the bytes of its words";
    Err(InputError::content(file, what))
}

/// Reads records that come one after the other.
fn read_through(
    source: &Source,
    shape: Shape,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    let mut unpacked = source.unpack(&context.options.limits)?;
    let record = shape.record_bytes();
    let mut bytes = vec![0; PART_BYTES / record * record];
    let (mut buffers, mut offset) = (Buffers::default(), 0);
    for number in 0.. {
        let stored = unpacked.stored();
        let filled = unpacked.fill(&mut bytes)?;
        context.advance(unpacked.stored() - stored)?;
        stream::check_size(source.name(), offset + filled as u64, shape)?;
        let mut all = Collected::default();
        let batch = buffers
            .decode(&bytes[..filled], shape)
            .map_err(|bad| bad.explain(source.name(), offset, shape))?;
        all.add(batch);
        collector.push(number, all.into_part())?;
        offset += filled as u64;
        if filled < bytes.len() {
            break;
        }
    }
    Ok(())
}

/// Records of one part, gathered for the collector.
#[derive(Default)]
struct Collected {
    narrow: Vec<[u32; 2]>,
    wide: Vec<[u64; 2]>,
    weights: Option<Vec<f64>>,
}

impl Collected {
    fn add(&mut self, batch: Batch<'_>) {
        match batch.pairs {
            Pairs::Narrow(pairs) if self.wide.is_empty() => self.narrow.extend_from_slice(pairs),
            Pairs::Narrow(pairs) => self.wide.extend(pairs.iter().map(|pair| pair.map(u64::from))),
            Pairs::Wide(pairs) => {
                // Batches of packed edges may be of either width.
                self.wide.extend(self.narrow.drain(..).map(|pair| pair.map(u64::from)));
                self.wide.extend_from_slice(pairs);
            }
        }
        if let Some(weights) = batch.weights {
            self.weights.get_or_insert_default().extend_from_slice(weights);
        }
    }

    fn into_part(self) -> EdgeRun {
        let Self { narrow, wide, weights } = self;
        let ids = if wide.is_empty() { Ids::narrow(narrow) } else { Ids::integers(wide) };
        EdgeRun { ids, weights }
    }
}

/// Decodes bytes as records of a chosen layout, for the fuzz target.
pub(crate) fn decode_for_fuzzing(choice: u8, bytes: &[u8]) {
    let weight = [RawWeight::None, RawWeight::F32, RawWeight::F64][usize::from(choice >> 1) % 3];
    let layout = RawLayout { wide: choice & 1 == 1, weight };
    let record = if choice & 16 == 0 { Record::Plain(layout) } else { Record::Packed };
    let weights = weight != RawWeight::None && record != Record::Packed;
    let bounds = WeightBounds { non_negative: choice & 32 == 32, finite: choice & 64 == 64 };
    let shape = Shape { record, swap: choice & 8 == 8, weights, bounds };
    let records = bytes.len() / shape.record_bytes();
    match Buffers::default().decode(bytes, shape) {
        Ok(Batch { pairs, weights }) => {
            let count = match pairs {
                Pairs::Narrow(pairs) => pairs.len(),
                Pairs::Wide(pairs) => pairs.len(),
            };
            assert_eq!(count, records);
            assert_eq!(weights.map_or(records, <[f64]>::len), records);
            assert!(weights.into_iter().flatten().all(|weight| !weight.is_nan()));
        }
        Err(bad) => assert_eq!(bad.explain("fuzz", 0, shape).kind(), FailureKind::Input),
    }
}
