//! The messages of an Arrow stream, or of a file by its footer.
//!
//! ```text
//! message:  0xFFFFFFFF | length of the metadata i32 | metadata (flatbuffer) | body
//!           (before version 0.15 without the 0xFFFFFFFF)
//! stream:   message ... | end: 0xFFFFFFFF | 0, or the end of the bytes
//! file as a stream: "ARROW1" 0 0 (and perhaps more zeros) | message ... | end | footer
//! ```
//!
//! Invariants: memory for a message follows the bytes that are really there, not the length that is
//! stated · every buffer that a message describes lies inside its body, and where buffers are
//! compressed, what they state to unpack to stays within the allowed ratio of all bytes so far.
//! Tested by `lengths_that_are_not_there_cost_nothing` and `bombs_in_buffers_are_refused`.

use std::io::Read;
use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_ipc::{MessageHeader, RecordBatch, root_as_message};
use arrow_schema::{Schema, SchemaRef};

use super::feed::Feed;
use super::footer::{Block, Footer};
use super::pieces::{Fault, Pieces};
use super::schema::{checked_schema, reason};
use crate::error::InputError;
use crate::options::Limits;
use crate::source::stored::Onward;

/// The magic bytes of a file, with their padding.
const MAGIC: &[u8; 8] = b"ARROW1\0\0";

/// Word before the length of a message.
const CONTINUATION: u32 = u32::MAX;

/// Bytes of metadata that a message may have: a schema of a hundred thousand columns has fewer.
const METADATA_BYTES_MAX: u64 = 64 << 20;

/// Share of the memory of edges and ids that a message may take which must be there as a whole, as
/// one part in this number: edges take half of it.
const WHOLE_SHARE: u64 = 4;
/// Bytes of a task, or of a piece, in the least memory.
pub(super) const TASK_BYTES_MIN: u64 = 128 << 10;

/// Bytes that are made room for before any of them was seen.
const TRUSTED_BYTES: usize = 1 << 20;

/// A buffer of bytes that were read.
pub(super) fn buffer(bytes: Vec<u8>) -> Buffer {
    Buffer::from_vec(bytes)
}

/// A message with its body.
pub(super) struct Message {
    /// Where it begins, in decompressed bytes.
    pub(super) offset: u64,
    pub(super) kind: MessageHeader,
    metadata: Vec<u8>,
    pub(super) body: Buffer,
    /// Bytes that compressed buffers of it unpack to.
    unpacked: u64,
}

impl Message {
    /// Bytes of memory that it takes until it is decoded.
    pub(super) fn bytes(&self) -> u64 {
        self.body.len() as u64 + self.unpacked
    }

    /// The metadata, once more verified: flatbuffers are cheap to look at.
    pub(super) fn header(&self, name: &str) -> Result<arrow_ipc::Message<'_>, InputError> {
        root_as_message(&self.metadata).map_err(|error| {
            let what = format!("expected the metadata of a message: {}", reason(&error));
            InputError::byte(name, self.offset, what)
        })
    }

    /// Rows of a batch; 0 for other messages.
    pub(super) fn rows(&self) -> u64 {
        let header = root_as_message(&self.metadata).ok();
        let rows = header.and_then(|header| Some(header.header_as_record_batch()?.length()));
        rows.map_or(0, |rows| rows.max(0) as u64)
    }
}

/// The messages of one source.
pub(super) struct Messages<'a> {
    name: &'a str,
    feed: Feed,
    limits: &'a Limits,
    /// Whether the source begins as a file does, rather than a stream.
    is_file: bool,
    /// The schema of the footer, until it is taken.
    schema: Option<Schema>,
    /// Blocks of the footer that are left, where it can be read.
    blocks: Option<std::vec::IntoIter<Block>>,
    /// Bytes of the blocks that were taken.
    taken: u64,
    ended: bool,
    /// Bytes consumed.
    offset: u64,
    /// Bytes of bodies so far, and what compressed buffers in them unpack to.
    packed: u64,
    unpacked: u64,
    /// Two words that were read to look for the magic bytes, and are none.
    pending: Vec<u32>,
    /// Columns that are read, once they are known, and bytes above which a batch is cut.
    wanted: Option<Projection>,
    /// A batch that is cut, of which some rows are left.
    pieces: Option<Pieces>,
    /// Bytes of dictionaries.
    held: u64,
}

/// Columns that are read.
struct Projection {
    schema: SchemaRef,
    places: Vec<usize>,
    piece_bytes: u64,
}

impl<'a> Messages<'a> {
    /// Begins to read; the magic bytes of a file are taken.
    pub(super) fn new(name: &'a str, feed: Feed, limits: &'a Limits) -> Result<Self, InputError> {
        let mut messages = Self {
            name,
            feed,
            limits,
            is_file: false,
            schema: None,
            blocks: None,
            taken: 0,
            ended: false,
            offset: 0,
            packed: 0,
            unpacked: 0,
            pending: Vec::new(),
            wanted: None,
            pieces: None,
            held: 0,
        };
        let mut head = [0; 8];
        let filled = messages.feed.fill(name, &mut head)?;
        messages.is_file = &head == MAGIC;
        messages.offset = filled as u64;
        match filled {
            8 if !messages.is_file => {
                // The last is the next.
                messages.pending = [4, 0]
                    .map(|at| {
                        u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
                    })
                    .to_vec();
                messages.offset = 0;
            }
            8 => messages.go_by_footer()?,
            _ => return Err(messages.bad(0, "expected an Arrow file or stream, found its end")),
        }
        Ok(messages)
    }

    /// Reads the footer of a file, where its end can be gone to.
    fn go_by_footer(&mut self) -> Result<(), InputError> {
        let Some(bytes) = self.feed.seekable() else { return Ok(()) };
        let name = self.name;
        let footer = Footer::read(name, bytes, &mut |offset, count| {
            self.go_to(offset);
            self.take(count, "the footer")
        })?;
        self.schema = Some(footer.schema);
        self.blocks = Some(footer.blocks.into_iter());
        Ok(())
    }

    fn go_to(&mut self, offset: u64) {
        self.offset = offset;
        self.feed.go_to(offset);
    }

    /// The schema: that of the footer, or else the first message. Once, before all others.
    pub(super) fn schema(&mut self) -> Result<Schema, InputError> {
        if let Some(schema) = self.schema.take() {
            return Ok(schema);
        }
        self.first_schema().map_err(|error| match error {
            InputError::Byte { offset, what, .. } if self.is_file => {
                let what = format!(
                    "{what}; this Arrow file holds no stream, which alone can be read from a pipe \
                     or compressed: name the file itself, unpacked, or write it as a stream"
                );
                self.bad(offset, what)
            }
            error => error,
        })
    }

    fn first_schema(&mut self) -> Result<Schema, InputError> {
        let first = self.next(true)?;
        let first = first.ok_or_else(|| self.bad(0, "expected a schema, found nothing"))?;
        let what = "expected a schema as the first message of an Arrow stream";
        let schema = first.header(self.name)?.header_as_schema();
        let schema = schema.ok_or_else(|| self.bad(first.offset, what))?;
        checked_schema(self.name, first.offset, schema)
    }

    /// Bytes of the source consumed, as it is stored.
    pub(super) fn stored(&self) -> u64 {
        match &self.feed {
            _ if self.blocks.is_some() => self.taken,
            Feed::Unpacked(unpacked) => unpacked.stored(),
            Feed::File { at, .. } => *at,
            Feed::Bytes { at, .. } => *at as u64,
        }
    }

    /// Whether bodies can be passed over without being read.
    pub(super) fn can_skip(&self) -> bool {
        matches!(self.feed, Feed::File { .. })
    }

    fn bad(&self, offset: u64, what: impl Into<String>) -> InputError {
        InputError::byte(self.name, offset, what)
    }

    /// Cuts batches of more than `piece_bytes` bytes from now on, of which the columns at these
    /// places are read, where any part of the source can be gone to.
    pub(super) fn cut(&mut self, schema: &SchemaRef, places: Vec<usize>, piece_bytes: u64) {
        self.wanted = Some(Projection { schema: Arc::clone(schema), places, piece_bytes });
    }

    /// Bytes that a message may take which must be in memory as a whole; those of a task always.
    fn whole_bytes_max(&self) -> u64 {
        let share = |bytes: u64| (bytes / WHOLE_SHARE).max(TASK_BYTES_MIN);
        self.limits.memory_bytes_max.map_or(u64::MAX, share)
    }

    /// Refuses a batch that must be in memory as a whole and does not fit.
    fn whole(&self, offset: u64, rows: u64, bytes: u64) -> Result<(), InputError> {
        let (needed_bytes, allowed_bytes) = (bytes + self.held, self.whole_bytes_max());
        if needed_bytes <= allowed_bytes {
            return Ok(());
        }
        let file = self.name.to_owned();
        Err(InputError::Batch { file, offset, rows, needed_bytes, allowed_bytes })
    }

    /// The next rows of a batch that is cut, or those that are left of it, without a body.
    fn piece(&mut self, with_body: bool) -> Result<Option<Message>, InputError> {
        let Some(mut pieces) = self.pieces.take() else { return Ok(None) };
        let (offset, kind) = (pieces.offset, MessageHeader::RecordBatch);
        if !with_body {
            let message = |metadata| Message {
                offset,
                kind,
                metadata,
                body: buffer(Vec::new()),
                unpacked: 0,
            };
            return Ok(pieces.rest().map(message));
        }
        let next = pieces.next(&mut |range| self.feed.range(self.name, range));
        let next = next.map_err(|fault| match fault {
            Fault::Damaged(what) => self.bad(offset, what),
            Fault::Unread(error) => error,
        })?;
        let Some((metadata, body)) = next else { return Ok(None) };
        let mut message = Message { offset, kind, metadata, body: buffer(body), unpacked: 0 };
        self.check(&mut message)?;
        self.whole(offset, message.rows(), message.bytes())?;
        self.pieces = Some(pieces);
        Ok(Some(message))
    }

    /// Begins a batch that is cut, if it is to be.
    fn begin(
        &mut self,
        (offset, body_bytes): (u64, u64),
        metadata: &[u8],
    ) -> Result<bool, InputError> {
        let Some(wanted) = self.wanted.as_ref().filter(|wanted| body_bytes > wanted.piece_bytes)
        else {
            return Ok(false);
        };
        if !self.can_skip() {
            return Ok(false);
        }
        let columns = (&*wanted.schema, &wanted.places[..]);
        let place = (offset, self.offset, body_bytes);
        let pieces = Pieces::of(metadata.to_vec(), columns, place, wanted.piece_bytes);
        let pieces = pieces.map_err(|what| self.bad(offset, what))?;
        if pieces.rows() == 0 {
            return Ok(false);
        }
        if let Some(bytes) = pieces.whole_bytes() {
            self.whole(offset, pieces.rows(), bytes)?;
        }
        self.skip(body_bytes)?;
        self.pieces = Some(pieces);
        Ok(true)
    }

    /// The next message, with its body or, where bodies can be skipped, without. Of a batch that is
    /// cut it is one for each piece.
    pub(super) fn next(&mut self, with_body: bool) -> Result<Option<Message>, InputError> {
        if let Some(message) = self.piece(with_body)? {
            return Ok(Some(message));
        }
        let block = match &mut self.blocks {
            None => None,
            Some(blocks) => match blocks.next() {
                None => return Ok(None),
                Some(block) => Some(block),
            },
        };
        if let Some(Block { offset, metadata, body }) = block {
            self.go_to(offset);
            self.taken += metadata + body;
        }
        let offset = self.offset;
        let length = self.metadata_length()?;
        if let Some(block) = block
            && length.is_none_or(|length| u64::from(length) > block.metadata)
        {
            return Err(self.bad(offset, "expected a message where the footer places one"));
        }
        let Some(length) = length else { return Ok(None) };
        let metadata = self.take(length.into(), "metadata")?;
        let (kind, body_bytes) = match root_as_message(&metadata) {
            Ok(message) => (message.header_type(), message.bodyLength()),
            Err(error) => {
                let what = format!("expected the metadata of a message: {}", reason(&error));
                return Err(self.bad(offset, what));
            }
        };
        let body_bytes = u64::try_from(body_bytes)
            .map_err(|_| self.bad(offset, format!("expected a body, found {body_bytes} bytes")))?;
        if let Some(block) = block.filter(|block| body_bytes > block.body) {
            let what = format!(
                "expected a body of the {} bytes that the footer states, found {body_bytes}",
                block.body
            );
            return Err(self.bad(offset, what));
        }
        let is_batch = kind == MessageHeader::RecordBatch;
        if with_body && is_batch && self.begin((offset, body_bytes), &metadata)? {
            return self.piece(true);
        }
        let mut message = Message { offset, kind, metadata, body: buffer(Vec::new()), unpacked: 0 };
        if !with_body {
            self.skip(body_bytes)?;
            return Ok(Some(message));
        }
        self.whole(offset, message.rows(), body_bytes)?;
        message.body = buffer(self.take(body_bytes, "the body of a message")?);
        self.check(&mut message)?;
        self.whole(offset, message.rows(), message.bytes())?;
        if kind == MessageHeader::DictionaryBatch {
            self.held += message.bytes();
        }
        Ok(Some(message))
    }

    /// Length of the metadata of the next message; `None` at the end.
    fn metadata_length(&mut self) -> Result<Option<u32>, InputError> {
        if self.ended {
            return Ok(None);
        }
        let offset = self.offset;
        let Some(mut word) = self.word()? else {
            self.ended = true;
            let what = "expected the end mark of an Arrow file; the file is cut off";
            return if self.is_file { Err(self.bad(offset, what)) } else { Ok(None) };
        };
        // Writers may fill up with zeros behind the magic bytes, to align the first message.
        while word == 0 && self.is_file && self.blocks.is_none() && offset == MAGIC.len() as u64 {
            let cut = || InputError::byte(self.name, offset, "expected a schema, found the end");
            word = self.word()?.ok_or_else(cut)?;
        }
        if word == CONTINUATION {
            let cut = || InputError::byte(self.name, offset, "expected the length of a message");
            word = self.word()?.ok_or_else(cut)?;
        }
        self.ended = word == 0;
        if u64::from(word) > METADATA_BYTES_MAX {
            let what = format!(
                "expected at most {METADATA_BYTES_MAX} bytes of metadata, found {word}; \
                 this is no Arrow stream"
            );
            return Err(self.bad(offset, what));
        }
        Ok((word > 0).then_some(word))
    }

    /// The next four bytes as a number; `None` at the end.
    fn word(&mut self) -> Result<Option<u32>, InputError> {
        if let Some(word) = self.pending.pop() {
            self.offset += 4;
            return Ok(Some(word));
        }
        let mut bytes = [0; 4];
        match self.feed.fill(self.name, &mut bytes)? {
            0 => Ok(None),
            4 => {
                self.offset += 4;
                Ok(Some(u32::from_le_bytes(bytes)))
            }
            _ => Err(self.bad(self.offset, "expected a message, found the end of the file")),
        }
    }

    /// The next bytes. Their number is not trusted.
    fn take(&mut self, count: u64, what: &str) -> Result<Vec<u8>, InputError> {
        let (start, name) = (self.offset, self.name);
        let cut = move || {
            let text = format!("expected {count} bytes of {what}, found the end of the file");
            InputError::byte(name, start, text)
        };
        if self.feed.left().is_some_and(|left| left < count) {
            return Err(cut());
        }
        let mut bytes = Vec::new();
        // The length of an object is stated by its server: room is made for what has come.
        if let Feed::File { file: file @ Onward::File(..), at, .. } = &mut self.feed {
            bytes.reserve_exact(count as usize);
            let taken = file.take(count).read_to_end(&mut bytes);
            let unread = |error| InputError::io(name, format!("read at byte {at}"), error);
            if (taken.map_err(unread)? as u64) < count {
                return Err(cut());
            }
            *at += count;
        }
        while (bytes.len() as u64) < count {
            let held = bytes.len();
            // Room for as much again as came, since nothing says that all of it will come.
            let step = (count as usize - held).min(held.max(TRUSTED_BYTES));
            bytes.resize(held + step, 0);
            if self.feed.fill(self.name, &mut bytes[held..])? < step {
                return Err(cut());
            }
        }
        self.offset += count;
        Ok(bytes)
    }

    fn skip(&mut self, count: u64) -> Result<(), InputError> {
        let Feed::File { file, at, bytes, .. } = &mut self.feed else {
            return self.take(count, "the body of a message").map(|_| ());
        };
        if *bytes - *at < count {
            let what = format!("expected {count} bytes of the body of a message, found the end");
            return Err(self.bad(self.offset, what));
        }
        *at += count;
        file.go_to(*at);
        self.offset += count;
        Ok(())
    }

    /// Checks what a message says about its buffers.
    fn check(&mut self, message: &mut Message) -> Result<(), InputError> {
        let header = message.header(self.name)?;
        let batch = header
            .header_as_record_batch()
            .or_else(|| header.header_as_dictionary_batch().and_then(|batch| batch.data()));
        let Some(batch) = batch else { return Ok(()) };
        if batch.length() < 0 {
            let what = format!("expected a number of rows, found {}", batch.length());
            return Err(self.bad(message.offset, what));
        }
        let unpacked = unpacked_bytes(batch, &message.body).ok_or_else(|| {
            self.bad(message.offset, "expected buffers inside the body of the message")
        })?;
        message.unpacked = unpacked;
        self.packed += message.body.len() as u64;
        self.unpacked = self.unpacked.saturating_add(unpacked);
        let Limits { ratio_max, ratio_free_bytes, .. } = *self.limits;
        if self.unpacked > self.packed.saturating_mul(ratio_max).max(ratio_free_bytes) {
            let what = format!("unpacks to more than {ratio_max} times its size so far");
            return Err(self.bad(message.offset, what));
        }
        Ok(())
    }
}

/// Bytes that the buffers of a batch say they unpack to, 0 without compression; `None` when a
/// buffer lies outside the body.
fn unpacked_bytes(batch: RecordBatch<'_>, body: &[u8]) -> Option<u64> {
    let mut sum = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok()?;
        let length = usize::try_from(buffer.length()).ok()?;
        let bytes = body.get(start..start.checked_add(length)?)?;
        if batch.compression().is_some()
            && let Some(stated) = bytes.first_chunk::<8>()
        {
            sum = sum.saturating_add(i64::from_le_bytes(*stated).max(0) as u64);
        }
    }
    Some(sum)
}
