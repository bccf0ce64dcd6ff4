//! Rates as a document, for programs.

use std::path::PathBuf;

use serde::Serialize;
use welter_store::probe::{Rate, RequestLimit};

use super::measured::Measured;
use crate::failure::Failure;

/// Document of all targets.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    targets: Vec<Target<'a>>,
}

/// A target that was measured.
#[derive(Serialize)]
struct Target<'a> {
    directories: &'a [PathBuf],
    direct: bool,
    seconds: f64,
    read: Vec<Entry>,
    write: Vec<Entry>,
    best_read: Option<Entry>,
    best_write: Option<Entry>,
    /// Of small reads, one at a time.
    first_byte_seconds: f64,
    first_byte_seconds_99: f64,
    read_limit: Option<Limit>,
    write_limit: Option<Limit>,
    /// Whether a kept graph keeps it.
    kept: bool,
}

/// A [`Rate`] in the document.
#[derive(Serialize)]
struct Entry {
    request_bytes: u32,
    depth: u32,
    bytes_per_second: f64,
    requests_per_second: f64,
    processor_share: f64,
    processor_seconds_per_gb: f64,
}

/// Requests a second that are a limit.
#[derive(Serialize)]
struct Limit {
    requests_per_second: f64,
    up_to_bytes: u32,
}

impl From<&Rate> for Entry {
    fn from(rate: &Rate) -> Self {
        let Rate { request_bytes, depth, bytes_per_second, processor_share } = *rate;
        Self {
            request_bytes,
            depth,
            bytes_per_second,
            requests_per_second: rate.requests_per_second(),
            processor_share,
            processor_seconds_per_gb: rate.processor_seconds(),
        }
    }
}

impl From<RequestLimit> for Limit {
    fn from(limit: RequestLimit) -> Self {
        Self { requests_per_second: limit.per_second, up_to_bytes: limit.up_to_bytes }
    }
}

impl<'a> From<&'a Measured> for Target<'a> {
    fn from(measured: &'a Measured) -> Self {
        let Measured { directories, probe, latency, took, kept, .. } = measured;
        Self {
            directories,
            direct: probe.direct,
            seconds: took.as_secs_f64(),
            read: probe.read.iter().map(Entry::from).collect(),
            write: probe.write.iter().map(Entry::from).collect(),
            best_read: probe.best_read().as_ref().map(Entry::from),
            best_write: probe.best_write().as_ref().map(Entry::from),
            first_byte_seconds: latency.median.as_secs_f64(),
            first_byte_seconds_99: latency.late.as_secs_f64(),
            read_limit: probe.read_limit().map(Limit::from),
            write_limit: probe.write_limit().map(Limit::from),
            kept: *kept,
        }
    }
}

/// The document of all targets.
pub(super) fn document(measured: &[Measured]) -> Document<'_> {
    Document { targets: measured.iter().map(Target::from).collect() }
}

/// Text of the document of all targets.
pub(super) fn text(measured: &[Measured]) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(&document(measured))
        .map_err(|error| Failure::output(format!("cannot make JSON: {error}")))?;
    Ok(text + "\n")
}
