//! Compression that lets a run end first, by what codecs make of a sample of its chunks.
//!
//! A device that gives `R` bytes a second and `T` cores that are busy anyway: compressing saves the
//! device bytes and costs the cores time, and whichever of the two takes longer is what a run waits
//! for ([`Stage::seconds`]). Both are measured where the run is: the device by a short look
//! ([`Throughput`]), codecs on the first chunks that are written ([`Sampled`]).

use std::time::Instant;

use welter_store::frame::{Compression, Compressor, Decompressor};

use super::forecast::Stage;
use super::storage::ITERATIONS;
use super::traffic::Traffic;
use super::{Forecast, Plan};
use crate::machine::throughput::Throughput;

/// A codec that saves less than a twentieth is not taken: it may save nothing on a machine that has
/// something else to do, or of chunks that are unlike the first.
const MARGIN: f64 = 0.95;

/// Bytes of chunks that are looked at, and more up to the end of one.
pub(super) const SAMPLE_BYTES: usize = 1 << 18;

/// A codec, and what it made of a sample of chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// The codec.
    pub compression: Compression,
    /// Bytes that were stored for each one.
    pub ratio: f64,
    /// Seconds of a core to compress a byte of a chunk,
    pub compress: f64,
    /// and to decompress it.
    pub decompress: f64,
}

impl Sampled {
    /// No compression at all.
    const NONE: Self =
        Self { compression: Compression::None, ratio: 1.0, compress: 0.0, decompress: 0.0 };

    /// Tries a codec on some chunks; it tells nothing where none of them becomes smaller.
    pub fn of(compression: Compression, chunks: &[&[u8]]) -> Option<Self> {
        let mut compressor = Compressor::new(compression)?;
        let (mut decompressor, mut room) = (Decompressor::new(), Vec::new());
        let (mut plain, mut stored) = (0, 0);
        let (mut compress, mut decompress) = (0.0, 0.0);
        for chunk in chunks {
            if plain >= SAMPLE_BYTES {
                break;
            }
            room.resize(room.len().max(chunk.len()), 0);
            let began = Instant::now();
            let frame = compressor.frame(chunk).unwrap_or(chunk);
            compress += began.elapsed().as_secs_f64();
            let began = Instant::now();
            decompressor.chunk(frame, &mut room).ok()?;
            decompress += began.elapsed().as_secs_f64();
            (plain, stored) = (plain + chunk.len(), stored + frame.len());
        }
        let bytes = plain.max(1) as f64;
        (stored < plain).then_some(Self {
            compression,
            ratio: stored as f64 / bytes,
            compress: compress / bytes,
            decompress: decompress / bytes,
        })
    }

    /// The codec with which it takes the fewest `seconds`, if that saves enough.
    pub fn fastest(sampled: &[Self], seconds: impl Fn(&Self) -> f64) -> Compression {
        let without = MARGIN * seconds(&Self::NONE);
        let timed = sampled.iter().map(|codec| (seconds(codec), codec.compression));
        let best = timed.min_by(|one, other| one.0.total_cmp(&other.0));
        best.filter(|(took, _)| *took < without).map_or(Compression::None, |(_, codec)| codec)
    }
}

impl Plan {
    /// Whether a look at codecs can make a difference: not where the device was not looked at.
    pub(crate) fn may_compress(&self) -> bool {
        self.throughput.is_some_and(|throughput| throughput.read < u64::MAX)
    }

    /// The compression of edges with which ingest and some iterations end first.
    pub(crate) fn compression_of_edges(&self, sampled: &[Sampled]) -> Compression {
        let (Some(throughput), Some(storage)) = (self.throughput, self.storage()) else {
            return Compression::None;
        };
        let Forecast { ingest, iteration } = self.forecast(&throughput);
        let bytes = self.chunk_bytes_expected().saturating_sub(storage.cache_bytes) as f64;
        let read = bytes * self.edge_passes() as f64;
        let threads = self.premises.threads as f64;
        Sampled::fastest(sampled, |codec| {
            let saved = 1.0 - codec.ratio;
            let ingest = Stage {
                cores: ingest.cores + bytes * codec.compress / threads,
                storage: ingest.storage - bytes * saved / throughput.write as f64,
                ..ingest
            };
            let iteration = Stage {
                cores: iteration.cores + read * codec.decompress / threads,
                storage: iteration.storage - read * saved / throughput.read as f64,
                ..iteration
            };
            ingest.seconds() + ITERATIONS * iteration.seconds()
        })
    }

    /// The compression of updates with which an iteration that writes and reads all of them ends
    /// first.
    pub(crate) fn compression_of_updates(&self, sampled: &[Sampled]) -> Compression {
        let Some(throughput) = self.throughput else { return Compression::None };
        let Throughput { read: reads, write: writes, .. } = throughput;
        let iteration = self.forecast(&throughput).iteration;
        let Traffic { read, written } = self.state_traffic();
        let (read, written) = (read as f64, written as f64);
        let threads = self.premises.threads as f64;
        Sampled::fastest(sampled, |codec| {
            let cores = written * codec.compress + read * codec.decompress;
            let moved = written / writes as f64 + read / reads as f64;
            let stage = Stage {
                cores: iteration.cores + cores / threads,
                storage: iteration.storage - moved * (1.0 - codec.ratio),
                ..iteration
            };
            stage.seconds()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::streamed;
    use super::super::{Route, Settings};
    use super::*;

    const ZSTD: Sampled =
        Sampled { compression: Compression::Zstd, ratio: 0.8, compress: 4e-9, decompress: 1e-9 };
    const LZ4: Sampled =
        Sampled { compression: Compression::Lz4, ratio: 0.9, compress: 2e-9, decompress: 3e-10 };

    /// The plan of a graph whose edges, and updates, are on a device of `rate` bytes a second.
    fn plan(rate: u64, route: Option<Route>) -> Plan {
        let plan = streamed(Settings { route, ..Settings::default() });
        let throughput = Throughput { read: rate, write: rate, ..Throughput::of_core() };
        // A core like that of the costs.
        Plan { throughput: Some(Throughput { core_picos: 1450, ..throughput }), ..plan }
    }

    #[test]
    fn slow_devices_get_small_chunks_and_fast_ones_plain_chunks() {
        let chosen = |rate| plan(rate, None).compression_of_edges(&[ZSTD, LZ4]);
        assert_eq!(chosen(50_000_000), Compression::Zstd);
        assert_eq!(chosen(200_000_000), Compression::Zstd);
        assert_eq!(chosen(20_000_000_000), Compression::None);
        assert_eq!(plan(50_000_000, None).compression_of_edges(&[]), Compression::None);
        let little = Sampled { ratio: 0.97, ..ZSTD };
        assert_eq!(plan(50_000_000, None).compression_of_edges(&[little]), Compression::None);
        // Where the device was not looked at, codecs are not either.
        let unknown = Plan { throughput: None, ..plan(1, None) };
        assert!(!unknown.may_compress() && plan(1, None).may_compress());
        assert_eq!(unknown.compression_of_edges(&[ZSTD]), Compression::None);
        assert!(!plan(u64::MAX, None).may_compress());
    }

    #[test]
    fn updates_are_compressed_where_they_wait_for_the_device() {
        let route = Some(Route::Spill { combined: false, fused: true });
        let chosen = |rate| plan(rate, route).compression_of_updates(&[ZSTD, LZ4]);
        assert_eq!(chosen(50_000_000), Compression::Zstd);
        assert_eq!(chosen(20_000_000_000), Compression::None);
    }
}
