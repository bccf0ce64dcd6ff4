//! See `welter_cluster::fuzzing::frame`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_cluster::fuzzing::frame(data));
