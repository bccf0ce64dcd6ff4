//! Columns of vertices of two kinds, by their names.

use super::names::plain;
use crate::options::{IdKind, ReadOptions};

/// Pairs whose columns hold vertices of two kinds, each likely to be numbered by itself.
const TWO_KINDS: &[(&str, &str)] = &[
    ("user", "item"),
    ("user", "movie"),
    ("user", "product"),
    ("user", "artist"),
    ("user", "book"),
    ("user", "group"),
    ("customer", "product"),
    ("reviewer", "product"),
    ("author", "paper"),
    ("actor", "movie"),
    ("drug", "target"),
    ("order", "product"),
];

/// Note for a person where both ends are numbers and their names are those of two kinds of
/// vertices, unless the user says which kinds there are.
pub(crate) fn one_kind_note(ends: [&str; 2], ids: IdKind, options: &ReadOptions) -> Option<String> {
    let bare = |name: &str| {
        let plain = plain(name);
        plain.strip_suffix("id").unwrap_or(&plain).trim_end_matches('_').to_owned()
    };
    let [source, target] = ends.map(bare);
    let two = |(one, other): &(&str, &str)| {
        (source == *one && target == *other) || (source == *other && target == *one)
    };
    let guessed = options.two_kinds.is_none() && ids == IdKind::Integers;
    (guessed && TWO_KINDS.iter().any(two)).then(|| {
        format!(
            "a number in {:?} and the same number in {:?} are one vertex (--bipartite: two, of two \
             kinds)",
            ends[0], ends[1]
        )
    })
}
