//! See `welter_store::fuzzing::chunk`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_store::fuzzing::chunk(data));
