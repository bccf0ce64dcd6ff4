//! Nothing piles up on its way to storage: a machine reads no further piece of the input and
//! streams no further chunk while as much of its own is under way as the window of stores allows,
//! nor continues with what it sends as it applies.
//!
//! ```text
//! under_way(x, t)   bytes of blocks that x has sent to be stored and has not heard of
//! x begins to read or to stream, or applies on, at t   =>   under_way(x, t) < window
//! ```
//!
//! Not checked: blocks that a machine stores on its own disk; vertex sets and accumulators, of
//! which a partition has one; and copies for others in a recovery.

use std::collections::{BTreeMap, BTreeSet};

use welter_protocol::ids::{BlockName, Epoch};
use welter_protocol::messages::{Effect, Envelope, Message};
use welter_protocol::{Event, Outcome, Work};

use super::scene::Scene;

/// Blocks under way, of each process in its epoch.
pub struct Stores {
    window_bytes: u64,
    under_way: BTreeMap<(usize, Epoch), UnderWay>,
    /// Processes that have applied in part.
    in_part: BTreeSet<usize>,
}

/// Bytes of each block that was sent; 0 once it is stored, however often it is sent again.
#[derive(Default)]
struct UnderWay {
    blocks: BTreeMap<BlockName, u64>,
    /// Sum over all of them.
    bytes: u64,
}

impl Stores {
    /// Of machines with this window.
    pub fn new(window_bytes: u64) -> Self {
        let (under_way, in_part) = (BTreeMap::new(), BTreeSet::new());
        Self { window_bytes: window_bytes.max(1), under_way, in_part }
    }

    /// A machine receives an event.
    pub fn event(&mut self, process: usize, event: &Event) {
        if let Event::Done { outcome: Outcome::Applied { .. }, .. } = event {
            self.in_part.insert(process);
        }
        if let Event::Message(Envelope { epoch, message: Message::Stored(name), .. }) = event
            && let Some(under_way) = self.under_way.get_mut(&(process, *epoch))
        {
            under_way.bytes -= under_way.blocks.insert(*name, 0).unwrap_or(0);
        }
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When it begins more work than it may.
    pub fn effect(&mut self, scene: Scene, effect: &Effect) -> Result<(), String> {
        let of = (scene.process, scene.epoch);
        match effect {
            Effect::Send(Envelope {
                from,
                epoch,
                message: Message::Store { block, payload },
                ..
            }) if *from == scene.rank && *epoch == scene.epoch => {
                let under_way = self.under_way.entry(of).or_default();
                under_way.blocks.entry(block.name).or_insert_with(|| {
                    under_way.bytes += payload.len() as u64;
                    payload.len() as u64
                });
                Ok(())
            }
            Effect::Work { work, .. } => {
                let applies_on = self.in_part.remove(&scene.process) && matches!(work, Work::Apply);
                if !applies_on
                    && !matches!(work, Work::Stream { .. } | Work::Ingest { first: false })
                {
                    return Ok(());
                }
                let bytes = self.under_way.get(&of).map_or(0, |all| all.bytes);
                if bytes < self.window_bytes {
                    return Ok(());
                }
                let (rank, window) = (scene.rank, self.window_bytes);
                Err(format!("{rank} begins more with {bytes} bytes under way, of {window}"))
            }
            _ => Ok(()),
        }
    }
}
