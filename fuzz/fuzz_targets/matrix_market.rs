//! See `welter_input::fuzzing::matrix_market`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::matrix_market(data));
