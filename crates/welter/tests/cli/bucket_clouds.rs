//! Faults of buckets at Google and at Azure: answers of commands are the same, or they end with the
//! name of the object. S3 has these tests, and more, in `graphs` and `objects`.

use std::time::Duration;

use welter_testing::bucket::{BucketServer, Fault, Request};

use crate::graphs::object;
use crate::objects::{as_azure, as_google, command, text};
use crate::sandbox::{Ended, Sandbox};

/// A bucket of a cloud, in a store of its own, and edges beside it.
struct Cloud {
    sandbox: Sandbox,
    server: BucketServer,
    url: &'static str,
    /// Folder of the store that the bucket lies in.
    folder: &'static str,
}

impl Cloud {
    fn new(url: &'static str, folder: &'static str) -> Self {
        let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
        for bucket in ["box", "me"] {
            server.publish(bucket);
        }
        sandbox.write("e.tsv", text(30_000));
        sandbox.must("run pagerank e.tsv --iterations 3 -q -o expected.csv");
        server.put(&format!("{folder}/e.tsv"), sandbox.read("e.tsv"));
        Self { sandbox, server, url, folder }
    }

    fn ends(&self, line: &str, code: i32) -> String {
        let line = line.replace("BOX", self.url);
        let mut command = command(&self.sandbox, &self.server, &line);
        command.envs(as_google(&self.server)).envs(as_azure(&self.server));
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        ended.stderr
    }

    /// Runs a command whose result must be right.
    fn must(&self, line: &str) {
        self.ends(line, 0);
        assert!(self.sandbox.read("r.csv") == self.sandbox.read("expected.csv"), "{line}");
    }

    /// Runs a command while requests for the object of this path fail that `is` finds: first for a
    /// while, and then as long as it runs.
    fn suffers<F>(&self, line: &str, path: &str, is: F)
    where
        F: Fn(&Request) -> bool + Copy + Send + 'static,
    {
        let whole = self.server.get(path).unwrap();
        for fault in [Fault::Status(500), Fault::Cut, Fault::Late(Duration::from_millis(300))] {
            let mut left = 2;
            self.server.fail(move |request| {
                let hit = is(request) && left > 0;
                left -= i32::from(hit);
                hit.then(|| fault.clone())
            });
            self.must(line);
        }
        let other: Vec<u8> = whole.iter().map(|byte| byte ^ 1).collect();
        let name = format!("{}{}", self.url, path.strip_prefix(self.folder).unwrap());
        for (fault, message) in [
            (Fault::Status(500), "the server answered 500"),
            (Fault::Status(403), "access is denied"),
            (Fault::Short, "bytes from the server, found"),
            (Fault::Replaced(other), "was replaced while it was read"),
            (Fault::Removed, "was removed while it was read"),
        ] {
            self.server.put(path, whole.clone());
            self.server.fail(move |request| is(request).then(|| fault.clone()));
            let stderr = self.ends(line, 74);
            assert!(stderr.contains(&name) && stderr.contains(message), "{line}: {stderr}");
        }
        self.server.fail(|_| None);
        self.server.put(path, whole);
        self.must(line);
    }
}

/// Inputs and kept graphs whose requests fail behind the first ones, by which they are opened.
fn faults_end_a_command_or_make_no_difference(cloud: &Cloud) {
    let input = format!("{}/e.tsv", cloud.folder);
    let bytes = cloud.sandbox.read("e.tsv").len() as u64;
    let is_late = move |request: &Request| {
        let range = request.range.as_ref();
        request.path.ends_with("/e.tsv") && range.is_some_and(|range| range.end >= bytes)
    };
    cloud.suffers("run pagerank BOX/e.tsv --iterations 3 -q -o r.csv", &input, is_late);
    cloud.ends("ingest BOX/e.tsv -q -o BOX/graph", 0);
    let edges = object(&cloud.server, "edges-0");
    let run = "run pagerank BOX/graph --iterations 3 --edge-memory 0 -q -o r.csv";
    let is_read = |request: &Request| {
        let opens = request.range.as_ref().is_some_and(|range| *range == (0..1));
        request.path.ends_with("/edges-0") && !opens
    };
    cloud.suffers(run, &edges, is_read);
    let mut damaged = cloud.server.get(&edges).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 16;
    cloud.server.put(&edges, damaged);
    let stderr = cloud.ends(run, 70);
    assert!(stderr.contains("/edges-0: damaged"), "{stderr}");
}

#[test]
fn faults_of_google_end_a_command_or_make_no_difference() {
    faults_end_a_command_or_make_no_difference(&Cloud::new("gs://box", "box"));
}

#[test]
fn faults_of_azure_end_a_command_or_make_no_difference() {
    faults_end_a_command_or_make_no_difference(&Cloud::new("az://box", "me/box"));
}
