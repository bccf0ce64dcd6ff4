//! Runs of messages as they travel, and as they are read where they arrived.
//!
//! ```text
//! a run of k messages    records, k of them | destinations (u32), k of them
//!                        the other way round where 4 does not divide the width of a record
//! ```
//!
//! Either part begins where its elements may, if the run does; else it is copied.

use std::ops::Range;

use bytemuck::try_cast_slice;
use welter_engine::chunks::Column;

/// Bytes of a destination.
pub(super) const TARGET_BYTES: usize = size_of::<u32>();

/// Places of the destinations and of the records of `count` messages.
pub(super) fn sections(record_bytes: usize, count: usize) -> (Range<usize>, Range<usize>) {
    let (targets, records) = (count * TARGET_BYTES, count * record_bytes);
    if record_bytes.is_multiple_of(TARGET_BYTES) {
        (records..records + targets, 0..records)
    } else {
        (0..targets, targets..targets + records)
    }
}

/// Bytes that divide the address of a record: no type wants more than divides its width.
fn alignment(record_bytes: usize) -> usize {
    1 << record_bytes.trailing_zeros().min(3)
}

/// Buffers for records that arrive where numbers may not begin.
#[derive(Default)]
pub(super) struct Reader {
    targets: Column,
    records: Column,
}

impl Reader {
    /// Destinations and records, of `record_bytes` bytes each, of a run of whole messages.
    pub(super) fn read<'r>(
        &'r mut self,
        run: &'r [u8],
        record_bytes: usize,
    ) -> (&'r [u32], &'r [u8]) {
        let (targets, records) = sections(record_bytes, run.len() / (record_bytes + TARGET_BYTES));
        let (targets, records) = (&run[targets], &run[records]);
        let is_aligned = records.as_ptr().addr().is_multiple_of(alignment(record_bytes));
        if is_aligned && let Ok(targets) = try_cast_slice(targets) {
            return (targets, records);
        }
        for (column, bytes) in [(&mut self.targets, targets), (&mut self.records, records)] {
            column.clear();
            column.extend(bytes);
        }
        (bytemuck::cast_slice(&self.targets), &self.records)
    }
}
