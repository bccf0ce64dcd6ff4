//! Readers and generators of edge lists.
