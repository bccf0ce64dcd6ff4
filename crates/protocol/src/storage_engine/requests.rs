//! Requests to a storage engine: those that wait, and those that are with its disk.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::{Block, BlockName, Rank, Role, Time};
use crate::messages::Pull;
use crate::payload::Payload;

/// Requests that wait, those that are with the disk, and reads of memory, by their tokens, with
/// their beginnings.
#[derive(Default)]
pub(super) struct Service {
    pub(super) queue: VecDeque<Request>,
    pub(super) busy: BTreeMap<u64, (Time, Request)>,
    pub(super) beside: BTreeMap<u64, (Time, Request)>,
}

pub(super) struct Request {
    pub(super) from: Rank,
    pub(super) since: Time,
    pub(super) wanted: RequestKind,
}

/// Request to a storage engine.
pub(super) enum RequestKind {
    /// A pull: any chunk of a cell.
    Chunk(Pull),
    /// The chunk that was picked.
    Read(Pull, Block),
    /// A block by its name.
    Block(BlockName),
    /// A block that the machine that asks is to keep too.
    Copy(BlockName),
    /// Waits for the end of these.
    CopiesEnd(Role, u64),
    /// Request to keep a block.
    Store(Block, Payload),
    /// Request to keep a block again that was lost here.
    Restore(Block, Payload),
}

impl Service {
    pub(super) fn ask(&mut self, now: Time, from: Rank, wanted: RequestKind) {
        self.queue.push_back(Request { from, since: now, wanted });
    }

    /// Blocks that are on their way to the disk.
    pub(super) fn writing(&self) -> Vec<BlockName> {
        let name = |(_, Request { wanted, .. }): &(Time, Request)| match wanted {
            RequestKind::Store(block, _) | RequestKind::Restore(block, _) => Some(block.name),
            _ => None,
        };
        self.busy.values().filter_map(name).collect()
    }

    /// Whether a copy for a machine is being read, which may turn out to be none.
    pub(super) fn is_copying(&self, to: Rank, role: Role) -> bool {
        self.busy.values().any(|(_, Request { from, wanted, .. })| {
            matches!(wanted, RequestKind::Copy(name) if (*from, name.role) == (to, role))
        })
    }

    /// One copy less will come than was announced.
    pub(super) fn one_copy_less(&mut self, to: Rank, of: Role) {
        for waiting in &mut self.queue {
            if let RequestKind::CopiesEnd(role, count) = &mut waiting.wanted
                && (waiting.from, *role) == (to, of)
            {
                *count -= 1;
                return;
            }
        }
    }
}
