//! Blocks that are under way to storage, and the room that they take.

use std::collections::BTreeMap;

use crate::context::Context;
use crate::counters::Path;
use crate::ids::BlockName;
use crate::planted::Bug;

/// Blocks that are under way to storage, and the room that they take.
#[derive(Default)]
pub(super) struct Storing {
    blocks: BTreeMap<BlockName, u64>,
    bytes: u64,
}

impl Storing {
    pub(super) fn insert(&mut self, name: BlockName, bytes: u64) {
        if self.blocks.insert(name, bytes).is_none() {
            self.bytes += bytes;
        }
    }

    pub(super) fn remove(&mut self, name: &BlockName) {
        self.bytes -= self.blocks.remove(name).unwrap_or(0);
        assert!(self.bytes == 0 || !self.blocks.is_empty(), "room is that of blocks");
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether more work must wait until some of it is stored.
    pub(super) fn is_full(&self, cx: &mut Context) -> bool {
        let is_full = self.bytes >= cx.config.store_window_bytes.max(1);
        if is_full {
            cx.counters.count(Path::StoresWaited);
        }
        is_full && !cx.config.has(Bug::StoresUnbounded)
    }
}
