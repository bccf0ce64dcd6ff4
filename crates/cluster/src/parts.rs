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
//! The machine beats meanwhile, so that the host waits as long as it works on parts, and no longer
//! than it is silent.
//!
//! **Invariant:** no part has its name before all parts of all machines are durable. Checked in
//! `taking::written`, which asks for names after all have answered that they wrote. **Invariant:**
//! a machine is heard of while it works on a part, and not for ever where a call of the system
//! hangs. Checked in `busy_for`. Tested by `a_machine_beats_while_it_names_parts` and
//! `a_machine_whose_part_hangs_is_silent`.

use std::time::{Duration, Instant};

use welter_progress::FailureKind;
use welter_protocol::Payload;
use welter_protocol::checkpoint::{CheckpointShard, Manifest};

use crate::ask::Ask;
use crate::attendance::attended;
use crate::control::Word;
use crate::error::ClusterError;
use crate::meeting::BEAT;
use crate::running::RunningMachine;
use crate::taking::in_order;

/// Time in which a part is read, written or named, the attempts of some requests to a bucket
/// included.
const PART: Duration = Duration::from_mins(10);

/// Reason why a part could not be written, and its kind.
pub type Unwritten = (FailureKind, String);

/// Place of a chunk in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartPlace {
    /// Number of the part among all chunks, in the order of their vertices.
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

    /// Gives the next part that was written its name. False where all have theirs.
    ///
    /// # Errors
    /// Failure of the naming, which leaves nothing that has no name; what got its name keeps it.
    fn name(&mut self) -> Result<bool, Unwritten>;

    /// Removes all that was written and has no name.
    fn clear(&mut self);
}

/// Writer of the part of the result that a machine has, if it is to write that.
pub(crate) type Writer<'w, 'p> = Option<&'w mut (dyn PartWriter + 'p)>;

/// Does something that may take long, while the host hears that this machine is there.
///
/// # Errors
/// When the host is out of reach.
pub(crate) fn busy<T>(
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
    work: impl FnOnce() -> T,
) -> Result<T, ClusterError> {
    busy_for(PART, say, work)
}

/// As [`busy`], for this time at most: after it this machine is silent.
fn busy_for<T>(
    time: Duration,
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
    work: impl FnOnce() -> T,
) -> Result<T, ClusterError> {
    let since = Instant::now();
    busy_while(|| since.elapsed() < time, say, work)
}

/// As [`busy`], as long as `comes_further` is true when it is asked, before each beat.
///
/// # Errors
/// As of [`busy`].
pub(crate) fn busy_while<T>(
    mut comes_further: impl FnMut() -> bool + Send,
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
    work: impl FnOnce() -> T,
) -> Result<T, ClusterError> {
    let mut said = Ok(());
    let beat = || {
        if said.is_ok() && comes_further() {
            said = say(Word::Alive);
        }
    };
    let done = attended(BEAT, beat, work);
    said.map(|()| done)
}

/// Answers what the host asks of the result that a machine has, which finished with a manifest.
pub(crate) fn answer(
    (machine, manifest): (&RunningMachine, Option<&Manifest>),
    ask: Ask,
    writer: &mut Writer<'_, '_>,
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
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
        (Ask::Name, Some(writer)) => name(&mut **writer, say),
        (Ask::Write | Ask::Name, None) => {
            say(Word::Unwritten(FailureKind::Internal, "it has nothing to write with".to_owned()))
        }
    }
}

fn hand_out(
    (machine, manifest): (&RunningMachine, &Manifest),
    places: &[(u32, u64)],
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
) -> Result<(), ClusterError> {
    for &(partition, chunk) in places {
        match busy(say, || machine.chunk(manifest, (partition, chunk)))? {
            Ok(payload) => say(Word::Part { partition, chunk, payload })?,
            Err(error) => return say(Word::Lacking(error.to_string())),
        }
    }
    say(Word::PartsEnd)
}

fn write(
    (machine, manifest): (&RunningMachine, &Manifest),
    writer: &mut dyn PartWriter,
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
) -> Result<(), ClusterError> {
    // Parts of a run that went back before they had names.
    busy(say, || writer.clear())?;
    let own = machine.places(manifest);
    debug_assert!(own.is_sorted(), "a place is found by a search");
    let mut offset_bytes = 0;
    for (number, part) in in_order(manifest).iter().enumerate() {
        if own.binary_search(&(part.partition, part.chunk)).is_ok() {
            let place = PartPlace { number, offset_bytes };
            let word = busy(say, || write_part((machine, manifest), part, (place, &mut *writer)))?;
            let is_written = matches!(word, Word::Rows { .. });
            say(word)?;
            if !is_written {
                return Ok(());
            }
        }
        offset_bytes += u64::from(part.bytes);
    }
    say(Word::PartsEnd)
}

/// The word about a part of a machine that is written now.
fn write_part(
    (machine, manifest): (&RunningMachine, &Manifest),
    part: &CheckpointShard,
    (place, writer): (PartPlace, &mut dyn PartWriter),
) -> Word {
    let &CheckpointShard { partition, chunk, hash, .. } = part;
    match machine.chunk(manifest, (partition, chunk)) {
        Ok(payload) if payload.hash() == hash => match writer.write(place, &payload) {
            Ok(rows) => Word::Rows { partition, chunk, rows },
            Err((kind, what)) => Word::Unwritten(kind, what),
        },
        Ok(_) => Word::Lacking("a chunk is another one".to_owned()),
        Err(error) => Word::Lacking(error.to_string()),
    }
}

fn name(
    writer: &mut dyn PartWriter,
    say: &mut (impl FnMut(Word) -> Result<(), ClusterError> + Send),
) -> Result<(), ClusterError> {
    loop {
        match busy(say, || writer.name())? {
            Ok(true) => {}
            Ok(false) => return say(Word::PartsEnd),
            Err((kind, what)) => return say(Word::Unwritten(kind, what)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    /// Waits until it is so, and says whether that was in time.
    fn comes(is_so: impl Fn() -> bool) -> bool {
        let until = Instant::now() + MINUTE;
        while !is_so() {
            if Instant::now() > until {
                return false;
            }
            sleep(Duration::from_millis(1));
        }
        true
    }

    /// A writer whose parts are named once the host has heard a beat for each.
    struct Slow<'b> {
        left: usize,
        beats: &'b AtomicUsize,
    }

    impl PartWriter for Slow<'_> {
        fn write(&mut self, _: PartPlace, _: &Payload) -> Result<u64, Unwritten> {
            unreachable!("all is written")
        }

        fn name(&mut self) -> Result<bool, Unwritten> {
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            let before = self.beats.load(Ordering::Relaxed);
            let is_heard = comes(|| self.beats.load(Ordering::Relaxed) > before);
            let silent = || (FailureKind::Internal, "it is silent".to_owned());
            if is_heard { Ok(true) } else { Err(silent()) }
        }

        fn clear(&mut self) {}
    }

    #[test]
    fn a_machine_beats_while_it_names_parts() {
        let beats = AtomicUsize::new(0);
        let (mut slow, mut words) = (Slow { left: 3, beats: &beats }, Vec::new());
        let mut say = |word| {
            if matches!(word, Word::Alive) {
                beats.fetch_add(1, Ordering::Relaxed);
            } else {
                words.push(word);
            }
            Ok(())
        };
        name(&mut slow, &mut say).unwrap();
        assert!(slow.left == 0 && matches!(words[..], [Word::PartsEnd]), "{words:?}");
        // The host went away meanwhile.
        let asked = AtomicUsize::new(0);
        let mut say = |_| {
            asked.fetch_add(1, Ordering::Relaxed);
            Err(ClusterError::Silent { rank: 0 })
        };
        let done = busy(&mut say, || comes(|| asked.load(Ordering::Relaxed) > 0));
        assert!(matches!(done, Err(ClusterError::Silent { .. })), "{done:?}");
    }

    #[test]
    fn a_machine_whose_part_hangs_is_silent() {
        let beats = AtomicUsize::new(0);
        let mut say = |_| {
            beats.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let is_silent = || {
            let before = beats.load(Ordering::Relaxed);
            sleep(10 * BEAT);
            beats.load(Ordering::Relaxed) == before
        };
        assert!(busy_for(3 * BEAT, &mut say, || comes(is_silent)).unwrap());
    }
}
