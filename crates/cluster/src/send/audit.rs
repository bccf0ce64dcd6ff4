//! The audit at a barrier: as many updates were folded as were sent.
//!
//! ```text
//! for all sub-ranges p:    sum over threads t of sent(t, p)  =  folded(p)
//! ```
//!
//! Bucket heads say how many updates their messages stand for, so it adds up where updates were
//! combined too. A bucket that is lost, or folded twice, shows in the iteration in which it is.
//!
//! **Invariant:** an iteration of which this does not hold is never decided on. Checked in
//! `Epoch::decide`. Tested by `a_bucket_that_is_folded_twice_is_found`.

use super::error::Stop;

/// Updates of an iteration, by sub-range.
#[derive(Debug)]
pub(super) struct Audit {
    sent: Vec<u64>,
    folded: Vec<u64>,
    machines: usize,
}

impl Audit {
    /// An audit of `sub_ranges` sub-ranges on `machines` machines.
    pub(super) fn new(sub_ranges: usize, machines: usize) -> Self {
        Self { sent: vec![0; sub_ranges], folded: vec![0; sub_ranges], machines }
    }

    /// Adds what a thread has sent.
    pub(super) fn sent(&mut self, sent: &[u64]) {
        self.sent.iter_mut().zip(sent).for_each(|(all, sent)| *all += sent);
    }

    /// Adds what was folded into a sub-range.
    pub(super) fn folded(&mut self, sub_range: usize, folded: u64) {
        if let Some(all) = self.folded.get_mut(sub_range) {
            *all += folded;
        }
    }

    /// Checks that as many updates were sent as folded.
    pub(super) fn check(&self, iteration: u64) -> Result<(), Stop> {
        for (at, (sent, folded)) in self.sent.iter().zip(&self.folded).enumerate() {
            if sent != folded {
                let (machine, at) = (at % self.machines, at / self.machines);
                return Err(Stop::broken(format!(
                    "iteration {iteration}: sub-range {at} of machine {machine} has folded \
                     {folded} updates, and {sent} were sent to it"
                )));
            }
        }
        Ok(())
    }
}
