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
//! Tested by `bytes_do_not_depend_on_threads`, `nothing_is_left_behind_by_what_fails`,
//! `blocks_leave_in_order_and_in_pieces`, `vertices_are_written_as_their_ids` and
//! `a_kill_at_any_call_leaves_a_result_or_a_way_to_it`.
//!
//! # Example
//! A table of two vertices with names, as the command prints it:
//!
//! ```
//! use welter_model::table::{Column, ColumnData, Table, VertexColumn};
//! use welter_output::{TableFormat, write_table_to};
//! use welter_progress::Progress;
//!
//! let table = Table {
//!     vertices: VertexColumn::Names(["libc6", "vim"].into_iter().collect()),
//!     columns: vec![Column { name: "rank".into(), data: ColumnData::F64(vec![0.75, 0.25]) }],
//! };
//! let mut bytes = Vec::new();
//! write_table_to(&table, &mut bytes, "ranks", TableFormat::Csv, 1, &Progress::new())?;
//! assert_eq!(String::from_utf8(bytes)?, "vertex,rank\nlibc6,0.75\nvim,0.25\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    not(feature = "columnar"),
    expect(dead_code, reason = "batches are for files that are left out, and for callers")
)]

mod batches;
#[cfg(feature = "columnar")]
mod columnar;
mod compression;
mod destination;
mod edges;
mod error;
mod json;
mod names;
mod ordered;
#[cfg(feature = "columnar")]
mod parquet;
mod table;
mod target;
mod text;

pub use compression::Compression;
pub use destination::Destination;
pub use edges::{EdgeFormat, EdgeFormatOptions, write_edges, write_edges_to};
pub use error::OutputError;
pub use table::{
    TableBatches, TableFormat, TablePart, extension, write_table, write_table_part, write_table_to,
};
pub use target::{probe, sync_direct, write_file};
pub use welter_objects::WriteRequests;

/// Number of threads to write with; 0 stands for one a core.
fn thread_count(threads: usize) -> usize {
    if threads > 0 {
        return threads;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}
