//! Inputs as they are opened: what options say of them must be of their formats, and their ids are
//! of one kind.

use std::path::PathBuf;

use crate::error::InputError;
use crate::format::Format;
use crate::options::{IdKind, ReadOptions};
use crate::reader::Context;
use crate::readers;
use crate::source::{Source, at_once};
use crate::vertices::Tables;

/// Opens inputs, which are read as the options say.
pub(crate) fn open(names: &[PathBuf], options: &ReadOptions) -> Result<Vec<Source>, InputError> {
    let open = |name: &PathBuf| {
        let source = Source::open(name, options.format)?;
        check_rows(&source, options)?;
        check_path(&source, options).map(|()| source)
    };
    at_once::each(names, open)
}

/// Refuses a table whose path says an end of its edges, where only what is in the file is read.
pub(crate) fn check_path(source: &Source, options: &ReadOptions) -> Result<(), InputError> {
    let is_stated = options.source.is_some() && options.target.is_some();
    if is_stated || matches!(source.format(), Format::Parquet | Format::Arrow) {
        return Ok(());
    }
    match source.path_columns().end() {
        None => Ok(()),
        Some(end) => {
            let what = format!(
                "expected both ends of an edge in each row, found \"{end}\" in the path, which is \
                 read of Parquet and Arrow alone; write the table as Parquet or unpartitioned, or, \
                 if rows have both, say --source-column and --target-column"
            );
            Err(InputError::content(source.name(), what))
        }
    }
}

/// Refuses what is said of rows of text where there are none: it would do nothing.
pub(crate) fn check_rows(source: &Source, options: &ReadOptions) -> Result<(), InputError> {
    if matches!(source.format(), Format::Text | Format::Ldbc | Format::LdbcProperties) {
        return Ok(());
    }
    let listed = source.format() == Format::Adjacency;
    let option = match options {
        ReadOptions { separator: Some(_), .. } if !listed => "--separator",
        ReadOptions { header: Some(true), .. } => "--header",
        ReadOptions { header: Some(false), .. } => "--no-header",
        ReadOptions { quote: Some(_), .. } => "--quote",
        ReadOptions { escape: Some(_), .. } => "--escape",
        ReadOptions { comment: Some(_), .. } => "--comment",
        _ => return Ok(()),
    };
    let (name, format) = (source.name(), source.format());
    let what = format!(
        "{name}: {option} is for rows of text, and this is {format}, which says by itself what \
         its columns are"
    );
    Err(InputError::Options { what })
}

/// Settles whether ids are integers or names: one source with names makes all names. Says so where
/// sources differ.
pub(crate) fn with_id_kind(
    sources: &[Source],
    tables: &Tables<'_>,
    context: &Context<'_>,
) -> Result<(ReadOptions, Option<String>), InputError> {
    let mut options = context.options.clone();
    if options.ids != IdKind::Auto {
        return Ok((options, None));
    }
    let (mut named, mut numbered) = (None, None);
    for source in sources {
        let kind = readers::of(source).id_kind(source, context)?;
        let of_kind = if kind == IdKind::Names { &mut named } else { &mut numbered };
        of_kind.get_or_insert(source);
    }
    let names = named.is_some() || tables.are_names(context)?;
    let kind = if names { IdKind::Names } else { IdKind::Integers };
    (options.ids, options.guessed_ids) = (kind, true);
    let note = named.zip(numbered).map(|(named, numbered)| {
        let (named, numbered) = (named.name(), numbered.name());
        format!(
            "{numbered}: ids are integers and those of {named} are names; all are read as names"
        )
    });
    Ok((options, note))
}
