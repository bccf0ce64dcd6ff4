//! The ids of vertices as edges are written with them.

use welter_model::ids::Names;
use welter_model::table::Id;
use welter_model::two_kinds::TwoKinds;

/// Ids as they are written for slots.
#[derive(Clone, Copy)]
pub(super) enum IdView<'a> {
    /// The slot.
    Slots,
    /// The slot plus `first`; none is larger than `last`.
    Offset { first: u64, last: u64 },
    /// An integer.
    Integers(&'a [u64]),
    /// A string.
    Names(&'a Names),
    /// An id of one of two kinds of vertices.
    TwoKinds(&'a TwoKinds),
}

impl IdView<'_> {
    /// The largest id, if it does not fit into 32 bits.
    pub(super) fn beyond_u32(&self) -> Option<u64> {
        let last = match self {
            Self::Offset { last, .. } | Self::Integers([.., last]) => *last,
            // Ids ascend within each kind; the largest of both is not looked for.
            Self::TwoKinds(_) => u64::MAX,
            _ => 0,
        };
        (last > u32::MAX.into()).then_some(last)
    }

    /// Appends the id of a slot as one field of a row with this separator.
    pub(super) fn append(&self, text: &mut Vec<u8>, slot: u32, separator: u8) {
        match self {
            Self::Names(names) => crate::text::name(text, names.get(slot as usize), separator),
            Self::TwoKinds(ids) => match ids.get(slot as usize) {
                Id::Name(name) => crate::text::name(text, name, separator),
                id => crate::text::integer(text, id.integer().unwrap_or_default()),
            },
            _ => crate::text::integer(text, self.integer(slot)),
        }
    }

    /// Appends the id of a slot as a value of JSON.
    pub(super) fn append_json(&self, text: &mut Vec<u8>, slot: u32) {
        match self {
            Self::Names(names) => crate::json::string(text, names.get(slot as usize)),
            _ => crate::text::integer(text, self.integer(slot)),
        }
    }

    /// The integer id of a slot.
    pub(super) fn integer(&self, slot: u32) -> u64 {
        match self {
            Self::Offset { first, .. } => first + u64::from(slot),
            Self::Integers(ids) => ids[slot as usize],
            Self::TwoKinds(ids) => ids.get(slot as usize).integer().unwrap_or_default(),
            Self::Slots | Self::Names(_) => slot.into(),
        }
    }
}
