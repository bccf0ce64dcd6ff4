//! Statements of all sources together about the vertices.
//!
//! Invariant: ids that count up without a gap become a range and take no memory, however many are
//! stated; lists take what their sources took to write them down. Only a range that has to become a
//! list, because other ids lie apart from it, takes memory in proportion to a stated number, and
//! then no more than the run may take. Tested by `what_counts_up_without_a_gap_is_a_range` and
//! `a_range_becomes_a_list_only_where_that_fits`.

use std::ops::Range;

use rayon::prelude::*;
use welter_model::ids::Names;

use crate::collect::{DeclaredVertices, SLOTS_MAX};
use crate::error::InputError;

/// Vertices that exist, with or without edges.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Vertices {
    /// No source states any.
    Unstated,
    /// Integers of a range.
    Range(Range<u64>),
    /// Integers, ascending and distinct.
    Integers(Vec<u64>),
    /// Strings; one may come more than once.
    Names(Vec<Names>),
}

impl Vertices {
    /// Whether no vertex is stated.
    pub(super) fn none(&self) -> bool {
        match self {
            Self::Unstated => true,
            Self::Range(range) => range.is_empty(),
            Self::Integers(ids) => ids.is_empty(),
            Self::Names(names) => names.iter().all(Names::is_empty),
        }
    }
}

/// Puts together what sources state.
pub(super) fn merge(
    stated: Vec<(usize, DeclaredVertices)>,
    files: &[String],
    memory_bytes_max: Option<u64>,
) -> Result<Vertices, InputError> {
    let (mut ranges, mut ids, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let (mut integers_in, mut names_in) = (None, None);
    for (source, stated) in stated {
        match stated {
            DeclaredVertices::Range { first, count } => {
                integers_in = Some(source);
                ranges.push(first..first.saturating_add(count));
            }
            DeclaredVertices::Integers(more) => {
                integers_in = Some(source);
                ids.extend(more);
            }
            DeclaredVertices::Names(more) => {
                names_in = Some(source);
                names.push(more);
            }
        }
    }
    match (integers_in, names_in) {
        (None, None) => Ok(Vertices::Unstated),
        (None, Some(_)) => Ok(Vertices::Names(names)),
        (Some(_), None) => integers(ranges, ids, files, memory_bytes_max),
        (Some(integers), Some(names)) => Err(mixed(&files[names], &files[integers])),
    }
}

/// Sources of names and of integers cannot be one graph.
pub(super) fn mixed(names: &str, integers: &str) -> InputError {
    let what = format!("{names} has names as ids and {integers} integers; read all as names");
    InputError::Inputs { what }
}

fn integers(
    ranges: Vec<Range<u64>>,
    mut ids: Vec<u64>,
    files: &[String],
    memory_bytes_max: Option<u64>,
) -> Result<Vertices, InputError> {
    ids.par_sort_unstable();
    ids.dedup();
    // The largest integer ends no range.
    let top = ids.pop_if(|id| *id == u64::MAX);
    let mut ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    ranges.extend(runs(&ids));
    let ranges = joined(ranges);
    if let [range] = &ranges[..]
        && top.is_none()
    {
        return Ok(Vertices::Range(range.clone()));
    }
    let count =
        ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.end - range.start));
    list_fits(count, files, memory_bytes_max)?;
    Ok(Vertices::Integers(ranges.into_iter().flatten().chain(top).collect()))
}

/// Refuses a list of `count` ids that does not fit in memory.
pub(super) fn list_fits(
    count: u64,
    files: &[String],
    memory_bytes_max: Option<u64>,
) -> Result<(), InputError> {
    if count > SLOTS_MAX {
        let what = format!("{count} stated vertices are more than the {SLOTS_MAX} that fit");
        return Err(InputError::Inputs { what });
    }
    match memory_bytes_max.filter(|allowed| count.saturating_mul(8) > *allowed) {
        Some(allowed_bytes) => Err(InputError::Budget { file: files.join(", "), allowed_bytes }),
        None => Ok(()),
    }
}

/// Ascending, distinct ids as ranges, each as long as possible.
fn runs(ids: &[u64]) -> impl Iterator<Item = Range<u64>> {
    ids.chunk_by(|a, b| a + 1 == *b).filter_map(|run| Some(*run.first()?..*run.last()? + 1))
}

/// Ranges in order, those that touch put together.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use welter_progress::FailureKind;

    fn of(stated: Vec<DeclaredVertices>) -> Result<Vertices, InputError> {
        let files: Vec<_> = (0..stated.len()).map(|source| format!("f{source}")).collect();
        merge(stated.into_iter().enumerate().collect(), &files, Some(1000))
    }

    fn range(first: u64, count: u64) -> DeclaredVertices {
        DeclaredVertices::Range { first, count }
    }

    #[test]
    fn what_counts_up_without_a_gap_is_a_range() {
        assert_eq!(of(vec![]).unwrap(), Vertices::Unstated);
        assert_eq!(of(vec![range(1, 5), range(3, 9)]).unwrap(), Vertices::Range(1..12));
        let list = DeclaredVertices::Integers(vec![7, 5, 6, 5]);
        assert_eq!(of(vec![list.clone()]).unwrap(), Vertices::Range(5..8));
        assert_eq!(of(vec![list.clone(), range(8, 2)]).unwrap(), Vertices::Range(5..10));
        assert_eq!(
            of(vec![list, range(9, 2), range(0, 0)]).unwrap(),
            Vertices::Integers(vec![5, 6, 7, 9, 10])
        );
        let top = DeclaredVertices::Integers(vec![u64::MAX, u64::MAX - 1]);
        assert_eq!(of(vec![top]).unwrap(), Vertices::Integers(vec![u64::MAX - 1, u64::MAX]));
    }

    #[test]
    fn a_range_becomes_a_list_only_where_that_fits() {
        let apart = DeclaredVertices::Integers(vec![1 << 40]);
        let error = of(vec![range(0, 200), apart.clone()]).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Budget);
        let error = of(vec![range(0, SLOTS_MAX), apart]).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Input);
        for count in [SLOTS_MAX, 1 << 60] {
            assert_eq!(of(vec![range(0, count)]).unwrap(), Vertices::Range(0..count));
        }
    }

    #[test]
    fn names_and_integers_do_not_mix() {
        let names = DeclaredVertices::Names(["a"].into_iter().collect());
        let error = of(vec![range(0, 1), names]).unwrap_err();
        assert!(error.to_string().starts_with("f1 has names as ids and f0 integers"));
    }
}
