//! A kept graph in a bucket, of which a disk of this machine, or several, keep a part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_store::StoreError;
use welter_store::edge_cache::{Cached, EdgeCache, EdgeCacheStats};
use welter_store::io::{IoOptions, Requests};

use super::KeptGraph;
use super::disks::is_chunks;

impl KeptGraph {
    /// Reads its files through a cache in directories, each with the bytes that it may have there
    /// at most. A graph that lies on this machine is as it was.
    ///
    /// # Errors
    /// As [`EdgeCache::open`].
    pub fn through_cache(self, directories: &[(PathBuf, u64)]) -> Result<Self, StoreError> {
        let Some(remote) = self.io.remote.clone() else { return Ok(self) };
        let cache = EdgeCache::open(remote, directories, &self.cached_files())?;
        Ok(self.through(cache))
    }

    /// As [`Self::through_cache`], for the plan of a run: nothing is made in the directories.
    ///
    /// # Errors
    /// As [`EdgeCache::planned`].
    pub fn through_planned_cache(self, directories: &[(PathBuf, u64)]) -> Result<Self, StoreError> {
        let Some(remote) = self.io.remote.clone() else { return Ok(self) };
        let cache = EdgeCache::planned(remote, directories, &self.cached_files())?;
        Ok(self.through(cache))
    }

    fn through(self, cache: EdgeCache) -> Self {
        let cache = Arc::new(cache);
        let io = IoOptions { remote: Some(Arc::clone(&cache) as _), ..self.io.clone() };
        Self { io, cache: Some(cache), ..self }
    }

    /// Files of the graph, as a cache knows them.
    fn cached_files(&self) -> Cached {
        let folder = self.path.join(&self.folder_name);
        let of = |chunks: bool| {
            let files = self.manifest.files.iter().filter(move |it| is_chunks(&it.name) == chunks);
            let folder = &folder;
            files.map(move |file| (folder.join(&file.name), file.bytes))
        };
        let files: Vec<(PathBuf, u64)> = of(true).chain(of(false)).collect();
        Cached {
            graph: self.manifest.graph,
            generation: self.manifest.generation,
            files,
            chunk_files: of(true).count(),
        }
    }

    /// Bytes that went through its cache, if it has one, and why that takes nothing more.
    pub fn cache_stats(&self) -> Option<(EdgeCacheStats, Option<String>)> {
        self.cache.as_ref().map(|cache| (cache.stats(), cache.trouble()))
    }

    /// Share of its chunks that its cache pins: iterations ask for these no more, once all are
    /// there. Nothing, where it has none.
    pub fn pinned_share(&self) -> f64 {
        let Some(cache) = &self.cache else { return 0.0 };
        let files = self.manifest.files.iter().filter(|it| is_chunks(&it.name));
        let chunks: u64 = files.map(|file| file.bytes).sum();
        // Other files are pinned behind all chunks.
        let pinned = cache.stats().bytes_pinned.min(chunks);
        pinned as f64 / chunks.max(1) as f64
    }

    /// The files of its cache, if it has one.
    pub fn cache_files(&self) -> impl Iterator<Item = &Path> {
        self.cache.iter().flat_map(|cache| cache.files())
    }

    /// Bytes of memory that its cache takes where `threads` threads read by such requests.
    pub(super) fn cache_bytes(&self, threads: u64, requests: &Requests) -> u64 {
        let readers = threads * requests.elsewhere(1).in_flight as u64;
        self.cache.as_ref().map_or(0, |cache| cache.memory_bytes(readers))
    }
}
