//! Batches that are large, a range of rows at a time.
//!
//! ```text
//! body of a batch:   | validity | values      | validity | offsets | bytes     |
//! a piece of it:            [==]   [===]             [==]    [==]    [====]
//! ```
//!
//! A piece is a message of its own, with the ranges of the buffers that are read and metadata that
//! describes them, so that it is decoded and checked as any other. Columns that are not read keep
//! their places, without bytes. Buffers that are compressed, and views of strings, can be taken as
//! a whole only: such a batch is one piece, of the columns that are read.
//!
//! Invariants: a piece begins at a multiple of 8 rows, where bytes of validity begin · ranges lie
//! inside their buffers, and these inside the body. Checked in `Pieces::part`. Tested by
//! `large_batches_are_read_by_pieces`.

use std::iter::once;
use std::ops::Range;

use arrow_ipc::{
    BodyCompression, BodyCompressionArgs, Buffer, FieldNode, Message, MessageArgs, MessageHeader,
    MetadataVersion, RecordBatch, RecordBatchArgs, root_as_message,
};
use arrow_schema::{DataType, Schema, UnionMode};
use flatbuffers::FlatBufferBuilder;

/// Rows between which a piece may begin.
const STEP: u64 = 8;
/// Bytes that the buffers of a piece are aligned to.
const ALIGNED: usize = 64;

/// Layout of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Values of this many bytes.
    Fixed(u64),
    /// Values of a bit.
    Bits,
    /// Offsets of this many bytes, and bytes that these lead to.
    Strings(u64),
    /// Buffers of which nothing can be said by rows.
    Whole,
}

impl Shape {
    fn of(kind: &DataType) -> Self {
        let fixed = |kind: &DataType| kind.primitive_width().map(|width| Self::Fixed(width as u64));
        match kind {
            DataType::Boolean => Self::Bits,
            DataType::Utf8 | DataType::Binary => Self::Strings(4),
            DataType::LargeUtf8 | DataType::LargeBinary => Self::Strings(8),
            DataType::FixedSizeBinary(width) => Self::Fixed((*width).max(0) as u64),
            DataType::Dictionary(keys, _) => fixed(keys).unwrap_or(Self::Whole),
            kind => fixed(kind).unwrap_or(Self::Whole),
        }
    }
}

/// A column that is read: its first node and the buffers that it has.
#[derive(Clone, Debug)]
struct Column {
    shape: Shape,
    node: usize,
    buffers: Range<usize>,
}

/// A batch of which pieces are read.
#[derive(Debug)]
pub(super) struct Pieces {
    metadata: Vec<u8>,
    columns: Vec<Column>,
    /// Offset of the message, and of its body, in the source; bytes of the body.
    pub(super) offset: u64,
    body: u64,
    body_bytes: u64,
    rows: u64,
    /// Row at which the next piece begins.
    at: u64,
    /// Rows of a piece, and bytes that its strings may have.
    each: u64,
    bytes: u64,
}

/// A piece: metadata and body of a message.
pub(super) type Piece = (Vec<u8>, Vec<u8>);

/// Reason why there is none: words for what was expected.
pub(super) enum Fault<E> {
    /// The batch is damaged.
    Damaged(&'static str),
    /// Bytes of it cannot be read.
    Unread(E),
}

/// Fetches a range of the source.
pub(super) type Fetch<'a, E> = dyn FnMut(Range<u64>) -> Result<Vec<u8>, E> + 'a;

const OUTSIDE: &str = "expected buffers inside the body of the message, with all rows";
const UNLIKE: &str = "expected a node with all rows for each column";

impl Pieces {
    /// Pieces of about `bytes` bytes of a batch, whose body of `body_bytes` bytes begins at `body`:
    /// those of the columns at `places` of the schema.
    pub(super) fn of(
        metadata: Vec<u8>,
        (schema, places): (&Schema, &[usize]),
        (offset, body, body_bytes): (u64, u64, u64),
        bytes: u64,
    ) -> Result<Self, &'static str> {
        let mut pieces = Self {
            metadata,
            columns: Vec::new(),
            offset,
            body,
            body_bytes,
            rows: 0,
            at: 0,
            each: 0,
            bytes,
        };
        let message = root_as_message(&pieces.metadata).map_err(|_| UNLIKE)?;
        let batch = message.header_as_record_batch().ok_or(UNLIKE)?;
        let rows = u64::try_from(batch.length()).map_err(|_| UNLIKE)?;
        let columns = columns(schema, places, batch, message.version()).ok_or(UNLIKE)?;
        let (mut row_bits, mut whole) = (0, batch.compression().is_some());
        for column in &columns {
            let node = node(batch, column).ok_or(UNLIKE)?;
            if node.length() != batch.length() {
                return Err(UNLIKE);
            }
            row_bits += match column.shape {
                Shape::Fixed(width) => 1 + 8 * width,
                Shape::Bits => 2,
                Shape::Strings(width) => {
                    let data = buffer(batch, column, 2).ok_or(OUTSIDE)?.length().max(0) as u64;
                    1 + 8 * (width + data / rows.max(1))
                }
                Shape::Whole => 0,
            };
            whole |= column.shape == Shape::Whole;
        }
        let each = (bytes.saturating_mul(8) / row_bits.max(1)).max(STEP) / STEP * STEP;
        (pieces.columns, pieces.rows) = (columns, rows);
        pieces.each = if whole { u64::MAX } else { each };
        Ok(pieces)
    }

    /// Bytes of the columns that are read, where they must be read as a whole.
    pub(super) fn whole_bytes(&self) -> Option<u64> {
        (self.each == u64::MAX).then(|| {
            let message = root_as_message(&self.metadata).ok();
            let batch = message.and_then(|message| message.header_as_record_batch());
            let buffers = batch.and_then(|batch| batch.buffers());
            let listed = self.columns.iter().flat_map(|column| column.buffers.clone());
            let bytes = |at| buffers.filter(|all| at < all.len()).map(|all| all.get(at).length());
            listed.filter_map(bytes).map(|bytes| bytes.max(0) as u64).sum()
        })
    }

    /// All rows of the batch.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The metadata of the rows that no piece has had, and nothing after these.
    pub(super) fn rest(self) -> Option<Vec<u8>> {
        let rows = self.rows.checked_sub(self.at).filter(|rows| *rows > 0)?;
        let message = root_as_message(&self.metadata).ok()?;
        let batch = message.header_as_record_batch()?;
        Some(metadata((batch, message.version()), rows, &[], &[], 0))
    }

    /// The next piece; none after the last.
    pub(super) fn next<E>(&mut self, read: &mut Fetch<'_, E>) -> Result<Option<Piece>, Fault<E>> {
        if self.at >= self.rows {
            return Ok(None);
        }
        let message = root_as_message(&self.metadata).map_err(|_| Fault::Damaged(UNLIKE))?;
        let batch = message.header_as_record_batch().ok_or(Fault::Damaged(UNLIKE))?;
        let listed = batch.buffers().map_or(0, |all| all.len());
        let mut nodes: Vec<FieldNode> = batch.nodes().into_iter().flatten().copied().collect();
        let mut made = PieceBody { body: Vec::new(), buffers: vec![Buffer::new(0, 0); listed] };
        let mut rows = self.each.min(self.rows - self.at);
        if self.each == u64::MAX {
            for at in self.columns.iter().flat_map(|column| column.buffers.clone()) {
                let place = batch.buffers().map(|all| *all.get(at));
                let range = self.inside(place, 0, u64::MAX).ok_or(Fault::Damaged(OUTSIDE))?;
                made.put(at, &read(range).map_err(Fault::Unread)?);
            }
            self.at = self.rows;
            let of = (batch, message.version());
            return Ok(Some((
                metadata(of, rows, &nodes, &made.buffers, made.body.len()),
                made.body,
            )));
        }
        let offsets = self.offsets(batch, &mut rows, read)?;
        let mut offsets = offsets.into_iter();
        for column in &self.columns {
            let known = node(batch, column).ok_or(Fault::Damaged(UNLIKE))?;
            let mut part = |which, range| {
                let range = self.part(batch, column, which, range);
                read(range.ok_or(Fault::Damaged(OUTSIDE))?).map_err(Fault::Unread)
            };
            let bits = self.at / STEP..(self.at + rows).div_ceil(STEP);
            let mut nulls = 0;
            if known.null_count() > 0 {
                let valid = part(0, bits.clone())?;
                nulls = rows - ones(&valid, rows);
                made.put(column.buffers.start, &valid);
            }
            nodes[column.node] = FieldNode::new(rows as i64, nulls as i64);
            let values = column.buffers.start + 1;
            match column.shape {
                Shape::Fixed(width) => {
                    made.put(values, &part(1, self.at * width..(self.at + rows) * width)?);
                }
                Shape::Bits => made.put(values, &part(1, bits)?),
                Shape::Strings(width) => {
                    let numbers = offsets.next().ok_or(Fault::Damaged(UNLIKE))?;
                    let numbers = &numbers[..=rows as usize];
                    let (first, last) = (numbers[0], numbers[rows as usize]);
                    made.put(values, &rebased(numbers, width));
                    made.put(values + 1, &part(2, first..last)?);
                }
                Shape::Whole => return Err(Fault::Damaged(UNLIKE)),
            }
        }
        self.at += rows;
        let of = (batch, message.version());
        Ok(Some((metadata(of, rows, &nodes, &made.buffers, made.body.len()), made.body)))
    }

    /// Offsets of the columns of strings, which say for how many rows there is room.
    fn offsets<E>(
        &self,
        batch: RecordBatch<'_>,
        rows: &mut u64,
        read: &mut Fetch<'_, E>,
    ) -> Result<Vec<Vec<u64>>, Fault<E>> {
        let mut offsets = Vec::new();
        for column in &self.columns {
            let Shape::Strings(width) = column.shape else { continue };
            let range = self.at * width..(self.at + *rows + 1) * width;
            let range = self.part(batch, column, 1, range).ok_or(Fault::Damaged(OUTSIDE))?;
            let bytes = read(range).map_err(Fault::Unread)?;
            let numbers = numbers(&bytes, width).ok_or(Fault::Damaged(OUTSIDE))?;
            *rows = (*rows).min(fitting(&numbers, self.bytes));
            offsets.push(numbers);
        }
        Ok(offsets)
    }

    /// Where a range of a buffer of a column lies in the source, if it lies inside.
    fn part(
        &self,
        batch: RecordBatch<'_>,
        column: &Column,
        which: usize,
        range: Range<u64>,
    ) -> Option<Range<u64>> {
        self.inside(buffer(batch, column, which), range.start, range.end)
    }

    /// Where a range of a buffer lies; `u64::MAX` stands for its end.
    fn inside(&self, buffer: Option<Buffer>, start: u64, end: u64) -> Option<Range<u64>> {
        let buffer = buffer?;
        let place = u64::try_from(buffer.offset()).ok()?;
        let length = u64::try_from(buffer.length()).ok()?;
        let end = if end == u64::MAX { length } else { end };
        let is_inside = place.checked_add(length)? <= self.body_bytes;
        let begin = self.body.checked_add(place)?;
        (is_inside && start <= end && end <= length).then(|| begin + start..begin + end)
    }
}

/// The body of a piece, as far as it is made.
struct PieceBody {
    body: Vec<u8>,
    buffers: Vec<Buffer>,
}

impl PieceBody {
    /// Puts the buffer that stands in this place.
    fn put(&mut self, place: usize, bytes: &[u8]) {
        self.body.resize(self.body.len().next_multiple_of(ALIGNED), 0);
        if let Some(buffer) = self.buffers.get_mut(place) {
            *buffer = Buffer::new(self.body.len() as i64, bytes.len() as i64);
        }
        self.body.extend_from_slice(bytes);
    }
}

fn node(batch: RecordBatch<'_>, column: &Column) -> Option<FieldNode> {
    let nodes = batch.nodes()?;
    (column.node < nodes.len()).then(|| *nodes.get(column.node))
}

fn buffer(batch: RecordBatch<'_>, column: &Column, which: usize) -> Option<Buffer> {
    let place = column.buffers.clone().nth(which)?;
    let buffers = batch.buffers()?;
    (place < buffers.len()).then(|| *buffers.get(place))
}

/// The metadata of a batch with other rows and buffers.
fn metadata(
    (batch, version): (RecordBatch<'_>, MetadataVersion),
    rows: u64,
    nodes: &[FieldNode],
    buffers: &[Buffer],
    body_bytes: usize,
) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let (nodes, buffers) = (builder.create_vector(nodes), builder.create_vector(buffers));
    let counts = batch.variadicBufferCounts();
    let counts = counts.map(|all| builder.create_vector(&all.iter().collect::<Vec<i64>>()));
    let compression = batch.compression().map(|by| {
        let args = BodyCompressionArgs { codec: by.codec(), method: by.method() };
        BodyCompression::create(&mut builder, &args)
    });
    let args = RecordBatchArgs {
        length: rows as i64,
        nodes: Some(nodes),
        buffers: Some(buffers),
        compression,
        variadicBufferCounts: counts,
    };
    let header = RecordBatch::create(&mut builder, &args).as_union_value();
    let args = MessageArgs {
        version,
        header_type: MessageHeader::RecordBatch,
        header: Some(header),
        bodyLength: body_bytes as i64,
        custom_metadata: None,
    };
    let message = Message::create(&mut builder, &args);
    builder.finish(message, None);
    builder.finished_data().to_vec()
}

/// The columns at `places`, ascending, where metadata lists the nodes and buffers of all.
fn columns(
    schema: &Schema,
    places: &[usize],
    batch: RecordBatch<'_>,
    version: MetadataVersion,
) -> Option<Vec<Column>> {
    let mut views = batch.variadicBufferCounts().into_iter().flatten();
    let (mut nodes, mut buffers) = (0, 0);
    let mut found = Vec::new();
    for (place, field) in schema.fields().iter().enumerate() {
        let kind = field.data_type();
        let (more_nodes, more_buffers) = listed(kind, version, &mut views)?;
        if places.contains(&place) {
            let buffers = buffers..buffers + more_buffers;
            found.push(Column { shape: Shape::of(kind), node: nodes, buffers });
        }
        (nodes, buffers) = (nodes + more_nodes, buffers + more_buffers);
    }
    let has = batch.buffers().map_or(0, |all| all.len());
    (buffers <= has).then_some(found)
}

/// Number of nodes and buffers that are listed for a column.
fn listed(
    kind: &DataType,
    version: MetadataVersion,
    views: &mut dyn Iterator<Item = i64>,
) -> Option<(usize, usize)> {
    let mut inner = |own: usize, kinds: &mut dyn Iterator<Item = &DataType>| {
        let (mut nodes, mut buffers) = (1, own);
        for kind in kinds {
            let (more, others) = listed(kind, version, &mut *views)?;
            (nodes, buffers) = (nodes + more, buffers + others);
        }
        Some((nodes, buffers))
    };
    match kind {
        DataType::Null => Some((1, 0)),
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => {
            Some((1, 3))
        }
        DataType::Utf8View | DataType::BinaryView => {
            let count = usize::try_from(views.next()?).ok()?;
            Some((1, count.checked_add(2)?))
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => {
            inner(2, &mut once(field.data_type()))
        }
        DataType::ListView(field) | DataType::LargeListView(field) => {
            inner(3, &mut once(field.data_type()))
        }
        DataType::FixedSizeList(field, _) => inner(1, &mut once(field.data_type())),
        DataType::Struct(fields) => inner(1, &mut fields.iter().map(|field| field.data_type())),
        DataType::RunEndEncoded(ends, values) => {
            inner(0, &mut [ends.data_type(), values.data_type()].into_iter())
        }
        DataType::Union(fields, mode) => {
            let offsets = usize::from(*mode == UnionMode::Dense);
            let validity = usize::from(version < MetadataVersion::V5);
            inner(1 + offsets + validity, &mut fields.iter().map(|(_, field)| field.data_type()))
        }
        _ => Some((1, 2)),
    }
}

/// Offsets of 4 or 8 bytes; `None` where one is negative.
fn numbers(bytes: &[u8], width: u64) -> Option<Vec<u64>> {
    if width == 4 {
        let (words, _) = bytes.as_chunks::<4>();
        return words.iter().map(|word| i32::from_le_bytes(*word).try_into().ok()).collect();
    }
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| i64::from_le_bytes(*word).try_into().ok()).collect()
}

/// Number of rows that have at most `bytes` bytes together, in steps and a step at least.
fn fitting(offsets: &[u64], bytes: u64) -> u64 {
    let rows = (offsets.len() as u64).saturating_sub(1);
    let end = offsets.first().map_or(0, |first| first.saturating_add(bytes));
    let fit = (offsets.partition_point(|offset| *offset <= end) as u64).saturating_sub(1);
    if fit >= rows { rows } else { (fit / STEP * STEP).max(STEP).min(rows) }
}

/// Offsets from the first of them on. Any that lie before it are refused by the decoder.
fn rebased(offsets: &[u64], width: u64) -> Vec<u8> {
    let first = offsets.first().copied().unwrap_or(0);
    let mut bytes = Vec::with_capacity(offsets.len() * width as usize);
    for offset in offsets {
        let offset = offset.wrapping_sub(first);
        if width == 4 {
            bytes.extend_from_slice(&(offset as u32).to_le_bytes());
        } else {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
    }
    bytes
}

/// Number of the first `rows` bits that are set.
fn ones(bits: &[u8], rows: u64) -> u64 {
    let whole = (rows / STEP) as usize;
    let sum: u64 =
        bits[..whole.min(bits.len())].iter().map(|byte| u64::from(byte.count_ones())).sum();
    let rest = bits.get(whole).map_or(0, |byte| byte & !(u8::MAX << (rows % STEP)));
    sum + u64::from(rest.count_ones())
}
