//! The id of one vertex, as it came in.

/// The id of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Id<'a> {
    /// An integer.
    Integer(u64),
    /// A string.
    Name(&'a str),
    /// A number of vertices that are all alike.
    Others(u64),
}

impl Id<'_> {
    /// The id, if it is an integer.
    pub fn integer(self) -> Option<u64> {
        if let Self::Integer(id) = self { Some(id) } else { None }
    }
}
