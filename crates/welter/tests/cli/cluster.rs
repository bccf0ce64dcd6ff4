//! Runs on a cluster of processes: the results of a run in one, and what is refused.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Likeness of two results: a cluster finds what one process does, or numbers within so much of the
/// largest.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Same {
    Bits,
    Rows,
    Within(f64),
}

use Same::{Bits, Rows, Within};

/// Words of `run`, and what of the result is the same.
pub(crate) const CASES: &[(&str, Same)] = &[
    ("pagerank G --iterations 5", Within(1e-12)),
    ("pagerank G --precision f32 --iterations 5 --dangling unnormalized", Within(1e-5)),
    ("pagerank G --weighted --dangling drop --iterations 5", Within(1e-12)),
    (
        "pagerank G --personalization some.csv --personalization-default 0 --iterations 5",
        Within(1e-12),
    ),
    ("pagerank G --initial some.csv --initial-default 1 --iterations 3", Within(1e-12)),
    ("bfs G --source 3 --direction both", Bits),
    ("bfs G --source 3 --source 8 --parents", Bits),
    ("bfs G --sources-from some.csv --direction in", Bits),
    ("sssp G --source 3", Bits),
    ("sssp G --source 3 --precision f32 --direction in", Bits),
    ("sssp G --sources-from some.csv --parents --direction both", Bits),
    ("sssp G --source 3 --no-weights", Bits),
    ("wcc G", Bits),
    ("wcc G --method label-propagation", Bits),
    ("scc G", Bits),
    ("scc G --method label-propagation --undirected", Bits),
    ("mcst G", Rows),
    ("mcst G --cost maximum", Rows),
    ("mcst G --method label-propagation", Rows),
    ("spmv G", Bits),
    ("spmv G --vector random --iterations 3 --precision f32", Within(1e-5)),
    ("spmv G --vector-from some.csv --vector-default 0.5 --no-weights", Bits),
    ("hyperball G --registers 16", Bits),
    ("hyperball G --iterations 2 --direction both", Bits),
    ("cdlp G --iterations 4", Bits),
    ("kcore G", Bits),
    ("kcore G --undirected", Bits),
    ("triangles G", Bits),
    ("triangles G --undirected", Bits),
    ("lcc G", Bits),
    ("lcc G --undirected", Bits),
    ("mis G --seed 7", Bits),
    ("conductance G", Bits),
    ("conductance G --weighted --direction out", Bits),
    ("conductance G --membership some.csv --membership-above 4 --membership-default 0", Bits),
    ("bp G --priors-from priors.csv --states 3 --damping 0.5", Within(1e-4)),
    ("bp G --priors-from priors.csv --states 3 --messages vertex", Within(1e-9)),
    ("als ratings.mtx --factors 4 --iterations 3", Within(1e-6)),
];

/// Writes the tables that cases name.
pub(crate) fn write_tables(sandbox: &Sandbox) {
    sandbox.write("some.csv", "id,value\n3,2\n40,7\n8,5\n");
    sandbox.write("priors.csv", "id,a,b,c\n3,8,1,1\n40,1,9,2\n11,1,1,5\n");
    let rating = |at| format!("{} {} {}.5", 1 + at * 5 % 8, 9 + at * 7 % 12, 1 + at * 11 % 5);
    let ratings: Vec<String> = (0..24).map(rating).collect();
    let head = "%%MatrixMarket matrix coordinate real general\n20 20 24";
    sandbox.write("ratings.mtx", format!("{head}\n{}\n", ratings.join("\n")));
}

/// Fields of the rows of a table, ascending.
pub(crate) fn rows(table: &str) -> Vec<Vec<&str>> {
    let mut rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    rows.sort_unstable();
    rows
}

/// The largest difference of two tables of the same vertices, by the largest number of a result.
pub(crate) fn difference(found: &str, expected: &str) -> f64 {
    let split = |table: &str| -> (Vec<String>, Vec<f64>) {
        let rows = table.lines().skip(1).map(|line| line.split_once(',').unwrap());
        let (ids, rows): (Vec<&str>, Vec<&str>) = rows.unzip();
        let numbers = rows.iter().flat_map(|row| row.split(','));
        let numbers = numbers.map(|field| field.parse().unwrap()).collect();
        (ids.into_iter().map(str::to_owned).collect(), numbers)
    };
    let (found, expected) = (split(found), split(expected));
    assert_eq!((found.0, found.1.len()), (expected.0, expected.1.len()));
    let largest = expected.1.iter().fold(0.0_f64, |most, number| most.max(number.abs()));
    let errors = found.1.iter().zip(&expected.1).map(|(one, other)| (one - other).abs());
    errors.fold(0.0, f64::max) / largest
}

/// Compares the result of a line with the one that is expected.
pub(crate) fn is_same(line: &str, [found, expected]: [&str; 2], same: Same) {
    match same {
        Bits => assert_eq!(found, expected, "{line}"),
        Rows => assert_eq!(rows(found), rows(expected), "{line}"),
        Within(most) => {
            let error = difference(found, expected);
            assert!(error <= most, "{line}: {error:e}");
        }
    }
}

/// Notes of a run.
fn notes(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|line| line.starts_with("note: ")).collect()
}

#[test]
fn every_algorithm_has_its_answer_on_a_cluster() {
    let sandbox = Sandbox::new();
    // Parallel edges, also in the opposite direction, and loops; integers, whose sums are exact.
    let graph = "rmat:6,factor=5,weights=9";
    write_tables(&sandbox);
    let clusters = ["--cluster local:2 --route fold", "--cluster local:3 --route spill"];
    for (number, (words, same)) in CASES.iter().enumerate() {
        let line = format!("run {} -o -", words.replace('G', graph));
        let expected = sandbox.run(&line);
        assert_eq!(expected.code, Some(0), "{line}: {}", expected.stderr);
        // Rows of triangles have no place on route `fold`.
        let waits = words.starts_with("triangles") || words.starts_with("lcc");
        let options = clusters[if waits { 1 } else { number % 2 }];
        let line = format!("{line} {options}");
        let found = sandbox.run(&line);
        assert_eq!(found.code, Some(0), "{line}: {}", found.stderr);
        is_same(&line, [&found.stdout, &expected.stdout], *same);
        if *same != Bits {
            continue;
        }
        for note in notes(&found.stderr) {
            assert!(notes(&expected.stderr).contains(&note), "{line}: {note}");
        }
    }
    let all: BTreeSet<&str> =
        CASES.iter().filter_map(|(words, _)| words.split(' ').next()).collect();
    assert_eq!(all.len(), 16, "algorithms");
    let files = ["priors.csv", "ratings.mtx", "some.csv"];
    assert_eq!(sandbox.files(), files, "machines leave nothing");
}

#[test]
fn raw_records_are_shared_among_machines() {
    let sandbox = Sandbox::new();
    let raw: Vec<u8> = (0..400_u32).flat_map(|at| (at * 7919 % 50).to_le_bytes()).collect();
    sandbox.write("pairs.u32", raw);
    for algorithm in ["wcc", "bfs --source 3", "kcore"] {
        let line = format!("run {algorithm} pairs.u32 --vertices 60 -q -o -");
        let found = sandbox.must(&format!("{line} --cluster local:3 --route spill"));
        assert_eq!(found, sandbox.must(&line), "{line}");
    }
}

#[test]
fn findings_of_all_iterations_are_those_of_one_process() {
    let sandbox = Sandbox::new();
    sandbox.write("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n4 2\n");
    let ended = sandbox.run("run hyperball rmat:6 --cluster local:2");
    assert!(ended.stderr.contains("the effective diameter"), "{}", ended.stderr);
    for (line, code, message) in [
        ("als g.mtx", 65, "the edges have no weights"),
        ("pagerank g.mtx --weighted", 65, "no weights to follow"),
        ("conductance g.mtx --weighted", 65, "no weights to add up"),
        ("als rmat:5,weights=5", 65, "rates and is rated"),
    ] {
        let ended = sandbox.run(&format!("run {line} --cluster local:2"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}

#[test]
fn ids_may_count_from_one() {
    let sandbox = Sandbox::new();
    let edges = "%%MatrixMarket matrix coordinate pattern general\n4 4 2\n1 2\n4 2\n";
    sandbox.write("g.mtx", edges);
    for line in ["wcc g.mtx", "bfs g.mtx --source 4"] {
        let line = format!("run {line} -q -o -");
        let expected = sandbox.must(&line);
        assert_eq!(sandbox.must(&format!("{line} --cluster local:2")), expected, "{line}");
        assert!(expected.contains("\n4,"), "{expected}");
    }
}

#[test]
fn a_cluster_says_what_it_did() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("run pagerank rmat:7 --iterations 3 --cluster local:2 -o ranks.csv");
    let stderr = &ended.stderr;
    assert_eq!(ended.code, Some(0), "{stderr}");
    assert!(stderr.contains("on 2 machines") && stderr.contains("3 iterations"), "{stderr}");
    assert!(stderr.contains("ranks.csv") && sandbox.read("ranks.csv").starts_with(b"vertex,rank"));
    let unsettled =
        sandbox.run("run pagerank rmat:7 --iterations 1 --tolerance 1e-9 --cluster local:2");
    assert!(unsettled.stderr.contains("have not settled"), "{}", unsettled.stderr);
}

#[test]
fn a_report_says_what_each_machine_did() {
    let sandbox = Sandbox::new();
    let line = "run hyperball rmat:8 --cluster local:3 --route spill --report r.json";
    let ended = sandbox.run(line);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for rank in 0..3 {
        assert!(ended.stderr.contains(&format!("machine {rank}: ")), "{}", ended.stderr);
    }
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    assert_eq!((&report["algorithm"], &report["vertices"]), (&json!("hyperball"), &json!(256)));
    assert_eq!(report["cluster"]["route"], "spill");
    assert_eq!(report["cluster"]["restarts"], 0);
    assert_eq!(report["cluster"]["trust"], "loopback");
    let radii = report["found"]["neighbourhood"].as_array().unwrap();
    assert_eq!(radii.len() as u64, 1 + report["iterations"].as_u64().unwrap());
    let machines = report["cluster"]["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 3);
    let whole = report["seconds"].as_f64().unwrap();
    // The beginning, and each iteration.
    let times = report["cluster"]["iteration_times"].as_array().unwrap();
    assert_eq!(times.len(), radii.len(), "{report}");
    assert!(times.iter().enumerate().all(|(at, time)| time["iteration"] == at));
    let sum_of_times: f64 = times.iter().map(|time| time["seconds"].as_f64().unwrap()).sum();
    assert!(sum_of_times > 0.0 && sum_of_times < whole, "{report}");
    let sum = |of: &str| machines.iter().map(|machine| machine[of].as_u64().unwrap()).sum::<u64>();
    for machine in machines {
        let times = machine["seconds"].as_object().unwrap();
        let kinds: Vec<&str> = times.keys().map(String::as_str).collect();
        assert_eq!(kinds.len(), 5, "{kinds:?}");
        let all: f64 = times.values().map(|time| time.as_f64().unwrap()).sum();
        assert!(times["own"].as_f64().unwrap() > 0.0 && all < whole, "{machine}");
        assert!(machine["messages_sent"].as_u64() > Some(0), "{machine}");
        let plan = machine["plan"].as_object().unwrap();
        for of in ["memory_bytes", "disk_bytes", "iteration_bytes_sent"] {
            assert!(plan[of].as_u64() > Some(0), "{of}: {machine}");
        }
        assert!(machine["resident_bytes_max"].as_u64() > Some(1 << 20), "{machine}");
    }
    // All edges and all updates are written and read, by some machine, and mostly for another.
    for of in ["bytes_written", "bytes_read", "bytes_sent", "chunks_served"] {
        assert!(sum(of) > 0, "{of}: {report}");
    }
}

#[test]
fn a_page_compares_plan_and_outcome_of_each_machine() {
    let sandbox = Sandbox::new();
    for (algorithm, has_plan) in
        [("pagerank", true), ("triangles", true), ("triangles --route spill", false)]
    {
        let line = format!("run {algorithm} rmat:6 --cluster local:2 -q -o out.csv");
        sandbox.must(&format!("{line} --report r.html"));
        let page = String::from_utf8(sandbox.read("r.html")).unwrap();
        let heads = ["<h2>Plan and outcome</h2>", "memory planned", "resident at most"];
        assert!(heads.iter().all(|head| page.contains(head) == has_plan), "{algorithm}: {page}");
        // The memory that it took is there without a plan too.
        assert!(page.contains("<th>memory</th>") && page.contains("resident_bytes_max"), "{page}");
    }
}

#[test]
fn a_cluster_refuses_what_it_cannot_do() {
    let sandbox = Sandbox::new();
    sandbox.write("links.tsv", "1\t2\n2\t3\n");
    for (line, message) in [
        ("pagerank rmat:5 --checkpoint d --checkpoint-disk e", "--checkpoint-disk"),
        ("pagerank rmat:5 --stripe-bits 20", "--stripe-bits"),
        ("pagerank rmat:5 --block-bits 12", "--block-bits"),
        ("pagerank rmat:5 --route spill --vertices-in-memory", "--vertices-in-memory"),
        ("pagerank rmat:5 --route fold --no-combine", "--no-combine is of --route spill"),
        ("pagerank rmat:5 --route send --compression zstd", "--compression"),
        ("pagerank rmat:5 --route send --encoding short", "--encoding"),
        ("pagerank rmat:5 --edge-cache d:1GiB", "--edge-cache"),
        ("triangles rmat:5 --memory 1GiB --route spill", "--memory"),
        ("pagerank rmat:5 --route ranges", "routes fold, spill and send"),
        ("wcc rmat:5 --method union-find", "--method union-find"),
        ("scc rmat:5 --method passes", "--method passes"),
        ("mcst rmat:5 --method passes", "--method passes"),
        ("sssp rmat:5 --source 1 --delta 2", "--delta"),
        ("bfs rmat:5 --source 1 --frontier dense", "--frontier"),
        ("bfs rmat:5 --source 1 --index csr", "--index"),
        ("bfs rmat:5 --sources-from -", "standard input"),
        ("triangles rmat:5 --route fold", "--route fold"),
        ("pagerank links.tsv --vertices-from -", "standard input"),
        ("pagerank links.tsv --vertices 3000000000", "2147483648 vertices at most"),
    ] {
        let ended = sandbox.run(&format!("run {line} --cluster local:2"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
    // A budget that no route keeps is refused with the least one of all.
    let ended = sandbox.run("run pagerank rmat:5 --memory 1MiB --cluster local:2");
    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    let ended = sandbox.run("run bfs rmat:5 --source 99 --cluster local:2");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    let ended = sandbox.run("run pagerank rmat:5 --cluster 10.0.0.1:4");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

#[test]
fn ray_without_its_python_packages_is_wrong_usage() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("run bfs rmat:6 --source 3 --cluster ray:127.0.0.1:1");
    // Packages of the environment are not to be found, whatever is installed there.
    let done = command.env("PYTHONPATH", "none").env("PYTHONNOUSERSITE", "1").output().unwrap();
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with("error: --cluster ray: ") && !stderr.contains("Traceback"),
        "{stderr}"
    );
}
