//! Writers of edge lists and of result tables.
