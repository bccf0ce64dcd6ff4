//! Bytes that machines move, by iteration: what a machine counts, and what its host has heard.
//!
//! ```text
//! iteration 0       the beginning, with the ingest
//! iteration i       from its first phase until the next one begins; answers to others with it
//! ```
//!
//! A machine tells its host of several iterations at once, when it tells what it has done, and the
//! host adds what it hears: what is done again after a crash counts to its iteration once more.
//! Searches of roads have hundreds of thousands of iterations, so a host has a bounded number of
//! entries: where there are more, two neighbours become one.
//!
//! **Invariant:** an entry is lost to none: sums are those of all that was heard. Tested by
//! `full_records_lose_nothing`. **Invariant:** `of_text(text(m)) = m`. Tested by
//! `moves_are_lines_of_text`.

use std::fmt::Write;

/// Entries of a record beside the beginning, at most: a power of two.
const ENTRIES_MAX: usize = 256;

/// Iterations that a machine has not told its host of, at most.
const UNTOLD_MAX: usize = 1024;

/// Bytes that a machine moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes from its disk.
    pub read: u64,
    /// Bytes to its disk.
    pub written: u64,
    /// Bytes to other machines.
    pub sent: u64,
}

/// Bytes of iterations, each with its number.
pub type Moves = Vec<(u32, Moved)>;

impl Moved {
    fn add(&mut self, other: Self) {
        self.read = self.read.saturating_add(other.read);
        self.written = self.written.saturating_add(other.written);
        self.sent = self.sent.saturating_add(other.sent);
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            read: self.read.saturating_sub(earlier.read),
            written: self.written.saturating_sub(earlier.written),
            sent: self.sent.saturating_sub(earlier.sent),
        }
    }
}

/// Account of a machine: what its host has not heard yet.
#[derive(Debug, Default)]
pub(crate) struct MovedAccount {
    iteration: u32,
    /// Sums until now, as far as they are counted to an iteration.
    counted: Moved,
    untold: Moves,
}

impl MovedAccount {
    /// The machine is at an iteration now, and has moved this in all. Whether the host is to hear
    /// of iterations, since [`UNTOLD_MAX`] wait.
    pub(crate) fn turn(&mut self, iteration: u32, now: Moved) -> bool {
        if iteration != self.iteration {
            self.count(now);
            self.iteration = iteration;
        }
        self.untold.len() >= UNTOLD_MAX
    }

    /// All that the host has not heard, where the machine has moved this in all.
    pub(crate) fn take(&mut self, now: Moved) -> Moves {
        self.count(now);
        std::mem::take(&mut self.untold)
    }

    fn count(&mut self, now: Moved) {
        let moved = now.since(self.counted);
        self.counted = now;
        if moved != Moved::default() {
            self.untold.push((self.iteration, moved));
        }
    }
}

/// Numbers of moves, a line for each iteration.
pub(crate) fn text(moves: &[(u32, Moved)]) -> String {
    moves.iter().fold(String::new(), |mut text, (iteration, moved)| {
        let Moved { read, written, sent } = moved;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{iteration} {read} {written} {sent}");
        text
    })
}

/// Moves of such lines, if they are some.
pub(crate) fn of_text(text: &str) -> Option<Moves> {
    let of_line = |line: &str| {
        let (iteration, numbers) = line.split_once(' ')?;
        let numbers: Option<Vec<u64>> = numbers.split(' ').map(|word| word.parse().ok()).collect();
        let [read, written, sent] = numbers?[..] else { return None };
        Some((iteration.parse().ok()?, Moved { read, written, sent }))
    };
    text.lines().map(of_line).collect()
}

/// Bytes of consecutive iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationsMoved {
    /// The last of the iterations.
    pub last: u64,
    /// Number of iterations.
    pub count: u64,
    /// Bytes that these moved.
    pub moved: Moved,
}

/// Bytes of all iterations of a machine, in few entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MovedByIteration {
    beginning: Moved,
    entries: Vec<Moved>,
    /// Log2 of the iterations of a whole entry.
    each_bits: u32,
    /// The last iteration that was heard of.
    last: u32,
}

impl MovedByIteration {
    /// Adds bytes to an iteration; to the beginning, where it is 0.
    pub(crate) fn add(&mut self, iteration: u32, moved: Moved) {
        let Some(place) = iteration.checked_sub(1) else { return self.beginning.add(moved) };
        self.last = self.last.max(iteration);
        while (place >> self.each_bits) as usize >= ENTRIES_MAX {
            let pair = |pair: &[Moved]| {
                let mut sum = Moved::default();
                for moved in pair {
                    sum.add(*moved);
                }
                sum
            };
            self.entries = self.entries.chunks(2).map(pair).collect();
            self.each_bits += 1;
        }
        let place = (place >> self.each_bits) as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, Moved::default());
        }
        self.entries[place].add(moved);
    }

    /// Bytes of the beginning, and of iterations in their order; none where nothing was heard.
    pub fn entries(&self) -> Vec<IterationsMoved> {
        if *self == Self::default() {
            return Vec::new();
        }
        let entry = |(place, moved): (u64, &Moved)| {
            let (before, all) = (place << self.each_bits, u64::from(self.last));
            let last = ((place + 1) << self.each_bits).min(all);
            IterationsMoved { last, count: last - before, moved: *moved }
        };
        let beginning = IterationsMoved { last: 0, count: 1, moved: self.beginning };
        let iterations = (0_u64..).zip(&self.entries).map(entry);
        std::iter::once(beginning).chain(iterations).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(read: u64) -> Moved {
        Moved { read, written: 2 * read, sent: 3 * read }
    }

    #[test]
    fn moves_count_to_the_iteration_that_was_at_work() {
        let mut account = MovedAccount::default();
        assert!(!account.turn(0, moved(0)) && !account.turn(0, moved(4)));
        assert!(!account.turn(1, moved(10)));
        // An iteration in which nothing moved, and one that is not at its end.
        assert!(!account.turn(2, moved(15)) && !account.turn(3, moved(15)));
        assert_eq!(account.take(moved(17)), [(0, moved(10)), (1, moved(5)), (3, moved(2))]);
        assert!(account.take(moved(17)).is_empty());
        assert!(!account.turn(4, moved(18)));
        assert_eq!(account.take(moved(18)), [(3, moved(1))]);
        let turns = (0_u32..).zip(18..).skip(5);
        let last = turns.map(|(at, sum)| account.turn(at, moved(sum))).position(|is_full| is_full);
        assert_eq!(last, Some(UNTOLD_MAX - 1), "a machine never keeps more");
    }

    #[test]
    fn moves_are_lines_of_text() {
        let all = vec![(0, moved(1)), (u32::MAX, Moved { sent: u64::MAX, ..moved(7) })];
        assert_eq!(text(&all), format!("0 1 2 3\n{} 7 14 {}\n", u32::MAX, u64::MAX));
        assert_eq!(of_text(&text(&all)), Some(all));
        assert_eq!(of_text(""), Some(Vec::new()));
        for wrong in ["1 2 3", "1 2 3 4 5", "x 1 2 3", "1 2 3 x", "1 2 3 4\n\n", "-1 2 3 4"] {
            assert_eq!(of_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_iteration_has_an_entry() {
        let mut record = MovedByIteration::default();
        assert!(record.entries().is_empty());
        for (iteration, read) in [(0, 9), (2, 5), (1, 4), (2, 1)] {
            record.add(iteration, moved(read));
        }
        let entry = |last, read| IterationsMoved { last, count: 1, moved: moved(read) };
        assert_eq!(record.entries(), [entry(0, 9), entry(1, 4), entry(2, 6)]);
    }

    #[test]
    fn full_records_lose_nothing() {
        for last in [255, 256, 257, 5000, u32::MAX] {
            let mut record = MovedByIteration::default();
            let all = if last < 9999 { 0..=last } else { last - 9..=last };
            let count = all.clone().count() as u64;
            all.for_each(|iteration| record.add(iteration, moved(1)));
            let entries = record.entries();
            assert!(entries.len() <= 1 + ENTRIES_MAX, "{} of {last}", entries.len());
            let sum = |of: fn(&IterationsMoved) -> u64| entries.iter().map(of).sum::<u64>();
            assert_eq!(sum(|it| it.moved.read), count, "{last}");
            assert_eq!(sum(|it| it.count), 1 + u64::from(last), "each iteration has one entry");
            assert_eq!(entries.last().map(|it| it.last), Some(last.into()));
        }
    }
}
