//! Routes that are forced: taken, or refused, and never left for another without a word.

use serde_json::Value;

use crate::checkpoint::begun;
use crate::interrupt::{ended, signal};
use crate::sandbox::Sandbox;

#[test]
fn a_route_that_a_program_does_not_have_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "source,target,weight\n1,2,3\n2,3,1\n3,1,2\n");
    sandbox.must("ingest edges.csv -q -o kept");
    let cells = "lies in memory, where all edges find it";
    let rows = "on route ranges there is no place where both could meet";
    for (program, why, take) in [
        ("wcc --method union-find", cells, "fold"),
        ("scc --method passes", cells, "fold"),
        ("mcst --method passes", cells, "fold"),
        ("triangles", rows, "fold or spill"),
        ("lcc", rows, "fold or spill"),
    ] {
        let routes = [
            "ranges",
            "spill",
            "spill --no-fuse",
            "spill --no-combine",
            "spill --no-combine --no-fuse",
        ];
        let routes = if take == "fold" { &routes[..] } else { &routes[..1] };
        for route in routes {
            for (command, input) in
                [("run", "edges.csv"), ("explain", "edges.csv"), ("run", "kept"), ("run", "rmat:8")]
            {
                let line = format!("{command} {program} {input} --route {route}");
                let ended = sandbox.run(&line);
                assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
                assert!(ended.stderr.contains(why), "{line}: {}", ended.stderr);
                let hint = format!("hint: take {take}, or leave --route out");
                assert!(ended.stderr.contains(&hint), "{line}: {}", ended.stderr);
                assert_eq!(ended.stdout, "", "{line}");
            }
        }
        sandbox.must(&format!("run {program} edges.csv -q --route fold"));
    }
}

#[test]
fn messages_of_edges_go_by_all_routes() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 10 -q -o graph.tsv");
    sandbox.must("ingest graph.tsv -q --undirected -o kept");
    let priors: Vec<String> = (0..1024).map(|id| format!("{id},{},3", 1 + id % 7)).collect();
    sandbox.write("priors.csv", format!("vertex,one,other\n{}\n", priors.join("\n")));
    let run = |input: &str, more: &str| {
        sandbox.must(&format!("run bp {input} --priors-from priors.csv -q -o - {more}"))
    };
    let (expected, kept) = (run("graph.tsv", ""), run("kept", ""));
    let scratch = sandbox.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    for (route, taken) in [
        ("ranges", "ranges"),
        ("spill", "spill"),
        ("spill --no-fuse", "spill"),
        ("spill --no-combine", "spill"),
        ("spill --no-combine --no-fuse", "spill"),
    ] {
        for more in ["--threads 1", "--threads 3", "--memory 64M", "--memory 64M --edge-memory 0"] {
            let more = format!("--route {route} --scratch scratch {more}");
            assert!(run("graph.tsv", &more) == expected, "{more}");
            assert!(scratch.read_dir().unwrap().next().is_none(), "{more}");
        }
        assert!(run("kept", &format!("--route {route}")) == kept, "a kept graph by {route}");
        let outcome = report(&sandbox, &format!("bp graph.tsv --route {route}"));
        assert_eq!(outcome["plan"]["route"], taken);
        let plan = sandbox.must(&format!("explain bp graph.tsv --route {route}"));
        assert!(plan.contains(&format!("route     {taken}, ")), "{plan}");
    }
    let plan = sandbox.must("explain bp graph.tsv --route spill");
    assert!(plan.contains("updates that wait") && plan.contains("partitions, about"), "{plan}");
}

#[test]
fn rows_of_triangles_go_by_spill_too() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    sandbox.must("ingest graph.tsv -q -o kept");
    for program in ["triangles", "lcc", "lcc --undirected"] {
        let run = |input: &str, more: &str| {
            sandbox.must(&format!("run {program} {input} -q -o - {more}"))
        };
        let expected = run("graph.tsv", "");
        for route in
            ["spill", "spill --no-fuse", "spill --no-combine", "spill --no-combine --no-fuse"]
        {
            for (input, more) in [
                ("graph.tsv", "--threads 1"),
                ("graph.tsv", "--threads 3 --memory 80M --stripe-bits 12"),
                ("kept", "--memory 80M"),
            ] {
                let found = run(input, &format!("--route {route} {more}"));
                assert!(found == expected, "{program} {input} {route} {more}");
            }
        }
        let outcome = report(&sandbox, &format!("{program} graph.tsv --route spill"));
        assert_eq!(outcome["plan"]["route"], "spill");
        let plan = sandbox.must(&format!("explain {program} graph.tsv --route spill"));
        for part in ["route     spill; edges, rows", "moved ", "ranges of rows at most"] {
            assert!(plan.contains(part), "{plan}");
        }
    }
}

#[test]
fn rows_of_triangles_travel_where_vertices_do_not_fit() {
    let sandbox = Sandbox::new();
    sandbox.write("few.csv", "1,2\n2,1\n1,3\n2,3\n5,6\n7,7\n");
    for program in ["triangles", "lcc"] {
        let line = format!("{program} few.csv --vertices 6000000 --threads 1");
        let refused = sandbox.run(&format!("run {line} --memory 64M --route fold"));
        assert_eq!(refused.code, Some(78), "{}", refused.stderr);
        let outcome = report(&sandbox, &format!("{line} --memory 64M"));
        assert_eq!(outcome["plan"]["route"], "spill");
        let [expected, found] =
            ["", "--memory 64M"].map(|more| sandbox.run(&format!("run {line} {more}")));
        assert_eq!((expected.code, found.code), (Some(0), Some(0)), "{}", found.stderr);
        assert_eq!(expected.stdout, found.stdout);
    }
}

/// Line of `explain` about the method.
fn method(sandbox: &Sandbox, line: &str) -> String {
    let plan = sandbox.must(&format!("explain {line}"));
    let line = plan.lines().find(|line| line.starts_with("method "));
    line.unwrap_or_else(|| panic!("{plan}")).replace("method    ", "")
}

fn report(sandbox: &Sandbox, line: &str) -> serde_json::Value {
    sandbox.must(&format!("run {line} -q --report report.json"));
    serde_json::from_slice(&sandbox.read("report.json")).unwrap()
}

#[test]
fn components_go_by_labels_where_a_route_is_forced() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 10 -q -o graph.tsv");
    sandbox.must("ingest graph.tsv -q -o kept");
    for (program, first) in [("wcc", "union-find"), ("scc", "passes"), ("mcst", "passes")] {
        let fits = "it fits in memory, and has the route if one is forced";
        let line = format!("{program} graph.tsv");
        assert_eq!(method(&sandbox, &line), format!("{first}: {fits}"));
        let expected = sandbox.must(&format!("run {line} -q -o -"));
        let outcome = report(&sandbox, &line);
        assert_eq!(outcome["parameters"]["method"], first);
        assert_eq!(outcome["parameters"]["method_why"], fits);
        let choice = method(&sandbox, &format!("{line} --method label-propagation"));
        assert_eq!(choice, "label-propagation: as --method says");
        assert_eq!(method(&sandbox, &format!("{line} --route fold")), format!("{first}: {fits}"));
        for route in [
            "ranges",
            "spill",
            "spill --no-fuse",
            "spill --no-combine",
            "spill --no-combine --no-fuse",
        ] {
            for (input, more) in [
                ("graph.tsv", "--threads 1"),
                ("graph.tsv", "--memory 64M --threads 3"),
                ("kept", ""),
            ] {
                let line = format!("{program} {input} --route {route} {more}");
                let choice = method(&sandbox, &line);
                let why = choice.strip_prefix("label-propagation: ").unwrap_or_default();
                assert!(why.ends_with("does not have the route that is forced"), "{choice}");
                assert!(sandbox.must(&format!("run {line} -q -o -")) == expected, "{line}");
                let outcome = report(&sandbox, &line);
                assert_eq!(outcome["parameters"]["method"], "label-propagation", "{line}");
                assert_eq!(outcome["parameters"]["method_why"], why, "{line}");
                let taken = outcome["plan"]["route"].as_str().unwrap();
                assert!(route.starts_with(taken) || taken.starts_with(route), "{line}: {taken}");
            }
        }
        for more in [
            "--method label-propagation",
            "--method label-propagation --edge-memory 0",
            "--route fold",
        ] {
            let line = format!("run {program} graph.tsv -q -o - {more}");
            assert!(sandbox.must(&line) == expected, "{line}");
        }
    }
}

#[test]
fn components_go_by_labels_where_cells_do_not_fit() {
    let sandbox = Sandbox::new();
    sandbox.write("few.csv", "1,2\n2,1\n5,6\n7,7\n");
    let of = "few.csv --vertices 5000000 --threads 1";
    for (program, too_little) in [("wcc", "46M"), ("scc", "51M"), ("mcst", "96M")] {
        let (plenty, tight) = (format!("{program} {of}"), format!("{program} {of} --memory"));
        let tight = format!("{tight} {too_little}");
        assert!(
            method(&sandbox, &plenty)
                .ends_with("it fits in memory, and has the route if one is forced")
        );
        let choice = method(&sandbox, &tight);
        assert!(
            choice.starts_with("label-propagation: ") && choice.ends_with("does not fit in memory"),
            "{choice}"
        );
        let outcome = report(&sandbox, &tight);
        assert_eq!(outcome["parameters"]["method"], "label-propagation");
        let state = &outcome["plan"]["route"];
        assert!(state == "spill" || state == "ranges", "{state}");
        let [expected, found] = [&plenty, &tight].map(|line| sandbox.run(&format!("run {line}")));
        assert_eq!((expected.code, found.code), (Some(0), Some(0)), "{}", found.stderr);
        assert_eq!(expected.stdout, found.stdout);
        let note = |text: &str| text.lines().next().map(str::to_owned);
        assert_eq!(note(&expected.stderr), note(&found.stderr));
        // Where nothing fits, the way that needs less is told; and a pipe is not read again.
        let refused = sandbox.run(&format!("run {plenty} --memory 26M"));
        let labels = sandbox.run(&format!("run {plenty} --memory 26M --method label-propagation"));
        assert_eq!((refused.code, &refused.stderr), (Some(78), &labels.stderr), "{program}");
        let piped = tight.replace("few.csv", "-");
        let piped = sandbox.run_with(&format!("run {piped}"), b"1,2\n2,1\n");
        assert_eq!(piped.code, Some(78), "{}", piped.stderr);
        let forced = sandbox.run(&format!("run {tight} --route fold"));
        assert_eq!(forced.code, Some(78), "{}", forced.stderr);
    }
}

#[test]
fn a_run_by_labels_goes_on_by_labels() {
    let sandbox = Sandbox::new();
    // Each vertex takes an iteration, and each of these a checkpoint that is made durable.
    let rows: Vec<String> = (0..800).map(|at| format!("{},{at}", at + 1)).collect();
    sandbox.write("path.csv", rows.join("\n") + "\n0,800\n");
    for program in ["wcc", "scc", "mcst"] {
        let line = format!("run {program} path.csv --route spill --stripe-bits 12 -o out.csv");
        sandbox.must(&format!("{line} -q"));
        let expected = sandbox.read("out.csv");
        std::fs::remove_file(sandbox.path().join("out.csv")).unwrap();
        let child = begun(&sandbox, &line);
        signal(&child, "KILL");
        ended(child);
        let resumed = sandbox.run("resume kept.run");
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        assert!(resumed.stderr.contains("resumed from iteration "), "{}", resumed.stderr);
        assert!(sandbox.read("out.csv") == expected);
    }
    let refused = sandbox.run("run wcc path.csv --checkpoint kept.run");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--method label-propagation has some"), "{}", refused.stderr);
}

#[test]
fn a_graph_is_kept_for_all_routes() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "1,2\n2,3\n");
    let refused = sandbox.run("ingest edges.csv -o kept --route spill");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("kept for all programs and routes"), "{}", refused.stderr);
    assert!(!sandbox.path().join("kept").exists());
    sandbox.must("ingest edges.csv -q -o kept --route fold");
}

/// X-Stream's own case: edges and updates are streamed, vertices stay where they are.
#[test]
fn with_vertices_in_memory_only_updates_are_written() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 13 -q -o graph.tsv");
    let run = |more: &str| -> (String, u64) {
        let line = "run pagerank graph.tsv --iterations 4 --edge-memory 0 -q -o - --report r.json";
        let ranks = sandbox.must(&format!("{line} --threads 2 {more}"));
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        (ranks, report["storage"]["bytes_written"].as_u64().unwrap())
    };
    let route = "--route spill --no-combine";
    let (expected, stored) = run(route);
    let (fused, written) = run(&format!("{route} --vertices-in-memory"));
    let (plain, written_plain) = run(&format!("{route} --no-fuse --vertices-in-memory"));
    assert!(expected == fused && expected == plain);
    // An update of a place and a number for each edge, in each iteration, and ends of slabs.
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let figure = |name: &str| report["graph"][name].as_u64().unwrap();
    let (edges, vertices) = (figure("edges"), figure("vertices"));
    assert!(written >= 4 * edges * 8, "{written}");
    assert!(written.abs_diff(written_plain) <= written / 10, "{written} {written_plain}");
    // Elsewhere values go there too, eight bytes each, once more than there are iterations.
    assert!(stored >= written + 4 * vertices * 8, "{stored} {written}");
    let plan = sandbox.must(&format!("explain pagerank graph.tsv {route} --vertices-in-memory"));
    assert!(plan.contains("spill, not combined; edges and updates on storage"), "{plan}");
    let ended = sandbox.run("run pagerank graph.tsv --route fold --vertices-in-memory");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("--vertices-in-memory is of --route spill"), "{}", ended.stderr);
}
