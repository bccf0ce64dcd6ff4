//! Credentials of all kinds, as services of the clouds hand them out: a graph is kept in a bucket
//! and run from there by them, they are asked for again once they have expired, and no text and no
//! file shows one.
//!
//! Store and services are of this process. The store lets in what the services gave and nothing
//! else, and each service wants its proof. No service of a cloud was asked.

mod amazon;
mod azure;
mod google;

use std::fs;
use std::path::Path;
use std::time::Duration;

use welter_testing::bucket::{
    AUTHORITY, BucketServer, IdentityServer, Issued, SECRET, account_key,
};

use crate::objects::text;
use crate::sandbox::{Ended, Sandbox};

/// Beginnings of the names of variables by which a command would know other credentials, or other
/// certificates.
const BEGINNINGS: [&str; 6] = ["AWS_", "AZURE_", "GCE_", "GOOGLE_", "IDENTITY_", "SSL_CERT_"];

/// Whether a variable of the test must not reach a command.
fn is_foreign(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.ends_with("_PROXY") || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// A store, services that hand out credentials for it, and variables that name both.
struct Cloud {
    sandbox: Sandbox,
    server: BucketServer,
    services: IdentityServer,
    issued: Issued,
    /// URL of a bucket of the store, such as `s3://box`.
    bucket: &'static str,
    variables: Vec<(&'static str, String)>,
}

impl Cloud {
    /// A store that has a bucket of this URL, and services that speak TLS or not.
    fn new(bucket: &'static str, is_encrypted: bool) -> Self {
        let issued = Issued::default();
        let start =
            if is_encrypted { IdentityServer::start_encrypted } else { IdentityServer::start };
        let services = start(&issued).unwrap();
        let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
        server.believe(&issued);
        sandbox.write("e.tsv", text(3000));
        sandbox.must("run wcc e.tsv -q -o expected.csv");
        let usual = [("NO_PROXY", "127.0.0.1"), ("AWS_MAX_ATTEMPTS", "3")];
        let variables = usual.map(|(name, value)| (name, value.to_owned())).into();
        Self { sandbox, server, services, issued, bucket, variables }
    }

    /// As this one, with more variables.
    fn with<const N: usize>(mut self, more: [(&'static str, String); N]) -> Self {
        self.variables.extend(more);
        self
    }

    /// Writes a file that holds secrets, and returns its path.
    fn secret_file(&self, name: &str, text: &str) -> String {
        let name = format!("secret-{name}");
        self.sandbox.write(&name, text);
        self.path(&name)
    }

    /// Writes the certificate of the authority of services that speak TLS, and returns its path.
    fn authority(&self) -> String {
        self.sandbox.write("authority.pem", AUTHORITY);
        self.path("authority.pem")
    }

    fn path(&self, name: &str) -> String {
        self.sandbox.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a command, and looks for secrets in all that it says and writes. `BOX` is the bucket.
    fn run(&self, line: &str) -> Ended {
        let mut command = self.sandbox.command(&line.replace("BOX", self.bucket));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_foreign) {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.sandbox.path().join("secret-home"));
        command.envs(self.variables.iter().cloned());
        let ended = Ended::of(command.output().unwrap());
        let names = self.sandbox.files().into_iter().filter(|name| !name.starts_with("secret-"));
        let files =
            names.map(|name| String::from_utf8_lossy(&self.sandbox.read(&name)).into_owned());
        for shown in [ended.stdout.clone(), ended.stderr.clone()].into_iter().chain(files) {
            for secret in [SECRET, &account_key(), "PRIVATE KEY"] {
                assert!(!shown.contains(secret), "{line}: {secret} is in {shown}");
            }
        }
        ended
    }

    /// Standard error of a command that ends so.
    fn ends(&self, line: &str, code: i32) -> String {
        let ended = self.run(line);
        assert_eq!(ended.code, Some(code), "welter {line}\n{}", ended.stderr);
        ended.stderr
    }

    /// A command is refused with this code and message.
    fn refuses(&self, line: &str, code: i32, message: &str) {
        let stderr = self.ends(line, code);
        assert!(stderr.contains(message), "welter {line}\n{stderr}");
    }

    /// Runs the graph in the bucket, and says how many credentials its requests were let in with.
    fn run_there(&self) -> usize {
        self.issued.take_used();
        self.ends("run wcc BOX/graph -q -o r.csv --report r.json", 0);
        assert!(self.sandbox.read("r.csv") == self.sandbox.read("expected.csv"));
        assert!(self.server.take_requests().iter().all(|request| request.signed));
        self.issued.take_used()
    }

    /// Keeps a graph in the bucket and runs it from there; once the store takes back all that was
    /// handed out, a run ends and says so.
    fn is_let_in(&self) {
        self.ends("ingest e.tsv -q -o BOX/graph", 0);
        self.run_there();
        self.is_taken_back();
    }

    /// The first request of a run is let in, and no other one.
    fn is_taken_back(&self) {
        let issued = self.issued.clone();
        self.server.fail(move |_| {
            issued.withdraw();
            None
        });
        self.refuses("run wcc BOX/graph -q", 74, "the server answered 40");
        self.server.fail(|_| None);
    }

    /// As [`Cloud::is_let_in`], of credentials that a service hands out: it is asked again where
    /// they have expired and where it is busy, and told from the store where it hands out none.
    /// Returns what it was asked first.
    fn hands_out(&self) -> Vec<String> {
        self.ends("ingest e.tsv -q -o BOX/graph", 0);
        let requests = self.services.take_requests();
        let lasting = self.run_there();
        // Credentials that have expired when they come are those of one request each.
        self.services.lasting(Duration::ZERO);
        let expired = self.run_there();
        assert!(lasting >= 1 && expired > lasting, "{lasting} of {expired}");
        self.services.lasting(Duration::from_hours(1));
        self.services.refuse(1, 503);
        self.run_there();
        for (status, words) in [(403, "403 Forbidden"), (404, "404 Not Found")] {
            self.services.refuse(usize::MAX, status);
            let message = format!(
                ": no credentials were handed out (the identity service answered {words}); set \
                 the variables of the environment that say who you are"
            );
            for (line, code) in [
                ("run wcc BOX/graph -q", 74),
                ("run wcc BOX/e.tsv -q", 74),
                ("run wcc e.tsv -q -o BOX/r.csv", 73),
            ] {
                self.refuses(line, code, &message);
            }
        }
        self.services.refuse(0, 200);
        self.is_taken_back();
        requests
    }
}

/// Writes a file below a folder that is made for it.
fn write_below(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}
