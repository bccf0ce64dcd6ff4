//! Memory that the allocator keeps of lists that are gone.
//!
//! Lists of segments and chunks are made of many small pieces, and the allocator keeps what is
//! freed for later: 16 MiB after the ingest of R-MAT 24, which no plan counts. Larger ones it keeps
//! too unless it is told not to, as many as were in use at a time: 60 MiB and more after names were
//! mapped.
#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the allocator is asked by functions of the C library")
)]

/// Asks the allocator to give back to the system memory that is not in use. Does nothing where it
/// has no such function.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function takes any number, touches only memory that is free, and may be called
    // by any thread at any time.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Bytes of a list from which on it is given back as soon as it is gone.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 1 << 20;

/// Asks the allocator to give large lists back to the system as soon as they are gone, and what is
/// free at the end of its memory. For a process that counts its memory; once, when it begins.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for option in [libc::M_MMAP_THRESHOLD, libc::M_TRIM_THRESHOLD] {
        // SAFETY: the function takes any option and number, and may be called at any time.
        let _ = unsafe { libc::mallopt(option, LARGE_BYTES) };
    }
}
