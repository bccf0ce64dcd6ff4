//! Checkpoints in a bucket: a run continues from there with the same answer, whatever the store
//! does, and of two that resume one run one wins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::interrupt::wait_until;
use crate::objects::{as_azure, as_google, command, must, refused, run, text};
use crate::sandbox::{Ended, Sandbox};

pub(crate) const RUN: &str = "run pagerank e.tsv --iterations 6 --threads 2 -q -o r.csv \
                   --checkpoint s3://box/ck --checkpoint-every 1";

/// Edges, a store, and the ranks that are right.
pub(crate) fn begin() -> (Sandbox, BucketServer, Vec<u8>) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(30_000));
    sandbox.must("run pagerank e.tsv --iterations 6 --threads 2 -q -o expected.csv");
    let expected = sandbox.read("expected.csv");
    (sandbox, server, expected)
}

/// Whether it puts a state, wherever a cloud has its buckets,
fn is_state(request: &Request) -> bool {
    request.path.contains("box/ck/state-") && request.method == "PUT"
}

/// or the manifest.
fn is_manifest(request: &Request) -> bool {
    request.path.ends_with("box/ck/checkpoint") && request.method == "PUT"
}

/// Ends a run while it writes its fourth checkpoint; two whole ones are left.
pub(crate) fn broken_off(sandbox: &Sandbox, server: &BucketServer) {
    broken_off_as(sandbox, server, RUN);
}

/// As [`broken_off`], of a run of these words.
fn broken_off_as(sandbox: &Sandbox, server: &BucketServer, line: &str) {
    let mut states = 0;
    server.fail(move |request| {
        states += i32::from(is_state(request));
        (is_state(request) && states >= 4).then_some(Fault::Status(403))
    });
    let stderr = refused(sandbox, server, line, 74);
    assert!(stderr.contains("s3://box/ck/state-4-") && stderr.contains("access is denied"));
    assert!(stderr.contains("`welter resume s3://box/ck` resumes from there"), "{stderr}");
    server.fail(|_| None);
}

/// Names of what is in the folder, without the numbers of writers.
fn left(server: &BucketServer) -> Vec<String> {
    let paths = server.paths().into_iter();
    let names = paths.filter_map(|path| Some(path.split_once("box/ck/")?.1.to_owned()));
    names.map(|name| name.split('-').take(2).collect::<Vec<_>>().join("-")).collect()
}

fn state(server: &BucketServer, iterations: u32) -> String {
    let begin = format!("box/ck/state-{iterations}-");
    server.paths().into_iter().find(|path| path.starts_with(&begin)).unwrap()
}

#[test]
fn a_run_goes_on_from_a_bucket_with_the_same_answer() {
    let (sandbox, server, expected) = begin();
    must(&sandbox, &server, RUN);
    assert!(sandbox.read("r.csv") == expected);
    assert!(server.paths().is_empty() && server.uploads().is_empty());
    broken_off(&sandbox, &server);
    // States before the last two are gone.
    assert_eq!(left(&server), ["checkpoint", "state-2", "state-3"]);
    let stderr = refused(&sandbox, &server, RUN, 73);
    assert!(stderr.contains("a run is kept there: `welter resume s3://box/ck` resumes it"));
    server.take_requests();
    let ended = run(&sandbox, &server, "resume s3://box/ck/");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(sandbox.read("r.csv") == expected);
    assert!(server.paths().is_empty(), "{:?}", server.paths());
    // States first, and the manifest behind each of them, in the place of the one before.
    let put: Vec<_> = server.take_requests();
    let put: Vec<_> = put.iter().filter(|request| request.method == "PUT").collect();
    assert_eq!(put.len(), 6);
    for pair in put.chunks(2) {
        assert!(is_state(pair[0]) && is_manifest(pair[1]) && pair[1].if_match.is_some());
    }
    let stderr = refused(&sandbox, &server, "resume s3://box/ck", 66);
    assert!(stderr.contains("there are no checkpoints of a run"), "{stderr}");
    let line = RUN.replace("r.csv", "s3://box/ck/ranks.csv");
    assert!(refused(&sandbox, &server, &line, 2).contains("checkpoints are kept there"));
}

#[test]
fn a_run_that_was_killed_goes_on_from_a_bucket() {
    let (sandbox, server, expected) = begin();
    // The third state never comes to an end.
    let states = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&states);
    server.fail(move |request| {
        let is_late = is_state(request) && seen.fetch_add(1, Ordering::Relaxed) >= 2;
        is_late.then_some(Fault::Silent(Duration::from_hours(1)))
    });
    let mut child = command(&sandbox, &server, RUN).spawn().unwrap();
    wait_until("a third state", || states.load(Ordering::Relaxed) > 2);
    child.kill().unwrap();
    child.wait().unwrap();
    server.fail(|_| None);
    assert_eq!(left(&server), ["checkpoint", "state-1", "state-2"]);
    must(&sandbox, &server, "resume s3://box/ck");
    assert!(sandbox.read("r.csv") == expected);
    assert!(server.paths().is_empty(), "{:?}", server.paths());
}

#[test]
fn a_run_of_urls_goes_on_where_the_directory_of_then_is_gone() {
    let (sandbox, server, expected) = begin();
    server.put("box/e.tsv", sandbox.read("e.tsv"));
    let far = RUN.replace("e.tsv", "s3://box/e.tsv").replace("r.csv", "s3://box/r.csv");
    let broken_off = |line: &str| {
        let gone = Sandbox::new();
        gone.write("e.tsv", sandbox.read("e.tsv"));
        broken_off_as(&gone, &server, line);
    };
    let elsewhere = Sandbox::new();
    let ended = |line: &str| {
        must(&elsewhere, &server, line);
        assert!(server.get("box/r.csv").unwrap() == expected, "{line}");
        server.remove("box/r.csv");
        assert_eq!(server.paths(), ["box/e.tsv"], "{line}");
        assert_eq!(elsewhere.files(), [""; 0], "{line}");
    };
    broken_off(&far);
    ended("resume s3://box/ck");
    // Results would go to the directory of then.
    broken_off(&far.replace("s3://box/r.csv", "r.csv"));
    let stderr = refused(&elsewhere, &server, "resume s3://box/ck", 66);
    assert!(stderr.contains("the run was begun here, and names r.csv from here: "), "{stderr}");
    ended("resume s3://box/ck -o s3://box/r.csv");
    // Edges were read there.
    broken_off(&far.replace("s3://box/e.tsv", "e.tsv"));
    let stderr = refused(&elsewhere, &server, "resume s3://box/ck -o s3://box/r.csv", 66);
    assert!(stderr.contains("and names e.tsv from here: "), "{stderr}");
}

#[test]
fn faults_that_pass_make_no_difference() {
    let (sandbox, server, expected) = begin();
    let late = Fault::Late(Duration::from_millis(300));
    for fault in [Fault::Status(500), Fault::Status(503), late] {
        for is in [is_state as fn(&Request) -> bool, is_manifest] {
            let (fault, mut left) = (fault.clone(), 2);
            server.fail(move |request| {
                left -= i32::from(is(request));
                (is(request) && left >= 0).then(|| fault.clone())
            });
            must(&sandbox, &server, RUN);
            assert!(sandbox.read("r.csv") == expected);
            assert!(server.paths().is_empty());
        }
    }
    // Bodies that are cut while a run continues from them.
    broken_off(&sandbox, &server);
    let mut left = 2;
    server.fail(move |request| {
        let hit = request.path.starts_with("box/ck/") && request.method == "GET" && left > 0;
        left -= i32::from(hit);
        hit.then_some(Fault::Cut)
    });
    must(&sandbox, &server, "resume s3://box/ck");
    assert!(sandbox.read("r.csv") == expected);
}

#[test]
fn faults_that_last_end_a_run_and_name_the_object() {
    let (sandbox, server, expected) = begin();
    for (is, name) in [
        (is_state as fn(&Request) -> bool, "s3://box/ck/state-2-"),
        (is_manifest, "s3://box/ck/checkpoint"),
    ] {
        let mut seen = 0;
        server.fail(move |request| {
            seen += i32::from(is(request));
            (is(request) && seen > 1 + i32::from(is_manifest(request)))
                .then_some(Fault::Status(500))
        });
        let stderr = refused(&sandbox, &server, RUN, 74);
        assert!(stderr.contains(name) && stderr.contains("answered 500"), "{stderr}");
        server.fail(|_| None);
        must(&sandbox, &server, "resume s3://box/ck");
        assert!(sandbox.read("r.csv") == expected);
    }
    // A state that is short for good, or not what was written, is replaced by the one before.
    broken_off(&sandbox, &server);
    let last = state(&server, 3);
    let path = last.clone();
    server.fail(move |request| (request.path == path).then_some(Fault::Short));
    let stderr = refused(&sandbox, &server, "resume s3://box/ck", 74);
    assert!(stderr.contains(&format!("s3://{last}")), "{stderr}");
    server.fail(|_| None);
    for number in [3, 2] {
        let name = state(&server, number);
        let mut bytes = server.get(&name).unwrap();
        bytes[200] ^= 1;
        server.put(&name, bytes);
    }
    let stderr = refused(&sandbox, &server, "resume s3://box/ck", 70);
    assert!(stderr.contains(&format!("s3://{last}: damaged")), "{stderr}");
    let name = state(&server, 2);
    let mut bytes = server.get(&name).unwrap();
    bytes[200] ^= 1;
    server.put(&name, bytes);
    must(&sandbox, &server, "resume s3://box/ck");
    assert!(sandbox.read("r.csv") == expected);
    assert!(server.paths().is_empty(), "{:?}", server.paths());
}

#[test]
fn of_two_runs_one_goes_on_and_the_other_ends_without_a_trace() {
    let (sandbox, server, expected) = begin();
    broken_off(&sandbox, &server);
    let before = left(&server);
    // Another process puts its manifest before this one does.
    let manifest = server.get("box/ck/checkpoint").unwrap();
    let other = manifest.clone();
    server.fail(move |request| is_manifest(request).then(|| Fault::Replaced(other.clone())));
    let stderr = refused(&sandbox, &server, "resume s3://box/ck", 74);
    assert!(
        stderr.contains("s3://box/ck/checkpoint: another process went on with this run"),
        "{stderr}"
    );
    assert_eq!(left(&server), before);
    assert!(server.get("box/ck/checkpoint").unwrap() == manifest);
    // Another process has ended the run.
    server.fail(move |request| is_manifest(request).then_some(Fault::Removed));
    refused(&sandbox, &server, "resume s3://box/ck", 74);
    assert_eq!(left(&server), before[1..]);
    server.fail(|_| None);
    server.put("box/ck/checkpoint", manifest);
    must(&sandbox, &server, "resume s3://box/ck");
    assert!(sandbox.read("r.csv") == expected);
    // Of two that begin, one does.
    let mut first = true;
    server.fail(move |request| {
        let now = is_manifest(request) && std::mem::take(&mut first);
        now.then(|| Fault::Replaced(b"other".to_vec()))
    });
    let stderr = refused(&sandbox, &server, RUN, 73);
    assert!(stderr.contains("s3://box/ck: cannot create it: a run is kept there"), "{stderr}");
    assert_eq!(server.get("box/ck/checkpoint").unwrap(), b"other");
}

#[test]
fn other_clouds_keep_checkpoints_too() {
    let (sandbox, server, expected) = begin();
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    let (google, azure) = (as_google(&server), as_azure(&server));
    for (scheme, variables) in [("gs", &google[..]), ("az", &azure)] {
        let line = RUN.replace("s3://", &format!("{scheme}://"));
        let mut states = 0;
        server.fail(move |request| {
            let is_state = request.path.contains("/ck/state-") && request.method == "PUT";
            states += i32::from(is_state);
            (is_state && states >= 4).then_some(Fault::Status(403))
        });
        for (line, code) in [(line, 74), (format!("resume {scheme}://box/ck"), 0)] {
            let mut command = command(&sandbox, &server, &line);
            let ended = command.envs(variables.iter().cloned()).output().unwrap();
            let stderr = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(code), "{line}: {stderr}");
            server.fail(|_| None);
        }
        assert!(sandbox.read("r.csv") == expected, "{scheme}");
        assert!(server.paths().is_empty(), "{scheme}: {:?}", server.paths());
        std::fs::remove_file(sandbox.path().join("r.csv")).unwrap();
    }
}

/// Of two runs that go on from a checkpoint at a cloud one does. The manifest lies at this path in
/// the store, and is replaced on a condition.
fn one_goes_on(scheme: &str, path: &str, is_conditional: fn(&Request) -> bool) {
    let (sandbox, server, expected) = begin();
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    let ends = |line: &str, code: i32| {
        let mut command = command(&sandbox, &server, line);
        command.envs(as_google(&server)).envs(as_azure(&server));
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        ended.stderr
    };
    let line = RUN.replace("s3://", &format!("{scheme}://"));
    let resume = format!("resume {scheme}://box/ck");
    let mut states = 0;
    server.fail(move |request| {
        states += i32::from(is_state(request));
        (is_state(request) && states >= 4).then_some(Fault::Status(403))
    });
    ends(&line, 74);
    let before = left(&server);
    // Another process puts its manifest before this one does.
    let manifest = server.get(path).unwrap();
    let other = manifest.clone();
    server.fail(move |request| is_manifest(request).then(|| Fault::Replaced(other.clone())));
    let stderr = ends(&resume, 74);
    let message = format!("{scheme}://box/ck/checkpoint: another process went on with this run");
    assert!(stderr.contains(&message), "{stderr}");
    assert_eq!(left(&server), before);
    assert!(server.get(path).unwrap() == manifest);
    server.fail(|_| None);
    server.take_requests();
    ends(&resume, 0);
    assert!(sandbox.read("r.csv") == expected);
    assert!(server.paths().is_empty(), "{:?}", server.paths());
    let requests = server.take_requests();
    let put: Vec<_> = requests.iter().filter(|request| is_manifest(request)).collect();
    assert!(!put.is_empty() && put.iter().all(|request| is_conditional(request)), "{put:?}");
    // Of two that begin, one does.
    let mut first = true;
    server.fail(move |request| {
        let now = is_manifest(request) && std::mem::take(&mut first);
        now.then(|| Fault::Replaced(b"other".to_vec()))
    });
    let stderr = ends(&line, 73);
    let message = format!("{scheme}://box/ck: cannot create it: a run is kept there");
    assert!(stderr.contains(&message), "{stderr}");
    assert_eq!(server.get(path).unwrap(), b"other");
}

#[test]
fn of_two_runs_at_google_one_goes_on() {
    // By the number of a generation.
    one_goes_on("gs", "box/ck/checkpoint", |request| request.if_generation > Some(0));
}

#[test]
fn of_two_runs_at_azure_one_goes_on() {
    one_goes_on("az", "me/box/ck/checkpoint", |request| request.if_match.is_some());
}
