//! Tables of columns, and which of them are taken or refused.

use super::*;
use welter_progress::FailureKind;

fn column(name: Option<&'static str>, holds: Holds) -> Column<'static> {
    Column { name, holds, counts_rows: false }
}

/// `i`ntegers, `f`ractions, `n`ames, `o`thers, `c`ounting integers.
fn table(names: &[&'static str], kinds: &str) -> Vec<Column<'static>> {
    let of = |(place, kind): (usize, char)| {
        let holds = match kind {
            'f' => Holds::Numbers,
            'n' => Holds::Names,
            'o' => Holds::Others,
            'u' => Holds::Unknown,
            _ => Holds::Integers,
        };
        Column { counts_rows: kind == 'c', ..column(names.get(place).copied(), holds) }
    };
    kinds.chars().enumerate().map(of).collect()
}

fn weighing() -> ReadOptions {
    ReadOptions { weight: WeightChoice::IfPresent, ..ReadOptions::default() }
}

#[test]
fn columns_are_chosen_by_names_and_by_what_they_hold() {
    for (names, kinds, expected) in [
        (&["from", "to", "cost"][..], "iii", Some((0, 1, Some(2)))),
        (&[":START_ID(Body-ID)", "weight:int", ":END_ID(Body-ID)"], "iii", Some((0, 2, Some(1)))),
        (
            &["start_id", "start_vertex_type", "end_id", "end_vertex_type"],
            "inin",
            Some((0, 2, None)),
        ),
        (&["", "u", "v"], "cii", Some((1, 2, None))),
        (&["Unnamed: 0", "a", "b", "value"], "cnni", Some((1, 2, Some(3)))),
        (&["id", "from_user", "to_user", "amount"], "innf", Some((1, 2, Some(3)))),
        (&["id", "a", "b"], "cii", Some((1, 2, None))),
        (&["person", "friend", "since"], "nno", Some((0, 1, None))),
        (&["src", "dst", "year"], "iii", Some((0, 1, None))),
        (&["src", "dst", "q"], "iii", Some((0, 1, Some(2)))),
        (&["src", "dst", "length", "capacity"], "iiff", None),
        (&["src", "dst", "p", "q"], "iiff", None),
        (&["src", "dst", "length", "weight"], "iiff", Some((0, 1, Some(3)))),
        (&["id", "name"], "in", None),
        (&["id", "degree"], "ii", None),
        (&["id", "parent_id"], "ii", Some((0, 1, None))),
        (&["source", "target"], "in", None),
        (&["a", "b", "c"], "nnn", None),
        (&["lon", "lat"], "ff", None),
        (&[], "iif", Some((0, 1, Some(2)))),
        (&[], "iiio", Some((0, 1, Some(2)))),
        (&[], "iiii", Some((0, 1, Some(2)))),
        (&[], "iino", Some((0, 1, None))),
        (&[], "nni", Some((0, 1, Some(2)))),
        (&[], "nnn", None),
        (&[], "ini", None),
        (&[], "fii", None),
        (&["a", "b"], "uu", Some((0, 1, None))),
        (&["a", "b", "weight"], "uuu", Some((0, 1, Some(2)))),
    ] {
        let found = choose("f", &table(names, kinds), &weighing());
        let found = found.map(|chosen| chosen.columns);
        let columns = found.as_ref().ok().map(|found| (found.source, found.target, found.weight));
        assert_eq!(columns, expected, "{names:?} {kinds}: {found:?}");
        if let Err(error) = found {
            assert!(
                error.to_string().contains("--") && error.kind() == FailureKind::Input,
                "{error}"
            );
        }
    }
}

#[test]
fn what_the_user_says_decides() {
    let named = |name: &str| Some(ColumnRef::Name(name.into()));
    let triples = table(&["a", "b", "c"], "nnn");
    let options = ReadOptions { source: named("a"), target: named("c"), ..weighing() };
    let chosen = choose("f", &triples, &options).unwrap();
    assert_eq!((chosen.columns.source, chosen.columns.target), (0, 2));
    let options = ReadOptions { ids: IdKind::Names, ..weighing() };
    assert!(choose("f", &table(&["id", "name"], "in"), &options).is_ok());
    let names = ["id", "Source", "Target", "Weight"];
    let mut options = weighing();
    let columns = by_name("f", &names, &options).unwrap();
    assert_eq!(columns, Columns { source: 1, target: 2, weight: Some(3) });
    options.source = Some(ColumnRef::Number(1));
    options.weight = WeightChoice::Column(ColumnRef::Name("id".into()));
    let columns = by_name("f", &names, &options).unwrap();
    assert_eq!(columns, Columns { source: 0, target: 2, weight: Some(0) });
}

#[test]
fn a_missing_column_is_named_with_those_that_exist() {
    let options = ReadOptions { source: Some(ColumnRef::Name("x".into())), ..Default::default() };
    let error = by_name("f.csv", &["a", "b"], &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.csv: expected a source column \"x\", found the columns \"a\", \"b\""
    );
    assert!(by_name("f.csv", &["a"], &ReadOptions::default()).is_err());
    let error = choose("f", &table(&[], "ii"), &options).unwrap_err();
    assert_eq!(error.to_string(), "f: expected a source column named \"x\", found no header");
}
