//! Graphs of puzzles: a vertex a state, an edge a move. How far the states are from the solved one
//! has been counted and published.
//!
//! States are numbered by ranking what they are made of, so the graphs need no table and no search.
//! Each edge comes once, for an undirected reading.

use serde_json::Value;
use welter_model::edges::Pair;

use crate::answers::shared_json;
use crate::graph::Graph;

/// Published numbers of states by their distance from one of them, from the shared data where that
/// is there.
///
/// # Panics
/// When there are none of this name.
pub fn published(name: &str, key: &str) -> Option<Vec<u64>> {
    let known = shared_json("known/closed_form.json")?;
    let counts = known[name][key].as_array().expect("counts are a list");
    Some(counts.iter().filter_map(Value::as_u64).collect())
}

/// The number of an arrangement of `0..N` among all of them in the order of a dictionary.
pub fn rank<const N: usize>(arrangement: [u8; N]) -> u32 {
    let mut number = 0;
    for (place, item) in arrangement.iter().enumerate() {
        let smaller = arrangement[place + 1..].iter().filter(|other| *other < item).count();
        number = number * (N - place) as u32 + smaller as u32;
    }
    number
}

/// The arrangement of this number.
fn unrank<const N: usize>(mut number: u32) -> [u8; N] {
    let mut arrangement = [0; N];
    for place in (0..N).rev() {
        let width = (N - place) as u32;
        arrangement[place] = (number % width) as u8;
        number /= width;
        for later in place + 1..N {
            if arrangement[later] >= arrangement[place] {
                arrangement[later] += 1;
            }
        }
    }
    arrangement
}

fn factorial(n: u32) -> u32 {
    (1..=n).product()
}

/// The 8-puzzle: tiles 1 to 8 and a blank (0) on 3 by 3 places; a move slides a tile.
pub fn eight_puzzle() -> Graph {
    let states = factorial(9);
    let mut pairs = Vec::new();
    for state in 0..states {
        let tiles: [u8; 9] = unrank(state);
        let blank = tiles.iter().position(|tile| *tile == 0).unwrap_or(0);
        // Moves of the blank to the right and down are moves to the left and up from the other end.
        for (possible, other) in [(blank % 3 < 2, blank + 1), (blank < 6, blank + 3)] {
            if possible {
                let mut moved = tiles;
                moved.swap(blank, other);
                pairs.push([state, rank(moved)]);
            }
        }
    }
    Graph::new(states as usize, pairs)
}

/// Stacks of 9 pancakes; a move turns over 2 to 9 of them from the top.
pub fn pancakes() -> Graph {
    let states = factorial(9);
    let mut pairs = Vec::new();
    for state in 0..states {
        let stack: [u8; 9] = unrank(state);
        for turned in 2..=9 {
            let mut after = stack;
            after[..turned].reverse();
            let other = rank(after);
            if state < other {
                pairs.push([state, other]);
            }
        }
    }
    Graph::new(states as usize, pairs)
}

/// A corner of the pocket cube after a move: the place that it came from, and its twist.
type Corner = (usize, u8);

/// Quarter turns of the upper, right and front face. Of the eight corners one stays where it is, so
/// seven places are left: four above, from the front right one clockwise as seen from the back,
/// then front right, front left and back right below.
const TURNS: [[Corner; 7]; 3] = [
    [(3, 0), (0, 0), (1, 0), (2, 0), (4, 0), (5, 0), (6, 0)],
    [(4, 2), (1, 0), (2, 0), (0, 1), (6, 1), (5, 0), (3, 2)],
    [(1, 1), (5, 2), (2, 0), (3, 0), (0, 2), (4, 1), (6, 0)],
];

/// Ways to twist seven corners: the last follows from the others.
const TWISTS: u32 = 729;

/// Corners by place, and how each is twisted.
#[derive(Clone, Copy)]
struct Cube {
    corners: [u8; 7],
    twists: [u8; 7],
}

impl Cube {
    fn of(number: u32) -> Self {
        let mut twists = [0; 7];
        let mut rest = number % TWISTS;
        for twist in &mut twists[..6] {
            *twist = (rest % 3) as u8;
            rest /= 3;
        }
        twists[6] = (18 - twists.iter().sum::<u8>()) % 3;
        Self { corners: unrank(number / TWISTS), twists }
    }

    fn number(self) -> u32 {
        let twists =
            self.twists[..6].iter().rev().fold(0, |all, twist| all * 3 + u32::from(*twist));
        rank(self.corners) * TWISTS + twists
    }

    fn turned(self, turn: &[Corner; 7]) -> Self {
        Self {
            corners: turn.map(|(from, _)| self.corners[from]),
            twists: turn.map(|(from, twist)| (self.twists[from] + twist) % 3),
        }
    }
}

/// The 2 by 2 by 2 cube with one corner held fast. A move turns a face by a quarter, or also by a
/// half where `half_turns` count as one move.
pub fn pocket_cube(half_turns: bool) -> Graph {
    let states = factorial(7) * TWISTS;
    let mut pairs: Vec<Pair> = Vec::with_capacity(states as usize * if half_turns { 5 } else { 3 });
    for state in 0..states {
        let cube = Cube::of(state);
        for turn in &TURNS {
            let quarter = cube.turned(turn);
            pairs.push([state, quarter.number()]);
            if half_turns {
                let half = quarter.turned(turn).number();
                if state < half {
                    pairs.push([state, half]);
                }
            }
        }
    }
    Graph::new(states as usize, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_numbered_in_order() {
        assert_eq!(rank([0, 1, 2, 3]), 0);
        assert_eq!(rank([3, 2, 1, 0]), 23);
        for number in 0..24 {
            assert_eq!(rank(unrank::<4>(number)), number);
        }
    }

    #[test]
    fn cubes_are_numbered_and_turns_undo_themselves_after_four() {
        for number in [0, 1, 728, 729, 1_000_003, 3_674_159] {
            let cube = Cube::of(number);
            assert_eq!(cube.number(), number);
            for turn in &TURNS {
                let around = (0..4).fold(cube, |cube, _| cube.turned(turn));
                assert_eq!(around.number(), number);
                assert_ne!(cube.turned(turn).turned(turn).number(), number);
            }
        }
    }
}
