//! Rows below a first one that may count them: read without it, and it is put in front of them if
//! it turns out to be an edge.
//!
//! Invariant: it is decided what the first row was once all others were read, and not before.
//! Checked in `Counting::finish`.

use std::sync::atomic::{AtomicU64, Ordering};

use super::dialect::Dialect;
use super::lines::Lines;
use super::parse::Fault;
use super::records::RecordEnd;
use super::rows::Rows;
use super::with_counts::Counted;
use crate::collect::{Collector, DeclaredVertices};
use crate::error::InputError;

/// Reads rows with regard to a first one that may count, which is on a line of this number.
pub(super) fn read(
    file: &str,
    line: u64,
    dialect: &Dialect,
    collector: &Collector,
    rows: impl FnOnce(&dyn Lines) -> Result<(), InputError>,
) -> Result<(), InputError> {
    if dialect.counted == Counted::No {
        return rows(dialect);
    }
    let counting = Counting::new(file, dialect);
    counting.state(collector)?;
    rows(&counting)?;
    counting.finish(file, line, collector)
}

/// Rows after a first one that counts.
struct Counting<'a> {
    file: &'a str,
    dialect: &'a Dialect,
    rows: AtomicU64,
    max: AtomicU64,
}

impl<'a> Counting<'a> {
    fn new(file: &'a str, dialect: &'a Dialect) -> Self {
        Self { file, dialect, rows: AtomicU64::new(0), max: AtomicU64::new(0) }
    }

    /// States, before reading, what the first row says.
    fn state(&self, collector: &Collector) -> Result<(), InputError> {
        if let Counted::Graph { vertices, undirected, .. } = self.dialect.counted {
            collector.state(DeclaredVertices::Range { first: 1, count: vertices })?;
            collector.state_undirected(undirected);
        }
        Ok(())
    }

    /// Decides, after reading, what the first row was.
    fn finish(self, file: &str, line: u64, collector: &Collector) -> Result<(), InputError> {
        let (rows, max) = (self.rows.into_inner(), self.max.into_inner());
        let counted = self.dialect.counted;
        match counted {
            Counted::Graph { edges, .. } if edges != rows => {
                let what = format!("expected {edges} edges, as the first row says, found {rows}");
                Err(InputError::content(file, what))
            }
            Counted::Perhaps(sizes) if counted.holds(rows, max) => {
                collector.note(&format!(
                    "the first row, {}, is taken for the numbers of vertices and edges and not for \
                     an edge (--no-header makes it one)",
                    sizes.shown()
                ));
                Ok(())
            }
            Counted::Perhaps(sizes) => {
                let edge = counted.edge(&self.dialect.known, self.dialect.weighted());
                let wrong = |what| InputError::Line { file: file.to_owned(), line, what };
                if sizes.count(rows, max) {
                    collector.note(&format!(
                        "the first row, {}, is read as an edge, though it may count vertices and \
                         edges (--header leaves it out)",
                        sizes.shown()
                    ));
                }
                edge.map_err(wrong)?.map_or(Ok(()), |edge| collector.push(0, edge))
            }
            Counted::No | Counted::Graph { .. } => Ok(()),
        }
    }
}

impl Lines for Counting<'_> {
    fn start(&self) -> usize {
        self.dialect.start
    }

    fn cut(&self) -> RecordEnd {
        self.dialect.cut
    }

    fn rows(&self) -> Rows {
        self.dialect.rows()
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        self.dialect.line(line, cut, rows)
    }

    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        self.dialect.parse(text, rows)
    }

    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let part = rows.into_part();
        let more = part.ids.len() as u64;
        let rows = self.rows.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        if let Counted::Graph { edges, .. } = self.dialect.counted
            && rows > edges
        {
            let what = format!("expected {edges} edges, as the first row says, found more");
            return Err(InputError::content(self.file, what));
        }
        self.max.fetch_max(part.ids.max(), Ordering::Relaxed);
        // The first row may yet become part 0.
        collector.push(number + 1, part)
    }
}
