//! Update chunks: updates as they wait on storage, or travel to another machine.
//!
//! ```text
//! 0      8      16         24       32      36      40       44     48      56    60       64
//! magic  graph  iteration  updates  stripe  window  records  bytes  coding  kind  CRC-32C  targets
//! ```
//! A record is a destination, relative to its stripe, and an accumulator that has met one update,
//! or several where they were combined; accumulators lie behind all destinations. The head says how
//! many updates its records stand for, so that what was gathered can be checked against what was
//! produced, and of which [kind](UpdateKind) they are.
//!
//! Destinations may be encoded as keys of edges are ([`EncodedTargets`]): those of combined updates
//! ascend, so that most take ten bits of stream-vbyte where 32 are written otherwise; those of
//! updates one by one are in no order, and take 24. `coding` is the encoding and the bytes of all
//! destinations. Accumulators are numbers of which every bit counts: they are left to the codec of
//! the frame around the chunk, if it has one.
//!
//! Invariant: what is opened is what was written, by its checksum, and of a kind that there is.
//! Checked in `update_chunk::checked`. Tested by `damaged_updates_are_errors` and
//! `chunks_of_an_unknown_kind_are_damaged`.

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice, pod_read_unaligned, try_cast_slice};
use welter_store::checksum;
use welter_store::codec::{self, Decoder, SimdLevel};
use welter_store::encoding::SHORT_LOW_BITS;
use welter_store::header::Encoding;

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
    iteration: u64,
    updates: u64,
    stripe: u32,
    window: u32,
    records: u32,
    record_bytes: u32,
    encoding: u32,
    target_bytes: u32,
    kind: u32,
    checksum: u32,
}

/// Kind of the records of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum UpdateKind {
    /// Updates or accumulators of vertices, which an iteration gathers.
    Updates = 0,
    /// Entries of rows, on their way to the bin of their ranks.
    Entries = 1,
    /// Rows that travel to ranges of bins.
    Rows = 2,
    /// Counts of ranks, on their way to the bin of these.
    Counts = 3,
    /// Counts of vertices, of which values are made.
    Values = 4,
}

impl UpdateKind {
    /// All kinds, each at the place of its number.
    pub(crate) const ALL: [Self; 5] =
        [Self::Updates, Self::Entries, Self::Rows, Self::Counts, Self::Values];
}

/// Where updates are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateKey {
    /// The iteration that gathers them.
    pub iteration: u64,
    /// The stripe of their destinations; on a cluster, the partition.
    pub stripe: u32,
    /// The partition that they were scattered from.
    pub source_partition: u32,
    /// Kind of their records.
    pub kind: UpdateKind,
}

impl UpdateKey {
    /// Where updates that an iteration gathers are to be.
    pub const fn new(iteration: u64, stripe: u32, source_partition: u32) -> Self {
        Self { iteration, stripe, source_partition, kind: UpdateKind::Updates }
    }
}

/// The records of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Records<'b> {
    pub(crate) graph: u64,
    /// Where they are to be.
    pub key: UpdateKey,
    /// Number of updates that they stand for.
    pub updates: u64,
    /// Destinations, relative to the stripe.
    pub targets: &'b [u32],
    /// Accumulator for each target, as bytes.
    pub accums: &'b [u8],
}

/// Bytes of a chunk of `records` records, whose accumulators have `width` bytes and whose
/// destinations are packed: the most that they take.
pub(crate) fn chunk_bytes(width: usize, records: usize) -> usize {
    sections(4 * records, width * records)[1]
}

/// Bytes of the room in which `records` destinations are encoded.
pub(crate) fn coded_bytes(records: usize) -> usize {
    4 * records + records.div_ceil(4)
}

/// Where accumulators begin in a chunk, and where it ends. Targets begin behind the head.
fn sections(target_bytes: usize, accum_bytes: usize) -> [usize; 2] {
    let second = (HEADER_BYTES + target_bytes).next_multiple_of(SECTION);
    let end = (second + accum_bytes).next_multiple_of(SECTION);
    [second, end]
}

/// Destinations of a chunk as they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EncodedTargets<'t> {
    encoding: Encoding,
    bytes: &'t [u8],
    count: usize,
}

impl<'t> EncodedTargets<'t> {
    /// Destinations as they lie in memory.
    pub(crate) fn packed(targets: &'t [u32]) -> Self {
        Self { encoding: Encoding::Packed, bytes: cast_slice(targets), count: targets.len() }
    }

    /// Destinations in the encoding of a graph's edges where that suits them: differences where
    /// they ascend, three bytes each where they do not, and packed where neither takes less.
    /// `room` is where they are written.
    pub(crate) fn new(encoding: Encoding, targets: &'t [u32], room: &'t mut Vec<u8>) -> Self {
        let encoding = match encoding {
            Encoding::Packed | Encoding::Pairs => return Self::packed(targets),
            Encoding::Compressed if targets.is_sorted() => Encoding::Compressed,
            Encoding::Compressed | Encoding::Short => Encoding::Short,
        };
        let is_wide = |target: &u32| target >> SHORT_LOW_BITS != 0;
        if encoding == Encoding::Short && targets.iter().any(is_wide) {
            return Self::packed(targets);
        }
        room.clear();
        room.reserve_exact(coded_bytes(targets.len()));
        codec::encode(encoding, 0, targets, room);
        if room.len() >= size_of_val(targets) {
            return Self::packed(targets);
        }
        Self { encoding, bytes: room, count: targets.len() }
    }

    /// Bytes of a chunk of these, whose accumulators have `width` bytes.
    pub(crate) fn chunk_bytes(&self, width: usize) -> usize {
        sections(self.bytes.len(), width * self.count)[1]
    }
}

/// Writes a chunk into as many bytes as it has. Its accumulators are the bytes of as many as there
/// are targets, `width` each.
pub(crate) fn write(
    width: usize,
    bytes: &mut [u8],
    (graph, cell): (u64, UpdateKey),
    (targets, accums): (EncodedTargets<'_>, &[u8]),
    updates: u64,
) {
    let EncodedTargets { encoding, bytes: target_bytes, count } = targets;
    let [second, _] = sections(target_bytes.len(), accums.len());
    let targets_end = HEADER_BYTES + target_bytes.len();
    bytes[HEADER_BYTES..targets_end].copy_from_slice(target_bytes);
    bytes[targets_end..second].fill(0);
    bytes[second..][..accums.len()].copy_from_slice(accums);
    bytes[second + accums.len()..].fill(0);
    let mut header = Header {
        magic: MAGIC,
        graph,
        iteration: cell.iteration,
        updates,
        stripe: cell.stripe,
        window: cell.source_partition,
        records: count as u32,
        record_bytes: (4 + width) as u32,
        encoding: encoding as u32,
        target_bytes: target_bytes.len() as u32,
        kind: cell.kind as u32,
        checksum: 0,
    };
    header.checksum = sum(&header, &bytes[HEADER_BYTES..]);
    bytes[..HEADER_BYTES].copy_from_slice(bytes_of(&header));
}

/// The records of a chunk, with the bytes of their accumulators, `width` each, if its bytes are
/// those that were written. Destinations that are encoded are decoded into `room`.
pub(crate) fn open<'b>(
    width: usize,
    bytes: &'b [u8],
    room: &'b mut Vec<u32>,
) -> Option<Records<'b>> {
    let (header, kind) = checked(width, bytes)?;
    let (encoding, count) = (encoding_of(&header)?, header.records as usize);
    let Some(mut decoder) =
        Decoder::new(encoding, 0, &bytes[HEADER_BYTES..], count, SimdLevel::detect())
    else {
        return packed(width, bytes, (&header, kind));
    };
    let least = count.next_multiple_of(DECODED_AT_ONCE);
    if room.len() < least {
        room.resize(least, 0);
    }
    // As many as there are accumulators, unless the checksum was forged.
    let decoded = decoder.fill(&mut room[..least]);
    (decoded == count).then(|| header.records(kind, width, bytes, &room[..decoded]))
}

/// Makes the checksum of a chunk fit, if it has a head: for the fuzz target.
pub(crate) fn forge(bytes: &mut [u8]) -> Option<()> {
    let header: Header = pod_read_unaligned(bytes.get(..HEADER_BYTES)?);
    let sum = sum(&header, &bytes[HEADER_BYTES..]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    Some(())
}

/// The records of a chunk whose destinations are packed, if its bytes are those that were written.
pub(crate) fn open_packed(width: usize, bytes: &[u8]) -> Option<Records<'_>> {
    let (header, kind) = checked(width, bytes)?;
    packed(width, bytes, (&header, kind))
}

/// As [`open_packed`], of a chunk whose bytes were compared with another sum of them already, so
/// that they are not summed again.
pub(crate) fn open_packed_again(width: usize, bytes: &[u8]) -> Option<Records<'_>> {
    let (header, kind) = headed(width, bytes)?;
    packed(width, bytes, (&header, kind))
}

fn packed<'b>(
    width: usize,
    bytes: &'b [u8],
    (header, kind): (&Header, UpdateKind),
) -> Option<Records<'b>> {
    let is_packed = encoding_of(header)? == Encoding::Packed;
    let targets = &bytes[HEADER_BYTES..][..header.target_bytes as usize];
    let targets = try_cast_slice(targets).ok().filter(|_| is_packed)?;
    Some(header.records(kind, width, bytes, targets))
}

/// Multiple of which decoders fill as many.
const DECODED_AT_ONCE: usize = 16;

fn kind_of(header: &Header) -> Option<UpdateKind> {
    UpdateKind::ALL.get(header.kind as usize).copied()
}

fn encoding_of(header: &Header) -> Option<Encoding> {
    Encoding::from_byte(header.encoding.try_into().ok()?)
}

/// The head of a chunk and the kind of its records, if its bytes are those that were written, and
/// as many as its records take.
fn checked(width: usize, bytes: &[u8]) -> Option<(Header, UpdateKind)> {
    let is_whole =
        |(header, _): &(Header, UpdateKind)| header.checksum == sum(header, &bytes[HEADER_BYTES..]);
    headed(width, bytes).filter(is_whole)
}

/// The head of a chunk and the kind of its records, if its bytes are as many as these take.
fn headed(width: usize, bytes: &[u8]) -> Option<(Header, UpdateKind)> {
    let header: Header = pod_read_unaligned(bytes.get(..HEADER_BYTES)?);
    let (records, target_bytes) = (header.records as usize, header.target_bytes as usize);
    let (encoding, kind) = (encoding_of(&header)?, kind_of(&header)?);
    let fits = match encoding {
        Encoding::Packed => target_bytes == 4 * records,
        Encoding::Pairs => false,
        Encoding::Short | Encoding::Compressed => {
            (encoding.bytes_least(records)..=4 * records).contains(&target_bytes)
        }
    };
    let is_whole = header.magic == MAGIC
        && header.record_bytes as usize == 4 + width
        && fits
        && sections(target_bytes, width * records)[1] == bytes.len();
    is_whole.then_some((header, kind))
}

impl Header {
    fn records<'b>(
        &self,
        kind: UpdateKind,
        width: usize,
        bytes: &'b [u8],
        targets: &'b [u32],
    ) -> Records<'b> {
        let Self { iteration, stripe, window, .. } = *self;
        let accum_bytes = width * self.records as usize;
        let [second, _] = sections(self.target_bytes as usize, accum_bytes);
        Records {
            graph: self.graph,
            key: UpdateKey { iteration, stripe, source_partition: window, kind },
            updates: self.updates,
            targets,
            accums: &bytes[second..][..accum_bytes],
        }
    }
}

fn sum(header: &Header, records: &[u8]) -> u32 {
    let header = Header { checksum: 0, ..*header };
    checksum::append(checksum::of(bytes_of(&header)), records)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    const AT: (u64, UpdateKey) = (7, UpdateKey::new(3, 1, 2));

    /// A chunk of records of eight bytes, and the encoding of its destinations.
    fn written(encoding: Encoding, targets: &[u32], accums: &[u64]) -> (Vec<u64>, Encoding) {
        let mut room = Vec::new();
        let targets = EncodedTargets::new(encoding, targets, &mut room);
        let mut words = vec![u64::MAX; targets.chunk_bytes(8) / 8];
        let bytes = bytemuck::cast_slice_mut(&mut words);
        write(8, bytes, AT, (targets, cast_slice(accums)), 99);
        (words, targets.encoding)
    }

    #[test]
    fn chunks_have_the_bytes_that_they_had() {
        let ascending: Vec<u32> = (0..40).map(|place| 700 * place).collect();
        let mixed: Vec<u32> = ascending.iter().map(|target| target ^ 0x5a5a).collect();
        let accums: Vec<u64> = (0..40).map(|place| place << 40 | 3).collect();
        // Seeds of the fuzz target are the chunks that are compared.
        for (name, encoding, targets, golden) in [
            ("packed", Encoding::Packed, &ascending, 0x37f5_4207),
            ("short", Encoding::Short, &mixed, 0x3128_ec5f),
            ("compressed", Encoding::Compressed, &ascending, 0x30aa_0df2),
            ("empty", Encoding::Compressed, &Vec::new(), 0x6ae7_0ed5),
        ] {
            let (words, _) = written(encoding, targets, &accums[..targets.len()]);
            let bytes: &[u8] = cast_slice(&words);
            assert_eq!(checksum::of(bytes), golden, "{name}");
            let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/updates");
            assert!(bytes == std::fs::read(seeds.join(name)).unwrap(), "{name}");
        }
    }

    #[test]
    fn destinations_take_as_few_bytes_as_their_order_lets_them() {
        let count = 1 << 12;
        let ascending: Vec<u32> = (0..count).map(|place| 3 * place).collect();
        let mixed: Vec<u32> =
            (0..count).map(|place| place.wrapping_mul(0x9e37_79b9) >> 8).collect();
        let wide: Vec<u32> = mixed.iter().map(|target| target << 8).collect();
        let accums = vec![5_u64; count as usize];
        for (encoding, targets, expected, bytes) in [
            (Encoding::Packed, &ascending, Encoding::Packed, 4.0),
            (Encoding::Pairs, &ascending, Encoding::Packed, 4.0),
            (Encoding::Short, &ascending, Encoding::Short, 3.0),
            (Encoding::Compressed, &ascending, Encoding::Compressed, 1.25),
            (Encoding::Compressed, &mixed, Encoding::Short, 3.0),
            (Encoding::Compressed, &wide, Encoding::Packed, 4.0),
            (Encoding::Short, &wide, Encoding::Packed, 4.0),
        ] {
            let (words, found) = written(encoding, targets, &accums);
            assert_eq!(found, expected, "{encoding:?}");
            let taken = (8 * words.len() - HEADER_BYTES) as f64 / f64::from(count) - 8.0;
            assert!((taken - bytes).abs() < 0.05, "{encoding:?} {taken}");
        }
    }

    #[test]
    fn chunks_of_an_unknown_kind_are_damaged() {
        let mut words = vec![0_u64; chunk_bytes(8, 0) / 8];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        for kind in UpdateKind::ALL {
            let at = UpdateKey { kind, ..AT.1 };
            write(8, bytes, (AT.0, at), (EncodedTargets::packed(&[]), &[]), 0);
            assert_eq!(open_packed(8, bytes).unwrap().key, at);
            // All but the kind is as before, and the checksum fits.
            let unknown = UpdateKind::ALL.len() as u32 + kind as u32;
            bytes[HEADER_BYTES - 8..HEADER_BYTES - 4].copy_from_slice(&unknown.to_le_bytes());
            forge(bytes).unwrap();
            assert!(open_packed(8, bytes).is_none());
        }
    }

    proptest! {
        #[test]
        fn records_come_out_as_they_went_in_and_damage_does_not(
            mut records in prop::collection::vec((0_u32..1 << 26, any::<u64>()), 0..300),
            is_sorted: bool,
            shift in 0_u32..26,
            bit: prop::sample::Index,
        ) {
            for (target, _) in &mut records {
                *target >>= shift;
            }
            if is_sorted {
                records.sort_by_key(|(target, _)| *target);
            }
            let (targets, accums): (Vec<u32>, Vec<u64>) = records.into_iter().unzip();
            let mut room = Vec::new();
            for encoding in Encoding::ALL {
                let (mut words, found) = written(encoding, &targets, &accums);
                let bytes: &[u8] = cast_slice(&words);
                let records = open(8, bytes, &mut room).unwrap();
                prop_assert_eq!((records.graph, records.key, records.updates), (AT.0, AT.1, 99));
                prop_assert_eq!(records.targets, &targets[..]);
                prop_assert_eq!(records.accums, cast_slice::<u64, u8>(&accums));
                let packed = open_packed(8, bytes);
                prop_assert_eq!(packed.is_some(), found == Encoding::Packed);
                prop_assert!(open(4, bytes, &mut Vec::new()).is_none());
                prop_assert!(open(8, &bytes[..bytes.len() - SECTION], &mut Vec::new()).is_none());
                let bit = bit.index(64 * words.len());
                words[bit / 64] ^= 1 << (bit % 64);
                prop_assert!(open(8, cast_slice(&words), &mut room).is_none());
            }
        }
    }
}
