//! Ids of two kinds of vertices, sources and targets, on their way to slots.
//!
//! One list of keys holds both kinds, so that all that maps ids maps these too: a number is added
//! to integers of targets that is larger than every source (`apart`), and names get the letter of
//! their side ([`lettered`]). See [`TwoKinds`].

use welter_model::edges::Pair;
use welter_model::ids::{IdMap, Names};
use welter_model::two_kinds::{Keys, Side, TwoKinds};

use super::declared::{self, Vertices};
use super::id_mapping::{Described, IdMapping, names, no_edges, weighted};
use crate::collect::{DeclaredVertices, Ids};
use crate::error::InputError;

/// The largest integer of sources and of targets, which tells how far apart they are put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Largest {
    source: u64,
    target: u64,
}

impl Largest {
    /// Looks at the edges of a part.
    pub(crate) fn see(&mut self, ids: &Ids) {
        match ids {
            Ids::Narrow { pairs, .. } => {
                for pair in pairs {
                    self.pair(pair.map(u64::from));
                }
            }
            Ids::Wide { pairs, .. } => {
                for pair in pairs {
                    self.pair(*pair);
                }
            }
            Ids::Names { .. } => {}
        }
    }

    /// Looks at vertices that are stated.
    pub(crate) fn see_stated(&mut self, side: Side, stated: &DeclaredVertices) {
        let last = match stated {
            DeclaredVertices::Range { first, count } => {
                first.saturating_add(*count).saturating_sub(1)
            }
            DeclaredVertices::Integers(ids) => ids.iter().copied().max().unwrap_or(0),
            DeclaredVertices::Names(_) => 0,
        };
        let largest = if side == Side::Source { &mut self.source } else { &mut self.target };
        *largest = last.max(*largest);
    }

    /// The largest of both.
    pub(crate) fn merge(&mut self, other: Self) {
        self.source = self.source.max(other.source);
        self.target = self.target.max(other.target);
    }

    fn pair(&mut self, [source, target]: [u64; 2]) {
        self.source = self.source.max(source);
        self.target = self.target.max(target);
    }

    /// The number that is added to targets.
    pub(super) fn added(self) -> Result<u64, InputError> {
        if (self.source | self.target) >> 62 == 0 {
            return Ok(self.source + 1);
        }
        let what = format!(
            "ids of two kinds of vertices are below 2^62, found {}; read them as names, with \
             --ids strings",
            self.source.max(self.target)
        );
        Err(InputError::Inputs { what })
    }
}

/// Names of a part with the letters of their sides; one that is on both comes twice.
pub(crate) fn lettered(ids: Ids) -> Ids {
    let Ids::Names { names, mut pairs } = ids else { return ids };
    let mut all = Names::with_capacity(names.len(), names.text().len() + names.len());
    let mut places = [vec![u32::MAX; names.len()], vec![u32::MAX; names.len()]];
    let mut text = String::new();
    let mut place = |side: Side, name: u32, places: &mut Vec<u32>| {
        let place = &mut places[name as usize];
        if *place == u32::MAX {
            *place = all.len() as u32;
            text.clear();
            text.push(side.letter());
            text.push_str(names.get(name as usize));
            all.push(&text);
        }
        *place
    };
    let [sources, targets] = &mut places;
    for pair in &mut pairs {
        let [source, target]: Pair = *pair;
        *pair = [place(Side::Source, source, sources), place(Side::Target, target, targets)];
    }
    Ids::Names { names: all, pairs }
}

/// Declared names with the letter of their side.
pub(crate) fn stated_lettered(side: Side, stated: DeclaredVertices) -> DeclaredVertices {
    let DeclaredVertices::Names(names) = stated else { return stated };
    let mut all = Names::with_capacity(names.len(), names.text().len() + names.len());
    let mut text = String::new();
    for name in names.iter() {
        text.clear();
        text.push(side.letter());
        text.push_str(name);
        all.push(&text);
    }
    DeclaredVertices::Names(all)
}

/// Mapping of the keys of both kinds to slots.
pub(super) fn choose<P: Described>(
    parts: &[P],
    stated: Vec<(usize, DeclaredVertices)>,
    files: &[String],
    memory_bytes_max: Option<u64>,
) -> Result<IdMapping, InputError> {
    weighted(parts, files)?;
    let stated = declared::merge(stated, files, memory_bytes_max)?;
    let named = names(parts, files, &stated)?;
    if parts.is_empty() && stated.none() {
        return Err(no_edges(files));
    }
    Ok(match stated {
        Vertices::Names(stated) => IdMapping::Names(stated),
        Vertices::Integers(stated) => IdMapping::Integers(stated),
        Vertices::Range(range) => {
            declared::list_fits(range.end - range.start, files, memory_bytes_max)?;
            IdMapping::Integers(range.collect())
        }
        Vertices::Unstated if named => IdMapping::Names(Vec::new()),
        Vertices::Unstated => IdMapping::Integers(Vec::new()),
    })
}

/// The way back, with the sides.
pub(super) fn parted(ids: IdMap, added: u64) -> IdMap {
    match ids {
        IdMap::Sparse(ids) => IdMap::TwoKinds(TwoKinds::new(Keys::Integers(ids, added))),
        IdMap::Names(names) => IdMap::TwoKinds(TwoKinds::new(Keys::Names(names))),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_on_both_sides_is_two() {
        let names = ["a", "b", "c"].into_iter().collect();
        let Ids::Names { names, pairs } =
            lettered(Ids::Names { names, pairs: vec![[0, 1], [1, 0]] })
        else {
            unreachable!()
        };
        assert_eq!(names.iter().collect::<Vec<_>>(), ["sa", "tb", "sb", "ta"]);
        assert_eq!(pairs, [[0, 1], [2, 3]]);
    }
}
