//! See `welter_input::fuzzing::arrow`.
#![no_main]

libfuzzer_sys::fuzz_target!(
    init: welter_input::fuzzing::guard_fences(),
    |data: &[u8]| welter_input::fuzzing::arrow(data)
);
