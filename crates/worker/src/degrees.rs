//! Edges that leave vertices, as a machine counts them in its share of the input, for who makes
//! first values.
//!
//! ```text
//! counts    u8 for each vertex of a partition, the count modulo 256; then, for each vertex of 256
//!           edges or more, its place u32 and the count divided by 256 u32
//!           place u32, count u32 for each that has any, ascending, where few have
//!           or one u64, the edges that leave the partition, for a program that looks at none
//! ```
//!
//! A machine counts by partitions: a byte a vertex of the graph, and eight an edge in 256. Where
//! numbers of vertices continue beyond 32 bits even that may be more than its memory: there those
//! of a partition that it met are in a table, until an array takes less. Only programs that look at
//! degrees have them counted (`Program::DEGREES`), so that all others, those that contract among
//! them, have nothing of all vertices on one machine.
//!
//! **Invariant:** counts come to what an array over all vertices has, in either form. Tested by
//! `counts_are_those_of_a_map_in_either_form`.

use bytemuck::{cast_slice, pod_read_unaligned};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use welter_engine::{Buffer, EngineError};
use welter_protocol::Payload;
use welter_protocol::partitions::Partitions;

use crate::other;

/// Vertices that an array has for each one of a table: a table takes up to twenty bytes for it, and
/// a list of its counts eight, so that a list is shorter than an array.
const ARRAY_SHARE: usize = 16;

/// Numbers by place.
type Table = HashMap<u32, u32, FixedState>;

/// Counts of all vertices of a partition.
pub(crate) struct Bytes {
    /// Modulo 256, on huge pages, since edges may come in any order.
    low: Buffer<u8>,
    /// Divided by 256, of those that have 256 or more.
    high: Table,
}

impl Bytes {
    fn zeroed(width: usize) -> Result<Self, EngineError> {
        Ok(Self { low: Buffer::zeroed(width)?, high: Table::default() })
    }

    #[inline]
    fn add(&mut self, place: usize, edges: u32) {
        let sum = u64::from(self.low[place]) + u64::from(edges);
        self.low[place] = sum as u8;
        if let high @ 1.. = (sum >> 8) as u32 {
            let count = self.high.entry(place as u32).or_default();
            *count = count.saturating_add(high);
        }
    }
}

/// Counts of the vertices of a partition.
pub(crate) enum Degrees {
    All(Bytes),
    Met(Table),
}

impl Degrees {
    #[inline]
    fn add(&mut self, place: u64, edges: u32, (partitions, partition): (&Partitions, u32)) {
        match self {
            Self::All(counts) => counts.add(place as usize, edges),
            Self::Met(counts) => {
                *counts.entry(place as u32).or_default() += edges;
                let width = width(partitions, partition);
                // Where there is no memory for an array the table serves.
                if counts.len() > width / ARRAY_SHARE
                    && let Ok(mut all) = Bytes::zeroed(width)
                {
                    counts.iter().for_each(|(place, count)| all.add(*place as usize, *count));
                    *self = Self::All(all);
                }
            }
        }
    }

    fn payload(&self) -> Payload {
        let (low, table) = match self {
            Self::All(Bytes { low, high }) => (&low[..], high),
            Self::Met(counts) => (&[][..], counts),
        };
        let mut pairs: Vec<[u32; 2]> =
            table.iter().map(|(place, count)| [*place, *count]).collect();
        pairs.sort_unstable();
        Payload::from([low, cast_slice(pairs.as_flattened())].concat())
    }
}

/// Edges that were read, by what they leave.
pub(crate) enum Counts {
    /// Each vertex.
    Vertices(Vec<Degrees>),
    /// Each partition, which takes no memory for vertices.
    Partitions(Vec<u64>),
}

impl Counts {
    pub(crate) fn of_vertices() -> Self {
        Self::Vertices(Vec::new())
    }

    pub(crate) fn of_partitions() -> Self {
        Self::Partitions(Vec::new())
    }

    /// Begins anew.
    ///
    /// # Errors
    /// When there is no memory for counts of all vertices.
    pub(crate) fn begin(&mut self, partitions: &Partitions) -> Result<(), EngineError> {
        let has_tables = has_tables(partitions);
        match self {
            Self::Vertices(counts) => {
                let none = |partition| {
                    if has_tables {
                        return Ok(Degrees::Met(HashMap::default()));
                    }
                    Ok(Degrees::All(Bytes::zeroed(width(partitions, partition))?))
                };
                *counts = (0..partitions.count()).map(none).collect::<Result<_, EngineError>>()?;
            }
            Self::Partitions(counts) => *counts = vec![0; partitions.count() as usize],
        }
        Ok(())
    }

    /// Counts edges that leave the vertex at a place of a partition.
    #[inline]
    pub(crate) fn add(
        &mut self,
        partitions: &Partitions,
        (partition, place): (u32, u64),
        edges: u32,
    ) {
        match self {
            Self::Vertices(counts) => {
                counts[partition as usize].add(place, edges, (partitions, partition));
            }
            Self::Partitions(counts) => counts[partition as usize] += u64::from(edges),
        }
    }

    /// Counts of all partitions.
    pub(crate) fn payloads(&self) -> Vec<Payload> {
        match self {
            Self::Vertices(counts) => counts.iter().map(Degrees::payload).collect(),
            Self::Partitions(counts) => {
                counts.iter().map(|count| Payload::from(count.to_le_bytes())).collect()
            }
        }
    }
}

fn width(partitions: &Partitions, partition: u32) -> usize {
    let range = partitions.range(partition);
    (range.end - range.start) as usize
}

/// Whether machines may count in tables.
fn has_tables(partitions: &Partitions) -> bool {
    partitions.end() > 1 << u32::BITS
}

/// The degrees of the vertices of a partition, from what each machine has counted; zeros, for a
/// program that looks at none.
///
/// # Errors
/// When counts are not those of as many vertices.
pub(crate) fn degrees(
    counts: &[Payload],
    (partitions, partition): (&Partitions, u32),
    looks_at_them: bool,
) -> Result<Vec<u32>, EngineError> {
    let (has_tables, vertices) = (has_tables(partitions), width(partitions, partition));
    let mut degrees = vec![0_u32; vertices];
    for counts in counts {
        let added = match counts.split_at_checked(vertices) {
            _ if !looks_at_them => (counts.len() == size_of::<u64>()).then_some(()),
            Some((low, high)) => {
                for (degree, low) in degrees.iter_mut().zip(low) {
                    *degree = degree.saturating_add((*low).into());
                }
                add_pairs(high, 8, &mut degrees)
            }
            None if has_tables => add_pairs(counts, 0, &mut degrees),
            None => None,
        };
        let wrong = || other(format!("{} bytes of {vertices} degrees", counts.len()));
        added.ok_or_else(wrong)?;
    }
    Ok(degrees)
}

/// Adds counts that stand beside their places, each `1 << shift` times; none where a place is no
/// vertex, or the bytes are no pairs.
fn add_pairs(bytes: &[u8], shift: u32, degrees: &mut [u32]) -> Option<()> {
    let pairs: Vec<u32> = bytes.len().is_multiple_of(8).then(|| numbers(bytes).collect())?;
    pairs.chunks_exact(2).try_for_each(|pair| {
        let degree = degrees.get_mut(pair[0] as usize)?;
        let count = u32::try_from(u64::from(pair[1]) << shift).unwrap_or(u32::MAX);
        *degree = degree.saturating_add(count);
        Some(())
    })
}

/// Numbers of 32 bits.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(size_of::<u32>()).map(pod_read_unaligned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use welter_protocol::random::Random;

    use super::*;

    /// Two shares of edges that leave 400 vertices each of these partitions, of which few have
    /// many. How long what is told of each partition is.
    fn check(partitions: &Partitions) -> Vec<usize> {
        let random = &mut Random::new(4);
        let mut expected = BTreeMap::<(u32, u64), u32>::new();
        let mut payloads = Vec::new();
        for share in 0..2 {
            let mut counts = Counts::of_vertices();
            counts.begin(partitions).unwrap();
            for partition in 0..partitions.count() {
                for _ in 0..partition * partition * 9 {
                    let most = random.below(400) + 1;
                    let place = random.below(most);
                    let edges = 1 + 250 * random.below(3) as u32;
                    counts.add(partitions, (partition, place), edges);
                    *expected.entry((partition, place)).or_default() += edges;
                }
            }
            payloads.push(counts.payloads());
            assert!(share == 1 || payloads[0][0].iter().all(|byte| *byte == 0));
        }
        for partition in 0..partitions.count() {
            let counts: Vec<Payload> =
                payloads.iter().map(|all| all[partition as usize].clone()).collect();
            let found = degrees(&counts, (partitions, partition), true).unwrap();
            for (place, found) in (0..).zip(found) {
                assert_eq!(found, expected.get(&(partition, place)).copied().unwrap_or(0));
            }
        }
        payloads[0].iter().map(|payload| payload.len()).collect()
    }

    #[test]
    fn counts_are_those_of_a_map_in_either_form() {
        let near = check(&Partitions::fitting(4, 1600, 1, 400).unwrap());
        assert_eq!(near[0], 400);
        assert!(near[1..].iter().all(|bytes| *bytes > 400), "some have 256 edges: {near:?}");
        let ranges = [0, 1 << 32, 1 << 40, 1 << 50].map(|first| first..first + 400);
        let far = check(&Partitions::of_ranges(4, &ranges).unwrap());
        assert_eq!(far[0], 0);
        assert!((1..=72).contains(&far[1]), "nine vertices at most: {far:?}");
        assert_eq!(far[3], near[3], "an array, since many were met");
    }

    #[test]
    fn programs_that_look_at_no_degree_have_a_number_a_partition() {
        let partitions = Partitions::fitting(4, 1600, 1, 400).unwrap();
        let mut counts = Counts::of_partitions();
        counts.begin(&partitions).unwrap();
        (0..400).for_each(|place| counts.add(&partitions, (2, place), 7));
        let counted = counts.payloads();
        assert_eq!(counted.iter().map(|payload| payload.len()).collect::<Vec<_>>(), [8; 4]);
        assert_eq!(&counted[2][..], 2800_u64.to_le_bytes());
        assert_eq!(degrees(&counted[2..3], (&partitions, 2), false).unwrap(), [0; 400]);
        assert!(degrees(&counted[2..3], (&partitions, 2), true).is_err());
    }

    #[test]
    fn counts_of_other_vertices_are_errors() {
        let [near, far] = [0, 1 << 32].map(|first| {
            let partitions =
                Partitions::of_ranges(1, std::slice::from_ref(&(first..first + 12))).unwrap();
            move |low: &[u8], pairs: &[u32]| {
                let counts = Payload::from([low, cast_slice(pairs)].concat());
                degrees(&[counts], (&partitions, 0), true).ok()
            }
        });
        let with = |place: usize, count: u32| {
            let mut degrees = vec![0; 12];
            degrees[place] = count;
            Some(degrees)
        };
        let low = [0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!([near(&low, &[]), far(&low, &[])], [with(1, 3), with(1, 3)]);
        assert_eq!([near(&low, &[1, 2]), far(&low, &[1, 2])], [with(1, 515), with(1, 515)]);
        assert_eq!(far(&low, &[1, u32::MAX]), with(1, u32::MAX), "it saturates");
        assert_eq!([near(&[], &[2, 7]), far(&[], &[2, 7])], [None, with(2, 7)]);
        assert_eq!([near(&[], &[]), far(&[], &[])], [None, Some(vec![0; 12])]);
        let wrong: [(&[u8], &[u32]); 4] =
            [(&low, &[12, 1]), (&low, &[1]), (&[], &[12, 1]), (&[3], &[])];
        for (low, pairs) in wrong {
            assert_eq!([near(low, pairs), far(low, pairs)], [None, None], "{low:?} {pairs:?}");
        }
    }
}
