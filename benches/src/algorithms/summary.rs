//! Numbers by which answers are compared with each other: a few that are the same whichever program
//! computed them, and however vertices are numbered. benches/peers/task.py makes them of its
//! answers.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// Numbers by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Summary(pub(crate) BTreeMap<String, f64>);

impl Summary {
    fn of<const N: usize>(numbers: [(&str, f64); N]) -> Self {
        Self(numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect())
    }

    /// Vertices by what they belong to.
    pub(crate) fn groups(labels: impl Iterator<Item = u64>) -> Self {
        let mut sizes: HashMap<u64, u64> = HashMap::new();
        labels.for_each(|label| *sizes.entry(label).or_default() += 1);
        let largest = sizes.values().copied().max().unwrap_or(0);
        Self::of([("groups", sizes.len() as f64), ("largest", largest as f64)])
    }

    /// The edges of a spanning forest, by their weights.
    pub(crate) fn forest(weights: impl Iterator<Item = f64>) -> Self {
        let (edges, weight) = weights.fold((0.0, 0.0), |(n, sum), weight| (n + 1.0, sum + weight));
        Self::of([("edges", edges), ("weight", weight)])
    }

    /// Lengths of paths to what is reached.
    pub(crate) fn paths(lengths: impl Iterator<Item = f64>) -> Self {
        let (mut reached, mut sum, mut farthest) = (0.0, 0.0, 0.0_f64);
        for length in lengths {
            reached += 1.0;
            sum += length;
            farthest = farthest.max(length);
        }
        Self::of([("reached", reached), ("sum", sum), ("farthest", farthest)])
    }

    /// A number of each vertex.
    pub(crate) fn numbers(values: impl Iterator<Item = f64>) -> Self {
        let (sum, largest) = sum_and_largest(values);
        Self::of([("sum", sum), ("largest", largest)])
    }

    /// Ranks add up to 1 whatever they are, so it is their squares that are added up.
    pub(crate) fn ranks(values: impl Iterator<Item = f64>) -> Self {
        let mut most = 0.0_f64;
        let (squares, _) = sum_and_largest(values.map(|rank| {
            most = most.max(rank);
            rank * rank
        }));
        Self::of([("squares", squares), ("largest", most)])
    }

    /// Triangles of the graph, from those of each vertex.
    pub(crate) fn triangles(counts: impl Iterator<Item = f64>) -> Self {
        Self::of([("triangles", counts.sum::<f64>() / 3.0)])
    }

    /// Number of members of a set.
    pub(crate) fn members(count: f64) -> Self {
        Self::of([("members", count)])
    }

    /// A cut, and the volumes of its sides.
    pub(crate) fn cut(cut: f64, set: f64, rest: f64) -> Self {
        Self::of([("cut", cut), ("set", set), ("rest", rest)])
    }

    /// In what another one differs by more than `tolerance`, relative; nothing where they agree.
    pub(crate) fn differences(&self, other: &Self, tolerance: f64) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> =
            self.0.keys().chain(other.0.keys()).collect();
        let differs = |name: &&String| match (self.0.get(*name), other.0.get(*name)) {
            (Some(one), Some(other)) => {
                // Not a number is no answer either.
                let near = (one - other).abs() <= tolerance * one.abs().max(other.abs());
                (!near).then(|| format!("{name}: {other}, not {one}"))
            }
            (Some(_), None) => Some(format!("{name}: missing")),
            (None, _) => Some(format!("{name}: not asked for")),
        };
        names.iter().filter_map(differs).collect()
    }
}

fn sum_and_largest(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((0.0, 0.0), |(sum, largest), value| (sum + value, f64::max(largest, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_differ_are_told_apart() {
        let one = Summary::groups([4, 4, 9].into_iter());
        assert_eq!(one, Summary::of([("groups", 2.0), ("largest", 2.0)]));
        assert!(one.differences(&Summary::groups([1, 7, 7].into_iter()), 0.0).is_empty());
        let other = Summary::groups([1, 2, 3].into_iter());
        assert_eq!(one.differences(&other, 0.0), ["groups: 3, not 2", "largest: 1, not 2"]);
        assert_eq!(one.differences(&Summary::default(), 1.0).len(), 2);
        assert_eq!(Summary::default().differences(&one, 1.0).len(), 2);
    }

    #[test]
    fn numbers_agree_within_the_tolerance_and_nan_with_none() {
        let of = |sum| Summary::of([("sum", sum)]);
        assert!(of(1e6).differences(&of(1e6 + 0.5), 1e-6).is_empty());
        assert_eq!(of(1e6).differences(&of(1e6 + 2.0), 1e-6).len(), 1);
        assert_eq!(of(f64::NAN).differences(&of(f64::NAN), 1.0).len(), 1);
        assert!(of(0.0).differences(&of(0.0), 0.0).is_empty());
    }

    #[test]
    fn each_answer_is_summed_up() {
        let values = || [1.0, 4.0].into_iter();
        assert_eq!(Summary::numbers(values()), Summary::of([("sum", 5.0), ("largest", 4.0)]));
        assert_eq!(Summary::ranks(values()), Summary::of([("squares", 17.0), ("largest", 4.0)]));
        assert_eq!(Summary::forest(values()), Summary::of([("edges", 2.0), ("weight", 5.0)]));
        let expected = [("reached", 2.0), ("sum", 5.0), ("farthest", 4.0)];
        assert_eq!(Summary::paths(values()), Summary::of(expected));
    }
}
