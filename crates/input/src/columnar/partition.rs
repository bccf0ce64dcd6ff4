//! Columns that stand in the path of a file: `edges/src=1/part.parquet` holds rows whose `src` is
//! 1, as Hive, Spark, Dask and others partition tables.
//!
//! Values of folders come behind the columns of the file, and where both have one name, that of the
//! file counts. A value that is written as its integer is printed is an integer, others are
//! strings; nothing of it is taken for an end or a weight but by its name.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::picked::Picked;
use crate::columns::names;
use crate::error::InputError;
use crate::options::ReadOptions;

/// Name that stands for a missing value.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";

/// The columns in the path of a file, from the outermost folder inwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathColumns(Vec<PathColumn>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathColumn {
    name: String,
    value: String,
}

impl PathColumns {
    /// The columns of a path, whose last part is the file.
    pub(crate) fn of(path: &Path) -> Self {
        let folders = path.parent().into_iter().flat_map(Path::iter);
        let columns = folders.filter_map(|folder| {
            let (name, value) = folder.to_str()?.split_once('=')?;
            let (name, value) = (decoded(name), decoded(value));
            (!name.is_empty()).then_some(PathColumn { name, value })
        });
        Self(columns.collect())
    }

    /// The name of a column that is surely an end of edges.
    pub(crate) fn end(&self) -> Option<&str> {
        self.0.iter().map(|column| &column.name[..]).find(|name| names::is_surely_end(name))
    }

    /// Leaves out columns that a file has itself, and adds the others to its schema.
    pub(crate) fn beside(&mut self, schema: &Schema) -> Schema {
        self.0.retain(|column| schema.field_with_name(&column.name).is_err());
        let fields = self.0.iter().map(|column| {
            Arc::new(Field::new(&column.name, column.kind(), column.value == MISSING))
        });
        Schema::new(schema.fields().iter().cloned().chain(fields).collect::<Vec<_>>())
    }

    /// Refuses what of a path was taken for an end though neither its name nor the user says so,
    /// and values that are missing.
    pub(crate) fn check(
        &self,
        file: &str,
        schema: &Schema,
        picked: &Picked,
        options: &ReadOptions,
    ) -> Result<(), InputError> {
        let ends = [picked.source, picked.target];
        let used = ends.into_iter().chain(picked.weight).filter_map(|place| {
            place.checked_sub(picked.stored).and_then(|place| self.0.get(place))
        });
        for PathColumn { name, value } in used {
            if value == MISSING {
                let what = format!("expected a value of \"{name}\" in the path, found a null");
                return Err(InputError::content(file, what));
            }
        }
        let is_stated = options.source.is_some() && options.target.is_some();
        let [source, target] = ends.map(|place| schema.field(place).name().as_str());
        let guessed = ends.iter().any(|place| *place >= picked.stored);
        if is_stated || !guessed || names::ends(&[source, target]).is_some() {
            return Ok(());
        }
        let what = format!(
            "expected a source and a target column, found \"{source}\" and \"{target}\", of which \
             one stands in the path (--source-column and --target-column say which they are)"
        );
        Err(InputError::content(file, what))
    }

    /// A column of the rows of a batch, which holds columns before that number of the file.
    pub(crate) fn column(&self, place: usize, stored: usize, batch: &RecordBatch) -> ArrayRef {
        match place.checked_sub(stored).and_then(|place| self.0.get(place)) {
            None => Arc::clone(batch.column(place)),
            Some(column) => column.array(batch.num_rows()),
        }
    }
}

impl PathColumn {
    /// The value as an integer, if it is written as one.
    fn integer(&self) -> Option<u64> {
        self.value.parse().ok().filter(|value: &u64| value.to_string() == self.value)
    }

    fn kind(&self) -> DataType {
        self.integer().map_or(DataType::Utf8, |_| DataType::UInt64)
    }

    fn array(&self, rows: usize) -> ArrayRef {
        if let Some(value) = self.integer() {
            return Arc::new(UInt64Array::from_value(value, rows));
        }
        Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&self.value, rows)))
    }
}

/// A name or a value in which some characters stand as `%` and two hexadecimal digits.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_columns_with_their_values() {
        let path = PathColumns::of(Path::new("/a/x=1/src=a%2Fb/k=007/=2/p=q.parquet"));
        let found: Vec<_> = path.0.iter().map(|column| (&column.name[..], column.kind())).collect();
        let expected = [("x", DataType::UInt64), ("src", DataType::Utf8), ("k", DataType::Utf8)];
        assert_eq!(found, expected);
        assert_eq!((&path.0[1].value[..], path.end()), ("a/b", Some("src")));
        assert_eq!(decoded("50%"), "50%");
        let schema = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        let mut path = path;
        assert_eq!(path.beside(&schema).fields().len(), 3);
    }
}
