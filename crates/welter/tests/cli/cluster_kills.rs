//! Machines that are killed, or refused by the system, in calls that make something durable: the
//! run has the answer of one process, or ends and says why.
//!
//! The machine of a development build takes the plan of faults from its environment
//! (`welter_store::io::Faults::of_machine`), and its successor has none. `WELTER_STRIDE=1` makes a
//! fault in every call, and not in some of them.

use serde_json::Value;

use crate::cluster_faults::stated;
use crate::computers::alike;
use crate::sandbox::{Ended, Sandbox};

const RUN: &str = "run pagerank graph.tsv --iterations 4 --tolerance 0 -q";

/// The first call that is looked at: a machine that dies in each of its starts, before it listens,
/// is none.
const FIRST: u64 = 12;

/// Calls of a machine in the run, roughly: fewer would mean that they are not counted.
const CALLS_LEAST: u64 = 40;

/// A graph, and the answer of one process.
fn begun() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 9 -q -o graph.tsv");
    sandbox.must(&format!("{RUN} -o one.csv"));
    sandbox
}

/// End of a run with a fault in this call of a machine, which has the right answer if it has one,
/// and the number of starts of machines anew.
fn with_fault(sandbox: &Sandbox, (rank, fault, nth): (usize, &str, u64)) -> (Ended, u64) {
    let line = format!("{RUN} --cluster local:2 --route fold --scratch . -o many.csv");
    let mut command = sandbox.command(&format!("{line} --report r.json"));
    command.env("WELTER_MACHINE_FAULT", format!("{rank} {fault} {nth}"));
    let ended = Ended::waited(command.spawn().unwrap());
    if ended.code != Some(0) {
        return (ended, 0);
    }
    alike(sandbox, ["one.csv", "many.csv"]);
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let restarts = report["cluster"]["restarts"].as_u64().unwrap();
    (ended, restarts)
}

#[test]
fn a_machine_that_is_killed_in_any_call_is_replaced() {
    let sandbox = begun();
    let stride = stated("WELTER_STRIDE", 11);
    // The first one is the coordinator too.
    for rank in [0, 1] {
        let mut nth = FIRST;
        loop {
            let (ended, restarts) = with_fault(&sandbox, (rank, "kill", nth));
            assert_eq!(ended.code, Some(0), "machine {rank}, call {nth}: {}", ended.stderr);
            if restarts == 0 {
                break;
            }
            assert_eq!(restarts, 1, "machine {rank}, call {nth}");
            nth += stride;
        }
        assert!(nth > CALLS_LEAST, "machine {rank}: {nth} calls");
    }
}

#[test]
fn an_error_in_any_call_of_a_machine_is_mended_or_told() {
    let sandbox = begun();
    let stride = 3 * stated("WELTER_STRIDE", 11);
    // A device that fails, and one that is full.
    for fault in ["5", "28"] {
        let (mut mended, mut told) = (0, 0);
        let mut nth = FIRST;
        while nth <= 3 * CALLS_LEAST {
            let rank = (nth % 2) as usize;
            let (ended, restarts) = with_fault(&sandbox, (rank, fault, nth));
            let is_named = [Some(0), Some(70), Some(74), Some(75)].contains(&ended.code);
            assert!(is_named, "{fault}, machine {rank}, call {nth}: {}", ended.stderr);
            mended += restarts;
            told += u64::from(ended.code != Some(0));
            nth += stride;
        }
        assert!(mended + told > 0, "{fault}: no call was met");
    }
}
