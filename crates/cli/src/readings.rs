//! Readings of files, as runs, `info` and reports say them.

use serde::Serialize;
use welter_input::{FileColumn, FileSummary, IdKind};

use crate::failure::printable;

/// Ways of reading that are shown; files that are read in the same way are one.
const SHOWN_MAX: usize = 5;

/// A line for each way in which files were read, with the first of them.
pub(crate) fn lines(files: &[FileSummary]) -> Vec<String> {
    let named = |group: Group<'_>| {
        let more = match group.files {
            1 => String::new(),
            files => format!(" and {} more", files - 1),
        };
        format!("{}{more}: {}", group.first.name, group.sum)
    };
    grouped(files).map(named).collect()
}

/// The lines without names of files, but with their number where it is not one.
pub(crate) fn without_names(files: &[FileSummary]) -> Vec<String> {
    let one = |group: Group<'_>| {
        let of = format!(" ({} of the files)", group.files);
        let of = if group.files == files.len() { "" } else { &of[..] };
        printable(&format!("{}{of}", group.sum))
    };
    grouped(files).map(one).collect()
}

/// Files that were read in the same way.
struct Group<'a> {
    first: &'a FileSummary,
    files: usize,
    /// The first, with what was passed over in all.
    sum: FileSummary,
}

/// The ways in which files were read whose columns are known, in the order of the files.
fn grouped(files: &[FileSummary]) -> impl Iterator<Item = Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for file in files.iter().filter(|file| file.source.is_some()) {
        match groups.iter().position(|group| group.first.is_like(file)) {
            Some(place) => {
                let group = &mut groups[place];
                group.files += 1;
                group.sum.passed.comments += file.passed.comments;
                group.sum.passed.blank += file.passed.blank;
                group.sum.passed.others += file.passed.others;
            }
            None if groups.len() < SHOWN_MAX => {
                groups.push(Group { first: file, files: 1, sum: file.clone() });
            }
            None => {}
        }
    }
    groups.into_iter()
}

/// Reading of a file, for reports.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    reading: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<Column>,
    names: bool,
    comment_lines: u64,
    blank_lines: u64,
    other_lines: u64,
}

/// A column, by place (from 1) and name.
#[derive(Debug, Serialize)]
struct Column {
    number: Option<usize>,
    name: Option<String>,
}

impl Figures {
    /// The figures of a file.
    pub(crate) fn of(file: &FileSummary) -> Self {
        let column =
            |column: &FileColumn| Column { number: column.number, name: column.name.clone() };
        Self {
            reading: file.to_string(),
            header: file.rows.map(|rows| rows.header),
            source: file.source.as_ref().map(column),
            target: file.target.as_ref().map(column),
            weight: file.weight.as_ref().map(column),
            names: file.ids == IdKind::Names,
            comment_lines: file.passed.comments,
            blank_lines: file.passed.blank,
            other_lines: file.passed.others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_read_alike_are_one_line() {
        let column = |number| Some(FileColumn { number: Some(number), name: None });
        let file = |name: &str, target| FileSummary {
            name: name.to_owned(),
            source: column(1),
            target: column(target),
            ..FileSummary::default()
        };
        let mut files = vec![file("a", 2), file("b", 3), file("c", 2), FileSummary::default()];
        files[2].passed.comments = 2;
        let first = "a and 1 more: table; source is column 1, target column 2; \
                     2 comment lines passed over";
        let second = "b: table; source is column 1, target column 3";
        assert_eq!(lines(&files), [first, second]);
        assert!(without_names(&files)[1].ends_with("(1 of the files)"));
    }
}
