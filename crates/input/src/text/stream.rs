//! Reading of compressed files and pipes: one thread unpacks, the others parse.
//!
//! Blocks of whole lines go through a queue of a few blocks, so memory stays the same however much
//! there is, and their buffers come back to be filled again.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::failure::First;
use super::file::{expected_rows, too_long};
use super::lines::Lines;
use super::parse::{self, Fault};
use super::records::RecordEnd;
use crate::collect::Collector;
use crate::error::InputError;
use crate::reader::Context;
use crate::source::Source;
use crate::unpack::Unpacked;

/// Text that is handed to a parser at once.
const BLOCK_BYTES: usize = 2 << 20;

/// Whole lines of the input, in order.
struct Block {
    number: u64,
    text: Vec<u8>,
}

/// Reason why a block could not be read.
enum Trouble {
    /// A line is malformed: this many lines of the block come before it.
    Line { before: u64, what: String },
    /// Anything that has no line.
    Other(InputError),
}

/// State that the workers share.
struct Shared<'a> {
    lines: &'a dyn Lines,
    context: &'a Context<'a>,
    collector: &'a Collector,
    first: First<Trouble>,
    /// Newlines of each block that was parsed, for the line numbers of errors.
    newlines: Mutex<Vec<(u64, u64)>>,
}

/// Reads a source from its beginning to its end, once.
pub(super) fn read(
    source: &Source,
    lines: &dyn Lines,
    context: &Context<'_>,
    collector: &Collector,
) -> Result<(), InputError> {
    let mut feed = Feed::new(source, lines, context)?;
    let shared =
        Shared { lines, context, collector, first: First::new(), newlines: Mutex::default() };
    let threads = context.options.thread_count();
    if threads == 1 {
        serial(&mut feed, &shared);
    } else {
        parallel(&mut feed, &shared, threads);
    }
    let Shared { first, newlines, .. } = shared;
    match first.into_inner() {
        None => Ok(()),
        Some((_, Trouble::Other(error))) => Err(error),
        Some((number, Trouble::Line { before, what })) => {
            let counts = newlines.into_inner().unwrap_or_else(PoisonError::into_inner);
            let earlier = counts.iter().filter(|(block, _)| *block < number);
            let line = feed.skipped + earlier.map(|(_, count)| count).sum::<u64>() + before + 1;
            Err(InputError::Line { file: source.name().to_owned(), line, what })
        }
    }
}

/// Unpacks and parses by turns.
fn serial(feed: &mut Feed<'_>, shared: &Shared<'_>) {
    let mut text = Vec::new();
    for number in 0.. {
        match feed.next(text) {
            Ok(Some(filled)) => text = shared.parse(Block { number, text: filled }),
            Ok(None) => return,
            Err(trouble) => return shared.first.note(number, trouble),
        }
        if shared.first.precedes(u64::MAX) {
            return;
        }
    }
}

/// Unpacks on this thread and parses on those of the pool.
fn parallel(feed: &mut Feed<'_>, shared: &Shared<'_>, threads: usize) {
    let (full, blocks) = sync_channel::<Block>(threads);
    let (empty, free) = sync_channel::<Vec<u8>>(2 * threads + 2);
    // Owned by the workers alone: if all of them end, sending fails and no thread waits for ever.
    let blocks = Arc::new(Mutex::new(blocks));
    shared.context.pool.in_place_scope(|scope| {
        for _ in 0..threads {
            let (blocks, empty) = (Arc::clone(&blocks), empty.clone());
            scope.spawn(move |_| work(shared, &blocks, &empty));
        }
        drop(blocks);
        hand_out(feed, shared, full, &free);
    });
}

fn work(shared: &Shared<'_>, blocks: &Mutex<Receiver<Block>>, empty: &SyncSender<Vec<u8>>) {
    loop {
        let block = blocks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(block) = block else { return };
        let text = shared.parse(block);
        // Where the queue of empty buffers is full, this one is not needed.
        drop(empty.try_send(text));
    }
}

/// Sends blocks until the source or the patience with it ends; `full` closes at the end.
fn hand_out(
    feed: &mut Feed<'_>,
    shared: &Shared<'_>,
    full: SyncSender<Block>,
    free: &Receiver<Vec<u8>>,
) {
    for number in 0.. {
        if shared.first.precedes(number) {
            break;
        }
        match feed.next(free.try_recv().unwrap_or_default()) {
            Ok(Some(text)) => {
                if full.send(Block { number, text }).is_err() {
                    break;
                }
            }
            Ok(None) => break,
            Err(trouble) => {
                shared.first.note(number, trouble);
                break;
            }
        }
    }
    drop(full);
}

impl Shared<'_> {
    /// Parses a block, keeps what came of it, and gives its buffer back.
    fn parse(&self, block: Block) -> Vec<u8> {
        let Block { number, text } = block;
        if self.first.precedes(number) {
            return text;
        }
        let mut rows = self.lines.rows().with_bounds(self.context.options.bounds());
        rows.reserve(expected_rows(&text, text.len() as u64));
        let parsed = match self.lines.parse(&text, &mut rows) {
            Ok(()) => {
                self.collector.pass_over(rows.passed);
                self.lines.keep(number, rows, self.collector).map_err(Trouble::Other)
            }
            Err(Fault { offset, what }) => {
                Err(Trouble::Line { before: parse::newlines(&text[..offset]), what })
            }
        };
        if let Err(trouble) = parsed {
            self.first.note(number, trouble);
        }
        let count = parse::newlines(&text);
        self.newlines.lock().unwrap_or_else(PoisonError::into_inner).push((number, count));
        text
    }
}

/// Unpacked text, cut into blocks of whole lines.
struct Feed<'a> {
    unpacked: Unpacked,
    context: &'a Context<'a>,
    /// The beginning of the line that the last block did not end.
    rest: Vec<u8>,
    /// Stored bytes that were counted as read.
    counted: u64,
    ended: bool,
    /// Newlines before the first block.
    skipped: u64,
    /// End of rows.
    cut: RecordEnd,
}

impl<'a> Feed<'a> {
    fn new(
        source: &Source,
        lines: &dyn Lines,
        context: &'a Context<'a>,
    ) -> Result<Self, InputError> {
        let unpacked = source.unpack(&context.options.limits)?;
        let cut = lines.cut();
        let mut feed =
            Self { unpacked, context, rest: Vec::new(), counted: 0, ended: false, skipped: 0, cut };
        feed.skip_to(lines.start())?;
        Ok(feed)
    }

    /// Leaves out what comes before the rows, but counts its newlines.
    fn skip_to(&mut self, start: usize) -> Result<(), InputError> {
        let mut before = vec![0; start];
        let filled = self.unpacked.fill(&mut before)?;
        self.cut.translate(&mut before[..filled]);
        self.skipped = parse::newlines(&before[..filled]);
        Ok(())
    }

    /// The next block; `None` at the end. `buffer` is used again.
    fn next(&mut self, mut buffer: Vec<u8>) -> Result<Option<Vec<u8>>, Trouble> {
        if self.ended {
            return Ok(None);
        }
        let mut kept = self.rest.len();
        buffer.resize(BLOCK_BYTES.max(2 * kept), 0);
        buffer[..kept].copy_from_slice(&self.rest);
        self.rest.clear();
        loop {
            let filled = kept + self.unpacked.fill(&mut buffer[kept..]).map_err(Trouble::Other)?;
            let stored = self.unpacked.stored();
            self.context.advance(stored - self.counted).map_err(Trouble::Other)?;
            self.counted = stored;
            self.cut.translate(&mut buffer[kept..filled]);
            if filled < buffer.len() {
                self.ended = true;
                buffer.truncate(filled);
                return Ok((filled > 0).then_some(buffer));
            }
            let whole = self.cut.whole(&buffer);
            if whole > 0 {
                self.rest.extend_from_slice(&buffer[whole..]);
                buffer.truncate(whole);
                return Ok(Some(buffer));
            }
            let longest = self.context.options.limits.line_bytes_max;
            if filled > longest {
                return Err(Trouble::Line { before: 0, what: too_long(longest) });
            }
            kept = filled;
            buffer.resize(2 * filled, 0);
        }
    }
}
