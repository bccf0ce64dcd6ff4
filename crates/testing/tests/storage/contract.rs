//! Edges of spanning forests are contracted: of those between the same two components one is left,
//! and what later passes read is that.

use std::collections::{BTreeMap, BTreeSet};

use welter_engine::Generation;
use welter_model::edges::EdgeList;
use welter_progress::FailureKind;
use welter_store::io::{Call, Fault, Faults};

use crate::left::{RunOutcome, run_on};
use crate::{Setup, Task, folder, folder_in_memory, is_empty};

/// Edges, and slots.
type Size = (u32, u32);

const LARGE: Size = (300_000, 20_000);
const SMALL: Size = (60_000, 4000);

type Weighed = ([u32; 2], f64);

/// Random edges. Of some most are between a few vertices; others are the heavier the higher the
/// first bit is by which their ends differ, so that each pass makes pairs of components one.
fn edges((count, slots): Size, by_bits: bool) -> Vec<Weighed> {
    let mut state = 5_u64;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) % u64::from(below)) as u32
    };
    let bits = slots.ilog2();
    let edge = |_| {
        let below = if random(2) == 0 { slots } else { slots / 16 };
        let (one, weight) = (random(below), random(1 << 20));
        if !by_bits {
            return ([one, random(below)], f64::from(weight) - 1e5);
        }
        let (one, bit) = (random(1 << bits), random(bits));
        ([one, one ^ 1 << bit ^ random(1 << bit)], f64::from(bit << 20 | weight))
    };
    (0..count).map(edge).collect()
}

fn list(edges: &[Weighed], (_, slots): Size) -> EdgeList {
    let mut list = EdgeList::new(Some(slots.into()), true);
    for part in edges.chunks(10_000) {
        list.push(
            part.iter().map(|edge| edge.0).collect(),
            part.iter().map(|edge| edge.1).collect(),
        );
    }
    list
}

/// Before each pass of Borůvka's algorithm: edges between two components, and pairs of components
/// with an edge between them.
fn passes(edges: &[Weighed], (_, slots): Size) -> Vec<(u64, u64)> {
    let mut labels: Vec<u32> = (0..slots).collect();
    let mut counts = Vec::new();
    loop {
        let (mut candidates, mut pairs, mut best) = (0, BTreeSet::new(), BTreeMap::new());
        for &(ends, weight) in edges {
            let [one, other] = ends.map(|end| labels[end as usize]);
            if one == other {
                continue;
            }
            candidates += 1;
            pairs.insert([one.min(other), one.max(other)]);
            let key = |edge: Weighed| (edge.1, edge.0[0].min(edge.0[1]), edge.0[0].max(edge.0[1]));
            for component in [one, other] {
                let held = best.entry(component).or_insert((ends, weight));
                if key((ends, weight)) < key(*held) {
                    *held = (ends, weight);
                }
            }
        }
        counts.push((candidates, pairs.len() as u64));
        if candidates == 0 {
            return counts;
        }
        for (ends, _) in best.into_values() {
            let [one, other] = ends.map(|end| labels[end as usize]);
            if one != other {
                labels.iter_mut().filter(|label| **label == one).for_each(|label| *label = other);
            }
        }
    }
}

#[test]
fn of_parallel_edges_the_best_one_is_left() {
    let directory = folder();
    for by_bits in [false, true] {
        let edges = edges(LARGE, by_bits);
        let counts = passes(&edges, LARGE);
        let expected = Setup::memory().run(Task::Forest, Box::new(list(&edges, LARGE))).unwrap();
        for (threads, stripe_bits) in [(1, 12), (2, 14), (3, 18)] {
            let way = Setup { threads, stripe_bits, ..Setup::stored(0, &directory) };
            let kept = Setup { keeps_edges: true, ..way.clone() };
            let all = run_on(&kept, Task::Forest, list(&edges, LARGE)).unwrap();
            let found = run_on(&way, Task::Forest, list(&edges, LARGE)).unwrap();
            assert!(found.answer == all.answer && found.answer == expected, "{way:?}");
            assert!(all.left.is_empty());
            let contracted: Vec<Generation> =
                found.left.iter().copied().filter(|left| left.parallel.is_some()).collect();
            assert!(!contracted.is_empty(), "{way:?}: {:?} of {counts:?}", found.left);
            // Each is what some pass leaves, with nothing parallel in it.
            let mut pairs = counts.iter().map(|(_, pairs)| *pairs);
            for left in &contracted {
                assert!(pairs.any(|pairs| pairs == left.edges), "{contracted:?} of {counts:?}");
            }
            let first = contracted[0];
            let left_out = first.parallel.unwrap();
            assert!(counts.contains(&(first.edges + left_out, first.edges)), "{counts:?}");
            assert!(left_out > first.edges, "{contracted:?}");
            assert!(found.read < all.read / 10 * 9, "{} of {}", found.read, all.read);
            assert!(is_empty(directory.path()));
        }
    }
}

/// With so little memory beside what the plan needs that links have no place in it; and what comes
/// of that.
fn tight(edges: &[Weighed], size: Size, way: &Setup) -> (Setup, RunOutcome) {
    let plan = way.plan(Task::Forest, &list(edges, size)).unwrap();
    let with = |spare: u64| {
        let memory_bytes = Some(plan.memory.peak() + (spare << 19));
        let way = Setup { memory_bytes, ..way.clone() };
        let found = run_on(&way, Task::Forest, list(edges, size)).unwrap();
        let contracts = found.left.iter().any(|left| left.parallel.is_some());
        (contracts && found.written > 0).then_some((way, found))
    };
    (0..64).find_map(with).expect("room to contract, and none to keep links")
}

#[test]
fn what_does_not_fit_in_memory_is_written() {
    let directory = folder();
    let edges = edges(LARGE, false);
    let way = Setup { threads: 2, ..Setup::stored(0, &directory) };
    let fits = run_on(&way, Task::Forest, list(&edges, LARGE)).unwrap();
    let (_, found) = tight(&edges, LARGE, &way);
    assert!(found.answer == fits.answer);
    assert_eq!(found.left.last(), fits.left.last());
}

#[test]
fn calls_that_fail_are_errors_of_the_device_and_leave_nothing() {
    let directory = folder_in_memory();
    let edges = edges(SMALL, true);
    let (way, expected) = tight(&edges, SMALL, &Setup::stored(0, &directory));
    let faults = [
        (Call::Write, Fault::Errno(5), Some(FailureKind::Storage)),
        (Call::Write, Fault::Errno(28), Some(FailureKind::Storage)),
        (Call::Write, Fault::Short, None),
        (Call::Read, Fault::Errno(5), Some(FailureKind::Storage)),
        (Call::Read, Fault::FlipBit(77), Some(FailureKind::Damaged)),
    ];
    let mut damaged = 0;
    for (call, fault, kind) in faults {
        let mut failed = 0;
        for nth in 1.. {
            let faults = Faults::nth_of(call, nth, fault);
            let came = run_on(&way.with_faults(&faults), Task::Forest, list(&edges, SMALL));
            assert!(is_empty(directory.path()));
            match came {
                Ok(found) => assert!(found.answer == expected.answer, "{call:?} {nth}: {fault:?}"),
                Err(error) => {
                    assert_eq!(Some(error.kind()), kind, "{call:?} {nth}: {error}");
                    damaged += u32::from(error.to_string().contains("contracted edges are not"));
                    failed += 1;
                }
            }
            if !faults.fired() {
                break;
            }
        }
        assert!(failed > 0 || kind.is_none(), "{call:?}: {fault:?}");
    }
    assert!(damaged > 0, "no contracted edges were read");
}
