#![no_main]
//! See `welter_input::fuzzing::unpack`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::unpack(data));
