//! Graph that a command wants, and what is known of it before it is read.

use welter_engine::plan::{FrontierMode, IndexMode, Layout, Shape};
use welter_input::{ReadOptions, WeightChoice};
use welter_model::edges::{EdgeStream, Reading};

use crate::directions::Directions;
use crate::load::Source;

/// Graph that is wanted, and its purpose.
#[derive(Debug)]
pub(crate) struct GraphRequest<'a> {
    /// Where it is read from.
    pub(crate) source: &'a Source,
    /// Options by which its files are read.
    pub(crate) options: ReadOptions,
    /// Reading by which its edges make a graph. Whether that is undirected is stated by `options`
    /// or the inputs, and not here.
    pub(crate) reading: Reading,
    /// Directions in which its edges are read, over what is stated.
    pub(crate) ways: Directions,
    /// Layout of the program that is to be run on it.
    pub(crate) layout: Layout,
    /// Whether that looks at weights.
    pub(crate) weighs: bool,
    /// Mode by which the algorithm finds its edges, where it has a frontier.
    pub(crate) frontier: FrontierMode,
    /// Index by which it looks up single vertices.
    pub(crate) index: IndexMode,
    /// Whether it must be known which vertices edges leave and come to, as they were listed.
    pub(crate) ends: bool,
}

impl GraphRequest<'_> {
    /// Whether the graph keeps weights, of an input that has them or has none.
    pub(super) fn keeps_weights(&self, weighted: bool) -> bool {
        self.weighs && (self.reads_weights(weighted) || self.reading.makes_weights())
    }

    /// The shape of edges before they are ingested.
    pub(super) fn shape(&self, edges: &dyn EdgeStream, reading: Reading) -> Shape {
        Shape { weighted: self.keeps_weights(edges.weighted()), ..Shape::of(edges, reading) }
    }

    /// Reading of the edges of a graph that is stated to be undirected or not.
    pub(super) fn reading(&self, stated_undirected: bool) -> Reading {
        self.ways.of(self.reading, stated_undirected)
    }

    /// Whether weights are read. A generator makes some whether or not a program looks at them.
    pub(crate) fn reads_weights(&self, weighted: bool) -> bool {
        weighted && self.options.weight != WeightChoice::Ignore
    }
}
