//! Running a loop with the instructions that this processor has.
//!
//! Binaries are built for any x86-64. Loops over edges are compiled a second time for processors
//! with AVX2 and BMI (2013 and later), and which one runs is decided when it is called. Other
//! architectures have their vectors in the baseline.
#![expect(unsafe_code, reason = "calls code compiled for detected processor features")]

/// Runs `work`, compiled for what the processor has. `work` must be marked `#[inline(always)]`, and
/// what it calls too, or only the call itself is compiled twice.
#[inline]
pub fn dispatched<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: every feature that `modern` is compiled with was detected just now.
        return unsafe { modern(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn modern<R>(work: impl FnOnce() -> R) -> R {
    work()
}
