//! Vertices that a caller has in memory, beside the edges of a graph.

use welter_input::{Frame, ReadOptions};

use crate::args::InputArgs;
use crate::failure::Failure;

/// Tables of vertices, a row a vertex: those without edges exist too, whatever ids are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertices {
    /// Tables of all vertices; of the sources, where targets are another kind.
    pub listed: Vec<Frame>,
    /// Targets, where these are another kind than sources.
    pub targets: Vec<Frame>,
}

impl Vertices {
    /// Whether there is no table.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.targets.is_empty()
    }

    /// Adds the tables to what readers get.
    pub(super) fn put(self, options: &mut ReadOptions) {
        options.vertex_tables.frames.extend(self.listed);
        options.vertex_tables.target_frames.extend(self.targets);
    }

    /// Refuses tables beside a graph that has its own vertices: a kept or a generated one.
    pub(super) fn refuse_beside(&self, input: &InputArgs) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        let what = "is a graph that has its own vertices; leave --vertices out";
        Err(Failure::usage(format!("{}: {what}", input.shown().join(", "))))
    }
}
