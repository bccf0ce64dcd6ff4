//! A run as it is seen while it lasts: what its machines said last.
//!
//! Machines report to their host what they have done every half second. Who draws or serves that
//! looks here, and the run never waits for them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use welter_protocol::times::Times;

use crate::activity::Activity;

/// Picture of a run.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Activity of each machine, by rank.
    pub activities: Vec<Activity>,
    /// Iterations that are done.
    pub iterations: u32,
    /// Number of times that machines were started again.
    pub restarts: u32,
    /// Number of times that a machine was silent for long.
    pub suspicions: u32,
}

/// Shared handle on the picture of a run. Cloning shares.
#[derive(Clone, Debug, Default)]
pub struct Live(Arc<Mutex<Picture>>);

impl Live {
    fn lock(&self) -> MutexGuard<'_, Picture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The picture of this moment.
    pub fn look(&self) -> Picture {
        self.lock().clone()
    }

    /// Changes the picture.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Picture)) {
        change(&mut self.lock());
    }
}

/// A kind of time.
type Kind = fn(&Times) -> u64;

impl Picture {
    /// Shares of the kinds of time (Chaos, Figure 16), over all machines; none before anything was
    /// said.
    pub fn line(&self) -> Option<String> {
        let sum = |kind: Kind| -> u64 {
            self.activities.iter().map(|activity| kind(&activity.times)).sum()
        };
        let all = sum(Times::sum);
        let kinds: [(&str, Kind); 4] = [
            ("own", |times| times.own),
            ("stolen", |times| times.stolen),
            ("copying and merging", |times| times.copying + times.merging),
            ("idle", |times| times.idle),
        ];
        let share = |kind| 100.0 * sum(kind) as f64 / all as f64;
        let shares = kinds.map(|(name, kind)| format!("{:.0} % {name}", share(kind)));
        (all > 0).then(|| shares.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_machines() {
        assert_eq!(Picture::default().line(), None);
        let times = Times { own: 60, stolen: 20, copying: 5, merging: 5, idle: 10 };
        let idle = Times { idle: 100, ..Times::default() };
        let activities = [times, idle].map(|times| Activity { times, ..Activity::default() });
        let picture = Picture { activities: activities.to_vec(), ..Picture::default() };
        let line = picture.line().unwrap();
        assert_eq!(line, "30 % own, 10 % stolen, 5 % copying and merging, 55 % idle");
    }
}
