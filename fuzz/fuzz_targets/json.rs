//! See `welter_input::fuzzing::json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::json(data));
