//! Barriers agree: within an epoch no machine works on a step when another one has begun a later
//! step, and all begin an iteration with the same decision.
//!
//! Not checked: that the decision is right (the answer tells), and machines that do no work in a
//! step.

use std::collections::BTreeMap;

use welter_protocol::Work;
use welter_protocol::ids::{Epoch, Step};
use welter_protocol::payload::checksum;

use super::scene::Scene;

/// The newest step of each epoch, and decisions.
#[derive(Default)]
pub struct Barriers {
    newest: BTreeMap<Epoch, Step>,
    controls: BTreeMap<(Epoch, u32), u64>,
}

impl Barriers {
    /// A program does something.
    ///
    /// # Errors
    /// When a barrier did not hold.
    pub fn work(&mut self, scene: Scene, work: &Work) -> Result<(), String> {
        let Some(step) = scene.step else { return Ok(()) };
        if matches!(work, Work::Decide { .. }) {
            return Ok(());
        }
        let newest = self.newest.entry(scene.epoch).or_insert(step);
        if step < *newest {
            return Err(format!("{} works on {step} after {newest} has begun", scene.rank));
        }
        *newest = step;
        let Work::Open { control, .. } = work else { return Ok(()) };
        let found = checksum(control);
        let known = *self.controls.entry((scene.epoch, step.iteration)).or_insert(found);
        if known == found {
            return Ok(());
        }
        Err(format!("{} has another decision before iteration {}", scene.rank, step.iteration))
    }
}
