//! Claims of a Parquet file about itself, checked against its size before a decoder believes it.
//!
//! The decoder allocates as much as page headers ask for, and follows schemas as deep as they go.
//! So all headers of the columns that will be read are looked at first:
//!
//! - groups in the schema are nested no deeper than reason allows ([`super::header`]);
//! - a column chunk lies inside the file, and its pages lie inside the chunk;
//! - no page, and not all pages and rows together, unpack to more than the stated ratio allows;
//! - a page holds no more values than its row group has rows, a dictionary no more than its bytes.
//!
//! That a page unpacks to no more than its header says is held where it is unpacked
//! ([`super::codec`]).

use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::header::{Header, Kind};
use crate::error::InputError;
use crate::options::Limits;

/// The encoding in which a value takes over any part of the one before it.
const DELTA_BYTE_ARRAY: i64 = 7;

/// The encodings in which values are places in a dictionary.
const DICTIONARY: [i64; 2] = [2, 8];

/// Facts that decoding the pages of a column needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// Largest page, unpacked, in which a few bytes can stand for many.
    pub(super) growing_bytes_max: u64,
    /// Whether all values are places in a dictionary.
    pub(super) is_coded: bool,
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
        let (mut has_dictionary, mut has_others) = (false, false);
        while offset < end {
            let header = self.header(offset)?;
            let body = offset + header.length;
            let left = end.saturating_sub(body);
            let (packed, unpacked) = self
                .check_header(&header, left, group.num_rows())
                .map_err(|what| InputError::byte(self.file, offset, what))?;
            self.count(unpacked)?;
            if header.encoding == DELTA_BYTE_ARRAY {
                demand.growing_bytes_max = demand.growing_bytes_max.max(unpacked);
            }
            has_dictionary |= header.kind == Kind::Dictionary;
            let is_data = matches!(header.kind, Kind::Data | Kind::DataV2);
            has_others |= is_data && !DICTIONARY.contains(&header.encoding);
            offset = body + packed;
        }
        demand.is_coded = has_dictionary && !has_others;
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
            if header.kind == Kind::Dictionary { header.unpacked.saturating_mul(8) } else { rows };
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
        let found = Header::at(self.reader, offset).map_err(|error| {
            InputError::byte(self.file, offset, format!("cannot be read: {error}"))
        })?;
        found.ok_or_else(|| InputError::byte(self.file, offset, "expected a page header"))
    }
}
