//! Strings of a column whose pages all refer to its dictionary.
//!
//! Each string is looked at once, and a row is its place among them: the pages of values are given
//! to a decoder of integers, behind a dictionary in which each integer stands at its own place.

use std::sync::Arc;

use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type};

/// Takes the dictionary of a column from its first page: a page of its values as they are, and
/// their number.
pub(super) fn values(pages: &mut dyn PageReader) -> Result<(Page, u32)> {
    let Some(Page::DictionaryPage { buf, num_values, .. }) = pages.get_next_page()? else {
        let what = "a column refers to a dictionary that it does not have";
        return Err(ParquetError::General(what.to_owned()));
    };
    let page = Page::DataPage {
        buf,
        num_values,
        encoding: Encoding::PLAIN,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    Ok((page, num_values))
}

/// The description of the places, which are null where strings are.
pub(super) fn places(leaf: &ColumnDescPtr) -> Result<ColumnDescPtr> {
    described(leaf, Physical::INT32, leaf.max_def_level())
}

/// The description of the strings of a dictionary, none of which is null.
pub(super) fn strings(leaf: &ColumnDescPtr) -> Result<ColumnDescPtr> {
    described(leaf, Physical::BYTE_ARRAY, 0)
}

fn described(leaf: &ColumnDescPtr, physical: Physical, level: i16) -> Result<ColumnDescPtr> {
    let repetition = if level > 0 { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let kind = Type::primitive_type_builder(leaf.name(), physical).with_repetition(repetition);
    let path = leaf.path().clone();
    Ok(Arc::new(ColumnDescriptor::new(Arc::new(kind.build()?), level, 0, path)))
}

/// Pages behind one that is made.
pub(super) struct Behind {
    first: Option<Page>,
    pages: Option<Box<dyn PageReader>>,
}

impl Behind {
    /// A page with none behind it.
    pub(super) fn only(page: Page) -> Self {
        Self { first: Some(page), pages: None }
    }

    /// Pages of values behind a dictionary of `count` integers, each at its own place.
    pub(super) fn integers(count: u32, pages: Box<dyn PageReader>) -> Self {
        let page = Page::DictionaryPage {
            buf: (0..count).flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into(),
            num_values: count,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        Self { first: Some(page), pages: Some(pages) }
    }
}

impl Iterator for Behind {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Behind {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        match (self.first.take(), &mut self.pages) {
            (Some(page), _) => Ok(Some(page)),
            (None, Some(pages)) => pages.get_next_page(),
            (None, None) => Ok(None),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        match (&self.first, &mut self.pages) {
            (Some(page), _) => {
                let num_levels = Some(page.num_values() as usize);
                let is_dict = page.is_dictionary_page();
                Ok(Some(PageMetadata { num_rows: None, num_levels, is_dict }))
            }
            (None, Some(pages)) => pages.peek_next_page(),
            (None, None) => Ok(None),
        }
    }

    fn skip_next_page(&mut self) -> Result<()> {
        match (self.first.take(), &mut self.pages) {
            (None, Some(pages)) => pages.skip_next_page(),
            _ => Ok(()),
        }
    }
}
