//! The crate `graph` 0.3: the fastest loader among those that a package manager installs.
//!
//! It has no reader of raw pairs, so these are read as fast as plain code can and handed over as
//! the list that its own text reader makes. Its PageRank is f32, writes new ranks over old ones
//! within an iteration (Gauss-Seidel: after few iterations its ranks differ from those of all
//! others and are nearer to the limit), drops the rank of sinks and counts every id up to the
//! largest as a vertex. It runs on all cores that the calling thread may use;
//! [`crate::system::Pinned`] says on how many.

use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use graph::page_rank::{PageRankConfig, page_rank};
use graph::prelude::edgelist::EdgeList;
use graph::prelude::{CsrLayout, DirectedCsrGraph, EdgeListInput, Graph as _, GraphBuilder};
use graph::sssp::{DeltaSteppingConfig, delta_stepping};
use graph::wcc::{Components as _, WccConfig, wcc_afforest_dss};

use super::pairs::PairFile;

/// A graph as the crate holds it.
pub(crate) struct Peer {
    graph: DirectedCsrGraph<u32>,
}

impl Peer {
    /// Loads raw pairs. `sorted`: rows are sorted, which costs time now and saves some later.
    pub(crate) fn from_raw(path: &Path, sorted: bool) -> Result<Self> {
        let pairs = PairFile::open(path)?.collect(|[source, target]| (source, target, ()))?;
        let layout = if sorted { CsrLayout::Sorted } else { CsrLayout::Unsorted };
        Ok(Self { graph: DirectedCsrGraph::from((EdgeList::new(pairs), layout)) })
    }

    /// Loads text with the crate's own reader.
    pub(crate) fn from_text(path: &Path) -> Result<Self> {
        let graph = GraphBuilder::new()
            .csr_layout(CsrLayout::Unsorted)
            .file_format(EdgeListInput::default())
            .path(path)
            .build()
            .with_context(|| format!("loading {} with the crate `graph`", path.display()))?;
        Ok(Self { graph })
    }

    /// Number of ids, which is what ranks are divided by.
    pub(crate) fn ids(&self) -> u64 {
        self.graph.node_count().into()
    }

    /// Ranks of all ids after `iterations` iterations.
    pub(crate) fn ranks(&self, damping: f64, iterations: usize) -> Vec<f32> {
        page_rank(&self.graph, PageRankConfig::new(iterations, 0.0, damping as f32)).0
    }

    /// Seconds of each iteration but the first, which is timed together with setting up.
    pub(crate) fn times(&self, damping: f64, iterations: usize) -> Vec<f64> {
        STARTED.call_once(|| {
            if log::set_logger(&STAMPS).is_ok() {
                log::set_max_level(log::LevelFilter::Info);
            }
        });
        STAMPS.take();
        self.ranks(damping, iterations + 1);
        let stamps = STAMPS.take();
        stamps.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
    }
}

impl Peer {
    /// A component of each id, by the crate's fastest way.
    pub(crate) fn components(&self) -> Vec<u32> {
        wcc_afforest_dss(&self.graph, WccConfig::default()).to_vec()
    }
}

/// A graph with weights as the crate holds it.
pub(crate) struct WeightedPeer {
    graph: DirectedCsrGraph<u32, (), f32>,
}

impl WeightedPeer {
    /// Loads raw pairs and gives each a weight.
    pub(crate) fn from_raw(path: &Path, weight: impl Fn([u32; 2]) -> f32 + Sync) -> Result<Self> {
        let pairs = PairFile::open(path)?.collect(|pair| (pair[0], pair[1], weight(pair)))?;
        let graph = DirectedCsrGraph::from((EdgeList::new(pairs), CsrLayout::Sorted));
        Ok(Self { graph })
    }

    /// Distances from an id, with buckets of this width.
    pub(crate) fn distances(&self, source: usize, bucket: f32) -> usize {
        delta_stepping(&self.graph, DeltaSteppingConfig::new(source, bucket)).len()
    }
}

/// The crate says in its log when an iteration ends; nothing else of it is of interest.
struct Stamps(Mutex<Vec<Instant>>);

static STAMPS: Stamps = Stamps(Mutex::new(Vec::new()));
static STARTED: Once = Once::new();

impl Stamps {
    fn take(&self) -> Vec<Instant> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl log::Log for Stamps {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "graph::page_rank"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        }
    }

    fn flush(&self) {}
}
