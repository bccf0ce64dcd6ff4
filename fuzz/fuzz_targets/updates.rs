//! See `welter_engine::fuzzing::updates`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_engine::fuzzing::updates(data));
