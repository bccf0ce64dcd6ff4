//! Questions of a host to machines about the result, and their answers.

use welter_protocol::Payload;

/// Question to a machine about the part of the result that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// All of it.
    Vertices,
    /// The chunk of a partition.
    Chunk(u32, u64),
    /// To write it, durable and without names.
    Write,
    /// To name what it wrote.
    Name,
}

/// Piece of an answer to that.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A chunk, by its partition and place in it.
    Part((u32, u64), Payload),
    /// A chunk was written, in this number of rows.
    Rows((u32, u64), u64),
    /// This was all.
    End,
}
