//! Results that are written to a bucket: the bytes are those of the files, and what fails leaves
//! nothing, neither an object nor parts of one.

use std::time::Duration;

use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::interrupt::{ended, signal, wait_until};
use crate::objects::{command, must, refused, text};
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
    let google = [("GOOGLE_BASE_URL", server.url()), ("GOOGLE_BEARER_TOKEN", "very-secret".into())];
    let azure = [
        ("AZURE_STORAGE_ENDPOINT", format!("{}/me", server.url())),
        ("AZURE_STORAGE_ACCOUNT_NAME", "me".into()),
        ("AZURE_SKIP_SIGNATURE", "true".into()),
    ];
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
    assert!(server.get("box/r.csv").unwrap() != expected);
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let (sandbox, server) = begin();
    server.put("box/in.tsv", text(30));
    for (line, code, said) in [
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
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
    assert_eq!(server.get("box/in.tsv").unwrap(), text(30).into_bytes());
    server.take_requests();
    for (status, said) in [(404, "no such bucket"), (403, "access is denied")] {
        server.fail(move |_| Some(Fault::Status(status)));
        let stderr = refused(&sandbox, &server, "run wcc e.tsv -o s3://box/r.csv", 73);
        assert!(stderr.contains(&format!("s3://box/r.csv: cannot create it: {said}")), "{stderr}");
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
        let said = format!("s3://box/{name}: cannot write: the server answered 500");
        assert!(stderr.contains(&said), "{line}: {stderr}");
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
