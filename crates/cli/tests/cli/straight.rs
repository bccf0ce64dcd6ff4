//! Runs that leave the graph in its input: the same answers as by a graph, and said to be so.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Pairs of 32-bit numbers: a few hundred edges between ids below 300, loops and gaps among them.
fn pairs() -> Vec<u8> {
    let random = |place: u32| place.wrapping_mul(0x9e37_79b9) >> 7 ^ place.wrapping_mul(77_003);
    let edge = |edge: u32| [random(2 * edge) % 300, random(2 * edge + 1) % 17 * random(edge) % 300];
    let pairs = (0..400).map(|number| match edge(number) {
        [source, _] if number % 9 == 0 => [source; 2],
        pair => pair,
    });
    pairs.flatten().flat_map(u32::to_le_bytes).collect()
}

fn report(sandbox: &Sandbox, line: &str) -> Value {
    sandbox.must(&format!("run conductance {line} -q --report report.json"));
    serde_json::from_slice(&sandbox.read("report.json")).unwrap()
}

#[test]
fn conductance_takes_the_input_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.u32", pairs());
    let rows = pairs();
    let rows = rows.chunks(8).map(|pair| {
        let id = |at: usize| u32::from_le_bytes(pair[at..at + 4].try_into().unwrap());
        format!("{},{}", id(0), id(4))
    });
    sandbox.write("edges.csv", rows.collect::<Vec<String>>().join("\n"));
    let sides: Vec<String> = (0..300).map(|id| format!("{id},{}", id * 7 % 10)).collect();
    sandbox.write("sides.csv", sides.join("\n"));
    for input in ["edges.u32", "edges.csv", "edges.csv --ids names", "edges.u32 --vertices 500"] {
        for options in [
            "",
            "--direction out",
            "--direction in",
            "--drop-self-loops",
            "--direction in --drop-self-loops",
            "--side-from sides.csv --side-above 4 --side-default 0",
            "--threads 3 --memory 64M",
        ] {
            let line = format!("{input} {options}");
            let rows = |more: &str| sandbox.must(&format!("run conductance {line} -q -o - {more}"));
            assert_eq!(rows(""), rows("--route fold"), "{line}");
            let [found, folded] = ["", "--route fold"].map(|more| {
                let mut report = report(&sandbox, &format!("{line} {more}"));
                let route = report["plan"]["route"].take();
                let figures = ["vertices", "edges"].map(|name| report["graph"][name].take());
                (route, (figures, report["found"].take(), report["input"]["edges"].take()))
            });
            assert_eq!((found.0.as_str(), folded.0.as_str()), (Some("straight"), Some("fold")));
            assert_eq!(found.1, folded.1, "{line}");
        }
    }
}

#[test]
fn a_graph_is_made_where_one_is_needed() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.u32", pairs());
    sandbox.write("heavy.csv", "1,2,0.5\n2,3,2\n1,2,4\n");
    for line in [
        "edges.u32 --drop-duplicates",
        "edges.u32 --encoding compressed",
        "edges.u32 --checkpoint kept",
        "edges.u32 --memory 64M --cache 0",
        "heavy.csv --weighted",
    ] {
        assert_eq!(report(&sandbox, line)["plan"]["route"], "fold", "{line}");
    }
    sandbox.must("ingest edges.u32 --undirected -o graph -q");
    assert_eq!(report(&sandbox, "graph")["plan"]["route"], "fold");
    let [kept, read] = ["graph", "edges.u32"].map(|input| report(&sandbox, input)["found"].take());
    assert_eq!(kept, read);
}

#[test]
fn plans_say_so_and_budgets_are_kept() {
    let sandbox = Sandbox::new();
    let plan = sandbox.must("explain conductance rmat:20");
    assert!(plan.contains("route     straight over the input, which is read twice"), "{plan}");
    assert!(plan.contains("what each worker counts, and values"), "{plan}");
    assert!(!plan.contains("tiles"), "{plan}");
    let plan = sandbox.must("explain conductance rmat:20 --route fold");
    assert!(plan.contains("tiles"), "{plan}");
    let found = report(&sandbox, "rmat:16 --memory 64M");
    assert_eq!(found["plan"]["route"], "straight");
    assert!(found["plan"]["memory_bytes"].as_u64() < Some(64 << 20), "{found}");
}
