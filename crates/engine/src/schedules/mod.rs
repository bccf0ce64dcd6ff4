//! Schedules: in which order edges and vertices are visited, and by which worker.
//!
//! | file | what it visits |
//! |---|---|
//! | `run` | chooses the schedule that the plan names |
//! | `dense` | stripe after stripe, accumulators in the cache (route `fold`) |
//! | `ranges`, `spill` | windows of sources; updates through storage |
//! | `lane` | edges of extended programs, with their states |
//! | `iterations`, `context` | the loop of a run, and what all schedules are given |
//! | `traversal`, `sparse`, `push`, `pull` | few active vertices, through an index |
//! | `group_by_rows` | group programs whose vertices look their neighbours up |
//! | `frontier`, `updated`, `access_path` | active vertices, and how their edges are found |
//! | `async_relax`, `relax_blocks`, `block_adjacency` | blocks relaxed until nothing changes |
//! | `steps` | the loop of a stream program |
//! | `pass`, `input_scan` | passes over the edges, over a graph and over its input |
//! | `limit` | more iterations than any graph takes |
//! | `intersect`, `peel` | adjacency lists: triangles and core numbers |
//!
//! Nothing here knows a file format or an option of the command.
//!
//! Uses: `checkpoint`, `columns`, `edges`, `footprints`, `ingest`, `kernels`, `machine`, `plan`.
//!
//! Invariant: results have the same bits for any number of workers and any widths. Tested by
//! `the_order_of_sums_is_as_stated`, `spmv_of_merged_edges` and
//! `every_task_gives_the_same_bits_as_in_memory`.

pub(crate) mod access_path;
pub(crate) mod async_relax;
pub(crate) mod block_adjacency;
pub(crate) mod context;
pub(crate) mod dense;
pub(crate) mod edge_fold;
pub(crate) mod frontier;
pub(crate) mod group_by_rows;
pub(crate) mod input_scan;
pub(crate) mod intersect;
pub(crate) mod iterations;
pub(crate) mod lane;
pub(crate) mod limit;
pub(crate) mod pass;
pub(crate) mod peel;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod ranges;
pub(crate) mod relax_blocks;
pub(crate) mod run;
pub(crate) mod sparse;
pub(crate) mod spill;
pub(crate) mod steps;
pub(crate) mod traversal;
pub(crate) mod updated;
