//! Weights at the ends of the range of floats: ranks are right, or the run is refused and says
//! where; no table holds what is no number.

use crate::sandbox::Sandbox;

const HEAD: &str = "source,target,weight\n";

fn sandbox(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, rows) in files {
        sandbox.write(name, format!("{HEAD}{rows}"));
    }
    sandbox
}

/// Refused as content, with all of these words, and nothing is left of the output.
fn is_refused(sandbox: &Sandbox, line: &str, words: &[&str]) {
    let ended = sandbox.run(&format!("{line} -o out.csv -q"));
    assert_eq!(ended.code, Some(65), "{line}: {}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "{line}: {word}: {}", ended.stderr);
    }
    assert!(!sandbox.path().join("out.csv").exists(), "{line}");
}

#[test]
fn ranks_follow_weights_of_any_size() {
    // Powers of two, by which every bit of a rank is the same.
    let rows = |weight: f64| format!("1,2,{weight:e}\n1,3,{weight:e}\n2,1,1\n3,1,1\n");
    let (big, tiny) = (rows(1023_f64.exp2()), rows((-1040_f64).exp2()));
    let sandbox = sandbox(&[
        ("same.csv", "1,2,1\n1,3,1\n2,1,1\n3,1,1\n"),
        ("big.csv", &big),
        ("tiny.csv", &tiny),
        ("apart.csv", "1,2,1e300\n2,3,1e-300\n3,1,1\n"),
    ]);
    let expected = sandbox.must("run pagerank same.csv --weighted -q -o -");
    assert_eq!(sandbox.must("run pagerank big.csv --weighted -q -o -"), expected);
    assert_eq!(sandbox.must("run pagerank tiny.csv --weighted -q -o -"), expected);
    sandbox.must("ingest big.csv -q -o kept");
    assert_eq!(sandbox.must("run pagerank kept --weighted -q -o -"), expected);
    is_refused(&sandbox, "run pagerank apart.csv --weighted", &["vertex 2", "1e-300"]);
}

#[test]
fn weights_that_are_not_finite_are_named_where_they_are_added() {
    let sandbox = sandbox(&[("inf.csv", "1,2,1\n2,3,inf\n3,1,2\n")]);
    for command in ["pagerank --weighted", "conductance --weighted", "spmv", "als", "bp"] {
        is_refused(&sandbox, &format!("run {command} inf.csv"), &["inf.csv:3", "finite"]);
    }
    // An edge that is infinitely long leads nowhere.
    let distances = sandbox.must("run sssp inf.csv --source 1 -q -o -");
    assert_eq!(distances, "vertex,distance\n1,0.0\n2,1.0\n3,inf\n");
    // Compared, and not added.
    sandbox.must("run mcst inf.csv -q -o -");
    sandbox.must("ingest inf.csv -q -o kept");
    is_refused(&sandbox, "run pagerank kept --weighted", &["vertex 2"]);
    is_refused(&sandbox, "run spmv kept", &["vertex 3", "inf"]);
}

#[test]
fn sums_beyond_the_range_are_refused() {
    let sandbox = sandbox(&[
        ("big.csv", "1,2,1e308\n2,3,1e308\n2,4,1\n4,3,1e308\n5,3,1e308\n"),
        ("ratings.csv", "1,2,1e200\n3,2,1\n"),
    ]);
    is_refused(&sandbox, "run spmv big.csv", &["value of vertex 3", "inf"]);
    is_refused(&sandbox, "run sssp big.csv --source 1", &["distance of vertex 3"]);
    is_refused(&sandbox, "run sssp big.csv --source 1 --precision f32", &["distance of vertex"]);
    is_refused(&sandbox, "run conductance big.csv --weighted", &["weights of a side"]);
    is_refused(&sandbox, "run als ratings.csv", &["floats hold"]);
    // Vertices that no path leads to stay infinitely far.
    let far = sandbox.must("run sssp big.csv --source 4 -q -o -");
    assert!(far.contains("1,inf\n") && far.contains("3,1e+308\n"), "{far}");
}
