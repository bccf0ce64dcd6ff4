//! Weights of a chunk, in the narrowest type that loses nothing.
//!
//! Programs see `f64`. A chunk whose weights are all integers up to 255 stores one byte each, and
//! so on up to eight; the type is chosen per chunk.

/// Form of the weights of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum WeightKind {
    /// No weights: each is 1.
    None = 0,
    /// Integers 0 to 2^8 - 1.
    U8 = 1,
    /// Integers 0 to 2^16 - 1.
    U16 = 2,
    /// Integers 0 to 2^32 - 1.
    U32 = 3,
    /// 32-bit floats.
    F32 = 4,
    /// 64-bit floats.
    F64 = 5,
}

impl WeightKind {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [Self::None, Self::U8, Self::U16, Self::U32, Self::F32, Self::F64]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }

    /// Bytes of one weight.
    pub fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The narrowest type that holds all of `weights` without loss, the sign of zero included.
    pub fn narrowest(weights: &[f64]) -> Self {
        let mut integer_max = 0_u32;
        let mut single = true;
        let mut integer = true;
        for &weight in weights {
            let truncated = weight as u32;
            integer &= f64::from(truncated).to_bits() == weight.to_bits();
            integer_max = integer_max.max(truncated);
            single &= f64::from(weight as f32).to_bits() == weight.to_bits();
        }
        match (integer, single) {
            (true, _) if u8::try_from(integer_max).is_ok() => Self::U8,
            (true, _) if u16::try_from(integer_max).is_ok() => Self::U16,
            (false, true) => Self::F32,
            (true, _) => Self::U32,
            (false, false) => Self::F64,
        }
    }

    /// The narrowest type that holds what both hold, without loss.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        use WeightKind::{F32, F64, U32};
        match (self.min(other), self.max(other)) {
            (U32, F32) => F64,
            (_, wider) => wider,
        }
    }

    /// Writes the weight of a place that `bytes` has room for.
    ///
    /// # Panics
    /// Bytes without room for the weight.
    #[inline]
    pub fn put(self, weight: f64, bytes: &mut [u8], place: usize) {
        let place = place * self.bytes()..(place + 1) * self.bytes();
        match self {
            Self::None => {}
            Self::U8 => bytes[place.start] = weight as u8,
            Self::U16 => bytes[place].copy_from_slice(&(weight as u16).to_le_bytes()),
            Self::U32 => bytes[place].copy_from_slice(&(weight as u32).to_le_bytes()),
            Self::F32 => bytes[place].copy_from_slice(&(weight as f32).to_le_bytes()),
            Self::F64 => bytes[place].copy_from_slice(&weight.to_le_bytes()),
        }
    }

    /// Appends `weights` to `bytes`.
    pub fn encode(self, weights: &[f64], bytes: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::U8 => bytes.extend(weights.iter().map(|&weight| weight as u8)),
            Self::U16 => each(weights, bytes, |weight| (weight as u16).to_le_bytes()),
            Self::U32 => each(weights, bytes, |weight| (weight as u32).to_le_bytes()),
            Self::F32 => each(weights, bytes, |weight| (weight as f32).to_le_bytes()),
            Self::F64 => each(weights, bytes, f64::to_le_bytes),
        }
    }

    /// Writes the weights in `bytes` to `out`, as many as fit both.
    #[inline]
    pub fn decode(self, bytes: &[u8], out: &mut [f64]) {
        match self {
            Self::None => out.fill(1.0),
            Self::U8 => out.iter_mut().zip(bytes).for_each(|(out, &byte)| *out = f64::from(byte)),
            Self::U16 => fill(bytes, out, |bytes| f64::from(u16::from_le_bytes(bytes))),
            Self::U32 => fill(bytes, out, |bytes| f64::from(u32::from_le_bytes(bytes))),
            Self::F32 => fill(bytes, out, |bytes| f64::from(f32::from_le_bytes(bytes))),
            Self::F64 => fill(bytes, out, f64::from_le_bytes),
        }
    }
}

fn each<const N: usize>(weights: &[f64], bytes: &mut Vec<u8>, convert: impl Fn(f64) -> [u8; N]) {
    bytes.extend(weights.iter().flat_map(|&weight| convert(weight)));
}

#[inline]
fn fill<const N: usize>(bytes: &[u8], out: &mut [f64], convert: impl Fn([u8; N]) -> f64) {
    let (weights, _) = bytes.as_chunks::<N>();
    out.iter_mut().zip(weights).for_each(|(out, &weight)| *out = convert(weight));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_type_loses_nothing() {
        let cases: [(&[f64], WeightKind); 9] = [
            (&[0.0, 255.0], WeightKind::U8),
            (&[256.0], WeightKind::U16),
            (&[65_536.0, 1.0], WeightKind::U32),
            (&[4_294_967_295.0], WeightKind::U32),
            (&[0.5, 1.0], WeightKind::F32),
            (&[-1.0], WeightKind::F32),
            (&[-0.0], WeightKind::F32),
            (&[0.1], WeightKind::F64),
            (&[16_777_217.0, 0.5], WeightKind::F64),
        ];
        for (weights, expected) in cases {
            let kind = WeightKind::narrowest(weights);
            assert_eq!(kind, expected, "{weights:?}");
            let mut bytes = Vec::new();
            kind.encode(weights, &mut bytes);
            assert_eq!(bytes.len(), weights.len() * kind.bytes());
            let mut back = vec![f64::NAN; weights.len()];
            kind.decode(&bytes, &mut back);
            let bits =
                |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&back), bits(weights));
        }
    }
}
