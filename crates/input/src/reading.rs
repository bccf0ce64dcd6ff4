//! Reading of one file, in words that a person can check: its format, how its rows are written,
//! which columns are the ends and the weights of edges, and what was passed over.
//!
//! A reader fills it by [`Collector::describe`](crate::Collector::describe) before it reads, and
//! what is passed over is counted by [`Collector::pass_over`](crate::Collector::pass_over) while it
//! reads, so that counts are exact once all is read.

use std::fmt;

use crate::columns::names;
use crate::error::InputError;
use crate::format::Format;
use crate::layout::Separator;
use crate::options::IdKind;

/// Reading of one file, or of one table in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Name, as errors have it.
    pub name: String,
    /// Format; `None` of a table in memory.
    pub format: Option<Format>,
    /// Layers around its bytes, from the outside inwards: compressions, archives, encodings.
    pub layers: Vec<&'static str>,
    /// Layout of rows of text, where there are such.
    pub rows: Option<RowsOfText>,
    /// Column of the sources.
    pub source: Option<FileColumn>,
    /// Column of the targets.
    pub target: Option<FileColumn>,
    /// Column of the weights, where weights are read.
    pub weight: Option<FileColumn>,
    /// Integers or names; `Auto` where the format has but one kind of ids.
    pub ids: IdKind,
    /// Lines that were passed over.
    pub passed: PassedOver,
}

/// A column, or an attribute of edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// Place of the column, counted from 1, where columns have an order.
    pub number: Option<usize>,
    /// Name of the column, where it has one.
    pub name: Option<String>,
}

/// Layout of rows of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsOfText {
    /// Separator of the fields.
    pub separator: Separator,
    /// Quote around fields; `None` where quotes are characters as others.
    pub quote: Option<char>,
    /// Whether a backslash takes its meaning from the character behind it.
    pub backslash: bool,
    /// Whether the first row names the columns.
    pub header: bool,
}

/// Lines that are no rows, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// Comments.
    pub comments: u64,
    /// Lines of nothing but white space.
    pub blank: u64,
    /// Lines that the format defines and a graph does not need.
    pub others: u64,
}

impl FileSummary {
    /// Notes the columns of a table, by their places (from 0) and the names of all columns.
    pub(crate) fn columns(
        &mut self,
        (source, target, weight): (usize, usize, Option<usize>),
        names: &[&str],
    ) {
        let column = |place: usize| FileColumn {
            number: Some(place + 1),
            name: names.get(place).map(|name| (*name).to_owned()),
        };
        self.source = Some(column(source));
        self.target = Some(column(target));
        self.weight = weight.map(column);
    }

    /// Whether another file was read in the same way, whatever was passed over.
    pub fn is_like(&self, other: &Self) -> bool {
        let bare = |file: &Self| Self {
            name: String::new(),
            passed: PassedOver::default(),
            ..file.clone()
        };
        bare(self) == bare(other)
    }
}

/// Refuses the last of several files if its columns are called otherwise than those of the first,
/// so that a table of vertices is not read as edges.
pub(crate) fn agreed(files: &[FileSummary]) -> Result<(), InputError> {
    let names = |file: &FileSummary| {
        let name = |column: &Option<FileColumn>| column.as_ref()?.name.as_deref().map(names::plain);
        Some([name(&file.source)?, name(&file.target)?])
    };
    let (Some(last), Some(first)) = (files.last(), files.iter().find(|file| names(file).is_some()))
    else {
        return Ok(());
    };
    match (names(first), names(last)) {
        (Some(expected), Some(found)) if expected != found => {
            let show = |[source, target]: [String; 2]| format!("\"{source}\" and \"{target}\"");
            let (expected, found) = (show(expected), show(found));
            let what = format!(
                "{} has edges in the columns {expected}, {} in {found} (--source-column and \
                 --target-column by number say that both are edges)",
                first.name, last.name
            );
            Err(InputError::Inputs { what })
        }
        _ => Ok(()),
    }
}

impl fmt::Display for FileColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, &self.name) {
            (Some(number), Some(name)) => write!(f, "column {number} {name:?}"),
            (Some(number), None) => write!(f, "column {number}"),
            (None, Some(name)) => write!(f, "{name:?}"),
            (None, None) => f.write_str("unnamed"),
        }
    }
}

impl fmt::Display for RowsOfText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.separator.noun())?;
        match self.quote {
            Some('"') => {}
            Some(quote) => write!(f, ", quoted with {quote}")?,
            None => f.write_str(", no quotes")?,
        }
        let header = if self.header { ", a header" } else { ", no header" };
        write!(f, "{}{header}", if self.backslash { ", backslashes" } else { "" })
    }
}

impl PassedOver {
    /// Adds the counts of more lines.
    pub(crate) fn add(&mut self, more: Self) {
        self.comments += more.comments;
        self.blank += more.blank;
        self.others += more.others;
    }
}

impl fmt::Display for PassedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |count: u64, kind: &str| match count {
            0 => None,
            1 => Some(format!("1 {kind} line")),
            _ => Some(format!("{count} {kind} lines")),
        };
        let kinds = [
            lines(self.comments, "comment"),
            lines(self.blank, "blank"),
            lines(self.others, "other"),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        f.write_str(&kinds.join(", "))
    }
}

/// One plain sentence without the name of the file, such as `commas, a header; source is column 1
/// "from", target column 2 "to"; 3 comment lines passed over`.
impl fmt::Display for FileSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.rows, self.format) {
            (Some(rows), _) => write!(f, "{rows}")?,
            (None, Some(format)) => write!(f, "{format}")?,
            (None, None) => f.write_str("table")?,
        }
        if !self.layers.is_empty() {
            write!(f, ", in {}", self.layers.join(", "))?;
        }
        if let (Some(source), Some(target)) = (&self.source, &self.target) {
            write!(f, "; source is {source}, target {target}")?;
        }
        if let Some(weight) = &self.weight {
            write!(f, ", weight {weight}")?;
        }
        match self.ids {
            IdKind::Names => f.write_str("; ids are strings")?,
            IdKind::Auto | IdKind::Integers => {}
        }
        if self.passed != PassedOver::default() {
            write!(f, "; {} passed over", self.passed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use welter_progress::FailureKind;

    #[test]
    fn files_with_other_columns_are_refused() {
        let file = |name: &str, columns: &[&str]| {
            let mut file = FileSummary { name: name.to_owned(), ..FileSummary::default() };
            file.columns((0, 1, None), columns);
            file
        };
        let edges = file("edges.csv", &["src", "dst"]);
        assert!(agreed(&[edges.clone(), file("more.csv", &["SRC", "dst"])]).is_ok());
        assert!(agreed(&[edges.clone(), file("bare.csv", &[])]).is_ok());
        let error = agreed(&[edges, file("nodes.csv", &["id", "name"])]).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Input);
        assert!(error.to_string().starts_with("edges.csv has edges in"), "{error}");
    }

    #[test]
    fn a_summary_is_a_sentence() {
        let mut file = FileSummary { format: Some(Format::Text), ..FileSummary::default() };
        assert_eq!(file.to_string(), "text");
        let rows = RowsOfText {
            separator: Separator::Comma,
            quote: Some('"'),
            backslash: false,
            header: true,
        };
        file.rows = Some(rows);
        file.columns((0, 2, Some(1)), &["from", "cost", "to"]);
        file.passed.add(PassedOver { comments: 3, blank: 1, others: 0 });
        assert_eq!(
            file.to_string(),
            "commas, a header; source is column 1 \"from\", target column 3 \"to\", weight \
             column 2 \"cost\"; 3 comment lines, 1 blank line passed over"
        );
        let other = FileSummary { passed: PassedOver::default(), ..file.clone() };
        assert!(file.is_like(&other) && file != other);
        let bare = RowsOfText { quote: None, header: false, backslash: true, ..rows };
        assert_eq!(bare.to_string(), "commas, no quotes, backslashes, no header");
    }
}
