//! The rules one by one, and whole comparisons against a plain one, in any order and by any window.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use welter_model::table::Column;

use super::*;

fn right(rule: Rule, expected: &str, found: Cell) -> Result<bool, String> {
    is_right(rule, &mut Labels::default(), expected, found)
}

#[test]
fn integers_are_exact() {
    let check = |expected: &str, found| right(Rule::Exact, expected, Cell::Integer(found));
    assert_eq!(check("7", 7), Ok(true));
    assert_eq!(check("7", 8), Ok(false));
    assert_eq!(check("9223372036854775807", UNREACHED), Ok(true));
    assert_eq!(check("18446744073709551615", u64::MAX), Ok(true));
    for wrong in ["-1", "7.0", "", "Infinity", "18446744073709551616"] {
        assert!(check(wrong, 7).is_err(), "{wrong}");
    }
    let unreached = cell(&VertexColumn::Range(0..1), &ColumnData::I64(vec![-1]), 0);
    assert_eq!(unreached, Cell::Integer(UNREACHED));
}

#[test]
fn reals_are_near() {
    let check = |expected: &str, found| right(Rule::Near, expected, Cell::Real(found)).unwrap();
    // 2^-40 is a value whose ten-thousandth part and both ends can be told apart exactly enough.
    let one = (-40.0_f64).exp2();
    let text = format!("{one:e}");
    for (share, expected) in
        [(0.0, true), (0.999_999e-4, true), (1.000_001e-4, false), (1e-3, false), (1.0, false)]
    {
        assert_eq!(check(&text, one * (1.0 + share)), expected, "{share}");
        assert_eq!(check(&text, one * (1.0 - share)), expected, "{share}");
        assert_eq!(check(&format!("-{text}"), -one * (1.0 + share)), expected, "{share}");
    }
    // The bound itself is within: 10000 +- 1.
    assert!(check("10000", 10001.0) && check("10000", 9999.0));
    assert!(!check("10000", 10001.0_f64.next_up()) && !check("10000", 9999.0_f64.next_down()));
    // And it is a share of what is expected, not of what is found.
    assert!(!check("9999", 10000.0_f64) && check("10001", 10000.0));
    assert!(check("0", 0.0) && check("0", -0.0));
    assert!(!check("0", f64::MIN_POSITIVE));
    for infinite in ["Infinity", "infinity", "inf", "+Infinity"] {
        assert!(check(infinite, f64::INFINITY));
        assert!(!check(infinite, f64::MAX) && !check(infinite, f64::NEG_INFINITY));
    }
    assert!(!check("1e308", f64::INFINITY) && !check("1", f64::NAN) && !check("0", f64::NAN));
    assert!(right(Rule::Near, "NaN", Cell::Real(f64::NAN)).is_err());
    assert!(right(Rule::Near, "x", Cell::Real(0.0)).is_err());
}

#[test]
fn partitions_are_the_same_by_any_labels() {
    let check = |expected: &[u64], found: &[u64]| {
        let mut labels = Labels::default();
        let same = |(expected, found): (&u64, &u64)| {
            is_right(Rule::Partition, &mut labels, &expected.to_string(), Cell::Integer(*found))
        };
        expected.iter().zip(found).map(same).collect::<Result<Vec<_>, _>>().unwrap()
    };
    assert_eq!(check(&[5, 5, 6], &[0, 0, 2]), [true; 3]);
    assert_eq!(check(&[1, 2, 3], &[2, 3, 1]), [true; 3]);
    // Split, joined, and both at once.
    assert_eq!(check(&[5, 5, 6], &[0, 1, 2]), [true, false, true]);
    assert_eq!(check(&[5, 6, 6], &[0, 0, 0]), [true, false, false]);
    assert_eq!(check(&[1, 1, 2, 2], &[1, 2, 1, 2]), [true, false, false, true]);
}

/// Pseudo-random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % below
    }
}

/// A comparison in order, or by windows.
fn compare(
    table: &Table,
    rule: Rule,
    text: &str,
    window: Option<usize>,
) -> Result<Option<Comparison>, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reference");
    std::fs::write(&path, text).unwrap();
    let progress = Progress::new();
    let compare = Compare {
        table,
        reference: &path,
        rule,
        labels: Labels::default(),
        labels_max: 1000,
        missing: Missing::default(),
        found: Comparison::default(),
        phase: progress.phase("validate", Unit::Vertices, None),
        progress: &progress,
    };
    match window {
        None => compare.in_order(),
        Some(window) => compare.by_windows(window).map(Some),
    }
}

#[test]
fn comparisons_in_any_order_are_those_of_a_plain_one() {
    let mut random = Random(1);
    let mut kinds = BTreeSet::new();
    for _ in 0..400 {
        let count = 1 + random.below(40);
        let ids: BTreeSet<u64> = (0..count).map(|_| random.below(90)).collect();
        let vertices = VertexColumn::Integers(ids.iter().copied().collect());
        let values: BTreeMap<u64, u64> = ids.iter().map(|id| (*id, random.below(3))).collect();
        let data = ColumnData::U64(values.values().copied().collect());
        let table = Table { vertices, columns: vec![Column { name: "value".into(), data }] };
        let mut lines: Vec<(u64, u64)> = values.iter().map(|(id, value)| (*id, *value)).collect();
        let place = random.below(lines.len() as u64) as usize;
        match random.below(6) {
            0 => drop(lines.remove(place)),
            1 => lines.push(lines[place]),
            2 => lines.push((90 + random.below(5), 0)),
            3 => lines[place].1 += 1 + random.below(2),
            _ => {}
        }
        let is_sorted = random.below(2) == 0;
        if is_sorted {
            lines.sort_unstable();
        } else {
            (0..lines.len()).for_each(|at| lines.swap(at, random.below(at as u64 + 1) as usize));
        }
        let is_sorted = lines.windows(2).all(|pair| pair[0].0 <= pair[1].0);
        let text = lines.iter().fold(String::new(), |mut text, (id, value)| {
            writeln!(text, "{id} {value}").unwrap();
            text
        });

        // The plain comparison.
        let distinct: BTreeSet<u64> = lines.iter().map(|(id, _)| *id).collect();
        let fits = distinct == ids && lines.len() == ids.len();
        let mut wrong = lines.iter().filter(|(id, value)| values.get(id) != Some(value));
        let first = wrong.next().map(|(id, _)| *id);
        let differing = wrong.count() as u64 + u64::from(first.is_some());
        kinds.insert((fits, is_sorted, first.is_some()));

        for window in [None, Some(1), Some(7), Some(1000)] {
            match compare(&table, Rule::Exact, &text, window) {
                Ok(None) => assert!(window.is_none() && !is_sorted, "{text}"),
                Ok(Some(found)) => {
                    assert!(fits, "{text}");
                    let vertices = lines.len() as u64;
                    assert_eq!((found.vertices, found.differing), (vertices, differing));
                    // Windows meet vertices in another order than the reference has them.
                    assert_eq!(found.first.is_some(), first.is_some());
                    if window.is_none_or(|window| window == 1000) {
                        assert_eq!(found.first.map(|first| first.vertex), first);
                    }
                }
                Err(failure) => {
                    assert!(!fits && failure.code() == 65, "{text}{}", failure.message());
                }
            }
        }
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

#[test]
fn references_of_more_components_than_memory_are_refused() {
    let rows = 2 * PART_ROWS as u64;
    let data = ColumnData::Vertices((0..rows).collect());
    let columns = vec![Column { name: "component".into(), data }];
    let table = Table { vertices: VertexColumn::Range(0..rows), columns };
    let text = (0..rows).fold(String::new(), |mut text, id| {
        writeln!(text, "{id} {id}").unwrap();
        text
    });
    let refused = compare(&table, Rule::Partition, &text, None).unwrap_err();
    assert_eq!(refused.code(), 78, "{}", refused.message());
    assert!(compare(&table, Rule::Exact, &text, None).unwrap().unwrap().first.is_none());
}
