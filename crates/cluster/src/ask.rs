//! Questions of a host to machines about the result, and their answers.

use welter_protocol::Payload;

/// Question to a machine about the part of the result that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Question for all chunks of the machine.
    Vertices,
    /// Question for a chunk of a partition.
    Chunk(u32, u64),
    /// Request to write the part, durable and without names.
    Write,
    /// Request to name the files that the machine wrote.
    Name,
}

/// Piece of an answer to a question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A chunk, by its partition and place in it.
    Part((u32, u64), Payload),
    /// A chunk was written, in this number of rows.
    Rows((u32, u64), u64),
    /// End of the answer.
    End,
}
