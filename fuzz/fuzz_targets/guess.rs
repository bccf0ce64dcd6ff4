//! See `welter_input::fuzzing::guess`.
#![no_main]

libfuzzer_sys::fuzz_target!(
    init: welter_input::fuzzing::guard_fences(),
    |data: &[u8]| welter_input::fuzzing::guess(data)
);
