//! What a Parquet file says about itself, checked against its size before a decoder believes it.
//!
//! The decoder allocates as much as page headers ask for, and follows schemas as deep as they go.
//! So all headers of the columns that will be read are looked at first:
//!
//! - groups in the schema are nested at most [`SCHEMA_DEPTH_MAX`] deep;
//! - a column chunk lies inside the file, and its pages lie inside the chunk;
//! - no page, and not all pages and rows together, unpack to more than the stated ratio allows;
//! - a page holds no more values than its row group has rows, a dictionary no more than its bytes;
//! - gzip pages, which the decoder lets grow beyond what their header says, are unpacked once for
//!   their size.

use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::thrift::Cursor;
use crate::error::InputError;
use crate::options::Limits;

/// Groups inside one another in a schema.
const SCHEMA_DEPTH_MAX: usize = 100;

/// Bytes of a page header; statistics of long strings can make it long.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// Bytes of a page header that are read at first.
const HEADER_BYTES: usize = 1 << 10;

/// The encoding in which a value takes over any part of the one before it.
const DELTA_BYTE_ARRAY: i64 = 7;

/// Facts that decoding the pages of a column needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// Largest page, unpacked, in which a few bytes can stand for many.
    pub(super) growing_bytes_max: u64,
}

/// Watches over one file.
pub(super) struct Guard<'a, R> {
    file: &'a str,
    reader: &'a R,
    /// Bytes that rows and pages may take in all.
    unpacked_bytes_max: u64,
    unpacked_bytes: AtomicU64,
    limits: &'a Limits,
}

/// Statements of a page header.
#[derive(Debug, Default)]
struct Header {
    /// Bytes of the header itself.
    length: u64,
    packed: i64,
    unpacked: i64,
    values: i64,
    encoding: i64,
    is_dictionary: bool,
}

impl<'a, R: ChunkReader + Length> Guard<'a, R> {
    pub(super) fn new(file: &'a str, reader: &'a R, limits: &'a Limits) -> Self {
        let allowed = reader.len().saturating_mul(limits.ratio_max).max(limits.ratio_free_bytes);
        let unpacked_bytes = AtomicU64::new(0);
        Self { file, reader, unpacked_bytes_max: allowed, unpacked_bytes, limits }
    }

    /// Counts bytes as unpacked, and refuses too many.
    pub(super) fn count(&self, bytes: u64) -> Result<(), InputError> {
        let before = self.unpacked_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= self.unpacked_bytes_max {
            return Ok(());
        }
        let what = format!(
            "unpacks to more than {} times its size, which no edge list does",
            self.limits.ratio_max
        );
        Err(InputError::content(self.file, what))
    }

    /// Looks at the pages of a column of a row group.
    pub(super) fn check(
        &self,
        group: &RowGroupMetaData,
        column: &ColumnChunkMetaData,
    ) -> Result<Demand, InputError> {
        if column.compression() == Compression::LZO {
            let what = "expected pages that are compressed in a known way, found LZO, which is not \
                        read (write the file with zstd or snappy)";
            return Err(InputError::content(self.file, what));
        }
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let (mut offset, end) = self.range(start, column.compressed_size())?;
        let mut demand = Demand::default();
        while offset < end {
            let header = self.header(offset)?;
            let body = offset + header.length;
            let left = end.saturating_sub(body);
            let (packed, unpacked) = self
                .check_header(&header, left, group.num_rows())
                .map_err(|what| InputError::byte(self.file, offset, what))?;
            if matches!(column.compression(), Compression::GZIP(_)) {
                self.check_gzip(body, packed, unpacked)?;
            }
            self.count(unpacked)?;
            if header.encoding == DELTA_BYTE_ARRAY {
                demand.growing_bytes_max = demand.growing_bytes_max.max(unpacked);
            }
            offset = body + packed;
        }
        Ok(demand)
    }

    /// The bytes of a page, packed and unpacked, of which `left` may be packed.
    fn check_header(&self, header: &Header, left: u64, rows: i64) -> Result<(u64, u64), String> {
        let found = header.packed;
        let packed =
            u64::try_from(found).ok().filter(|packed| *packed <= left).ok_or_else(|| {
                format!(
                    "expected a page of at most the {left} bytes left in its column, found {found}"
                )
            })?;
        let allowed = packed.saturating_mul(self.limits.ratio_max);
        let allowed = allowed.max(self.limits.ratio_free_bytes);
        let found = header.unpacked;
        let unpacked = u64::try_from(found).ok().filter(|n| *n <= allowed).ok_or_else(|| {
            format!(
                "expected a page of {packed} bytes to unpack to at most {allowed}, found {found}"
            )
        })?;
        let values_max =
            if header.is_dictionary { header.unpacked.saturating_mul(8) } else { rows };
        if (0..=values_max).contains(&header.values) {
            return Ok((packed, unpacked));
        }
        Err(format!("expected a page of at most {values_max} values, found {}", header.values))
    }

    fn range(&self, start: i64, length: i64) -> Result<(u64, u64), InputError> {
        let range = u64::try_from(start).ok().zip(u64::try_from(length).ok());
        let range = range.and_then(|(start, length)| Some((start, start.checked_add(length)?)));
        range.filter(|(_, end)| *end <= self.reader.len()).ok_or_else(|| {
            let what = format!(
                "the file is damaged: it places a column of {length} bytes at byte {start}, \
                 and has {} bytes",
                self.reader.len()
            );
            InputError::content(self.file, what)
        })
    }

    fn header(&self, offset: u64) -> Result<Header, InputError> {
        let left = self.reader.len() - offset;
        let mut length = HEADER_BYTES;
        loop {
            let whole = length as u64 >= left;
            let bytes = self.bytes(offset, left.min(length as u64))?;
            if let Some(header) = Header::parse(&bytes) {
                return Ok(header);
            }
            if whole || length >= HEADER_BYTES_MAX {
                return Err(InputError::byte(self.file, offset, "expected a page header"));
            }
            length *= 8;
        }
    }

    fn bytes(&self, offset: u64, length: u64) -> Result<bytes::Bytes, InputError> {
        self.reader.get_bytes(offset, length as usize).map_err(|error| {
            InputError::byte(self.file, offset, format!("cannot be read: {error}"))
        })
    }

    /// Unpacks a gzip page for its size. A page of version 2 begins with levels that are not
    /// packed; it is no gzip then, and the decoder finds that out.
    fn check_gzip(&self, offset: u64, packed: u64, unpacked: u64) -> Result<(), InputError> {
        let bytes = self.bytes(offset, packed)?;
        let start = bytes.windows(2).take(1 << 16).position(|pair| pair == [0x1f, 0x8b]);
        let decoder = flate2::read::MultiGzDecoder::new(&bytes[start.unwrap_or(0)..]);
        let grown = std::io::copy(&mut decoder.take(unpacked + 1), &mut std::io::sink());
        if grown.is_ok_and(|grown| grown > unpacked) {
            let what = format!("expected a page to unpack to {unpacked} bytes, found more");
            return Err(InputError::byte(self.file, offset, what));
        }
        Ok(())
    }
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut header = Self::default();
        let mut cursor = Cursor::new(bytes);
        cursor.fields(&mut |cursor, field| {
            match field.id {
                2 if field.is_integer() => header.unpacked = cursor.integer()?,
                3 if field.is_integer() => header.packed = cursor.integer()?,
                // Data page, dictionary page, data page of version 2.
                5 | 7 | 8 if field.is_struct() => {
                    header.is_dictionary = field.id == 7;
                    header.page(cursor, if field.id == 8 { 4 } else { 2 })?;
                }
                _ => cursor.skip(field)?,
            }
            Some(())
        })?;
        header.length = cursor.at as u64;
        Some(header)
    }

    fn page(&mut self, cursor: &mut Cursor<'_>, encoding: i64) -> Option<()> {
        cursor.fields(&mut |cursor, field| {
            if field.is_integer() && field.id == 1 {
                self.values = cursor.integer()?;
            } else if field.is_integer() && field.id == encoding {
                self.encoding = cursor.integer()?;
            } else {
                cursor.skip(field)?;
            }
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
        assert_eq!((header.values, header.encoding, header.is_dictionary), (7, 7, false));
        assert!(Header::parse(&bytes[..13]).is_none());
    }
}
