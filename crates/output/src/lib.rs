//! Writers of result tables and of edge lists.
//!
//! ```text
//! Table ───────► blocks of rows ──┐                                      ┌─► file (temporary name,
//!                                 ├─► make in parallel ─► hand on in order    renamed at the end)
//! EdgeStream ──► parts, batches ──┘   (text, records, row groups)        └─► any `Write`
//! ```
//!
//! Invariants: the bytes written do not depend on the number of threads · a file appears under its
//! name when it is complete, and not at all when writing fails or is cancelled (`target`) ·
//! memory is bounded by a few blocks a thread, whatever the size of a part (`ordered`) · the ids
//! written are those that came in · when a file was written, it and its name are on the device.

mod columnar;
mod compression;
mod edges;
mod error;
mod json;
mod names;
mod ordered;
mod place;
mod table;
mod target;
mod text;

pub use compression::Compression;
pub use edges::{EdgeFormat, EdgeFormatOptions, write_edges, write_edges_to};
pub use error::OutputError;
pub use place::Place;
pub use table::{TableBatches, TableFormat, write_table, write_table_to};
pub use target::{probe, sync_direct, write_file};

/// Number of threads to write with; 0 stands for one a core.
fn thread_count(threads: usize) -> usize {
    if threads > 0 {
        return threads;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}
