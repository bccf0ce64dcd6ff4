//! The machine: its figures, memory, instructions and workers.
//!
//! | file | what it has |
//! |---|---|
//! | `figures`, `throughput` | cores, caches and memory; how fast cores and storage are |
//! | `arena`, `meter`, `trim` | buffers of huge pages, their bytes, what the allocator keeps |
//! | `advice` | huge pages for lists |
//! | `dispatch`, `nontemporal` | code for the processor that is found, stores past its cache |
//! | `storage` | slabs where memory does not suffice |
//! | `workers`, `per_worker`, `affinity` | threads that share work, the state and core of each |
//! | `slices`, `sync` | parts of slices, and locks, for workers |
//!
//! Nothing here knows an edge, a vertex, a program or a plan.
//!
//! Uses: nothing.
//!
//! Invariants: every buffer that grows with a graph comes from `arena` and is counted by `meter`;
//! work is shared by fork and join, so no thread outlives the call that started it. Tested by
//! `no_run_takes_more_than_its_plan_says` and `every_task_is_done_once`.

pub(crate) mod advice;
pub(crate) mod affinity;
pub(crate) mod arena;
pub(crate) mod dispatch;
pub(crate) mod figures;
pub mod meter;
pub(crate) mod nontemporal;
pub(crate) mod per_worker;
pub(crate) mod slices;
pub(crate) mod storage;
pub(crate) mod sync;
pub(crate) mod throughput;
pub(crate) mod trim;
pub(crate) mod workers;
