//! The pages of a column of a row group, one after the other, unpacked.
//!
//! Headers were looked at before ([`super::pages`]); they are looked at again here, since a file
//! may change meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

use super::codec::Codec;
use super::header::{Header, Kind};

/// Reads pages.
pub(super) struct Pages<R> {
    reader: Arc<R>,
    codec: Option<Codec>,
    /// Where the next page begins, and the last one ends.
    offset: u64,
    end: u64,
}

impl<R: ChunkReader> Pages<R> {
    pub(super) fn new(reader: Arc<R>, column: &ColumnChunkMetaData) -> Result<Self> {
        let (offset, length) = column.byte_range();
        let packed = column.compression() != Compression::UNCOMPRESSED;
        let codec = packed.then(|| Codec::new(column.compression())).transpose()?;
        Ok(Self { reader, codec, offset, end: offset.saturating_add(length) })
    }

    /// The header of the next page that belongs to the values.
    fn header(&mut self) -> Result<Option<Header>> {
        while self.offset < self.end {
            let header = Header::at(&*self.reader, self.offset)?;
            let header = header.ok_or_else(|| damaged("a page has no header"))?;
            if header.kind != Kind::Other {
                return Ok(Some(header));
            }
            self.pass(&header)?;
        }
        Ok(None)
    }

    /// Passes over a page; where its body lies.
    fn pass(&mut self, header: &Header) -> Result<(u64, usize)> {
        let start = self.offset + header.length;
        let length = natural(header.packed)?;
        let end = start.checked_add(length as u64).filter(|end| *end <= self.end);
        self.offset = end.ok_or_else(|| damaged("a page ends beyond its column"))?;
        Ok((start, length))
    }

    /// The bytes of a page, unpacked. Levels of the second version lie before the packed bytes.
    fn body(&mut self, header: &Header) -> Result<Bytes> {
        let (start, length) = self.pass(header)?;
        let packed = self.reader.get_bytes(start, length)?;
        let unpacked = natural(header.unpacked)?;
        let levels = natural(header.level_bytes[0])?.checked_add(natural(header.level_bytes[1])?);
        let levels = levels.filter(|levels| *levels <= packed.len().min(unpacked));
        let levels = levels.ok_or_else(|| damaged("a page is shorter than its levels"))?;
        let Some(codec) = self.codec.as_mut().filter(|_| header.is_packed) else {
            return Ok(packed);
        };
        let mut bytes = Vec::with_capacity(unpacked);
        bytes.extend_from_slice(&packed[..levels]);
        // A page without values has no bytes to unpack.
        if unpacked > levels {
            codec.unpack(&packed[levels..], unpacked - levels, &mut bytes)?;
        }
        Ok(bytes.into())
    }

    fn page(&mut self) -> Result<Option<Page>> {
        let Some(header) = self.header()? else { return Ok(None) };
        let buf = self.body(&header)?;
        let num_values = count(header.values)?;
        let encoding = encoding(header.encoding)?;
        Ok(Some(match header.kind {
            Kind::Other | Kind::Dictionary => {
                Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }
            }
            Kind::Data => Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding: self::encoding(header.level_encoding)?,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            },
            Kind::DataV2 => Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls: count(header.nulls)?,
                num_rows: count(header.rows)?,
                def_levels_byte_len: count(header.level_bytes[0])?,
                rep_levels_byte_len: count(header.level_bytes[1])?,
                is_compressed: false,
                statistics: None,
            },
        }))
    }
}

impl<R: ChunkReader> Iterator for Pages<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.page().transpose()
    }
}

impl<R: ChunkReader> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.page()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        let Some(header) = self.header()? else { return Ok(None) };
        let is_dict = header.kind == Kind::Dictionary;
        let num_levels = if is_dict { None } else { Some(natural(header.values)?) };
        let num_rows = if header.kind == Kind::DataV2 { Some(natural(header.rows)?) } else { None };
        Ok(Some(PageMetadata { num_rows, num_levels, is_dict }))
    }

    fn skip_next_page(&mut self) -> Result<()> {
        let header = self.header()?;
        header.map_or(Ok(()), |header| self.pass(&header).map(|_| ()))
    }
}

/// An encoding by its number.
fn encoding(number: i64) -> Result<Encoding> {
    let found = Encoding::VARIANTS.iter().find(|known| i64::from(**known as i32) == number);
    found.copied().ok_or_else(|| damaged(&format!("a page has the unknown encoding {number}")))
}

fn natural(number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| damaged(&format!("a page has {number} of its parts")))
}

fn count(number: i64) -> Result<u32> {
    u32::try_from(number).map_err(|_| damaged(&format!("a page has {number} of its parts")))
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
