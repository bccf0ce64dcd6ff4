//! See `welter_input::fuzzing::graph6`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::graph6(data));
