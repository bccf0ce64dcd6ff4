//! Faults of buckets after which a writer does not know what is there: answers that are lost, bits
//! that flip on their way, and two processes that write one graph.

use std::collections::BTreeSet;

use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::bucket_checkpoints::{RUN, begin as begin_checkpoints, broken_off};
use crate::graphs::begin;
use crate::interrupt::ended;
use crate::objects::{as_azure, as_google, command, must, refused, run, text};
use crate::sandbox::Sandbox;

const INGEST: &str = "ingest e.tsv -q -o s3://box/b";

/// Components of the graph that [`INGEST`] makes are those of the edges.
fn is_whole(sandbox: &Sandbox, server: &BucketServer) {
    is_whole_at(sandbox, server, "s3://box/b");
}

/// As [`is_whole`], of the graph of this URL.
fn is_whole_at(sandbox: &Sandbox, server: &BucketServer, url: &str) {
    must(sandbox, server, &format!("check {url}"));
    sandbox.must("run wcc graph -q -o expected.csv");
    must(sandbox, server, &format!("run wcc {url} -q -o r.csv"));
    assert!(sandbox.read("r.csv") == sandbox.read("expected.csv"));
}

/// Whether it puts the manifest of that graph, wherever a cloud has its buckets.
fn is_manifest(request: &Request) -> bool {
    request.path.ends_with("box/b/manifest") && request.method == "PUT"
}

#[test]
fn an_ingest_whose_last_answer_is_lost_has_kept_the_graph() {
    let (sandbox, server) = begin();
    let before = server.paths();
    for fault in [Fault::Lost, Fault::DoneBut(504)] {
        for lost in [1, usize::MAX] {
            let (fault, mut left) = (fault.clone(), lost);
            server.fail(move |request| {
                let hit = is_manifest(request) && left > 0;
                left -= usize::from(hit);
                hit.then(|| fault.clone())
            });
            must(&sandbox, &server, INGEST);
            server.fail(|_| None);
            is_whole(&sandbox, &server);
            must(&sandbox, &server, "remove s3://box/b");
            assert_eq!(server.paths(), before);
        }
        // The store does not say either whether it is there, so nothing may be removed.
        let (fault, mut is_put) = (fault.clone(), false);
        server.fail(move |request| {
            let first = is_manifest(request) && !std::mem::replace(&mut is_put, true);
            let asked = is_put && request.path == "box/b/manifest" && request.method != "PUT";
            if first { Some(fault.clone()) } else { asked.then_some(Fault::Status(500)) }
        });
        let stderr = refused(&sandbox, &server, INGEST, 74);
        let message = "whether it is there all the same could not be asked";
        assert!(stderr.contains("s3://box/b/manifest") && stderr.contains(message), "{stderr}");
        server.fail(|_| None);
        is_whole(&sandbox, &server);
        must(&sandbox, &server, "remove s3://box/b");
    }
    // One that never came is not there, and so is nothing that it names.
    server.fail(|request| is_manifest(request).then_some(Fault::Status(500)));
    let stderr = refused(&sandbox, &server, INGEST, 74);
    assert!(stderr.contains("s3://box/b/manifest"), "{stderr}");
    assert_eq!(server.paths(), before);
}

#[test]
fn a_bucket_that_takes_no_graph_is_refused_before_edges_are_read() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.put("box/e.tsv", text(3000));
    for (status, message) in [(403, "access is denied"), (404, "no such bucket")] {
        server.fail(move |request| {
            let writes = request.method != "GET" && request.method != "HEAD";
            writes.then_some(Fault::Status(status))
        });
        let line = "ingest s3://box/e.tsv -q -o s3://closed/graph";
        let stderr = refused(&sandbox, &server, line, 73);
        let expected = format!("s3://closed/graph: cannot create it: {message}");
        assert!(stderr.contains(&expected), "{stderr}");
        let requests = server.take_requests();
        assert!(requests.iter().all(|it| it.path.starts_with("closed/")), "{requests:?}");
    }
    // A bucket that is not there has no graph either.
    sandbox.write("e.tsv", text(10));
    server.fail(|_| Some(Fault::Refused(404, "NoSuchBucket")));
    for (line, name) in [
        ("run wcc s3://typo/e.tsv", "s3://typo/e.tsv"),
        ("run wcc s3://typo/graph", "s3://typo/graph"),
        ("check s3://typo/graph", "s3://typo/graph/manifest"),
        ("ingest e.tsv -q -o s3://typo/graph", "s3://typo/graph/manifest"),
        ("resume s3://typo/run", "s3://typo/run/checkpoint"),
    ] {
        let stderr = refused(&sandbox, &server, line, 66);
        assert!(stderr.contains(&format!("{name}: no such bucket")), "{line}: {stderr}");
    }
}

#[test]
fn checkpoints_whose_answers_are_lost_are_there() {
    let (sandbox, server, expected) = begin_checkpoints();
    let is_manifest = |request: &Request| request.path == "box/ck/checkpoint";
    for fault in [Fault::Lost, Fault::DoneBut(504)] {
        let lost = fault.clone();
        server.fail(move |request| {
            (is_manifest(request) && request.method == "PUT").then(|| lost.clone())
        });
        must(&sandbox, &server, RUN);
        assert!(sandbox.read("r.csv") == expected);
        assert!(server.paths().is_empty());
        // From the third on no one knows.
        let mut puts = 0;
        server.fail(move |request| {
            puts += i32::from(is_manifest(request) && request.method == "PUT");
            let fault = if request.method == "PUT" { &fault } else { &Fault::Status(500) };
            (is_manifest(request) && puts >= 3).then(|| fault.clone())
        });
        let stderr = refused(&sandbox, &server, RUN, 74);
        assert!(stderr.contains("s3://box/ck/checkpoint"), "{stderr}");
        server.fail(|_| None);
        must(&sandbox, &server, "resume s3://box/ck");
        assert!(sandbox.read("r.csv") == expected);
        assert!(server.paths().is_empty(), "{:?}", server.paths());
    }
}

/// Flips a bit of one answer with a body of an object, `nth`, or of each.
fn flip(server: &BucketServer, path: &str, nth: Option<usize>) {
    flip_by(server, path, nth, Fault::Flipped);
}

/// As [`flip`], in this way.
fn flip_by(server: &BucketServer, path: &str, nth: Option<usize>, fault: Fault) {
    let (path, mut seen) = (path.to_owned(), 0);
    server.fail(move |request| {
        let hit = request.path == path && request.method == "GET";
        seen += usize::from(hit);
        (hit && nth.is_none_or(|nth| seen == nth + 1)).then(|| fault.clone())
    });
}

/// Runs a command that reads an object while one answer after another has a flipped bit, and then
/// all have. Each ends with what is expected, or with one of these codes and the object's name; how
/// many did. Looks at an input are given up at any time, so answers differ from run to run.
fn flipped(
    at: (&Sandbox, &BucketServer),
    of: (&str, &str),
    expected: &[u8],
    codes: &[i32],
) -> usize {
    flipped_by(at, of, &Fault::Flipped, expected, codes)
}

/// As [`flipped`], in this way.
fn flipped_by(
    (sandbox, server): (&Sandbox, &BucketServer),
    (line, path): (&str, &str),
    fault: &Fault,
    expected: &[u8],
    codes: &[i32],
) -> usize {
    server.fail(|_| None);
    server.take_requests();
    must(sandbox, server, line);
    assert!(sandbox.read("r.csv") == expected, "{line}");
    let answers = server.take_requests();
    let answers = answers.iter().filter(|it| it.path == path && it.method == "GET").count();
    let mut failed = 0;
    for nth in (0..answers).map(Some).chain([None]) {
        flip_by(server, path, nth, fault.clone());
        let ended = run(sandbox, server, line);
        if ended.code == Some(0) {
            assert!(sandbox.read("r.csv") == expected, "a wrong answer: {line}, {path}, {nth:?}");
            continue;
        }
        failed += 1;
        assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{path}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("s3://{path}")), "{path}: {}", ended.stderr);
    }
    server.fail(|_| None);
    failed
}

#[test]
fn a_bit_of_a_kept_graph_that_flips_on_its_way_is_found() {
    let (sandbox, server) = begin();
    let mut found = BTreeSet::new();
    for algorithm in ["pagerank --iterations 2", "sssp --source 0"] {
        sandbox.must(&format!("run {algorithm} graph -q -o expected.csv"));
        let expected = sandbox.read("expected.csv");
        let line = format!("run {algorithm} s3://box/a/graph --edge-memory 0 -q -o r.csv");
        for path in server.paths() {
            if flipped((&sandbox, &server), (&line, &path), &expected, &[70, 74]) > 0 {
                found.insert(path.rsplit('/').next().unwrap().to_owned());
            }
        }
    }
    assert!(found.contains("manifest") && found.contains("edges-0"), "{found:?}");
    // Behind a disk neither: what was damaged is not kept there.
    let edges = crate::graphs::object(&server, "edges-0");
    let line = "run sssp --source 0 s3://box/a/graph --edge-memory 0 --edge-cache disk:64MiB -q \
                -o r.csv";
    flip(&server, &edges, Some(1));
    let stderr = refused(&sandbox, &server, line, 70);
    assert!(stderr.contains(&format!("s3://{edges}: damaged")), "{stderr}");
    server.fail(|_| None);
    for _ in 0..2 {
        must(&sandbox, &server, line);
        assert!(sandbox.read("r.csv") == sandbox.read("expected.csv"));
    }
}

#[test]
fn a_bit_of_a_checkpoint_that_flips_on_its_way_is_found() {
    let (sandbox, server, expected) = begin_checkpoints();
    broken_off(&sandbox, &server);
    let (kept, mut failed) = (server.paths(), 0);
    let bytes: Vec<_> = kept.iter().map(|path| server.get(path).unwrap()).collect();
    for path in &kept {
        for nth in 0..3 {
            for (path, bytes) in kept.iter().zip(&bytes) {
                server.put(path, bytes.clone());
            }
            flip(&server, path, Some(nth));
            let ended = run(&sandbox, &server, "resume s3://box/ck -q");
            if ended.code == Some(0) {
                assert!(sandbox.read("r.csv") == expected, "{path}, {nth}");
                continue;
            }
            failed += 1;
            assert!(matches!(ended.code, Some(70 | 74)), "{}", ended.stderr);
            assert!(ended.stderr.contains("s3://box/ck/"), "{}", ended.stderr);
        }
    }
    assert!(failed > 0);
}

#[test]
fn a_bit_of_a_compressed_input_that_flips_on_its_way_is_found() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    // More than the look at the beginning fetches.
    sandbox.write("e.tsv", text(600_000));
    sandbox.must("run spmv e.tsv --vector ones -q -o expected.csv");
    let expected = sandbox.read("expected.csv");
    for name in ["e.csv.gz", "e.csv.zst"] {
        sandbox.must(&format!("convert e.tsv -q -o {name}"));
        let path = format!("box/{name}");
        server.put(&path, sandbox.read(name));
        let line = format!("run spmv s3://{path} --vector ones -q -o r.csv");
        // Whether it lay there so the checksum does not tell.
        let codes = [65, 70, 74];
        assert!(flipped((&sandbox, &server), (&line, &path), &expected, &codes) > 0, "{name}");
    }
}

#[test]
fn a_bit_of_an_input_that_flips_on_its_way_is_found() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    // Several parts of text, and more than the look at the beginning fetches.
    sandbox.write("e.tsv", text(200_000));
    sandbox.must("convert e.tsv -q -o e.u32");
    sandbox.must("run spmv e.tsv --vector ones -q -o expected.csv");
    let expected = sandbox.read("expected.csv");
    // Another digit, or another id, is no error of the format; a control character is.
    for (name, fault, codes) in [
        ("e.tsv", Fault::Digit, &[74][..]),
        ("e.u32", Fault::Flipped, &[74][..]),
        ("e.tsv", Fault::Flipped, &[65, 74][..]),
    ] {
        let path = format!("box/{name}");
        server.put(&path, sandbox.read(name));
        let line = format!("run spmv s3://{path} --vector ones -q -o r.csv --threads 2");
        let at = (&sandbox, &server);
        assert!(flipped_by(at, (&line, &path), &fault, &expected, codes) > 0, "{name}");
    }
    for (name, fault) in [("e.tsv", Fault::Digit), ("e.u32", Fault::Flipped)] {
        let (path, kept) = (format!("box/{name}"), format!("kept-{name}-graph"));
        let line = format!("ingest s3://{path} -q -o {kept}");
        flip_by(&server, &path, None, fault);
        let stderr = refused(&sandbox, &server, &line, 74);
        assert!(stderr.contains(&format!("s3://{path}: ")), "{stderr}");
        assert!(stderr.contains("bits flipped on their way"), "{stderr}");
        server.fail(|_| None);
        must(&sandbox, &server, &line);
        sandbox.must(&format!("run spmv {kept} --vector ones -q -o r.csv"));
        assert!(sandbox.read("r.csv") == expected, "{name}");
    }
}

/// Two processes ingest one graph at once, into a bucket of this scheme that lies in this folder of
/// the store: one has it then.
fn one_wins(sandbox: &Sandbox, server: &BucketServer, (scheme, folder): (&str, &str)) {
    let before = server.paths();
    // None of the manifests is taken before both are there.
    let mut writers = BTreeSet::new();
    server.fail(move |request| {
        if !is_manifest(request) {
            return None;
        }
        writers.extend(request.mark.clone());
        (writers.len() < 2).then_some(Fault::Status(503))
    });
    let both = ["one", "two"].map(|scratch| {
        std::fs::create_dir_all(sandbox.path().join(scratch)).unwrap();
        let line = format!("ingest e.tsv -q -o {scheme}://box/b --scratch {scratch}");
        let mut command = command(sandbox, server, &line);
        command.envs(as_google(server)).envs(as_azure(server));
        command.env("AWS_MAX_ATTEMPTS", "60").spawn().unwrap()
    });
    let mut both = both.map(ended);
    both.sort_by_key(|ended| ended.code);
    let [won, lost] = both;
    assert_eq!((won.code, lost.code), (Some(0), Some(73)), "{}{}", won.stderr, lost.stderr);
    assert!(lost.stderr.contains(&format!("{scheme}://box/b: ")), "{}", lost.stderr);
    assert!(lost.stderr.contains("a graph is kept there already"), "{}", lost.stderr);
    server.fail(|_| None);
    // As S3 all of them have it.
    let url = format!("s3://{folder}/b");
    is_whole_at(sandbox, server, &url);
    // All that is there is of one folder.
    let after = server.paths();
    let new = after.iter().filter(|path| !before.contains(path));
    let below = new.filter_map(|path| path.strip_prefix(folder)?.strip_prefix("/b/"));
    let names: BTreeSet<_> = below.filter_map(|path| path.split('/').next()).collect();
    assert_eq!(names.len(), 2, "{after:?}");
    must(sandbox, server, &format!("remove {url}"));
    assert_eq!(server.paths(), before);
    let scratch = ["one", "two"].map(|name| sandbox.path().join(name).read_dir().unwrap().count());
    assert_eq!((scratch, server.uploads().len()), ([0, 0], 0));
}

#[test]
fn of_two_processes_that_ingest_one_graph_one_wins() {
    let (sandbox, server) = begin();
    // Requests of S3 are verified there all the same.
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    for at in [("s3", "box"), ("gs", "box"), ("az", "me/box")] {
        one_wins(&sandbox, &server, at);
    }
}
