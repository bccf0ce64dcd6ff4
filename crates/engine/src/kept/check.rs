//! `welter check`: every byte of a kept graph is read and checked against what it should be.
//!
//! Beyond checksums it is looked at whether the files agree: every edge begins in its partition
//! and ends in its stripe, and degrees are the numbers of edges that leave each vertex.
//!
//! Memory is that of a column of counts, the columns themselves, and a few slabs a worker.

use std::sync::atomic::{AtomicU32, Ordering};

use welter_progress::{Progress, Unit};
use welter_store::StoreError;
use welter_store::chunk::Chunk;

use super::directory::{Directory, Entry, Run};
use super::load::damaged;
use super::runs::RunReads;
use super::{DEGREES, KeptGraph, MANIFEST, RATES};
use crate::EngineError;
use crate::edges::frames::Frames;
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::machine::storage::slabs_read;
use crate::machine::workers::Workers;

/// Counts of a graph that was found to be right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Files, the manifest included.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Edges.
    pub edges: u64,
    /// Names in the directory that are no part of the graph.
    pub foreign: Vec<String>,
}

/// Bounds and counts that chunks are checked against.
struct Frame<'a> {
    kept: &'a KeptGraph,
    directory: &'a Directory,
    /// First vertex of each stripe, and the number of vertices.
    starts: &'a [u64],
    /// First vertex of each partition, and the number of vertices.
    bounds: &'a [u64],
    /// Edges that leave each vertex, as they are met.
    counts: &'a [AtomicU32],
}

impl KeptGraph {
    /// Reads all of it.
    ///
    /// # Errors
    /// The first damage that is met, which names its file and offset.
    pub fn check(&self, workers: &Workers, progress: &Progress) -> Result<Checked, EngineError> {
        let vertices = self.vertices()?;
        let (segments, bounds) = self.cuts(&vertices)?;
        let (volume, lengths) = self.volume(&self.io)?;
        let directory = self.directory(&lengths)?;
        let starts: Vec<u64> =
            segments.iter().map(|segment| vertices.segment_start(*segment)).collect();
        drop(self.ids()?);
        let mut counts = Vec::new();
        let count = vertices.count() as usize;
        counts.try_reserve_exact(count).map_err(|_| EngineError::out_of(count * 4))?;
        counts.resize_with(count, || AtomicU32::new(0));
        let frame = Frame {
            kept: self,
            directory: &directory,
            starts: &starts,
            bounds: &bounds,
            counts: &counts,
        };
        let phase = progress.phase("check", Unit::Bytes, Some(lengths.iter().sum()));
        let together = Self::side_by_side(&self.io);
        let depth = slabs_read(&self.io.requests).max(if together > 1 { 2 * together } else { 1 });
        let (directory, volume, io, is_framed) = (&directory, &volume, &self.io, self.is_framed());
        let reads = RunReads { directory, volume, io, is_framed, depth, together };
        let runs: Vec<usize> = (0..directory.runs.len()).collect();
        reads.each(&runs, (workers, progress), |number, slab, tools| {
            let run = &directory.runs[number];
            let bytes = &slab.bytes()[..run.place.rounded_bytes()];
            frame
                .extent(run, bytes, tools)
                .map_err(|(range, what)| damaged(volume, run, range, &what))?;
            phase.add(bytes.len() as u64);
            Ok(())
        })?;
        self.degrees_are(&counts)?;
        let rates = self.rates()?.map(|_| self.bytes_beside(RATES)).transpose()?;
        Ok(Checked {
            files: self.manifest.files.len() as u64 + 1 + u64::from(rates.is_some()),
            bytes: self.manifest.bytes() + self.bytes_beside(MANIFEST)? + rates.unwrap_or(0),
            chunks: self.manifest.chunks,
            edges: self.manifest.edges,
            foreign: self.foreign(),
        })
    }

    /// Bytes of a file beside the generations.
    fn bytes_beside(&self, name: &str) -> Result<u64, StoreError> {
        let file = self.path.join(name);
        if let Some(remote) = &self.io.remote {
            return remote.bytes(&file);
        }
        let found = std::fs::metadata(&file);
        found.map(|metadata| metadata.len()).map_err(|source| StoreError::Io {
            what: "look at",
            file,
            source,
        })
    }

    /// Checks the file of degrees against counts.
    fn degrees_are(&self, counts: &[AtomicU32]) -> Result<(), EngineError> {
        let mut column =
            super::columns::ColumnReader::open(&self.folder(), DEGREES, &self.manifest, &self.io)?;
        column.must_hold(counts.len() as u64 * 4)?;
        let mut piece = vec![0_u32; 1 << 16];
        for (number, counts) in counts.chunks(piece.len()).enumerate() {
            let degrees = &mut piece[..counts.len()];
            column.read(degrees)?;
            let differs = degrees
                .iter()
                .zip(counts)
                .position(|(degree, count)| *degree != count.load(Ordering::Relaxed));
            if let Some(place) = differs {
                let vertex = (number << 16) + place;
                let (found, count) = (degrees[place], counts[place].load(Ordering::Relaxed));
                let what =
                    format!("vertex {vertex} is said to have {found} edges, and {count} leave it");
                return Err(column.damaged(vertex as u64 * 4, what).into());
            }
        }
        column.end()?;
        Ok(())
    }

    /// Names that are no part of the graph, in order.
    fn foreign(&self) -> Vec<String> {
        let mut foreign = Vec::new();
        if self.io.remote.is_some() {
            return foreign;
        }
        let below = format!("{}/", self.folder_name);
        for (folder, prefix) in [(self.path.clone(), ""), (self.folder(), &*below)] {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let listed = if prefix.is_empty() {
                    [MANIFEST, &*self.folder_name, RATES].contains(&&*name)
                } else {
                    self.manifest.file(&name).is_some()
                };
                if !listed {
                    foreign.push(format!("{prefix}{name}"));
                }
            }
        }
        foreign.sort();
        foreign
    }
}

impl Frame<'_> {
    /// Checks all chunks of an extent and what lies behind them. An error says where, and what.
    fn extent(
        &self,
        run: &Run,
        bytes: &[u8],
        (frames, scratch): (&mut Frames, &mut DecodeBuffers),
    ) -> Result<(), (std::ops::Range<usize>, String)> {
        let base = self.starts[run.stripe as usize];
        for entry in &self.directory.entries[run.entries.clone()] {
            let at = |what: String| (entry.range(), what);
            let plain = frames.chunk(&bytes[entry.range()]);
            let chunk = plain.and_then(|plain| self.kept.chunk(entry, base, plain));
            let chunk = chunk.map_err(|error| at(error.to_string()))?;
            self.edges(entry, &chunk, scratch).map_err(at)?;
        }
        let end = run.place.bytes as usize;
        match bytes[end..].iter().position(|byte| *byte != 0) {
            Some(place) => Err((end + place..end + place + 1, "padding is not zero".to_owned())),
            None => Ok(()),
        }
    }

    /// Looks at every edge of a chunk, and counts it to its source.
    fn edges(
        &self,
        entry: &Entry,
        chunk: &Chunk<'_>,
        scratch: &mut DecodeBuffers,
    ) -> Result<(), String> {
        let cell = entry.cell();
        let partition = cell.source_partition as usize;
        let sources = self.bounds[partition]..self.bounds[partition + 1];
        let stripe = cell.stripe as usize;
        let width = self.starts[stripe + 1] - self.starts[stripe];
        let coding = Coding::all(chunk.label());
        let mask = (1_u64 << coding.target_bits) - 1;
        let mut last = (0, 0);
        let mut wrong = None;
        for tile in chunk.tiles() {
            coding.keys(&tile, 0..tile.edges, scratch, |keys, _| {
                // Edges of one source lie side by side, so it is counted once.
                for key in keys {
                    let source = tile.source + u64::from(key >> coding.target_bits);
                    let target = u64::from(*key) & mask;
                    if !sources.contains(&source)
                        || !(entry.sources[0]..entry.sources[1]).contains(&source)
                        || target >= width
                        || source < last.0
                    {
                        wrong = Some((source, target));
                        continue;
                    }
                    if source != last.0 {
                        self.count(last);
                        last = (source, 0);
                    }
                    last.1 += 1;
                }
            });
        }
        self.count(last);
        match wrong {
            Some((source, target)) => Err(format!(
                "an edge from vertex {source} to place {target} of stripe {stripe} cannot be here"
            )),
            None => Ok(()),
        }
    }

    fn count(&self, (source, edges): (u64, u32)) {
        if let Some(count) = self.counts.get(source as usize) {
            count.fetch_add(edges, Ordering::Relaxed);
        }
    }
}
