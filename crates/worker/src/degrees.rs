//! Edges that leave vertices, as a machine counts them in its share of the input, for who makes
//! first values.
//!
//! ```text
//! counts    u32 for each vertex of a partition
//!           place u32, count u32 for each that has any, ascending, where that is shorter
//!           or one u64, the edges that leave the partition
//! ```
//!
//! A machine counts by partitions. Where numbers of vertices continue beyond 32 bits an array over
//! all of them may be more than its memory: there those of a partition that it met are in a table,
//! until an array takes less.
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

/// A table has room for up to as many counts again, each with its place and a byte: a quarter of
/// the vertices take less than an array over all does, and a list of them half.
const ARRAY_SHARE: usize = 4;

/// Counts of the vertices of a partition.
pub(crate) enum Degrees {
    /// On huge pages, since edges may come in any order.
    All(Buffer<u32>),
    Met(HashMap<u32, u32, FixedState>),
}

impl Degrees {
    #[inline]
    fn add(&mut self, place: u64, edges: u32, (partitions, partition): (&Partitions, u32)) {
        match self {
            Self::All(counts) => counts[place as usize] += edges,
            Self::Met(counts) => {
                *counts.entry(place as u32).or_default() += edges;
                let width = width(partitions, partition);
                // Where there is no memory for an array the table serves.
                if counts.len() > width / ARRAY_SHARE
                    && let Ok(mut all) = Buffer::zeroed(width)
                {
                    counts.iter().for_each(|(place, count)| all[*place as usize] = *count);
                    *self = Self::All(all);
                }
            }
        }
    }

    fn payload(&self) -> Payload {
        match self {
            Self::All(counts) => Payload::from(cast_slice::<u32, u8>(counts)),
            Self::Met(counts) => {
                let mut met: Vec<[u32; 2]> =
                    counts.iter().map(|(place, count)| [*place, *count]).collect();
                met.sort_unstable();
                Payload::from(cast_slice::<u32, u8>(met.as_flattened()))
            }
        }
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
                    Ok(Degrees::All(Buffer::zeroed(width(partitions, partition))?))
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

/// The degrees of the vertices of a partition, from what each machine has counted.
///
/// # Errors
/// When counts are not those of as many vertices.
pub(crate) fn degrees(
    counts: &[Payload],
    partitions: &Partitions,
    partition: u32,
) -> Result<Vec<u32>, EngineError> {
    let (has_tables, vertices) = (has_tables(partitions), width(partitions, partition));
    let mut degrees = vec![0_u32; vertices];
    let bytes = size_of_val(&degrees[..]);
    let mut add = |place: usize, count: u32| {
        let degree = degrees.get_mut(place)?;
        *degree = degree.saturating_add(count);
        Some(())
    };
    for counts in counts {
        let added = if counts.len() == bytes {
            numbers(counts).enumerate().try_for_each(|(place, count)| add(place, count))
        } else if has_tables && counts.len() < bytes && counts.len().is_multiple_of(8) {
            let met: Vec<u32> = numbers(counts).collect();
            met.chunks_exact(2).try_for_each(|met| add(met[0] as usize, met[1]))
        } else {
            None
        };
        let wrong = || other(format!("{} bytes of {vertices} degrees", counts.len()));
        added.ok_or_else(wrong)?;
    }
    Ok(degrees)
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

    /// Two shares of edges that leave 40 vertices each of these partitions, of which few have many.
    fn check(partitions: &Partitions) -> Vec<usize> {
        let random = &mut Random::new(4);
        let mut expected = BTreeMap::<(u32, u64), u32>::new();
        let mut payloads = Vec::new();
        for share in 0..2 {
            let mut counts = Counts::of_vertices();
            counts.begin(partitions).unwrap();
            for partition in 0..partitions.count() {
                for _ in 0..partition * 9 {
                    let most = random.below(40) + 1;
                    let place = random.below(most);
                    counts.add(partitions, (partition, place), 1);
                    *expected.entry((partition, place)).or_default() += 1;
                }
            }
            payloads.push(counts.payloads());
            assert!(share == 1 || payloads[0][0].iter().all(|byte| *byte == 0));
        }
        for partition in 0..partitions.count() {
            let counts: Vec<Payload> =
                payloads.iter().map(|all| all[partition as usize].clone()).collect();
            let found = degrees(&counts, partitions, partition).unwrap();
            for (place, found) in (0..).zip(found) {
                assert_eq!(found, expected.get(&(partition, place)).copied().unwrap_or(0));
            }
        }
        payloads[0].iter().map(|payload| payload.len()).collect()
    }

    #[test]
    fn counts_are_those_of_a_map_in_either_form() {
        let near = Partitions::fitting(4, 160, 1, 40).unwrap();
        assert_eq!(check(&near), [160; 4]);
        let ranges = [0, 1 << 32, 1 << 40, 1 << 50].map(|first| first..first + 40);
        let far = check(&Partitions::of_ranges(4, &ranges).unwrap());
        assert_eq!(far[0], 0);
        assert!(far.is_sorted() && far[1] < 80 && far[3] == 160, "{far:?}");
    }

    #[test]
    fn counts_of_other_vertices_are_errors() {
        let [near, far] = [0, 1 << 32].map(|first| {
            let partitions =
                Partitions::of_ranges(1, std::slice::from_ref(&(first..first + 3))).unwrap();
            move |numbers: &[u32]| {
                let counts = Payload::from(cast_slice::<u32, u8>(numbers));
                degrees(&[counts], &partitions, 0).ok()
            }
        });
        assert_eq!([near(&[1, 2, 3]), far(&[1, 2, 3])], [Some(vec![1, 2, 3]), Some(vec![1, 2, 3])]);
        assert_eq!([near(&[2, 7]), far(&[2, 7])], [None, Some(vec![0, 0, 7])]);
        assert_eq!([near(&[]), far(&[])], [None, Some(vec![0; 3])]);
        for wrong in [&[3, 7][..], &[1], &[1, 2, 3, 4]] {
            assert_eq!([near(wrong), far(wrong)], [None, None], "{wrong:?}");
        }
    }
}
