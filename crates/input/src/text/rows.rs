//! The rows of one part while it is parsed: narrow integers until a wider one comes, or names.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use welter_model::edges::Pair;
use welter_model::ids::Names;

use super::allowed_ids::{AllowedIds, Values};
use super::fast_path::Positions;
use super::fields::{Spelling, parse_id, parse_weight};
use crate::collect::{EdgeRun, Ids};
use crate::options::WeightBounds;
use crate::reading::PassedOver;
use crate::words::show;

/// Edges parsed so far.
pub(crate) struct Rows {
    pub(crate) ids: RowIds,
    /// Present when the dialect has a weight column; then one an edge.
    pub(crate) weights: Option<Vec<f64>>,
    /// Ids that are allowed.
    pub(crate) known: AllowedIds,
    /// Spellings that integer ids may have.
    spelling: Spelling,
    /// Weights that are allowed.
    pub(super) values: Values,
    /// Bounds of weights that the user of the edges can have.
    pub(super) bounds: WeightBounds,
    /// Lines that stand for a vertex by their place, where a format has such.
    pub(crate) vertex_lines: u64,
    /// Integer ids of vertices that came without an edge.
    pub(crate) alone: Vec<u64>,
    /// Lines that were passed over.
    pub(crate) passed: PassedOver,
    /// Workspace of the fast path.
    pub(super) positions: Positions,
}

/// Ids parsed so far.
pub(crate) enum RowIds {
    /// Integers that all fit in 32 bits so far.
    Narrow { pairs: Vec<Pair>, max: u32 },
    /// Integers, some of which do not fit in 32 bits.
    Wide { pairs: Vec<[u64; 2]>, max: u64 },
    /// Strings.
    Names(Dictionary),
}

impl RowIds {
    /// Appends a row; integers only.
    #[inline(always)]
    pub(crate) fn push(&mut self, source: u64, target: u64) {
        let larger = source.max(target);
        match self {
            Self::Narrow { pairs, max } if u32::try_from(larger).is_ok() => {
                *max = (*max).max(larger as u32);
                pairs.push([source as u32, target as u32]);
            }
            Self::Narrow { .. } => {
                self.widen();
                self.push(source, target);
            }
            Self::Wide { pairs, max } => {
                *max = (*max).max(larger);
                pairs.push([source, target]);
            }
            Self::Names(_) => unreachable!("rows of names take fields"),
        }
    }

    #[cold]
    fn widen(&mut self) {
        if let Self::Narrow { pairs, max } = self {
            let max = u64::from(*max);
            let mut wide = Vec::with_capacity(pairs.capacity());
            wide.extend(pairs.iter().map(|pair| pair.map(u64::from)));
            *self = Self::Wide { pairs: wide, max };
        }
    }
}

impl Rows {
    /// No rows yet.
    pub(crate) fn new(names: bool, weighted: bool, known: AllowedIds) -> Self {
        let ids = if names {
            RowIds::Names(Dictionary::default())
        } else {
            RowIds::Narrow { pairs: Vec::new(), max: 0 }
        };
        let weights = weighted.then(Vec::new);
        Self {
            ids,
            weights,
            known,
            spelling: Spelling::Digits,
            values: Values::Any,
            bounds: WeightBounds::default(),
            vertex_lines: 0,
            alone: Vec::new(),
            passed: PassedOver::default(),
            positions: Positions::default(),
        }
    }

    /// Makes room for about `rows` more rows, so that vectors seldom grow.
    pub(super) fn reserve(&mut self, rows: usize) {
        match &mut self.ids {
            RowIds::Narrow { pairs, .. } => {
                pairs.reserve(rows);
                crate::pages::advise_huge(pairs.spare_capacity_mut());
            }
            RowIds::Wide { pairs, .. } => pairs.reserve(rows),
            RowIds::Names(dictionary) => dictionary.pairs.reserve(rows),
        }
        if let Some(weights) = &mut self.weights {
            weights.reserve(rows);
            crate::pages::advise_huge(weights.spare_capacity_mut());
        }
    }

    /// Rows whose integer ids are written so.
    pub(super) fn spelt(self, spelling: Spelling) -> Self {
        Self { spelling, ..self }
    }

    /// The rows, where only some weights may come.
    pub(crate) fn with_values(self, values: Values) -> Self {
        Self { values, ..self }
    }

    /// Rows whose weights must keep within bounds.
    pub(crate) fn with_bounds(self, bounds: WeightBounds) -> Self {
        Self { bounds, ..self }
    }

    /// Whether an id or a weight came that may not, among the rows from `from` on.
    pub(super) fn amiss(&self, from: usize) -> bool {
        let ids = match &self.ids {
            RowIds::Narrow { pairs, max } => !self.known.holds(&pairs[from..], (*max).into()),
            RowIds::Wide { pairs, max } => !self.known.holds(&pairs[from..], *max),
            RowIds::Names(_) => false,
        };
        let wrong = |weight: &f64| !self.values.holds(*weight) || !self.bounds.hold(*weight);
        ids || self.weights.iter().any(|weights| weights[from..].iter().any(wrong))
    }

    /// Number of edges so far.
    pub(crate) fn len(&self) -> usize {
        match &self.ids {
            RowIds::Narrow { pairs, .. } => pairs.len(),
            RowIds::Wide { pairs, .. } => pairs.len(),
            RowIds::Names(dictionary) => dictionary.pairs.len(),
        }
    }

    /// Reads a weight, which may come or is refused.
    pub(crate) fn weight(&self, field: &[u8]) -> Result<f64, String> {
        let weight = parse_weight(field)?;
        self.bounds.check(weight, &show(field))?;
        self.values.check(weight, field)?;
        Ok(weight)
    }

    /// Appends a row from its fields. On error nothing was appended.
    pub(crate) fn push_fields(
        &mut self,
        source: &[u8],
        target: &[u8],
        weight: Option<&[u8]>,
    ) -> Result<(), String> {
        let weight = weight.map(|field| self.weight(field)).transpose()?;
        if let RowIds::Names(dictionary) = &mut self.ids {
            let pair = [dictionary.place(source)?, dictionary.place(target)?];
            dictionary.pairs.push(pair);
        } else {
            let (source, target) = (self.spelling.parse(source)?, self.spelling.parse(target)?);
            self.known.check(source)?;
            self.known.check(target)?;
            self.ids.push(source, target);
        }
        if let (Some(weights), Some(weight)) = (&mut self.weights, weight) {
            weights.push(weight);
        }
        Ok(())
    }

    /// Appends edges from one vertex to many; integers only, without weights. Says whether there
    /// was one.
    pub(crate) fn push_neighbours<'a>(
        &mut self,
        source: &[u8],
        targets: impl Iterator<Item = &'a [u8]>,
        spelling: Spelling,
    ) -> Result<bool, String> {
        let source = spelling.parse(source)?;
        self.known.check(source)?;
        let mut some = false;
        for target in targets {
            let target = spelling.parse(target)?;
            self.known.check(target)?;
            self.ids.push(source, target);
            some = true;
        }
        Ok(some)
    }

    /// Appends a vertex without an edge.
    pub(crate) fn push_alone(&mut self, id: &[u8]) -> Result<(), String> {
        if let RowIds::Names(dictionary) = &mut self.ids {
            return dictionary.place(id).map(|_| ());
        }
        let id = parse_id(id)?;
        self.known.check(id)?;
        self.alone.push(id);
        Ok(())
    }

    /// Hands the rows over.
    pub(crate) fn into_part(self) -> EdgeRun {
        let ids = match self.ids {
            RowIds::Narrow { pairs, max } => Ids::Narrow { pairs: fit(pairs), max },
            RowIds::Wide { pairs, max } => Ids::Wide { pairs: fit(pairs), max },
            RowIds::Names(dictionary) => {
                Ids::Names { names: dictionary.names, pairs: fit(dictionary.pairs) }
            }
        };
        EdgeRun { ids, weights: self.weights.map(fit) }
    }
}

/// Gives memory back where much more was reserved than used.
fn fit<T>(mut values: Vec<T>) -> Vec<T> {
    if values.capacity() / 2 > values.len() {
        values.shrink_to_fit();
    }
    values
}

/// Distinct names of a part and the edges between them. The hash is seeded at random, so no input
/// can be made that collides.
#[derive(Default)]
pub(crate) struct Dictionary {
    names: Names,
    places: HashTable<NameSlot>,
    state: RandomState,
    pairs: Vec<Pair>,
}

/// A name in the table: with some of its hash, so that few other names are looked at.
struct NameSlot {
    place: u32,
    hash: u32,
}

impl Dictionary {
    /// The names so far, by place.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The names by place.
    pub(crate) fn into_names(self) -> Names {
        self.names
    }

    /// The place of a name, if it is known.
    pub(crate) fn find(&self, name: &[u8]) -> Option<u32> {
        let hash = self.state.hash_one(name) as u32;
        let same = |known: &NameSlot| {
            known.hash == hash && self.names.get(known.place as usize).as_bytes() == name
        };
        self.places.find(spread(hash), same).map(|known| known.place)
    }

    /// The place of a name, which is added where it is new.
    pub(crate) fn place(&mut self, name: &[u8]) -> Result<u32, String> {
        if name.is_empty() {
            return Err("expected a vertex name, found an empty field".to_owned());
        }
        let Self { names, places, state, .. } = self;
        let hash = state.hash_one(name) as u32;
        let entry = places.entry(
            spread(hash),
            |known| known.hash == hash && names.get(known.place as usize).as_bytes() == name,
            |known| spread(known.hash),
        );
        match entry {
            Entry::Occupied(known) => Ok(known.get().place),
            Entry::Vacant(free) => {
                let text = std::str::from_utf8(name)
                    .map_err(|_| format!("expected a name in UTF-8, found {}", show(name)))?;
                let place = names.len() as u32;
                free.insert(NameSlot { place, hash });
                names.push(text);
                Ok(place)
            }
        }
    }
}

/// 64 bits from 32 for a table that looks at both ends of a hash.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_widen_when_one_needs_it() {
        let mut rows = Rows::new(false, false, AllowedIds::Any);
        rows.ids.push(1, 4_294_967_295);
        rows.ids.push(4_294_967_296, 2);
        let part = rows.into_part();
        let pairs = vec![[1, 4_294_967_295], [4_294_967_296, 2]];
        assert_eq!(part.ids, Ids::Wide { pairs, max: 4_294_967_296 });
    }

    #[test]
    fn names_are_kept_once() {
        let mut rows = Rows::new(true, true, AllowedIds::Any);
        rows.push_fields(b"b", b"a", Some(b"1")).unwrap();
        rows.push_fields(b"a", b"a", Some(b"2")).unwrap();
        assert!(rows.push_fields(b"a", b"\xff", Some(b"2")).is_err());
        assert!(rows.push_fields(b"a", b"", Some(b"2")).is_err());
        let part = rows.into_part();
        let names = ["b", "a"].into_iter().collect();
        assert_eq!(part.ids, Ids::Names { names, pairs: vec![[0, 1], [1, 1]] });
        assert_eq!(part.weights, Some(vec![1.0, 2.0]));
    }

    #[test]
    fn ids_beyond_the_declared_number_are_refused() {
        let mut rows = Rows::new(false, false, AllowedIds::Range(0..3));
        assert!(rows.push_fields(b"1", b"3", None).unwrap_err().contains("from 0 to 2"));
        rows.push_fields(b"1", b"2", None).unwrap();
        assert_eq!(rows.into_part().ids.len(), 1);
    }
}
