//! A run with checkpoints that is ended, or refused by the system, at each call that makes
//! something durable: the results are there and whole, or `resume` or the same command makes them.
//!
//! The command of a development build takes the plan of faults from its environment
//! (`welter_store::io::Faults`). What the power takes with it is looked at by `cargo xtask
//! powercuts`, which needs file systems of its own.

use std::fs;

use crate::sandbox::{Ended, Sandbox};

const RUN: &str = "run pagerank graph.tsv --iterations 3 --tolerance 0 --checkpoint-every 1 \
                   --checkpoint cp -q -o out.csv --report report.json";

/// Calls of the run, roughly: fewer would mean that they are not counted.
const CALLS_LEAST: u32 = 50;

/// Runs with this fault in the Nth call, for each N, until `is_past` the last; then looks at the
/// files and continues.
fn at_each_call(fault: &str, is_past: impl Fn(&Ended, u32) -> bool) -> u32 {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 5 -q -o graph.tsv");
    sandbox.must(&RUN.replace("--checkpoint-every 1 --checkpoint cp", ""));
    let expected = sandbox.read("out.csv");
    for nth in 1.. {
        for name in ["out.csv", "report.json"] {
            fs::remove_file(sandbox.path().join(name)).unwrap();
        }
        let plan = format!("{fault} {nth}");
        let ended = Ended::of(sandbox.command(RUN).env("WELTER_FAULT", &plan).output().unwrap());
        if is_past(&ended, nth) {
            assert!(sandbox.read("out.csv") == expected);
            return nth;
        }
        if let Ok(found) = fs::read(sandbox.path().join("out.csv")) {
            assert!(found == expected, "half a result after {plan}");
        }
        go_on(&sandbox, &plan);
        assert!(sandbox.read("out.csv") == expected, "{plan}");
        assert!(!sandbox.path().join("cp").exists(), "{plan}");
    }
    unreachable!("a run ends")
}

/// Resumes the run, or does it again where nothing was kept.
fn go_on(sandbox: &Sandbox, plan: &str) {
    let resumed = sandbox.run("resume cp -q");
    assert!([Some(0), Some(66)].contains(&resumed.code), "{plan}: {}", resumed.stderr);
    if resumed.code == Some(66) {
        let again = sandbox.run(RUN);
        assert_eq!(again.code, Some(0), "{plan}: {}", again.stderr);
    }
}

#[test]
fn a_kill_at_any_call_leaves_a_result_or_a_way_to_it() {
    let calls = at_each_call("kill", |ended, _| {
        assert!(matches!(ended.code, None | Some(0)), "{}", ended.stderr);
        ended.code == Some(0)
    });
    assert!(calls > CALLS_LEAST, "{calls}");
}

#[test]
fn an_error_at_any_call_is_told_and_leaves_a_result_or_a_way_to_it() {
    for fault in ["5", "28"] {
        // A call that fails may be one that the answer does not depend on, such as the last one of
        // a removal.
        at_each_call(fault, |ended, nth| {
            let failed = [Some(73), Some(74)].contains(&ended.code);
            assert!(failed || ended.code == Some(0), "{fault} {nth}: {}", ended.stderr);
            !failed && nth > CALLS_LEAST
        });
    }
}
