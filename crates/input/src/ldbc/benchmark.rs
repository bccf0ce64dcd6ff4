//! Data sets of the LDBC Graphalytics benchmark: what their properties say of the algorithms.
//!
//! ```text
//! graph.NAME.algorithms = bfs, pr
//! graph.NAME.bfs.source-vertex = 1                a parameter of an algorithm
//! graph.NAME.pr.num-iterations = 10
//! ```
//!
//! NAME is that of the key `graph.NAME.vertex-file`. Outputs are called by it, so it may not lead
//! to another folder.

use super::properties::{Properties, plain_name, properties};
use crate::error::InputError;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::source::Source;

/// A data set.
#[derive(Debug)]
pub struct Benchmark {
    file: String,
    name: String,
    properties: Properties,
}

impl Benchmark {
    /// Reads the properties of a data set.
    ///
    /// # Errors
    /// When the file cannot be read, or has no properties of a graph.
    pub fn open(file: &str) -> Result<Self, InputError> {
        let source = Source::open(file, Some(Format::LdbcProperties))?;
        let properties = properties(&source, &ReadOptions::default())?;
        let name = properties.entries.iter().find_map(|entry| entry.key.strip_suffix(VERTEX_FILE));
        let Some(name) = name.and_then(plain_name) else {
            let what = "expected the key graph.NAME.vertex-file, NAME being that of the graph";
            return Err(InputError::content(file, what));
        };
        Ok(Self { file: file.to_owned(), name, properties })
    }

    /// The files that it is read from, which are there: properties, edges and vertices.
    ///
    /// # Errors
    /// When one is not (66), or the properties do not name it (65).
    pub fn files(&self) -> Result<[String; 3], InputError> {
        let source = Source::open(&self.file, Some(Format::LdbcProperties))?;
        let (edges, vertices) = self.properties.files(&source)?;
        Ok([source, edges, vertices].map(|source| source.name().to_owned()))
    }

    /// Whether a file has the properties of a data set: in a folder there may be others.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_one(file: &str) -> Result<bool, InputError> {
        let source = Source::open(file, None)?;
        let sample = crate::head::sample(&source, &ReadOptions::default().limits)?;
        let says = memchr::memmem::find(&sample.bytes, VERTEX_FILE.as_bytes()).is_some();
        Ok(source.format() == Format::LdbcProperties && says)
    }

    /// The name of the graph.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether edges go one way, where it is stated.
    pub fn directed(&self) -> Option<bool> {
        self.properties.directed
    }

    /// Vertices and edges, where both are stated.
    pub fn counts(&self) -> Option<(u64, u64)> {
        self.properties.vertices.zip(self.properties.edges)
    }

    /// The algorithms that are to be run, in order, as `parse` reads them.
    ///
    /// # Errors
    /// When none are stated, or `parse` refuses one, saying what it expected.
    pub fn algorithms<T>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, InputError> {
        let (line, value) = self.find("algorithms")?;
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        let parse = |name| {
            let what = || format!("expected the name of an algorithm, found \"{name}\"");
            parse(name).ok_or_else(|| self.error(line, what()))
        };
        names.map(parse).collect()
    }

    /// A parameter such as `bfs.source-vertex`, as `parse` reads it.
    ///
    /// # Errors
    /// When it is not stated, or `parse` refuses it, saying what it expected.
    pub fn parameter<T>(
        &self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, InputError> {
        let (line, value) = self.find(key)?;
        parse(value).map_err(|what| {
            let name = &self.name;
            self.error(line, format!("{what} for graph.{name}.{key}, found \"{value}\""))
        })
    }

    fn find(&self, key: &str) -> Result<(u64, &str), InputError> {
        let own = format!("{}.{key}", self.name);
        // The last one counts, as of all properties.
        let found = self.properties.entries.iter().rfind(|entry| entry.key == own);
        found.map(|entry| (entry.line, &*entry.value)).ok_or_else(|| {
            let what = format!("expected the key graph.{}.{key}, found none", self.name);
            InputError::content(&self.file, what)
        })
    }

    fn error(&self, line: u64, what: String) -> InputError {
        InputError::Line { file: self.file.clone(), line, what }
    }
}

/// End of the key that names the file of vertices.
const VERTEX_FILE: &str = ".vertex-file";
