//! The form of messages on a wire: frames that are versioned, bounded and checksummed.
//!
//! ```text
//! 0 magic "wlt>"   4 version   8 bytes of the body   16 checksum   24 body: an envelope
//! checksum = mix(checksum(bytes 0 to 15) xor checksum(body))
//! ```
//!
//! **Invariant:** `open(seal(e)) = e`; an envelope has one form; and `open` of anything else is an
//! error, without a panic and without room for more than came.
//!
//! Not here: who may speak. A checksum tells damage, and no intent; frames of strangers are for the
//! transport to refuse. Ranks are checked against the size of the cluster, because they are places
//! in tables; other numbers are only looked up.

mod form;

pub(crate) use self::form::{Reader, Wire};
use self::form::{wire_enum, wire_struct};
use crate::ack::Ack;
use crate::audit::{Served, Sum, Worked};
use crate::checkpoint::{Manifest, Part, Scattered};
use crate::config::Shape;
use crate::failure::Failure;
use crate::messages::{Begin, Envelope, Exit, Install, Lost, Made, Message, Pull};
use crate::names::{Block, BlockName, Cell, Epoch, Generation, Kind, Phase, Role, Step, checksum};
use crate::random::mix;

/// Bytes before the body.
pub const HEAD_BYTES: usize = 24;

/// The largest body. Chunks have 4 MiB; vertex sets and accumulators may be larger.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

const MAGIC: u32 = u32::from_le_bytes(*b"wlt>");

/// Of frames. A message that gets another form gets another version.
pub const VERSION: u32 = 1;

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Bytes are missing, or too many.
    Length,
    /// It does not begin like a frame.
    Magic,
    /// It is of another version.
    Version(u32),
    /// The body is larger than any may be.
    TooLarge(u64),
    /// Bytes are not those that were sent.
    Damaged,
    /// The body is no envelope of this cluster.
    Body,
}

/// The frame of an envelope.
pub fn seal(envelope: &Envelope) -> Vec<u8> {
    let mut bytes = vec![0; HEAD_BYTES];
    envelope.put(&mut bytes);
    let body = (bytes.len() - HEAD_BYTES) as u64;
    bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
    bytes[8..16].copy_from_slice(&body.to_le_bytes());
    let sum = sum(&bytes);
    bytes[16..24].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn sum(bytes: &[u8]) -> u64 {
    mix(checksum(&bytes[..16]) ^ checksum(&bytes[HEAD_BYTES..]))
}

/// How long a frame is that begins so: to be read before there is room for the rest.
///
/// # Errors
/// When it is none that can be opened.
pub fn frame_bytes(head: &[u8; HEAD_BYTES]) -> Result<usize, Malformed> {
    let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
    let body = u64::from(short(12)) << 32 | u64::from(short(8));
    match (short(0), short(4)) {
        (MAGIC, VERSION) if body <= BODY_BYTES_MAX => Ok(HEAD_BYTES + body as usize),
        (MAGIC, VERSION) => Err(Malformed::TooLarge(body)),
        (MAGIC, version) => Err(Malformed::Version(version)),
        _ => Err(Malformed::Magic),
    }
}

/// The envelope in a frame, in a cluster of so many machines.
///
/// # Errors
/// When there is none.
pub fn open(bytes: &[u8], machines: usize) -> Result<Envelope, Malformed> {
    let (head, body) = bytes.split_first_chunk().ok_or(Malformed::Length)?;
    if frame_bytes(head)? != bytes.len() {
        return Err(Malformed::Length);
    }
    if head[16..] != sum(bytes).to_le_bytes() {
        return Err(Malformed::Damaged);
    }
    Reader::new(body, machines).only().ok_or(Malformed::Body)
}

wire_struct!(Epoch { coordinator, count });
wire_struct!(Generation { epoch, iteration });
wire_struct!(Step { iteration, phase });
wire_struct!(Cell { partition, source });
wire_struct!(BlockName { kind, role, epoch, iteration, partition, source, number });
wire_struct!(Block { name, records, bytes, sources, hash });
wire_struct!(Sum { count, hash });
wire_struct!(Worked { consumed, made, stored, gathered, ingested });
wire_struct!(Served { handed, inactive, all });
wire_struct!(Ack { received, ahead });
wire_struct!(Part { partition, chunk, bytes, hash });
wire_struct!(Scattered { epoch, updates, chunks });
wire_struct!(Shape { machines, partitions, vertices, chunk_vertices, route });
wire_struct!(Manifest {
    shape,
    committed,
    made,
    version,
    finished,
    generation,
    control,
    active,
    edges,
    records,
    parts,
    scattered,
});
wire_struct!(Install { roster, manifest, previous });
wire_struct!(Lost { edges, vertices, updates });
wire_struct!(Begin { step, control, made, generation, edges_only, active, committed });
wire_struct!(Pull { step, cell, active, sent });
wire_struct!(Made { partition, total, active });
wire_struct!(Envelope { from, from_incarnation, to, to_incarnation, epoch, number, ack, message });

wire_enum!(Phase { 0 Ingest, 1 Scatter, 2 Gather, 3 Fold, });
wire_enum!(Kind { 0 Edges, 1 Updates, 2 Vertices, 3 Accumulators, });
wire_struct!(Failure { why, rank, what });
wire_enum!(Exit {
    0 Fenced,
    1 Storage,
    2 Absent,
    3 Broken,
    4 Lost,
    5 Reshaped,
    6 Cut,
    7 Stalled,
    8 BadInput,
    9 Budget,
    10 Cancelled,
});
wire_enum!(Role { 0 Primary, 1 Mirror, });
wire_enum!(Message {
    0 Hello { distress },
    1 Summon,
    2 Join { manifests },
    3 Ping,
    4 Pong,
    5 Install(install),
    6 Installed { lost, shelves },
    7 Fetch { role, have },
    8 Copied { block, payload },
    9 CopiesEnd { role, count },
    10 Begin(begin),
    11 Arrive { step, worked, made },
    12 Close { step, checkpoint },
    13 Closed { step, served, parts, edges, updates },
    14 MirrorManifest(bytes),
    15 ManifestMirrored,
    16 Finish(manifest),
    17 Store { block, payload },
    18 Stored(name),
    19 Pull(pull),
    20 Chunk { pull, block, payload, queued, service },
    21 NoChunk(pull),
    22 Get(name),
    23 Got { name, payload },
    24 Degrees { partition, payload },
    25 Place(name),
    26 Placed { name, engine },
    27 Find { step, cell, none },
    28 Found { step, cell, engine },
    29 Propose { step, partition },
    30 Proposed { step, partition, accepted },
    31 Collect { step, partition },
    32 Accumulators { step, partition, payload },
    33 Parked { step, name, engine },
    34 Ended { step, partition },
    35 Fail(failure),
    36 Abort(failure),
    37 Aborting,
});

#[cfg(test)]
mod tests;
