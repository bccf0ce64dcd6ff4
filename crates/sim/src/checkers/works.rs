//! A program does one thing at a time, or streams as many chunks as it may, whatever becomes of
//! epochs meanwhile.
//!
//! ```text
//! begins(w, x) at t   =>   for all w' that began at x before: ended(w', x) <= t, or w and w' are
//!                          streams in one epoch, with no other work begun between them
//! streams at x at a time <= Config::streams
//! ```
//!
//! Not checked: what the program makes of it, which other checkers look at.

use std::collections::BTreeMap;

use welter_protocol::ids::Epoch;
use welter_protocol::messages::Effect;
use welter_protocol::{Event, Work};

use super::scene::Scene;
use crate::describe;

/// Pieces of work that programs are at.
pub struct Works {
    streams: usize,
    /// By processes and tokens: of streams the epoch.
    works: BTreeMap<(usize, u64), Option<Epoch>>,
}

impl Works {
    /// The works of machines that stream `streams` chunks at a time.
    pub fn new(streams: usize) -> Self {
        Self { streams: streams.max(1), works: BTreeMap::new() }
    }

    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        match event {
            Event::Start { .. } => self.works.retain(|(of, _), _| *of != process),
            Event::Done { token, .. } => {
                self.works.remove(&(process, *token));
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
        let stream = matches!(work, Work::Stream { .. }).then_some(scene.epoch);
        let mut others = self.works.range((process, 0)..(process + 1, 0)).map(|(_, other)| *other);
        let count = others.clone().count();
        let together = stream.is_some() && count < self.streams;
        let is_fine = count == 0 || together && others.all(|other| other == stream);
        self.works.insert((process, *token), stream);
        if is_fine {
            return Ok(());
        }
        let (rank, what) = (scene.rank, describe::asked(work));
        Err(format!("{rank} is to {what} while its program is at something else"))
    }
}
