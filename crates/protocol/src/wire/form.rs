//! Bytes of values: whole numbers of a fixed width, least byte first; a length before what has one;
//! a tag before what has variants.
//!
//! ```text
//! take(put(v)) = v          take(b) = v  =>  put(v) = b          so each value has one form
//! ```
//!
//! A payload has no bytes here: it travels beside the form, one at most.
//!
//! **Invariant:** nothing is allocated for more elements than there are bytes left, whatever a
//! length says. Tested by `lengths_are_bounded_by_what_came`.

use std::sync::Arc;

use crate::ids::{Bytes, Rank};
use crate::payload::Payload;

/// Bytes that are being written, and the payload that goes with them.
pub(crate) struct Form {
    pub(crate) bytes: Vec<u8>,
    pub(super) payload: Option<Payload>,
}

impl Form {
    /// A form that begins with these bytes.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, payload: None }
    }
}

/// Bytes that are being read.
pub(crate) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    /// Ranks are below this.
    pub(super) machines: usize,
    /// Payload that came with them, until it is taken.
    pub(super) payload: Option<Payload>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], machines: usize) -> Self {
        Self { bytes, machines, payload: None }
    }

    /// Bytes that came with a payload.
    pub(super) fn carrying(bytes: &'a [u8], machines: usize, payload: Payload) -> Self {
        Self { bytes, machines, payload: Some(payload) }
    }

    /// A value that these are all the bytes of, and the payload, if there is any, is in.
    pub(crate) fn only<T: Wire>(mut self) -> Option<T> {
        let value = T::take(&mut self)?;
        let is_whole = self.payload.is_none_or(|payload| payload.is_empty());
        (self.bytes.is_empty() && is_whole).then_some(value)
    }

    /// A length of things that take a byte each at least.
    fn length(&mut self) -> Option<usize> {
        let length = usize::try_from(u64::take(self)?).ok()?;
        (length <= self.bytes.len()).then_some(length)
    }
}

/// Value with a form on the wire.
pub(crate) trait Wire: Sized {
    fn put(&self, to: &mut Form);

    /// The value that comes next; none if there is none.
    fn take(from: &mut Reader<'_>) -> Option<Self>;
}

macro_rules! wire_number {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            fn put(&self, to: &mut Form) {
                to.bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn take(from: &mut Reader<'_>) -> Option<Self> {
                let (first, rest) = from.bytes.split_first_chunk()?;
                from.bytes = rest;
                Some(Self::from_le_bytes(*first))
            }
        }
    )*};
}

wire_number!(u8, u32, u64);

/// The only `usize`s that travel are ranks.
impl Wire for Rank {
    fn put(&self, to: &mut Form) {
        (*self as u32).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        let rank = u32::take(from)? as usize;
        (rank < from.machines).then_some(rank)
    }
}

impl Wire for bool {
    fn put(&self, to: &mut Form) {
        to.bytes.push(u8::from(*self));
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, to: &mut Form) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

impl Wire for Bytes {
    fn put(&self, to: &mut Form) {
        (self.len() as u64).put(to);
        to.bytes.extend_from_slice(self);
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        let length = from.length()?;
        let (bytes, rest) = from.bytes.split_at_checked(length)?;
        from.bytes = rest;
        Some(bytes.into())
    }
}

/// Beside the form: a message with two of them has none.
impl Wire for Payload {
    fn put(&self, to: &mut Form) {
        assert!(to.payload.is_none(), "a message carries one payload");
        to.payload = Some(self.clone());
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        from.payload.take()
    }
}

/// Text is UTF-8.
impl Wire for Arc<str> {
    fn put(&self, to: &mut Form) {
        (self.len() as u64).put(to);
        to.bytes.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        let bytes = Bytes::take(from)?;
        std::str::from_utf8(&bytes).ok().map(Self::from)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, to: &mut Form) {
        (self.len() as u64).put(to);
        for value in self {
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        let length = from.length()?;
        (0..length).map(|_| T::take(from)).collect()
    }
}

impl Wire for Arc<[u64]> {
    fn put(&self, to: &mut Form) {
        self.to_vec().put(to);
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        Vec::take(from).map(Into::into)
    }
}

impl<T: Wire> Wire for Arc<T> {
    fn put(&self, to: &mut Form) {
        self.as_ref().put(to);
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        T::take(from).map(Self::new)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, to: &mut Form) {
        self.as_ref().put(to);
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        T::take(from).map(Self::new)
    }
}

impl<A: Wire, B: Wire, C: Wire> Wire for (A, B, C) {
    fn put(&self, to: &mut Form) {
        self.0.put(to);
        self.1.put(to);
        self.2.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Option<Self> {
        Some((A::take(from)?, B::take(from)?, C::take(from)?))
    }
}

/// The form of a struct: its fields, in this order.
macro_rules! wire_struct {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl Wire for $type {
            fn put(&self, to: &mut Form) {
                let Self { $($field),* } = self;
                $($field.put(to);)*
            }

            fn take(from: &mut Reader<'_>) -> Option<Self> {
                $(let $field = Wire::take(from)?;)*
                Some(Self { $($field),* })
            }
        }
    };
}

/// The form of an enum: a tag, then the fields of its variant. Tags are never given to another one.
macro_rules! wire_enum {
    ($type:ty {
        $($tag:literal $variant:ident $({ $($field:ident),* })? $(( $item:ident ))?,)*
    }) => {
        impl Wire for $type {
            fn put(&self, to: &mut Form) {
                match self {
                    $(Self::$variant $({ $($field),* })? $(($item))? => {
                        to.bytes.push($tag);
                        $($($field.put(to);)*)?
                        $($item.put(to);)?
                    })*
                }
            }

            fn take(from: &mut Reader<'_>) -> Option<Self> {
                Some(match u8::take(from)? {
                    $($tag => {
                        $($(let $field = Wire::take(from)?;)*)?
                        $(let $item = Wire::take(from)?;)?
                        Self::$variant $({ $($field),* })? $(($item))?
                    })*
                    _ => return None,
                })
            }
        }
    };
}

pub(super) use {wire_enum, wire_struct};
