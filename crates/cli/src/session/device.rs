//! The device of temporary files: what `welter probe` kept of it there, else what a short look
//! finds, where much goes there.
//!
//! Rates that are kept only make a run faster or slower, so damaged ones are said and left.

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
    pub(super) fn device(&self) -> Option<Device> {
        let kept = *self.device.get_or_init(|| self.kept_device());
        kept.or_else(|| self.looked.get())
    }

    /// The device by the rates that a probe kept.
    fn kept_device(&self) -> Option<Device> {
        match Probe::kept_beside(&self.resources.scratch()) {
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
        if plan.disk_bytes() < WORTH_A_LOOK || self.device().is_some() {
            return Ok(false);
        }
        let directories = self.resources.scratch();
        let probe = Probe::look(&directories, LOOK_BYTES, &IoOptions::default(), &self.progress)?;
        let found = Device::of(&probe, Measured::AtStart);
        self.looked.set(found);
        Ok(found.is_some())
    }
}
