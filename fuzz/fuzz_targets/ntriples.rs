//! See `welter_input::fuzzing::ntriples`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::ntriples(data));
