//! Dealing out of the parts of a graph to the machines that find them.
//!
//! ```text
//! machine r   which parts are here, and the list of all   all -> all   one deal, by the same words
//! deal        part 0 -> machine 0, part 1 -> machine 2, ..             each part once
//! ```
//! A part is read by that machine of those which find it that has the fewest edges by then. A
//! machine may have the list and no part: it reads no edges at the begin, and has its share of the
//! work, since chunks and messages go to all.
//!
//! Invariant: each part is dealt to one machine, which has it. Checked in `deal`. Tested by
//! `parts_are_dealt_to_machines_that_have_them`.

use std::fmt;
use std::str::FromStr;

use welter_engine::kept::{KeptParts, PartsList};
use welter_progress::FailureKind;

use crate::failure::Failure;

/// First bytes of the words of a machine about a graph in parts.
const MAGIC: [u8; 8] = *b"KEPTPART";

/// Machine that reads each part of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deal {
    /// Number of the graph.
    pub(crate) graph: u64,
    /// Machine of each part.
    machines: Vec<usize>,
}

impl Deal {
    /// Parts that a machine reads.
    pub(crate) fn parts_of(&self, rank: usize) -> Vec<usize> {
        let parts = self.machines.iter().enumerate();
        parts.filter(|(_, machine)| **machine == rank).map(|(part, _)| part).collect()
    }
}

/// The deal as words of a line, for a machine that comes later.
impl fmt::Display for Deal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.graph)?;
        self.machines.iter().try_for_each(|machine| write!(f, " {machine}"))
    }
}

impl FromStr for Deal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (graph, machines) = text.split_once(' ').ok_or(())?;
        let machines = machines.split(' ').map(|word| word.parse::<usize>().map_err(drop));
        let graph = u64::from_str_radix(graph, 16).map_err(drop)?;
        Ok(Self { graph, machines: machines.collect::<Result<_, ()>>()? })
    }
}

/// Words of a machine about the parts that are here, and the list of all.
pub(crate) fn hello(parts: &KeptParts) -> Vec<u8> {
    words(parts.here().map(|(part, _)| part), parts.list())
}

fn words(here: impl Iterator<Item = usize>, list: &PartsList) -> Vec<u8> {
    let here = here.fold(0_u64, |bits, part| bits | 1_u64 << part);
    [&MAGIC[..], &here.to_le_bytes()[..], &list.encode()[..]].concat()
}

/// Parts that a machine has, a bit each, and its list. None where its words are of another input.
fn held(words: &[u8]) -> Option<(u64, PartsList)> {
    let (here, list) = words.strip_prefix(&MAGIC)?.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*here), PartsList::decode(list)?))
}

/// Deals the parts of a graph out, by the words of all machines. None where each machine has all.
/// `name`: the graph, as this machine knows it.
pub(crate) fn deal(words: &[Vec<u8>], name: &str) -> Result<Option<Deal>, Failure> {
    let found: Vec<Option<(u64, PartsList)>> = words.iter().map(|words| held(words)).collect();
    let first = found.iter().flatten().next();
    let (_, list) = first.ok_or_else(|| Failure::bug("a machine has a list of its own"))?;
    let mut here = Vec::new();
    for (rank, found) in found.iter().enumerate() {
        let other = || {
            let what = "its input is another graph than that of other machines";
            Failure::content(format!("{name}: machine {rank}: {what}"))
        };
        let own = found.as_ref().filter(|(_, other)| other == list);
        here.push(own.ok_or_else(other)?.0);
    }
    let has = |rank: usize, part: usize| here[rank] >> part & 1 == 1;
    let count = list.parts().len();
    if (0..here.len()).all(|rank| (0..count).all(|part| has(rank, part))) {
        return Ok(None);
    }
    let (mut edges, mut machines) = (vec![0_u64; here.len()], Vec::new());
    for (part, entry) in list.parts().iter().enumerate() {
        let holders = (0..here.len()).filter(|rank| has(*rank, part));
        let Some(machine) = holders.min_by_key(|rank| edges[*rank]) else {
            let what = format!("{name}/part-{part}: no machine has this part of the graph");
            let hint = "start the machines that have the others, or copy it to one of these";
            return Err(Failure::new(FailureKind::Missing, what).hint(hint));
        };
        edges[machine] += entry.edges;
        machines.push(machine);
    }
    Ok(Some(Deal { graph: list.number(), machines }))
}

#[cfg(test)]
mod tests {
    use welter_engine::kept::PartEntry;

    use super::*;

    fn list(seed: u64) -> PartsList {
        let entry = |part: u64| PartEntry {
            graph: seed + part,
            checksum: 7,
            edges: 10 * (part + 1),
            slots: 9,
            vertices: 9,
            bytes: 100,
            weighted: true,
            undirected: false,
            negative: false,
        };
        PartsList::of((0..4).map(entry).collect()).unwrap()
    }

    #[test]
    fn parts_are_dealt_to_machines_that_have_them() {
        let list = list(1);
        let dealt = |all: &[&[usize]]| {
            let words: Vec<_> = all.iter().map(|it| words(it.iter().copied(), &list)).collect();
            deal(&words, "graph").map(|deal| deal.map(|deal| deal.machines))
        };
        let own: [&[usize]; 4] = [&[0], &[1], &[2], &[3]];
        assert_eq!(dealt(&own).unwrap(), Some(vec![0, 1, 2, 3]));
        // Parts that several have go to the one with the fewest edges.
        assert_eq!(dealt(&[&[0, 1, 2], &[1, 2, 3]]).unwrap(), Some(vec![0, 1, 0, 1]));
        assert_eq!(dealt(&[&[], &[0, 1, 2, 3], &[2]]).unwrap(), Some(vec![1, 1, 2, 1]));
        assert_eq!(dealt(&[&[0, 1, 2, 3][..]; 3]).unwrap(), None);
        let missing = dealt(&[&[0], &[1, 3]]).unwrap_err();
        assert_eq!(missing.kind(), Some(FailureKind::Missing));
        assert!(missing.message().starts_with("graph/part-2: "), "{missing}");
    }

    #[test]
    fn machines_with_another_graph_are_named() {
        let (one, other) = (list(1), list(9));
        let have = words(0..4, &one);
        for wrong in [words(0..4, &other), vec![1; 16], Vec::new(), have[..20].to_vec()] {
            let failed = deal(&[have.clone(), wrong], "graph").unwrap_err();
            assert_eq!(failed.kind(), Some(FailureKind::Input));
            assert!(failed.message().starts_with("graph: machine 1: its input"), "{failed}");
        }
    }

    #[test]
    fn a_deal_comes_back_from_its_words() {
        let deal = Deal { graph: u64::MAX - 1, machines: vec![0, 2, 0] };
        assert_eq!((deal.parts_of(0), deal.parts_of(1)), (vec![0, 2], vec![]));
        assert_eq!(deal.to_string().parse(), Ok(deal));
        for wrong in ["", "1", "x 0", "1 x", "1 0  1"] {
            assert!(wrong.parse::<Deal>().is_err(), "{wrong}");
        }
    }
}
