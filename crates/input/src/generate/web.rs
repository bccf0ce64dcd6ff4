//! A web-like graph: pages link to near pages, copy the links of others, and rarely go far.
//!
//! Crawls ordered by address have three traits that R-MAT lacks: most links go to near ids, near
//! pages share links, and degrees are skewed in both directions. Here page `v` has these links,
//! each chosen by one random number that depends on the seed, `v` and the link's number `j` alone:
//!
//! | share | kind | target |
//! |---|---|---|
//! | 1/2 | copied | link `j` (modulo its links) of `v`'s prototype, one of the 16 pages before it |
//! | 3/8 | near | a page at a distance below `8 * 2^g`, where `g` is geometric with ratio 1/2 |
//! | 1/16 | home | the first page of the host, 256 consecutive pages |
//! | 1/16 | far | page `n * u^4`, u uniform: low ids are popular everywhere |
//!
//! (The copying is that of Kumar et al., 2000.) A copied link is found by computing the
//! prototype's, which may be copied in turn: at most four times, then the next kind is
//! taken instead.
//!
//! Out-degrees follow `x * (u^(-9/16) - 1)`, a power law with exponent 2.8 (crawls: 2.7) in which
//! about one page in fifteen has no link. Each run of 4,096 pages holds the same degrees,
//! shuffled differently; they sum to exactly `4096 * degree`. So the number of edges before any
//! block is known without counting.

use welter_model::edges::{Batch, EdgeStream, Pair, StreamError};

use super::random::Random;
use super::{Batcher, GenerateError, PAGES_MAX, PART_EDGES, Weigher, Weights, check};

/// Pages that share one set of degrees.
const BLOCK: u64 = 1 << 12;

/// Pages of one host.
const HOST: u64 = 256;

/// Largest number of steps from a copied link to the link that it is a copy of.
const COPIES_MAX: u32 = 4;

/// Size, shape and seed of the graph to make.
#[derive(Clone, Debug, PartialEq)]
pub struct WebOptions {
    /// Number of pages, 2 to [`PAGES_MAX`].
    pub pages: u64,
    /// Average number of links of a page.
    pub degree: u32,
    /// Every seed gives another graph.
    pub seed: u64,
    /// Weights of the edges. The edges are the same with any.
    pub weights: Weights,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self { pages: 1 << 16, degree: 16, seed: 1, weights: Weights::None }
    }
}

/// A web-like graph as a stream, ordered by source. Self-loops and parallel edges occur.
#[derive(Debug)]
pub struct Web {
    pages: u64,
    edges: u64,
    degree: u64,
    /// Blocks in one part.
    part_blocks: u64,
    /// The degrees of the pages of a block, before they are shuffled.
    degrees: Vec<u32>,
    random: Random,
    /// Chooses the order of the degrees in each block.
    order: Random,
    weigher: Weigher,
}

impl Web {
    /// A graph with these options. Takes microseconds: edges are made when they are read.
    ///
    /// # Errors
    /// When the options make no graph.
    pub fn new(options: &WebOptions) -> Result<Self, GenerateError> {
        let WebOptions { pages, degree, seed, weights } = *options;
        if !(2..=PAGES_MAX).contains(&pages) {
            return Err(GenerateError::Pages(pages));
        }
        check(degree, pages, weights)?;
        let mut web = Self {
            pages,
            edges: 0,
            degree: degree.into(),
            part_blocks: (PART_EDGES / (u64::from(degree) * BLOCK)).max(1),
            degrees: degrees(degree),
            random: Random::new(seed, "web"),
            order: Random::new(seed, "degrees"),
            weigher: Weigher::new(weights, seed),
        };
        let whole = pages / BLOCK * BLOCK;
        web.edges =
            web.edges_before(whole) + (whole..pages).map(|page| web.links(page)).sum::<u64>();
        Ok(web)
    }

    /// Number of edges whose source lies before `page`, the first page of a block.
    fn edges_before(&self, page: u64) -> u64 {
        page * self.degree
    }

    /// Number of links of a page.
    fn links(&self, page: u64) -> u64 {
        // Multiplying by an odd number and adding are bijections modulo the size of the block.
        let key = self.order.at(page / BLOCK);
        let place = (page.wrapping_mul(key >> 32 | 1).wrapping_add(key)) % BLOCK;
        self.degrees[place as usize].into()
    }

    /// Target of link number `link` of a page.
    fn target(&self, mut page: u64, mut link: u64) -> u32 {
        for _ in 0..COPIES_MAX {
            let bits = self.bits(page, link);
            if bits & 1 == 0 {
                break;
            }
            let prototype = self.prototype(page);
            match self.links(prototype) {
                0 => break,
                links => (page, link) = (prototype, link % links),
            }
        }
        self.original(page, self.bits(page, link) >> 1)
    }

    /// The random number of a link.
    fn bits(&self, page: u64, link: u64) -> u64 {
        self.random.at(page << 24 | link)
    }

    /// The page whose links a page copies: the same one for all its links. The first page copies
    /// from itself.
    fn prototype(&self, page: u64) -> u64 {
        page.saturating_sub(1 + (self.order.at(!page) & 15))
    }

    /// Target of a link that is not copied, by 63 random bits.
    fn original(&self, page: u64, bits: u64) -> u32 {
        let (kind, sign, bits) = (bits & 7, bits >> 3 & 1, bits >> 4);
        let target = match kind {
            0 => page - page % HOST,
            1 => {
                let fraction = bits & 0xFFFF_FFFF;
                let square = (fraction * fraction) >> 32;
                (((square * square) >> 32) * self.pages) >> 32
            }
            _ => {
                let width = 8_u64 << (bits >> 32 | 1 << 26).trailing_zeros();
                let distance = 1 + (((bits & 0xFFFF_FFFF) * width) >> 32);
                self.step(page, distance, sign == 0)
            }
        };
        target as u32
    }

    /// The page at a distance, wrapped at the ends of the graph.
    fn step(&self, page: u64, distance: u64, back: bool) -> u64 {
        let distance = if distance < self.pages { distance } else { distance % self.pages };
        let target = page + if back { self.pages - distance } else { distance };
        if target < self.pages { target } else { target - self.pages }
    }
}

/// Degrees of a block: the quantiles of the power law, rounded so that they sum to
/// `average * BLOCK`.
fn degrees(average: u32) -> Vec<u32> {
    let quantile = |place: u64| {
        let share = (place as f64 + 0.5) / BLOCK as f64;
        let root = share.sqrt();
        // share^(9/16) = share^(1/2) * share^(1/16)
        1.0 / (root * root.sqrt().sqrt().sqrt()) - 1.0
    };
    let sum: f64 = (0..BLOCK).map(quantile).sum();
    let scale = (u64::from(average) * BLOCK) as f64 / sum;
    let (mut exact, mut given) = (0.0, 0);
    let mut degrees: Vec<u32> = (0..BLOCK)
        .map(|place| {
            exact += quantile(place) * scale;
            let degree = (exact.round() as u64).saturating_sub(given);
            given += degree;
            degree as u32
        })
        .collect();
    // The running sum ends within rounding of the total, never a whole link off it; state it
    // anyway.
    let total = u64::from(average) * BLOCK;
    degrees[0] = (u64::from(degrees[0]) + total - given) as u32;
    degrees
}

impl EdgeStream for Web {
    fn parts(&self) -> usize {
        self.pages.div_ceil(self.part_blocks * BLOCK) as usize
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.weigher.kind != Weights::None
    }

    fn slots(&self) -> Option<u64> {
        Some(self.pages)
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let first = part as u64 * self.part_blocks * BLOCK;
        let end = self.pages.min(first + self.part_blocks * BLOCK);
        let mut batcher = Batcher::new(self.edges_before(first), self.weigher, visit);
        let _wanted_all = (first..end).all(|page| {
            let pair = |link| -> Pair { [page as u32, self.target(page, link)] };
            (0..self.links(page)).all(|link| batcher.push(pair(link)))
        }) && batcher.flush();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(web: &Web) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for part in 0..web.parts() {
            web.read(part, &mut |batch| {
                pairs.extend_from_slice(batch.pairs);
                true
            })
            .unwrap();
        }
        pairs
    }

    fn web(pages: u64, degree: u32) -> Web {
        Web::new(&WebOptions { pages, degree, ..WebOptions::default() }).unwrap()
    }

    #[test]
    fn the_number_of_edges_is_exact() {
        for (pages, degree) in [(2, 1), (3, 16), (4_095, 5), (4_096, 16), (10_000, 3), (70_000, 16)]
        {
            let web = web(pages, degree);
            let pairs = all(&web);
            assert_eq!(pairs.len() as u64, web.edges(), "{pages} pages, degree {degree}");
            assert!(pairs.iter().flatten().all(|&page| u64::from(page) < pages));
            assert!(pairs.is_sorted_by_key(|[source, _]| *source));
        }
        assert_eq!(web(1 << 16, 16).edges(), 1 << 20);
    }

    #[test]
    fn degrees_follow_the_law_and_sum_up() {
        for average in [1, 2, 16, 1_000, crate::generate::FACTOR_MAX] {
            let degrees = degrees(average);
            assert_eq!(
                degrees.iter().map(|&d| u64::from(d)).sum::<u64>(),
                u64::from(average) * BLOCK
            );
        }
        let degrees = degrees(16);
        let none = degrees.iter().filter(|&&degree| degree == 0).count();
        assert!((200..400).contains(&none), "{none} pages without links");
        assert!(degrees[0] > 500, "{}", degrees[0]);
    }

    #[test]
    fn most_links_are_near_and_some_pages_popular() {
        let web = web(1 << 18, 16);
        let pairs = all(&web);
        let near = pairs.iter().filter(|[from, to]| from.abs_diff(*to) < 1_024).count();
        let share = near as f64 / pairs.len() as f64;
        assert!((0.80..0.95).contains(&share), "{share}");
        let mut incoming = vec![0_u32; 1 << 18];
        for [_, to] in pairs {
            incoming[to as usize] += 1;
        }
        assert!(incoming[0] > 4_000, "{}", incoming[0]);
    }

    #[test]
    fn pages_share_links_with_their_prototypes() {
        let web = web(1 << 14, 16);
        let (mut shared, mut links) = (0, 0);
        for page in 1..1 << 14 {
            let prototype = web.prototype(page);
            let theirs: Vec<u32> =
                (0..web.links(prototype)).map(|link| web.target(prototype, link)).collect();
            links += web.links(page);
            shared += (0..web.links(page))
                .filter(|&link| theirs.contains(&web.target(page, link)))
                .count();
        }
        let share = shared as f64 / links as f64;
        assert!(share > 0.4, "{share}");
    }

    #[test]
    fn graphs_are_fixed_for_ever() {
        let pairs = all(&web(5_000, 16));
        let some = [0, 30_000, pairs.len() - 1].map(|edge| pairs[edge]);
        assert_eq!(some, [[0, 0], [1_805, 1_792], [4_998, 4_994]]);
    }

    #[test]
    fn options_that_make_no_graph_are_refused() {
        let refuse = |pages, degree| {
            Web::new(&WebOptions { pages, degree, ..WebOptions::default() }).unwrap_err()
        };
        assert_eq!(refuse(1, 16), GenerateError::Pages(1));
        assert_eq!(refuse(PAGES_MAX + 1, 16), GenerateError::Pages(PAGES_MAX + 1));
        assert!(matches!(refuse(9, 0), GenerateError::Factor { .. }));
    }
}
