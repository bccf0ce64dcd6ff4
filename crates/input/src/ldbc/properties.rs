//! The properties of an LDBC Graphalytics graph: which files it has, and what they hold.
//!
//! ```text
//! # a comment
//! graph.NAME.vertex-file = NAME.v
//! graph.NAME.edge-file = NAME.e
//! graph.NAME.directed = false
//! graph.NAME.meta.vertices = 9                    checked against what is found, like meta.edges
//! graph.NAME.edge-properties.names = weight       columns of the edges from the third on
//! ```
//!
//! All other keys are for running algorithms ([`super::benchmark`]). The two files lie in the
//! folder of the properties, compressed or not; names that lead elsewhere are refused.

use std::path::Path;

use super::{existing, headless, open};
use crate::collect::Collector;
use crate::error::InputError;
use crate::format::Format;
use crate::head::Head;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::tables::ColumnRef;
use crate::text::TextReader;
use crate::words::show;

/// The reader of graphs by their properties.
pub(crate) struct LdbcProperties;

/// Lines of a file of properties.
#[derive(Debug, Default)]
pub(super) struct Properties {
    pub(super) vertex_file: Option<String>,
    edge_file: Option<String>,
    pub(super) directed: Option<bool>,
    pub(super) vertices: Option<u64>,
    pub(super) edges: Option<u64>,
    columns: Vec<String>,
    /// Properties in their order.
    pub(super) entries: Vec<Entry>,
}

/// A property of a graph.
#[derive(Debug)]
pub(super) struct Entry {
    /// Line, counted from 1.
    pub(super) line: u64,
    /// Without `graph.`.
    pub(super) key: String,
    pub(super) value: String,
}

impl Reader for LdbcProperties {
    fn id_kind(&self, source: &Source, context: &Context<'_>) -> Result<IdKind, InputError> {
        let properties = properties(source, context.options)?;
        let (edges, _) = properties.files(source)?;
        TextReader.id_kind(&edges, context)
    }

    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let properties = properties(source, context.options)?;
        let (edges, vertices) = properties.files(source)?;
        let stored = [&edges, &vertices].map(|source| source.bytes().unwrap_or(0));
        context.phase.set_total(stored.iter().sum());
        if let Some(directed) = properties.directed {
            collector.state_undirected(!directed);
        }
        let weight = properties.weight(source, context.options)?;
        let options = ReadOptions { weight, ..context.options.clone() };
        let context = Context { options: &options, ..*context };
        let found = super::edges(&edges, Some(&vertices), &context, collector)?;
        let pairs = [
            ("vertices", properties.vertices, found.vertices.filter(|count| *count > 0)),
            ("edges", properties.edges, Some(found.edges)),
        ];
        for (things, stated, found) in pairs {
            if let (Some(stated), Some(found)) = (stated, found)
                && stated != found
            {
                let what = format!("expected {stated} {things}, as it states, found {found}");
                return Err(InputError::content(source.name(), what));
            }
        }
        Ok(())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let properties = properties(source, options)?;
        let (edges, vertices) = properties.files(source)?;
        let weight = properties.weight(source, options)?;
        let options = ReadOptions { weight, ..options.clone() };
        let estimate = TextReader.estimate(&edges, &headless(&options))?;
        Ok(Estimate {
            bytes: edges.bytes().zip(vertices.bytes()).map(|(edges, vertices)| edges + vertices),
            undirected: properties.directed.map(|directed| !directed),
            ..estimate
        })
    }
}

/// Reads the properties.
pub(super) fn properties(source: &Source, options: &ReadOptions) -> Result<Properties, InputError> {
    let sample = crate::head::sample(source, &options.limits)?;
    let mut head = Head::new(source.name(), &sample);
    let mut properties = Properties::default();
    while let Some(line) = head.next() {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() || text.starts_with(['#', '!']) {
            continue;
        }
        let wrong = || head.error(format!("expected KEY = VALUE, found {}", show(line)));
        let (key, value) = text.split_once(['=', ':']).ok_or_else(wrong)?;
        let (key, value) = (key.trim(), value.trim());
        properties.take(key, value).map_err(|what| head.error(what))?;
        if let Some(key) = key.strip_prefix("graph.") {
            let (line, key, value) = (head.line(), key.to_owned(), value.to_owned());
            properties.entries.push(Entry { line, key, value });
        }
    }
    if !sample.whole {
        return Err(head.error("expected the end of the properties, found too many"));
    }
    Ok(properties)
}

impl Properties {
    /// Takes one of them, if it is about the files.
    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        let Some(rest) = key.strip_prefix("graph.") else { return Ok(()) };
        let wrong = |expected: &str| {
            format!("expected {expected} for {key}, found {}", show(value.as_bytes()))
        };
        let count = || value.parse().map(Some).map_err(|_| wrong("a number"));
        let has = |end: &str| rest.strip_suffix(end).is_some_and(|name| !name.is_empty());
        if has(".vertex-file") {
            self.vertex_file = Some(plain_name(value).ok_or_else(|| wrong("the name of a file"))?);
        } else if has(".edge-file") {
            self.edge_file = Some(plain_name(value).ok_or_else(|| wrong("the name of a file"))?);
        } else if has(".directed") {
            self.directed = Some(value.parse().map_err(|_| wrong("true or false"))?);
        } else if has(".meta.vertices") {
            self.vertices = count()?;
        } else if has(".meta.edges") {
            self.edges = count()?;
        } else if has(".edge-properties.names") {
            let names = value.split(',').map(|name| name.trim().to_owned());
            self.columns = names.filter(|name| !name.is_empty()).collect();
        }
        Ok(())
    }

    /// Opens the files of edges and of vertices.
    pub(super) fn files(&self, source: &Source) -> Result<(Source, Source), InputError> {
        let folder = source.path().parent().unwrap_or(Path::new(""));
        let file = |name: &Option<String>, key: &str| {
            let Some(name) = name else {
                let what = format!("expected the key graph.NAME.{key}, found none");
                return Err(InputError::content(source.name(), what));
            };
            let path = folder.join(name);
            open(&existing(&path)?.unwrap_or(path))
        };
        Ok((file(&self.edge_file, "edge-file")?, file(&self.vertex_file, "vertex-file")?))
    }

    /// The weights by the number of their column.
    fn weight(&self, source: &Source, options: &ReadOptions) -> Result<WeightChoice, InputError> {
        let number = |place: usize| WeightChoice::Column(ColumnRef::Number(place + 3));
        let place = |name: &str| self.columns.iter().position(|column| column == name);
        match &options.weight {
            WeightChoice::Column(ColumnRef::Name(name)) => {
                place(name).map(number).ok_or_else(|| {
                    let columns = self.columns.join(", ");
                    let what = format!(
                        "expected a weight column \"{name}\", found the properties: {columns}"
                    );
                    InputError::content(source.name(), what)
                })
            }
            WeightChoice::IfPresent if self.columns.is_empty() => Ok(WeightChoice::Ignore),
            WeightChoice::IfPresent => Ok(number(place("weight").unwrap_or(0))),
            stated => Ok(stated.clone()),
        }
    }
}

/// A name that leads to no other folder.
pub(super) fn plain_name(name: &str) -> Option<String> {
    let elsewhere = name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with("..");
    (!elsewhere && name != ".").then(|| name.to_owned())
}

/// Reads properties that are no file; what they lead to is not looked at.
pub(crate) fn read_for_fuzzing(bytes: &[u8]) {
    let options = ReadOptions::default();
    let Ok(source) = Source::held("fuzz", bytes, Format::LdbcProperties) else { return };
    if let Ok(read) = properties(&source, &options) {
        let names = [&read.vertex_file, &read.edge_file];
        assert!(names.iter().copied().flatten().all(|name| !name.contains('/')));
    }
}
