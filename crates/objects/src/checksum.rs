//! Checksums of whole objects that stores state in the headers of answers.
//!
//! ```text
//! S3      x-amz-checksum-crc64nvme, -crc32c or -crc32: BASE64   where a request asks for it
//!         x-amz-checksum-type: FULL_OBJECT, or COMPOSITE for a sum of sums of parts
//! Google  x-goog-hash: crc32c=BASE64,md5=BASE64                 in each answer
//! ```
//!
//! Cyclic sums of two ranges give that of both, so ranges that came in any order are compared with
//! what is stated of the whole. Digests (MD5, SHA-256) and composite sums are passed over: they
//! cannot be put together.

use std::fmt;

use crc_fast::{CrcAlgorithm, Digest};
use http::HeaderMap;

/// Header by which a request to S3 asks for the checksum of an object.
pub(crate) const MODE: &str = "x-amz-checksum-mode";
/// Value of that header.
pub(crate) const MODE_ENABLED: &str = "ENABLED";
/// Header that says of what S3 states the checksum.
const TYPE: &str = "x-amz-checksum-type";
/// Type of a checksum that is one of all bytes.
const FULL_OBJECT: &str = "FULL_OBJECT";
/// Headers of S3, the one that is wanted most first.
const S3: [(&str, Algorithm); 3] = [
    ("x-amz-checksum-crc64nvme", Algorithm::Crc64Nvme),
    ("x-amz-checksum-crc32c", Algorithm::Crc32c),
    ("x-amz-checksum-crc32", Algorithm::Crc32),
];
/// Header of Google.
const GOOGLE: &str = "x-goog-hash";

/// Algorithm of a checksum whose ranges can be put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// CRC-64/NVME.
    Crc64Nvme,
    /// CRC-32C (Castagnoli).
    Crc32c,
    /// CRC-32, as of gzip.
    Crc32,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Crc64Nvme => "CRC-64/NVME",
            Self::Crc32c => "CRC-32C",
            Self::Crc32 => "CRC-32",
        })
    }
}

impl Algorithm {
    fn known(self) -> CrcAlgorithm {
        match self {
            Self::Crc64Nvme => CrcAlgorithm::Crc64Nvme,
            Self::Crc32c => CrcAlgorithm::Crc32Iscsi,
            Self::Crc32 => CrcAlgorithm::Crc32IsoHdlc,
        }
    }

    /// Bits of a checksum.
    fn bits(self) -> usize {
        match self {
            Self::Crc64Nvme => 64,
            Self::Crc32c | Self::Crc32 => 32,
        }
    }

    /// The checksum of some bytes.
    pub(crate) fn of(self, bytes: &[u8]) -> u64 {
        let mut digest = self.digest();
        digest.update(bytes);
        digest.finalize()
    }

    /// A checksum of bytes that come one after the other.
    pub(crate) fn digest(self) -> Digest {
        Digest::new(self.known())
    }

    /// The checksum of bytes with the first checksum and of `second_bytes` of them with the second.
    pub(crate) fn combine(self, first: u64, second: u64, second_bytes: u64) -> u64 {
        if second_bytes == 0 {
            return first;
        }
        crc_fast::checksum_combine(self.known(), first, second, second_bytes)
    }
}

/// A checksum that a store states of all bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) algorithm: Algorithm,
    pub(crate) sum: u64,
}

impl Stated {
    /// The checksum that S3 states in an answer, if it is one of all bytes.
    pub(crate) fn by_s3(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let is_whole = text(TYPE).is_none_or(|it| it.eq_ignore_ascii_case(FULL_OBJECT));
        let mut found = S3.into_iter().filter_map(|(name, algorithm)| {
            Some(Self { algorithm, sum: decoded(text(name)?, algorithm.bits())? })
        });
        found.next().filter(|_| is_whole)
    }

    /// The checksum that Google states in an answer.
    pub(crate) fn by_google(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(GOOGLE).iter().filter_map(|value| value.to_str().ok());
        let mut words = values.flat_map(|value| value.split(','));
        let sum = words.find_map(|word| word.trim().strip_prefix("crc32c="))?;
        let algorithm = Algorithm::Crc32c;
        Some(Self { algorithm, sum: decoded(sum, algorithm.bits())? })
    }
}

/// The number of `bits` bits that a text of base 64 is, highest byte first.
fn decoded(text: &str, bits: usize) -> Option<u64> {
    let digits = text.trim().trim_end_matches('=');
    let padded = bits.div_ceil(24) * 4;
    if text.trim().len() != padded || digits.len() != bits.div_ceil(6) {
        return None;
    }
    let number = digits.bytes().try_fold(0_u128, |number, digit| {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        Some((number << 6) | u128::from(value))
    })?;
    let spare = digits.len() * 6 - bits;
    // The last digit has bits of no byte, which are zero.
    (number.trailing_zeros() as usize >= spare).then_some((number >> spare) as u64)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const ALL: [Algorithm; 3] = [Algorithm::Crc64Nvme, Algorithm::Crc32c, Algorithm::Crc32];

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn sums_are_those_of_the_catalogue() {
        let sums = ALL.map(|algorithm| algorithm.of(b"123456789"));
        assert_eq!(sums, [0xae8b_1486_0a79_9888, 0xe306_9283, 0xcbf4_3926]);
        for algorithm in ALL {
            assert_eq!(algorithm.of(b""), 0, "{algorithm}");
        }
    }

    #[test]
    fn the_checksum_of_s3_is_read_where_it_is_of_all_bytes() {
        let s3 = |pairs: &[(&'static str, &'static str)]| Stated::by_s3(&headers(pairs));
        let stated = |algorithm, sum| Some(Stated { algorithm, sum });
        let of_nvme = stated(Algorithm::Crc64Nvme, 0xae8b_1486_0a79_9888);
        let of_castagnoli = stated(Algorithm::Crc32c, 0xe306_9283);
        let nvme = ("x-amz-checksum-crc64nvme", "rosUhgp5mIg=");
        let castagnoli = ("x-amz-checksum-crc32c", "4waSgw==");
        let plain = ("x-amz-checksum-crc32", "y/Q5Jg==");
        assert_eq!(s3(&[nvme]), of_nvme);
        assert_eq!(s3(&[castagnoli, nvme]), of_nvme);
        assert_eq!(s3(&[castagnoli, (TYPE, "FULL_OBJECT")]), of_castagnoli);
        assert_eq!(s3(&[plain]), stated(Algorithm::Crc32, 0xcbf4_3926));
        assert_eq!(s3(&[castagnoli, (TYPE, "COMPOSITE")]), None);
        assert_eq!(s3(&[("x-amz-checksum-sha256", "4waSgw==")]), None);
        assert_eq!(s3(&[("x-amz-checksum-crc64nvme", "4waSgw==")]), None);
        assert_eq!(s3(&[]), None);
        for broken in ["4waSgw==-3", "4waSg?==", "4waSgx==", "4waSgw=", "====", ""] {
            assert_eq!(s3(&[("x-amz-checksum-crc32c", broken)]), None, "{broken}");
        }
    }

    #[test]
    fn the_checksum_of_google_stands_beside_a_digest() {
        let google = |pairs: &[(&'static str, &'static str)]| Stated::by_google(&headers(pairs));
        let expected = Some(Stated { algorithm: Algorithm::Crc32c, sum: 0xe306_9283 });
        let digest = "md5=JfnnlDI7RTiF9RgfG2JNCw==";
        assert_eq!(google(&[(GOOGLE, "crc32c=4waSgw==")]), expected);
        assert_eq!(google(&[(GOOGLE, "md5=JfnnlDI7RTiF9Q==, crc32c=4waSgw==")]), expected);
        assert_eq!(google(&[(GOOGLE, digest), (GOOGLE, "crc32c=4waSgw==")]), expected);
        assert_eq!(google(&[(GOOGLE, digest)]), None);
        assert_eq!(google(&[(GOOGLE, "crc32c=")]), None);
        assert_eq!(google(&[]), None);
    }

    proptest! {
        #[test]
        fn sums_of_ranges_give_that_of_all(
            bytes in prop::collection::vec(any::<u8>(), 0..600),
            cut in any::<prop::sample::Index>(),
        ) {
            let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
            for algorithm in ALL {
                let sums = [algorithm.of(first), algorithm.of(second)];
                let both = algorithm.combine(sums[0], sums[1], second.len() as u64);
                prop_assert_eq!(both, algorithm.of(&bytes), "{}", algorithm);
            }
        }
    }
}
