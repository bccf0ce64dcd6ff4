//! Ingest, plan, kernels and schedules of one machine.
//!
//! Data flows one way: an edge stream is surveyed, its edges are binned by tile, sorted and written
//! into chunks ([`ingest`](Graph::ingest)); iterations fold the chunks of one stripe of
//! destinations after the other into accumulators that never leave the cache ([`run()`]).
//!
//! A program is compiled into a *kernel*, an object that is called for a tile, a segment of
//! vertices or a run of records, over columns of bytes; schedules decide which edges meet which
//! columns, and are compiled once.
//!
//! Invariants:
//! - One stripe belongs to one thread at a time: no atomic operation and no lock on the path of an
//!   edge.
//! - A destination meets its updates in the order of their sources, and totals are merged by fixed
//!   segments of vertices, so results are bit-identical for any number of threads, any widths and
//!   any encoding.
//! - Nothing here knows a socket. Files are volumes, which hold slabs of bytes, and beside them
//!   what [`kept`] writes.
//!
//! Tested by `every_task_is_done_once`, `the_order_of_sums_is_as_stated`, `spmv_of_merged_edges`
//! and `every_task_gives_the_same_bits_as_in_memory`.
//!
//! # Example
//! Four edges are ingested and ranked. The *plan* says beforehand what that takes of the machine,
//! and is refused where it does not fit; [`Workers`] are its threads.
//!
//! ```
//! use welter_algorithms::{PageRank, pagerank::Dangling};
//! use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! use welter_engine::{Graph, Machine, Workers, run};
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::ids::IdMap;
//! use welter_model::program::Value;
//! use welter_model::table::ColumnData;
//! use welter_progress::Progress;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [3, 0]]);
//! let reading = Reading::default();
//!
//! let layout = Layout::of::<PageRank<f64>>();
//! let shape = Shape::of(&edges, reading);
//! let plan = Plan::new(shape, layout, &Settings::default(), &Machine::detect())?;
//!
//! let workers = Workers::new(plan.premises.threads)?;
//! let progress = Progress::new();
//! let edges = Box::new(edges);
//! let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! assert_eq!((graph.vertices(), graph.edges()), (4, 4));
//!
//! let program = PageRank::<f64>::new(4, 0.85, 200, 0.0, Dangling::Spread);
//! let outcome = run(&graph, &program, &workers, &progress)?;
//! assert_eq!(outcome.iterations, 200);
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("rank", ColumnData::F64(ranks)) = &columns[0] else { panic!("{columns:?}") };
//! // Nothing points at vertex 3, and all that it has goes to vertex 0.
//! assert!((ranks[3] - 0.15 / 4.0).abs() < 1e-12);
//! assert!(ranks[0] > ranks[1] && ranks[1] > ranks[2] && ranks[2] > ranks[3]);
//! assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(hidden)]
pub mod benching;
#[doc(hidden)]
pub mod fuzzing;
pub mod kept;
pub mod plan;

mod checkpoint;
mod columns;
mod edges;
mod error;
mod footprints;
mod ingest;
mod kernels;
mod machine;
mod schedules;
mod units;

pub use checkpoint::{
    CheckpointOptions, CheckpointStats, Checkpoints, Every, PART_BYTES as CHECKPOINT_PART_BYTES,
};
pub use columns::chunks;
pub use columns::levels::{IterationStats, Mode};
pub use columns::outcome::Outcome;
pub use columns::results::Values;
pub use edges::graph::Graph;
pub use edges::weights::WeightSum;
pub use error::EngineError;
pub use kernels::vertices::Vertices;
pub use machine::arena::Buffer;
pub use machine::dispatch::dispatched;
pub use machine::figures::{Machine, resident_bytes_max};
pub use machine::meter;
pub use machine::storage::Storage;
pub use machine::throughput::Throughput;
pub use machine::trim::{keep_little, trim};
pub use machine::workers::Workers;
pub use schedules::input_scan::{count, pass_over};
pub use schedules::intersect::intersect;
pub use schedules::pass::{StreamOutcome, pass, pass_resumable};
pub use schedules::peel::peel;
pub use schedules::run::{extend, extend_resumable, run, run_resumable};
pub use schedules::steps::Generation;
