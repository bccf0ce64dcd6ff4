//! Costs of an edge in bytes and time, and the bandwidths of a device at which one is the least.

use crate::report::digits;

/// Cost of an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) bytes: f64,
    pub(super) nanos: f64,
}

impl Cost {
    pub(super) fn new(bytes: f64, nanos: f64) -> Self {
        Self { bytes, nanos }
    }

    /// Bandwidth in MB/s at which it takes as long as one that has more bytes and is faster.
    fn equal(self, faster: Self) -> f64 {
        1e3 * (faster.bytes - self.bytes) / (self.nanos - faster.nanos)
    }

    /// Bandwidth below which it beats the same layout as it is.
    pub(super) fn pays_below(self, plain: Self) -> String {
        if self.bytes >= plain.bytes {
            return "-".to_owned();
        }
        if self.nanos <= plain.nanos { "any".to_owned() } else { digits(self.equal(plain)) }
    }

    /// Bandwidths at which it beats all.
    pub(super) fn best_at(self, all: &[Self]) -> String {
        let (mut least, mut most) = (0.0_f64, f64::INFINITY);
        for other in all.iter().filter(|other| **other != self) {
            match (other.bytes < self.bytes, other.nanos < self.nanos) {
                (true, true) => return "-".to_owned(),
                (false, true) => most = most.min(self.equal(*other)),
                (true, false) => least = least.max(other.equal(self)),
                (false, false) => {}
            }
        }
        match least < most {
            false => "-".to_owned(),
            true if most.is_infinite() => format!("from {}", digits(least)),
            true => format!("{} to {}", digits(least), digits(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_those_at_which_times_are_equal() {
        let (plain, quick, small) =
            (Cost::new(8.0, 0.0), Cost::new(6.0, 2.0), Cost::new(5.0, 12.0));
        let (poor, grown) = (Cost::new(7.0, 3.0), Cost::new(9.0, 1.0));
        let all = [plain, quick, small, poor, grown];
        assert_eq!(all.map(|cost| cost.pays_below(plain)), ["-", "1000", "250", "333", "-"]);
        let best = all.map(|cost| cost.best_at(&all));
        assert_eq!(best, ["from 1000", "100 to 1000", "0.00 to 100", "-", "-"]);
    }
}
