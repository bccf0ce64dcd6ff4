//! Wait of a thread for what it has to ask for: others first, then for a moment.
//!
//! Lanes are polled, and cores are few where several machines are processes of one computer. So a
//! thread that finds nothing lets others run, and after a while sleeps, longer each time.

use std::thread::{sleep, yield_now};
use std::time::Duration;

/// Looks that find nothing before a thread sleeps.
const LOOKS: u32 = 64;

/// Time of the first sleep, and the most.
const SLEEPS: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(500)];

/// Looks of a thread since it found something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Patience {
    looks: u32,
}

impl Patience {
    /// Waits a little, unless something was found.
    pub fn wait_unless(&mut self, is_found: bool) {
        if is_found {
            self.looks = 0;
            return;
        }
        self.looks = self.looks.saturating_add(1);
        let [first, most] = SLEEPS;
        match self.looks.checked_sub(LOOKS) {
            None => yield_now(),
            Some(slept) => sleep((first * (1 << (slept.min(8) / 2))).min(most)),
        }
    }
}
