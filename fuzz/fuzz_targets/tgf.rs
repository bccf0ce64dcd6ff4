//! See `welter_input::fuzzing::tgf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::tgf(data));
