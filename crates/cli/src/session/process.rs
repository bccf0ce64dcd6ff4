//! Memory that a process takes whatever it is asked to do.

/// Bytes of memory that the command takes whatever it does: tables of the program, its options,
/// stacks of threads, and what the allocator has beyond what it was asked for. 5 MiB were seen.
/// Pages of the program file are beside that, in the mappings of the file and the system's
/// libraries (`smaps`, every 10 ms): 9 to 12 MiB in the release build (12 algorithms on R-MAT 19),
/// 16 to 21 in one with some optimisation (ranks, components and triangles of R-MAT 16).
pub(super) const PROCESS_BYTES: u64 = 6 << 20;
/// Bytes likewise for a caller in this process, whose memory is its own.
pub(super) const WITHIN_BYTES: u64 = 4 << 20;
