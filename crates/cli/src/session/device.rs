//! The device of temporary files: what `welter probe` kept of it there, else what a short look
//! finds, where much goes there.
//!
//! A look at the disks of a graph that is kept there stays with the graph, for its runs.
//!
//! Rates that are kept only make a run faster or slower, so damaged ones are said and left.

use std::path::{Path, PathBuf};

use welter_engine::kept::{KeepOptions, KeptGraph};
use welter_engine::plan::{Device, Measured, Plan};
use welter_store::io::IoOptions;
use welter_store::probe::Probe;

use super::Session;
use crate::failure::Failure;

/// Bytes of temporary files for which a look pays: it takes half a second.
const WORTH_A_LOOK: u64 = 1 << 30;
/// Bytes that it writes at most.
const LOOK_BYTES: u64 = 48 << 20;

impl Session {
    /// The device, as far as it is known now.
    pub(crate) fn device(&self) -> Option<Device> {
        let kept = *self.device.get_or_init(|| self.kept_device());
        kept.or_else(|| self.looked.get())
    }

    /// The device by the rates that a probe kept.
    fn kept_device(&self) -> Option<Device> {
        self.device_at(&self.resources.scratch())
    }

    /// The device that blocks of a machine lie on, by the rates that a probe kept there: that of a
    /// directory of checkpoints, or of temporary files.
    pub(crate) fn device_of_blocks(&self, checkpoints: Option<&Path>) -> Option<Device> {
        checkpoints.map_or_else(|| self.device(), |kept| self.device_at(&[kept.to_owned()]))
    }

    /// The device that a graph is written to, by the rates that a probe kept of the directories it
    /// will lie in.
    pub(super) fn device_of(&self, options: &KeepOptions) -> Option<Device> {
        // A graph for a bucket is made among temporary files.
        if options.target.is_some() { self.device() } else { self.device_at(&written_to(options)) }
    }

    /// The device that a graph is written to by a short look, where no probe kept its rates and
    /// `plan` has enough to do with it; with rates to keep beside the graph, if that stays there.
    pub(super) fn device_looked_at(
        &self,
        options: &KeepOptions,
        plan: &Plan,
    ) -> Result<Option<(Device, Option<Probe>)>, Failure> {
        if options.target.is_some() {
            let found = if self.look(plan)? { self.device() } else { None };
            return Ok(found.map(|device| (device, None)));
        }
        let rates = self.short_look(&written_to(options), plan)?;
        Ok(rates.and_then(|rates| Some((Device::of(&rates, Measured::AtStart)?, Some(rates)))))
    }

    /// Keeps what a short look found with the graph that was written there.
    pub(super) fn keep_look(&self, directory: &Path, rates: &Probe) {
        let kept = KeptGraph::open(directory, &IoOptions::default());
        if let Err(error) = kept.and_then(|kept| kept.keep_rates(rates)) {
            self.say(&format!("note: rates of the short look are not kept: {error}"));
        }
    }

    fn device_at(&self, directories: &[PathBuf]) -> Option<Device> {
        match Probe::kept_beside(directories) {
            Ok(found) => found.and_then(|(probe, _)| Device::of(&probe, Measured::Probe)),
            Err(error) => {
                self.say(&format!("note: rates of the probe are not used: {error}"));
                None
            }
        }
    }

    /// Looks at the device where that was not done, and where a run of this plan has enough to do
    /// with it. Whether anything was found out.
    ///
    /// # Errors
    /// When it cannot be written or read, or the run was asked to end.
    pub(crate) fn look(&self, plan: &Plan) -> Result<bool, Failure> {
        if self.device().is_some() {
            return Ok(false);
        }
        let rates = self.short_look(&self.resources.scratch(), plan)?;
        let found = rates.and_then(|rates| Device::of(&rates, Measured::AtStart));
        self.looked.set(found);
        Ok(found.is_some())
    }

    fn short_look(&self, directories: &[PathBuf], plan: &Plan) -> Result<Option<Probe>, Failure> {
        let stated = rate_to_find();
        if plan.disk_bytes() < WORTH_A_LOOK && stated.is_none() {
            return Ok(None);
        }
        let io = IoOptions::default();
        let mut probe = Probe::look(directories, LOOK_BYTES, &io, &self.progress)?;
        if let Some(stated) = stated {
            let rates = probe.read.iter_mut().chain(&mut probe.write);
            rates.for_each(|rate| rate.bytes_per_second = stated);
        }
        Ok(Some(probe))
    }
}

/// Bytes a second that a short look shall find, as a test wants it; it is taken then however little
/// is written. Only builds for development look.
fn rate_to_find() -> Option<f64> {
    let stated = std::env::var("WELTER_LOOK_RATE").ok().filter(|_| cfg!(debug_assertions))?;
    stated.parse().ok()
}

/// Directories that the parts of a graph will lie in.
fn written_to(options: &KeepOptions) -> Vec<PathBuf> {
    let above = options.directory.parent().filter(|parent| *parent != Path::new(""));
    let above = above.unwrap_or(Path::new(".")).to_owned();
    [above].into_iter().chain(options.disks.iter().cloned()).collect()
}
