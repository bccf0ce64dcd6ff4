//! The form of messages on a wire: frames that are versioned, bounded and checksummed.
//!
//! ```text
//! 0 magic "wlt>"   4 version   8 bytes of the body   16 bytes of the payload   24 its checksum
//! 32 checksum      40 body: an envelope, without its payload            then the payload
//! checksum = mix(checksum(bytes 0 to 31) xor checksum(body))
//! ```
//!
//! A message carries one [`Payload`] at most. Its bytes are sent as they are, behind the rest of
//! the frame ([`Frame::parts`]), and read into the buffer in which they stay:
//!
//! ```text
//! head <- read HEAD_BYTES      lengths(head)      body <- read      opening = head and body
//! payload <- read opening.payload_bytes() into a buffer            opening.open(payload)
//! ```
//!
//! **Invariant:** `open(seal(e)) = e`; an envelope has one form; and `open` of anything else is an
//! error, without a panic and without room for more than came, or than a head that is whole says.
//! Tested by `every_message_has_one_form_and_comes_back`, `any_bytes` and
//! `every_flipped_bit_and_every_missing_byte_is_seen`; checked in `Opening::of` and
//! `Opening::open`. **Invariant:** no byte of a payload is copied, and none is looked at but to be
//! summed once where it arrives; its sum is that of who made it. Tested by
//! `payloads_are_sent_as_they_are_and_stay_where_they_were_read`.
//!
//! Not here: who may speak. A checksum tells damage, and no intent; frames of strangers are for the
//! transport to refuse. Ranks are checked against the size of the cluster, because they are places
//! in tables; other numbers are only looked up.

mod form;

pub(crate) use self::form::{Form, Reader, Wire};
use self::form::{wire_enum, wire_struct};
use crate::ack::Ack;
use crate::audit::{Served, Sum, Worked};
use crate::checkpoint::{CheckpointShard, Manifest, Scattered};
use crate::config::Shape;
use crate::failure::Failure;
use crate::ids::{Block, BlockName, Cell, Epoch, Generation, Kind, Phase, Role, Step};
use crate::messages::{
    Begin, Envelope, Exit, Install, Message, MissingBlocks, PartitionOutcome, Pull, Stock,
};
use crate::payload::{Buffer, Payload, checksum};
use crate::random::mix;

/// Bytes before the body.
pub const HEAD_BYTES: usize = 40;

/// The largest body, and the largest payload. Chunks have 4 MiB; accumulators may be larger.
pub const BODY_BYTES_MAX: u64 = 1 << 30;

const MAGIC: u32 = u32::from_le_bytes(*b"wlt>");

/// Of frames. A message that gets another form gets another version.
pub const VERSION: u32 = 9;

/// Reason why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Bytes are missing, or too many.
    Length,
    /// Bytes do not begin like a frame.
    Magic,
    /// The frame is of another version.
    Version(u32),
    /// The body or the payload is larger than any may be.
    TooLarge(u64),
    /// Bytes are not those that were sent.
    Damaged,
    /// The body is no envelope of this cluster.
    Body,
}

/// An envelope as bytes, of which those of the payload are shared.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Head and body.
    pub head: Vec<u8>,
    /// Payload, which may be empty.
    pub payload: Payload,
}

impl Frame {
    /// Bytes of the frame in their order, for a driver that writes several pieces at a time.
    pub fn parts(&self) -> [&[u8]; 2] {
        [&self.head, &self.payload]
    }
}

/// The frame of an envelope.
pub fn seal(envelope: &Envelope) -> Frame {
    let Form { bytes: mut head, payload } = form(envelope);
    let payload = payload.unwrap_or_default();
    let body = (head.len() - HEAD_BYTES) as u64;
    head[..4].copy_from_slice(&MAGIC.to_le_bytes());
    head[4..8].copy_from_slice(&VERSION.to_le_bytes());
    head[8..16].copy_from_slice(&body.to_le_bytes());
    head[16..24].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    head[24..32].copy_from_slice(&payload.hash().to_le_bytes());
    let sum = sum(&head);
    head[SUM_AT..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
    Frame { head, payload }
}

/// Digest of an envelope, by all bytes of its frame.
pub fn digest(envelope: &Envelope) -> u64 {
    let Form { bytes, payload } = form(envelope);
    mix(checksum(&bytes) ^ payload.map_or(0, |payload| payload.hash()))
}

/// An envelope behind room for a head.
fn form(envelope: &Envelope) -> Form {
    let mut bytes = Vec::with_capacity(ROOM_BYTES);
    bytes.resize(HEAD_BYTES, 0);
    let mut form = Form::of(bytes);
    envelope.put(&mut form);
    form
}

/// Bytes that heads and bodies of most messages have room in.
const ROOM_BYTES: usize = 256;

const SUM_AT: usize = 32;

/// The sum of a head and a body, without the sum in it.
pub fn sum(bytes: &[u8]) -> u64 {
    mix(checksum(&bytes[..SUM_AT]) ^ checksum(&bytes[HEAD_BYTES..]))
}

fn long(head: &[u8; HEAD_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| head[at + byte]))
}

/// Bytes of head and body of a frame that begins so: to be read before there is room for the rest.
///
/// # Errors
/// When it is none that can be opened.
pub fn head_bytes(head: &[u8; HEAD_BYTES]) -> Result<usize, Malformed> {
    let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| head[at + byte]));
    let [body, payload] = [8, 16].map(|at| long(head, at));
    match (short(0), short(4)) {
        (MAGIC, VERSION) if body.max(payload) <= BODY_BYTES_MAX => Ok(HEAD_BYTES + body as usize),
        (MAGIC, VERSION) => Err(Malformed::TooLarge(body.max(payload))),
        (MAGIC, version) => Err(Malformed::Version(version)),
        _ => Err(Malformed::Magic),
    }
}

/// Head and body of a frame, which are whole; the payload comes next.
pub struct Opening<'a> {
    body: &'a [u8],
    payload_bytes: usize,
    hash: u64,
}

impl<'a> Opening<'a> {
    /// Of head and body.
    ///
    /// # Errors
    /// When these are not what was sent.
    pub fn of(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (head, body) = bytes.split_first_chunk().ok_or(Malformed::Length)?;
        if head_bytes(head)? != bytes.len() {
            return Err(Malformed::Length);
        }
        if long(head, SUM_AT) != sum(bytes) {
            return Err(Malformed::Damaged);
        }
        Ok(Self { body, payload_bytes: long(head, 16) as usize, hash: long(head, 24) })
    }

    /// Bytes of the payload that follow.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// The envelope, in a cluster of `machines` machines, with the payload that was read.
    ///
    /// # Errors
    /// Frame without an envelope, or with another payload than was sent.
    pub fn open(self, payload: Buffer, machines: usize) -> Result<Envelope, Malformed> {
        if payload.len() != self.payload_bytes {
            return Err(Malformed::Length);
        }
        let payload = payload.open(self.hash).ok_or(Malformed::Damaged)?;
        Reader::carrying(self.body, machines, payload).only().ok_or(Malformed::Body)
    }
}

/// The envelope in a frame, in a cluster of `machines` machines.
///
/// # Errors
/// Frame without an envelope.
pub fn open(head: &[u8], payload: Buffer, machines: usize) -> Result<Envelope, Malformed> {
    Opening::of(head)?.open(payload, machines)
}

wire_struct!(Epoch { coordinator, count });
wire_struct!(Generation { epoch, iteration });
wire_struct!(Step { iteration, phase });
wire_struct!(Cell { partition, source });
wire_struct!(BlockName { kind, role, epoch, iteration, partition, source, number });
wire_struct!(Block { name, records, bytes, sources, hash });
wire_struct!(Sum { count, hash });
wire_struct!(Worked {
    consumed,
    made,
    stored,
    gathered,
    ingested,
    streamed,
    kept,
    dropped,
    rewritten,
});
wire_struct!(Served { handed, inactive, all });
wire_struct!(Ack { received, ahead });
wire_struct!(CheckpointShard { partition, chunk, bytes, hash });
wire_struct!(Scattered { epoch, updates, chunks });
wire_struct!(Shape { machines, partitions, vertices, bounds, chunk_vertices, route });
wire_struct!(Manifest {
    shape,
    committed,
    made,
    version,
    finished,
    generation,
    rewrites,
    control,
    active,
    edges,
    records,
    parts,
    scattered,
});
wire_struct!(Install { incarnations, manifest, previous });
wire_struct!(MissingBlocks { edges, vertices, updates });
wire_struct!(Begin { step, control, made, generation, rewrites, edges_only, active, committed });
wire_struct!(Pull { step, cell, generation, active, sent, lists });
wire_struct!(Stock { more, left, cells });
wire_struct!(PartitionOutcome { partition, total, active });
wire_struct!(Envelope { from, from_incarnation, to, to_incarnation, epoch, number, ack, message });

wire_enum!(Phase { 0 Ingest, 1 Scatter, 2 Gather, 3 Fold, 4 Split, });
wire_enum!(Kind { 0 Edges, 1 Updates, 2 Vertices, 3 Accumulators, 4 Rough, });
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
    11 Full,
    12 Damaged,
    13 Usage,
});
wire_enum!(Role { 0 Primary, 1 Mirror, });
wire_enum!(Message {
    0 Hello { needs_new_epoch },
    1 Summon,
    2 Join { manifests },
    3 Ping,
    4 Pong,
    5 Install(install),
    6 Installed { lost, chunk_sets },
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
    20 Chunk { pull, block, payload, queued, service, stock },
    21 NoChunk { pull, stock },
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
