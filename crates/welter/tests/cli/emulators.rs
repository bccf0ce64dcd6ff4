//! Stores that others wrote: all that goes to and comes from a bucket, with signatures that are
//! verified.

use welter_testing::emulators::{Emulator, azure, s3};

use crate::objects::text;
use crate::sandbox::{Ended, Sandbox};

struct Stored {
    sandbox: Sandbox,
    store: Emulator,
}

impl Stored {
    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Ended {
        let line = line.replace("BOX", self.store.bucket);
        let mut command = self.sandbox.command(&line);
        command.envs(self.store.environment.iter().cloned()).envs(variables.iter().copied());
        let ended = Ended::of(command.output().unwrap());
        for shown in [&ended.stdout, &ended.stderr] {
            assert!(!shown.contains(&self.store.secret), "{shown}");
        }
        ended
    }

    fn ends(&self, line: &str, code: i32) -> String {
        let ended = self.run(line, &[]);
        assert_eq!(ended.code, Some(code), "welter {line}\n{}", ended.stderr);
        ended.stderr
    }
}

fn all_that_there_is(store: Option<Emulator>) {
    let Some(store) = store else { return };
    let at = Stored { sandbox: Sandbox::new(), store };
    let read = |name: &str| at.sandbox.read(name);
    at.sandbox.write("e.tsv", text(30_000));
    at.sandbox.must("run pagerank e.tsv --iterations 6 -q -o expected.csv");
    at.sandbox.must("run wcc e.tsv -q -o c.csv");
    // Edges and results go there and come back.
    for name in ["e.csv.gz", "e.parquet", "e.u32"] {
        at.ends(&format!("convert e.tsv -q -o BOX/in/{name}"), 0);
        at.ends(&format!("run pagerank BOX/in/{name} --iterations 6 -q -o r.csv"), 0);
        assert!(read("r.csv") == read("expected.csv"), "{name}");
    }
    at.ends("run wcc e.tsv -q -o BOX/out/c.csv --report BOX/out/c.json", 0);
    at.ends("convert BOX/out/c.csv -q -o back.csv", 0);
    at.sandbox.must("convert c.csv -q -o same.csv");
    assert!(read("back.csv") == read("same.csv"));
    // A graph is kept there, once, and run from there, with a disk in front.
    at.ends("ingest BOX/in/e.csv.gz -q -o BOX/graph", 0);
    let stderr = at.ends("ingest e.tsv -q -o BOX/graph", 73);
    assert!(stderr.contains("a graph is kept there already"), "{stderr}");
    at.ends("check BOX/graph", 0);
    for cache in ["", "--edge-cache disk:64MiB", "--edge-cache disk:64MiB"] {
        let line =
            format!("run pagerank BOX/graph --iterations 6 --edge-memory 0 -q -o r.csv {cache}");
        at.ends(&line, 0);
        assert!(read("r.csv") == read("expected.csv"), "{cache}");
    }
    // Checkpoints: the run ends because its result cannot be written, and continues.
    let line = "run pagerank BOX/graph --iterations 6 -q -o /dev/full --output-format csv \
                --checkpoint BOX/ck --checkpoint-every 2";
    at.ends(line, 74);
    at.ends(line, 73);
    at.ends("resume BOX/ck -q -o r.csv", 0);
    assert!(read("r.csv") == read("expected.csv"));
    at.ends("resume BOX/ck", 66);
    // Another key is found out.
    let wrong = [
        ("AWS_SECRET_ACCESS_KEY", "wrong"),
        ("AZURE_STORAGE_ACCOUNT_KEY", "d3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmctd3I="),
    ];
    let ended = at.run("run wcc BOX/in/e.csv.gz", &wrong);
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    assert!(ended.stderr.contains("access is denied"), "{}", ended.stderr);
}

#[test]
fn s3_by_moto_takes_and_gives_all_that_there_is() {
    all_that_there_is(s3());
}

#[test]
fn azure_by_azurite_takes_and_gives_all_that_there_is() {
    all_that_there_is(azure());
}

#[test]
fn azure_by_azurite_takes_a_signature_that_an_account_shares() {
    let Some(store) = azure() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("e.tsv", text(3000));
    sandbox.must("run wcc e.tsv -q -o expected.csv");
    let ends = |line: &str, minutes: i32, code: i32| {
        let mut command = sandbox.command(&line.replace("BOX", store.bucket));
        let shared = store.shared(minutes);
        assert!(shared.iter().all(|(_, value)| !value.contains(&store.secret)));
        let ended = Ended::of(command.envs(shared).output().unwrap());
        assert_eq!(ended.code, Some(code), "welter {line}\n{}", ended.stderr);
        assert!(!ended.stderr.contains("sig="), "{}", ended.stderr);
        ended.stderr
    };
    ends("ingest e.tsv -q -o BOX/shared", 30, 0);
    ends("run wcc BOX/shared -q -o r.csv", 30, 0);
    assert!(sandbox.read("r.csv") == sandbox.read("expected.csv"));
    let stderr = ends("run wcc BOX/shared -q", -30, 74);
    assert!(stderr.contains("access is denied (the server answered 403"), "{stderr}");
}
