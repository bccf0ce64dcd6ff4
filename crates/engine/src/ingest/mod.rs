//! Ingest: from a stream of edges to a graph of tiles.
//!
//! | file | what it has |
//! |---|---|
//! | `survey`, `marks` | a sample of the edges; which slots are vertices |
//! | `partition` | edges to the bins of their tiles |
//! | `build` | bins to tiles, chunks and slabs |
//! | `target` | how fast the bucket is that a kept graph goes to |
//! | `input` | graphs that stay in their input: the first reading of it |
//!
//! Nothing here knows a program.
//!
//! Uses: `edges`, `footprints`, `kernels`, `machine`, `plan`.
//!
//! Invariant: every edge of the stream is in one tile; of edges that are not merged, counts before
//! and after are compared. Asserted in `write_tiles`. Tested by `every_reading_is_what_a_map_says`.

pub(crate) mod build;
pub(crate) mod input;
pub(crate) mod marks;
pub(crate) mod partition;
pub(crate) mod survey;
pub(crate) mod target;
