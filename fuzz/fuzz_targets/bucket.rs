//! See `welter_transport::fuzzing::bucket`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_transport::fuzzing::bucket(data));
