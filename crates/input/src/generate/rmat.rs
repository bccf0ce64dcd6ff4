//! R-MAT: edges that fall into the quadrants of the adjacency matrix, level by level.
//!
//! At each of `scale` levels an edge falls into one of the four quadrants of what is left of the
//! matrix, with probabilities a (both bits 0), b (destination bit 1), c (source bit 1) and d (both
//! bits 1); the chosen bits, highest first, are its source and destination (Chakrabarti, Zhan and
//! Faloutsos, 2004). Graph500 fixes a, b, c, d at 0.57, 0.19, 0.19, 0.05 and 16 edges a vertex, and
//! so do the defaults here.
//!
//! Six levels are drawn at once: they have 4,096 outcomes with known probabilities, and one 64-bit
//! random number picks one of them through an alias table (Walker, 1977): 12 bits choose a column,
//! 32 bits choose between the column's own outcome and its alias. Tables are built in integers, so
//! each outcome has its probability to within 2^-44.

use welter_model::edges::{Batch, EdgeStream, Pair, StreamError};

use super::random::{Random, Shuffle};
use super::{Batcher, GenerateError, PART_EDGES, SCALE_MAX, Weigher, Weights, check};

/// Largest scale of [`RmatEndpoints`].
pub const ENDS_SCALE_MAX: u32 = 40;

/// Levels that one random number decides; a table of 4^6 columns takes 32 KiB.
const LEVELS: u32 = 6;

/// Size, shape and seed of the graph to make.
#[derive(Clone, Debug, PartialEq)]
pub struct RmatOptions {
    /// Log2 of the number of vertices; 1 to [`SCALE_MAX`].
    pub scale: u32,
    /// Number of edges a vertex.
    pub factor: u32,
    /// The probabilities a, b, c, d; they sum to 1 (within 10^-9).
    pub quadrants: [f64; 4],
    /// Every seed gives another graph.
    pub seed: u64,
    /// Whether vertices are renumbered at random, so that ids say nothing about degrees.
    pub scramble: bool,
    /// Weights of the edges. The edges are the same with any.
    pub weights: Weights,
}

impl Default for RmatOptions {
    fn default() -> Self {
        Self {
            scale: 16,
            factor: 16,
            quadrants: [0.57, 0.19, 0.19, 0.05],
            seed: 1,
            scramble: false,
            weights: Weights::None,
        }
    }
}

/// An R-MAT graph as a stream. Self-loops and parallel edges occur, as in Graph500.
///
/// ```
/// use welter_input::generate::rmat::{Rmat, RmatOptions};
/// use welter_model::edges::EdgeStream;
///
/// let graph = Rmat::new(&RmatOptions { scale: 8, factor: 4, ..RmatOptions::default() })?;
/// assert_eq!((graph.slots(), graph.edges()), (Some(256), 1024));
///
/// // A seed always gives the same edges, however often and in whatever parts they are read.
/// let first = |graph: &Rmat| {
///     let mut pair = None;
///     graph.read(0, &mut |batch| {
///         pair = batch.pairs.first().copied();
///         false
///     })?;
///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(pair)
/// };
/// assert_eq!(first(&graph)?, first(&graph)?);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug)]
pub struct Rmat {
    ends: RmatEndpoints,
    weigher: Weigher,
}

/// Ends of the edges of an R-MAT graph of up to 2^40 vertices, by the numbers of the edges. Up to
/// [`SCALE_MAX`] they are those of [`Rmat`].
///
/// ```
/// use welter_input::generate::rmat::{RmatEndpoints, RmatOptions};
///
/// let graph = RmatEndpoints::new(&RmatOptions { scale: 40, ..RmatOptions::default() })?;
/// assert_eq!((graph.vertices(), graph.edges()), (1 << 40, 16 << 40));
/// assert!((0..99).any(|edge| graph.of(edge)[0] > u64::from(u32::MAX)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RmatEndpoints {
    scale: u32,
    edges: u64,
    /// Outcomes of [`LEVELS`] levels.
    table: Alias,
    /// Outcomes of the lowest levels, which do not fill a table.
    rest: Option<Alias>,
    shuffle: Option<Shuffle>,
    random: Random,
}

impl Rmat {
    /// A graph with these options. Takes microseconds: edges are made when they are read.
    ///
    /// # Errors
    /// When the options make no graph.
    pub fn new(options: &RmatOptions) -> Result<Self, GenerateError> {
        let RmatOptions { scale, seed, weights, .. } = *options;
        if scale > SCALE_MAX {
            return Err(GenerateError::Scale(scale));
        }
        Ok(Self { ends: RmatEndpoints::new(options)?, weigher: Weigher::new(weights, seed) })
    }

    /// Edge number `edge` of the stream.
    fn pair(&self, edge: u64) -> Pair {
        self.ends.of(edge).map(|end| end as u32)
    }
}

impl RmatEndpoints {
    /// Of a graph with these options, whose weights are not looked at.
    ///
    /// # Errors
    /// When the options make no graph.
    pub fn new(options: &RmatOptions) -> Result<Self, GenerateError> {
        let RmatOptions { scale, factor, quadrants, seed, scramble, weights } = *options;
        if !(1..=ENDS_SCALE_MAX).contains(&scale) {
            return Err(GenerateError::Scale(scale));
        }
        check(factor, 1 << scale, weights)?;
        let total: f64 = quadrants.iter().sum();
        let probabilities = quadrants.iter().all(|share| (0.0..=1.0).contains(share));
        if !probabilities || (total - 1.0).abs() > 1e-9 {
            return Err(GenerateError::Quadrants(quadrants));
        }
        Ok(Self {
            scale,
            edges: u64::from(factor) << scale,
            table: Alias::new(quadrants, LEVELS),
            rest: (scale % LEVELS > 0).then(|| Alias::new(quadrants, scale % LEVELS)),
            shuffle: scramble.then(|| Shuffle::new(scale, Random::new(seed, "scramble"))),
            random: Random::new(seed, "rmat"),
        })
    }

    /// Number of vertices, with or without edges.
    pub fn vertices(&self) -> u64 {
        1 << self.scale
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Source and destination of an edge.
    pub fn of(&self, edge: u64) -> [u64; 2] {
        let mut draw = edge * u64::from(self.scale.div_ceil(LEVELS));
        let (mut source, mut destination) = (0_u64, 0_u64);
        let mut descend = |table: &Alias| {
            let (high, low) = table.draw(self.random.at(draw));
            source = source << table.levels | u64::from(high);
            destination = destination << table.levels | u64::from(low);
            draw += 1;
        };
        for _ in 0..self.scale / LEVELS {
            descend(&self.table);
        }
        self.rest.iter().for_each(descend);
        match &self.shuffle {
            Some(shuffle) => [shuffle.apply(source), shuffle.apply(destination)],
            None => [source, destination],
        }
    }
}

impl EdgeStream for Rmat {
    fn parts(&self) -> usize {
        self.ends.edges.div_ceil(PART_EDGES) as usize
    }

    fn edges(&self) -> u64 {
        self.ends.edges
    }

    fn weighted(&self) -> bool {
        self.weigher.kind != Weights::None
    }

    fn slots(&self) -> Option<u64> {
        Some(self.ends.vertices())
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let first = part as u64 * PART_EDGES;
        let end = self.ends.edges.min(first + PART_EDGES);
        let mut batcher = Batcher::new(first, self.weigher, visit);
        let _wanted_all = (first..end).all(|edge| batcher.push(self.pair(edge))) && batcher.flush();
        Ok(())
    }
}

/// Outcomes of some levels with their probabilities, drawn in constant time.
///
/// Outcome `high << levels | low` stands for the source bits `high` and the destination bits `low`.
/// Invariant: with columns and 32-bit fractions drawn uniformly, outcome `o` comes with the
/// probability `(threshold of o + sum over columns with alias o of 2^32 - threshold) / 2^32`
/// columns. Tested by `an_alias_table_holds_exactly_the_shares`.
#[derive(Debug)]
struct Alias {
    levels: u32,
    /// Threshold of the column's own outcome in the high half, the alias in the low half.
    columns: Vec<u64>,
}

impl Alias {
    fn new(quadrants: [f64; 4], levels: u32) -> Self {
        let shares = shares(quadrants, levels);
        let mut columns: Vec<u64> = (0..shares.len() as u64).collect();
        let (mut left, full) = (shares, 1_u64 << 32);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..left.len()).filter(|&column| left[column] != full).partition(|&c| left[c] < full);
        // Each small column is topped up by a large outcome, until all columns are full.
        while let (Some(needy), Some(&giver)) = (small.pop(), large.last()) {
            columns[needy] = left[needy] << 32 | giver as u64;
            left[giver] -= full - left[needy];
            if left[giver] <= full {
                large.pop();
            }
            if left[giver] < full {
                small.push(giver);
            }
        }
        Self { levels, columns }
    }

    /// Source bits and destination bits of the outcome that 64 random bits choose.
    fn draw(&self, bits: u64) -> (u32, u32) {
        let column = bits as usize & (self.columns.len() - 1);
        let entry = self.columns[column];
        let own = bits >> 32 < entry >> 32;
        let outcome = if own { column as u32 } else { entry as u32 };
        (outcome >> self.levels, outcome & ((1 << self.levels) - 1))
    }
}

/// Probability of each outcome as an integer; together they are 2^32 times the number of outcomes.
fn shares(quadrants: [f64; 4], levels: u32) -> Vec<u64> {
    let outcomes = 1_u64 << (2 * levels);
    let whole = outcomes << 32;
    let probability = |outcome: u64| {
        (0..levels).rev().fold(1.0, |product, level| {
            let (high, low) = (outcome >> (levels + level) & 1, outcome >> level & 1);
            product * quadrants[(2 * high + low) as usize]
        })
    };
    let mut shares: Vec<u64> =
        (0..outcomes).map(|outcome| (probability(outcome) * whole as f64) as u64).collect();
    // The share that rounding left over (or took too much) goes to the likeliest outcome.
    let sum: u64 = shares.iter().sum();
    if let Some(likeliest) = (0..shares.len()).max_by_key(|&outcome| shares[outcome]) {
        shares[likeliest] = (shares[likeliest] + whole).saturating_sub(sum);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(stream: &dyn EdgeStream) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for part in 0..stream.parts() {
            stream
                .read(part, &mut |batch| {
                    pairs.extend_from_slice(batch.pairs);
                    true
                })
                .unwrap();
        }
        pairs
    }

    #[test]
    fn every_level_has_the_quadrants_asked_for() {
        for quadrants in [[0.57, 0.19, 0.19, 0.05], [0.25; 4], [0.5, 0.0, 0.3, 0.2]] {
            for scale in [1, 5, 6, 13, 17, 31, 32, 33, 40] {
                let options = RmatOptions { scale, quadrants, ..RmatOptions::default() };
                let graph = RmatEndpoints::new(&options).unwrap();
                let samples = 50_000;
                let mut counts = vec![[0_u32; 4]; scale as usize];
                for edge in 0..samples {
                    let [source, destination] = graph.of(edge);
                    assert!(source.max(destination) < 1 << scale);
                    for (level, counts) in counts.iter_mut().enumerate() {
                        counts[(source >> level & 1) as usize * 2
                            + (destination >> level & 1) as usize] += 1;
                    }
                }
                for (level, counts) in counts.iter().enumerate() {
                    for (count, share) in counts.iter().zip(quadrants) {
                        let mean = share * samples as f64;
                        let deviation = (mean * (1.0 - share)).sqrt();
                        assert!(
                            (f64::from(*count) - mean).abs() <= 6.0 * deviation,
                            "scale {scale} level {level}: {counts:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn an_alias_table_holds_exactly_the_shares() {
        for quadrants in [[0.57, 0.19, 0.19, 0.05], [1.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]] {
            for levels in 1..=LEVELS {
                let table = Alias::new(quadrants, levels);
                let mut sums = vec![0_u64; table.columns.len()];
                for (column, entry) in table.columns.iter().enumerate() {
                    sums[column] += entry >> 32;
                    sums[*entry as u32 as usize] += (1 << 32) - (entry >> 32);
                }
                assert_eq!(sums, shares(quadrants, levels));
            }
        }
    }

    #[test]
    fn scrambling_renames_vertices_and_changes_nothing_else() {
        let plain = Rmat::new(&RmatOptions { scale: 9, ..RmatOptions::default() }).unwrap();
        let options = RmatOptions { scale: 9, scramble: true, ..RmatOptions::default() };
        let scrambled = Rmat::new(&options).unwrap();
        let mut names = vec![None; 512];
        for (old, new) in all(&plain).iter().flatten().zip(all(&scrambled).iter().flatten()) {
            assert_eq!(*names[*old as usize].get_or_insert(*new), *new);
        }
        assert_ne!(all(&plain), all(&scrambled));
    }

    #[test]
    fn parts_follow_one_another_and_edges_do_not_depend_on_them() {
        let options = RmatOptions { scale: 17, factor: 17, seed: 3, ..RmatOptions::default() };
        let graph = Rmat::new(&options).unwrap();
        let pairs = all(&graph);
        assert_eq!((graph.parts(), pairs.len() as u64), (3, graph.edges()));
        assert!((0..graph.edges()).step_by(9_999).all(|e| pairs[e as usize] == graph.pair(e)));
    }

    #[test]
    fn graphs_are_fixed_for_ever() {
        let edges = |scramble| {
            let options = RmatOptions { scale: 23, seed: 2, scramble, ..RmatOptions::default() };
            let graph = Rmat::new(&options).unwrap();
            [0, 1, graph.edges() - 1].map(|edge| graph.pair(edge))
        };
        let plain = [[623_304, 1_508_098], [4_336_640, 622_596], [411_648, 706_576]];
        let scrambled = [[4_851_256, 7_613_581], [5_504_736, 113_686], [7_639_432, 2_658_195]];
        assert_eq!([edges(false), edges(true)], [plain, scrambled]);
    }

    /// Scales of 64-bit ids: the first edge, and the last.
    #[test]
    fn graphs_of_64_bit_ids_are_fixed_for_ever_too() {
        let edges = |scale, scramble| {
            let options = RmatOptions { scale, seed: 2, scramble, ..RmatOptions::default() };
            let graph = RmatEndpoints::new(&options).unwrap();
            let ends = [0, graph.edges() - 1].map(|edge| graph.of(edge));
            assert!(ends.as_flattened().iter().all(|end| *end < graph.vertices()));
            ends
        };
        for (scale, scramble, expected) in EXPECTED {
            assert_eq!(edges(scale, scramble), expected, "scale {scale}, {scramble}");
        }
        let options = RmatOptions { scale: 41, ..RmatOptions::default() };
        assert_eq!(RmatEndpoints::new(&options).unwrap_err(), GenerateError::Scale(41));
    }

    /// By a second program, which also has the ends of `graphs_are_fixed_for_ever`.
    const EXPECTED: [(u32, bool, [[u64; 2]; 2]); 3] = [
        (32, false, [[319_136_900, 772_145_170], [1_708_164, 136_315_969]]),
        (33, true, [[5_334_426_744, 4_368_321_767], [1_124_809_204, 1_623_271_073]]),
        (40, true, [[704_151_405_064, 1_014_241_991_790], [915_118_451_644, 483_222_962_830]]),
    ];

    #[test]
    fn options_that_make_no_graph_are_refused() {
        let refuse = |options: RmatOptions| Rmat::new(&options).unwrap_err();
        let base = RmatOptions::default();
        assert_eq!(refuse(RmatOptions { scale: 0, ..base.clone() }), GenerateError::Scale(0));
        assert_eq!(refuse(RmatOptions { scale: 32, ..base.clone() }), GenerateError::Scale(32));
        for factor in [0, u32::MAX] {
            let error = refuse(RmatOptions { factor, ..base.clone() });
            assert!(matches!(error, GenerateError::Factor { .. }));
        }
        for quadrants in [[0.5; 4], [f64::NAN, 0.5, 0.5, 0.0], [1.5, -0.5, 0.0, 0.0]] {
            let error = refuse(RmatOptions { quadrants, ..base.clone() });
            assert!(matches!(error, GenerateError::Quadrants(_)));
        }
        let weights = Weights::Integers { max: 0 };
        assert_eq!(refuse(RmatOptions { weights, ..base }), GenerateError::Weights);
    }
}
