//! The answer is that of the sequential reference, read back from the disks by the final manifest.
//!
//! Not checked: that copies are whole too, and runs that end with a reason instead of a result.

use welter_protocol::checkpoint::Manifest;
use welter_protocol::placement::vertex_engine;

use crate::disk::Disk;
use crate::job::{Job, Partitioning};

/// Reads the result, and judges it. False where a disk has damaged it since it was committed, so
/// that it would have to be restored from its copy first.
///
/// # Errors
/// When it is missing, not durable (where `strictly`), or another one.
pub fn check(
    job: &dyn Job,
    cut: &Partitioning,
    manifest: &Manifest,
    disks: &[&Disk],
    strictly: bool,
) -> Result<bool, String> {
    let mut values = Vec::new();
    for part in &manifest.parts {
        let name = manifest.name(part.partition, part.chunk);
        let engine = vertex_engine(disks.len(), part.partition, part.chunk);
        match disks[engine].whole(name) {
            Some((_, payload, durable)) if durable || !strictly => {
                values.extend_from_slice(&payload);
            }
            _ if !strictly => return Ok(false),
            _ => return Err(format!("{name} of the result is not there")),
        }
    }
    let chunks = (0..cut.partitions.count()).map(|partition| {
        let range = cut.partitions.range(partition);
        (range.end - range.start).div_ceil(cut.chunk_vertices).max(1)
    });
    let expected: u64 = chunks.sum();
    if manifest.parts.len() as u64 != expected {
        return Err(format!("{} parts in the manifest, not {expected}", manifest.parts.len()));
    }
    job.check_answer(&values, manifest.version).map(|()| true)
}
