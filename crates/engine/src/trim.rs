//! What the allocator keeps of lists that are gone.
//!
//! Lists of segments and chunks are made of many small pieces, and the allocator keeps what is
//! freed for later: 16 MiB after the ingest of R-MAT 24, which no plan counts.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator is asked by a function of the C library")
)]

/// Asks the allocator to give back to the system what nobody uses. Does nothing where it has no
/// such function.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes any number, touches only memory that is free, and may be called
    // by any thread at any time.
    let _ = unsafe { libc::malloc_trim(0) };
}
