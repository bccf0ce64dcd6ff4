//! The rules of LDBC Graphalytics: results compared with a reference, vertex by vertex.
//!
//! | rule      | a vertex is right where |
//! |-----------|-------------------------|
//! | exact     | found = expected        |
//! | near      | |found - expected| <= 0.0001 |expected|, and both are infinite or none is |
//! | partition | its found label goes with its expected one, and with no other, and the other way |
//!
//! A reference that is sorted by vertex, as most are, is read once beside the results, which are.
//! Of one that is not, it is read once for each window of results that a quarter of the memory
//! holds.
//!
//! Invariant: a comparison says that it met every vertex once on both sides, or it is an error.
//! Tested by `every_vertex_is_there_once`.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use welter_input::ldbc::outputs::Outputs;
use welter_model::spread::Spread;
use welter_model::table::{ColumnData, Columns, Id, Table, VertexColumn};
use welter_progress::{FailureKind, Phase, Progress, Unit};

use crate::failure::Failure;
use crate::parts::PART_ROWS;

/// Rule by which a result is compared with what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Values are the same.
    Exact,
    /// Values are the same but for a small share.
    Near,
    /// Labels may differ, and those of the same vertices are the same.
    Partition,
}

/// The share by which a result may be off.
const EPSILON: f64 = 1e-4;

/// The depth of what no path leads to.
const UNREACHED: u64 = i64::MAX as u64;

/// Memory that the two labels of a component take in both maps, at most.
const LABEL_BYTES: u64 = 96;

/// A comparison that met all vertices.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Comparison {
    pub(super) vertices: u64,
    /// Number of them that are not right.
    pub(super) differing: u64,
    /// The first of these in the order of the reference.
    pub(super) first: Option<Mismatch>,
    /// Times that a reference was read that is not sorted; 0 for one that is.
    pub(super) passes: u32,
}

/// A vertex that is not right.
#[derive(Debug, PartialEq)]
pub(super) struct Mismatch {
    pub(super) vertex: u64,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Compares results with a reference. `memory_bytes`: what the run may take.
///
/// # Errors
/// When a line of the reference is none, when it has not one line for each vertex (65), when either
/// cannot be read, or when labels do not fit in memory (78).
pub(super) fn validate(
    table: &Table<dyn Columns + '_>,
    rule: Rule,
    reference: &Path,
    memory_bytes: u64,
    progress: &Progress,
) -> Result<Comparison, Failure> {
    if let Some(all) = Spread::of(table) {
        return validate(&all, rule, reference, memory_bytes, progress);
    }
    let compare = |total| {
        let phase = progress.phase("validate", Unit::Vertices, Some(total));
        Compare {
            table,
            reference,
            rule,
            labels: Labels::default(),
            labels_max: memory_bytes / 4 / LABEL_BYTES,
            missing: Missing::default(),
            found: Comparison::default(),
            phase,
            progress,
        }
    };
    let rows = table.vertices.len();
    if let Some(found) = compare(rows as u64).in_order()? {
        return Ok(found);
    }
    // A value and a mark each, and the same once more while they are put together.
    let window = (memory_bytes / 4 / 17).max(PART_ROWS as u64) as usize;
    compare(rows.div_ceil(window) as u64 * rows as u64).by_windows(window)
}

/// A comparison under way.
struct Compare<'a> {
    table: &'a Table<dyn Columns + 'a>,
    reference: &'a Path,
    rule: Rule,
    labels: Labels,
    labels_max: u64,
    missing: Missing,
    found: Comparison,
    phase: Phase,
    progress: &'a Progress,
}

/// Vertices that the reference has no line of.
#[derive(Default)]
struct Missing {
    count: u64,
    first: Option<u64>,
}

impl Missing {
    fn add(&mut self, vertex: u64) {
        self.count += 1;
        self.first.get_or_insert(vertex);
    }
}

impl Compare<'_> {
    /// Reads both side by side; `None` where the reference is not sorted.
    fn in_order(mut self) -> Result<Option<Comparison>, Failure> {
        let mut outputs = Outputs::open(self.reference)?;
        let mut rows = Rows::new(self.table);
        let mut last = None;
        while let Some((vertex, expected)) = outputs.next_row()? {
            match last {
                Some(last) if vertex < last => return Ok(None),
                Some(last) if vertex == last => return Err(repeated(&outputs, vertex)),
                _ => last = Some(vertex),
            }
            while let Some(absent) = rows.peek()?.filter(|id| *id < vertex) {
                self.missing.add(absent);
                rows.next += 1;
            }
            if rows.peek()? != Some(vertex) {
                return Err(foreign(&outputs, vertex));
            }
            let cell = rows.cell();
            rows.next += 1;
            if let Err(what) = self.compare(vertex, expected, cell) {
                return Err(outputs.error(what).into());
            }
            self.pause()?;
        }
        while let Some(absent) = rows.peek()? {
            self.missing.add(absent);
            rows.next += 1;
        }
        self.end(0).map(Some)
    }

    /// Reads the reference once for each window of rows.
    fn by_windows(mut self, window: usize) -> Result<Comparison, Failure> {
        let rows = self.table.vertices.len();
        let mut passes = 0;
        for first in (0..rows).step_by(window) {
            self.window(first..rows.min(first + window))?;
            passes += 1;
        }
        self.end(passes)
    }

    fn window(&mut self, window: Range<usize>) -> Result<(), Failure> {
        let vertices = &self.table.vertices;
        let column = column(self.table, window.clone())?;
        let mut seen = vec![0_u64; window.len().div_ceil(64)];
        let mut outputs = Outputs::open(self.reference)?;
        while let Some((vertex, expected)) = outputs.next_row()? {
            let Some(row) = vertices.row(vertex) else { return Err(foreign(&outputs, vertex)) };
            if !window.contains(&row) {
                continue;
            }
            let place = row - window.start;
            let (word, bit) = (place / 64, 1 << (place % 64));
            if seen[word] & bit != 0 {
                return Err(repeated(&outputs, vertex));
            }
            seen[word] |= bit;
            let cell = cell(vertices, &column, place);
            if let Err(what) = self.compare(vertex, expected, cell) {
                return Err(outputs.error(what).into());
            }
            self.pause()?;
        }
        for (place, row) in window.enumerate() {
            if let (0, Id::Integer(vertex)) =
                (seen[place / 64] >> (place % 64) & 1, vertices.get(row))
            {
                self.missing.add(vertex);
            }
        }
        Ok(())
    }

    /// Compares a vertex; an error where what is expected is no value.
    fn compare(&mut self, vertex: u64, expected: &str, found: Cell) -> Result<(), String> {
        self.found.vertices += 1;
        if is_right(self.rule, &mut self.labels, expected, found)? {
            return Ok(());
        }
        self.found.differing += 1;
        self.found.first.get_or_insert_with(|| Mismatch {
            vertex,
            expected: expected.to_owned(),
            found: found.to_string(),
        });
        Ok(())
    }

    /// Now and then: shows how far it is, and ends where that is asked for.
    fn pause(&self) -> Result<(), Failure> {
        if !self.found.vertices.is_multiple_of(PART_ROWS as u64) {
            return Ok(());
        }
        self.phase.add(PART_ROWS as u64);
        if self.progress.cancelled() {
            return Err(Failure::new(FailureKind::Cancelled, "interrupted"));
        }
        if self.labels.found_of.len() as u64 > self.labels_max {
            let what =
                "the labels of the components do not fit in the memory that this run may use";
            return Err(Failure::new(FailureKind::Budget, what).hint("give it more with --memory"));
        }
        Ok(())
    }

    fn end(self, passes: u32) -> Result<Comparison, Failure> {
        if let Missing { count, first: Some(vertex) } = self.missing {
            let what = format!(
                "{}: expected a value for each vertex, found none for {count} of them, such as \
                 {vertex}",
                self.reference.display()
            );
            return Err(Failure::new(FailureKind::Input, what));
        }
        Ok(Comparison { passes, ..self.found })
    }
}

fn repeated(outputs: &Outputs, vertex: u64) -> Failure {
    outputs.error(format!("expected one line for each vertex, found {vertex} again")).into()
}

fn foreign(outputs: &Outputs, vertex: u64) -> Failure {
    outputs.error(format!("expected a vertex of the graph, found {vertex}, which is none")).into()
}

/// Rows in order, a part at a time.
struct Rows<'a> {
    table: &'a Table<dyn Columns + 'a>,
    next: usize,
    /// The part that lies here.
    part: Range<usize>,
    ids: Vec<u64>,
    column: ColumnData,
}

impl<'a> Rows<'a> {
    fn new(table: &'a Table<dyn Columns + 'a>) -> Self {
        Self { table, next: 0, part: 0..0, ids: Vec::new(), column: ColumnData::U64(Vec::new()) }
    }

    /// The vertex of the next row.
    fn peek(&mut self) -> Result<Option<u64>, Failure> {
        let rows = self.table.vertices.len();
        if self.next >= self.part.end && self.next < rows {
            self.part = self.next..rows.min(self.next + PART_ROWS);
            let ids = self.table.vertices.integers(self.part.clone());
            self.ids = ids.ok_or_else(|| Failure::bug("ids are no integers"))?.into_owned();
            self.column = column(self.table, self.part.clone())?;
        }
        Ok((self.next < rows).then(|| self.ids[self.next - self.part.start]))
    }

    /// Result of the vertex of the next row.
    fn cell(&self) -> Cell {
        cell(&self.table.vertices, &self.column, self.next - self.part.start)
    }
}

/// The first column of some rows.
fn column(table: &Table<dyn Columns + '_>, rows: Range<usize>) -> Result<ColumnData, Failure> {
    let columns = table.columns.part(rows).map_err(Failure::read)?;
    let first = columns.into_iter().next();
    Ok(first.ok_or_else(|| Failure::bug("a result has no column"))?.data)
}

/// A result.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Integer(u64),
    Real(f64),
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Real(value) if *value == f64::INFINITY => write!(f, "Infinity"),
            Self::Real(value) => write!(f, "{value:?}"),
        }
    }
}

/// A value as the benchmark has it.
fn cell(vertices: &VertexColumn, column: &ColumnData, place: usize) -> Cell {
    match column {
        ColumnData::F32(values) => Cell::Real(values[place].into()),
        ColumnData::F64(values) => Cell::Real(values[place]),
        ColumnData::U32(values) => Cell::Integer(values[place].into()),
        ColumnData::U64(values) => Cell::Integer(values[place]),
        ColumnData::I64(values) => Cell::Integer(values[place].try_into().unwrap_or(UNREACHED)),
        ColumnData::Vertices(values) => match vertices.get(values[place] as usize) {
            Id::Integer(id) => Cell::Integer(id),
            Id::Name(_) | Id::Others(_) => Cell::Real(f64::NAN),
        },
        _ => Cell::Real(f64::NAN),
    }
}

/// Labels that go together, both ways.
#[derive(Debug, Default)]
struct Labels {
    found_of: HashMap<u64, u64>,
    expected_of: HashMap<u64, u64>,
}

impl Labels {
    /// Whether two labels go with each other and with no others. Those that are met first do.
    fn go_together(&mut self, expected: u64, found: u64) -> bool {
        match (self.found_of.get(&expected), self.expected_of.get(&found)) {
            (None, None) => {
                self.found_of.insert(expected, found);
                self.expected_of.insert(found, expected);
                true
            }
            (known, other) => known == Some(&found) && other == Some(&expected),
        }
    }
}

/// Whether a result is right; an error where what is expected is no value.
fn is_right(rule: Rule, labels: &mut Labels, expected: &str, found: Cell) -> Result<bool, String> {
    if rule == Rule::Near {
        let expected = real(expected)?;
        return Ok(matches!(found, Cell::Real(found) if is_near(expected, found)));
    }
    let wrong = |_| format!("expected an integer as value, found {expected:?}");
    let expected: u64 = expected.parse().map_err(wrong)?;
    let Cell::Integer(found) = found else { return Ok(false) };
    if rule == Rule::Exact {
        return Ok(found == expected);
    }
    Ok(labels.go_together(expected, found))
}

/// A number that is expected, which may be infinite.
fn real(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| !number.is_nan());
    number.ok_or_else(|| format!("expected a number as value, found {text:?}"))
}

fn is_near(expected: f64, found: f64) -> bool {
    if expected.is_infinite() {
        return found.total_cmp(&expected).is_eq();
    }
    (found - expected).abs() <= EPSILON * expected.abs()
}
