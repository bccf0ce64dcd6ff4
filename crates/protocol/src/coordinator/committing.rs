//! A checkpoint that becomes one: its manifest, which names parts that are durable, becomes so too
//! (Chaos, section 6.6).
//!
//! **Invariant:** no machine receives a manifest that is not durable, here and where it is
//! mirrored. Checked in `Coordinator::persisted`, and by the simulator in `Checkpoints::is_kept`.

use std::sync::Arc;

use super::{Coordinator, Stage};
use crate::checkpoint::{Manifest, Scattered};
use crate::context::Context;
use crate::counters::Path;
use crate::ids::Phase;
use crate::messages::{Effect, Message};
use crate::placement::mirror;

impl Coordinator {
    /// All parts are durable: makes the manifest so.
    pub(super) fn commit(&mut self, cx: &mut Context) {
        let step = self.barrier.step;
        let scatter = step.phase == Phase::Scatter;
        let parts = match &self.manifest {
            Some(manifest) if self.edges_only_now() || scatter => manifest.parts.clone(),
            _ => self.barrier.parts(),
        };
        let (epoch, updates, chunks) = (cx.epoch, self.updates, self.barrier.updates());
        let applied = matches!(step.phase, Phase::Gather | Phase::Fold);
        let manifest = Arc::new(Manifest {
            shape: cx.config.shape(),
            committed: cx.epoch,
            made: self.made,
            version: step.iteration + u32::from(applied),
            finished: !self.decision.goes_on,
            generation: self.generation,
            rewrites: self.decision.rewrites,
            control: self.control.clone(),
            active: self.active.clone(),
            edges: self.edges.clone(),
            records: self.records,
            parts,
            scattered: scatter.then_some(Scattered { epoch, updates, chunks }),
        });
        let token = cx.token();
        cx.effects.push(Effect::Persist { token, manifest: manifest.clone() });
        let mirrored = cx.config.copies_manifests();
        if mirrored {
            let to = mirror(cx.machines(), cx.rank);
            cx.send(to, Message::MirrorManifest(manifest.encode()));
        }
        self.stage = Stage::Committing { manifest, token: Some(token), mirrored: !mirrored };
    }

    /// The manifest is durable: here (`token`), or where it is mirrored.
    pub(crate) fn persisted(&mut self, cx: &mut Context, written: Option<u64>) {
        let Stage::Committing { manifest, token, mirrored } = &mut self.stage else { return };
        match written {
            Some(written) if *token == Some(written) => *token = None,
            Some(_) => return,
            None => *mirrored = true,
        }
        if token.is_none() && *mirrored {
            let scatter = manifest.scattered.is_some();
            cx.counters.count(if scatter { Path::ScatterCommitted } else { Path::Committed });
            self.manifest = Some(manifest.clone());
            self.newest = Some(manifest.clone());
            self.committed = Some(manifest.clone());
            self.open(cx);
        }
    }
}
