//! Edge lists as SNAP text, TSV, CSV and JSON lines.

use std::io::Write;

use welter_model::edges::Batch;

use super::format::EdgeFormat;
use super::id_view::IdView;
use super::list::Edges;
use crate::compression::Compression;
use crate::error::OutputError;
use crate::json;
use crate::ordered::Job;
use crate::text;

/// Edges between two looks at the size of a block.
const RUN_EDGES: usize = 1 << 16;

/// Refuses names that would not read back as one column: SNAP text knows no quotes.
pub(super) fn check_snap(edges: &Edges<'_>, name: &str) -> Result<(), OutputError> {
    if let IdView::TwoKinds(ids) = edges.ids {
        if !ids.are_names() {
            return Ok(());
        }
        let what = "names of two kinds of vertices are not for SNAP text; write TSV or CSV";
        return Err(OutputError::unfit(name, what));
    }
    let IdView::Names(names) = edges.ids else { return Ok(()) };
    let unfit = |id: &&str| {
        id.is_empty() || id.contains([' ', '\t', '\n', '\r', '"']) || id.starts_with(['#', '%'])
    };
    match names.iter().find(unfit) {
        None => Ok(()),
        Some(id) => {
            let what = format!(
                "the name {id:?} is empty, begins like a comment, or holds white space or quotes, \
                 for which SNAP text has no notation; write TSV or CSV"
            );
            Err(OutputError::unfit(name, what))
        }
    }
}

pub(super) fn write(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    format: EdgeFormat,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let separator = if format == EdgeFormat::Csv { b',' } else { b'\t' };
    write_runs(edges, sink, compression, &header(edges, format), job, |run, text| {
        lines(edges.ids, run, separator, text);
    })
}

/// Writes a header, and the lines that `append` makes of each run of edges.
pub(super) fn write_runs(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    header: &str,
    job: &Job<'_>,
    append: impl Fn(Batch<'_>, &mut Vec<u8>) + Sync,
) -> Result<(), OutputError> {
    let parts = edges.stream.parts() as u64;
    text::write(job, sink, compression, header.as_bytes(), parts, |block, part, turn| {
        edges.visit(part, job, |batch| {
            for start in (0..batch.pairs.len()).step_by(RUN_EDGES) {
                let end = batch.pairs.len().min(start + RUN_EDGES);
                let weights = batch.weights.map(|weights| &weights[start..end]);
                let run = Batch { pairs: &batch.pairs[start..end], weights };
                append(run, &mut block.text);
                job.phase.add(run.pairs.len() as u64);
                text::hand_on_if_large(block, turn)?;
            }
            Ok(())
        })
    })
}

/// Writes a JSON object a line.
pub(super) fn write_json(
    edges: &Edges<'_>,
    sink: &mut (dyn Write + Send),
    compression: Compression,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let keys = json::keys(["source", "target", "weight"].into_iter());
    write_runs(edges, sink, compression, "", job, |run, text| {
        for (edge, ends) in run.pairs.iter().enumerate() {
            for (key, end) in keys.iter().zip(ends) {
                text.extend_from_slice(key);
                edges.ids.append_json(text, *end);
            }
            if let Some(weights) = run.weights {
                text.extend_from_slice(&keys[2]);
                match weights[edge] {
                    weight if weight.is_finite() => text::weight(text, weight),
                    _ => text.extend_from_slice(json::NULL),
                }
            }
            text.extend_from_slice(b"}\n");
        }
    })
}

fn header(edges: &Edges<'_>, format: EdgeFormat) -> String {
    let titles: &[&str] =
        if edges.weighted { &["source", "target", "weight"] } else { &["source", "target"] };
    match format {
        EdgeFormat::Csv => format!("{}\n", titles.join(",")),
        EdgeFormat::Tsv => format!("{}\n", titles.join("\t")),
        _ => format!("# Edges: {}\n# {}\n", edges.stream.edges(), titles.join("\t")),
    }
}

pub(super) fn lines(ids: IdView<'_>, batch: Batch<'_>, separator: u8, text: &mut Vec<u8>) {
    match ids {
        IdView::Slots => {
            rows(batch, separator, text, |text, slot| text::integer(text, slot.into()));
        }
        IdView::Offset { .. } | IdView::Integers(_) => {
            rows(batch, separator, text, |text, slot| text::integer(text, ids.integer(slot)));
        }
        IdView::TwoKinds(_) => {
            rows(batch, separator, text, |text, slot| ids.append(text, slot, separator));
        }
        IdView::Names(names) => rows(batch, separator, text, |text, slot| {
            text::name(text, names.get(slot as usize), separator);
        }),
    }
}

fn rows(batch: Batch<'_>, separator: u8, text: &mut Vec<u8>, id: impl Fn(&mut Vec<u8>, u32)) {
    for (edge, [source, target]) in batch.pairs.iter().enumerate() {
        id(text, *source);
        text.push(separator);
        id(text, *target);
        if let Some(weights) = batch.weights {
            text.push(separator);
            text::weight(text, weights[edge]);
        }
        text.push(b'\n');
    }
}
