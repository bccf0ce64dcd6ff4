//! Figures of a cache before a graph that lies in a bucket.

use serde::Serialize;
use welter_engine::plan::human_bytes;

use crate::load::Source;
use crate::number_format::counted;

/// Bytes that came from the cache and from the bucket, and what was put into the cache.
#[derive(Debug, Serialize)]
pub(crate) struct CacheFigures {
    bytes_pinned: u64,
    bytes_from_cache: u64,
    bytes_from_bucket: u64,
    requests_to_bucket: u64,
    bytes_put: u64,
    blocks_damaged: u64,
    /// Reason why nothing was put into it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

impl CacheFigures {
    /// Of what was read so far, if it was read through a cache.
    pub(crate) fn of(source: &Source) -> Option<Self> {
        let Source::Kept(_, kept) = source else { return None };
        let (stats, trouble) = kept.cache_stats()?;
        Some(Self {
            bytes_pinned: stats.bytes_pinned,
            bytes_from_cache: stats.bytes_cached,
            bytes_from_bucket: stats.bytes_fetched,
            requests_to_bucket: stats.requests,
            bytes_put: stats.bytes_kept,
            blocks_damaged: stats.damaged,
            trouble,
        })
    }

    /// A line for a person.
    pub(crate) fn line(&self) -> String {
        let damaged = match self.blocks_damaged {
            0 => String::new(),
            blocks => format!("; {} damaged", counted(blocks, "block was", "blocks were")),
        };
        let trouble = match &self.trouble {
            None => String::new(),
            Some(trouble) => format!("; nothing more is put into it: {trouble}"),
        };
        format!(
            "{} from the edge cache, {} from the bucket by {}{damaged}{trouble}",
            human_bytes(self.bytes_from_cache),
            human_bytes(self.bytes_from_bucket),
            counted(self.requests_to_bucket, "request", "requests"),
        )
    }
}
