//! Formats whose vertices are the numbers 1 to V: Matrix Market and DIMACS shortest paths.
//!
//! Ids that begin with 1 stay as they are, others are shifted so that the first is 1: the vertex 0
//! becomes 1. Numbers between the ids of a graph whose ids have gaps here and there become vertices
//! without edges. Ids that are sparse, and names, are refused, since no shift makes them numbers
//! from 1 to V.
//!
//! A row of a matrix is a source and a column a target. An undirected graph is a symmetric matrix
//! of which the lower triangle is written; DIMACS has arcs only, so it gets both.

use std::io::Write;

use welter_model::edges::Batch;

use super::id_view::IdView;
use super::list::Edges;
use super::text;
use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::Job;
use crate::text::{integer, weight};

/// Refuses ids that are no run of integers.
pub(super) fn check(edges: &Edges<'_>, name: &str) -> Result<(), OutputError> {
    let found = match edges.ids {
        IdView::Slots | IdView::Offset { .. } => return Ok(()),
        IdView::Integers(_) => "sparse ids",
        IdView::Names(_) => "names",
        IdView::TwoKinds(_) => "ids of two kinds",
    };
    let what = format!(
        "the format numbers vertices from 1 on without gaps, found {found}; \
         write one that keeps ids, such as TSV or Parquet"
    );
    Err(OutputError::unfit(name, what))
}

pub(super) fn write_matrix_market(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let slots = edges.slots(job)?;
    let field = if edges.weighted { "real" } else { "pattern" };
    let shape = if edges.undirected { "symmetric" } else { "general" };
    let header = format!(
        "%%MatrixMarket matrix coordinate {field} {shape}\n{slots} {slots} {}\n",
        edges.stream.edges()
    );
    text::write_runs(edges, sink, compression, &header, job, |run, line| {
        for (edge, pair) in run.pairs.iter().enumerate() {
            let [row, column] = *pair;
            let lower = [row.max(column), row.min(column)];
            ends(line, if edges.undirected { lower } else { *pair });
            if let Some(weights) = run.weights {
                line.push(b' ');
                weight(line, weights[edge]);
            }
            line.push(b'\n');
        }
    })
}

pub(super) fn write_dimacs(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let slots = edges.slots(job)?;
    let mut arcs = edges.stream.edges();
    if edges.undirected {
        edges.visit_all(job, |batch| {
            arcs += batch.pairs.iter().filter(|[source, target]| source != target).count() as u64;
            Ok(())
        })?;
    }
    let header = format!("p sp {slots} {arcs}\n");
    text::write_runs(edges, sink, compression, &header, job, |run, line| {
        for (edge, [source, target]) in run.pairs.iter().enumerate() {
            arc(line, [*source, *target], run, edge);
            if edges.undirected && source != target {
                arc(line, [*target, *source], run, edge);
            }
        }
    })
}

/// A line of DIMACS. An edge without a weight weighs 1.
fn arc(line: &mut Vec<u8>, pair: [u32; 2], run: Batch<'_>, edge: usize) {
    line.extend_from_slice(b"a ");
    ends(line, pair);
    line.push(b' ');
    weight(line, run.weights.map_or(1.0, |weights| weights[edge]));
    line.push(b'\n');
}

/// Both ends by their numbers.
fn ends(line: &mut Vec<u8>, [source, target]: [u32; 2]) {
    integer(line, u64::from(source) + 1);
    line.push(b' ');
    integer(line, u64::from(target) + 1);
}
