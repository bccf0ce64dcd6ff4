//! Kept graphs in a bucket whose chunks take several objects, as those beyond 128 MiB do, and names
//! of graphs there.

use welter_testing::bucket::BucketServer;

use crate::objects::{command, must, refused, text};
use crate::sandbox::Sandbox;

#[test]
fn a_graph_may_lie_in_several_objects() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.must("ingest rmat:16 -q -o graph");
    let whole = sandbox.read("graph/gen-0/edges-0").len();
    let most = whole / 3;
    let ingest = command(&sandbox, &server, "ingest rmat:16 -q -o s3://box/b/graph")
        .env("WELTER_OBJECT_BYTES", most.to_string())
        .output()
        .unwrap();
    assert!(ingest.status.success(), "{}", String::from_utf8_lossy(&ingest.stderr));
    let paths = server.paths().into_iter().filter(|path| path.starts_with("box/b/"));
    let objects: Vec<usize> = paths
        .filter(|path| path.contains("/edges-"))
        .map(|path| server.get(&path).unwrap().len())
        .collect();
    // Extents are not cut, so that there may be more.
    assert!((3..=6).contains(&objects.len()), "{objects:?} of {whole}");
    assert!(objects.iter().all(|bytes| *bytes <= most), "{objects:?} of {most}");
    assert_eq!(objects.iter().sum::<usize>(), whole);
    for line in ["pagerank --iterations 5", "bfs --source 0", "wcc"] {
        for storage in ["", "--edge-memory 0 --threads 2"] {
            let of = |input: &str| {
                must(&sandbox, &server, &format!("run {line} {input} -q -o u.csv {storage}"));
                sandbox.read("u.csv")
            };
            assert!(of("s3://box/b/graph") == of("graph"), "{line} {storage}");
        }
    }
    must(&sandbox, &server, "check s3://box/b/graph");
    must(&sandbox, &server, "remove s3://box/b/graph");
    assert!(!server.paths().iter().any(|path| path.starts_with("box/b/")));
}

#[test]
fn a_bucket_itself_is_a_place_for_a_graph_and_names_of_files_are_none() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(2_000));
    let expected = sandbox.must("run wcc e.tsv -q -o -");
    must(&sandbox, &server, "ingest e.tsv -q -o s3://box");
    assert_eq!(must(&sandbox, &server, "run wcc s3://box -q -o -"), expected);
    must(&sandbox, &server, "check s3://box/");
    must(&sandbox, &server, "remove s3://box");
    assert_eq!(server.paths(), [""; 0]);
    for name in ["twitter.graph", "a/e.net", "e.csv.gz"] {
        let message = refused(&sandbox, &server, &format!("ingest e.tsv -o s3://box/{name}"), 2);
        assert!(message.contains("the name is that of a file"), "{message}");
    }
    assert_eq!(server.paths(), [""; 0]);
}
