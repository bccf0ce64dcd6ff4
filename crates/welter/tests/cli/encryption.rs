//! Stores that speak TLS: a command believes one whose authority it is told, and no other.

use std::process::Command;

use welter_testing::bucket::{AUTHORITY, BucketServer};

use crate::objects::text;
use crate::sandbox::{Ended, Sandbox};

/// Variables by which a user names files of certificates.
const VARIABLES: [&str; 3] = ["AWS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The command, with the store in its environment, and with no certificates but the system's.
fn command(sandbox: &Sandbox, server: &BucketServer, line: &str) -> Command {
    let mut command = crate::objects::command(sandbox, server, line);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.env("NO_PROXY", "127.0.0.1,localhost");
    command
}

/// Edges there and here, their components, and the authority of the store.
fn begin() -> (Sandbox, BucketServer) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start_encrypted().unwrap());
    server.publish("box");
    sandbox.write("authority.pem", AUTHORITY);
    sandbox.write("e.tsv", text(30_000));
    server.put("box/e.tsv", sandbox.read("e.tsv"));
    sandbox.must("run wcc e.tsv -q -o expected.csv");
    (sandbox, server)
}

#[test]
fn a_store_is_believed_where_its_authority_is() {
    let (sandbox, server) = begin();
    assert!(server.url().starts_with("https://127.0.0.1:"));
    let web = format!("{}/box/e.tsv", server.url());
    for variable in &VARIABLES[..2] {
        let must = |line: &str| {
            let mut command = command(&sandbox, &server, line);
            let ended = Ended::of(command.env(variable, "authority.pem").output().unwrap());
            assert_eq!(ended.code, Some(0), "{variable}: {line}: {}", ended.stderr);
        };
        must("ingest s3://box/e.tsv -q -o s3://box/graph");
        for input in ["s3://box/e.tsv", "s3://box/graph", &*web] {
            must(&format!("run wcc {input} -q -o r.csv"));
            assert!(sandbox.read("r.csv") == sandbox.read("expected.csv"), "{variable}: {input}");
        }
        must("run wcc s3://box/graph -q -o s3://box/r.csv");
        assert!(server.get("box/r.csv").unwrap() == sandbox.read("expected.csv"));
        must("remove s3://box/graph");
        server.remove("box/r.csv");
    }
    assert_eq!(server.paths(), ["box/e.tsv"]);
}

#[test]
fn a_store_that_no_authority_vouches_for_is_named() {
    let (sandbox, server) = begin();
    let refused = |line: &str, code: i32, name: &str, certificates: Option<&str>| {
        let mut command = command(&sandbox, &server, line);
        command.envs(certificates.map(|file| ("AWS_CA_BUNDLE", file)));
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        let message = "the certificate of the server is not trusted by this system";
        let names_it = ended.stderr.contains(name) && ended.stderr.contains(message);
        assert!(names_it, "{line}: {}", ended.stderr);
    };
    let web = format!("{}/box/e.tsv", server.url());
    for (line, code, name) in [
        ("run wcc s3://box/e.tsv -q -o r.csv", 74, "s3://box/e.tsv: "),
        (&*format!("run wcc {web} -q -o r.csv"), 74, &*format!("{web}: ")),
        ("run wcc e.tsv -q -o s3://box/r.csv", 73, "s3://box/r.csv: "),
        ("ingest e.tsv -q -o s3://box/graph", 74, "s3://box/graph/manifest: "),
    ] {
        refused(line, code, name, None);
    }
    // The certificate is of another name.
    let other = web.replace("127.0.0.1", "localhost");
    let line = format!("run wcc {other} -q -o r.csv");
    refused(&line, 74, &format!("{other}: "), Some("authority.pem"));
    // No request came through.
    assert!(server.take_requests().is_empty());
    assert_eq!(sandbox.files(), ["authority.pem", "e.tsv", "expected.csv"]);
}
