//! Inputs that are objects of a bucket: the answers are those of the files, and faults of the store
//! end a run as faults of files do.

use std::fmt::Write;
use std::process::Command;

use welter_testing::bucket::{BucketServer, Fault};

use crate::checkpoint::last;
use crate::interrupt::wait_until;
use crate::sandbox::{Ended, Sandbox};

/// The command, with the store in its environment.
pub(crate) fn command(sandbox: &Sandbox, server: &BucketServer, line: &str) -> Command {
    let mut command = sandbox.command(line);
    command.envs(server.environment());
    command
}

pub(crate) fn run(sandbox: &Sandbox, server: &BucketServer, line: &str) -> Ended {
    let ended = Ended::of(command(sandbox, server, line).output().unwrap());
    for shown in [&ended.stdout, &ended.stderr] {
        assert!(!shown.contains("very/secret") && !shown.contains("WELTERKEY"), "{shown}");
    }
    ended
}

pub(crate) fn must(sandbox: &Sandbox, server: &BucketServer, line: &str) -> String {
    let ended = run(sandbox, server, line);
    assert_eq!(ended.code, Some(0), "welter {line}\n{}", ended.stderr);
    ended.stdout
}

/// Standard error of a command that must fail.
pub(crate) fn refused(sandbox: &Sandbox, server: &BucketServer, line: &str, code: i32) -> String {
    let ended = run(sandbox, server, line);
    assert_eq!(ended.code, Some(code), "welter {line}\n{}", ended.stderr);
    ended.stderr
}

/// Variables by which a command takes the store for Google's. It answers in public buckets.
pub(crate) fn as_google(server: &BucketServer) -> [(&'static str, String); 2] {
    [("GOOGLE_BASE_URL", server.url()), ("GOOGLE_BEARER_TOKEN", "very-secret".to_owned())]
}

/// Variables by which a command takes the store for Azure's, where its buckets are folders of the
/// public bucket `me`.
pub(crate) fn as_azure(server: &BucketServer) -> [(&'static str, String); 3] {
    [
        ("AZURE_STORAGE_ENDPOINT", format!("{}/me", server.url())),
        ("AZURE_STORAGE_ACCOUNT_NAME", "me".to_owned()),
        ("AZURE_SKIP_SIGNATURE", "true".to_owned()),
    ]
}

/// Edges of a few hundred vertices.
pub(crate) fn text(edges: u64) -> String {
    (0..edges).fold(String::new(), |mut text, edge| {
        let _ = writeln!(text, "{}\t{}", edge * 7 % 331, edge * edge % 257);
        text
    })
}

#[test]
fn answers_are_those_of_the_files_in_every_format() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(30_000));
    let expected = sandbox.must("run pagerank e.tsv -o - --iterations 5");
    for name in ["e.csv.gz", "e.txt.zst", "e.parquet", "e.arrow", "e.u32", "e.u64"] {
        sandbox.must(&format!("convert e.tsv -o {name}"));
    }
    for name in ["e.tsv", "e.csv.gz", "e.txt.zst", "e.parquet", "e.arrow", "e.u32", "e.u64"] {
        server.put(&format!("box/in/{name}"), sandbox.read(name));
        let line = format!("run pagerank s3://box/in/{name} -o - --iterations 5");
        assert!(must(&sandbox, &server, &line) == expected, "{name}");
        let info = must(&sandbox, &server, &format!("info s3://box/in/{name}"));
        assert!(info.contains("30"), "{info}");
    }
    assert!(server.take_requests().iter().all(|request| request.signed));
    server.publish("box");
    let web = format!("run pagerank {}/box/in/e.csv.gz -o - --iterations 5", server.url());
    assert!(must(&sandbox, &server, &web) == expected);
    server.forget_tags();
    assert!(must(&sandbox, &server, &web) == expected);
    assert!(sandbox.files().iter().all(|name| name.starts_with("e.")));
}

#[test]
fn large_text_is_read_in_parts() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(900_000));
    server.put("box/e.tsv", sandbox.read("e.tsv"));
    let expected = sandbox.must("run spmv e.tsv --vector ones -o -");
    let found = must(&sandbox, &server, "run spmv s3://box/e.tsv --vector ones -o - --threads 3");
    assert!(found == expected);
}

#[test]
fn folders_and_patterns_are_their_objects() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    for (key, rows) in [
        ("out/part-0.csv", "0,1\n"),
        ("out/part-1.csv", "1,2\n"),
        ("out/_SUCCESS", ""),
        ("out/.part-0.csv.crc", "crc\u{1}"),
        ("years/year=1/a.csv", "0,1\n"),
        ("years/year=2/a.csv", "1,2\n"),
        ("odd/one/a.csv", "0,1\n"),
        ("empty/_SUCCESS", ""),
    ] {
        server.put(&format!("box/{key}"), rows);
    }
    let inputs = [
        "out/",
        "out/part-*",
        "out/part-[01].csv",
        "years/",
        "years/*/*.csv",
        "years/year=*",
        "y*/**",
    ];
    for input in inputs {
        let line = format!("convert 's3://box/{input}' -o - --output-format csv");
        assert_eq!(must(&sandbox, &server, &line), "source,target\n0,1\n1,2\n", "{input}");
    }
    for (input, code, message) in [
        ("s3://box/empty/", 66, "is a folder without objects"),
        ("s3://box/none/", 66, "is a folder without objects"),
        ("s3://box/out/*.tsv", 66, "no object matches this pattern"),
        ("s3://box/out", 66, "no such object; a folder is named with / at its end"),
        ("s3://box/odd/", 65, "is a directory inside of one"),
        ("s3://me:very@box/out/", 2, "expected a URL without a user and a password"),
        ("s3://", 2, "expected a bucket"),
    ] {
        let stderr = refused(&sandbox, &server, &format!("run wcc '{input}'"), code);
        assert!(stderr.contains(message), "{input}: {stderr}");
    }
    let web = format!("run wcc '{}/box/out/*.csv'", server.url());
    assert!(refused(&sandbox, &server, &web, 65).contains("name the files"));
}

#[test]
fn files_beside_an_object_are_read_too() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.put("box/g.e", "1 2\n2 3\n");
    server.put("box/g.v", "1\n2\n3\n4\n");
    let found = must(&sandbox, &server, "run wcc s3://box/g.e -o -");
    assert_eq!(found.lines().count(), 5, "{found}");
}

#[test]
fn faults_of_the_store_end_a_run_with_the_name() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(30_000));
    for name in ["e.csv.gz", "e.parquet", "e.arrow", "e.u32"] {
        sandbox.must(&format!("convert e.tsv -o {name}"));
    }
    for name in ["e.tsv", "e.csv.gz", "e.parquet", "e.arrow", "e.u32"] {
        let path = format!("box/{name}");
        server.put(&path, sandbox.read(name));
        let line = format!("run wcc s3://{path} -o out.csv");
        // The look at the beginning is let through: what follows fails.
        let bytes = sandbox.read(name).len() as u64;
        for (fault, code, message) in [
            (Fault::Status(500), 74, "the server answered 500"),
            (Fault::Replaced(text(9).into()), 74, "was replaced while it was read"),
            (Fault::Removed, 74, "was removed while it was read"),
        ] {
            server.put(&path, sandbox.read(name));
            let fault = fault.clone();
            server.fail(move |request| {
                let is_late = request.range.as_ref().is_some_and(|range| range.end >= bytes);
                is_late.then(|| fault.clone())
            });
            let stderr = refused(&sandbox, &server, &line, code);
            assert!(stderr.contains(&format!("s3://{path}: ")), "{name}: {stderr}");
            assert!(stderr.contains(message), "{name}: {stderr}");
            assert!(!sandbox.files().contains(&"out.csv".to_owned()));
            server.fail(|_| None);
        }
    }
}

#[test]
fn a_program_of_a_profile_hands_out_keys() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.put("box/e.tsv", text(500).into_bytes());
    let environment = server.environment();
    let value = |name: &str| &environment.iter().find(|(other, _)| other == name).unwrap().1;
    let [id, secret] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(value);
    let keys = format!(
        r#"{{"Version":1,"AccessKeyId":"{id}","SecretAccessKey":"{secret}","Expiration":null}}"#
    );
    sandbox.write("keys.json", keys);
    let run = |program: &str| {
        let program =
            program.replace("FILE", &sandbox.path().join("keys.json").display().to_string());
        sandbox.write("config", format!("[profile work]\ncredential_process = {program}\n"));
        let mut command = sandbox.command("run wcc s3://box/e.tsv -q -o -");
        let others = environment.iter().filter(|(name, _)| !name.contains("ACCESS_KEY"));
        command.envs(others.cloned());
        command.env("AWS_CONFIG_FILE", sandbox.path().join("config")).env("AWS_PROFILE", "work");
        Ended::of(command.output().unwrap())
    };
    let ended = run("cat FILE; echo x >> FILE.calls");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // Requests of a run share the keys.
    assert_eq!(sandbox.read("keys.json.calls"), b"x\n");
    for (program, code, word) in [
        ("cat FILE; exit 4", 74, "failed with exit code 4"),
        ("echo very/secret", 74, "writes something else"),
        ("sed s/:1/:2/ FILE", 74, "writes something else"),
        ("sed s/very/other/ FILE", 74, "access is denied"),
    ] {
        let Ended { stderr, code: found, .. } = run(program);
        assert!(found == Some(code) && stderr.contains(word), "{program}: {found:?} {stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
    }
}

#[test]
fn a_bundle_that_is_no_file_of_certificates_is_named() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    for url in ["s3://box/e.tsv", "https://127.0.0.1:1/e.tsv"] {
        let mut command = command(&sandbox, &server, &format!("run wcc {url} -q"));
        let ended = Ended::of(command.env("AWS_CA_BUNDLE", "none.pem").output().unwrap());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains("AWS_CA_BUNDLE"), "{}", ended.stderr);
    }
}

#[test]
fn a_wrong_secret_ends_a_command_before_it_begins() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(300));
    server.put("box/e.tsv", text(300));
    must(&sandbox, &server, "ingest e.tsv -q -o s3://box/graph");
    let before = server.paths();
    let message = "access is denied (the server answered 403 Forbidden SignatureDoesNotMatch); set \
                the variables of the environment that say who you are";
    for (line, code, name) in [
        ("run wcc s3://box/e.tsv", 74, "s3://box/e.tsv: "),
        ("run wcc 's3://box/*.tsv'", 74, "s3://box/"),
        ("run wcc s3://box/graph", 74, "s3://box/graph"),
        ("check s3://box/graph", 74, "s3://box/graph/manifest: "),
        ("run wcc e.tsv -o s3://box/r.csv", 73, "s3://box/r.csv: cannot create it: "),
        ("ingest e.tsv -q -o s3://box/new", 74, "s3://box/new/manifest: "),
        ("resume s3://box/run", 74, "s3://box/run/checkpoint: "),
    ] {
        let mut command = command(&sandbox, &server, line);
        command.env("AWS_SECRET_ACCESS_KEY", "other");
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        let names_it = ended.stderr.contains(name) && ended.stderr.contains(message);
        assert!(names_it && !ended.stderr.contains("other"), "{line}: {}", ended.stderr);
    }
    assert_eq!(server.paths(), before);
}

/// A run of which checkpoints are left.
fn left(sandbox: &Sandbox, server: &BucketServer) {
    let line = "run pagerank s3://box/e.tsv -o out.csv --iterations 400 --tolerance 0 \
                --checkpoint kept.run --checkpoint-every 1";
    let mut child = command(sandbox, server, line).spawn().unwrap();
    wait_until("checkpoints", || last(&sandbox.path().join("kept.run")) >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_run_resumes_only_with_the_object_that_it_began_with() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.put("box/e.tsv", text(3000));
    left(&sandbox, &server);
    must(&sandbox, &server, "resume kept.run -q");
    assert!(sandbox.files().contains(&"out.csv".to_owned()));
    left(&sandbox, &server);
    // Equal bytes of another object.
    server.put("box/e.tsv", text(3000));
    let stderr = refused(&sandbox, &server, "resume kept.run -q", 65);
    assert!(stderr.contains("s3://box/e.tsv: has changed since the run was begun"), "{stderr}");
}

#[test]
fn directories_of_this_machine_are_in_no_bucket() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.put("box/e.tsv", text(30));
    assert!(sandbox.files().is_empty());
    must(&sandbox, &server, "ingest s3://box/e.tsv -o kept -q");
    let report = "run wcc s3://box/e.tsv -o - --report report.json";
    let kept = sandbox.must("run wcc kept -o -");
    assert!(must(&sandbox, &server, report) == kept);
    let report = String::from_utf8(sandbox.read("report.json")).unwrap();
    assert!(report.contains("s3://box/e.tsv") && !report.contains("secret"));
}
