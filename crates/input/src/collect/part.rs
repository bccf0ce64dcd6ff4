//! Parts of edges as readers hand them over, and the vertices that sources state beside them.

use welter_model::edges::Pair;
use welter_model::ids::Names;

/// Ids of the edges of a part, as the input has them.
#[derive(Clone, Debug, PartialEq)]
pub enum Ids {
    /// Integers that all fit in 32 bits.
    Narrow {
        /// Source and target of each edge.
        pairs: Vec<Pair>,
        /// The largest id, 0 where there is none.
        max: u32,
    },
    /// Integers.
    Wide {
        /// Source and target of each edge.
        pairs: Vec<[u64; 2]>,
        /// The largest id, 0 where there is none.
        max: u64,
    },
    /// Strings: each distinct one of the part is kept once.
    Names {
        /// Distinct strings in any order.
        names: Names,
        /// Source and target of each edge, as places in `names`.
        pairs: Vec<Pair>,
    },
}

impl Ids {
    /// Narrow ids, where the caller has not seen the largest on the way.
    pub fn narrow(pairs: Vec<Pair>) -> Self {
        let max = pairs.iter().flatten().copied().max().unwrap_or(0);
        Self::Narrow { pairs, max }
    }

    /// Integer ids in the narrowest form that holds them all.
    pub fn integers(pairs: Vec<[u64; 2]>) -> Self {
        let max = pairs.iter().flatten().copied().max().unwrap_or(0);
        match u32::try_from(max) {
            Ok(max) => {
                let narrow = |[source, target]: [u64; 2]| [source as u32, target as u32];
                Self::Narrow { pairs: pairs.into_iter().map(narrow).collect(), max }
            }
            Err(_) => Self::Wide { pairs, max },
        }
    }

    /// The integers as they are widest; of names their places.
    pub(crate) fn into_wide(self) -> Vec<[u64; 2]> {
        match self {
            Self::Wide { pairs, .. } => pairs,
            Self::Narrow { pairs, .. } | Self::Names { pairs, .. } => {
                pairs.into_iter().map(|pair| pair.map(u64::from)).collect()
            }
        }
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow { pairs, .. } | Self::Names { pairs, .. } => pairs.len(),
            Self::Wide { pairs, .. } => pairs.len(),
        }
    }

    /// Whether there is no edge.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest id; 0 where there is none, and of names.
    pub(crate) fn max(&self) -> u64 {
        match self {
            Self::Narrow { max, .. } => u64::from(*max),
            Self::Wide { max, .. } => *max,
            Self::Names { .. } => 0,
        }
    }

    /// Heap bytes taken.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Narrow { pairs, .. } => size_of_val(&pairs[..]) as u64,
            Self::Wide { pairs, .. } => size_of_val(&pairs[..]) as u64,
            Self::Names { pairs, names } => size_of_val(&pairs[..]) as u64 + names.bytes(),
        }
    }
}

/// A run of consecutive edges of one source. 1 to 16 MiB is a good size.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeRun {
    /// Ids of the edges.
    pub ids: Ids,
    /// Weights of the edges, one each and none of them NaN; `None` where the source has none.
    pub weights: Option<Vec<f64>>,
}

impl EdgeRun {
    /// Heap bytes taken.
    pub(crate) fn bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |weights| size_of_val(&weights[..]) as u64);
        self.ids.bytes() + weights
    }
}

/// Vertices that a source states: they exist, with or without edges. Where a format lists all of
/// its vertices, its reader refuses edges that name others, with their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredVertices {
    /// The integers from `first` on, `count` of them. Takes no memory, however large the count.
    Range {
        /// The smallest id: mostly 0 or 1.
        first: u64,
        /// Number of ids.
        count: u64,
    },
    /// Integers, in any order; one may come more than once.
    Integers(Vec<u64>),
    /// Strings, in any order; one may come more than once.
    Names(Names),
}

/// The most vertices with edges that a graph may have: slots fit 32 bits.
pub const SLOTS_MAX: u64 = u32::MAX as u64;

/// Refuses a stated number of vertices that is too large for a format that lists each of them.
/// Readers ask as soon as they have read it, because they know its place.
pub(crate) fn count_fits(count: u64) -> Result<(), String> {
    if count <= SLOTS_MAX {
        return Ok(());
    }
    Err(format!("expected at most {SLOTS_MAX} vertices, found a stated number of {count}"))
}

/// A part with its place.
#[derive(Debug)]
pub(crate) struct PlacedRun {
    pub(crate) source: usize,
    pub(crate) number: u64,
    pub(crate) part: EdgeRun,
}
