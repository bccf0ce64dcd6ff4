//! Dictionaries: values that columns of indices refer to, by the id that the schema has for them.
//!
//! `arrow-ipc` reads dictionaries too, but with it comes `arrow-select`, whose concatenation of
//! arrays of all types takes a megabyte of the command. A dictionary that grows is a rare thing, so
//! here its two parts are copied one after the other.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::transform::MutableArrayData;
use arrow_ipc::reader::read_record_batch;
use arrow_ipc::{DictionaryBatch, MetadataVersion};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// Values of each dictionary.
pub(super) type Dictionaries = HashMap<i64, ArrayRef>;

/// Reads a dictionary, or more values of one that is known.
pub(super) fn read(
    body: &Buffer,
    batch: DictionaryBatch<'_>,
    schema: &Schema,
    dictionaries: &mut Dictionaries,
    version: MetadataVersion,
) -> Result<(), ArrowError> {
    let id = batch.id();
    let values = values_of(schema, id)
        .ok_or_else(|| invalid(format!("dictionary id {id} not found in schema")))?;
    let data = batch
        .data()
        .ok_or_else(|| ArrowError::ParseError("a dictionary without its values".to_owned()))?;
    let schema = Arc::new(Schema::new(vec![Field::new("", values.clone(), true)]));
    let read = read_record_batch(body, data, schema, dictionaries, None, &version)?;
    let mut values = Arc::clone(read.column(0));
    if batch.isDelta() {
        let known = dictionaries
            .get(&id)
            .ok_or_else(|| invalid(format!("values are added to the unknown dictionary {id}")))?;
        values = joined(known, &values)?;
    }
    dictionaries.insert(id, values);
    Ok(())
}

fn invalid(what: String) -> ArrowError {
    ArrowError::InvalidArgumentError(what)
}

/// Type of the values of a dictionary.
fn values_of(schema: &Schema, id: i64) -> Option<&DataType> {
    #[expect(deprecated, reason = "ids of dictionaries are the format's own names of them")]
    let fields = schema.fields_with_dict_id(id);
    match fields.first()?.data_type() {
        DataType::Dictionary(_, values) => Some(values),
        _ => None,
    }
}

/// The values of both arrays, which have one type.
fn joined(first: &ArrayRef, second: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if first.data_type() != second.data_type() {
        return Err(invalid("values of two types are added up to a dictionary".to_owned()));
    }
    let [first, second] = [first.to_data(), second.to_data()];
    let lengths = [first.len(), second.len()];
    let mut both = MutableArrayData::new(vec![&first, &second], false, lengths.iter().sum());
    for (place, length) in lengths.into_iter().enumerate() {
        both.try_extend(place, 0, length)?;
    }
    Ok(make_array(both.freeze()))
}
