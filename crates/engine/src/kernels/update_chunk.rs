//! Update chunks: updates as they wait on storage, or travel to another machine.
//!
//! ```text
//! 0      8      16    24       32      36      40       44     48       60        64
//! magic  graph  turn  updates  stripe  window  records  bytes  zero     CRC-32C   targets, accums
//! ```
//! A record is a destination, relative to its stripe, and an accumulator that has met one update,
//! or several where they were combined; the head says how many updates its records stand for. So
//! what was gathered can be checked against what was produced.
//!
//! Invariant: what is opened is what was written, by its checksum. Checked in
//! `update_chunk::open`. Tested by `damaged_updates_are_errors`.

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice, pod_read_unaligned, try_cast_slice};
use welter_store::checksum;

/// First bytes of every update chunk.
const MAGIC: [u8; 8] = *b"WELTERUP";
pub(crate) const HEADER_BYTES: usize = size_of::<Header>();
/// Chunks and the sections in them begin at multiples of this many bytes in their slab.
pub(crate) const SECTION: usize = 64;

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    graph: u64,
    turn: u64,
    updates: u64,
    stripe: u32,
    window: u32,
    records: u32,
    record_bytes: u32,
    zero: [u32; 3],
    checksum: u32,
}

/// Where updates are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateKey {
    /// The iteration that gathers them.
    pub turn: u64,
    /// The stripe of their destinations; on a cluster, the partition.
    pub stripe: u32,
    /// The partition that they were scattered from.
    pub source_partition: u32,
}

/// The records of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Records<'b> {
    pub(crate) graph: u64,
    /// Where they are to be.
    pub key: UpdateKey,
    /// How many updates they stand for.
    pub updates: u64,
    /// Destinations, relative to the stripe.
    pub targets: &'b [u32],
    /// Accumulator for each target, as bytes.
    pub accums: &'b [u8],
}

/// Bytes of a chunk of `records` records, whose accumulators have `width` bytes.
pub(crate) fn chunk_bytes(width: usize, records: usize) -> usize {
    sections(width, records)[1]
}

/// Where accumulators begin in a chunk, and where it ends. Targets begin behind the head.
fn sections(width: usize, records: usize) -> [usize; 2] {
    let second = (HEADER_BYTES + 4 * records).next_multiple_of(SECTION);
    let end = (second + width * records).next_multiple_of(SECTION);
    [second, end]
}

/// Writes a chunk into as many bytes as it has. Its accumulators are the bytes of as many as there
/// are targets, `width` each.
pub(crate) fn write(
    width: usize,
    bytes: &mut [u8],
    (graph, cell): (u64, UpdateKey),
    (targets, accums): (&[u32], &[u8]),
    updates: u64,
) {
    let [second, _] = sections(width, targets.len());
    bytes[HEADER_BYTES..][..size_of_val(targets)].copy_from_slice(cast_slice(targets));
    bytes[HEADER_BYTES + size_of_val(targets)..second].fill(0);
    bytes[second..][..accums.len()].copy_from_slice(accums);
    bytes[second + accums.len()..].fill(0);
    let mut header = Header {
        magic: MAGIC,
        graph,
        turn: cell.turn,
        updates,
        stripe: cell.stripe,
        window: cell.source_partition,
        records: targets.len() as u32,
        record_bytes: (4 + width) as u32,
        zero: [0; 3],
        checksum: 0,
    };
    header.checksum = sum(&header, &bytes[HEADER_BYTES..]);
    bytes[..HEADER_BYTES].copy_from_slice(bytes_of(&header));
}

/// The records of a chunk, with the bytes of their accumulators, `width` each, if its bytes are
/// those that were written.
pub(crate) fn open(width: usize, bytes: &[u8]) -> Option<Records<'_>> {
    let header: Header = pod_read_unaligned(bytes.get(..HEADER_BYTES)?);
    let records = header.records as usize;
    let [second, end] = sections(width, records);
    let is_whole = header.magic == MAGIC
        && header.record_bytes as usize == 4 + width
        && end == bytes.len()
        && header.checksum == sum(&header, &bytes[HEADER_BYTES..]);
    if !is_whole {
        return None;
    }
    Some(Records {
        graph: header.graph,
        key: UpdateKey {
            turn: header.turn,
            stripe: header.stripe,
            source_partition: header.window,
        },
        updates: header.updates,
        targets: try_cast_slice(&bytes[HEADER_BYTES..][..4 * records]).ok()?,
        accums: &bytes[second..][..width * records],
    })
}

fn sum(header: &Header, records: &[u8]) -> u32 {
    let header = Header { checksum: 0, ..*header };
    checksum::append(checksum::of(bytes_of(&header)), records)
}
