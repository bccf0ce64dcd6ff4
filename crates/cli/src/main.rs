//! The welter command.
fn main() {}
