//! Attributes of edges that may be their weight, and which of them is: what the user says; else the
//! one called `weight`; else `value`, as in GML and d3; else the one whose name is a word for a
//! weight, as of columns of tables ([`crate::columns`]). Numbers under other names are reported and
//! not read.
//!
//! Invariant: values are kept once one came, and no longer than the attribute can be the weight.
//! Checked in `Attributes::push`.

use hashbrown::HashMap;

use super::blocks::Blocks;
use super::number::number;
use crate::columns::names;
use crate::options::{WeightBounds, WeightChoice};
use crate::tables::ColumnRef;
use crate::words::show;

/// Names of attributes that are looked at. A graph that has more of them is not one of a few
/// attributes an edge.
const NAMES_MAX: usize = 64;

/// Values of an edge, by the ranks of their attributes. Takes no memory before the first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<Option<Vec<u8>>>);

impl Values {
    /// The value of an attribute.
    pub(crate) fn at(&mut self, rank: usize) -> &mut Option<Vec<u8>> {
        if self.0.len() <= rank {
            self.0.resize(rank + 1, None);
        }
        &mut self.0[rank]
    }

    /// Takes what others say where these say nothing.
    pub(crate) fn or(mut self, others: &Self) -> Self {
        for (rank, other) in others.0.iter().enumerate().filter(|(_, other)| other.is_some()) {
            let value = self.at(rank);
            if value.is_none() {
                value.clone_from(other);
            }
        }
        self
    }
}

/// The key of an attribute that may be the weight.
pub(crate) struct WeightKey {
    pub(crate) id: String,
    /// Index in the possible weights.
    pub(crate) rank: usize,
    pub(crate) default: Option<Vec<u8>>,
}

/// Meaning of the name of an attribute: the first ones win over the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Name of the weight: `weight`, or the one that the user said.
    Weight,
    /// Name `value`.
    Value,
    /// Word for a weight.
    Word,
    /// Name that is no word for a weight.
    Other,
}

/// An attribute of edges.
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// One an edge up to the last one that has a number; NaN where there is none.
    values: Blocks<f64>,
    /// Values that are numbers.
    pub(super) numbers: usize,
    /// The first value that is none: its line and what is wrong.
    pub(super) bad: Option<(u64, String)>,
    /// The first one that is beyond the bounds of weights.
    pub(super) beyond: Option<(u64, String)>,
}

impl Attribute {
    fn new(name: &[u8], kind: Kind) -> Self {
        let name = String::from_utf8_lossy(name).into_owned();
        Self { name, kind, values: Blocks::default(), numbers: 0, bad: None, beyond: None }
    }

    /// The value of an edge, NaN where there is none.
    pub(super) fn get(&self, edge: usize) -> f64 {
        self.values.get(edge).unwrap_or(f64::NAN)
    }

    /// Lets an edge have a value.
    fn put(&mut self, edge: usize, value: f64) {
        while self.values.len() <= edge && !value.is_nan() {
            self.values.push(f64::NAN);
        }
        self.values.set(edge, value);
    }
}

/// The attributes of edges that were met.
pub(super) struct Attributes<'a> {
    choice: &'a WeightChoice,
    bounds: WeightBounds,
    ranks: HashMap<Vec<u8>, Option<usize>>,
    known: Vec<Attribute>,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(choice: &'a WeightChoice, bounds: WeightBounds) -> Self {
        Self { choice, bounds, ranks: HashMap::new(), known: Vec::new() }
    }

    /// The place of an attribute among those that may be weights, if it is one.
    pub(super) fn rank(&mut self, name: &[u8]) -> Option<usize> {
        if let Some(rank) = self.ranks.get(name) {
            return *rank;
        }
        let kind = self.kind(name).filter(|_| self.ranks.len() < NAMES_MAX)?;
        self.add(name, kind)
    }

    /// The place of an attribute that is no weight, whatever its name is.
    pub(super) fn rank_of_other(&mut self, name: &[u8]) -> Option<usize> {
        if let Some(rank) = self.ranks.get(name) {
            return *rank;
        }
        let kind = (self.ranks.len() < NAMES_MAX).then_some(Kind::Other)?;
        self.add(name, Some(kind))
    }

    /// Adds the name of an attribute, which has a place if it is of a kind.
    fn add(&mut self, name: &[u8], kind: Option<Kind>) -> Option<usize> {
        let rank = kind.map(|kind| {
            self.known.push(Attribute::new(name, kind));
            self.known.len() - 1
        });
        self.ranks.insert(name.to_vec(), rank);
        rank
    }

    /// Meaning of a name, if it may be that of a weight; `None` where no name can be.
    #[expect(clippy::option_option, reason = "the outer one is about the user's choice")]
    fn kind(&self, name: &[u8]) -> Option<Option<Kind>> {
        match self.choice {
            WeightChoice::Ignore | WeightChoice::Column(ColumnRef::Number(_)) => None,
            WeightChoice::Column(ColumnRef::Name(stated)) => {
                Some((stated.as_bytes() == name).then_some(Kind::Weight))
            }
            WeightChoice::IfPresent => {
                let name = String::from_utf8_lossy(name);
                Some(match () {
                    () if names::is_called(&name, "weight") => Some(Kind::Weight),
                    () if names::is_called(&name, "value") => Some(Kind::Value),
                    () if names::is_weight(&name) => Some(Kind::Word),
                    () if names::is_attribute(&name) || names::is_index(&name) => None,
                    () => Some(Kind::Other),
                })
            }
        }
    }

    /// Takes the values of an edge. Returns the bytes that they take.
    pub(super) fn push(&mut self, edge: usize, values: &Values, line: u64) -> u64 {
        let best = self.present().map_or(Kind::Word, |best| best.kind);
        let mut bytes = 0;
        for (attribute, value) in self.known.iter_mut().zip(&values.0) {
            let Some(value) = value else { continue };
            let weight = match number(value.trim_ascii()) {
                Ok(weight) => weight,
                Err(what) => {
                    attribute.bad.get_or_insert((line, what));
                    continue;
                }
            };
            attribute.numbers += 1;
            if !self.bounds.hold(weight)
                && let Err(what) = self.bounds.check(weight, &show(value))
            {
                attribute.beyond.get_or_insert((line, what));
            }
            if attribute.kind <= best {
                let before = attribute.values.len();
                attribute.put(edge, weight);
                bytes += ((attribute.values.len() - before) * size_of::<f64>()) as u64;
            }
        }
        bytes
    }

    /// Moves the values of an edge to an earlier place.
    pub(super) fn copy(&mut self, from: usize, to: usize) {
        for attribute in &mut self.known {
            attribute.put(to, attribute.get(from));
        }
    }

    /// Lets an edge have the values of a later one, where that has some.
    pub(super) fn merge(&mut self, from: usize, into: usize) {
        for attribute in &mut self.known {
            let [old, new] = [into, from].map(|edge| attribute.get(edge));
            if !new.is_nan() {
                attribute.numbers -= usize::from(!old.is_nan());
                attribute.put(into, new);
            }
        }
    }

    /// Forgets the values of an edge that goes.
    pub(super) fn drop(&mut self, edge: usize) {
        for attribute in &mut self.known {
            attribute.numbers -= usize::from(!attribute.get(edge).is_nan());
        }
    }

    /// Leaves the values of the first edges.
    pub(super) fn truncate(&mut self, edges: usize) {
        self.known.iter_mut().for_each(|attribute| attribute.values.truncate(edges));
    }

    /// The best of the attributes that can be the weight.
    pub(super) fn present(&self) -> Option<&Attribute> {
        let some = |attribute: &&Attribute| attribute.kind < Kind::Other && attribute.numbers > 0;
        self.known.iter().filter(some).min_by_key(|attribute| attribute.kind)
    }

    /// Whether some attribute can be the weight.
    pub(super) fn any(&self) -> bool {
        self.present().is_some()
    }

    /// Takes the values of an attribute as the weights; edges without one have `default`.
    pub(super) fn take(&mut self, name: String, default: Option<f64>) -> Weights {
        let mut known = std::mem::take(&mut self.known).into_iter();
        let found = known.find(|attribute| attribute.name == name);
        let values = found.map(|found| found.values).unwrap_or_default();
        Weights { name, values, default: default.unwrap_or(f64::NAN) }
    }

    /// Names of attributes that are as good as the best one, if none is better by its name.
    pub(super) fn tied(&self) -> Vec<&str> {
        let best = self.present().map(|best| best.kind);
        let tied = |attribute: &&Attribute| {
            Some(attribute.kind) == best && best == Some(Kind::Word) && attribute.numbers > 0
        };
        self.known.iter().filter(tied).map(|attribute| &attribute.name[..]).collect()
    }

    /// Name of the best attribute that would be the weight if it held numbers.
    pub(super) fn unnumbered(&self) -> Option<&str> {
        let named = self.known.iter().filter(|attribute| attribute.kind < Kind::Other);
        let bad = named.filter(|attribute| attribute.bad.is_some() && attribute.numbers == 0);
        bad.min_by_key(|attribute| attribute.kind).map(|attribute| &attribute.name[..])
    }

    /// Names of attributes that hold numbers and are not read.
    pub(super) fn unread(&self) -> Vec<&str> {
        let other = |attribute: &&Attribute| {
            attribute.kind == Kind::Other && attribute.numbers > 0 && attribute.bad.is_none()
        };
        self.known.iter().filter(other).map(|attribute| &attribute.name[..]).collect()
    }
}

/// The weights of edges, and the name of the attribute that they are.
pub(super) struct Weights {
    pub(super) name: String,
    values: Blocks<f64>,
    /// Weight of edges that have none.
    default: f64,
}

impl Weights {
    pub(super) fn none(name: String) -> Self {
        Self { name, values: Blocks::default(), default: f64::NAN }
    }

    /// The weight of each edge, in their order, as often as it is asked for.
    pub(super) fn drain(self) -> impl Iterator<Item = f64> {
        let default = self.default;
        let known = move |weight: f64| if weight.is_nan() { default } else { weight };
        self.values.drain().map(known).chain(std::iter::repeat(default))
    }
}
