//! Chunks that are compressed on storage: the same answers, in files that are smaller.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use welter_store::probe::{Probe, Rate};
use welter_testing::bucket::{BucketServer, Fault};

use crate::graphs::object;
use crate::objects::{must, run};
use crate::sandbox::Sandbox;

const COMPRESSIONS: [&str; 5] = ["none", "zstd", "lz4", "snappy", "zlib"];

/// Bytes of the chunks of a kept graph.
fn chunk_bytes(sandbox: &Sandbox, name: &str) -> u64 {
    fs::metadata(sandbox.path().join(name).join("gen-0/edges-0")).unwrap().len()
}

#[test]
fn every_compression_gives_the_same_bits() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    let program = "pagerank graph.tsv --iterations 4 -q -o -";
    let expected = sandbox.must(&format!("run {program}"));
    for encoding in ["packed", "short", "compressed", "pairs"] {
        for compression in COMPRESSIONS.into_iter().chain(["auto"]) {
            let more = format!("--edge-memory 0 --encoding {encoding} --compression {compression}");
            let found = sandbox.must(&format!("run {program} {more}"));
            assert!(found == expected, "{more}");
        }
    }
    let less = "--route spill --memory 64M --edge-memory 0 --compression zstd";
    let expected = sandbox.must("run wcc graph.tsv --method label-propagation -q -o -");
    assert!(
        expected
            == sandbox
                .must(&format!("run wcc graph.tsv --method label-propagation -q -o - {less}"))
    );
}

#[test]
fn graphs_are_kept_in_every_compression() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 14 -q -o graph.tsv");
    let run = |input: &str, more: &str| {
        sandbox.must(&format!("run pagerank {input} --iterations 3 -q -o - {more}"))
    };
    let expected = run("graph.tsv", "");
    for compression in COMPRESSIONS {
        let name = format!("kept-{compression}");
        let how = format!("--encoding packed --compression {compression}");
        sandbox.must(&format!("ingest graph.tsv -q -o {name} {how}"));
        sandbox.must(&format!("check {name} -q"));
        // In memory, and from storage.
        for more in ["", "--edge-memory 0", "--threads 1 --edge-memory 300KiB"] {
            assert!(run(&name, more) == expected, "{name} {more}");
        }
        // The edges themselves are read again.
        assert!(run(&name, "--undirected") == run("graph.tsv", "--undirected"), "{name}");
    }
    let [none, zstd, zlib] = ["none", "zstd", "zlib"].map(|name| {
        let name = format!("kept-{name}");
        chunk_bytes(&sandbox, &name)
    });
    assert!(zstd < none - none / 10 && zlib < none - none / 10, "{none}, {zstd}, {zlib}");
}

/// Updates one by one: destinations beside labels, most of which are alike after an iteration.
#[test]
fn updates_that_wait_on_storage_are_compressed() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 14 -q -o graph.u32");
    let line = "run wcc graph.u32 --method label-propagation --edge-memory 0 --route spill \
                --no-combine --no-fuse -q -o r.csv --report r.json";
    let run = |codec: &str| {
        sandbox.must(&format!("{line} --compression {codec}"));
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["plan"]["route"], "spill", "{codec}");
        (sandbox.read("r.csv"), report["storage"]["bytes_written"].as_u64().unwrap())
    };
    let (expected, none) = run("none");
    for codec in COMPRESSIONS.into_iter().filter(|codec| *codec != "none") {
        let (found, written) = run(codec);
        assert!(found == expected, "{codec}");
        assert!(written > 0 && written < none, "{codec}: {written}, {none}");
    }
}

#[test]
fn reports_and_plans_say_how_chunks_are_compressed() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 10 -q -o graph.tsv");
    let report = |more: &str| -> Value {
        sandbox.must(&format!("run pagerank graph.tsv -q -o out.csv --report out.json {more}"));
        serde_json::from_slice(&sandbox.read("out.json")).unwrap()
    };
    assert_eq!(report("--edge-memory 0 --compression zlib")["plan"]["compression"], "zlib");
    // In memory nothing is compressed.
    assert_eq!(report("--compression zlib")["plan"]["compression"], Value::Null);
    assert_eq!(report("--edge-memory 0")["plan"]["compression"], Value::Null);
    let plan = sandbox.must("explain pagerank graph.tsv --edge-memory 0 --compression lz4");
    assert!(plan.contains("lz4 on storage"), "{plan}");
    // Nothing is said: codecs are tried, but where they would take much of the budget.
    let explain = |budget: &str| {
        sandbox.must(&format!("explain pagerank graph.tsv --edge-memory 0 --memory {budget}"))
    };
    assert!(explain("1GiB").contains("compressed if that pays on storage"));
    assert!(!explain("24MiB").contains("if that pays"));
}

#[test]
fn forecasts_know_what_compression_saves_and_costs() {
    let sandbox = Sandbox::new();
    sandbox.write("prices", "disk_gb_month = 1000000\nmachine_hour = 0\n");
    let explain = |more: &str| {
        let line = "explain pagerank rmat:16 --edge-memory 0 --encoding compressed --price prices";
        sandbox.must(&format!("{line} {more}"))
    };
    let plain = explain("--compression none");
    assert!(!plain.contains(" of the bytes of edges"), "{plain}");
    for codec in ["zstd", "lz4", "snappy", "zlib"] {
        let plan = explain(&format!("--compression {codec}"));
        assert!(plan.contains(&format!("{codec}: ")), "{plan}");
        assert!(plan.contains(" of the bytes of edges") && plan.contains(" read an iteration"));
        assert!(plan.contains(&format!("measured here, a core: {codec} takes ")), "{plan}");
        assert!(plan.contains("\nprice     "), "{plan}");
    }
}

#[test]
fn a_slow_bucket_gets_compressed_chunks_however_fast_the_disk_is() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.slow_down(4_000_000);
    let ingest = |more: &str| {
        let line = format!("ingest rmat:17 --encoding packed -o s3://box/{more}");
        let ended = run(&sandbox, &server, &line);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stderr
    };
    let stderr = ingest("slow");
    assert!(
        stderr.contains("note: the bucket takes ") && stderr.contains("by a short look"),
        "{stderr}"
    );
    // The cores decide between the two codecs.
    assert!(stderr.contains("edges are compressed by z"), "{stderr}");
    let narrow = server.get(&object(&server, "edges-0")).unwrap().len();
    let checked = must(&sandbox, &server, "check s3://box/slow");
    assert!(checked.starts_with("s3://box/slow: whole; "), "{checked}");
    // The objects of the look are gone.
    let names = ["/manifest", "/edges-0", "/chunks", "/cuts", "/degrees", "/vertices"];
    let is_known = |path: &String| names.iter().any(|name| path.ends_with(name));
    assert!(server.paths().iter().all(is_known), "{:?}", server.paths());
    let folders: std::collections::BTreeSet<_> =
        server.paths().iter().map(|path| path.matches('/').count()).collect();
    assert_eq!(folders.len(), 2, "{:?}", server.paths());
    must(&sandbox, &server, "remove s3://box/slow");
    // A codec that is said is not looked for.
    let stderr = ingest("slow --compression none");
    assert!(!stderr.contains("the bucket takes"), "{stderr}");
    let none = server.get(&object(&server, "edges-0")).unwrap().len();
    assert!(narrow < none - none / 10, "{narrow}, {none}");
}

#[test]
fn a_look_at_the_disk_of_a_graph_chooses_its_codec_and_stays_with_it() {
    let sandbox = Sandbox::new();
    let explain =
        |name: &str| sandbox.must(&format!("explain pagerank {name} --edge-memory 0 --threads 2"));
    // A forecast takes no rate from a look that the page cache may have answered.
    fs::create_dir(sandbox.path().join("other")).unwrap();
    let probe = sandbox.must("probe other --bytes 64KiB --seconds 1 -q");
    let is_direct = probe.contains("past the page cache");
    let sizes = [("slow", 2_000_000_u64, "0.00"), ("fast", 20_000_000_000, "20.00")].map(
        |(name, rate, gigabytes)| {
            // More than the bytes of which the device makes a difference.
            let line = format!("ingest rmat:20 --encoding packed -q -o {name}");
            let mut command = sandbox.command(&line);
            let ended = command.env("WELTER_LOOK_RATE", rate.to_string()).output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
            assert!(sandbox.path().join(name).join("rates").is_file());
            let plan = explain(name);
            assert!(plan.contains(" an iteration, after a short look"), "{plan}");
            let reads = plan.contains(&format!("storage reads {gigabytes} GB/s"));
            assert!(reads || !is_direct, "{plan}");
            let framed = plan.contains(" bytes an edge, as the graph is kept: ");
            assert_eq!(framed, name == "slow", "{plan}");
            chunk_bytes(&sandbox, name)
        },
    );
    assert!(sizes[0] < sizes[1] - sizes[1] / 20, "{sizes:?}");
    let checked = sandbox.run("check fast");
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(!checked.stderr.contains("no part of the graph"), "{}", checked.stderr);
    // A probe of the graph takes the place of the look.
    sandbox.must("probe fast --bytes 2MiB --seconds 1 -q");
    assert!(explain("fast").contains(" an iteration, after what the probe found"));
    // Few bytes are not worth a look, and leave no rates.
    sandbox.must("ingest rmat:10 -q -o small");
    assert!(!sandbox.path().join("small/rates").exists());
}

/// MiB a second that a note says of a bucket.
fn given(stderr: &str) -> f64 {
    let text = stderr.split(" gives ").nth(1).and_then(|rest| rest.split(" MiB/s").next());
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{stderr}"))
}

#[test]
fn a_bucket_that_is_far_off_is_not_taken_for_a_slow_one() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    server.fail(|_| Some(Fault::Late(Duration::from_millis(90))));
    let ended = run(&sandbox, &server, "ingest rmat:18 --encoding packed -o s3://box/far");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // One request after another would be 2.8 MiB a second.
    assert!(given(&ended.stderr) > 8.0, "{}", ended.stderr);
    // Rates that are no such file are left.
    server.put("dam/.welter-rates", "none");
    let ended = run(&sandbox, &server, "ingest rmat:18 --encoding packed -o s3://dam/graph");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("by a short look"), "{}", ended.stderr);
}

#[test]
fn what_a_probe_kept_of_a_bucket_decides() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    for (folder, rate, codec) in
        [("fast", 20e9, "not compressed"), ("slow", 2e6, "compressed by z")]
    {
        let rate =
            Rate { request_bytes: 1 << 20, depth: 4, bytes_per_second: rate, processor_share: 0.1 };
        let probe = Probe { read: vec![rate], write: vec![rate], direct: true, ..Probe::default() };
        probe.keep_beside(&[sandbox.path().to_owned()]).unwrap();
        server.put(&format!("{folder}/.welter-rates"), sandbox.read(".welter-rates"));
        server.take_requests();
        let line =
            format!("ingest rmat:17 --encoding packed --compression auto -o s3://{folder}/a/graph");
        let ended = run(&sandbox, &server, &line);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let note = format!("by its probe: edges are {codec}");
        assert!(ended.stderr.contains(&note), "{}", ended.stderr);
        // Nothing is looked at then.
        let puts = |name: &str| {
            let all = server.take_requests().into_iter();
            all.filter(|it| it.method == "PUT" && it.path.ends_with(name)).count()
        };
        assert_eq!(puts("/edges-1"), 0);
        let plan = must(
            &sandbox,
            &server,
            &format!("explain pagerank s3://{folder}/a/graph --edge-memory 0"),
        );
        assert!(plan.contains("an iteration, after what the probe found"), "{plan}");
        // A disk in front that has a part of it changes nothing in that.
        let more = format!("s3://{folder}/a/graph --edge-memory 0 --edge-cache part:1MiB");
        let plan = must(&sandbox, &server, &format!("explain pagerank {more}"));
        assert!(plan.contains("an iteration, after what the probe found"), "{plan}");
    }
}
