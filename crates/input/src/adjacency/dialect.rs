//! Separator of the ids of an adjacency list, and whether they are integers or names: as is said,
//! else what all lines of a sample agree on.
//!
//! Without a word, white space separates. Lines without any are split at commas, semicolons or
//! pipes, if they have one kind of these. Tabs beside spaces are refused where ids are strings:
//! those with spaces in them cannot be told from several.

use crate::layout::Separator;
use crate::options::{IdKind, ReadOptions};
use crate::text::fields::{FieldKind, Spelling, looks};

/// Separators of lines that have no white space.
const MARKS: [Separator; 3] = [Separator::Comma, Separator::Semicolon, Separator::Pipe];

/// Dialect of the lines of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) separator: Separator,
    pub(super) ids: IdKind,
    /// Notes for people.
    pub(super) notes: Vec<String>,
}

impl Dialect {
    /// Of lines that hold rows.
    ///
    /// # Errors
    /// When the separator cannot be known.
    pub(super) fn of(lines: &[&[u8]], options: &ReadOptions) -> Result<Self, String> {
        let mut notes = Vec::new();
        let separator = match options.separator {
            Some(separator) => separator,
            None => guessed(lines, &mut notes)?,
        };
        let (guessed, note) = kind(lines, separator);
        let ids = if options.ids == IdKind::Auto { guessed } else { options.ids };
        let is_stated = options.ids != IdKind::Auto && !options.guessed_ids;
        notes.extend(note.filter(|_| !is_stated && ids == guessed));
        Ok(Self { separator, ids, notes })
    }
}

/// Spellings that integers may have.
pub(super) fn spelling(options: &ReadOptions) -> Spelling {
    let is_stated = options.ids == IdKind::Integers && !options.guessed_ids;
    if is_stated { Spelling::Any } else { Spelling::Printed }
}

/// The ids of a line.
pub(super) fn fields(line: &[u8], separator: Separator) -> impl Iterator<Item = &[u8]> {
    let byte = separator.byte();
    let parts = line.split(move |found| match byte {
        Some(byte) => *found == byte,
        None => found.is_ascii_whitespace(),
    });
    parts.map(<[u8]>::trim_ascii).filter(|field| !field.is_empty())
}

fn guessed(lines: &[&[u8]], notes: &mut Vec<String>) -> Result<Separator, String> {
    let has = |line: &[u8], wanted: fn(&u8) -> bool| line.trim_ascii().iter().any(wanted);
    let tabs = lines.iter().any(|line| has(line, |byte| *byte == b'\t'));
    let spaces = lines.iter().any(|line| has(line, |byte| *byte == b' '));
    if tabs && spaces {
        let mut words = lines.iter().flat_map(|line| fields(line, Separator::Spaces));
        if words.any(|word| looks(word) == FieldKind::Name) {
            let what = "expected tabs or spaces between names, found both (--separator tab takes \
                        spaces for parts of names, --separator spaces both for separators)";
            return Err(what.to_owned());
        }
    }
    if tabs || spaces {
        return Ok(Separator::Spaces);
    }
    let holds = |mark: Separator| {
        let byte = mark.byte();
        lines.iter().any(|line| line.iter().any(|found| Some(*found) == byte))
    };
    match MARKS.into_iter().filter(|mark| holds(*mark)).collect::<Vec<_>>()[..] {
        [] => Ok(Separator::Spaces),
        [mark] => {
            notes.push(format!("{} separate ids, as lines have no white space", mark.noun()));
            Ok(mark)
        }
        [first, second, ..] => Err(format!(
            "expected one separator of ids, found {} and {} (say which with --separator)",
            first.noun(),
            second.noun()
        )),
    }
}

/// Names, if most lines begin with what is neither an integer nor a number, or if an integer is
/// not written as it is printed.
fn kind(lines: &[&[u8]], separator: Separator) -> (IdKind, Option<String>) {
    let named =
        |line: &&&[u8]| fields(line, separator).take(2).any(|word| looks(word) == FieldKind::Name);
    if 2 * lines.iter().filter(named).count() > lines.len() {
        return (IdKind::Names, None);
    }
    let mut words = lines.iter().flat_map(|line| fields(line, separator));
    let odd =
        |word: &&[u8]| looks(word) == FieldKind::Integer && Spelling::Printed.parse(word).is_err();
    let Some(odd) = words.find(odd) else { return (IdKind::Integers, None) };
    let note = format!(
        "ids are strings: \"{}\" is not an integer as it is printed (--ids integers takes it for \
         one)",
        String::from_utf8_lossy(odd)
    );
    (IdKind::Names, Some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, options: &ReadOptions) -> Result<Dialect, String> {
        let lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        Dialect::of(&lines, options)
    }

    #[test]
    fn separators_are_what_all_lines_agree_on() {
        let options = ReadOptions::default();
        for (text, separator, ids) in [
            ("1 2 3\n4", Separator::Spaces, IdKind::Integers),
            ("1\t2  3\n4", Separator::Spaces, IdKind::Integers),
            ("a\tb\nc", Separator::Spaces, IdKind::Names),
            ("Lee,Ann Bob", Separator::Spaces, IdKind::Names),
            ("1,2,3\n4", Separator::Comma, IdKind::Integers),
            ("a;b\nc", Separator::Semicolon, IdKind::Names),
            ("007 7\n8", Separator::Spaces, IdKind::Names),
            ("0 10", Separator::Spaces, IdKind::Integers),
        ] {
            let dialect = of(text, &options).unwrap();
            assert_eq!((dialect.separator, dialect.ids), (separator, ids), "{text}");
            let is_noted = separator != Separator::Spaces || text.starts_with("007");
            assert_eq!(dialect.notes.len(), usize::from(is_noted), "{text}");
        }
        assert!(of("a b\tc\nd", &options).unwrap_err().contains("--separator tab"));
        assert!(of("a,b\nc;d", &options).unwrap_err().contains("commas and semicolons"));
        let tabs = ReadOptions { separator: Some(Separator::Tab), ..ReadOptions::default() };
        assert_eq!(of("a b\tc\nd", &tabs).unwrap().separator, Separator::Tab);
        assert_eq!(fields(b"a b\t c\t", Separator::Tab).collect::<Vec<_>>(), [&b"a b"[..], b"c"]);
    }

    #[test]
    fn integers_are_as_they_are_printed_unless_that_is_said() {
        let guessed =
            ReadOptions { ids: IdKind::Integers, guessed_ids: true, ..Default::default() };
        assert!(spelling(&guessed).parse(b"007").is_err());
        let options = ReadOptions { ids: IdKind::Integers, ..Default::default() };
        assert_eq!(spelling(&options).parse(b"007"), Ok(7));
    }
}
