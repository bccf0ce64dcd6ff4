//! Tables that a caller names or holds, and their columns as a person names them.

use std::fmt;
use std::str::FromStr;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// A column, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnRef {
    /// By its place, counted from 1 as `cut` and `awk` do.
    Number(usize),
    /// By its name in the header or schema.
    Name(String),
}

impl FromStr for ColumnRef {
    type Err = String;

    /// Digits are a number, anything else is a name.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<usize>() {
            Ok(0) => Err("columns are counted from 1".to_owned()),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) if text.is_empty() => Err("expected a column number or name".to_owned()),
            Err(_) => Ok(Self::Name(text.to_owned())),
        }
    }
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "\"{name}\""),
        }
    }
}

/// Columns of a table in memory, in batches.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Name that errors have for it.
    pub name: String,
    /// The columns of each batch.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

/// Tables of vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VertexTables {
    /// Paths, patterns, or `-` for standard input.
    pub files: Vec<String>,
    /// Tables that a caller holds.
    pub frames: Vec<Frame>,
    /// Files as `files`, of targets, where these are another kind than sources.
    pub target_files: Vec<String>,
    /// Tables as `frames`, of such targets.
    pub target_frames: Vec<Frame>,
    /// Column of the ids in all of them; `None` is the first.
    pub column: Option<ColumnRef>,
}

impl VertexTables {
    /// Whether there are no tables.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.frames.is_empty() && !self.of_targets()
    }

    /// Whether there are tables of targets.
    pub(crate) fn of_targets(&self) -> bool {
        !(self.target_files.is_empty() && self.target_frames.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_from_one() {
        assert_eq!("2".parse(), Ok(ColumnRef::Number(2)));
        assert_eq!("to".parse(), Ok(ColumnRef::Name("to".into())));
        assert!("0".parse::<ColumnRef>().is_err());
        assert!("".parse::<ColumnRef>().is_err());
    }
}
