//! Readers and generators of edge lists.

pub mod generate;
