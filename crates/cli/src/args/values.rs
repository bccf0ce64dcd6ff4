//! Values of options, as people write them.

use std::path::PathBuf;
use std::str::FromStr;

use welter_store::edge_cache::BYTES_LEAST;
use welter_store::io::{REQUEST_BYTES_LEAST, REQUEST_BYTES_MOST};

/// Reads what has a parser of its own.
pub(crate) fn parsed<T: FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

/// A number of things, such as `1000000` or `1_000_000`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    digits.parse().map_err(|_| "expected a whole number".to_owned())
}

/// A number from 0 to 1.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

/// A finite number that is not below 0.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("expected a number that is not negative".to_owned()),
    }
}

/// A finite number above 0.
pub(crate) fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// A finite number.
pub(crate) fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err("expected a number".to_owned()),
    }
}

/// Bytes of a request: a power of two that storage can be asked for.
pub(crate) fn request_bytes(text: &str) -> Result<u32, String> {
    let found = u32::try_from(bytes(text)?).unwrap_or(u32::MAX);
    if found.is_power_of_two() && (REQUEST_BYTES_LEAST..=REQUEST_BYTES_MOST).contains(&found) {
        return Ok(found);
    }
    Err("expected a power of two from 4KiB to 64MiB".to_owned())
}

/// Units of bytes: a letter alone is binary, as in most tools.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
];

/// A size such as `4GiB`, `1.5 GB`, `512m` or `1000000`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 512MiB, 4GiB or 2.5GB".to_owned();
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let size = if let Ok(whole) = number.parse::<u64>() {
        whole.checked_mul(*scale)
    } else {
        let size = number.parse::<f64>().map_err(|_| wrong())? * *scale as f64;
        (size < (1_u64 << 60) as f64).then_some(size as u64)
    };
    size.filter(|size| (1..1 << 60).contains(size)).ok_or_else(wrong)
}

/// A directory for edges that lie elsewhere, and how much of it may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EdgeCacheAt {
    /// The directory.
    pub(crate) directory: PathBuf,
    /// Bytes at most.
    pub(crate) bytes: u64,
}

impl FromStr for EdgeCacheAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((directory, size)) = text.rsplit_once(':').filter(|(it, _)| !it.is_empty()) else {
            return Err("expected a directory and a size, such as /tmp/cache:20GiB".to_owned());
        };
        let bytes = bytes(size)?;
        if bytes < BYTES_LEAST {
            return Err(format!("expected at least {} KiB", BYTES_LEAST >> 10));
        }
        Ok(Self { directory: directory.into(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(bytes("4GiB"), Ok(4 << 30));
        assert_eq!(bytes("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(bytes("512m"), Ok(512 << 20));
        assert_eq!(bytes("1000"), Ok(1000));
        for wrong in ["", "GiB", "4XB", "-4GiB", "1e9", "1.2.3k", "0", "99999999999TB", "4 4"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cache_of_edges_is_a_directory_and_a_size() {
        let at = EdgeCacheAt { directory: "/a:b".into(), bytes: 2 << 30 };
        assert_eq!("/a:b:2GiB".parse(), Ok(at));
        for wrong in ["/a", ":2GiB", "/a:", "/a:100KiB", "/a:x"] {
            assert!(wrong.parse::<EdgeCacheAt>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_stay_in_their_range() {
        assert_eq!(share("0.85"), Ok(0.85));
        assert_eq!(share("1"), Ok(1.0));
        for wrong in ["-0.1", "1.01", "NaN", "inf", "x", ""] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(not_negative("1e-9"), Ok(1e-9));
        for wrong in ["-1e-9", "NaN", "inf", "x"] {
            assert!(not_negative(wrong).is_err(), "{wrong}");
        }
        assert_eq!((above_zero("0.5"), above_zero("0").is_err()), (Ok(0.5), true));
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(finite("-1e-9"), Ok(-1e-9));
        assert!(finite("NaN").is_err() && finite("inf").is_err() && finite("x").is_err());
        assert!(count("-1").is_err() && count("1.5").is_err());
    }
}
