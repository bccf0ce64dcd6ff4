//! Edges that were read once and are held for any number of runs, by a caller in this process.
//!
//! Their memory counts against the budget of every run on it, beside what that run takes.

use std::fmt;
use std::sync::Arc;

use welter_input::{
    Estimate, FileSummary, Frame, IdKind, ReadOptions, WeightBounds, WeightChoice, read_frame,
};
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};

use crate::failure::Failure;
use crate::loaded::Loaded;

/// Edges, and the way back to their ids.
pub(crate) struct InMemoryEdges {
    name: String,
    edges: Arc<dyn EdgeStream>,
    loaded: About,
    ids: IdMap,
}

/// Facts about edges beside themselves.
struct About {
    files: Vec<(String, String)>,
    readings: Vec<FileSummary>,
    bytes: Option<u64>,
    undirected: bool,
    notes: Vec<String>,
}

impl fmt::Debug for InMemoryEdges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} edges of {}", self.edges.edges(), self.name)
    }
}

impl InMemoryEdges {
    /// Keeps what was read.
    pub(crate) fn of(name: String, loaded: Loaded) -> Self {
        let Loaded { edges, ids, files, readings, bytes, undirected, notes } = loaded;
        let loaded = About { files, readings, bytes, undirected, notes };
        Self { name, edges: edges.into(), loaded, ids }
    }

    /// Reads a table that a caller has.
    pub(crate) fn read(
        frame: Frame,
        options: &ReadOptions,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let name = frame.name.clone();
        let ready = read_frame(frame, options, progress)?;
        let loaded = Loaded {
            edges: ready.edges,
            ids: ready.ids,
            files: vec![(name.clone(), "arrow".to_owned())],
            readings: ready.readings,
            bytes: None,
            undirected: options.undirected.or(ready.undirected).unwrap_or(false),
            notes: ready.notes,
        };
        Ok(Self::of(name, loaded))
    }

    /// The name that messages have for it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.edges.as_ref().resident_bytes() + self.ids.bytes()
    }

    /// Whether sources and targets are two kinds of vertices.
    pub(crate) fn has_two_kinds(&self) -> bool {
        matches!(self.ids, IdMap::TwoKinds(_))
    }

    /// Notes for a person about how it was read.
    pub(crate) fn notes(&self) -> &[String] {
        &self.loaded.notes
    }

    /// Readings of each file, or of the table.
    pub(crate) fn readings(&self) -> &[FileSummary] {
        &self.loaded.readings
    }

    /// The estimate before a run.
    pub(crate) fn estimate(&self, options: &ReadOptions) -> Estimate {
        let names = self.ids.are_names();
        Estimate {
            bytes: self.loaded.bytes,
            edges: Some(self.edges.edges()),
            exact: true,
            slots: self.edges.slots(),
            slots_seen: None,
            ids: if names { IdKind::Names } else { IdKind::Integers },
            weighted: self.edges.weighted(),
            undirected: options.undirected.or(Some(self.loaded.undirected)),
        }
    }

    /// The edges for one run.
    pub(crate) fn lend(&self, options: &ReadOptions) -> Result<Loaded, Failure> {
        if let WeightChoice::Column(column) = &options.weight {
            let what = format!("{}: columns were chosen when it was read: {column}", self.name);
            return Err(Failure::usage(what));
        }
        let weighs = options.weight != WeightChoice::Ignore && self.edges.weighted();
        if weighs && options.bounds() != WeightBounds::default() {
            self.refuse_beyond(options.bounds())?;
        }
        let About { files, bytes, undirected, .. } = &self.loaded;
        Ok(Loaded {
            edges: Box::new(Arc::clone(&self.edges)),
            ids: self.ids.clone(),
            files: files.clone(),
            readings: self.loaded.readings.clone(),
            bytes: *bytes,
            undirected: options.undirected.unwrap_or(*undirected),
            // The notes were said when it was read.
            notes: Vec::new(),
        })
    }

    /// Refuses a weight beyond bounds, with the edge that has it.
    fn refuse_beyond(&self, bounds: WeightBounds) -> Result<(), Failure> {
        let mut before = 0;
        for part in 0..self.edges.parts() {
            let mut beyond = None;
            let visit = &mut |batch: welter_model::edges::Batch<'_>| {
                let weights = batch.weights.unwrap_or(&[]);
                let found = weights.iter().position(|weight| !bounds.hold(*weight));
                beyond = found.map(|place| (before + place as u64 + 1, weights[place]));
                before += batch.pairs.len() as u64;
                beyond.is_none()
            };
            self.edges.read(part, visit).map_err(Failure::read)?;
            if let Some((number, weight)) = beyond
                && let Err(what) = bounds.check(weight, &weight)
            {
                return Err(Failure::new(
                    FailureKind::Input,
                    format!("{}: edge {number}: {what}", self.name),
                ));
            }
        }
        Ok(())
    }
}
