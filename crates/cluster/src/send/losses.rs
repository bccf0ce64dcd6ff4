//! Epochs of a machine that were lost, and whether another one may come further.
//!
//! ```text
//! an epoch is lost                                 it counts as
//! after an iteration later than all before         progress: all losses before it are forgotten
//! before all machines had met                      nothing: rank 0 may be busy, and its host looks
//! before links were tried                          a loss, and says nothing of links
//! else, after decision 0                           a loss, and no link is cut
//! before decision 0, with a process that is new    a loss; the time of links begins anew
//! before decision 0, with no such process          a loss, and after `VAIN` a link that is cut
//! ```
//!
//! As many losses in a row as [`LOSSES_MAX`] end the run, and so does a link that is cut. An
//! iteration alone is progress: an epoch reads the input, leads lanes and sends edges as all before
//! it did, so none of this brings the run nearer to its end. Decision 0, at which all edges have
//! arrived, shows that all machines reach each other.
//!
//! A machine that is killed comes again as another process, with a larger incarnation. So the sum
//! of all incarnations tells kills from links: where it has grown, a machine was away for a reason
//! of its own, and as long as that took. An epoch that was lost before all had met, and the sum was
//! known, says nothing of links, nor does one that was lost while machines read their input, before
//! any lane was led: links of the barrier were tried alone, and these had been used.
//!
//! **Invariant:** a run that comes no further ends. Tested by `losses_in_a_row_end_a_run` and
//! `a_machine_that_is_killed_for_ever_ends_the_run`. **Invariant:** kills are not taken for a link
//! that is cut, whatever time lies between them. Tested by `new_processes_have_a_time_of_their_own`
//! and `early_kills_that_lie_apart_end_no_run`. **Invariant:** an epoch that ends before links are
//! tried is no sign of one that is cut. Tested by `links_that_were_not_tried_are_not_cut`.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Epochs in a row that come no further, at which the run ends. There are fewer of them where one
/// machine ends each time, which the host counts, and names.
const LOSSES_MAX: u32 = 16;

/// Time after an epoch that was lost before all edges were where they belong, within which another
/// one of these processes must have come further. With the silence after which a machine is missed,
/// a link that is cut for good ends the run well within a minute.
pub(super) const VAIN: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// Progress of an epoch, as its machine has heard of it.
#[derive(Debug, Default)]
pub(super) struct EpochProgress {
    /// Sum of the incarnations of all machines, once they have met.
    pub(super) processes: Cell<Option<u64>>,
    /// Whether this machine has begun to lead lanes to others.
    pub(super) has_tried_links: Cell<bool>,
    /// The iteration that was decided on last; none before all edges are where they belong.
    pub(super) iteration: Cell<Option<u64>>,
}

/// Losses of a machine since the run came further.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// The latest iteration that an epoch has come to.
    latest: Option<u64>,
    /// Epochs that were lost since then.
    in_a_row: u32,
    /// Processes of the last one that was lost before decision 0, and since when none of theirs
    /// has come to it.
    early: Option<(u64, Instant)>,
}

impl Losses {
    /// Counts an epoch that is lost by `now`.
    ///
    /// # Errors
    /// Reason to begin no other one.
    pub(super) fn count(&mut self, epoch: &EpochProgress, now: Instant) -> Result<(), String> {
        let iteration = epoch.iteration.get();
        if iteration > self.latest {
            *self = Self { latest: iteration, ..Self::default() };
            return Ok(());
        }
        if iteration.is_none() && epoch.processes.get().is_none() {
            // It was lost before all had met: rank 0 may be busy with a piece of its input.
            return Ok(());
        }
        self.in_a_row += 1;
        if self.in_a_row >= LOSSES_MAX {
            return Err(format!("{LOSSES_MAX} epochs in a row came no further"));
        }
        if iteration.is_some() {
            self.early = None;
        } else if epoch.has_tried_links.get()
            && let Some(processes) = epoch.processes.get()
        {
            let known = self.early.filter(|(of, _)| *of == processes);
            let since = known.map_or(now, |(_, since)| since);
            if now.saturating_duration_since(since) > VAIN {
                let seconds = VAIN.as_secs();
                return Err(format!("machines have not reached each other for {seconds} s"));
            }
            self.early = Some((processes, since));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The progress of an epoch of these processes.
    fn epoch(processes: Option<u64>, iteration: Option<u64>) -> EpochProgress {
        let has_tried_links = Cell::new(processes.is_some());
        let (processes, iteration) = (Cell::new(processes), Cell::new(iteration));
        EpochProgress { processes, has_tried_links, iteration }
    }

    #[test]
    fn losses_in_a_row_end_a_run() {
        let now = Instant::now();
        for came_to in [None, Some(7)] {
            let mut losses = Losses::default();
            let first = epoch(Some(3), Some(7));
            assert!(losses.count(&first, now).is_ok());
            // Each one has another process, and comes as far as the first one or not.
            for processes in 4..3 + u64::from(LOSSES_MAX) {
                let lost = epoch(Some(processes), came_to);
                assert_eq!(losses.count(&lost, now), Ok(()), "{processes}");
            }
            let mut further = losses;
            let ended = losses.count(&epoch(Some(99), came_to), now);
            assert_eq!(ended, Err("16 epochs in a row came no further".to_owned()));
            assert_eq!(further.count(&epoch(Some(99), Some(8)), now), Ok(()));
            assert_eq!((further.latest, further.in_a_row), (Some(8), 0));
        }
    }

    #[test]
    fn new_processes_have_a_time_of_their_own() {
        let (begin, mut losses) = (Instant::now(), Losses::default());
        for processes in 1..LOSSES_MAX {
            let lost = epoch(Some(processes.into()), None);
            assert_eq!(losses.count(&lost, begin + VAIN * 2 * processes), Ok(()), "{processes}");
        }
    }

    #[test]
    fn links_that_were_not_tried_are_not_cut() {
        let (begin, late) = (Instant::now(), Duration::from_millis(1));
        let cut = epoch(Some(5), None);
        let busy = epoch(Some(5), None);
        busy.has_tried_links.set(false);
        let mut losses = Losses::default();
        for at in 0..4 {
            assert_eq!(losses.count(&busy, begin + VAIN * 2 * at), Ok(()), "{at}");
        }
        // The time of a cut link begins with the first epoch that tried it.
        let begin = begin + VAIN * 8;
        for lost in [&cut, &busy, &cut] {
            assert_eq!(losses.count(lost, begin), Ok(()));
        }
        assert_eq!(losses.count(&busy, begin + VAIN + late), Ok(()));
        let ended = losses.count(&cut, begin + VAIN + late);
        assert!(ended.is_err_and(|why| why.contains("have not reached each other")));
        // The run comes no further all the same.
        let mut losses = Losses::default();
        let ended = (0..LOSSES_MAX).map(|_| losses.count(&busy, begin)).find(Result::is_err);
        assert_eq!(ended, Some(Err("16 epochs in a row came no further".to_owned())));
    }

    #[test]
    fn a_link_that_is_cut_ends_a_run_of_the_same_processes() {
        let (begin, late) = (Instant::now(), Duration::from_millis(1));
        let cut = epoch(Some(5), None);
        let mut losses = Losses::default();
        for now in [begin, begin + VAIN] {
            assert_eq!(losses.count(&cut, now), Ok(()));
        }
        // Before machines have met nothing is known.
        assert_eq!(losses.count(&epoch(None, None), begin + VAIN * 2), Ok(()));
        assert!(losses.count(&cut, begin + VAIN + late).is_err());
        // Where all edges have arrived no link is cut.
        let mut losses = Losses { latest: Some(9), ..Losses::default() };
        for (iteration, at) in [(None, 0), (Some(3), 1), (None, 2), (None, 3)] {
            let lost = epoch(Some(5), iteration);
            assert_eq!(losses.count(&lost, begin + VAIN * at), Ok(()), "{at}");
        }
        assert!(losses.count(&cut, begin + VAIN * 3 + late).is_err());
    }
}
