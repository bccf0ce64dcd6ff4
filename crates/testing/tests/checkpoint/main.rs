//! Checkpoints: a run that continues from one ends as if nothing had happened, and whatever fails
//! while one is written, the one before is there.
//!
//! - `answers`: the same bits for all programs, from every iteration, on other executors.
//! - `faults`: calls that fail, disks that are full, and a process that is killed, at every step.
//! - `damage`: one flipped bit anywhere, files that are missing, other graphs and programs.
//! - `disks`: states that are dealt out to several disks.
//! - `golden`: the bytes of all files.
//! - `long`: more iterations than totals are kept of.
//! - `extended`: the same of programs whose edges have state.
//! - `passes`: the same of stream programs, between their passes.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

mod answers;
mod damage;
mod disks;
mod extended;
mod faults;
mod golden;
mod long;
mod passes;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_engine::plan::{Route, Settings, StorageMode};
use welter_engine::{CheckpointOptions, Checkpoints, Every};
use welter_model::edges::{Duplicates, Reading};
use welter_store::io::Faults;
use welter_testing::executors::{Executor, Memory};
use welter_testing::graph::Graph;

const PLAIN: Reading = Reading {
    undirected: false,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: Duplicates::Keep,
};

/// Description of a run, where it is not asked for.
const JOB: &[u8] = b"a test";

/// Checkpoints of every iteration.
fn options(directory: &Path, faults: Option<Arc<Faults>>) -> CheckpointOptions {
    let every = Every::Iterations(NonZero::new(1).unwrap());
    let (directory, disks) = (directory.to_owned(), Vec::new());
    CheckpointOptions { directory, disks, every, run: Some(7), faults }
}

fn begin(directory: &Path) -> Checkpoints {
    Checkpoints::begin(&options(directory, None), JOB).unwrap()
}

/// The engine on one thread, all in memory.
fn alone() -> Executor {
    let settings = Settings { threads: Some(1), ..Settings::default() };
    Executor::Memory(Memory { settings, part_edges_max: 1 << 20, slots_stated: true, blind: false })
}

/// Executor with values on storage.
fn stored() -> Executor {
    let storage = StorageMode::Always { cache_bytes: 0, values: true };
    let settings =
        Settings { threads: Some(1), stripe_bits: Some(12), storage, ..Settings::default() };
    Executor::Memory(Memory { settings, part_edges_max: 1 << 20, slots_stated: true, blind: false })
}

/// Executors with signals on storage too, and updates.
fn routes() -> impl Iterator<Item = Executor> {
    let spill = |combined, fused| Route::Spill { combined, fused };
    let routes = [Route::Ranges, spill(true, true), spill(false, false)];
    routes.into_iter().map(|route| match stored() {
        Executor::Memory(memory) => {
            let settings = Settings { route: Some(route), ..memory.settings };
            Executor::Memory(Memory { settings, ..memory })
        }
        other => other,
    })
}

/// Random edges between neighbours, and some far ones, so that a search takes several iterations.
fn ladder(slots: u32, seed: u64) -> Graph {
    let mut state = seed;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        (state >> 33) as u32 % below
    };
    let near = (0..slots).map(|slot| [slot, (slot + 1 + slots / 9) % slots]);
    let mut pairs: Vec<_> = near.collect();
    pairs.extend((0..slots * 2).map(|_| [random(slots), random(slots / 2)]));
    let weights = pairs.iter().map(|pair| f64::from(pair[0] % 50 + 1) / 7.0).collect();
    Graph { weights: Some(weights), ..Graph::new(slots as usize, pairs) }
}

/// `count` paths, each of which stays for `length` vertices in a stripe of 4,096 and then continues
/// in the one before, so that they take many passes over the stripes; and some shortcuts, so that
/// later passes correct what was found.
fn strands(stripes: u32, length: u32, count: u32) -> Graph {
    let strand = |number: u32| {
        let stripe = stripes - 1 - number % stripes;
        (0..length).map(move |place| (stripe << 12) + number * length + place)
    };
    let path: Vec<u32> = (0..count).flat_map(strand).collect();
    let mut pairs: Vec<_> = path.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    let mut weights = vec![1.0; pairs.len()];
    for (number, from) in path.iter().enumerate().step_by(3 * length as usize) {
        let to = number + length as usize + number % 7;
        pairs.extend(path.get(to).map(|to| [*from, *to]));
        weights.resize(pairs.len(), f64::from(length) / 3.0);
    }
    Graph { weights: Some(weights), ..Graph::new((stripes as usize) << 12, pairs) }
}

/// Names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A folder's place for checkpoints.
fn place(folder: &welter_testing::executors::Folder) -> PathBuf {
    folder.graph()
}
