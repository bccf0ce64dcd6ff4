//! Where readers leave what they parsed: parts, in any order of time, numbered in input order.
//!
//! Invariant: parts come out in the order (source, number), whatever thread pushed them when, so
//! the order of edges never depends on scheduling. The bytes held never exceed the stated budget by
//! more than one part a thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use welter_model::edges::Pair;
use welter_model::ids::Names;

use crate::error::InputError;

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

    /// Heap bytes taken.
    fn bytes(&self) -> u64 {
        match self {
            Self::Narrow { pairs, .. } => size_of_val(&pairs[..]) as u64,
            Self::Wide { pairs, .. } => size_of_val(&pairs[..]) as u64,
            Self::Names { pairs, names } => size_of_val(&pairs[..]) as u64 + names.bytes(),
        }
    }
}

/// A run of consecutive edges of one source. 1 to 16 MiB is a good size.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Their ids.
    pub ids: Ids,
    /// Their weights, as many as edges and none of them NaN; `None` where the source has none.
    pub weights: Option<Vec<f64>>,
}

/// A part with its place.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) source: usize,
    pub(crate) number: u64,
    pub(crate) part: Part,
}

/// Gathers the parts of all sources.
#[derive(Debug, Default)]
pub struct Collector {
    state: Mutex<State>,
    bytes: AtomicU64,
    memory_bytes_max: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<String>,
    parts: Vec<Placed>,
}

impl Collector {
    /// Nothing yet; refuses to hold more than `memory_bytes_max`.
    pub fn new(memory_bytes_max: Option<u64>) -> Self {
        Self { memory_bytes_max, ..Self::default() }
    }

    /// Begins the next source, in the order of the inputs. Part numbers begin anew.
    pub(crate) fn begin(&self, file: &str) {
        self.lock().files.push(file.to_owned());
    }

    /// Takes a part of the present source. `number` orders the parts of a source; numbers may come
    /// in any order and may have gaps. Parts without edges are dropped.
    ///
    /// # Errors
    /// [`InputError::Budget`] when more memory is held than the run may take.
    pub fn push(&self, number: u64, part: Part) -> Result<(), InputError> {
        debug_assert!(part.weights.as_ref().is_none_or(|weights| weights.len() == part.ids.len()));
        if part.ids.is_empty() {
            return Ok(());
        }
        let weights = part.weights.as_ref().map_or(0, |weights| size_of_val(&weights[..]) as u64);
        let bytes = part.ids.bytes() + weights;
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let mut state = self.lock();
        if let Some(allowed_bytes) = self.memory_bytes_max.filter(|allowed| held > *allowed) {
            let file = state.files.last().cloned().unwrap_or_default();
            return Err(InputError::Budget { file, allowed_bytes });
        }
        let source = state.files.len().saturating_sub(1);
        state.parts.push(Placed { source, number, part });
        Ok(())
    }

    /// All parts in input order, and the names of the sources.
    pub(crate) fn into_parts(self) -> (Vec<Placed>, Vec<String>) {
        let State { files, mut parts } =
            self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|placed| (placed.source, placed.number));
        (parts, files)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(id: u32) -> Part {
        Part { ids: Ids::narrow(vec![[id, id]]), weights: None }
    }

    #[test]
    fn parts_come_out_in_input_order() {
        let collector = Collector::new(None);
        collector.begin("a");
        collector.push(2, part(1)).unwrap();
        collector.push(0, part(0)).unwrap();
        collector.push(1, Part { ids: Ids::narrow(vec![]), weights: None }).unwrap();
        collector.begin("b");
        collector.push(0, part(2)).unwrap();
        let (parts, files) = collector.into_parts();
        let ids: Vec<_> = parts.into_iter().map(|placed| placed.part.ids).collect();
        assert_eq!(ids, [0, 1, 2].map(|id| Ids::narrow(vec![[id, id]])));
        assert_eq!(files, ["a", "b"]);
    }

    #[test]
    fn more_than_the_budget_is_refused() {
        let collector = Collector::new(Some(8));
        collector.begin("a");
        collector.push(0, part(0)).unwrap();
        assert_eq!(collector.push(1, part(0)).unwrap_err().exit_code(), 78);
    }

    #[test]
    fn integers_take_the_narrowest_form() {
        assert_eq!(Ids::integers(vec![[1, 2]]), Ids::Narrow { pairs: vec![[1, 2]], max: 2 });
        let wide = 1 << 32;
        assert_eq!(Ids::integers(vec![[1, wide]]), Ids::Wide { pairs: vec![[1, wide]], max: wide });
    }
}
