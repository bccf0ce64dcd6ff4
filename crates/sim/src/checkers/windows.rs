//! Requests that are open at a time are bounded: those of a storage engine to its disk by its
//! depth, chunks of vertex sets that a computation engine asks others for by its window.
//!
//! ```text
//! |{ r : asked(r, x) <= t < answered(r, x) }| <= depth          reads and writes of machine x,
//!                                                              but of vertices that it holds
//! |{ c : x has asked another for vertices c, and has not got it }| <= window
//! ```
//!
//! The window is what is forced, or as many as there are machines.
//!
//! Not checked: pulls, which have a checker of their own ([`super::pulls`]); what a machine asks
//! itself for; requests of epochs that have ended.

use std::collections::{BTreeMap, BTreeSet};

use welter_protocol::Event;
use welter_protocol::config::{Config, VertexSets};
use welter_protocol::ids::{BlockName, Epoch, Kind};
use welter_protocol::messages::{Effect, Envelope, Message};
use welter_protocol::window::Width;

use super::scene::Scene;

/// Requests of each process in its epoch that have no answer.
pub struct Windows {
    depth: usize,
    window: usize,
    holds_vertices: bool,
    disks: BTreeMap<usize, (Epoch, BTreeSet<u64>)>,
    gets: BTreeMap<usize, (Epoch, Gets)>,
}

/// Chunks of vertex sets that were asked for, and whether they came.
#[derive(Default)]
struct Gets {
    come: BTreeMap<BlockName, bool>,
    open: usize,
}

/// The newest epoch of a process, with nothing in it if it is new.
fn newest<T: Default>(
    of: &mut BTreeMap<usize, (Epoch, T)>,
    process: usize,
    epoch: Epoch,
) -> &mut T {
    let entry = of.entry(process).or_default();
    if entry.0 != epoch {
        *entry = (epoch, T::default());
    }
    &mut entry.1
}

impl Windows {
    /// Of machines with these settings.
    pub fn new(config: &Config) -> Self {
        let machines = config.machines();
        let window = match config.width {
            Width::Forced(width) => width.clamp(1, machines),
            Width::Measured => machines,
        };
        let depth = config.depth.max(1);
        let holds_vertices = config.vertex_sets == VertexSets::Memory;
        Self { depth, window, holds_vertices, disks: BTreeMap::new(), gets: BTreeMap::new() }
    }

    /// Something happens to a machine.
    pub fn event(&mut self, process: usize, event: &Event) {
        match event {
            Event::Start { .. } => {
                self.disks.remove(&process);
                self.gets.remove(&process);
            }
            Event::Read { token, .. } | Event::Written { token, .. } => {
                if let Some((_, tokens)) = self.disks.get_mut(&process) {
                    tokens.remove(token);
                }
            }
            Event::Message(Envelope { message: Message::Got { name, .. }, epoch, .. }) => {
                if let Some((of, gets)) = self.gets.get_mut(&process)
                    && of == epoch
                    && gets.come.insert(*name, true) == Some(false)
                {
                    gets.open -= 1;
                }
            }
            _ => {}
        }
    }

    /// A machine has entered an epoch: what it asked for just before belongs to the one that ended.
    pub fn entered(&mut self, process: usize) {
        self.disks.remove(&process);
        self.gets.remove(&process);
    }

    /// A machine wants something done.
    ///
    /// # Errors
    /// When it asks for too much at a time.
    pub fn effect(&mut self, scene: Scene, effect: &Effect) -> Result<(), String> {
        let Scene { process, rank, epoch, .. } = scene;
        let (what, asked, bound) = match effect {
            Effect::Read { name, .. } if self.holds_vertices && name.kind == Kind::Vertices => {
                return Ok(());
            }
            Effect::Read { token, .. } | Effect::Write { token, .. } => {
                let tokens = newest(&mut self.disks, process, epoch);
                tokens.insert(*token);
                ("requests to its disk", tokens.len(), self.depth)
            }
            Effect::Send(Envelope { message: Message::Get(name), epoch: of, .. })
                if name.kind == Kind::Vertices && *of == epoch =>
            {
                let gets = newest(&mut self.gets, process, epoch);
                gets.come.entry(*name).or_insert_with(|| {
                    gets.open += 1;
                    false
                });
                ("chunks of vertices", gets.open, self.window)
            }
            _ => return Ok(()),
        };
        if asked <= bound {
            return Ok(());
        }
        Err(format!("{rank} has asked for {asked} {what}, not {bound} at most"))
    }
}
