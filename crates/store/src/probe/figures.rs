//! Rates that a measurement gives, and its settings.

use std::time::Duration;

use bytemuck::{Pod, Zeroable};

use crate::io::IoOptions;

/// Log2 of the sizes that are tried: from 4 KiB to 64 MiB.
pub(super) const REQUEST_BITS: std::ops::RangeInclusive<u32> = 12..=26;
/// Requests at a time that are tried.
pub(super) const DEPTHS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Rate that one way of asking reached.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Rate {
    /// Bytes of each request.
    pub request_bytes: u32,
    /// Requests at a time.
    pub depth: u32,
    /// Bytes moved in a second.
    pub bytes_per_second: f64,
    /// Processor time of this process, divided by the time that passed: 1 is one whole core.
    pub processor_share: f64,
}

impl Rate {
    /// Requests that ended in a second.
    pub fn requests_per_second(&self) -> f64 {
        self.bytes_per_second / f64::from(self.request_bytes.max(1))
    }

    /// Seconds of a core for a GB, 10^9 bytes.
    pub fn processor_seconds(&self) -> f64 {
        self.processor_share / self.bytes_per_second.max(1.0) * 1e9
    }
}

/// Rates that a device reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// Reading, by size and then by depth, both ascending.
    pub read: Vec<Rate>,
    /// Writing, in the same order.
    pub write: Vec<Rate>,
    /// Whether the page cache was passed by.
    pub direct: bool,
    /// Whether a short look found them ([`Probe::look`]), which tries a few ways of asking and is
    /// noisy.
    pub short: bool,
    /// Whether they are of a place that lies elsewhere, such as a bucket, and not of a directory.
    pub elsewhere: bool,
}

/// Time until the answer to a small read, one at a time, at scattered places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Half of them took at most so long,
    pub median: Duration,
    /// and 99 of 100 so long.
    pub late: Duration,
}

/// Requests a second at which a device stops, however small they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestLimit {
    /// Requests in a second.
    pub per_second: f64,
    /// Up to this size they are what limits it, and not bytes.
    pub up_to_bytes: u32,
}

/// Bytes that are moved, and the options of it.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// Bytes that may lie on the devices at a time; sizes above that are not tried. Where nothing
    /// is said 512 MiB, or half of what is free if that is less.
    pub bytes: Option<u64>,
    /// The time that all of it takes, about.
    pub time: Duration,
    /// Options of the requests.
    pub io: IoOptions,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self { bytes: None, time: Duration::from_secs(20), io: IoOptions::default() }
    }
}
