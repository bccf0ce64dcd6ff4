//! First rows that count: how many vertices, how many edges.
//!
//! - `17903,197031,u,graph`: vertices, edges, `u`ndirected or `d`irected, and words. Rows between
//!   the vertices 1 to V follow. Known for what it is by its third column.
//! - `36692 367662`: looks like an edge. It is a header if it is one of at least 100 rows, its
//!   second number is that of the rows after it and larger than the first, and no id in those rows
//!   is larger than its first. An edge could be all that only if it went from the largest id of all
//!   others to a vertex that no other edge names and whose id is the number of other edges.
//!
//! - `6 6 4`: the sizes of a matrix and its entries. A header on the same conditions, if its first
//!   two numbers are equal; few rows will do, as an edge would have to be a self-loop that weighs
//!   as much as there are other rows.
//!
//! A first row of two numbers above rows of three, such as `4 3` above `0 1 2.5`, is a header if it
//! counts, however few rows there are, as it lacks a weight. Any other row that could count, such
//! as `4 3` above three edges, is an edge, and a note says what else it may be.
//!
//! Invariant: whether a file has such a row can be known only at its end ([`super::counting`]).
//! Checked in `Counting::finish`.

use super::allowed_ids::AllowedIds;
use super::fields::parse_id;
use super::ids;
use super::sample::ROWS_MAX;
use super::separator::Candidate;
use crate::collect::{EdgeRun, Ids};
use crate::columns::Columns;
use crate::options::{IdKind, ReadOptions};

/// Fewer rows are a graph that a person wrote down, where numbers meet by chance.
const EDGES_MIN: u64 = 100;
/// Fewer rows of three numbers are likewise, where rows have weights.
const SIZED_EDGES_MIN: u64 = 3;
/// Rows below a first one of which it is reported that it may count them.
const DOUBTFUL_EDGES_MIN: u64 = 2;

/// Counts in the first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// No counts.
    No,
    /// Perhaps vertices and edges.
    Perhaps(Sizes),
    /// Vertices, from 1, and edges.
    Graph { vertices: u64, edges: u64, undirected: bool },
}

/// Numbers of a first row that may be vertices and edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// The edge that the row is if it does not count: its ends, and its weight if there is one.
    pub(super) ends: [u64; 2],
    weight: Option<u64>,
    /// Whether it is a header if it does count.
    trusted: bool,
}

impl Sizes {
    /// The row, if it may count `rows` rows, or more than those where `whole` is false.
    fn of(
        ends: [u64; 2],
        weight: Option<u64>,
        narrow: bool,
        rows: u64,
        whole: bool,
    ) -> Option<Self> {
        let [vertices, second] = ends;
        let edges = weight.unwrap_or(second);
        let trusted = match weight {
            None => narrow || edges > vertices && edges >= EDGES_MIN,
            Some(_) => vertices == second && (narrow || edges >= SIZED_EDGES_MIN),
        };
        let possible = if whole { edges == rows } else { edges >= rows };
        let doubtful = possible && rows >= DOUBTFUL_EDGES_MIN;
        (trusted || doubtful).then_some(Self { ends, weight, trusted })
    }

    /// Whether it counts rows with these ids, once all were read.
    pub(super) fn count(self, rows: u64, max: u64) -> bool {
        let most =
            if self.weight.is_some() { self.ends[0].max(self.ends[1]) } else { self.ends[0] };
        self.weight.unwrap_or(self.ends[1]) == rows && max <= most
    }

    /// The numbers as they stand there.
    pub(super) fn shown(self) -> String {
        let [first, second] = self.ends;
        match self.weight {
            None => format!("{first} {second}"),
            Some(third) => format!("{first} {second} {third}"),
        }
    }
}

impl Counted {
    /// Looks at the first of the rows of a sample, which is all there is if `whole`.
    pub(super) fn of(candidate: &Candidate<'_>, whole: bool, options: &ReadOptions) -> Self {
        let rows = &candidate.rows[..];
        let Some(first) = rows.first() else { return Self::No };
        let columns = options.source.is_some() || options.target.is_some();
        if options.header.is_some() || options.ids == IdKind::Names || columns {
            return Self::No;
        }
        let pairs = Columns { source: 0, target: 1, weight: None };
        if ids::guess(rows, pairs).0 == IdKind::Names {
            return Self::No;
        }
        let number = |place: usize| first.get(place).and_then(|field| parse_id(field).ok());
        let (Some(vertices), Some(edges)) = (number(0), number(1)) else { return Self::No };
        match first.get(2).map(AsRef::as_ref) {
            Some(b"u") => Self::Graph { vertices, edges, undirected: true },
            Some(b"d") => Self::Graph { vertices, edges, undirected: false },
            third => {
                let weight = number(2);
                let other = third.is_some() && (first.len() > 3 || weight.is_none());
                if other || rows.len() < 2 {
                    return Self::No;
                }
                let width = |expected| rows[1..].iter().all(|row| row.len() == expected);
                let narrow = if weight.is_some() { width(2) } else { width(3) };
                let (below, whole) = (rows.len() as u64 - 1, whole && rows.len() < ROWS_MAX);
                Sizes::of([vertices, edges], weight, narrow, below, whole)
                    .map_or(Self::No, Self::Perhaps)
            }
        }
    }

    /// Whether a first row that perhaps counts does so, once all rows after it were read.
    pub(super) fn holds(self, rows: u64, max: u64) -> bool {
        match self {
            Self::Perhaps(sizes) => sizes.trusted && sizes.count(rows, max),
            Self::No | Self::Graph { .. } => true,
        }
    }

    /// The first row as the edge that it is, unless a weight is missing there or an end is unknown.
    pub(super) fn edge(
        self,
        known: &AllowedIds,
        weighted: bool,
    ) -> Result<Option<EdgeRun>, String> {
        match self {
            Self::Perhaps(Sizes { weight: None, .. }) if weighted => {
                Err("expected at least 3 columns, as in later rows, found 2".to_owned())
            }
            Self::Perhaps(Sizes { ends, weight, .. }) => {
                ends.iter().try_for_each(|id| known.check(*id))?;
                let weights = weight.filter(|_| weighted).map(|weight| vec![weight as f64]);
                Ok(Some(EdgeRun { ids: Ids::integers(vec![ends]), weights }))
            }
            Self::No | Self::Graph { .. } => Ok(None),
        }
    }
}
