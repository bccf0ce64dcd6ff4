//! Forecasts of runs whose chunks are compressed on storage: what a codec saves is expected of
//! graphs that were looked at, and what it costs is measured on this machine. Of a kept graph it is
//! known what it takes.
//!
//! Ratios are medians of docs/notebook/2026-11-26-compression.md, without web graphs in their own
//! order, of which every codec leaves half or less; those of pairs are of decision 124. Which codec
//! `auto` will take is foreseen by the rule that takes it then ([`Plan::compression_of_edges`]).

use std::sync::OnceLock;

use welter_store::frame::Compression;
use welter_store::header::Encoding;

use super::compression::{SAMPLE_BYTES, Sampled};
use super::out_of_core::OutOfCore;
use super::settings::CompressionMode;
use super::{Forecast, Plan, Stage, Traffic};
use crate::machine::throughput::Throughput;

/// Of a sample one part in eight is there `AGAIN` bytes before, `AGAIN_BYTES` at a time.
const AGAIN: usize = 1 << 10;
const AGAIN_BYTES: usize = 16;

/// A codec that is expected to be used on storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedCodec {
    /// The codec.
    pub compression: Compression,
    /// Bytes of edges that are stored for each one.
    pub edges: f64,
    /// Bytes that an edge takes on storage, of a kept graph, where they have been counted.
    pub edge_bytes: Option<f64>,
    /// Bytes of updates that are stored for each one.
    pub updates: f64,
    /// Bytes that a core compresses in a second, and decompresses.
    pub rates: [f64; 2],
}

/// A forecast in which chunks are as they will lie on storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Time that it will take.
    pub forecast: Forecast,
    /// Bytes that an iteration moves in which all vertices are active.
    pub traffic: Traffic,
    /// Codec of what lies on storage, if there is one.
    pub codec: Option<ExpectedCodec>,
}

impl Plan {
    /// Time that it will take at that throughput and what is moved, with the compression that it
    /// says, or that will be chosen.
    pub fn expected(&self, throughput: &Throughput) -> Expected {
        let (forecast, traffic) = (self.forecast(throughput), self.traffic_expected());
        let codec = self.codec_expected(throughput);
        let plain = Expected { forecast, traffic, codec: None };
        codec.map_or(plain, |codec| self.with_codec(plain, codec, throughput))
    }

    /// Bytes of edges on storage, about, as they lie there.
    pub fn stored_bytes_expected(&self, codec: Option<&ExpectedCodec>) -> u64 {
        let Some(storage) = self.storage() else { return 0 };
        let bytes = self.chunk_bytes_expected().saturating_sub(storage.cache_bytes);
        let ratio = codec.filter(|_| !self.is_kept()).map_or(1.0, |codec| codec.edges);
        (bytes as f64 * ratio) as u64
    }

    /// Whether chunks lie as they were kept, which their lengths say.
    pub(super) fn is_kept(&self) -> bool {
        self.storage().is_some_and(|storage| storage.bins.is_none())
    }

    fn codec_expected(&self, throughput: &Throughput) -> Option<ExpectedCodec> {
        self.storage()?;
        let compression = match self.premises.settings.compression {
            _ if self.is_kept() => self.premises.edges.compression,
            CompressionMode::Stated(compression) => compression,
            _ if throughput.read == u64::MAX => Compression::None,
            CompressionMode::Measured | CompressionMode::Auto => {
                let tried = Compression::ALL.map(|codec| self.codec(codec));
                let tried: Vec<Sampled> = tried.into_iter().flatten().map(Into::into).collect();
                let known = Self { throughput: Some(*throughput), ..self.clone() };
                known.compression_of_edges(&tried)
            }
        };
        self.codec(compression)
    }

    fn codec(&self, compression: Compression) -> Option<ExpectedCodec> {
        let [of_others, updates] = ratios(compression, self.premises.edges.encoding);
        let rates = rates(compression)?;
        let stored = self.chunk_bytes_expected() as f64;
        let edge_bytes = self.is_kept().then(|| stored / self.premises.shape.edges.max(1) as f64);
        // A codec that makes less than a hundredth of edges costs as if it made that.
        let plain = self.plain_bytes_expected().max(1) as f64;
        let edges = edge_bytes.map_or(of_others, |_| (stored / plain).clamp(0.01, 1.0));
        Some(ExpectedCodec { compression, edges, edge_bytes, updates, rates })
    }

    fn with_codec(
        &self,
        plain: Expected,
        codec: ExpectedCodec,
        throughput: &Throughput,
    ) -> Expected {
        let Expected { forecast: Forecast { ingest, iteration }, traffic, .. } = plain;
        let storage_bytes = self.stored_bytes_expected(Some(&codec)) as f64;
        let whole = storage_bytes / codec.edges;
        let saved = if self.is_kept() { 0.0 } else { whole - storage_bytes };
        let passes = self.edge_passes() as f64;
        let updates = match self.out_of_core() {
            Some(OutOfCore::Spill(_)) => self.state_traffic(),
            _ => Traffic::default(),
        };
        let [read, written] = [updates.read, updates.written].map(|bytes| bytes as f64);
        let [read_rate, write_rate] = [throughput.read, throughput.write].map(|rate| rate as f64);
        let [compress, decompress] =
            codec.rates.map(|rate| 1.0 / (rate * self.premises.threads as f64));
        let left = 1.0 - codec.updates;
        let read_less = saved * passes + read * left;
        let written_less = written * left;
        let stage = |stage: Stage, cores: f64, saved: f64| Stage {
            cores: stage.cores + cores,
            storage: (stage.storage - saved).max(0.0),
            ..stage
        };
        let sorted = if self.is_ingested() { whole * compress } else { 0.0 };
        let ingest = stage(ingest, sorted, saved / write_rate);
        let cores = (whole * passes + read) * decompress + written * compress;
        let less = read_less / read_rate + written_less / write_rate;
        let iteration = stage(iteration, cores, less);
        let traffic = Traffic {
            read: traffic.read.saturating_sub(read_less as u64),
            written: traffic.written.saturating_sub(written_less as u64),
        };
        Expected { forecast: Forecast { ingest, iteration }, traffic, codec: Some(codec) }
    }
}

impl From<ExpectedCodec> for Sampled {
    fn from(codec: ExpectedCodec) -> Self {
        let ExpectedCodec { compression, edges: ratio, rates, .. } = codec;
        let [compress, decompress] = rates.map(|rate| 1.0 / rate);
        Self { compression, ratio, compress, decompress }
    }
}

/// Bytes that are stored for each byte of edges, and of updates.
fn ratios(compression: Compression, encoding: Encoding) -> [f64; 2] {
    let [packed, short, compressed, pairs, updates] = match compression {
        Compression::None => [1.0; 5],
        Compression::Zstd => [0.90, 0.92, 0.85, 0.28, 0.80],
        Compression::Lz4 | Compression::Snappy => [0.99, 0.99, 0.97, 0.6, 0.98],
        Compression::Zlib => [0.85, 0.89, 0.83, 0.34, 0.77],
    };
    let edges = match encoding {
        Encoding::Packed => packed,
        Encoding::Short => short,
        Encoding::Compressed => compressed,
        Encoding::Pairs => pairs,
    };
    [edges, updates]
}

/// Bytes that a core of this machine compresses in a second, and decompresses; none where nothing
/// is compressed. Measured once.
fn rates(compression: Compression) -> Option<[f64; 2]> {
    static RATES: [OnceLock<Option<[f64; 2]>>; 5] = [const { OnceLock::new() }; 5];
    let slot = RATES.get(compression as usize)?;
    *slot.get_or_init(|| {
        // As many bits of each byte say something as of encoded edges, and some words are there
        // again.
        let mut state = 1_u64;
        let mut byte = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8 & (state >> 48) as u8
        };
        let mut bytes: Vec<u8> = (0..SAMPLE_BYTES).map(|_| byte()).collect();
        for begin in (AGAIN..SAMPLE_BYTES).step_by(8 * AGAIN_BYTES) {
            bytes.copy_within(begin - AGAIN..begin - AGAIN + AGAIN_BYTES, begin);
        }
        let found = Sampled::of(compression, &[&bytes])?;
        Some([found.compress, found.decompress].map(|seconds| 1.0 / seconds.max(1e-12)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::streamed;
    use super::super::{Route, Settings};
    use super::*;

    fn plan(compression: CompressionMode, route: Option<Route>) -> Plan {
        streamed(Settings { compression, route, ..Settings::default() })
    }

    fn throughput(rate: u64) -> Throughput {
        Throughput { read: rate, write: rate, ..Throughput::of_core() }
    }

    #[test]
    fn a_codec_saves_bytes_and_costs_cores() {
        let slow = throughput(50_000_000);
        let without = plan(Compression::None.into(), None).expected(&slow);
        assert_eq!(without.codec, None);
        for codec in [Compression::Zstd, Compression::Lz4, Compression::Snappy, Compression::Zlib] {
            let plan = plan(codec.into(), None);
            let with = plan.expected(&slow);
            let found = with.codec.unwrap();
            assert_eq!(found.compression, codec);
            let ratio = with.traffic.read as f64 / without.traffic.read as f64;
            assert!((found.edges..1.0).contains(&(ratio + 1e-6)), "{codec:?}: {ratio}");
            for (with, without) in [
                (with.forecast.iteration, without.forecast.iteration),
                (with.forecast.ingest, without.forecast.ingest),
            ] {
                assert!(with.cores > without.cores && with.storage < without.storage);
            }
            let stored = plan.stored_bytes_expected(with.codec.as_ref());
            assert!(stored < plan.stored_bytes_expected(None));
        }
    }

    #[test]
    fn updates_are_among_what_is_compressed() {
        let route = Some(Route::Spill { combined: false, fused: true });
        let [with, without] = [Compression::Zstd, Compression::None]
            .map(|codec| plan(codec.into(), route).expected(&throughput(50_000_000)));
        assert!(with.traffic.written < without.traffic.written);
        assert!(with.traffic.read < without.traffic.read);
    }

    #[test]
    fn what_auto_takes_is_foreseen() {
        let chosen = |rate| {
            let expected = plan(CompressionMode::Measured, None).expected(&throughput(rate));
            expected.codec.map(|codec| codec.compression)
        };
        assert!(chosen(5_000_000).is_some());
        assert_eq!(chosen(20_000_000_000), None);
        assert_eq!(chosen(u64::MAX), None);
    }
}
