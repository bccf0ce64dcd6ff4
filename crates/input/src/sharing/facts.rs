//! Facts of what a machine has read, as it tells them to others.
//!
//! ```text
//! machine   parts, stated vertices, directions, notes, columns ──>  all machines: those of all
//! ```

use welter_model::ids::Names;

use crate::collect::DeclaredVertices;
use crate::error::InputError;
use crate::exchange::unclear;
use crate::ids::shared::PartFacts;
use crate::reading::{FileColumn, FileSummary};

/// Facts of one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// Its parts, in input order.
    pub(super) parts: Vec<PartFacts>,
    /// Vertices that its inputs state, with the numbers of these.
    pub(super) stated: Vec<(usize, DeclaredVertices)>,
    /// Whether an input states that sources and targets are two kinds of vertices.
    pub(super) two_kinds: bool,
    /// Inputs that say whether edges go both ways.
    pub(super) directions: Vec<(usize, bool)>,
    /// Notes for a person.
    pub(super) notes: Vec<String>,
    /// Columns of the sources and of the targets, by input, where they have names.
    pub(super) columns: Vec<Option<[String; 2]>>,
    /// Bytes that it has read, as they are stored.
    pub(super) bytes: u64,
}

impl Facts {
    /// The facts in bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut words = Words::default();
        words.list(&self.parts, |words, part| {
            let flags = u64::from(part.weighted) + 2 * u64::from(part.named);
            for number in [part.source as u64, part.edges, flags, part.min, part.max] {
                words.number(number);
            }
        });
        words.list(&self.stated, |words, (source, stated)| {
            words.number(*source as u64);
            match stated {
                DeclaredVertices::Range { first, count } => {
                    words.number(0);
                    words.number(*first);
                    words.number(*count);
                }
                DeclaredVertices::Integers(ids) => {
                    words.number(1);
                    words.list(ids, |words, id| words.number(*id));
                }
                DeclaredVertices::Names(names) => {
                    words.number(2);
                    let names: Vec<&str> = names.iter().collect();
                    words.list(&names, |words, name| words.text(name));
                }
            }
        });
        words.number(self.two_kinds.into());
        words.list(&self.directions, |words, (source, undirected)| {
            words.number(*source as u64);
            words.number((*undirected).into());
        });
        words.list(&self.notes, |words, note| words.text(note));
        words.list(&self.columns, |words, columns| {
            words.number(columns.is_some().into());
            columns.iter().flatten().for_each(|name| words.text(name));
        });
        words.number(self.bytes);
        words.0
    }

    /// The facts of such bytes.
    ///
    /// # Errors
    /// [`InputError::Lost`] where they make no sense.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, InputError> {
        Self::read(&mut Reader(bytes)).ok_or_else(unclear)
    }

    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let parts = from.list(|from| {
            let source = from.number()? as usize;
            let [edges, flags, min, max] =
                [from.number()?, from.number()?, from.number()?, from.number()?];
            let (weighted, named) = (flags & 1 == 1, flags & 2 == 2);
            Some(PartFacts { source, edges, weighted, named, min, max })
        })?;
        let stated = from.list(|from| {
            let source = from.number()? as usize;
            let stated = match from.number()? {
                0 => DeclaredVertices::Range { first: from.number()?, count: from.number()? },
                1 => DeclaredVertices::Integers(from.list(Reader::number)?),
                2 => {
                    let names = from.list(Reader::text)?;
                    DeclaredVertices::Names(names.iter().map(|name| &name[..]).collect::<Names>())
                }
                _ => return None,
            };
            Some((source, stated))
        })?;
        let two_kinds = from.number()? == 1;
        let directions = from.list(|from| Some((from.number()? as usize, from.number()? == 1)))?;
        let notes = from.list(Reader::text)?;
        let columns = from.list(|from| {
            let is_named = from.number()? == 1;
            Some(if is_named { Some([from.text()?, from.text()?]) } else { None })
        })?;
        let bytes = from.number()?;
        Some(Self { parts, stated, two_kinds, directions, notes, columns, bytes })
    }
}

/// Names of the columns of edges, where the reader of an input has said them.
pub(super) fn columns_of(reading: &FileSummary) -> Option<[String; 2]> {
    let name = |column: &Option<FileColumn>| column.as_ref()?.name.clone();
    Some([name(&reading.source)?, name(&reading.target)?])
}

/// An input, as far as machines have told each other of it.
pub(super) fn summary(name: &str, columns: Option<[String; 2]>) -> FileSummary {
    let column = |name: String| FileColumn { number: None, name: Some(name) };
    let (source, target) = match columns {
        Some([source, target]) => (Some(column(source)), Some(column(target))),
        None => (None, None),
    };
    FileSummary { name: name.to_owned(), source, target, ..FileSummary::default() }
}

/// Words that are written down.
#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, list: &[T], mut one: impl FnMut(&mut Self, &T)) {
        self.number(list.len() as u64);
        for item in list {
            one(self, item);
        }
    }
}

/// Words that are read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    /// A list, which grows with what is there, whatever its length says.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(one(self)?);
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_come_back_and_others_are_errors() {
        let part =
            PartFacts { source: 3, edges: 7, weighted: true, named: false, min: 1, max: 1 << 40 };
        let names = ["a", "", "ü"].into_iter().collect();
        let facts = Facts {
            parts: vec![part, PartFacts { weighted: false, named: true, ..part }],
            stated: vec![
                (0, DeclaredVertices::Range { first: 1, count: 9 }),
                (1, DeclaredVertices::Integers(vec![3, 1])),
                (2, DeclaredVertices::Names(names)),
            ],
            two_kinds: true,
            directions: vec![(1, true), (2, false)],
            notes: vec!["a: is odd".to_owned()],
            columns: vec![None, Some(["from".to_owned(), "to".to_owned()])],
            bytes: 99,
        };
        let bytes = facts.encode();
        assert_eq!(Facts::decode(&bytes).unwrap(), facts);
        for length in 0..bytes.len() {
            assert!(Facts::decode(&bytes[..length]).is_err(), "{length}");
        }
        // Lengths that nothing stands behind take no memory.
        assert!(Facts::decode(&u64::MAX.to_le_bytes()).is_err());
    }

    #[test]
    fn columns_of_a_summary_come_back() {
        let columns = Some(["from".to_owned(), "to".to_owned()]);
        assert_eq!(columns_of(&summary("a", columns.clone())), columns);
        assert_eq!(columns_of(&summary("a", None)), None);
    }
}
