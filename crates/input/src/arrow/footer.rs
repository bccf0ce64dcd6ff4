//! The footer of an Arrow file, which says where its messages are.
//!
//! ```text
//! "ARROW1" 0 0 | messages, and whatever lies between them | footer | its length i32 | "ARROW1"
//! ```
//!
//! A file need not be a stream between its magic bytes: what counts is the schema in the footer,
//! and the blocks that it lists.
//!
//! Invariant: blocks lie inside the file and are together no longer than it, so that nothing is
//! read many times over because it is listed many times. Checked in `Footer::read`. Tested by
//! `footers_that_list_a_message_twice_are_refused`.

use arrow_ipc::root_as_footer;
use arrow_schema::Schema;

use super::schema::{checked_schema, reason};
use crate::error::InputError;

/// Bytes behind the footer: its length and the magic bytes.
const TAIL_BYTES: u64 = 10;

/// The magic bytes at the end of a file.
const MAGIC_END: &[u8] = b"ARROW1";

/// Bytes before the first message.
const HEAD_BYTES: u64 = 8;

/// Bytes of a footer: one of a million batches has fewer.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// Position of a message in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    /// Bytes of the metadata, with the length before it, and of the body.
    pub(super) metadata: u64,
    pub(super) body: u64,
}

/// Statements of a footer.
#[derive(Debug)]
pub(super) struct Footer {
    pub(super) schema: Schema,
    /// Dictionaries first, then rows in their order.
    pub(super) blocks: Vec<Block>,
}

impl Footer {
    /// Reads the footer of a file of `bytes` bytes; `take` reads a number of bytes from an offset
    /// on.
    pub(super) fn read(
        name: &str,
        bytes: u64,
        take: &mut dyn FnMut(u64, u64) -> Result<Vec<u8>, InputError>,
    ) -> Result<Self, InputError> {
        let cut = || {
            let what = "expected the end of an Arrow file, found another; the file is cut off, or \
                        is still being written";
            InputError::byte(name, bytes, what)
        };
        let start = bytes.checked_sub(TAIL_BYTES).filter(|at| *at >= HEAD_BYTES).ok_or_else(cut)?;
        let tail = take(start, TAIL_BYTES)?;
        let (length, magic) = tail.split_first_chunk::<4>().ok_or_else(cut)?;
        if magic != MAGIC_END {
            return Err(cut());
        }
        let length = i32::from_le_bytes(*length);
        let most = (start - HEAD_BYTES).min(FOOTER_BYTES_MAX);
        let length = u64::try_from(length).ok().filter(|length| *length <= most);
        let Some(length) = length else {
            return Err(InputError::byte(name, start, "expected the length of a footer"));
        };
        let start = start - length;
        let footer = take(start, length)?;
        let footer = root_as_footer(&footer).map_err(|error| {
            let what = format!("the footer is damaged: {}", reason(&error));
            InputError::byte(name, start, what)
        })?;
        let missing = || InputError::byte(name, start, "expected a schema in the footer");
        let schema = checked_schema(name, start, footer.schema().ok_or_else(missing)?)?;
        let listed = [footer.dictionaries(), footer.recordBatches()];
        let listed = listed.into_iter().flatten().flatten();
        let blocks: Option<Vec<Block>> = listed.map(|block| Block::of(block, start)).collect();
        let blocks = blocks.filter(|blocks| {
            let all = |sum: u64, block: &Block| sum.saturating_add(block.metadata + block.body);
            blocks.iter().fold(0, all) <= start
        });
        let outside = || {
            let what = "the footer is damaged: it places messages outside of the file, or over \
                        one another";
            InputError::byte(name, start, what)
        };
        Ok(Self { schema, blocks: blocks.ok_or_else(outside)? })
    }
}

impl Block {
    /// A block before the footer, which begins at byte `end`.
    fn of(block: &arrow_ipc::Block, end: u64) -> Option<Self> {
        let offset = u64::try_from(block.offset()).ok().filter(|offset| *offset >= HEAD_BYTES)?;
        let metadata = u64::try_from(block.metaDataLength()).ok()?;
        let body = u64::try_from(block.bodyLength()).ok()?;
        let last = offset.checked_add(metadata)?.checked_add(body)?;
        (last <= end).then_some(Self { offset, metadata, body })
    }
}
