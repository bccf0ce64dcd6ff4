//! See `welter_input::fuzzing::npy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| welter_input::fuzzing::npy(data));
