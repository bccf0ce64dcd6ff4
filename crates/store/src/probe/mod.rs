//! Rates at which storage is read and written in sequence, by size of the requests.
//!
//! Every device has its own best size: 64 KiB on one, 16 MiB on another, and often another one for
//! reading than for writing. [`Probe::measure`] tries them on scratch files of the directories in
//! question, through the same volumes and queues that runs use; a graph that is kept keeps the
//! result, as does any other directory, and runs are planned with it. [`Probe::look`] tries a few
//! of them in less than a second, for runs that find no result.
//!
//! Files are written as runs write them: fresh, growing, with data that nothing compresses. They
//! are read past the page cache; where that is impossible, the cache is emptied first, as far as
//! the system does that, and [`Probe::direct`] says so.

mod beside;
mod elsewhere;
mod figures;
mod measure;
mod sweep;

use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use welter_progress::Progress;

use crate::StoreError;
use crate::io::{IoOptions, Remote};
use crate::orphans::OrphanedObjects;
pub use figures::{Latency, Probe, ProbeOptions, Rate, RequestLimit};

/// Kind of a sealed file that holds a probe.
pub const KIND: [u8; 8] = *b"PROBE   ";
/// Version of [`Probe::to_bytes`].
pub const VERSION: u16 = 1;
/// A size is good enough if it reaches this share of the best rate.
const GOOD_ENOUGH: f64 = 0.95;
/// Larger requests take memory, so they have to be faster by this.
const WORTH_MEMORY: f64 = 1.1;
/// Sizes are limited by the number of their requests while this is as large a share of that of the
/// smallest ones,
const AS_MANY: f64 = 0.85;
/// and their bytes at most this share of the fastest.
const FEW_BYTES: f64 = 0.7;
/// Bits of the flags of [`Probe::to_bytes`], in the order of the fields.
const DIRECT: u64 = 1;
const SHORT: u64 = 2;
const ELSEWHERE: u64 = 4;

impl Probe {
    /// Measures directories, striped as a run would, in about as long as the options say. Nothing
    /// is left in them.
    ///
    /// # Errors
    /// When a directory cannot be written or read, has no room for [`ProbeOptions::bytes`], or the
    /// run was asked to end; also when these are too few for the smallest request.
    pub fn measure(
        directories: &[PathBuf],
        options: &ProbeOptions,
        progress: &Progress,
    ) -> Result<(Self, Latency), StoreError> {
        measure::measure(directories, options, progress)
    }

    /// Measures a folder of a bucket, by objects of the sizes of [`Self::measure`]. Nothing is left
    /// in it.
    ///
    /// # Errors
    /// When an object cannot be put or read, and as those of [`Self::measure`].
    pub fn measure_elsewhere(
        remote: &dyn Remote,
        folder: &Path,
        options: &ProbeOptions,
        progress: &Progress,
    ) -> Result<(Self, Latency), StoreError> {
        elsewhere::measure(remote, folder, options, progress)
    }

    /// Removes objects in a folder of a bucket that probes of it left which were killed, and says
    /// how many others may be of one that is at work.
    ///
    /// # Errors
    /// When objects cannot be listed or removed.
    pub fn clear_elsewhere(
        remote: &dyn Remote,
        folder: &Path,
    ) -> Result<OrphanedObjects, StoreError> {
        elsewhere::clear(remote, folder)
    }

    /// Measures how fast a file is read that lies elsewhere, in ranges of the sizes of
    /// [`Self::measure`]. Nothing is written.
    ///
    /// # Errors
    /// When it cannot be read or is too short, or the run was asked to end.
    pub fn measure_file(
        remote: &dyn Remote,
        file: &Path,
        options: &ProbeOptions,
        progress: &Progress,
    ) -> Result<(Self, Latency), StoreError> {
        elsewhere::measure_file(remote, file, options, progress)
    }

    /// Measures a bucket in about a second, by at most `bytes` bytes at a time in objects of
    /// `folder`, which is to be of this call alone. Nothing is left in it, where the user may
    /// remove objects.
    ///
    /// # Errors
    /// When an object cannot be put or read, or the run was asked to end.
    pub fn look_elsewhere(
        remote: &dyn Remote,
        folder: &Path,
        bytes: u64,
        progress: &Progress,
    ) -> Result<Self, StoreError> {
        elsewhere::look(remote, folder, bytes, progress)
    }

    /// Measures directories in about half a second, by a few ways of asking for at most
    /// `bytes` bytes: enough to know about how fast they are, and how many requests they want.
    /// Nothing is left in them.
    ///
    /// # Errors
    /// As those of [`Self::measure`].
    pub fn look(
        directories: &[PathBuf],
        bytes: u64,
        io: &IoOptions,
        progress: &Progress,
    ) -> Result<Self, StoreError> {
        measure::look(directories, bytes, io, progress)
    }

    /// The smallest requests that read nearly as fast as the best (95 %), and how many at a time.
    pub fn best_read(&self) -> Option<Rate> {
        best(&self.read)
    }

    /// The smallest requests that write nearly as fast as the best (95 %), and how many at a time.
    pub fn best_write(&self) -> Option<Rate> {
        best(&self.write)
    }

    /// Reads a second, where small ones are limited by that.
    pub fn read_limit(&self) -> Option<RequestLimit> {
        limit(&self.read)
    }

    /// Writes a second, where small ones are limited by that.
    pub fn write_limit(&self) -> Option<RequestLimit> {
        limit(&self.write)
    }

    /// The size to cut reads of `whole` bytes to, if the device reads those that are at least as
    /// large slower than smaller ones, whatever is in flight.
    pub fn cut_reads(&self, whole: u32) -> Option<u32> {
        cut(&self.read, whole)
    }

    /// The size to cut writes to, likewise.
    pub fn cut_writes(&self, whole: u32) -> Option<u32> {
        cut(&self.write, whole)
    }

    /// The size of reads that are better than those of `whole` bytes, whatever is in flight: of
    /// larger ones that read a tenth more at least, else of smaller ones ([`Self::cut_reads`]).
    pub fn sized_reads(&self, whole: u32) -> Option<u32> {
        larger(&self.read, whole).or_else(|| self.cut_reads(whole))
    }

    /// The size of writes, likewise.
    pub fn sized_writes(&self, whole: u32) -> Option<u32> {
        larger(&self.write, whole).or_else(|| self.cut_writes(whole))
    }

    /// The payload of a sealed file: see [`KIND`] and [`VERSION`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            reads: self.read.len() as u32,
            writes: self.write.len() as u32,
            flags: [(self.direct, DIRECT), (self.short, SHORT), (self.elsewhere, ELSEWHERE)]
                .into_iter()
                .map(|(is, bit)| if is { bit } else { 0 })
                .sum(),
        };
        let mut bytes = bytemuck::bytes_of(&head).to_vec();
        bytes.extend_from_slice(bytemuck::cast_slice(&self.read));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.write));
        bytes
    }

    /// The probe that [`to_bytes`](Self::to_bytes) wrote; `None` for anything that it does not
    /// write.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rates) = bytes.split_at_checked(size_of::<Head>())?;
        let head: Head = bytemuck::pod_read_unaligned(head);
        let (reads, writes) = (head.reads as usize, head.writes as usize);
        if head.flags > DIRECT | SHORT | ELSEWHERE
            || rates.len() / size_of::<Rate>() != reads.checked_add(writes)?
        {
            return None;
        }
        let (rates, rest) = rates.as_chunks::<{ size_of::<Rate>() }>();
        let rates: Vec<Rate> =
            rates.iter().map(|rate| bytemuck::pod_read_unaligned(rate)).collect();
        let (read, write) = rates.split_at(reads);
        let sensible = |rate: &Rate| {
            let numbers = [rate.bytes_per_second, rate.processor_share];
            numbers.iter().all(|number| number.is_finite() && *number >= 0.0)
        };
        let whole = rest.is_empty() && rates.iter().all(sensible);
        let has = |bit: u64| head.flags & bit != 0;
        let (direct, short, elsewhere) = (has(DIRECT), has(SHORT), has(ELSEWHERE));
        let (read, write) = (read.to_vec(), write.to_vec());
        whole.then_some(Self { read, write, direct, short, elsewhere })
    }
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Head {
    reads: u32,
    writes: u32,
    flags: u64,
}

fn larger(rates: &[Rate], whole: u32) -> Option<u32> {
    let best = best(rates).filter(|best| best.request_bytes > whole)?;
    let up_to = rates.iter().filter(|rate| rate.request_bytes <= whole);
    let fastest = up_to.map(|rate| rate.bytes_per_second).reduce(f64::max)?;
    (best.bytes_per_second > WORTH_MEMORY * fastest).then_some(best.request_bytes)
}

fn cut(rates: &[Rate], whole: u32) -> Option<u32> {
    let best = best(rates).filter(|best| best.request_bytes < whole)?;
    let wholes = rates.iter().filter(|rate| rate.request_bytes >= whole);
    let fastest = wholes.map(|rate| rate.bytes_per_second).reduce(f64::max)?;
    (fastest < GOOD_ENOUGH * best.bytes_per_second).then_some(best.request_bytes)
}

/// At least two sizes, from the smallest on, of which about as many end in a second while the
/// device could move far more bytes.
fn limit(rates: &[Rate]) -> Option<RequestLimit> {
    let fastest = rates.iter().map(|rate| rate.bytes_per_second).fold(0.0, f64::max);
    let of_size = rates.chunk_by(|one, next| one.request_bytes == next.request_bytes);
    let best = of_size.filter_map(|rates| {
        let faster = |a: &&Rate, b: &&Rate| a.bytes_per_second.total_cmp(&b.bytes_per_second);
        rates.iter().max_by(faster)
    });
    let mut best = best.peekable();
    let per_second = best.peek()?.requests_per_second();
    let limited = best.take_while(|rate| {
        let as_many = rate.requests_per_second() >= AS_MANY * per_second;
        as_many && rate.bytes_per_second < FEW_BYTES * fastest
    });
    let up_to_bytes = limited.map(|rate| rate.request_bytes).skip(1).last()?;
    Some(RequestLimit { per_second, up_to_bytes })
}

fn best(rates: &[Rate]) -> Option<Rate> {
    let fastest = rates.iter().map(|rate| rate.bytes_per_second).fold(0.0, f64::max);
    let good = rates.iter().filter(|rate| rate.bytes_per_second >= GOOD_ENOUGH * fastest);
    good.min_by_key(|rate| (rate.request_bytes, rate.depth)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(request_bytes: u32, depth: u32, bytes_per_second: f64) -> Rate {
        Rate { request_bytes, depth, bytes_per_second, processor_share: 0.25 }
    }

    fn sample() -> Probe {
        let read = vec![rate(65_536, 1, 50.0), rate(65_536, 4, 94.0), rate(1 << 20, 1, 96.0)];
        let write = vec![rate(1 << 22, 4, 7.0), rate(1 << 24, 1, 100.0), rate(1 << 24, 4, 96.0)];
        Probe {
            read: [read, vec![rate(1 << 24, 1, 100.0)]].concat(),
            write,
            direct: true,
            ..Probe::default()
        }
    }

    #[test]
    fn the_best_is_the_smallest_that_is_nearly_as_fast() {
        assert_eq!(sample().best_read(), Some(rate(1 << 20, 1, 96.0)));
        assert_eq!(sample().best_write(), Some(rate(1 << 24, 1, 100.0)));
        assert_eq!(Probe::default().best_read(), None);
    }

    #[test]
    fn requests_are_cut_where_whole_ones_are_slower() {
        let probe = sample();
        assert_eq!(probe.cut_reads(512 << 10), None);
        let slow = Probe { read: probe.read[..3].to_vec(), ..probe };
        assert_eq!(slow.cut_reads(512 << 10), None);
        let slower = Probe { read: vec![rate(1 << 16, 4, 94.0), rate(1 << 20, 4, 80.0)], ..slow };
        assert_eq!(slower.cut_reads(512 << 10), Some(1 << 16));
        assert_eq!(slower.cut_reads(1 << 16), None);
    }

    #[test]
    fn larger_requests_have_to_be_faster_for_sure() {
        let read = vec![rate(1 << 19, 4, 90.0), rate(1 << 20, 4, 96.0), rate(1 << 24, 2, 100.0)];
        let probe = Probe { read, ..Probe::default() };
        // A MiB is nearly as fast as 16, and little faster than a half.
        assert_eq!(probe.sized_reads(512 << 10), None);
        let slow = Probe { read: vec![rate(1 << 19, 4, 80.0), rate(1 << 24, 2, 100.0)], ..probe };
        assert_eq!(slow.sized_reads(512 << 10), Some(1 << 24));
        assert_eq!(slow.sized_reads(1 << 24), None);
        assert_eq!(slow.sized_writes(512 << 10), None);
        let small = Probe { read: vec![rate(1 << 16, 4, 94.0), rate(1 << 20, 4, 80.0)], ..slow };
        assert_eq!(small.sized_reads(512 << 10), Some(1 << 16));
    }

    #[test]
    fn a_limit_is_that_of_requests_while_bytes_are_few() {
        let limited = [(4096, 16.4), (8192, 32.0), (16_384, 64.0), (1 << 20, 500.0)];
        let rates = limited.map(|(bytes, megabytes)| rate(bytes, 4, megabytes * 1e6));
        let found = limit(&rates).unwrap();
        assert_eq!(found.up_to_bytes, 16_384);
        assert!((found.per_second - 4004.0).abs() < 1.0, "{found:?}");
        // Twice as many bytes take twice as long, or nothing is faster.
        assert_eq!(limit(&[rate(4096, 1, 1e9), rate(8192, 1, 1e9)]), None);
        assert_eq!(limit(&[rate(4096, 1, 1e8), rate(1 << 20, 1, 1e9)]), None);
        assert_eq!(limit(&[]), None);
    }

    #[test]
    fn bytes_are_read_back_and_others_refused() {
        let look = Probe { short: true, elsewhere: true, direct: false, ..sample() };
        for probe in [sample(), look, Probe::default()] {
            let bytes = probe.to_bytes();
            assert_eq!(Probe::from_bytes(&bytes), Some(probe));
            for length in 0..bytes.len() {
                assert_eq!(Probe::from_bytes(&bytes[..length]), None, "{length}");
            }
            let longer = [bytes, vec![0]].concat();
            assert_eq!(Probe::from_bytes(&longer), None);
        }
        let mut unknown = Probe::default().to_bytes();
        unknown[8] = 8;
        assert_eq!(Probe::from_bytes(&unknown), None);
        let endless = Probe { read: vec![rate(1, 1, f64::INFINITY)], ..Probe::default() };
        assert_eq!(Probe::from_bytes(&endless.to_bytes()), None);
    }
}
