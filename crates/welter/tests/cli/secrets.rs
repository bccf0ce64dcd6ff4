//! Secrets by which requests are made: no message and no file shows them, whatever a store answers.

use welter_testing::bucket::{BucketServer, Fault};

use crate::objects::{as_azure, as_google, command, text};
use crate::sandbox::{Ended, Sandbox};

/// Parts of the secrets, as requests have them.
const SECRETS: [&str; 5] =
    ["SharedSecret", "very-secret", "very/secret", "very%2Fsecret", "WELTERKEY"];

/// A signature that Azure lets its holder share. It is a part of each URL.
const SHARED: &str = "sv=2022-11-02&sr=c&sig=a%2FSharedSecret%3D";

/// Runs a command with secrets of all clouds, and looks for them in all that it leaves.
fn run(sandbox: &Sandbox, server: &BucketServer, line: &str) -> Ended {
    let mut command = command(sandbox, server, line);
    command.envs(as_google(server)).envs(as_azure(server)).env_remove("AZURE_SKIP_SIGNATURE");
    command.env("AZURE_STORAGE_SAS_TOKEN", SHARED).env("RUST_LOG", "trace");
    let ended = Ended::of(command.output().unwrap());
    let names = sandbox.files().into_iter();
    let files = names.map(|name| String::from_utf8_lossy(&sandbox.read(&name)).into_owned());
    let messages = [ended.stdout.clone(), ended.stderr.clone()];
    for text in messages.into_iter().chain(files) {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{line}: {secret} is in {text}");
        }
    }
    ended
}

#[test]
fn a_secret_that_a_store_repeats_is_not_shown() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(3000));
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    for path in ["box/e.tsv", "me/box/e.tsv"] {
        server.put(path, sandbox.read("e.tsv"));
    }
    for scheme in ["az", "gs", "s3"] {
        let at = format!("{scheme}://box");
        server.fail(|_| None);
        server.take_requests();
        let line = format!("run wcc {at}/e.tsv -q -o r.csv --report r.json");
        let ended = run(&sandbox, &server, &line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        if scheme == "az" {
            let requests = server.take_requests();
            let signatures = requests.iter().map(|request| request.query.get("sig"));
            let signatures: Vec<_> = signatures.map(Option::unwrap).collect();
            assert!(!signatures.is_empty(), "no request was made");
            assert!(signatures.iter().all(|it| *it == "a/SharedSecret="), "{signatures:?}");
        }
        for status in [400, 403] {
            server.fail(move |_| Some(Fault::Repeated(status)));
            for line in [
                line.clone(),
                format!("run wcc '{at}/*.tsv' -q"),
                format!("run wcc e.tsv -q -o {at}/r.csv"),
                format!("ingest e.tsv -q -o {at}/graph"),
                format!("check {at}/graph"),
                format!("resume {at}/ck"),
                format!("probe {at}/there --seconds 1 -q"),
            ] {
                let ended = run(&sandbox, &server, &line);
                assert!(matches!(ended.code, Some(73 | 74)), "{line}: {:?}", ended.code);
                let message = format!("the server answered {status}");
                assert!(ended.stderr.contains(&message), "{line}: {}", ended.stderr);
                assert!(ended.stderr.contains(&format!("{at}/")), "{line}: {}", ended.stderr);
            }
        }
    }
}
