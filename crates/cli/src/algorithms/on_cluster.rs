//! Programs as a cluster runs them: workers of machines, and columns of what these have made.

use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_engine::chunks::{FoldKernel, Kernel};
use welter_model::contract::Contract;
use welter_model::program::{Program, Value};
use welter_model::table::{Column, Columns};
use welter_protocol::config::Edges;
use welter_worker::{ContractWorker, Input, KernelWorker, Partitioning, Worker};

use crate::failure::Failure;
use crate::top::Top;

/// Makes the worker of a machine, for a graph of this number, that reads this share of it.
type MakeWorker = Box<dyn Fn(Partitioning, u64, Box<dyn Input>) -> Box<dyn Worker>>;

/// Makes a note of columns of so many rows, and of the decision after the last iteration.
type Note = Box<dyn Fn(&dyn Columns, usize, &[u8]) -> Result<Option<String>, Failure>>;

/// Program for a cluster, without its types.
pub(crate) struct ClusterProgram {
    /// Bytes of a vertex as machines store it, its value first.
    pub(crate) vertex_bytes: u64,
    /// Treatment of edges while they stream.
    pub(crate) edges: Edges,
    /// Makes workers.
    pub(crate) worker: MakeWorker,
    /// Part of the table that is shown.
    pub(crate) top: Top,
    /// Note for a person about columns of so many rows, and the decision after the last iteration.
    pub(crate) note: Note,
    columns: fn(&[u8], usize) -> Vec<Column>,
}

impl ClusterProgram {
    /// A fold program.
    pub(super) fn fold<P: Program + Send + 'static>(program: P, top: Top, note: Note) -> Self {
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(program)));
        Self {
            vertex_bytes: KernelWorker::vertex_bytes(&kernel),
            edges: Edges::Fixed,
            worker: Box::new(move |cut, graph, input| {
                Box::new(KernelWorker::new(kernel.clone(), cut, graph, input))
            }),
            top,
            note,
            columns: columns::<P::Value>,
        }
    }

    /// A program that contracts a graph whose edges go both ways and whose vertices have a loop.
    pub(super) fn contracting<C: Contract + Send + 'static>(
        program: C,
        top: Top,
        note: Note,
    ) -> Self {
        let program = Arc::new(program);
        Self {
            vertex_bytes: size_of::<C::Value>() as u64,
            edges: Edges::Contracted,
            worker: Box::new(move |cut, graph, input| {
                Box::new(ContractWorker::new(program.clone(), cut, graph, input))
            }),
            top,
            note,
            columns: columns::<C::Value>,
        }
    }

    /// Whether it contracts.
    pub(crate) fn contracts(&self) -> bool {
        self.edges == Edges::Contracted
    }

    /// The columns of all vertices, as machines stored them.
    pub(crate) fn columns(&self, vertices: &[u8]) -> Vec<Column> {
        (self.columns)(vertices, self.vertex_bytes as usize)
    }
}

fn columns<V: Value>(vertices: &[u8], stride: usize) -> Vec<Column> {
    let values = vertices.chunks_exact(stride);
    let values: Vec<V> =
        values.map(|vertex| pod_read_unaligned(&vertex[..size_of::<V>()])).collect();
    let columns = V::columns(&values).into_iter();
    columns.map(|(name, data)| Column { name: name.to_owned(), data }).collect()
}
