//! The part of the result that a machine has: handed to the host, or written by the machine.
//!
//! ```text
//! the host asks          the machine
//! vertices               hands out all chunks that lie with it
//! chunk PARTITION CHUNK  hands out that one
//! write                  writes each of its chunks to a file without a name, and syncs it
//! name                   gives these their names, when all machines have written theirs
//! ```
//!
//! **Invariant:** no part has its name before all parts of all machines are durable. Checked in
//! `taking::written`, which asks for names after all have answered that they wrote.

use welter_progress::FailureKind;
use welter_protocol::Payload;
use welter_protocol::checkpoint::Manifest;

use crate::ask::Ask;
use crate::control::Word;
use crate::error::ClusterError;
use crate::running::RunningMachine;
use crate::taking::in_order;

/// Reason why a part could not be written, and its kind.
pub type Unwritten = (FailureKind, String);

/// Place of a chunk in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// Its number among all chunks, in the order of their vertices.
    pub number: usize,
    /// Bytes of all chunks before it.
    pub offset_bytes: u64,
}

/// A writer of the chunks of the result that a machine has.
pub trait PartWriter {
    /// Writes a chunk, which is durable then and has no name yet. The number of its rows.
    ///
    /// # Errors
    /// Failure of the write.
    fn write(&mut self, place: PartPlace, payload: &Payload) -> Result<u64, Unwritten>;

    /// Gives all that was written its name.
    ///
    /// # Errors
    /// Failure of the naming; what got its name keeps it.
    fn name(&mut self) -> Result<(), Unwritten>;

    /// Removes all that was written and has no name.
    fn clear(&mut self);
}

/// Writer of the part of the result that a machine has, if it is to write that.
pub(crate) type Writer<'w, 'p> = Option<&'w mut (dyn PartWriter + 'p)>;

/// Answers what the host asks of the result that a machine has, which finished with a manifest.
pub(crate) fn answer(
    (machine, manifest): (&RunningMachine, Option<&Manifest>),
    ask: Ask,
    writer: &mut Writer<'_, '_>,
    say: &mut impl FnMut(Word) -> Result<(), ClusterError>,
) -> Result<(), ClusterError> {
    let Some(manifest) = manifest else {
        return say(Word::Lacking("it has not finished".to_owned()));
    };
    match (ask, writer.as_mut()) {
        (Ask::Vertices, _) => {
            let own = machine.places(manifest);
            hand_out((machine, manifest), &own, say)
        }
        (Ask::Chunk(partition, chunk), _) => {
            hand_out((machine, manifest), &[(partition, chunk)], say)
        }
        (Ask::Write, Some(writer)) => write((machine, manifest), &mut **writer, say),
        (Ask::Name, Some(writer)) => say(match writer.name() {
            Ok(()) => Word::PartsEnd,
            Err((kind, what)) => Word::Unwritten(kind, what),
        }),
        (Ask::Write | Ask::Name, None) => {
            say(Word::Unwritten(FailureKind::Internal, "it has nothing to write with".to_owned()))
        }
    }
}

fn hand_out(
    (machine, manifest): (&RunningMachine, &Manifest),
    places: &[(u32, u64)],
    say: &mut impl FnMut(Word) -> Result<(), ClusterError>,
) -> Result<(), ClusterError> {
    for &(partition, chunk) in places {
        match machine.chunk(manifest, (partition, chunk)) {
            Ok(payload) => say(Word::Part { partition, chunk, payload })?,
            Err(error) => return say(Word::Lacking(error.to_string())),
        }
    }
    say(Word::PartsEnd)
}

fn write(
    (machine, manifest): (&RunningMachine, &Manifest),
    writer: &mut dyn PartWriter,
    say: &mut impl FnMut(Word) -> Result<(), ClusterError>,
) -> Result<(), ClusterError> {
    // Parts of a run that went back before they had names.
    writer.clear();
    let own = machine.places(manifest);
    let mut offset_bytes = 0;
    for (number, part) in in_order(manifest).iter().enumerate() {
        let at = (part.partition, part.chunk);
        if own.binary_search(&at).is_ok() {
            let payload = match machine.chunk(manifest, at) {
                Ok(payload) if payload.hash() == part.hash => payload,
                Ok(_) => return say(Word::Lacking("a chunk is another one".to_owned())),
                Err(error) => return say(Word::Lacking(error.to_string())),
            };
            match writer.write(PartPlace { number, offset_bytes }, &payload) {
                Ok(rows) => say(Word::Rows { partition: at.0, chunk: at.1, rows })?,
                Err((kind, what)) => return say(Word::Unwritten(kind, what)),
            }
        }
        offset_bytes += u64::from(part.bytes);
    }
    say(Word::PartsEnd)
}
