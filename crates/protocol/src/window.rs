//! Keeping all storage engines busy: how many pulls a computation engine has open, and at whom
//! (Chaos, section 6.5).
//!
//! ```text
//! phi       = 1 + R_network / R_storage                                          equation 1
//! rho(m, k) = 1 - (1 - k / m)^m                                                  equation 2
//! each      = min(d, s), at least 1                 pulls at one engine at a time
//! all       = max(m, min(s, m each))                pulls at all engines at a time
//! window    = ceil(phi k d) + more, k the smallest with rho(m, k) >= 0.995, at most `all`
//! by cells    3 windows of chunks that are asked for, at most `all`, and as many again that wait
//! sets        3 windows of chunks of a vertex set, or as many as pulls if more, at most m
//!
//! more(0) = 0      more + 1        where a pull found a disk at rest, and no chunk waits here
//!                  more - 0.005    where it did not
//! ```
//!
//! `R_network` is the round trip of a pull without the time at the engine, `R_storage` the time
//! that the engine needs for it without queueing, and `d` how many requests it serves at a time (1
//! in the paper): as many more keep it busy.
//!
//! A computation engine that streams `s` chunks at a time wants one more on its way for each. Where
//! there are fewer machines, or few of them have any left (all of a partition may lie with one),
//! that is several at a storage engine: as many as it serves at a time, since more would queue
//! there ([`PullBounds`]).
//!
//! Equation 2 has each pull draw from all engines, and a chunk that has come make room for the next
//! pull. Where edges lie by cells neither holds: few engines have a chunk of a cell, and what came
//! of it waits until its signals are there. So there are more places, and a chunk that waits leaves
//! its own ([`Places`]).
//!
//! Nor does it hold at the ends of phases, when few engines are at work, and in the middle disks
//! are in use for less than it says: pulls pile up at some disks while others rest. A pull that did
//! not wait tells so. As long as more of them than `1 - rho` do, the window grows by one with each
//! ([`Window::measured`]). An engine that has chunks waiting is short of cores, not of pulls.
//!
//! **Invariant:** `0 <= more <= all - ceil(phi k d)`, and `more = 0` where the width is forced.
//! Tested by `disks_at_rest_open_the_window` and `streams_open_the_window_further`.
//!
//! **Invariant:** pulls of a cell are open at *distinct* engines, each chosen uniformly among those
//! that have not said "none", as long as there is one at which none is open; then at one of those
//! that have more and have the fewest open, at most `each`. So with one stream, or disks that serve
//! one request at a time, there are at most `m`, at distinct engines, as in the paper. Asserted in
//! `Pulls::fill`; checked by the simulator in `OpenPulls::effect`. (But for a directory, which says
//! at whom.)

use crate::ids::{Rank, Time};
use crate::random::Random;

/// The utilisation of a storage engine that is thought enough.
const ENOUGH: f64 = 0.995;

/// A disk was at rest that a pull waited for less than this part of its service.
const AT_REST: Time = 10;

/// Windows of chunks that are asked for, where edges lie by cells.
const BY_CELLS: usize = 3;

/// Width of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// By equations 1 and 2 and what is measured.
    Measured,
    /// As many pulls.
    Forced(usize),
}

/// Equation 2: the share of time in which a storage engine has something to do when each of `m`
/// computation engines has `k` pulls open at it and its like. `k` is at most `m`.
pub fn utilisation(m: usize, k: f64) -> f64 {
    let m = m as f64;
    1.0 - (1.0 - k.min(m) / m).powf(m)
}

/// The batch factor: the smallest `k` that keeps `m` storage engines busy.
///
/// Five pulls for each engine keep storage engines busy 99.5 % of the time in the paper's cluster
/// of 32 machines, and hardly less in larger ones:
///
/// ```
/// use welter_protocol::window::{batch_factor, utilisation};
///
/// assert_eq!(batch_factor(32), 5);
/// assert!(utilisation(1000, 5.0) > 0.993);
/// assert_eq!(batch_factor(1), 1);
/// ```
pub fn batch_factor(m: usize) -> usize {
    (1..=m).find(|&k| utilisation(m, k as f64) >= ENOUGH).unwrap_or(m)
}

/// Equation 1, from latencies in nanoseconds.
pub fn amplification(network: f64, storage: f64) -> f64 {
    1.0 + network / storage.max(1.0)
}

/// Bounds of the pulls that a computation engine may have open at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullBounds {
    /// Pulls of a cell at one storage engine.
    pub each: usize,
    /// Pulls in all.
    pub all: usize,
}

impl PullBounds {
    /// The bounds of an engine that streams `streams` chunks at a time, on `machines` machines
    /// whose disks serve `depth` requests at a time.
    ///
    /// With one stream each engine is asked once. Eight streams on two machines want four chunks
    /// from each; of sixteen machines they ask no more than there are:
    ///
    /// ```
    /// use welter_protocol::window::PullBounds;
    ///
    /// assert_eq!(PullBounds::new(2, 4, 1), PullBounds { each: 1, all: 2 });
    /// assert_eq!(PullBounds::new(2, 4, 8), PullBounds { each: 4, all: 8 });
    /// assert_eq!(PullBounds::new(16, 4, 8), PullBounds { each: 4, all: 16 });
    /// ```
    pub fn new(machines: usize, depth: usize, streams: usize) -> Self {
        let each = streams.clamp(1, depth.max(1));
        Self { each, all: machines.max(streams.min(machines * each)) }
    }
}

/// Places of pulls: of chunks that are asked for, and of those together with what waits to be
/// streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) asked: usize,
    pub(crate) all: usize,
    /// Places of chunks of a cell that are asked for at one engine.
    pub(crate) each: usize,
}

impl Places {
    /// One chunk at a time.
    pub(crate) const ONE: Self = Self { asked: 1, all: 1, each: 1 };

    /// Places that are left beside `asked` chunks that were asked for, and `waiting` ones.
    pub(crate) fn left(self, asked: usize, waiting: usize) -> Self {
        let all = self.all.saturating_sub(asked + waiting);
        Self { asked: self.asked.saturating_sub(asked).min(all), all, ..self }
    }

    /// Places that are left beside `later` chunks that were asked for of cells which come next.
    ///
    /// Where engines are asked once at a time, all of them: an answer leaves room for one pull of
    /// its cell, and its cell asks for no more than one in its place.
    pub(crate) fn beside(self, later: usize) -> Self {
        let later = if self.each > 1 { later } else { 0 };
        Self { asked: self.asked.saturating_sub(later), ..self }
    }

    /// Four times as many of all kinds: more than there may be.
    pub(crate) fn too_many(self) -> Self {
        Self { asked: 4 * self.asked, all: 4 * self.all, each: 4 * self.each }
    }
}

/// Latencies of pulls as one computation engine sees them, and the window that follows.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    width: Width,
    machines: usize,
    bounds: PullBounds,
    /// `k d`.
    factor: usize,
    network: f64,
    storage: f64,
    /// Pulls beside those of the equations.
    more: f64,
}

impl Window {
    pub(crate) fn new(width: Width, machines: usize, depth: usize, streams: usize) -> Self {
        let bounds = PullBounds::new(machines, depth, streams);
        let factor = batch_factor(machines) * depth.max(1);
        Self { width, machines, bounds, factor, network: 0.0, storage: 0.0, more: 0.0 }
    }

    /// A pull took so long, of which the engine needed `service` for itself and `queued` before. It
    /// `starves` where no chunk waited here when its own came.
    pub(crate) fn measured(&mut self, took: Time, [queued, service]: [Time; 2], starves: bool) {
        let network = took.saturating_sub(queued + service) as f64;
        let smooth = |old: &mut f64, new: f64| {
            *old = if *old == 0.0 { new } else { *old + (new - *old) / 8.0 };
        };
        smooth(&mut self.network, network);
        smooth(&mut self.storage, service as f64);
        if self.width == Width::Measured {
            let found_rest = queued < service / AT_REST;
            let step = match (found_rest, starves) {
                (true, true) => 1.0,
                (true, false) => 0.0,
                (false, _) => ENOUGH - 1.0,
            };
            let most = self.bounds.all.saturating_sub(self.pulls()) as f64;
            self.more = (self.more + step).clamp(0.0, most);
        }
    }

    /// Number of pulls that may be open.
    pub(crate) fn size(&self) -> usize {
        (self.pulls() + self.more as usize).clamp(1, self.bounds.all)
    }

    /// Number of chunks of a vertex set that may be asked for. The engine does nothing else until
    /// all are there, so all disks should be at work on them.
    pub(crate) fn of_sets(&self) -> usize {
        self.places(true).asked.max(self.size()).min(self.machines)
    }

    /// Places for chunks, where edges lie by cells or not.
    pub(crate) fn places(&self, by_cells: bool) -> Places {
        let (size, PullBounds { each, all }) = (self.size(), self.bounds);
        if !by_cells {
            return Places { asked: size, all: size, each };
        }
        let asked = match self.width {
            Width::Forced(_) => size,
            Width::Measured => (BY_CELLS * self.pulls()).clamp(1, all),
        };
        Places { asked, all: 2 * asked, each }
    }

    /// Number of pulls that keep storage engines busy by equations 1 and 2, however many machines
    /// there are.
    fn pulls(&self) -> usize {
        match self.width {
            Width::Forced(width) => width,
            // Nothing is known before the first answer: as if the network were as slow as storage,
            // which is the paper's case.
            Width::Measured if self.storage == 0.0 => 2 * self.factor,
            Width::Measured => {
                let phi = amplification(self.network, self.storage);
                (phi * self.factor as f64).ceil() as usize
            }
        }
    }
}

/// Takes an engine out of `engines` at random.
pub(crate) fn draw(engines: &mut Vec<Rank>, random: &mut Random) -> Rank {
    let place = random.below(engines.len() as u64) as usize;
    engines.swap_remove(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window of an engine that streams one chunk at a time.
    fn of_one(width: Width, machines: usize, depth: usize) -> Window {
        Window::new(width, machines, depth, 1)
    }

    #[test]
    fn the_figures_of_the_paper() {
        // Section 10.1: 32 machines, 5 requests: 99.56 %.
        assert!((utilisation(32, 5.0) - 0.9956).abs() < 5e-5, "{}", utilisation(32, 5.0));
        assert_eq!(batch_factor(32), 5);
        // Round trips as long as the service: a window of 10, the sweet spot of Figure 15.
        assert!((amplification(100.0, 100.0) - 2.0).abs() < 1e-12);
        let mut window = of_one(Width::Measured, 32, 1);
        assert_eq!(window.size(), 10);
        window.measured(250, [50, 100], true);
        assert_eq!(window.size(), 10);
        // Of disks that serve two or four requests at a time, as many more.
        assert_eq!(of_one(Width::Measured, 32, 2).size(), 20);
        assert_eq!(of_one(Width::Measured, 32, 4).size(), 32, "each engine is asked once");
    }

    #[test]
    fn cells_have_more_places_and_chunks_that_wait_leave_theirs() {
        let window = of_one(Width::Measured, 100, 1);
        let size = window.size();
        assert_eq!(window.places(false), Places { asked: size, all: size, each: 1 });
        assert_eq!(window.places(true), Places { asked: 3 * size, all: 6 * size, each: 1 });
        let few = of_one(Width::Measured, 4, 1).places(true);
        assert_eq!(few, Places { asked: 4, all: 8, each: 1 }, "each engine is asked once");
        let forced = of_one(Width::Forced(2), 8, 1).places(true);
        assert_eq!(forced, Places { asked: 2, all: 4, each: 1 });
        // (asked, waiting) -> places that are left
        for (taken, left) in [
            ((0, 0), (2, 4)),
            ((1, 0), (1, 3)),
            ((1, 1), (1, 2)),
            ((2, 0), (0, 2)),
            ((0, 3), (1, 1)),
            ((1, 3), (0, 0)),
            ((0, 9), (0, 0)),
        ] {
            let found = forced.left(taken.0, taken.1);
            assert_eq!((found.asked, found.all), left, "{taken:?}");
        }
    }

    #[test]
    fn pulls_of_cells_that_come_next_leave_fewer_places() {
        // (places at an engine, pulls of later cells) -> pulls that may be open
        for ((each, later), asked) in
            [((2, 0), 3), ((2, 1), 2), ((4, 3), 0), ((2, 4), 0), ((1, 0), 3), ((1, 2), 3)]
        {
            let found = Places { asked: 3, all: 6, each }.beside(later);
            assert_eq!(found, Places { asked, all: 6, each }, "{later} of later cells");
        }
    }

    #[test]
    fn engines_are_as_busy_as_equation_2_says() {
        let mut random = Random::new(17);
        for (m, k) in [(32, 5), (32, 3), (16, 4), (8, 2), (5, 1)] {
            let (rounds, mut busy) = (4000, 0);
            for _ in 0..rounds {
                let mut asked = vec![false; m];
                for _ in 0..m {
                    let mut engines: Vec<Rank> = (0..m).collect();
                    (0..k).for_each(|_| asked[draw(&mut engines, &mut random)] = true);
                }
                busy += asked.into_iter().filter(|asked| *asked).count();
            }
            let found = busy as f64 / (rounds * m) as f64;
            let expected = utilisation(m, f64::from(k));
            assert!((found - expected).abs() < 0.004, "m = {m}, k = {k}: {found}, not {expected}");
        }
    }

    #[test]
    fn few_machines_are_all_asked() {
        assert_eq!([1, 2, 3, 4].map(batch_factor), [1, 2, 3, 3]);
        assert!((utilisation(4, 9.0) - 1.0).abs() < 1e-12, "k is at most m");
        assert_eq!(of_one(Width::Forced(100), 8, 1).size(), 8);
        assert_eq!(of_one(Width::Forced(0), 8, 4).size(), 1);
    }

    #[test]
    fn disks_at_rest_open_the_window() {
        const FEW: usize = 5;
        // (queued, whether the engine starves) -> pulls beside those of the equations
        for (queued, starves, more) in
            [(0, true, 1), (9, true, 1), (10, true, 0), (100, true, 0), (0, false, 0)]
        {
            let mut window = of_one(Width::Measured, 32, 1);
            window.measured(queued + 100, [queued, 100], starves);
            assert_eq!(window.size(), FEW + more, "{queued}, {starves}");
            assert_eq!(window.places(false).asked, FEW + more);
            assert_eq!(window.places(true).asked, 3 * FEW, "by cells there are enough");
            assert_eq!(window.of_sets(), 3 * FEW);
        }
        // One of two hundred that finds a disk at rest is as many as equation 2 allows.
        let mut window = of_one(Width::Measured, 32, 1);
        (0..100).for_each(|_| window.measured(100, [0, 100], true));
        assert_eq!((window.size(), window.of_sets()), (32, 32));
        (0..199).for_each(|_| window.measured(200, [100, 100], true));
        window.measured(100, [0, 100], true);
        assert_eq!(window.size(), 32);
        (0..=27 * 200).for_each(|_| window.measured(200, [100, 100], true));
        assert_eq!(window.size(), FEW);
        (0..100).for_each(|_| window.measured(200, [100, 100], true));
        window.measured(100, [0, 100], true);
        assert_eq!(window.size(), FEW + 1, "it is never less than none");
        let mut forced = of_one(Width::Forced(3), 32, 1);
        forced.measured(100, [0, 100], true);
        let found = (forced.size(), forced.places(true).asked, forced.of_sets());
        assert_eq!(found, (3, 3, 3));
    }

    #[test]
    fn bounds_follow_streams_and_disks() {
        // (machines, depth, streams) -> (pulls at one engine, pulls in all)
        for ((machines, depth, streams), (each, all)) in [
            ((1, 4, 1), (1, 1)),
            ((1, 4, 3), (3, 3)),
            ((1, 4, 4), (4, 4)),
            ((1, 4, 8), (4, 4)),
            ((2, 4, 0), (1, 2)),
            ((2, 4, 1), (1, 2)),
            ((2, 4, 2), (2, 2)),
            ((2, 4, 3), (3, 3)),
            ((2, 4, 8), (4, 8)),
            ((2, 4, 9), (4, 8)),
            ((2, 1, 8), (1, 2)),
            ((2, 0, 8), (1, 2)),
            ((4, 4, 8), (4, 8)),
            ((32, 1, 64), (1, 32)),
            ((32, 4, 32), (4, 32)),
            ((32, 4, 33), (4, 33)),
        ] {
            let found = PullBounds::new(machines, depth, streams);
            let what = format!("{machines} machines, depth {depth}, {streams} streams");
            assert_eq!(found, PullBounds { each, all }, "{what}");
        }
    }

    #[test]
    fn streams_open_the_window_further() {
        // (machines, depth, streams) -> (window, places by cells, chunks of a vertex set)
        for ((machines, depth, streams), (size, asked, sets)) in [
            ((2, 4, 1), (2, 2, 2)),
            ((2, 4, 2), (2, 2, 2)),
            ((2, 4, 3), (3, 3, 2)),
            ((2, 4, 8), (8, 8, 2)),
            ((2, 4, 64), (8, 8, 2)),
            ((2, 1, 8), (2, 2, 2)),
            ((1, 4, 8), (4, 4, 1)),
            ((16, 4, 8), (16, 16, 16)),
            // Where equations 1 and 2 want fewer than all, streams ask for no more.
            ((32, 1, 16), (10, 30, 30)),
        ] {
            let window = Window::new(Width::Measured, machines, depth, streams);
            let found = (window.size(), window.places(true).asked, window.of_sets());
            let what = format!("{machines} machines, depth {depth}, {streams} streams");
            assert_eq!(found, (size, asked, sets), "{what}");
            assert_eq!(window.places(true).all, 2 * asked, "{what}");
        }
        for (width, size) in [(0, 1), (1, 1), (3, 3), (8, 8), (9, 8)] {
            let forced = Window::new(Width::Forced(width), 2, 4, 8);
            assert_eq!((forced.size(), forced.of_sets()), (size, size.min(2)), "{width}");
        }
        // Six pulls by the equations, since the network takes no time; two more have room.
        let mut window = Window::new(Width::Measured, 4, 2, 8);
        (0..9).for_each(|_| window.measured(100, [0, 100], true));
        assert_eq!((window.factor, window.size(), window.of_sets()), (6, 8, 4));
    }

    #[test]
    fn a_slow_network_opens_the_window() {
        let mut window = of_one(Width::Measured, 64, 1);
        window.measured(100, [10, 90], true);
        let near = window.size();
        assert_eq!(near, batch_factor(64));
        for _ in 0..100 {
            window.measured(400, [10, 90], true);
        }
        assert!(window.size() >= 4 * near - 1, "{}", window.size());
    }
}
