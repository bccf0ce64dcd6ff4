//! Requests to files that lie elsewhere, by the settings of requests.
//!
//! Where nothing is stated they are what was measured best: large, and few of them.

use super::requests::{IN_FLIGHT_MOST, Requests};

/// Bytes of neighbours that are asked for at once, at most, where no size is stated: what object
/// stores are quickest with.
pub const JOINED_BYTES: u64 = 8 << 20;
/// Requests of a queue on their way at most, where no number is stated: each has a thread, which
/// waits for a network most of the time.
const IN_FLIGHT: usize = 8;
/// Requests that the places of a caller are, where no number is stated: one is on its way while the
/// places of another are used.
const RUNS: usize = 2;

/// Requests of a queue to files that lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteRequests {
    /// Bytes of a request at most.
    pub bytes: u64,
    /// Places of a request at most.
    pub places: usize,
    /// Requests on their way at most.
    pub in_flight: usize,
}

impl Requests {
    /// Requests to files that lie elsewhere of a caller that has up to `depth` places in flight.
    ///
    /// A size that is stated is that of requests. Otherwise the places of the caller are as many
    /// requests as are stated, or two.
    pub fn elsewhere(&self, depth: usize) -> RemoteRequests {
        let stated = self.in_flight.map(|stated| stated.clamp(1, IN_FLIGHT_MOST) as usize);
        let in_flight = stated.unwrap_or(IN_FLIGHT);
        match self.bytes(false) {
            Some(bytes) => RemoteRequests { bytes: bytes as u64, places: usize::MAX, in_flight },
            None => RemoteRequests {
                bytes: JOINED_BYTES,
                places: (depth / stated.unwrap_or(RUNS)).max(1),
                in_flight,
            },
        }
    }
}

impl RemoteRequests {
    /// Bytes of a request at most, and requests on their way at most, of a caller that has up to
    /// `depth` places of `place_bytes` bytes in flight.
    pub fn of_places(&self, depth: usize, place_bytes: u64) -> (u64, u64) {
        let bytes = self.bytes.min((self.places as u64).saturating_mul(place_bytes));
        let all = (depth as u64).saturating_mul(place_bytes);
        (bytes, all.div_ceil(bytes.max(1)).clamp(1, self.in_flight as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLAB: u64 = 512 << 10;

    #[test]
    fn stated_sizes_and_numbers_are_kept_and_others_are_the_usual_ones() {
        let of = |read_bytes, in_flight, depth| {
            let requests = Requests { read_bytes, in_flight, ..Requests::default() };
            requests.elsewhere(depth).of_places(depth, SLAB)
        };
        assert_eq!(of(None, None, 32), (8 << 20, 2));
        assert_eq!(of(None, None, 4), (1 << 20, 2));
        assert_eq!(of(None, Some(2), 32), (8 << 20, 2));
        assert_eq!(of(None, Some(64), 64), (SLAB, 64));
        assert_eq!(of(Some(4096), None, 32), (4096, 8));
        assert_eq!(of(Some(4096), Some(256), 2), (4096, 256));
        assert_eq!(of(Some(64 << 20), None, 256), (64 << 20, 2));
        assert_eq!(of(Some(64 << 20), Some(1), 128), (64 << 20, 1));
    }
}
