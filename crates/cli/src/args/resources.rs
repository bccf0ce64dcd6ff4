//! Options that say what of the machine a run may take.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use welter_engine::plan::{CompressionMode, Route, Settings};
use welter_input::PageCache;
use welter_objects::{ReadRequests, WriteRequests};
use welter_store::frame::Compression;
use welter_store::header::Encoding;
use welter_store::io::Requests;

use super::values::{EdgeCacheAt, bytes, parsed, request_bytes};

/// Resources of a run, and how it speaks.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(next_help_heading = "Resources")]
pub(crate) struct ResourceArgs {
    /// Threads [default: one a core, fewer for small graphs]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
    /// Memory that the process may hold, such as 512MiB or 4GB, without pages of the program file
    /// (up to 20 MiB) and of inputs in the system's cache, which the system takes back when it
    /// needs them. What cannot fit is refused before it is read [default: most of what is free,
    /// here or in the control group]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
    /// Directory for temporary files of what does not fit in memory; may be given more than once.
    /// The files have no names, so nothing is left of them [default: TMPDIR, else /tmp]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Vec<PathBuf>,
    /// Say nothing but errors and results
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Keep edges on storage, and at most SIZE bytes of them (or 0) in memory between iterations
    /// [default: all that fit]
    #[arg(long, alias = "cache", value_name = "SIZE", help_heading = "Advanced")]
    #[arg(hide_short_help = true, value_parser = bytes_or_none)]
    pub(crate) edge_memory: Option<u64>,
    /// Keep up to SIZE bytes of a bucket's graph in this directory, where later runs find them; may
    /// be given more than once: docs/object-stores.md
    #[arg(long, value_name = "DIR:SIZE", hide_short_help = true)]
    #[arg(value_parser = parsed::<EdgeCacheAt>)]
    pub(crate) edge_cache: Vec<EdgeCacheAt>,
    /// Encoding of edges [default: packed where all fit in memory, else what is foreseen to be
    /// fastest]
    #[arg(long, help_heading = "Advanced")]
    pub(crate) encoding: Option<EncodingArg>,
    /// Compression of chunks of edges and updates on storage; edges of a kept graph stay as they
    /// were kept [default: auto]
    #[arg(long, help_heading = "Advanced", hide_short_help = true)]
    pub(crate) compression: Option<CompressionArg>,
    /// Log2 of the largest number of destinations of a stripe, 12 to 24 [default: from the caches]
    #[arg(long, value_name = "BITS", help_heading = "Advanced", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(12..=24))]
    pub(crate) stripe_bits: Option<u32>,
    /// Log2 of the largest number of sources of a block, 6 to 20 [default: from the caches]
    #[arg(long, value_name = "BITS", help_heading = "Advanced", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(6..=20))]
    pub(crate) block_bits: Option<u32>,
    /// Bytes of a read from storage at most, a power of two from 4KiB to 64MiB; beyond
    /// 512KiB of edges that lie side by side [default: as a probe kept with the graph says, else
    /// 512KiB]
    #[arg(long, value_name = "SIZE", help_heading = "Advanced", hide_short_help = true)]
    #[arg(value_parser = request_bytes)]
    pub(crate) read_size: Option<u32>,
    /// Bytes of a write to storage, likewise
    #[arg(long, value_name = "SIZE", help_heading = "Advanced", hide_short_help = true)]
    #[arg(value_parser = request_bytes)]
    pub(crate) write_size: Option<u32>,
    /// Requests that each thread has in flight, 1 to 256; their memory is part of the budget
    /// [default: as the probe says, else 4]
    #[arg(long, value_name = "N", help_heading = "Advanced", hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) in_flight: Option<u32>,
    /// Way in which storage is read and written [default: direct]
    #[arg(long, help_heading = "Advanced", hide_short_help = true)]
    pub(crate) io: Option<IoArg>,
    /// Where updates wait [default: as the memory allows]
    #[arg(long, help_heading = "Advanced", hide_short_help = true)]
    pub(crate) route: Option<RouteArg>,
    /// Updates wait on storage one by one, not combined before (X-Stream)
    #[arg(long, help_heading = "Advanced", hide_short_help = true, requires = "route")]
    pub(crate) no_combine: bool,
    /// Updates are scattered in a pass of their own, not as soon as new values are there (X-Stream)
    #[arg(long, help_heading = "Advanced", hide_short_help = true, requires = "route")]
    pub(crate) no_fuse: bool,
    /// Vertices stay in memory, so that only updates are written (X-Stream): docs/disks.md
    #[arg(long, help_heading = "Advanced", hide_short_help = true, requires = "route")]
    pub(crate) vertices_in_memory: bool,
}

/// Place where updates wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RouteArg {
    /// nowhere: all signals are in memory
    Fold,
    /// in memory, for some destinations at a time; signals are on storage
    Ranges,
    /// on storage
    Spill,
    /// The name of `spill` with `--no-fuse`, before.
    #[value(hide = true)]
    SpillCombined,
    /// The name of `spill` with `--no-combine`, before.
    #[value(hide = true)]
    SpillFused,
    /// The name of `spill` with both, before.
    #[value(hide = true)]
    SpillPlain,
    /// in a message to the machine of its destination, on a cluster
    Send,
}

/// Ways in which storage is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoArg {
    /// past the page cache, where the file system can
    Direct,
    /// through it: the system takes memory beside the budget for that
    Cached,
}

/// Encoding of edges, and of destinations of updates on storage.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EncodingArg {
    /// 4 bytes an edge, the fastest
    Packed,
    /// 3 bytes an edge, nearly as fast
    Short,
    /// 2 to 3 bytes an edge, half as fast
    Compressed,
    /// 8 bytes an edge, as in X-Stream
    Pairs,
}

/// Compression of chunks on storage, whatever the encoding of their edges.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CompressionArg {
    /// not at all
    None,
    /// Zstandard, level 1: the fewest bytes for its time
    Zstd,
    /// LZ4, which is faster and saves less, or nothing
    Lz4,
    /// Snappy, likewise
    Snappy,
    /// zlib, level 6, the slowest
    Zlib,
    /// the fastest of all, by the measured speed of the device and of the codecs
    Auto,
}

impl From<CompressionArg> for CompressionMode {
    fn from(compression: CompressionArg) -> Self {
        Self::Stated(match compression {
            CompressionArg::None => Compression::None,
            CompressionArg::Zstd => Compression::Zstd,
            CompressionArg::Lz4 => Compression::Lz4,
            CompressionArg::Snappy => Compression::Snappy,
            CompressionArg::Zlib => Compression::Zlib,
            CompressionArg::Auto => return Self::Measured,
        })
    }
}

impl From<Encoding> for EncodingArg {
    fn from(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Packed => Self::Packed,
            Encoding::Short => Self::Short,
            Encoding::Compressed => Self::Compressed,
            Encoding::Pairs => Self::Pairs,
        }
    }
}

impl ResourceArgs {
    /// Puts what is said now over what was said when a run began. A route comes with its own
    /// options, so those of the route of then are gone.
    pub(crate) fn put(self, then: &mut Self) {
        then.threads = self.threads.or(then.threads);
        then.memory = self.memory.or(then.memory);
        if !self.scratch.is_empty() {
            then.scratch = self.scratch;
        }
        then.quiet |= self.quiet;
        then.edge_memory = self.edge_memory.or(then.edge_memory);
        if !self.edge_cache.is_empty() {
            then.edge_cache = self.edge_cache;
        }
        then.encoding = self.encoding.or(then.encoding);
        then.compression = self.compression.or(then.compression);
        then.read_size = self.read_size.or(then.read_size);
        then.write_size = self.write_size.or(then.write_size);
        then.in_flight = self.in_flight.or(then.in_flight);
        then.io = self.io.or(then.io);
        then.stripe_bits = self.stripe_bits.or(then.stripe_bits);
        then.block_bits = self.block_bits.or(then.block_bits);
        if self.route.is_some() {
            then.route = self.route;
            then.no_combine = self.no_combine;
            then.no_fuse = self.no_fuse;
            then.vertices_in_memory = self.vertices_in_memory;
        }
    }

    /// An option of these that machines of a cluster would not hear of when a run is resumed:
    /// their blocks are those of a route and of a plan, and `are_processes` are started with the
    /// words of then.
    pub(crate) fn unheard_by_machines(&self, are_processes: bool) -> Option<&'static str> {
        let options = [
            ("--route", self.route.is_some()),
            ("--edge-memory", self.edge_memory.is_some()),
            ("--encoding", self.encoding.is_some()),
            ("--compression", self.compression.is_some()),
            ("--memory", are_processes && self.memory.is_some()),
            ("--scratch", are_processes && !self.scratch.is_empty()),
            ("--threads", are_processes && self.threads.is_some()),
            ("--edge-cache", are_processes && !self.edge_cache.is_empty()),
            ("--read-size", are_processes && self.read_size.is_some()),
            ("--write-size", are_processes && self.write_size.is_some()),
            ("--in-flight", are_processes && self.in_flight.is_some()),
            ("--io", are_processes && self.io.is_some()),
        ];
        options.into_iter().find(|(_, is_stated)| *is_stated).map(|(option, _)| option)
    }

    /// The settings, as the engine wants them. `held_bytes` of memory are taken already.
    pub(crate) fn settings(&self, held_bytes: u64) -> Settings {
        Settings {
            threads: self.threads,
            memory_bytes: self.memory,
            held_bytes,
            encoding: self.encoding.map(|encoding| match encoding {
                EncodingArg::Packed => Encoding::Packed,
                EncodingArg::Short => Encoding::Short,
                EncodingArg::Compressed => Encoding::Compressed,
                EncodingArg::Pairs => Encoding::Pairs,
            }),
            compression: self.compression.map(Into::into).unwrap_or_default(),
            requests: self.requests(),
            stripe_bits: self.stripe_bits,
            block_bits: self.block_bits,
            route: self.route.and_then(|route| self.route_of(route)),
            vertices_in_memory: self.vertices_in_memory,
            ..Settings::default()
        }
    }

    fn route_of(&self, route: RouteArg) -> Option<Route> {
        let (combined, fused) = (!self.no_combine, !self.no_fuse);
        Some(match route {
            RouteArg::Fold => Route::Fold,
            RouteArg::Ranges => Route::Ranges,
            RouteArg::Spill => Route::Spill { combined, fused },
            RouteArg::SpillCombined => Route::Spill { combined, fused: false },
            RouteArg::SpillFused => Route::Spill { combined: false, fused },
            RouteArg::SpillPlain => Route::Spill { combined: false, fused: false },
            // A session refuses it, or a cluster has taken it.
            RouteArg::Send => return None,
        })
    }

    /// An option of route `spill` that is said of another one.
    pub(crate) fn misplaced(&self) -> Option<&'static str> {
        use RouteArg::{Fold, Ranges, Send};
        let options = [
            ("--no-combine", self.no_combine),
            ("--no-fuse", self.no_fuse),
            ("--vertices-in-memory", self.vertices_in_memory),
        ];
        let is_other = matches!(self.route, None | Some(Fold | Ranges | Send));
        options.into_iter().find(|(_, is_stated)| *is_stated && is_other).map(|(option, _)| option)
    }

    /// Means of a run on a cluster, which has routes of its own.
    pub(crate) fn without_route(&self) -> Self {
        let (no_combine, no_fuse, vertices_in_memory) = (false, false, false);
        Self { route: None, no_combine, no_fuse, vertices_in_memory, ..self.clone() }
    }

    /// Means with which a machine of a cluster reads: half of what it may take, the other half
    /// being for what it does with it.
    pub(crate) fn of_machine(&self) -> Self {
        Self { memory: self.memory.map(|bytes| bytes / 2), ..self.without_route() }
    }

    /// Requests to storage, as far as the user says.
    pub(crate) fn requests(&self) -> Requests {
        Requests {
            read_bytes: self.read_size,
            write_bytes: self.write_size,
            in_flight: self.in_flight,
            cached: self.io == Some(IoArg::Cached),
        }
    }

    /// Requests to inputs in buckets and for raw records, as far as the user says.
    pub(crate) fn read_requests(&self) -> ReadRequests {
        let [bytes, in_flight] = [self.read_size, self.in_flight].map(|it| it.map(u64::from));
        ReadRequests { bytes, in_flight }
    }

    /// and whether raw records come through the page cache: only past it there are requests.
    pub(crate) fn page_cache(&self) -> PageCache {
        match self.io {
            None if self.read_requests() != ReadRequests::default() => PageCache::Past,
            None => PageCache::Auto,
            Some(IoArg::Direct) => PageCache::Past,
            Some(IoArg::Cached) => PageCache::Through,
        }
    }

    /// Requests by which objects are sent to buckets, as far as the user says: usual ones of size
    /// and number where one of them is left out.
    pub(crate) fn write_requests(&self) -> Option<WriteRequests> {
        let [bytes, in_flight] = [self.write_size, self.in_flight].map(|it| it.map(u64::from));
        let is_stated = bytes.is_some() || in_flight.is_some();
        is_stated.then(|| WriteRequests::new(bytes, in_flight))
    }

    /// Whether a route is forced on which updates wait.
    pub(crate) fn streams(&self) -> bool {
        !matches!(self.route, None | Some(RouteArg::Fold))
    }

    /// Directories for temporary files, at least one.
    pub(crate) fn scratch(&self) -> Vec<PathBuf> {
        if self.scratch.is_empty() { vec![std::env::temp_dir()] } else { self.scratch.clone() }
    }
}

fn bytes_or_none(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { bytes(text) }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(threads) if (1..=4096).contains(&threads) => Ok(threads),
        _ => Err("expected a number from 1 to 4096".to_owned()),
    }
}
