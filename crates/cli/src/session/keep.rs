//! Graphs that are kept: how one is read into a directory, and verified.

use welter_engine::kept::{self, Checked, KeepOptions, KeptGraph, Manifest, StaleStaging};
use welter_engine::plan::{self, Plan, Settings};
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_store::io::IoOptions;

use super::{GraphRequest, Session, guessing};
use crate::failure::Failure;
use crate::loaded::Loaded;

impl Session {
    /// Reads a graph into a directory; also says what a person should know about how it was read.
    pub(crate) fn keep(
        &self,
        wanted: &GraphRequest<'_>,
        options: &KeepOptions,
    ) -> Result<(Manifest, StaleStaging, Vec<String>), Failure> {
        self.forecast(wanted)?;
        guessing(wanted, |wanted| self.keep_with(wanted, options))
    }

    fn keep_with(
        &self,
        wanted: &GraphRequest<'_>,
        options: &KeepOptions,
    ) -> Result<(Manifest, StaleStaging, Vec<String>), Failure> {
        let Loaded { edges, ids, undirected, readings, notes, .. } =
            self.load(wanted.source, wanted.options.clone())?;
        let (manifest, leftovers) = self.keep_edges(wanted, options, (edges, &ids), undirected)?;
        let notes = crate::readings::lines(&readings).into_iter().chain(notes).collect();
        Ok((manifest, leftovers, notes))
    }

    /// Keeps edges that were read, of a graph that is stated to be undirected or not.
    pub(crate) fn keep_edges(
        &self,
        wanted: &GraphRequest<'_>,
        options: &KeepOptions,
        (edges, ids): (Box<dyn EdgeStream>, &IdMap),
        undirected: bool,
    ) -> Result<(Manifest, StaleStaging), Failure> {
        let reading = wanted.reading(undirected);
        let shape = wanted.shape(&*edges, reading);
        let planned = |device| {
            plan::within(self.budget(), |budget| {
                let settings = kept::settings(&self.settings(wanted, ids.bytes(), budget));
                let settings = Settings { device, ..settings };
                self.granted(Plan::new(shape, wanted.layout, &settings, &self.machine), budget)
            })
        };
        let device = self.device_of(options);
        let (mut plan, mut found_rates) = (planned(device)?, None);
        if device.is_none()
            && let Some((found, rates)) = self.device_looked_at(options, &plan)?
        {
            plan = planned(Some(found))?;
            found_rates = rates;
        }
        let workers = self.workers(plan.premises.threads, &plan.io(&IoOptions::default()))?;
        let (manifest, leftovers) =
            kept::keep(edges, ids, reading, &plan, options, &workers, &self.progress)?;
        if let Some(rates) = found_rates {
            self.keep_look(&options.directory, &rates);
        }
        Ok((manifest, leftovers))
    }

    /// Verifies a graph that is kept.
    pub(crate) fn check(&self, kept: &KeptGraph) -> Result<Checked, Failure> {
        let threads = self.resources.threads.unwrap_or(self.machine.cores);
        let workers = self.workers(threads, &IoOptions::default())?;
        Ok(kept.check(&workers, &self.progress)?)
    }
}
