//! Footprints: bytes that rooms take beside edges and values, and constants that buffers are made
//! by.
//!
//! | file | whose buffers |
//! |---|---|
//! | `edges` | bins, tiles, chunks and their index, slabs in flight |
//! | `columns` | windows, pieces, accumulators, updates on storage |
//! | `ingest` | bins in groups, marks, degrees, records that are sorted |
//! | `schedules` | rows, lists of vertices, parts that are relaxed, rows that travel |
//!
//! Plans are made of these, and owners of buffers make them by these, so they lie below both.
//!
//! Nothing here knows a buffer, a graph or a plan: functions of numbers.
//!
//! Uses: `kernels`, `machine`.
//!
//! Invariant: a size is stated once, for the plan and for the buffer. Tested by
//! `no_run_takes_more_than_its_plan_says`.

pub(crate) mod columns;
pub(crate) mod edges;
pub(crate) mod ingest;
pub(crate) mod schedules;
