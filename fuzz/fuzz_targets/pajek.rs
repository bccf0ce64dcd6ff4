//! See `welter_input::fuzzing::pajek`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::pajek(data));
