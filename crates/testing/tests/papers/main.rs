//! The algorithms of the papers' evaluations against references, on every executor.
//!
//! A binary of its own, because each program is compiled for every route.
//!
//! - `hyperball`: estimates against searches from every vertex, within their standard error, and
//!   against mathematics where they are exact.

mod hyperball;
