//! Grid partitioning as in `PowerGraph` (Chaos, section 10.3): the baseline of Figure 19.
//!
//! Machines are the cells of a grid. A vertex falls on one of them at random, and is allowed on all
//! of its row and column; an edge goes to a machine on which both its ends are allowed, any of
//! them:
//!
//! ```text
//! allowed(v)  = row and column of hash(v)                  |allowed(v)| = rows + columns - 1
//! machine(e)  in allowed(source) & allowed(target)         two of them at least, or a whole line
//! copies of v <= rows + columns - 1                        one of them is its master: hash(v)
//! ```
//!
//! That takes two steps, which [`assign`] and [`build`] are for one machine:
//!
//! 1. each machine takes its share of the edges, and sends each of them where it goes;
//! 2. each machine numbers the vertices of its edges, sorts these by source and by target, and
//!    sends masters which of their vertices it has.
//!
//! The graph is in memory, before and after. `--partition S` of the command runs both for real, and
//! says what they take; [`SECONDS_AN_EDGE`] is from there.

#![expect(clippy::disallowed_types, reason = "ids are looked up, and never walked in their order")]

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use welter_protocol::random::mix;

/// Seconds of one core for an edge of R-MAT 22 on 32 machines: 15 ns to assign it, 76 to build.
pub const SECONDS_AN_EDGE: f64 = 91e-9;

/// Machines in rows and columns, the last row of which may be short.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    machines: u32,
    columns: u32,
}

impl Grid {
    /// A grid of `machines` machines, as near to a square as may be.
    pub fn new(machines: u32) -> Self {
        Self { machines, columns: (1..=machines).find(|side| side * side >= machines).unwrap_or(1) }
    }

    /// The master of a vertex.
    pub fn master(self, vertex: u32) -> u32 {
        (mix(vertex.into()) % u64::from(self.machines)) as u32
    }

    /// Whether the vertices of a master are allowed on a machine.
    pub fn allows(self, master: u32, machine: u32) -> bool {
        let place = |machine| (machine / self.columns, machine % self.columns);
        let ((row, column), (of_row, of_column)) = (place(machine), place(master));
        row == of_row || column == of_column
    }

    /// Machines that are allowed for both of two masters, by these two.
    fn tables(self) -> Vec<Vec<u32>> {
        let all = 0..self.machines;
        let both = |first: u32, second: u32| {
            let is_both =
                |&machine: &u32| self.allows(first, machine) && self.allows(second, machine);
            let found: Vec<u32> = all.clone().filter(is_both).collect();
            // In a short last row two lines may meet nowhere.
            if found.is_empty() { vec![first, second] } else { found }
        };
        let pairs = all.clone().flat_map(|first| all.clone().map(move |second| (first, second)));
        pairs.map(|(first, second)| both(first, second)).collect()
    }
}

/// A machine's share of the edges, by where they go.
pub fn assign(grid: Grid, share: &[[u32; 2]]) -> Vec<Vec<[u32; 2]>> {
    let tables = grid.tables();
    let each = share.len() / grid.machines as usize;
    let mut bins: Vec<Vec<[u32; 2]>> =
        (0..grid.machines).map(|_| Vec::with_capacity(each + each / 4)).collect();
    for (place, &[source, target]) in share.iter().enumerate() {
        let [first, second] = [source, target].map(|end| grid.master(end));
        let allowed = &tables[(first * grid.machines + second) as usize];
        let chance = mix(u64::from(source) << 32 | u64::from(target) ^ place as u64);
        bins[allowed[(chance % allowed.len() as u64) as usize] as usize].push([source, target]);
    }
    bins
}

/// Hash of ids, which are numbers that were not chosen to harm.
#[derive(Default)]
pub struct Ids(u64);

impl Hasher for Ids {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = mix(self.0 ^ u64::from(id));
    }
}

/// A machine's part of the graph.
#[derive(Debug, Default)]
pub struct Part {
    /// Vertices of the part, in the order of their numbers here.
    pub vertices: Vec<u32>,
    /// Edges by their source, and by their target: where those of each vertex begin, and the other
    /// ends.
    pub by_end: [(Vec<u32>, Vec<u32>); 2],
    /// Vertices that are here, by their masters.
    pub by_master: Vec<Vec<u32>>,
}

/// The part of the graph on one machine, of the edges that came from each.
pub fn build(grid: Grid, edges: &[&[[u32; 2]]]) -> Part {
    let mut numbers: HashMap<u32, u32, BuildHasherDefault<Ids>> = HashMap::default();
    let mut part = Part::default();
    let mut pairs = Vec::with_capacity(edges.iter().map(|edges| edges.len()).sum());
    for edge in edges.iter().copied().flatten() {
        pairs.push(edge.map(|vertex| {
            *numbers.entry(vertex).or_insert_with(|| {
                part.vertices.push(vertex);
                part.vertices.len() as u32 - 1
            })
        }));
    }
    part.by_end = [0, 1].map(|end| sorted(&pairs, end, part.vertices.len()));
    part.by_master = vec![Vec::new(); grid.machines as usize];
    for &vertex in &part.vertices {
        part.by_master[grid.master(vertex) as usize].push(vertex);
    }
    part
}

/// Edges by one of their ends.
fn sorted(pairs: &[[u32; 2]], end: usize, vertices: usize) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0; vertices + 1];
    for pair in pairs {
        begins[pair[end] as usize + 1] += 1;
    }
    for place in 0..vertices {
        begins[place + 1] += begins[place];
    }
    let (mut next, mut others) = (begins.clone(), vec![0; pairs.len()]);
    for pair in pairs {
        let place = &mut next[pair[end] as usize];
        others[*place as usize] = pair[1 - end];
        *place += 1;
    }
    (begins, others)
}

/// Seconds in which machines with `cores` cores each partition `edges` edges, of two ids of 4 bytes
/// each, over links of `link` bytes a second: whichever takes longer, with cores that share the
/// work perfectly.
pub fn seconds(edges: f64, machines: f64, cores: f64, link: f64) -> f64 {
    let share = edges / machines;
    let sent = share * 8.0 * (machines - 1.0) / machines;
    (share * SECONDS_AN_EDGE / cores).max(sent / link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::recorder::rmat;

    #[test]
    fn each_edge_is_on_one_machine_where_both_its_ends_may_be() {
        let graph = rmat(10, 1);
        for machines in [1, 2, 3, 4, 9, 12, 16, 32] {
            let grid = Grid::new(machines);
            let shares: Vec<_> =
                graph.pairs.chunks(1000).map(|share| assign(grid, share)).collect();
            let mut all = Vec::new();
            let (mut copies, mut most) = (vec![0; 1 << 10], 0);
            for machine in 0..machines {
                let edges: Vec<&[[u32; 2]]> =
                    shares.iter().map(|bins| &bins[machine as usize][..]).collect();
                let part = build(grid, &edges);
                most = most.max(part.by_end[0].1.len());
                for (source, vertex) in part.vertices.iter().enumerate() {
                    copies[*vertex as usize] += 1;
                    let (begins, others) = &part.by_end[0];
                    let [first, last] = [source, source + 1].map(|place| begins[place] as usize);
                    let ends = others[first..last].iter();
                    all.extend(ends.map(|&end| [*vertex, part.vertices[end as usize]]));
                }
                let entries: usize = part.by_master.iter().map(Vec::len).sum();
                assert_eq!(entries, part.vertices.len(), "each master hears of its vertices");
                let [sources, targets] = &part.by_end;
                assert_eq!(sources.1.len(), targets.1.len());
            }
            let mut expected = graph.pairs.clone();
            expected.sort_unstable();
            all.sort_unstable();
            assert_eq!(all, expected, "{machines} machines");
            if Grid::new(machines).columns.pow(2) == machines {
                let bound = 2 * grid.columns - 1;
                assert!(copies.iter().all(|&copies| copies <= bound), "{machines} machines");
            }
            let even = graph.pairs.len() / machines as usize;
            assert!(most < 2 * even, "{machines} machines: {most} edges on one, of {even}");
        }
    }

    #[test]
    fn links_are_the_limit_where_cores_are_many() {
        let of = |cores, link| seconds(32e9, 32.0, cores, link);
        assert!((of(1.0, 5e9) - 1e9 * SECONDS_AN_EDGE).abs() < 1e-6);
        assert!(of(1e6, 5e9) > 1.5 && of(1e6, 5e9) < 1.6, "1e9 edges of 8 bytes");
    }
}
