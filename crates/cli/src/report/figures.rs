//! Figures of the input, the graph and the plan of a run.

use welter_engine::Graph;
use welter_engine::plan::Plan;
use welter_store::frame::Compression;
use welter_store::header::Encoding;

use super::{File, GraphFigures, Input, PlanFigures};
use crate::readings;
use crate::session::Origin;

impl Input {
    pub(super) fn of(origin: &Origin) -> Self {
        let reading = |name: &str| origin.readings.iter().find(|file| file.name == name);
        let file = |(name, format): &(String, String)| File {
            name: name.clone(),
            format: format.clone(),
            reading: reading(name).map(readings::Figures::of),
        };
        Self {
            files: origin.files.iter().map(file).collect(),
            bytes: origin.bytes,
            bytes_per_edge: origin.bytes.map(|bytes| bytes as f64 / origin.edges.max(1) as f64),
            requests: origin.requests,
            edges: origin.edges,
            undirected: origin.undirected,
            reversed: origin.reversed,
            notes: origin.notes.clone(),
        }
    }
}

impl GraphFigures {
    pub(super) fn of(graph: &Graph) -> Self {
        Self {
            vertices: graph.all_vertices(),
            edges: graph.edges(),
            weighted: graph.plan().premises.shape.weighted,
            stripes: graph.stripes(),
            chunks: graph.chunks(),
            tiles: graph.tiles(),
            chunk_bytes: graph.chunk_bytes(),
            bytes_per_edge: graph.chunk_bytes() as f64 / graph.edges().max(1) as f64,
        }
    }
}

impl PlanFigures {
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            route: plan.route(),
            threads: plan.premises.threads,
            encoding: match plan.premises.edges.encoding {
                Encoding::Packed => "packed",
                Encoding::Short => "short",
                Encoding::Compressed => "compressed",
                Encoding::Pairs => "pairs",
            },
            compression: compression(plan),
            stripe_bits: plan.premises.edges.stripe_bits,
            block_bits: plan.premises.edges.block_bits,
            budget_bytes: plan.premises.budget_bytes,
            memory_bytes: plan.memory.peak(),
            requests: plan.requests().map(Into::into),
            in_flight_bytes: plan.in_flight(),
        }
    }
}

/// Name of the compression of what is on storage, if there is one.
fn compression(plan: &Plan) -> Option<&'static str> {
    let compression = plan.premises.edges.compression;
    (plan.storage().is_some() && compression != Compression::None).then(|| compression.name())
}
