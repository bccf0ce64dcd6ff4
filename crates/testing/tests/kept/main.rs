//! Kept graphs: the same answers as from memory, and damage of any kind found and named.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod answers;
mod damage;
mod disks;
mod faults;
mod golden;
mod parts;
mod readings;

use std::path::PathBuf;

use welter_engine::kept::{self, KeepOptions, KeptGraph, Manifest};
use welter_engine::plan::{Layout, Plan, Settings, Shape};
use welter_engine::{EngineError, Graph};
use welter_model::edges::{EdgeList, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::program::Program;
use welter_progress::Progress;
use welter_store::io::IoOptions;
use welter_testing::executors::{Folder, MACHINE, workers};

/// A graph as an input hands it over.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) list: EdgeList,
    pub(crate) ids: IdMap,
    pub(crate) reading: Reading,
    pub(crate) settings: Settings,
    /// Bytes from which on a column lies on all disks, where that is not as usual.
    pub(crate) parts_from: Option<u64>,
}

impl Input {
    /// Some edges whose ends and weights depend on the seed alone.
    pub(crate) fn random(slots: u32, edges: usize, weighted: bool, seed: u64) -> Self {
        let mut state = seed;
        let mut random = move |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
            (state >> 33) as u32 % below
        };
        let mut list = EdgeList::new(Some(slots.into()), weighted);
        for _ in 0..8 {
            let pairs: Vec<_> = (0..edges / 8).map(|_| [random(slots), random(slots)]).collect();
            let weights = pairs.iter().map(|pair| f64::from(pair[0] % 50) / 7.0);
            let weights = if weighted { weights.collect() } else { Vec::new() };
            list.push(pairs, weights);
        }
        let settings = Settings { threads: Some(2), ..Settings::default() };
        let (ids, reading) = (IdMap::Same, Reading::default());
        Self { list, ids, reading, settings, parts_from: None }
    }

    fn shape(&self) -> Shape {
        Shape {
            slots: self.list.slots().unwrap(),
            edges: self.list.edges() * if self.reading.undirected { 2 } else { 1 },
            weighted: self.list.weighted() || self.reading.makes_weights(),
            estimated: false,
            input_bytes: 0,
        }
    }

    /// Keeps it.
    pub(crate) fn keep(
        &self,
        directory: PathBuf,
        io: &IoOptions,
        graph: Option<u64>,
    ) -> Result<Manifest, EngineError> {
        self.keep_on(directory, vec![], io, graph)
    }

    /// Keeps it over several disks.
    pub(crate) fn keep_on(
        &self,
        directory: PathBuf,
        disks: Vec<PathBuf>,
        io: &IoOptions,
        graph: Option<u64>,
    ) -> Result<Manifest, EngineError> {
        let settings = kept::settings(&self.settings);
        let plan = Plan::new(self.shape(), Layout::kept(), &settings, &MACHINE)?;
        let (parts_from, io) = (self.parts_from, io.clone());
        let options = KeepOptions { directory, disks, parts_from, io, target: None, graph };
        let list: Box<dyn EdgeStream> = Box::new(self.list.clone());
        let workers = workers(plan.premises.threads);
        kept::keep(list, &self.ids, self.reading, &plan, &options, workers, &Progress::new())
            .map(|(manifest, _)| manifest)
    }

    /// Keeps it in a folder, which must work, and opens that.
    pub(crate) fn kept(&self, folder: &Folder) -> KeptGraph {
        self.keep(folder.graph(), &IoOptions::default(), None).unwrap();
        KeptGraph::open(&folder.graph(), &IoOptions::default()).unwrap()
    }

    /// Reads it into memory for a program.
    pub(crate) fn held<P: Program>(&self) -> Graph {
        let plan = Plan::new(self.shape(), Layout::of::<P>(), &self.settings, &MACHINE).unwrap();
        let list: Box<dyn EdgeStream> = Box::new(self.list.clone());
        let workers = workers(plan.premises.threads);
        Graph::ingest(list, &self.ids, self.reading, &plan, workers, &Progress::new()).unwrap()
    }
}

/// Opens a kept graph for a program.
pub(crate) fn loaded<P: Program>(
    kept: &KeptGraph,
    settings: &Settings,
) -> Result<Graph, EngineError> {
    let plan = kept.plan(Layout::of::<P>(), settings, &MACHINE)?;
    kept.load(&plan, workers(plan.premises.threads), &Progress::new())
}

/// Names of all files of a kept graph, relative to its directory.
pub(crate) fn files(kept: &KeptGraph) -> Vec<String> {
    let listed = kept.manifest().files.iter().map(|file| format!("gen-0/{}", file.name));
    ["manifest".to_owned()].into_iter().chain(listed).collect()
}
