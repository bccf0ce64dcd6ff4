//! Just enough of Thrift's compact protocol to look at Parquet's headers before a decoder does.
//!
//! A struct is a sequence of fields, each `(delta of id << 4) | type`, up to a zero byte; integers
//! are zigzag varints; a list is `(size << 4) | type` and its elements. `None` stands for bytes
//! that are malformed or end too early. Nothing is allocated, and nesting is bounded.

/// Structs and lists inside one another that are followed.
const DEPTH_MAX: u32 = 32;

/// Types of the compact protocol that are looked at here.
const BOOL_TRUE: u8 = 1;
const BOOL_FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// A place in bytes of the compact protocol.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    /// Bytes consumed.
    pub(super) at: usize,
    depth: u32,
}

/// Type of a field. Its value must be consumed exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Number of the field in its struct.
    pub(super) id: i64,
    kind: u8,
}

impl Field {
    /// Whether the value is a struct.
    pub(super) fn is_struct(self) -> bool {
        self.kind == STRUCT
    }

    /// Whether the value is an integer of 16, 32 or 64 bits.
    pub(super) fn is_integer(self) -> bool {
        matches!(self.kind, I16 | I32 | I64)
    }

    /// The value of a truth, of which nothing follows in a struct.
    pub(super) fn truth(self) -> Option<bool> {
        match self.kind {
            BOOL_TRUE => Some(true),
            BOOL_FALSE => Some(false),
            _ => None,
        }
    }

    /// Whether the value is a list.
    pub(super) fn is_list(self) -> bool {
        self.kind == LIST
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 0 }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip_bytes(&mut self, count: u64) -> Option<()> {
        let left = (self.bytes.len() - self.at) as u64;
        (count <= left).then(|| self.at += count as usize)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// An integer of any width.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Visits the fields of a struct. `visit` consumes the value of a field, by whatever method
    /// fits its type, [`Cursor::skip`] included.
    pub(super) fn fields(
        &mut self,
        visit: &mut dyn FnMut(&mut Self, Field) -> Option<()>,
    ) -> Option<()> {
        self.nested(|cursor| {
            let mut id = 0;
            loop {
                let head = cursor.byte()?;
                if head == 0 {
                    return Some(());
                }
                id = match head >> 4 {
                    0 => cursor.integer()?,
                    delta => i64::checked_add(id, delta.into())?,
                };
                visit(cursor, Field { id, kind: head & 0x0f })?;
            }
        })
    }

    /// Visits the elements of a list; `visit` consumes each as the value of a field.
    pub(super) fn elements(
        &mut self,
        visit: &mut dyn FnMut(&mut Self, Field) -> Option<()>,
    ) -> Option<()> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            count => count.into(),
        };
        // In a list, every element takes at least a byte, so this ends with the bytes.
        self.nested(|cursor| {
            (0..count).try_for_each(|_| visit(cursor, Field { id: 0, kind: head & 0x0f }))
        })
    }

    /// Consumes the value of a field of a struct.
    pub(super) fn skip(&mut self, field: Field) -> Option<()> {
        match field.kind {
            // In a struct the type is the value.
            BOOL_TRUE | BOOL_FALSE => Some(()),
            _ => self.skip_element(field),
        }
    }

    /// Consumes an element of a list.
    pub(super) fn skip_element(&mut self, field: Field) -> Option<()> {
        match field.kind {
            BOOL_TRUE | BOOL_FALSE | BYTE => self.skip_bytes(1),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            DOUBLE => self.skip_bytes(8),
            BINARY => self.varint().and_then(|length| self.skip_bytes(length)),
            LIST | SET => self.elements(&mut Self::skip_element),
            MAP => self.skip_map(),
            STRUCT => self.fields(&mut Self::skip),
            _ => None,
        }
    }

    fn skip_map(&mut self) -> Option<()> {
        let count = self.varint()?;
        if count == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        self.nested(|cursor| {
            (0..count).try_for_each(|_| {
                cursor.skip_element(Field { id: 0, kind: kinds >> 4 })?;
                cursor.skip_element(Field { id: 0, kind: kinds & 0x0f })
            })
        })
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{1: -3, 2: true, 4: "ab", 5: [1, 2], 6: {1: 7}, 40: 9}`
    const SAMPLE: &[u8] =
        &[0x15, 5, 0x11, 0x28, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x15, 14, 0, 0x05, 80, 18, 0];

    #[test]
    fn fields_are_found_and_others_skipped() {
        let mut cursor = Cursor::new(SAMPLE);
        let mut seen = Vec::new();
        let visited = cursor.fields(&mut |cursor, field| {
            if field.id == 5 && field.is_list() {
                return cursor.elements(&mut |cursor, _| {
                    seen.push((5, cursor.integer()?));
                    Some(())
                });
            }
            if field.is_integer() {
                seen.push((field.id, cursor.integer()?));
                return Some(());
            }
            cursor.skip(field)
        });
        assert_eq!(visited, Some(()));
        assert_eq!(seen, [(1, -3), (5, 1), (5, 2), (40, 9)]);
        assert_eq!(cursor.at, SAMPLE.len());
    }

    #[test]
    fn what_is_cut_short_or_nested_too_deep_is_refused() {
        for end in 0..SAMPLE.len() {
            assert_eq!(Cursor::new(&SAMPLE[..end]).fields(&mut Cursor::skip), None);
        }
        let deep = vec![0x1c; 1_000_000];
        assert_eq!(Cursor::new(&deep).fields(&mut Cursor::skip), None);
        let long = [0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(Cursor::new(&long).fields(&mut Cursor::skip), None);
    }
}
