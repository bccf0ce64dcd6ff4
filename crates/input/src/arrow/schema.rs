//! Schemas of Arrow data as this machine reads them, and the words of decoders that fail.
//!
//! Invariant: data in another order of bytes than this one's is refused by its schema, before any
//! of it is looked at. Checked in `checked_schema`.

use arrow_ipc::convert;
use arrow_schema::Schema;

use crate::error::InputError;

/// The schema of data that can be read here. `offset`: where it stands.
pub(super) fn checked_schema(
    name: &str,
    offset: u64,
    schema: arrow_ipc::Schema<'_>,
) -> Result<Schema, InputError> {
    if schema.endianness() != arrow_ipc::Endianness::Little {
        return Err(InputError::content(name, "expected little-endian data, found big-endian"));
    }
    convert::try_fb_to_schema(schema).map_err(|error| {
        let what = format!("the schema is damaged or of an unknown kind: {}", reason(&error));
        InputError::byte(name, offset, what)
    })
}

/// The message of a decoder, in a line: some say where they were, a line for each level.
pub(super) fn reason(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.trim().lines().next().unwrap_or_default().trim_end().to_owned()
}
