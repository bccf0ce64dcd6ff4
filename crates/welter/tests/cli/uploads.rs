//! Results that are written to a bucket: the bytes are those of the files, what fails leaves
//! nothing, neither an object nor parts of one, and parts are those that are stated or that a probe
//! found.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use welter_store::probe::{Probe, Rate};
use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::interrupt::{ended, signal, wait_until};
use crate::objects::{as_azure, as_google, command, must, refused, run, text};
use crate::sandbox::Sandbox;

/// A sandbox with edges, and a store.
fn begin() -> (Sandbox, BucketServer) {
    let sandbox = Sandbox::new();
    sandbox.write("e.tsv", text(30_000));
    (sandbox, BucketServer::start().unwrap())
}

/// Whether a request is of a kind.
type Kind = fn(&Request) -> bool;

/// Whether nothing is in the store.
fn is_empty(server: &BucketServer) -> bool {
    server.paths().is_empty() && server.uploads().is_empty()
}

#[test]
fn results_are_those_of_the_files_in_every_format() {
    let (sandbox, server) = begin();
    for name in
        ["r.csv", "r.csv.gz", "r.tsv.zst", "r.jsonl", "r.parquet", "r.arrow", "r.npy", "r.ldbc"]
    {
        let line = |place: &str| format!("run wcc e.tsv -o {place}{name} --threads 2");
        sandbox.must(&line(""));
        must(&sandbox, &server, &line("s3://box/out/"));
        assert!(server.get(&format!("box/out/{name}")).unwrap() == sandbox.read(name), "{name}");
    }
    assert!(server.uploads().is_empty());
    assert!(server.take_requests().iter().all(|request| request.signed));
}

#[test]
fn edges_are_those_of_the_files_in_every_format() {
    let (sandbox, server) = begin();
    for name in [
        "x.txt",
        "x.tsv.gz",
        "x.csv.zst",
        "x.jsonl",
        "x.parquet",
        "x.arrow",
        "x.u32",
        "x.graph500",
        "x.mtx",
        "x.dimacs",
        "x.adjacency",
        "x.properties",
    ] {
        sandbox.must(&format!("convert e.tsv -o {name}"));
        must(&sandbox, &server, &format!("convert e.tsv -o s3://box/out/{name}"));
        assert!(server.get(&format!("box/out/{name}")).unwrap() == sandbox.read(name), "{name}");
    }
    for name in ["x.v", "x.e"] {
        assert!(server.get(&format!("box/out/{name}")).unwrap() == sandbox.read(name), "{name}");
    }
    sandbox.must("generate rmat 17 -o g.u32");
    must(&sandbox, &server, "generate rmat 17 -o s3://box/out/g.u32");
    assert!(server.get("box/out/g.u32").unwrap() == sandbox.read("g.u32"));
    assert!(server.uploads().is_empty());
}

#[test]
fn other_clouds_take_results_too() {
    let (sandbox, server) = begin();
    sandbox.must("generate rmat 17 -o g.u32");
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    let (google, azure) = (as_google(&server), as_azure(&server));
    let places =
        [("gs://box/g.u32", "box/g.u32", &google[..]), ("az://box/g.u32", "me/box/g.u32", &azure)];
    for (url, path, variables) in places {
        let mut command = command(&sandbox, &server, &format!("generate rmat 17 -o {url}"));
        let ended = command.envs(variables.iter().cloned()).output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{url}: {stderr}");
        assert!(server.get(path).unwrap() == sandbox.read("g.u32"), "{url}");
    }
    assert!(server.uploads().is_empty());
}

#[test]
fn reports_and_results_of_resumed_runs_go_to_buckets() {
    let (sandbox, server) = begin();
    let line = "run pagerank e.tsv --iterations 5 -o s3://box/r.csv --report s3://box/r.json";
    must(&sandbox, &server, line);
    let report = String::from_utf8(server.get("box/r.json").unwrap()).unwrap();
    assert!(report.contains("\"algorithm\": \"pagerank\"") && !report.contains("secret"));
    let expected = server.get("box/r.csv").unwrap();
    let long = "run pagerank e.tsv --iterations 400 --tolerance 0 --checkpoint kept.run \
                --checkpoint-every 1";
    let mut child = command(&sandbox, &server, long).spawn().unwrap();
    wait_until("checkpoints", || crate::checkpoint::last(&sandbox.path().join("kept.run")) >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    must(&sandbox, &server, "resume kept.run -q -o s3://box/r.csv");
    sandbox.must("run pagerank e.tsv --iterations 400 --tolerance 0 -q -o whole.csv");
    let found = server.get("box/r.csv").unwrap();
    assert!(found == sandbox.read("whole.csv") && found != expected);
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let (sandbox, server) = begin();
    server.put("box/in.tsv", text(30));
    for (line, code, message) in [
        ("run wcc s3://box/in.tsv -o s3a://box/in.tsv --output-format csv", 73, "is an input and"),
        (
            "run wcc e.tsv -o s3://box/r.csv --report s3://box/r.csv",
            2,
            "is the output and the report",
        ),
        ("run wcc e.tsv -o s3://box/r", 2, "cannot tell the format"),
        ("run wcc e.tsv -o s3://box/r.csv/", 2, "machines of a cluster write parts"),
        ("run wcc e.tsv -o https://box.example/r.csv", 2, "nothing is written to a web server"),
        ("run wcc e.tsv -o s3://me:very@box/r.csv", 2, "without a user and a password"),
        ("convert s3://box/in.tsv -o s3://box/in.tsv", 73, "is an input and"),
    ] {
        let stderr = refused(&sandbox, &server, line, code);
        assert!(stderr.contains(message), "{line}: {stderr}");
    }
    assert_eq!(server.get("box/in.tsv").unwrap(), text(30).into_bytes());
    server.take_requests();
    for (status, message) in [(404, "no such bucket"), (403, "access is denied")] {
        server.fail(move |_| Some(Fault::Status(status)));
        let stderr = refused(&sandbox, &server, "run wcc e.tsv -o s3://box/r.csv", 73);
        assert!(
            stderr.contains(&format!("s3://box/r.csv: cannot create it: {message}")),
            "{stderr}"
        );
        assert_eq!(server.take_requests().len(), 1, "nothing but the question");
    }
}

#[test]
fn what_fails_ends_with_the_name_and_leaves_nothing() {
    let (sandbox, server) = begin();
    let is_small = |request: &Request| request.method == "PUT" && request.query.is_empty();
    let is_part = |request: &Request| request.query.contains_key("partNumber");
    let is_end =
        |request: &Request| request.method == "POST" && request.query.contains_key("uploadId");
    let cases: [(&str, &str, Kind); 5] = [
        ("run wcc e.tsv -o s3://box/r.csv", "r.csv", is_small),
        ("run wcc e.tsv -o s3://box/r.parquet", "r.parquet", is_small),
        ("generate rmat 17 -o s3://box/g.u32", "g.u32", is_part),
        ("generate rmat 17 -o s3://box/g.u32", "g.u32", is_end),
        ("generate rmat 17 -o s3://box/g.properties", "g.v", is_small),
    ];
    for (line, name, is) in cases {
        server.fail(move |request| is(request).then_some(Fault::Status(500)));
        let stderr = refused(&sandbox, &server, line, 74);
        let message = format!("s3://box/{name}: cannot write: the server answered 500");
        assert!(stderr.contains(&message), "{line}: {stderr}");
        assert!(is_empty(&server), "{line}");
    }
    // Parts are left, and that is said.
    server.fail(move |request| {
        let fails = is_part(request) || request.method == "DELETE";
        fails.then_some(Fault::Status(500))
    });
    let stderr = refused(&sandbox, &server, "generate rmat 17 -o s3://box/g.u32", 74);
    assert!(stderr.contains("parts that were uploaded could not be removed"), "{stderr}");
    assert_eq!(sandbox.files(), ["e.tsv"]);
}

#[test]
fn an_interrupted_run_leaves_nothing_in_the_bucket() {
    let (sandbox, server) = begin();
    // Parts that never come to an end.
    server.fail(|request| {
        let is_part = request.query.contains_key("partNumber");
        is_part.then_some(Fault::Silent(Duration::from_hours(1)))
    });
    let child = command(&sandbox, &server, "generate rmat 20 -o s3://box/g.tsv").spawn().unwrap();
    wait_until("parts", || {
        server.take_requests().iter().any(|request| request.query.contains_key("partNumber"))
    });
    signal(&child, "INT");
    let ended = ended(child);
    assert_eq!((ended.code, &*ended.stderr), (Some(130), "error: interrupted\n"));
    assert!(is_empty(&server));
}

#[test]
fn parts_on_their_way_are_in_the_plan() {
    let (sandbox, server) = begin();
    let line = "run wcc e.tsv --memory 64MiB -o";
    must(&sandbox, &server, &format!("{line} r.csv"));
    let stderr = refused(&sandbox, &server, &format!("{line} s3://box/r.csv"), 78);
    assert!(is_empty(&server), "{stderr}");
    must(&sandbox, &server, "run wcc e.tsv --memory 128MiB -o s3://box/r.csv");
}

fn is_part(request: &Request) -> bool {
    request.query.contains_key("partNumber")
}

/// Sizes of the parts of each object that a command sends.
fn parts(sandbox: &Sandbox, server: &BucketServer, line: &str) -> BTreeMap<String, Vec<usize>> {
    server.take_requests();
    must(sandbox, server, line);
    let mut parts = BTreeMap::<String, Vec<usize>>::new();
    for request in server.take_requests().into_iter().filter(is_part) {
        parts.entry(request.path).or_default().push(request.bytes);
    }
    parts
}

/// Whether all parts have a size, but for the last one.
fn have_size(sizes: &[usize], bytes: usize) -> bool {
    let others = sizes.iter().filter(|size| **size != bytes).count();
    sizes.iter().max() == Some(&bytes) && others <= 1
}

#[test]
fn stated_parts_are_those_of_all_objects() {
    let (sandbox, server) = begin();
    sandbox.must("generate rmat 19 -o g.u32");
    let edges = (0..3_000_000_u32).flat_map(|vertex| [vertex, vertex + 1]);
    sandbox.write("path.u32", edges.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    server.fail(|request| is_part(request).then_some(Fault::Silent(Duration::from_millis(700))));
    let ranks = "run pagerank path.u32 --iterations 2 -q --checkpoint s3://box/run \
                 --checkpoint-every 1 -o s3://box/r.npy";
    for (line, begins) in [
        ("convert g.u32 -q -o s3://box/x.u32", &["box/x.u32"][..]),
        ("ingest g.u32 -q -o s3://box/graph", &["box/graph/gen-0-"]),
        (ranks, &["box/r.npy", "box/run/state-1-"]),
    ] {
        server.take_most_at_once();
        let found = parts(&sandbox, &server, &format!("{line} --write-size 4KiB --in-flight 2"));
        for begin in begins {
            assert!(found.keys().any(|path| path.starts_with(begin)), "{line}: {found:?}");
        }
        assert!(found.values().all(|sizes| have_size(sizes, 5 << 20)), "{line}: {found:?}");
        assert_eq!(server.take_most_at_once(), 2, "{line}");
    }
    let line = "convert g.u32 -q -o s3://box/x.u32 --write-size 16MiB --in-flight 1";
    assert_eq!(parts(&sandbox, &server, line)["box/x.u32"], [16 << 20; 4]);
    assert_eq!(server.take_most_at_once(), 1);
    assert!(server.get("box/x.u32").unwrap() == sandbox.read("g.u32"));
}

#[test]
fn what_a_probe_kept_beside_results_decides() {
    let (sandbox, server) = begin();
    // The smallest result that rates are looked for.
    sandbox.must("generate rmat 19 -o g.u32");
    let rate = |request_bytes, depth, bytes_per_second| Rate {
        request_bytes,
        depth,
        bytes_per_second,
        processor_share: 0.1,
    };
    // Smaller parts are not taken, and more of larger ones have no room.
    let write = vec![
        rate(1 << 20, 64, 900e6),
        rate(8 << 20, 4, 100e6),
        rate(16 << 20, 2, 400e6),
        rate(64 << 20, 8, 800e6),
    ];
    let probe = Probe { read: write.clone(), write, direct: true, ..Probe::default() };
    probe.keep_beside(&[sandbox.path().to_owned()]).unwrap();
    server.put("box/.welter-rates", sandbox.read(".welter-rates"));
    let convert = "convert g.u32 -q --memory 512MiB -o s3://box/out/x.u32";
    assert_eq!(parts(&sandbox, &server, convert)["box/out/x.u32"], [16 << 20; 4]);
    let line = format!("{convert} --in-flight 2");
    assert_eq!(parts(&sandbox, &server, &line)["box/out/x.u32"], [8 << 20; 8]);
    // No rates are looked for where requests are stated, nor for a small result.
    for line in [&*line, "convert e.tsv -o s3://box/out/e.u32"] {
        must(&sandbox, &server, line);
        let requests = server.take_requests();
        assert!(!requests.iter().any(|it| it.path.ends_with("/.welter-rates")), "{line}");
    }
    let run_line = "run pagerank g.u32 --iterations 1 --memory 512MiB -q \
                    -o s3://box/out/r.csv --report r.json";
    must(&sandbox, &server, run_line);
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let expected = json!([{
        "to": "s3://box/out/r.csv", "part_bytes": 16 << 20, "in_flight": 2, "probed": true,
    }]);
    assert_eq!(report["uploads"], expected);
    // Checkpoints ask in any case. Damage is said, and parts are the usual ones.
    let kept = "run pagerank e.tsv --iterations 2 --checkpoint s3://box/run --report r.json -o -";
    must(&sandbox, &server, &format!("{kept} --memory 512MiB"));
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["uploads"][0]["part_bytes"], 16 << 20);
    let mut damaged = sandbox.read(".welter-rates");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    server.put("box/.welter-rates", damaged);
    let ended = run(&sandbox, &server, kept);
    assert!(ended.stderr.contains("note: rates of the probe are not used: "), "{}", ended.stderr);
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["uploads"][0]["part_bytes"], 8 << 20);
}

#[test]
fn stated_parts_are_in_the_plan() {
    let (sandbox, server) = begin();
    for line in [
        "run wcc e.tsv -o s3://box/r.csv",
        "run pagerank e.tsv --iterations 2 --checkpoint s3://box/run -o r.csv",
        "convert e.tsv -o s3://box/x.csv",
        "generate rmat 10 -o s3://box/g.u32",
        "ingest e.tsv -o s3://box/graph",
    ] {
        let line = format!("{line} --threads 1 --write-size 64MiB --in-flight 2");
        let before = server.paths();
        let stderr = refused(&sandbox, &server, &format!("{line} --memory 128MiB"), 78);
        assert!(stderr.contains(" of memory and the budget is "), "{line}: {stderr}");
        assert!(server.paths() == before && server.uploads().is_empty(), "{line}");
        must(&sandbox, &server, &format!("{line} --memory 1GiB"));
    }
}
