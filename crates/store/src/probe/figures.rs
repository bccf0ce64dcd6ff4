//! Rates that a measurement gives, and its settings.

use std::time::Duration;

use bytemuck::{Pod, Zeroable};

use crate::io::IoOptions;

/// Sizes that are tried.
pub(super) const REQUEST_BYTES: [u32; 5] = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20];
/// Requests at a time that are tried.
pub(super) const DEPTHS: [u32; 2] = [1, 4];

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

/// Rates that a device reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// Reading, by size and then by depth, both ascending.
    pub read: Vec<Rate>,
    /// Writing, in the same order.
    pub write: Vec<Rate>,
    /// Whether the page cache was passed by.
    pub direct: bool,
}

/// How much is moved, and how.
#[derive(Clone, Debug)]
pub struct ProbeOptions {
    /// Bytes that may lie on the devices at a time. Sizes above that are not tried.
    pub bytes: u64,
    /// The longest time for one size and depth.
    pub patience: Duration,
    /// How requests are done.
    pub io: IoOptions,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        let (bytes, patience) = (512 << 20, Duration::from_millis(400));
        Self { bytes, patience, io: IoOptions::default() }
    }
}
