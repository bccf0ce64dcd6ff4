//! Whether columns of ids hold negative integers, by the statistics in the footer.
//!
//! Ids below 0 are names: what came in comes out. A file without statistics is read as integers,
//! and its first negative id is an error that says what to do.

use arrow_schema::Schema;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;

use crate::columnar::Picked;

/// Whether an id of a picked column is below 0, as far as the footer says.
pub(super) fn ids(metadata: &ParquetMetaData, schema: &Schema, picked: &Picked) -> bool {
    let leaves = metadata.file_metadata().schema_descr();
    let signed = |place: usize| {
        let kind = schema.field(place).data_type();
        kind.is_signed_integer() || kind.is_floating() || kind.is_decimal()
    };
    let is_end = |leaf: usize| {
        let place = leaves.get_column_root_idx(leaf);
        (place == picked.source || place == picked.target) && signed(place)
    };
    let ends: Vec<usize> = (0..leaves.num_columns()).filter(|leaf| is_end(*leaf)).collect();
    metadata.row_groups().iter().any(|group| {
        ends.iter().any(|leaf| {
            let column = group.columns().get(*leaf);
            column.and_then(|column| column.statistics()).is_some_and(is_below_zero)
        })
    })
}

/// Whether the smallest value of a column is below 0.
fn is_below_zero(statistics: &Statistics) -> bool {
    match statistics {
        Statistics::Int32(values) => values.min_opt().is_some_and(|least| *least < 0),
        Statistics::Int64(values) => values.min_opt().is_some_and(|least| *least < 0),
        Statistics::Float(values) => values.min_opt().is_some_and(|least| *least < 0.0),
        Statistics::Double(values) => values.min_opt().is_some_and(|least| *least < 0.0),
        // Decimals, as numbers of two's complement whose first byte is the highest.
        Statistics::FixedLenByteArray(_) | Statistics::ByteArray(_) => {
            let least = statistics.min_bytes_opt();
            least.and_then(<[u8]>::first).is_some_and(|byte| *byte >= 0x80)
        }
        _ => false,
    }
}
