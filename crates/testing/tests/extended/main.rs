//! Programs whose edges have state, on every route: against the interpreter, to the bit.
//!
//! The program is [`welter_testing::hashed`], which notices any edge that is shown otherwise.
//!
//! - `answers`: random graphs on all executors, and graphs with more than one of everything that a
//!   route goes by.
//!
//! Not shown here: what a run takes of memory and storage, and devices that fail (`storage`,
//! `storage_budget`), and beliefs (`papers`).

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
