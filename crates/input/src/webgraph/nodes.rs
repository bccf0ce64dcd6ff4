//! The lists of successors, one after the other.
//!
//! ```text
//! node x    outdegree d; where d > 0:
//!           reference r                          0: none; else to the list of x - r
//!             block count, lengths of blocks     alternately copied and passed over; the rest is
//!                                                copied when a copied block would come next
//!           interval count                       of what is left, unless intervals are not used
//!             first: left end as a signed difference to x, length less the minimum
//!             others: left end less the end of the one before, less 1; length likewise
//!           residuals                            of what is then left
//!             first: signed difference to x; others: difference to the one before, less 1
//! ```
//!
//! A signed number n is coded as 2n, or as -2n - 1 where it is negative.
//!
//! Invariant: a list is not longer than what is left of the stated edges, and holds ascending
//! numbers below the number of vertices. Tested by `damaged_lists_are_refused_with_their_place`.

use super::bits::{Bits, Code, Fault};
use super::properties::Properties;
use crate::error::InputError;

/// Bytes of a successor: in its list, and in the edge that is made of it.
const LIST_BYTES: u64 = 12;

/// The lists of a graph, in order.
pub(super) struct Lists<'a> {
    properties: Properties,
    bits: Bits<'a>,
    /// The last lists that may be referred to, and the present one: list `x` at `x % length`.
    recent: Vec<Vec<u32>>,
    node: u64,
    /// Edges that are stated and not decoded.
    left: u64,
    /// The longest list that there is memory for.
    list_max: u64,
}

impl<'a> Lists<'a> {
    /// `memory_bytes_max`: what the longest list may take, as it is and as edges.
    pub(super) fn new(
        properties: Properties,
        bits: Bits<'a>,
        memory_bytes_max: Option<u64>,
    ) -> Self {
        let list_max = memory_bytes_max.map_or(u64::MAX, |bytes| bytes / LIST_BYTES);
        let recent = vec![Vec::new(); properties.window as usize + 1];
        Self { properties, bits, recent, node: 0, left: properties.arcs, list_max }
    }

    /// Edges that are stated and were not found yet.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Decodes the list of the next node.
    pub(super) fn next(&mut self) -> Result<&[u32], Fault> {
        let slot = (self.node % self.recent.len() as u64) as usize;
        let mut list = std::mem::take(&mut self.recent[slot]);
        list.clear();
        let result = self.decode(&mut list);
        self.recent[slot] = list;
        result?;
        self.node += 1;
        Ok(&self.recent[slot])
    }

    /// The error for the list of a node.
    pub(super) fn explain(&mut self, file: &str, node: u32, fault: Fault) -> InputError {
        let what = match fault {
            Fault::Unread => {
                let unread = || InputError::content(file, "cannot be read");
                return self.bits.take_failure().unwrap_or_else(unread);
            }
            Fault::Budget => {
                let allowed_bytes = self.list_max.saturating_mul(LIST_BYTES);
                return InputError::Budget { file: file.to_owned(), allowed_bytes };
            }
            Fault::Cut => "expected more bits, found the end of the file, which may be cut off",
            Fault::Wrong(what) => what,
        };
        let what = format!("{what} (successors of vertex {node})");
        InputError::byte(file, self.bits.offset(), what)
    }

    fn decode(&mut self, list: &mut Vec<u32>) -> Result<(), Fault> {
        let Properties { nodes, interval_min, outdegrees, residuals, .. } = self.properties;
        let degree = self.bits.read(outdegrees)?;
        if degree > self.left || degree > nodes {
            return Err(Fault::Wrong("expected no more edges than are stated"));
        }
        if degree > self.list_max {
            return Err(Fault::Budget);
        }
        self.left -= degree;
        if degree == 0 {
            return Ok(());
        }
        self.copy(list)?;
        let too_long = Fault::Wrong("expected a list as long as its stated length");
        let mut rest = degree.checked_sub(list.len() as u64).ok_or(too_long)?;
        if rest > 0 && interval_min > 0 {
            let count = self.bits.gamma()?;
            let mut end = None;
            for _ in 0..count {
                let left = self.after(end, Code::Gamma)?;
                let length = self.bits.gamma()? + interval_min;
                rest = rest.checked_sub(length).ok_or(too_long)?;
                let next = left.saturating_add(length);
                if next > nodes {
                    return Err(BEYOND);
                }
                list.extend(left as u32..next as u32);
                end = Some(next);
            }
        }
        let mut end = None;
        for _ in 0..rest {
            // The end of a residual is the number after it, so that the next one may follow.
            let next = match end {
                None => self.after(None, residuals)?,
                Some(end) => self.bits.read(residuals)?.saturating_add(end),
            };
            if next >= nodes {
                return Err(BEYOND);
            }
            list.push(next as u32);
            end = Some(next + 1);
        }
        merge_runs(list);
        if list.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Fault::Wrong("expected each successor once"));
        }
        Ok(())
    }

    /// Copies what the list shares with an earlier one.
    fn copy(&mut self, list: &mut Vec<u32>) -> Result<(), Fault> {
        let Properties { window, references, .. } = self.properties;
        if window == 0 {
            return Ok(());
        }
        let back = self.bits.read(references)?;
        if back == 0 {
            return Ok(());
        }
        if back > u64::from(window) || back > self.node {
            return Err(Fault::Wrong("expected a reference to one of the lists just before"));
        }
        let shared = &self.recent[((self.node - back) % self.recent.len() as u64) as usize];
        let blocks = self.bits.gamma()?;
        let (mut at, mut copied) = (0, true);
        for block in 0..blocks {
            let length = self.bits.gamma()? + u64::from(block > 0);
            let beyond = Fault::Wrong("expected blocks within the list that is referred to");
            let end = Some(at as u64 + length).filter(|end| *end <= shared.len() as u64);
            let end = end.ok_or(beyond)? as usize;
            if copied {
                list.extend_from_slice(&shared[at..end]);
            }
            (at, copied) = (end, !copied);
        }
        if copied {
            list.extend_from_slice(&shared[at..]);
        }
        Ok(())
    }

    /// The next left end: by a signed difference to the node, or after the end of the one before.
    fn after(&mut self, end: Option<u64>, code: Code) -> Result<u64, Fault> {
        let number = self.bits.read(code)?;
        let place = match end {
            Some(end) => Some(end.saturating_add(number).saturating_add(1)),
            None if number % 2 == 0 => Some(self.node.saturating_add(number / 2)),
            None => self.node.checked_sub(number / 2 + 1),
        };
        place.filter(|place| *place < self.properties.nodes).ok_or(BEYOND)
    }
}

#[expect(clippy::stable_sort_primitive, reason = "it finds ascending runs, here three, and merges")]
fn merge_runs(list: &mut [u32]) {
    list.sort();
}

const BEYOND: Fault = Fault::Wrong("expected successors below the stated number of vertices");
