//! Updates are conserved: as many are gathered as were made, in each iteration of an epoch.
//!
//! ```text
//! sum over scatter(i) of updates in what the kernels handed out  =  sum over gather(i) of gathered
//! ```
//!
//! Not checked: which updates, and route `fold`, where updates wait nowhere.

use std::collections::BTreeMap;

use welter_protocol::names::{Epoch, Phase, Step};
use welter_protocol::{Outcome, Work};

use super::Scene;

/// Sums of the newest iterations.
#[derive(Default)]
pub struct Mass {
    sums: BTreeMap<(Epoch, u32), [u64; 2]>,
    newest: Option<(Epoch, Step)>,
}

impl Mass {
    /// A program has done something.
    ///
    /// # Errors
    /// When updates were lost or made up.
    pub fn work(&mut self, scene: Scene, work: &Work, outcome: &Outcome) -> Result<(), String> {
        let Some(step) = scene.step else { return Ok(()) };
        let sums = self.sums.entry((scene.epoch, step.iteration)).or_default();
        match outcome {
            Outcome::Streamed { gathered, filled } => {
                sums[0] += filled.iter().map(|filled| u64::from(filled.records)).sum::<u64>();
                sums[1] += gathered;
            }
            Outcome::Flushed(filled) => {
                sums[0] += filled.iter().map(|filled| u64::from(filled.records)).sum::<u64>();
            }
            _ => {}
        }
        let now = (scene.epoch, step);
        let opens = matches!(work, Work::Open { .. });
        if !opens || self.newest.is_some_and(|newest| newest >= now) {
            return Ok(());
        }
        let Some((epoch, last)) = self.newest.replace(now) else { return Ok(()) };
        let [made, gathered] = self.sums.get(&(epoch, last.iteration)).copied().unwrap_or_default();
        self.sums.retain(|(of, iteration), _| (*of, *iteration) >= (now.0, step.iteration));
        if epoch == now.0 && last.phase == Phase::Gather && made != gathered {
            return Err(format!("{made} updates made and {gathered} gathered in {last}"));
        }
        Ok(())
    }
}
