#![no_main]
//! See `welter_input::fuzzing::text`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::text(data));
