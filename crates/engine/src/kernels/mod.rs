//! Kernels: loops over the edges of a tile, over runs of keys and over update records.
//!
//! | file | what it has |
//! |---|---|
//! | `keys`, `record` | keys of edges, checked against the columns that they index; raw pairs |
//! | `seam`, `shape` | kernels as schedules see them: objects with widths and capabilities |
//! | `folded`, `extension` | kernels of fold programs and of extended ones |
//! | `stream`, `streaming` | kernels of stream programs as passes see them, and those |
//! | `kernel`, `gather` | updates of a tile, folded into accumulators |
//! | `apply`, `endpoints` | values that an iteration makes; edges that look at both of their ends |
//! | `scatter`, `sink` | updates that wait, and the places where they do |
//! | `groups`, `records` | updates by destination; updates that are about to be written |
//! | `scan`, `buckets` | kernels of input scans, and updates by range of slots |
//! | `filter` | edges of a tile that a predicate selects |
//! | `pairs`, `bits` | edges of the input that one selects, and bits of states |
//! | `changes` | blocks of vertices in which a pass changes something |
//! | `triangles` | kernels of programs over triangles |
//! | `radix` | records in the order of their keys |
//! | `update_chunk` | updates as they wait on storage or travel |
//! | `vertices`, `cuts` | numbers of vertices; where the matrix of edges is cut |
//! | `layout` | widths of these cuts, and how keys are encoded in chunks |
//!
//! Nothing here knows where a tile comes from, a plan, a run or another thread: functions over
//! buffers, generic in the program, and objects over bytes. Kernels of stream programs have the
//! state of all vertices too, which any thread may change.
//!
//! Uses: `machine`.
//!
//! Invariant: a key is checked against the columns that it indexes before it indexes them. Tested
//! by `a_run_is_kept_exactly_if_none_of_its_keys_leads_outside` and
//! `keys_that_lead_outside_are_errors`.

pub(crate) mod apply;
pub(crate) mod bits;
pub(crate) mod buckets;
pub(crate) mod changes;
pub(crate) mod cuts;
pub(crate) mod endpoints;
pub(crate) mod extension;
pub(crate) mod filter;
pub(crate) mod folded;
pub(crate) mod gather;
pub(crate) mod groups;
pub(crate) mod kernel;
pub(crate) mod keys;
pub(crate) mod layout;
pub(crate) mod pairs;
pub(crate) mod radix;
pub(crate) mod record;
pub(crate) mod records;
pub(crate) mod scan;
pub(crate) mod scatter;
pub(crate) mod seam;
pub(crate) mod shape;
pub(crate) mod sink;
pub(crate) mod stream;
pub(crate) mod streaming;
pub(crate) mod triangles;
pub(crate) mod update_chunk;
pub(crate) mod vertices;
