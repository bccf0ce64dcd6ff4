//! Headers of pages and schemas, as far as they are looked at here.

use bytes::Bytes;
use parquet::file::reader::ChunkReader;

use super::thrift::Cursor;

/// Groups inside one another in a schema.
const SCHEMA_DEPTH_MAX: usize = 100;

/// Bytes of a page header; statistics of long strings can make it long.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// Bytes of a page header that are read at first.
const HEADER_BYTES: usize = 1 << 10;

/// Kinds of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page of an index, or of a kind that came later.
    #[default]
    Other,
    Dictionary,
    Data,
    /// Data whose levels lie before it and are never compressed.
    DataV2,
}

/// Statements of a page header.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Bytes of the header itself.
    pub(super) length: u64,
    pub(super) kind: Kind,
    pub(super) packed: i64,
    pub(super) unpacked: i64,
    pub(super) values: i64,
    pub(super) nulls: i64,
    pub(super) rows: i64,
    pub(super) encoding: i64,
    /// Encoding of definition levels.
    pub(super) level_encoding: i64,
    /// Bytes of definition and of repetition levels, in a page of the second version.
    pub(super) level_bytes: [i64; 2],
    /// Whether the values are compressed as the column is.
    pub(super) is_packed: bool,
}

impl Header {
    /// The header at a place of a file; `None` where there is none.
    pub(super) fn at(
        reader: &impl ChunkReader,
        offset: u64,
    ) -> parquet::errors::Result<Option<Self>> {
        let left = reader.len().saturating_sub(offset);
        let mut length = HEADER_BYTES;
        loop {
            let whole = length as u64 >= left;
            let bytes: Bytes = reader.get_bytes(offset, left.min(length as u64) as usize)?;
            let header = Self::parse(&bytes);
            if header.is_some() || whole || length >= HEADER_BYTES_MAX {
                return Ok(header);
            }
            length *= 8;
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut header = Self { is_packed: true, ..Self::default() };
        let mut cursor = Cursor::new(bytes);
        cursor.fields(&mut |cursor, field| {
            match field.id {
                2 if field.is_integer() => header.unpacked = cursor.integer()?,
                3 if field.is_integer() => header.packed = cursor.integer()?,
                5 if field.is_struct() => header.page(cursor, Kind::Data)?,
                7 if field.is_struct() => header.page(cursor, Kind::Dictionary)?,
                8 if field.is_struct() => header.page(cursor, Kind::DataV2)?,
                _ => cursor.skip(field)?,
            }
            Some(())
        })?;
        header.length = cursor.at as u64;
        Some(header)
    }

    fn page(&mut self, cursor: &mut Cursor<'_>, kind: Kind) -> Option<()> {
        self.kind = kind;
        cursor.fields(&mut |cursor, field| {
            if let Some(truth) = field.truth().filter(|_| kind == Kind::DataV2 && field.id == 7) {
                self.is_packed = truth;
                return Some(());
            }
            let place = match (kind, field.id) {
                _ if !field.is_integer() => return cursor.skip(field),
                (_, 1) => &mut self.values,
                (Kind::DataV2, 2) => &mut self.nulls,
                (Kind::DataV2, 3) => &mut self.rows,
                (Kind::DataV2, 4) | (_, 2) => &mut self.encoding,
                (Kind::Data, 3) => &mut self.level_encoding,
                (Kind::DataV2, 5) => &mut self.level_bytes[0],
                (Kind::DataV2, 6) => &mut self.level_bytes[1],
                _ => return cursor.skip(field),
            };
            *place = cursor.integer()?;
            Some(())
        })
    }
}

/// Whether the schema in a footer is flat enough to be followed by recursion. The schema is a list
/// of elements in depth-first order (field 2 of the footer), each with its number of children (5).
pub(super) fn is_schema_shallow(footer: &[u8]) -> bool {
    let mut shallow = true;
    let visited = Cursor::new(footer).fields(&mut |cursor, field| {
        if field.id != 2 || !field.is_list() {
            return cursor.skip(field);
        }
        // Children that are still to come in each of the groups around.
        let mut open: Vec<i64> = Vec::new();
        cursor.elements(&mut |cursor, element| {
            let mut children = 0;
            if !element.is_struct() {
                return cursor.skip_element(element);
            }
            cursor.fields(&mut |cursor, field| {
                if field.id == 5 && field.is_integer() {
                    children = cursor.integer()?;
                    return Some(());
                }
                cursor.skip(field)
            })?;
            while open.pop_if(|left| *left <= 0).is_some() {}
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > 0 {
                open.push(children);
            }
            shallow &= open.len() <= SCHEMA_DEPTH_MAX;
            shallow.then_some(())
        })
    });
    visited.is_some() && shallow
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer whose schema has one element a number of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x29, 0xfc];
        let mut count = children.len();
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        for number in children {
            bytes.extend_from_slice(&[0x55, 2 * number, 0]);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn deep_schemas_are_told_from_wide_ones() {
        assert!(is_schema_shallow(&footer(&[2, 0, 0])));
        let pairs: Vec<u8> = [2_u8, 0].repeat(60).into_iter().chain([0]).collect();
        assert!(is_schema_shallow(&footer(&pairs)));
        assert!(!is_schema_shallow(&footer(&[1; 5_000])));
        assert!(!is_schema_shallow(&footer(&[2, 0].repeat(5_000))));
        let mut wide = vec![1; 50];
        wide.extend([63; 1]);
        wide.extend([0; 63]);
        assert!(is_schema_shallow(&footer(&wide)));
        assert!(!is_schema_shallow(&[0x29, 0xfc]));
    }

    #[test]
    fn page_headers_are_understood() {
        // Type 0, 100 bytes unpacked, 60 packed, data page: 7 values, encoding 7.
        let bytes = [0x15, 0, 0x15, 200, 1, 0x15, 120, 0x2c, 0x15, 14, 0x15, 14, 0, 0, 99];
        let header = Header::parse(&bytes).unwrap();
        assert_eq!((header.length, header.unpacked, header.packed), (14, 100, 60));
        assert_eq!((header.values, header.encoding, header.kind), (7, 7, Kind::Data));
        assert!(Header::parse(&bytes[..13]).is_none());
    }

    #[test]
    fn levels_of_the_second_version_are_told_apart() {
        // Type 3, 100 bytes unpacked, 60 packed; 7 values, 1 null, 7 rows, encoding 5, levels of
        // 3 and 0 bytes, not compressed.
        let start = [0x15, 6, 0x15, 200, 1, 0x15, 120, 0x5c];
        let page = [0x15, 14, 0x15, 2, 0x15, 14, 0x15, 10, 0x15, 6, 0x15, 0, 0x12, 0, 0];
        let header = Header::parse(&[&start[..], &page[..]].concat()).unwrap();
        assert_eq!((header.kind, header.is_packed), (Kind::DataV2, false));
        assert_eq!((header.values, header.nulls, header.rows, header.encoding), (7, 1, 7, 5));
        assert_eq!(header.level_bytes, [3, 0]);
    }
}
