//! A program does one thing at a time, whatever becomes of epochs meanwhile.
//!
//! ```text
//! begins(w, x) at t   =>   for all w' that began at x before: ended(w', x) <= t
//! ```
//!
//! Not checked: what the program makes of it, which other checkers look at.

use std::collections::BTreeSet;

use welter_protocol::Event;
use welter_protocol::messages::Effect;

use super::Scene;
use crate::describe;

/// What programs are at: processes, and tokens of their works.
#[derive(Default)]
pub struct Works(BTreeSet<(usize, u64)>);

impl Works {
    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        match event {
            Event::Start { .. } => self.0.retain(|(of, _)| *of != process),
            Event::Done { token, .. } => {
                self.0.remove(&(process, *token));
            }
            _ => {}
        }
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When its program is at something else.
    pub fn effect(&mut self, scene: Scene, effect: &Effect) -> Result<(), String> {
        let Effect::Work { token, work, .. } = effect else { return Ok(()) };
        let process = scene.process;
        let is_busy = self.0.range((process, 0)..(process + 1, 0)).next().is_some();
        self.0.insert((process, *token));
        if !is_busy {
            return Ok(());
        }
        let (rank, what) = (scene.rank, describe::asked(work));
        Err(format!("{rank} is to {what} while its program is at something else"))
    }
}
