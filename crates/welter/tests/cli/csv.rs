//! Rows of CSV as RFC 4180 has them, read by other code than the command's, and edges in them.

use std::collections::BTreeMap;

/// An edge of a graph as a test states it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edge {
    pub(crate) ends: [String; 2],
    pub(crate) weight: Option<f64>,
    pub(crate) undirected: bool,
}

/// The fields of each row.
pub(crate) fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => field.push(character),
        }
    }
    assert!(row.is_empty() && field.is_empty() && !quoted, "{text}");
    rows
}

/// The edges of a table with the columns source, target and, where there are weights, weight.
pub(crate) fn edges(text: &str, undirected: bool) -> Vec<Edge> {
    let table = rows(text);
    let (head, rows) = table.split_first().expect("a header");
    assert!(
        head[..] == ["source", "target"] || head[..] == ["source", "target", "weight"],
        "{text}"
    );
    let edge = |row: &Vec<String>| Edge {
        ends: [row[0].clone(), row[1].clone()],
        weight: row.get(2).map(|weight| weight.parse().unwrap()),
        undirected,
    };
    rows.iter().map(edge).collect()
}

/// Edges in an order that does not depend on how a file has them, ends without direction too.
pub(crate) fn sorted(edges: &[Edge]) -> Vec<Edge> {
    let mut edges = edges.to_vec();
    edges.iter_mut().filter(|edge| edge.undirected).for_each(|edge| edge.ends.sort());
    edges.sort_by(|a, b| {
        let weights = |edge: &Edge| edge.weight.unwrap_or(0.0);
        a.ends.cmp(&b.ends).then(weights(a).total_cmp(&weights(b)))
    });
    edges
}

/// The groups that a table of vertices and what each belongs to makes: `a b | c`.
pub(crate) fn groups(text: &str) -> String {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows(text).into_iter().skip(1) {
        let [vertex, group] = row.try_into().unwrap();
        groups.entry(group).or_default().push(vertex);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for vertices in &mut groups {
        vertices.sort();
    }
    groups.sort();
    groups.iter().map(|vertices| vertices.join(" ")).collect::<Vec<_>>().join(" | ")
}
