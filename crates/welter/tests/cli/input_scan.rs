//! Runs that leave the graph in its input: the same answers as by a graph, and said to be so.

use serde_json::Value;
use welter_testing::bucket::BucketServer;

use crate::objects::must;
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
    report_of(sandbox, &format!("conductance {line}"))
}

fn report_of(sandbox: &Sandbox, line: &str) -> Value {
    sandbox.must(&format!("run {line} -q --report report.json"));
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
    for input in ["edges.u32", "edges.csv", "edges.csv --ids strings", "edges.u32 --vertices 500"] {
        for options in [
            "",
            "--direction out",
            "--direction in",
            "--drop-self-loops",
            "--direction in --drop-self-loops",
            "--membership sides.csv --membership-above 4 --membership-default 0",
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
            assert_eq!((found.0.as_str(), folded.0.as_str()), (Some("input-scan"), Some("fold")));
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
        "edges.u32 --memory 64M --edge-memory 0",
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
    assert!(plan.contains("route     scan of the input, which is read twice"), "{plan}");
    assert!(plan.contains("what vertices are told, and values"), "{plan}");
    assert!(!plan.contains("tiles"), "{plan}");
    let plan = sandbox.must("explain conductance rmat:20 --route fold");
    assert!(plan.contains("tiles"), "{plan}");
    let found = report(&sandbox, "rmat:16 --memory 64M");
    assert_eq!(found["plan"]["route"], "input-scan");
    assert!(found["plan"]["memory_bytes"].as_u64() < Some(64 << 20), "{found}");
}

#[test]
fn products_and_components_take_the_input_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.u32", pairs());
    let vector: Vec<String> = (0..300).map(|id| format!("{id},{}", id % 7)).collect();
    sandbox.write("x.csv", vector.join("\n"));
    for input in ["edges.u32", "edges.u32 --vertices 500", "edges.u32 --undirected"] {
        for job in [
            "spmv",
            "spmv --precision f32 --threads 3",
            "spmv --vector-from x.csv --vector-default 0",
            "wcc",
            "wcc --threads 3 --memory 64M",
        ] {
            let rows = |more: &str| sandbox.must(&format!("run {job} {input} -q -o - {more}"));
            // Sums of whole numbers are the same in any order.
            assert_eq!(rows(""), rows("--route fold"), "{job} {input}");
            let route = |more: &str| {
                let mut report = report_of(&sandbox, &format!("{job} {input} {more}"));
                report["plan"]["route"].take()
            };
            assert_eq!((route(""), route("--route fold")), ("input-scan".into(), "fold".into()));
        }
    }
    let rows = |more: &str| sandbox.must(&format!("run spmv edges.u32 -q -o - {more}"));
    let random = |more: &str| rows(&format!("--vector random --seed 5 {more}"));
    assert_eq!(random("--threads 1"), random("--threads 3"));
    for job in ["spmv --iterations 2", "wcc --method label-propagation"] {
        assert_eq!(report_of(&sandbox, &format!("{job} edges.u32"))["plan"]["route"], "fold");
    }
}

#[test]
fn passes_over_an_input_are_bytes_that_were_read() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    let bytes = pairs().len() as u64;
    sandbox.write("edges.u32", pairs());
    server.put("box/edges.u32", pairs());
    sandbox.write("edges.csv", "1,2\n2,3\n");
    let figures = |line: &str| {
        must(&sandbox, &server, &format!("run {line} -q --report report.json"));
        let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
        assert_eq!(report["plan"]["route"], "input-scan", "{line}");
        let storage = &report["storage"];
        let each = storage["bytes_per_edge"].as_f64().unwrap();
        let read = storage["bytes_read"].as_u64().unwrap();
        assert_eq!(each > 0.0, read > 0, "{line}: {storage}");
        read
    };
    for input in ["edges.u32", "s3://box/edges.u32"] {
        // One pass marks vertices, one counts.
        assert_eq!(figures(&format!("conductance {input}")), 2 * bytes, "{input}");
        let read = figures(&format!("wcc {input}"));
        assert!(read > bytes, "{input}: {read}");
    }
    // Text is parsed once, and its edges are in memory then; generated ones are nowhere.
    for input in ["edges.csv", "rmat:8"] {
        assert_eq!(figures(&format!("conductance {input}")), 0, "{input}");
    }
}

/// Four million edges between 2^14 vertices, a million of them at random; the first from vertex 1.
fn many() -> Vec<u8> {
    let random = |place: u32| place.wrapping_mul(0x9e37_79b9).rotate_left(13) ^ place << 7;
    let pairs = (0..1_000_000).map(|edge| [random(2 * edge), random(2 * edge + 1)]);
    let pairs = pairs.map(|pair| pair.map(|id| id.wrapping_mul(0x85eb_ca6b) >> 18));
    let first = std::iter::once([1, 2]);
    let edges: Vec<u8> = first.chain(pairs).flatten().flat_map(u32::to_le_bytes).collect();
    edges.repeat(4)
}

#[test]
fn a_search_whose_edges_do_not_fit_reads_its_input() {
    let sandbox = Sandbox::new();
    sandbox.write("many.u32", many());
    let job = "bfs many.u32 --source 1 --threads 2";
    let plan = sandbox.must(&format!("explain {job} --memory 46M"));
    assert!(plan.contains("route     scan of the input, a level at a time"), "{plan}");
    assert!(plan.contains("instead   fold, edges on storage, if few levels"), "{plan}");
    // The number of levels is not known.
    assert!(plan.contains(" at least 30.6 MiB of it are read, in 1 pass or more\n"), "{plan}");
    let found = report_of(&sandbox, &format!("{job} --memory 46M -o depths.csv"));
    assert_eq!(found["plan"]["route"], "input-scan", "{found}");
    assert!(found["iterations"].as_u64() < Some(7), "{found}");
    for (more, route) in [("", "fold"), ("--memory 46M --route fold", "fold")] {
        let other = report_of(&sandbox, &format!("{job} {more} -o other.csv"));
        assert_eq!((&other["plan"]["route"], &other["note"]), (&route.into(), &found["note"]));
        assert_eq!(sandbox.read("depths.csv"), sandbox.read("other.csv"));
    }
}

#[test]
fn a_search_that_does_not_spread_goes_on_with_a_graph() {
    let sandbox = Sandbox::new();
    // A path, backwards, before all others, which lead away from it.
    let path = (1..300_u32).rev().map(|id| [(1 << 14) + id - 1, (1 << 14) + id]);
    let path: Vec<u8> = path.flatten().flat_map(u32::to_le_bytes).collect();
    sandbox.write("deep.u32", [path, many()].concat());
    let job = "bfs deep.u32 --source 16384 --threads 2";
    let plan = sandbox.must(&format!("explain {job} --memory 46M"));
    assert!(plan.contains("route     scan of the input"), "{plan}");
    let found = report_of(&sandbox, &format!("{job} --memory 46M -o depths.csv"));
    assert_eq!(found["plan"]["route"], "fold", "{found}");
    assert!(found["graph"]["chunks"].as_u64() > Some(0), "{found}");
    let other = report_of(&sandbox, &format!("{job} -o other.csv"));
    assert_eq!(found["note"], other["note"]);
    assert_eq!(sandbox.read("depths.csv"), sandbox.read("other.csv"));
}

#[test]
fn weights_that_a_generator_makes_may_be_left() {
    let sandbox = Sandbox::new();
    let line = "run spmv rmat:6,weights=9 -q -o -";
    let weighted = sandbox.must(line);
    let scanned = sandbox.must(&format!("{line} --no-weights"));
    assert_eq!(scanned, sandbox.must(&format!("{line} --no-weights --route spill")));
    assert_ne!(scanned, weighted);
}
