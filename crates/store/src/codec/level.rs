//! The widest vectors that this processor decodes with.

/// Instruction set of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimdLevel {
    /// Portable.
    Scalar,
    /// AVX2.
    Avx2,
    /// AVX-512 with VBMI2.
    Avx512,
}

impl SimdLevel {
    /// The best that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if avx512_detected() {
                return Self::Avx512;
            }
            if avx2_detected() {
                return Self::Avx2;
            }
        }
        Self::Scalar
    }

    /// Levels that this processor has, for tests and benchmarks.
    pub fn available() -> Vec<Self> {
        let best = Self::detect();
        [Self::Scalar, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|level| *level as u8 <= best as u8)
            .collect()
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) fn avx2_detected() -> bool {
    is_x86_feature_detected!("avx2")
}

#[cfg(target_arch = "x86_64")]
pub(super) fn avx512_detected() -> bool {
    is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}
