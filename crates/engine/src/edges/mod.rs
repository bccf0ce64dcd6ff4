//! Edges: tiles in chunks in slabs, in memory or on storage, and how they are found.
//!
//! | file | what it has |
//! |---|---|
//! | `graph` | a graph: its plan, its chunks, its degrees |
//! | `tile_writer_config`, `tiles` | edges in chunks |
//! | `slab_packer`, `slab_location`, `compact` | chunks in slabs, and where slabs lie |
//! | `framing`, `frames` | how chunks are compressed on storage, and the ways there and back |
//! | `bin_pages`, `bins`, `skewed_bins`, `pieces` | edges on their way to tiles |
//! | `out_edges`, `keeper` | edges of an input that are kept while it is read |
//! | `read_ahead` | chunks of some stripes in order, read ahead from storage |
//! | `sound` | whether edges that were kept lead to vertices |
//! | `values` | a number or record a vertex on storage, by stripe: degrees, and what columns have |
//! | `source_index`, `index` | where the edges of few sources lie in tiles |
//! | `rows`, `row_layout`, `weights` | adjacency lists, and how they are made; sums of weights |
//!
//! Nothing here knows a program, what a vertex's values mean, or an iteration.
//!
//! Uses: `footprints`, `kernels`, `machine`, `plan`.
//!
//! Invariant: a chunk never changes once it is written. Tested by
//! `chunks_hold_what_they_held_after_they_moved`.

pub(crate) mod bin_pages;
pub(crate) mod bins;
pub(crate) mod compact;
pub(crate) mod frames;
pub(crate) mod framing;
pub(crate) mod graph;
pub(crate) mod index;
pub(crate) mod keeper;
pub(crate) mod out_edges;
pub(crate) mod pieces;
pub(crate) mod read_ahead;
pub(crate) mod row_layout;
pub(crate) mod rows;
pub(crate) mod skewed_bins;
pub(crate) mod slab_location;
pub(crate) mod slab_packer;
pub(crate) mod sound;
pub(crate) mod source_index;
pub(crate) mod tile_writer_config;
pub(crate) mod tiles;
pub(crate) mod values;
pub(crate) mod weights;
