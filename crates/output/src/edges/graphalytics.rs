//! LDBC Graphalytics: `NAME.v` with the vertices, `NAME.e` with the edges, and `NAME.properties`
//! that says what they are.
//!
//! Ids are the integers that came in. All three files appear when the last of them is complete, the
//! one that names the others last.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use welter_objects::WriteRequests;

use super::id_view::IdView;
use super::list::Edges;
use super::text;
use crate::compression::Compression;
use crate::error::OutputError;
use crate::ordered::Job;
use crate::target::Target;
use crate::text::{hand_on_if_large, integer, write as write_text};

/// Vertices whose lines are made at once.
const BLOCK_SLOTS: u64 = 1 << 16;

/// Refuses names.
pub(super) fn check(edges: &Edges<'_>, name: &str) -> Result<(), OutputError> {
    if let IdView::Names(_) = edges.ids {
        let what = "LDBC Graphalytics has integer ids, found names; write TSV or Parquet";
        return Err(OutputError::unfit(name, what));
    }
    Ok(())
}

/// Writes the three files; `path` is that of the last.
pub(super) fn write(
    edges: &Edges<'_>,
    path: &Path,
    requests: WriteRequests,
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let Some(stem) = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else {
        let what = "expected the name of a file".to_owned();
        return Err(OutputError::Format { name: job.name.to_owned(), what });
    };
    let create = |path: &Path| Target::create(path, requests, job.progress);
    let mut vertices = create(&path.with_extension("v"))?;
    let mut arcs = create(&path.with_extension("e"))?;
    let mut properties = create(path)?;
    let written = write_all(edges, &stem, [&mut vertices, &mut arcs, &mut properties], job);
    Target::end_all([vertices, arcs, properties], written)
}

/// Writes vertices, edges, and what is to be said of both.
fn write_all(
    edges: &Edges<'_>,
    stem: &str,
    [vertices, arcs, properties]: [&mut Target; 3],
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let present = present(edges, job)?;
    let count = write_vertices(edges, present.as_deref(), vertices, job)?;
    text::write_runs(edges, arcs, Compression::None, "", job, |run, line| {
        text::lines(edges.ids, run, b' ', line);
    })?;
    let text = describe(edges, stem, count);
    properties.write_all(text.as_bytes()).map_err(|error| OutputError::write(job.name, error))
}

/// Slots that are vertices, a bit each; none where all are.
fn present(edges: &Edges<'_>, job: &Job<'_>) -> Result<Option<Vec<u64>>, OutputError> {
    if edges.all_present {
        return Ok(None);
    }
    let mut bits = vec![0_u64; edges.slots(job)?.div_ceil(64) as usize];
    edges.visit_all(job, |batch| {
        for slot in batch.pairs.as_flattened() {
            bits[*slot as usize / 64] |= 1 << (slot % 64);
        }
        Ok(())
    })?;
    Ok(Some(bits))
}

/// Writes the vertices and says how many there are.
fn write_vertices(
    edges: &Edges<'_>,
    present: Option<&[u64]>,
    target: &mut Target,
    job: &Job<'_>,
) -> Result<u64, OutputError> {
    let slots = edges.slots(job)?;
    let is_vertex =
        |slot: u64| present.is_none_or(|bits| bits[(slot / 64) as usize] >> (slot % 64) & 1 == 1);
    let blocks = slots.div_ceil(BLOCK_SLOTS);
    write_text(job, target, Compression::None, &[], blocks, |block, index, turn| {
        let first = index * BLOCK_SLOTS;
        for slot in (first..slots.min(first + BLOCK_SLOTS)).filter(|slot| is_vertex(*slot)) {
            integer(&mut block.text, edges.ids.integer(slot as u32));
            block.text.push(b'\n');
        }
        hand_on_if_large(block, turn)
    })?;
    let counted = |bits: &[u64]| bits.iter().map(|word| u64::from(word.count_ones())).sum();
    Ok(present.map_or(slots, counted))
}

/// Text of the properties.
fn describe(edges: &Edges<'_>, stem: &str, vertices: u64) -> String {
    let mut text = String::new();
    let mut say = |key: &str, value: &dyn std::fmt::Display| {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "graph.{stem}.{key} = {value}");
    };
    say("vertex-file", &format_args!("{stem}.v"));
    say("edge-file", &format_args!("{stem}.e"));
    say("meta.vertices", &vertices);
    say("meta.edges", &edges.stream.edges());
    say("directed", &!edges.undirected);
    if edges.weighted {
        say("edge-properties.names", &"weight");
        say("edge-properties.types", &"real");
    }
    text
}
