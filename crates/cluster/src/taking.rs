//! Ways in which the result of a run leaves the machines: it comes to the host, or they write it in
//! parts.
//!
//! ```text
//! Here      each chunk comes to the host, which has all of them in memory
//! Parts     all write their chunks ─► the host looks at chunks, one at a time ─► all name theirs
//! ```

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use welter_protocol::checkpoint::{CheckpointShard, Manifest};
use welter_protocol::ids::Bytes;
use welter_protocol::{Payload, Rank};

use crate::ask::{Answer, Ask};
use crate::disk::folder::Parts;
use crate::error::ClusterError;
use crate::starter::Host;

/// Looks at a result that is written and has no name yet.
pub type Inspect<'l> = dyn FnMut(&Written<'_>) -> Result<(), ClusterError> + 'l;

/// Way in which a result is taken.
pub enum ResultPlace<'t> {
    /// The result comes to the host.
    Here,
    /// Machines write it, and the host looks at it.
    Parts(&'t mut Inspect<'t>),
}

/// A result that machines have written.
pub struct Written<'h> {
    chunks: Vec<CheckpointShard>,
    /// Rows of each chunk, and the machine that has it.
    wrote: BTreeMap<(u32, u64), (u64, Rank)>,
    decided: &'h [Bytes],
    /// Host that asks machines, and one of these that died meanwhile.
    host: Mutex<(&'h mut dyn Host, Option<Rank>)>,
}

impl Written<'_> {
    /// Rows of each chunk, in the order of their vertices.
    pub fn rows(&self) -> Vec<u64> {
        let is_written = |part| self.wrote.contains_key(&place(part));
        debug_assert!(self.chunks.iter().all(is_written), "a result has the rows of all chunks");
        let rows = |part| self.wrote.get(&place(part)).map_or(0, |(rows, _)| *rows);
        self.chunks.iter().map(rows).collect()
    }

    /// Bytes of each chunk, in the order of their vertices.
    pub fn bytes(&self) -> Vec<u64> {
        self.chunks.iter().map(|part| part.bytes.into()).collect()
    }

    /// Decisions of the program at the beginning, and after each iteration.
    pub fn decided(&self) -> &[Bytes] {
        self.decided
    }

    /// A chunk, by its number.
    ///
    /// # Errors
    /// When its machine does not hand it out.
    pub fn chunk(&self, number: usize) -> Result<Payload, ClusterError> {
        let part = self.chunks[number];
        let (at, lacking) = (place(&part), another(&part));
        let Some(&(_, rank)) = self.wrote.get(&at) else { return Err(lacking) };
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let (host, died) = &mut *host;
        let mut parts = Parts::new();
        let asked = collect(&mut **host, rank, Ask::Chunk(at.0, at.1), &mut parts);
        if let Err(ClusterError::Silent { rank }) = &asked {
            *died = Some(*rank);
        }
        asked?;
        let payload = parts.pop().map(|(_, payload)| payload);
        payload.filter(|payload| payload.hash() == part.hash).ok_or(lacking)
    }
}

fn place(part: &CheckpointShard) -> (u32, u64) {
    (part.partition, part.chunk)
}

fn another(part: &CheckpointShard) -> ClusterError {
    let what = format!("chunk {} of partition {} is another one", part.chunk, part.partition);
    ClusterError::Result { rank: 0, what }
}

/// Asks a machine for chunks.
fn collect(
    host: &mut dyn Host,
    rank: Rank,
    ask: Ask,
    parts: &mut Parts,
) -> Result<(), ClusterError> {
    host.ask(rank, ask)?;
    loop {
        match host.answer(rank)? {
            Answer::Part(at, payload) => parts.push((at, payload)),
            Answer::Rows(..) => {}
            Answer::End => return Ok(()),
        }
    }
}

/// All chunks of a result, which come here.
pub(crate) fn fetched(
    host: &mut dyn Host,
    machines: usize,
    manifest: &Manifest,
) -> Result<BTreeMap<(u32, u64), Payload>, ClusterError> {
    let mut parts = BTreeMap::new();
    for rank in 0..machines {
        parts.extend(host.vertices(rank, manifest)?);
    }
    let is_it = |part: &CheckpointShard| {
        parts.get(&place(part)).is_some_and(|payload: &Payload| payload.hash() == part.hash)
    };
    match manifest.parts.iter().find(|part| !is_it(part)) {
        Some(lacking) => Err(another(lacking)),
        None => Ok(parts),
    }
}

/// Has machines write a result, of these decisions, and name it when all of it is written and was
/// looked at.
pub(crate) fn written(
    host: &mut dyn Host,
    machines: usize,
    (manifest, decided): (&Manifest, &[Bytes]),
    look: &mut Inspect<'_>,
) -> Result<(), ClusterError> {
    let mut wrote = BTreeMap::new();
    all(host, machines, Ask::Write, |rank, at, rows| {
        wrote.insert(at, (rows, rank));
    })?;
    let chunks = in_order(manifest);
    if let Some(lacking) = chunks.iter().find(|part| !wrote.contains_key(&place(part))) {
        return Err(another(lacking));
    }
    let all_written = Written { chunks, wrote, decided, host: Mutex::new((&mut *host, None)) };
    let looked = look(&all_written);
    let (_, died) = all_written.host.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(rank) = died {
        return Err(ClusterError::Silent { rank });
    }
    looked?;
    all(host, machines, Ask::Name, |_, _, _| {})
}

/// Asks all machines at once, and hears each to the end of its answer, also where another one has
/// failed: what it says next answers another question.
fn all(
    host: &mut dyn Host,
    machines: usize,
    ask: Ask,
    mut wrote: impl FnMut(Rank, (u32, u64), u64),
) -> Result<(), ClusterError> {
    let asked: Vec<_> = (0..machines).map(|rank| host.ask(rank, ask)).collect();
    let mut ended = Ok(());
    for (rank, asked) in asked.into_iter().enumerate() {
        let hear = || -> Result<(), ClusterError> {
            asked?;
            loop {
                match host.answer(rank)? {
                    Answer::Rows(at, rows) => wrote(rank, at, rows),
                    Answer::Part(..) => {}
                    Answer::End => return Ok(()),
                }
            }
        };
        ended = ended.and(hear());
    }
    ended
}

/// Chunks of a result in the order of their vertices.
pub(crate) fn in_order(manifest: &Manifest) -> Vec<CheckpointShard> {
    let mut parts = manifest.parts.clone();
    parts.sort_unstable();
    debug_assert!(
        parts.is_sorted_by(|one, next| place(one) < place(next)),
        "a place in the result has one chunk"
    );
    parts
}
