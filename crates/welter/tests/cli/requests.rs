//! Settings of requests to storage: said by the user, seen in plans and reports, refused if odd.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

#[test]
fn settings_of_requests_change_no_answer() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    let program = "pagerank graph.tsv --iterations 4 -q -o -";
    let expected = sandbox.must(&format!("run {program}"));
    for more in [
        "--read-size 4KiB",
        "--write-size 64k --in-flight 256",
        "--read-size 64MiB --write-size 64MiB --in-flight 1",
        "--io cached --read-size 16KiB",
        "--io direct",
    ] {
        assert!(
            sandbox.must(&format!("run {program} --edge-memory 0 {more}")) == expected,
            "{more}"
        );
    }
    sandbox.must("ingest graph.tsv -q -o kept --write-size 8KiB --in-flight 2 --io cached");
    sandbox.must("check kept -q");
    let kept = "run pagerank kept --iterations 4 -q -o - --edge-memory 0 --read-size 8KiB";
    assert!(sandbox.must(kept) == expected);
}

#[test]
fn reports_and_plans_say_how_storage_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 14 -q -o graph.tsv");
    let report = |more: &str| -> Value {
        sandbox.must(&format!("run pagerank graph.tsv -q -o out.csv --report out.json {more}"));
        serde_json::from_slice(&sandbox.read("out.json")).unwrap()
    };
    let usual = report("--edge-memory 0 --threads 2");
    let cut =
        report("--edge-memory 0 --threads 2 --read-size 16KiB --write-size 32KiB --in-flight 7");
    let expected = serde_json::json!({
        "read_bytes": 16_384, "write_bytes": 32_768,
        "reads_in_flight": 7, "writes_in_flight": 7, "io": "direct",
    });
    assert_eq!(cut["plan"]["requests"], expected);
    let usual_requests = &usual["plan"]["requests"];
    assert_eq!(
        (&usual_requests["read_bytes"], &usual_requests["io"]),
        (&(512 << 10).into(), &"direct".into())
    );
    assert_eq!(usual["storage"]["bytes_read"], cut["storage"]["bytes_read"]);
    let (edges, moved) = (&usual["graph"]["edges"], &usual["storage"]["bytes_per_edge"]);
    let each = usual["storage"]["bytes_read"].as_f64().unwrap() / edges.as_f64().unwrap();
    let each = each / usual["iterations"].as_f64().unwrap();
    assert!(moved.as_f64().unwrap() >= each && each > 1.0, "{moved} {each}");
    let reads = |report: &Value| report["storage"]["reads"].as_u64().unwrap();
    assert!(reads(&cut) > 8 * reads(&usual), "{} {}", reads(&cut), reads(&usual));
    assert!(cut["storage"]["writes"].as_u64().is_some());
    // In memory there are none.
    assert_eq!(report("--read-size 16KiB")["plan"]["requests"], Value::Null);
    let plan =
        sandbox.must("explain pagerank graph.tsv --edge-memory 0 --read-size 64KiB --io cached");
    assert!(plan.contains("requests    64.0 KiB  a read at most, 4 at a time a thread"), "{plan}");
    assert!(plan.contains(" 512 KiB  a write at most, 4 at a time a thread"), "{plan}");
    assert!(plan.contains("through the page cache"), "{plan}");
}

/// Slabs of a graph that was kept with large writes lie side by side, and are read so.
#[test]
fn neighbours_of_a_kept_graph_come_by_one_request() {
    let sandbox = Sandbox::new();
    sandbox.must("ingest rmat:20 -q -o usual --threads 2");
    sandbox.must("ingest rmat:20 -q -o joined --threads 2 --write-size 4MiB --in-flight 2");
    sandbox.must("check joined -q");
    let run = |graph: &str, more: &str| -> (Vec<u8>, Value) {
        let line = format!("run pagerank {graph} --iterations 4 --threads 2 --edge-memory 0 -q");
        sandbox.must(&format!("{line} -o r.csv --report r.json {more}"));
        (sandbox.read("r.csv"), serde_json::from_slice(&sandbox.read("r.json")).unwrap())
    };
    let (expected, usual) = run("usual", "");
    let reads = |report: &Value| report["storage"]["reads"].as_u64().unwrap();
    for (more, in_flight) in [("", 2), ("--in-flight 1", 1), ("--in-flight 3 --io cached", 3)] {
        let (found, report) = run("joined", &format!("--read-size 4MiB {more}"));
        assert!(found == expected, "{more}");
        let requests = &report["plan"]["requests"];
        assert_eq!((requests["read_bytes"].as_u64(), requests["reads_in_flight"].as_u64()), {
            (Some(4 << 20), Some(in_flight))
        });
        assert_eq!(report["storage"]["bytes_read"], usual["storage"]["bytes_read"], "{more}");
        assert!(2 * reads(&report) < reads(&usual), "{more}: {report} {usual}");
    }
}

#[test]
fn requests_that_no_device_is_asked_for_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.csv", "1,2\n2,3\n");
    for (option, message) in [
        ("--read-size 2KiB", "a power of two from 4KiB to 64MiB"),
        ("--read-size 12KiB", "a power of two from 4KiB to 64MiB"),
        ("--write-size 128MiB", "a power of two from 4KiB to 64MiB"),
        ("--write-size some", "--write-size"),
        ("--in-flight 0", "1..=256"),
        ("--in-flight 257", "1..=256"),
        ("--io uncached", "direct, cached"),
    ] {
        for command in ["run wcc graph.csv -o -", "explain wcc graph.csv", "ingest graph.csv -o g"]
        {
            let ended = sandbox.run(&format!("{command} {option}"));
            assert_eq!(ended.code, Some(2), "{command} {option}: {}", ended.stderr);
            assert!(ended.stderr.contains(message), "{command} {option}: {}", ended.stderr);
        }
    }
    assert_eq!(sandbox.files(), ["graph.csv"]);
}

/// Requests in flight must have their place in the budget.
#[test]
fn memory_of_requests_is_part_of_the_budget() {
    let sandbox = Sandbox::new();
    let plan = |more: &str| sandbox.run(&format!("explain pagerank rmat:18 --threads 2 {more}"));
    let small = "--memory 100MiB --edge-memory 0";
    assert_eq!(plan(small).code, Some(0), "{}", plan(small).stderr);
    let ended = plan(&format!("{small} --in-flight 256"));
    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    assert_eq!(
        plan(&format!("{small} --in-flight 256 --read-size 4KiB --write-size 4KiB")).code,
        Some(0)
    );
}

#[test]
fn runs_are_planned_with_the_probe_of_their_temporary_files() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path().join("there")).unwrap();
    sandbox.must("generate rmat 14 -q -o graph.tsv");
    let of = "pagerank graph.tsv --edge-memory 0 --scratch there";
    let run = format!("run {of} -q -o - --iterations 3");
    let expected = sandbox.must(&run);
    let explained = || sandbox.must(&format!("explain {of}"));
    assert!(!explained().contains("after "), "{}", explained());
    sandbox.must("probe there --bytes 2MiB --seconds 1 -q");
    assert!(explained().contains("an iteration, after what the probe found"), "{}", explained());
    assert!(
        !sandbox.must("explain pagerank graph.tsv --edge-memory 0").contains("the probe found")
    );
    assert_eq!(sandbox.must(&run), expected);
    let report: Value =
        serde_json::from_str(&sandbox.must(&format!("run {of} -q --report -"))).unwrap();
    assert_eq!(report["plan"]["requests"]["measured"], "probe");
    // Rates change no answer, so damaged ones are left, and said.
    let file = "there/.welter-rates";
    let mut bytes = sandbox.read(file);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    sandbox.write(file, bytes);
    let ended = sandbox.run(&format!("run {of} -o - --iterations 3"));
    assert_eq!((ended.code, &ended.stdout), (Some(0), &expected), "{}", ended.stderr);
    let note = "note: rates of the probe are not used: ";
    assert!(
        ended.stderr.contains(note) && ended.stderr.contains(".welter-rates"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_device_that_nobody_probed_is_looked_at_where_much_goes_there() {
    let sandbox = Sandbox::new();
    let plan = sandbox.must("explain pagerank rmat:24 --memory 300MiB --scratch .");
    assert!(plan.contains("an iteration, after a short look"), "{plan}");
    let plan = sandbox.must("explain pagerank rmat:12 --edge-memory 0 --scratch .");
    assert!(!plan.contains("a short look"), "{plan}");
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn options_that_have_no_part_are_said_in_a_line() {
    let sandbox = Sandbox::new();
    sandbox.write("e.tsv", "0\t1\n1\t2\n2\t0\n");
    sandbox.must("convert e.tsv -q -o e.u32");
    let said = |line: &str| {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        let notes = ended.stderr.lines().filter(|line| line.contains("no part in this"));
        notes.map(str::to_owned).collect::<Vec<_>>()
    };
    for (line, names) in [
        ("run wcc e.tsv -o - --read-size 64KiB", "--read-size has"),
        ("run wcc e.tsv -o - --io direct --read-size 4KiB", "--read-size and --io have"),
        (
            "run pagerank e.tsv -o r.csv --write-size 64KiB --in-flight 2",
            "--write-size and --in-flight have",
        ),
        (
            "convert e.tsv -o f.tsv --route spill --no-fuse --vertices-in-memory",
            "--route, --no-fuse and --vertices-in-memory have",
        ),
        (
            "convert e.tsv -o f.tsv --encoding short --compression lz4 --read-size 4KiB",
            "--encoding, --compression and --read-size have",
        ),
    ] {
        let notes = said(line);
        assert_eq!(notes.len(), 1, "{line}: {notes:?}");
        let expected = format!("note: {names} no part in this: ");
        assert!(notes[0].starts_with(&expected), "{line}: {notes:?}");
        assert!(said(&format!("{line} -q")).is_empty(), "{line}");
    }
    for line in [
        "run wcc e.tsv -o -",
        "run wcc e.tsv -o - --io cached",
        "run wcc e.u32 -o - --read-size 64KiB --in-flight 2 --io direct",
        "run pagerank e.tsv -o - --edge-memory 0 --read-size 4KiB --write-size 4KiB --io direct",
        "convert e.u32 -o f.tsv --read-size 64KiB",
    ] {
        assert_eq!(said(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn raw_records_are_read_by_requests_as_stated() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 14 -q -o e.u32");
    let expected = sandbox.must("run wcc e.u32 -q -o -");
    let requests = |options: &str| {
        let line = format!("run wcc e.u32 -q -o - --report r.json {options}");
        assert_eq!(sandbox.must(&line), expected, "{options}");
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        report["input"]["requests"].clone()
    };
    for (options, bytes, in_flight) in [
        ("--read-size 64KiB", 64 << 10, 3),
        ("--in-flight 9", 512 << 10, 9),
        ("--read-size 4KiB --in-flight 2 --edge-memory 0", 4 << 10, 2),
    ] {
        let expected = json!({"bytes": bytes, "in_flight": in_flight, "probed": false});
        assert_eq!(requests(options), expected, "{options}");
    }
    for options in ["", "--io direct", "--io cached", "--io cached --read-size 1MiB"] {
        assert_eq!(requests(options), Value::Null, "{options}");
    }
    // Their memory is in the plan, that of each thread, and no more than there is of a part.
    let line = "run wcc e.u32 -q -o - --memory 100MiB --threads 4 --read-size 64MiB";
    let ended = sandbox.run(line);
    assert_eq!(ended.code, Some(78), "{}", ended.stderr);
    assert_eq!(sandbox.must(&format!("{line} --io cached")), expected);
    let line = line.replace("100MiB", "256MiB");
    assert_eq!(sandbox.must(&format!("{line} --in-flight 256")), expected);
    // One file of them is enough, and text comes through the page cache, whatever is stated.
    sandbox.must("convert e.u32 -q -o e.tsv");
    for (files, is_said) in [("e.tsv", false), ("e.tsv e.u32", true)] {
        let plan = sandbox.must(&format!("explain wcc {files} --read-size 1MiB --in-flight 3"));
        assert_eq!(plan.contains("a request for it"), is_said, "{plan}");
    }
    let piped = sandbox.run_with("run wcc - -q -o - --read-size 64MiB", &sandbox.read("e.tsv"));
    assert_eq!((piped.code, &piped.stdout), (Some(0), &expected), "{}", piped.stderr);
}
