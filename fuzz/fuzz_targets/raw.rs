#![no_main]
//! See `welter_input::fuzzing::raw`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::raw(data));
