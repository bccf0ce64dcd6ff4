//! Set of a sub-range of a program over triangles: what it has gathered of its vertices.
//!
//! ```text
//! show     place (the destination), source u32, its degree u32, in a directed program ways u32:
//!          kept as a key of a row where the source ranks above
//! meet     rows (`bundles`): a row meets those of its entries that are own, in the buffer that it
//!          arrived in, and goes
//! count    place (the destination), edges u64: added
//! ```
//!
//! Vertices have the order of their degrees, and of their numbers where these are equal; the row of
//! a vertex are its neighbours above it, sorted by number. A triangle u < a < w is found where row
//! u passes row a:
//!
//! ```text
//! closed(u) += ways(a, w)     to the owner of u, with all that row u closed here
//! closed(a) += ways(u, w)     at once
//! closed(w) += ways(u, a)     with the entry w of row a, and to the owner of w after all rows
//! ```
//!
//! **Invariant:** what waits for the way back is no more than a number for each row that passed and
//! for each entry of own rows. Tested by `corners_count_the_edges_on_their_far_side`.

use std::cmp::Ordering;
use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_protocol::failure::Exit;
use welter_worker::{KEY_BYTES, Keys, Rows};

use super::bundles::BundleReader;
use super::error::Stop;
use super::folding::Gather;

/// Vertices that entries of rows can name.
pub(super) const VERTICES_MAX: u64 = 1 << 31;

/// Bytes of the record of a count.
pub(super) const COUNT_BYTES: usize = size_of::<u64>();

/// Bytes of the record of an edge that is shown.
pub(super) const fn shown_bytes(is_directed: bool) -> usize {
    size_of::<u32>() * if is_directed { 3 } else { 2 }
}

/// Kind of the messages that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Shown,
    Bundles,
    Counts,
}

/// The set.
pub(super) struct CornerSet {
    pub(super) kind: Kind,
    /// The first vertex of the sub-range, and the number of all vertices of the graph.
    first: u64,
    vertices: u64,
    is_directed: bool,
    degrees: Arc<[u32]>,
    keys: Keys,
    /// Bytes of keys and rows at most.
    room_bytes: u64,
    rows: Arc<Rows>,
    /// Neighbours of each vertex.
    pub(super) neighbours: Vec<u32>,
    /// Edges between the neighbours of each vertex.
    pub(super) closed: Vec<u64>,
    /// Edges that close with each entry of own rows as the highest corner.
    highest: Vec<u32>,
    /// Vertices whose rows passed, and edges that these closed.
    lowest: Vec<(u32, u64)>,
    reader: BundleReader,
}

impl CornerSet {
    /// The set of vertices with these degrees, the first of which has this number, of `vertices`
    /// in the graph, with room for rows.
    pub(super) fn new(
        (first, degrees): (u64, Arc<[u32]>),
        vertices: u64,
        is_directed: bool,
        room_bytes: u64,
    ) -> Self {
        let mut keys = Keys::default();
        keys.begin(room_bytes / KEY_BYTES);
        Self {
            kind: Kind::Shown,
            first,
            vertices,
            is_directed,
            neighbours: vec![0; degrees.len()],
            closed: vec![0; degrees.len()],
            degrees,
            keys,
            room_bytes,
            rows: Arc::default(),
            highest: Vec::new(),
            lowest: Vec::new(),
            reader: BundleReader::default(),
        }
    }

    /// Makes rows of all edges that were shown.
    ///
    /// # Errors
    /// When they have no room.
    pub(super) fn make_rows(&mut self) -> Result<Arc<Rows>, Stop> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.compact().map_err(|_| self.too_many())?;
        let rows = keys.rows(0..self.degrees.len() as u64);
        drop(keys);
        for (place, neighbours) in (0..).zip(&mut self.neighbours) {
            *neighbours = rows.of(place).len() as u32;
        }
        self.highest = vec![0; rows.entries().len()];
        self.rows = Arc::new(rows);
        Ok(self.rows.clone())
    }

    /// Edges that rows which passed have closed, with the vertices that these are of.
    pub(super) fn take_lowest(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.lowest)
    }

    /// Edges that were closed with each entry of own rows as the highest corner.
    pub(super) fn take_highest(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.highest)
    }

    fn too_many(&self) -> Stop {
        let what = format!(
            "rows of neighbours are in memory, and more of them came to a sub-range than its {} \
             bytes of memory hold: give machines more --memory, take more of them, or --route \
             spill",
            self.room_bytes
        );
        Stop::Failed { why: Exit::Budget, what }
    }

    /// Keeps an edge where its source ranks above the vertex at this place.
    fn show(&mut self, place: u32, record: &[u8]) -> Result<(), Stop> {
        let [source, degree]: [u32; 2] = pod_read_unaligned(&record[..8]);
        let ways: u32 = if self.is_directed { pod_read_unaligned(&record[8..]) } else { 1 };
        let Some(&own) = self.degrees.get(place as usize) else { return Err(outside()) };
        let rank = (degree, u64::from(source));
        if rank <= (own, self.first + u64::from(place)) {
            return Ok(());
        }
        let mut keep = |entry: u32| self.keys.push(place, entry);
        let down = if ways & 1 != 0 { keep(source << 1 | 1) } else { Ok(()) };
        let kept: Result<(), EngineError> =
            down.and_then(|()| if ways & 2 != 0 { keep(source << 1) } else { Ok(()) });
        kept.map_err(|_| self.too_many())
    }

    /// Closes triangles of a row with the rows of those of its entries that are own.
    fn close(&mut self, vertex: u32, row: &[u32]) {
        let Self { first, is_directed, rows, neighbours, closed, highest, lowest, .. } = self;
        let ways = |entry: u32| 1 + (entry & u32::from(*is_directed));
        let end = *first + neighbours.len() as u64;
        let place = |end: u64| row.partition_point(|entry| u64::from(entry >> 1) < end);
        let mut all = 0;
        for &entry in &row[place(*first)..place(end)] {
            let own = u64::from(entry >> 1) - *first;
            neighbours[own as usize] += 1;
            let at = rows.places(own).start;
            let mut middle = 0;
            common(row, rows.of(own), |passing, held| {
                all += u64::from(ways(rows.of(own)[held]));
                middle += u64::from(ways(row[passing]));
                highest[at + held] += ways(entry);
            });
            closed[own as usize] += middle;
        }
        if all > 0 {
            lowest.push((vertex, all));
        }
    }
}

impl Gather for CornerSet {
    fn record_bytes(&self) -> Option<usize> {
        match self.kind {
            Kind::Shown => Some(shown_bytes(self.is_directed)),
            Kind::Bundles => None,
            Kind::Counts => Some(COUNT_BYTES),
        }
    }

    fn gather(&mut self, (targets, records): (&[u32], &[u8])) -> Result<(), Stop> {
        if self.kind == Kind::Shown {
            let records = records.chunks_exact(shown_bytes(self.is_directed));
            return targets.iter().zip(records).try_for_each(|(&to, record)| self.show(to, record));
        }
        for (&place, record) in targets.iter().zip(records.chunks_exact(COUNT_BYTES)) {
            let closed = self.closed.get_mut(place as usize).ok_or_else(outside)?;
            *closed += pod_read_unaligned::<u64>(record);
        }
        Ok(())
    }

    fn gather_bundle(&mut self, bundle: &[u8]) -> Result<(), Stop> {
        let mut reader = std::mem::take(&mut self.reader);
        let vertices = self.vertices;
        let read = reader.each_row(bundle, vertices, |vertex, row| self.close(vertex, row));
        self.reader = reader;
        read.map(drop)
    }
}

/// Shows the places of vertices that two rows have, in either.
fn common(one: &[u32], other: &[u32], mut show: impl FnMut(usize, usize)) {
    let (mut left, mut right) = (0, 0);
    while let (Some(first), Some(second)) = (one.get(left), other.get(right)) {
        match (first >> 1).cmp(&(second >> 1)) {
            Ordering::Less => left += 1,
            Ordering::Greater => right += 1,
            Ordering::Equal => {
                show(left, right);
                (left, right) = (left + 1, right + 1);
            }
        }
    }
}

fn outside() -> Stop {
    Stop::broken("a message for a vertex of another sub-range")
}

#[cfg(test)]
mod tests {
    use bytemuck::cast_slice;

    use super::*;

    /// Vertices 10 to 13 of 40, with one edge each.
    fn set(is_directed: bool, room_bytes: u64) -> CornerSet {
        CornerSet::new((10, vec![1; 4].into()), 40, is_directed, room_bytes)
    }

    fn record(words: &[u32]) -> Vec<u8> {
        cast_slice(words).to_vec()
    }

    #[test]
    fn corners_count_the_edges_on_their_far_side() {
        for (is_directed, lowest, highest, closed) in
            [(false, 3, [1, 1, 1], [2, 1]), (true, 5, [2, 2, 1], [2, 1])]
        {
            let mut set = set(is_directed, u64::MAX);
            // Vertex 11 has 12, both ways, and 30; 12 has 30, both ways. Those below are left out,
            // and parallel edges are one.
            for (place, source, degree, ways) in [
                (1, 12, 1, 3),
                (1, 12, 1, 3),
                (1, 30, 1, 2),
                (2, 30, 1, 3),
                (1, 10, 1, 3),
                (3, 11, 1, 1),
                (2, 30, 1, 1),
            ] {
                let words = record(&[source, degree, ways]);
                set.gather((&[place], &words[..shown_bytes(is_directed)])).unwrap();
            }
            let rows = set.make_rows().unwrap();
            let of = |vertex| rows.of(vertex).iter().map(|entry| entry >> 1).collect::<Vec<_>>();
            assert_eq!([of(0), of(1), of(2), of(3)], [vec![], vec![12, 30], vec![30], vec![]]);
            set.kind = Kind::Bundles;
            // Row of 5: 3, 11 both ways, 12 and 30.
            let bundle = [1, 5, 4, 6, 23, 24, 60];
            set.gather_bundle(&record(&bundle)).unwrap();
            assert_eq!(set.take_lowest(), [(5, lowest)]);
            assert_eq!(set.take_highest(), highest, "{is_directed}");
            assert_eq!(set.closed[1..3], closed);
            assert_eq!(set.neighbours, [0, 3, 2, 0]);
            set.kind = Kind::Counts;
            set.gather((&[1, 1], cast_slice(&[40_u64, 2]))).unwrap();
            assert_eq!(set.closed[1], closed[0] + 42);
            assert!(set.gather((&[4], cast_slice(&[1_u64]))).is_err(), "there are four vertices");
        }
    }

    #[test]
    fn rows_beyond_their_room_are_refused() {
        for (room, has_room) in [(3 * KEY_BYTES, true), (2 * KEY_BYTES, false)] {
            let mut set = set(false, room);
            let shown = [(0, 20), (0, 20), (1, 30), (0, 20), (2, 25), (1, 30), (2, 25)];
            let mut all =
                shown.iter().map(|&(place, source)| set.gather((&[place], &record(&[source, 9]))));
            let gathered = all.try_for_each(|gathered| gathered);
            let made = gathered.and_then(|()| set.make_rows().map(drop));
            match made {
                Ok(()) => assert!(has_room),
                Err(Stop::Failed { why: Exit::Budget, .. }) => assert!(!has_room),
                Err(stop) => panic!("{stop:?}"),
            }
        }
    }
}
