//! Kept graphs that other programs copied, into a bucket or out of one, and graphs that share a
//! bucket with objects of others.

use std::fs;

use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::graphs::begin;
use crate::objects::{must, refused};
use crate::sandbox::Sandbox;

const RUN: &str = "--iterations 3 -q -o -";
const FROM_STORAGE: &str = "--edge-memory 0 --threads 2";

/// Puts the files of a graph in a directory as objects of the same names.
pub(crate) fn put_directory(sandbox: &Sandbox, server: &BucketServer, folder: &str) {
    for place in ["", "gen-0/"] {
        for entry in fs::read_dir(sandbox.path().join("graph").join(place)).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                let name = entry.file_name().into_string().unwrap();
                server.put(&format!("{folder}/{place}{name}"), fs::read(entry.path()).unwrap());
            }
        }
    }
}

/// Requests for names with this in them.
fn asked_for<'a>(requests: &'a [Request], part: &str) -> Vec<&'a str> {
    let paths = requests.iter().map(|request| request.path.as_str());
    paths.filter(|path| path.contains(part)).collect()
}

#[test]
fn a_copy_is_found_by_either_name_and_asked_for_once() {
    let (sandbox, server) = begin();
    let expected = sandbox.must(&format!("run pagerank graph {RUN}"));
    put_directory(&sandbox, &server, "box/copy");
    let pagerank = |url: &str, more: &str| {
        server.take_requests();
        let found = must(&sandbox, &server, &format!("run pagerank {url} {RUN} {more}"));
        assert!(found == expected, "{url} {more}");
        server.take_requests()
    };
    for more in ["", FROM_STORAGE] {
        let sent = pagerank("s3://box/a/graph", more);
        assert_eq!(asked_for(&sent, "/gen-0/"), [""; 0], "{more}");
        let copied = pagerank("s3://box/copy", more);
        let elsewhere = asked_for(&copied, "/gen-0-");
        assert!(elsewhere.len() == 1 && !asked_for(&copied, "/gen-0/").is_empty(), "{copied:?}");
    }
    let checked = must(&sandbox, &server, "check s3://box/copy");
    assert!(checked.contains(": whole; 30,000 edges"), "{checked}");
    // A disk in front knows files by one name, and spares that request too.
    let cached = format!("{FROM_STORAGE} --edge-cache disk:64MiB");
    assert_eq!(asked_for(&pagerank("s3://box/copy", &cached), "/gen-0-").len(), 1);
    let again = pagerank("s3://box/copy", &cached);
    assert!(again.iter().all(|request| request.path == "box/copy/manifest"), "{again:?}");
    // A user who may not list the bucket is refused what is not there.
    server.fail(|request| request.path.contains("/gen-0-").then_some(Fault::Status(403)));
    pagerank("s3://box/copy", "");
    server.fail(|_| None);
    // Damage has the name of the object.
    let whole = server.get("box/copy/gen-0/edges-0").unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 16;
    server.put("box/copy/gen-0/edges-0", flipped);
    let line = format!("run pagerank s3://box/copy {RUN}");
    let stderr = refused(&sandbox, &server, &line, 70);
    assert!(stderr.contains("s3://box/copy/gen-0/edges-0: damaged"), "{stderr}");
    server.put("box/copy/gen-0/edges-0", whole);
    server.remove("box/copy/gen-0/degrees");
    let stderr = refused(&sandbox, &server, &line, 70);
    assert!(stderr.contains("gen-0/degrees: damaged at offset 0: it is missing"), "{stderr}");
    let others = server.paths().into_iter().filter(|path| !path.starts_with("box/copy/"));
    let others: Vec<String> = others.collect();
    must(&sandbox, &server, "remove s3://box/copy");
    assert_eq!(server.paths(), others);
}

#[test]
fn rates_that_were_copied_along_are_of_another_place() {
    let (sandbox, server) = begin();
    sandbox.must("probe graph --bytes 2MiB --seconds 1 -q");
    put_directory(&sandbox, &server, "box/copy");
    assert!(server.paths().contains(&"box/copy/rates".to_owned()));
    let explained =
        || must(&sandbox, &server, "explain pagerank s3://box/copy --edge-memory 0 --threads 2");
    assert!(!explained().contains("what the probe found"), "{}", explained());
    must(&sandbox, &server, "probe s3://box/copy --bytes 300KiB --seconds 1 -q");
    assert!(explained().contains("what the probe found"), "{}", explained());
    must(&sandbox, &server, "remove s3://box/copy");
    assert!(server.paths().iter().all(|path| path.starts_with("box/a/graph/")));
}

#[test]
fn a_graph_that_was_copied_out_of_a_bucket_is_one_of_a_directory() {
    let (sandbox, server) = begin();
    for path in server.paths() {
        let name = path.strip_prefix("box/a/graph/").unwrap();
        let file = sandbox.path().join("down").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, server.get(&path).unwrap()).unwrap();
    }
    let expected = sandbox.must(&format!("run pagerank graph {RUN}"));
    for more in ["", FROM_STORAGE] {
        assert!(sandbox.must(&format!("run pagerank down {RUN} {more}")) == expected, "{more}");
    }
    let checked = sandbox.run("check down");
    assert!(checked.stdout.contains(": whole; 30,000 edges"), "{}", checked.stderr);
    assert!(!checked.stderr.contains("no part of the graph"), "{}", checked.stderr);
    sandbox.write("down/notes.txt", "mine");
    assert_ne!(sandbox.run("remove down").code, Some(0));
    fs::remove_file(sandbox.path().join("down/notes.txt")).unwrap();
    sandbox.must("remove down");
    assert!(!sandbox.files().contains(&"down".to_owned()));
}

/// Lists that were asked for, by what they begin behind.
fn lists(server: &BucketServer) -> Vec<Option<String>> {
    let requests = server.take_requests().into_iter();
    let lists = requests.filter(|request| request.query.contains_key("list-type"));
    lists.map(|request| request.query.get("start-after").cloned()).collect()
}

#[test]
fn a_graph_in_a_bucket_itself_lists_no_objects_of_others() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", crate::objects::text(100));
    for number in 0..20 {
        server.put(&format!("box/a/{number}"), "mine");
        server.put(&format!("box/gen/{number}"), "mine");
        server.put(&format!("box/z/{number}"), "mine");
    }
    for name in ["gen-0-notes.txt", "gen-0-mine/chunks", "gen-0-0123456789abcdef/notes.txt"] {
        server.put(&format!("box/{name}"), "mine");
    }
    let mine = server.paths();
    server.all_written_at("2020-01-01T00:00:00.000Z");
    let leave = || {
        for name in ["chunks", "edges-0", "edges-1", "ids"] {
            server.put(&format!("box/gen-0-0123456789abcdef/{name}"), "left");
        }
    };
    leave();
    // A page has three names: seven of those that begin so, and one of others behind them.
    must(&sandbox, &server, "ingest e.tsv -q -o s3://box");
    assert!(lists(&server).len() <= 3);
    must(&sandbox, &server, "check s3://box");
    leave();
    server.take_requests();
    must(&sandbox, &server, "remove s3://box");
    assert!(lists(&server).len() <= 3);
    assert_eq!(server.paths(), mine);
    // Where nothing is left, a page is all.
    for name in ["gen-0-notes.txt", "gen-0-mine/chunks", "gen-0-0123456789abcdef/notes.txt"] {
        server.remove(&format!("box/{name}"));
    }
    server.take_requests();
    must(&sandbox, &server, "ingest e.tsv -q -o s3://box");
    assert_eq!(lists(&server), [Some("gen-0-".to_owned())]);
    must(&sandbox, &server, "remove s3://box");
    assert_eq!(lists(&server), [Some("gen-0-".to_owned())]);
    assert_eq!(server.paths().len(), 60);
}
