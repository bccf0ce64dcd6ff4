//! Ids of two kinds of vertices: those that edges leave and those that they come to, such as users
//! and the items that they rate. Both may have the same ids.
//!
//! One list holds the ids of both, sources first, so that slots ascend in the order of the ids of
//! each kind: to the integers of targets a number is added that is larger than all of sources, and
//! names have a letter before them that says the kind. This file alone looks at that.
//!
//! Invariant: what a caller gets are the ids that came in. Tested by
//! `ids_are_found_on_their_side`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::id::Id;
use crate::names::Names;

/// End of edges that a vertex is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Edges leave it.
    Source,
    /// Edges come to it.
    Target,
}

impl Side {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }

    /// The letter before names of this side in one list of both.
    pub fn letter(self) -> char {
        match self {
            Self::Source => 's',
            Self::Target => 't',
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Side {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Source, Self::Target].into_iter().find(|side| side.name() == text).ok_or(())
    }
}

/// Ids by slot, each with its side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoKinds {
    keys: Keys,
    /// Number of sources.
    sources: u64,
}

/// The list of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Integers, ascending and distinct; to those of targets this number was added, and those of
    /// sources are smaller.
    Integers(Vec<u64>, u64),
    /// Strings, ascending and distinct, behind the [letters](Side::letter) of their sides.
    Names(Names),
}

impl TwoKinds {
    /// Takes a list of both kinds.
    pub fn new(keys: Keys) -> Self {
        let sources = match &keys {
            Keys::Integers(ids, added) => ids.partition_point(|id| id < added),
            Keys::Names(names) => names.iter().take_while(|name| name.starts_with('s')).count(),
        };
        Self { keys, sources: sources as u64 }
    }

    /// The list of both kinds, as it was taken.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        match &self.keys {
            Keys::Integers(ids, _) => ids.len(),
            Keys::Names(names) => names.len(),
        }
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of sources, whose slots are the first.
    pub fn sources(&self) -> u64 {
        self.sources
    }

    /// Whether ids are strings.
    pub fn are_names(&self) -> bool {
        matches!(self.keys, Keys::Names(_))
    }

    /// Heap bytes that the ids take.
    pub fn bytes(&self) -> u64 {
        match &self.keys {
            Keys::Integers(ids, _) => size_of_val(&ids[..]) as u64,
            Keys::Names(names) => names.bytes(),
        }
    }

    /// The side of a slot.
    pub fn side(&self, slot: u64) -> Side {
        if slot < self.sources { Side::Source } else { Side::Target }
    }

    /// The id of a slot.
    ///
    /// # Panics
    /// When `slot` is out of range.
    pub fn get(&self, slot: usize) -> Id<'_> {
        match &self.keys {
            Keys::Integers(ids, added) if slot as u64 >= self.sources => {
                Id::Integer(ids[slot] - added)
            }
            Keys::Integers(ids, _) => Id::Integer(ids[slot]),
            Keys::Names(names) => Id::Name(names.get(slot).get(1..).unwrap_or_default()),
        }
    }

    /// The slot of an id of a side, written as it is in text.
    pub fn find(&self, side: Side, id: &str) -> Option<u64> {
        let slots = match side {
            Side::Source => 0..self.sources,
            Side::Target => self.sources..self.len() as u64,
        };
        let wanted: u64;
        let compare: &dyn Fn(Id<'_>) -> std::cmp::Ordering = if self.are_names() {
            &|found| {
                if let Id::Name(name) = found { name.cmp(id) } else { std::cmp::Ordering::Less }
            }
        } else {
            wanted = id.parse().ok().filter(|number: &u64| number.to_string() == id)?;
            &|found| {
                if let Id::Integer(found) = found {
                    found.cmp(&wanted)
                } else {
                    std::cmp::Ordering::Less
                }
            }
        };
        let Range { start: mut low, end: mut high } = slots;
        while low < high {
            let middle = low.midpoint(high);
            match compare(self.get(middle as usize)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> [TwoKinds; 2] {
        let names = ["s10", "s7", "t", "t7", "tx"].into_iter().collect();
        let integers = Keys::Integers(vec![7, 10, 11 + 3, 11 + 7, u64::MAX], 11);
        [TwoKinds::new(integers), TwoKinds::new(Keys::Names(names))]
    }

    #[test]
    fn ids_are_found_on_their_side() {
        let [integers, names] = both();
        assert_eq!((integers.sources(), names.sources(), names.len()), (2, 2, 5));
        assert_eq!(integers.get(3), Id::Integer(7));
        assert_eq!(names.get(3), Id::Name("7"));
        assert_eq!(names.get(2), Id::Name(""));
        for kinds in both() {
            for slot in 0..kinds.len() {
                let id = match kinds.get(slot) {
                    Id::Integer(id) => id.to_string(),
                    Id::Name(name) => name.to_owned(),
                    Id::Others(_) => unreachable!(),
                };
                assert_eq!(kinds.find(kinds.side(slot as u64), &id), Some(slot as u64), "{id}");
            }
            assert_eq!(kinds.find(Side::Target, "10"), None);
            assert_eq!(kinds.find(Side::Source, "07"), None);
        }
    }
}
