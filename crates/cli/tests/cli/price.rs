//! `--price`: the money of a run, by a table of prices.

use serde_json::Value;
use welter_testing::bucket::BucketServer;

use crate::objects::{must, run};
use crate::sandbox::Sandbox;

const TABLE: &str = "\
date = 2026-11 # ours\n\
currency = EUR\n\
machine_hour = 3600\n\
disk_gb_month = 0\n\
object_gb_month = 0\n\
object_million_reads = 1000000\n\
object_million_writes = 0\n\
disk_million_reads = 0\n\
disk_million_writes = 0\n";

fn report(sandbox: &Sandbox, name: &str) -> Value {
    serde_json::from_slice(&sandbox.read(name)).unwrap()
}

#[test]
fn a_run_says_its_price_and_the_report_has_it() {
    let sandbox = Sandbox::new();
    sandbox.write("prices", TABLE);
    let ended = sandbox.run("run pagerank rmat:10 --iterations 2 --price prices --report r.json");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains(" EUR (the machine "), "{}", ended.stderr);
    assert!(ended.stderr.contains(", by prices of 2026-11"), "{}", ended.stderr);
    let report = report(&sandbox, "r.json");
    let of = |name: &str| report["price"][name].as_f64().unwrap();
    // Of all that the table has, the machine alone costs anything here.
    assert!(of("machine") > 0.0, "{report}");
    assert!((of("total") - of("machine")).abs() < 1e-12, "{report}");
    assert_eq!(report["price"]["currency"], "EUR");
    assert!(report.get("objects").is_none(), "{report}");
    sandbox.must("run pagerank rmat:10 --iterations 2 --price prices --report r.html -q");
    let page = String::from_utf8(sandbox.read("r.html")).unwrap();
    let row = page.lines().find(|line| line.starts_with("<tr><th>price</th>"));
    assert!(row.is_some_and(|row| row.contains(" EUR, by prices of 2026-11<")), "{row:?}");
    // Without prices nothing is said of money.
    let ended = sandbox.run("run pagerank rmat:10 --iterations 2 --report r.json");
    assert!(!ended.stderr.contains("by prices of"), "{}", ended.stderr);
    assert!(self::report(&sandbox, "r.json").get("price").is_none());
}

#[test]
fn requests_of_a_bucket_are_counted_and_paid() {
    let sandbox = Sandbox::new();
    let server = BucketServer::start().unwrap();
    sandbox.write("prices", TABLE);
    must(&sandbox, &server, "ingest rmat:14 -q -o s3://box/graph");
    let run = "run pagerank s3://box/graph --iterations 3 --edge-memory 0";
    let run = format!("{run} -q -o s3://box/ranks.csv --price prices --report r.json");
    must(&sandbox, &server, &run);
    let report = report(&sandbox, "r.json");
    let of = |part: &str, name: &str| report[part][name].as_f64().unwrap();
    assert!(of("objects", "reads") > 3.0 && of("objects", "writes") >= 1.0, "{report}");
    assert!(of("objects", "bytes_sent") > 10_000.0, "{report}");
    let chunks = of("graph", "chunk_bytes");
    assert!(of("objects", "bytes_received") > 2.0 * chunks, "{report}");
    // A read costs one.
    assert!((of("price", "requests") - of("objects", "reads")).abs() < 1e-6, "{report}");
}

#[test]
fn explain_says_the_price_of_an_iteration() {
    let sandbox = Sandbox::new();
    sandbox.write("prices", TABLE);
    let text = sandbox.must("explain pagerank rmat:18 --edge-memory 0 --price prices");
    let price = text.lines().skip_while(|line| !line.starts_with("price     ")).collect::<Vec<_>>();
    assert!(price[0].ends_with(" to bin and sort the edges"), "{text}");
    assert!(
        price[1].contains(" EUR (the machine ") && price[1].ends_with(" an iteration"),
        "{text}"
    );
    assert_eq!(price[2].trim(), "by prices of 2026-11", "{text}");
    assert_eq!(price.len(), 3, "{text}");
    assert!(!sandbox.must("explain pagerank rmat:18 --edge-memory 0").contains("price"));
}

#[test]
fn tables_that_cannot_be_read_end_the_run_before_it_begins() {
    let sandbox = Sandbox::new();
    sandbox.write("wrong", "machine_hour = 1\nmachine_day = 2\n");
    for (table, code, said) in [
        ("wrong", 65, "error: wrong:2: no price is called \"machine_day\""),
        ("nowhere", 66, "error: nowhere: cannot read it"),
    ] {
        for command in ["run", "explain"] {
            let ended = sandbox.run(&format!("{command} pagerank rmat:10 --price {table}"));
            assert_eq!(ended.code, Some(code), "{}", ended.stderr);
            assert!(ended.stderr.starts_with(said), "{}", ended.stderr);
        }
    }
}

#[test]
fn a_run_on_machines_costs_what_all_of_them_do() {
    let sandbox = Sandbox::new();
    let server = BucketServer::start().unwrap();
    sandbox.write("prices", TABLE);
    sandbox.must("generate rmat 10 -o edges.csv");
    server.put("box/edges.csv", sandbox.read("edges.csv"));
    let report_of = |name: &str, input: &str| {
        let line = format!("run pagerank {input} --iterations 2 --cluster local:2 --price prices");
        let ended = run(&sandbox, &server, &format!("{line} -o ranks.csv --report {name}.json"));
        assert!(ended.stderr.contains(" EUR (2 machines "), "{}", ended.stderr);
        report(&sandbox, &format!("{name}.json"))
    };
    let of = |report: &Value, part: &str, name: &str| report[part][name].as_f64().unwrap();
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6 * expected);
    let here = report_of("here", "edges.csv");
    assert!(here.get("objects").is_none(), "{here}");
    // A second of a machine costs one, and so time passed until the report at the latest.
    let (machines, seconds) = (of(&here, "price", "machine"), here["seconds"].as_f64().unwrap());
    assert!(machines > 0.0 && machines <= 2.0 * (seconds + 1.0), "{here}");
    // Both machines, and the command, look at the object.
    let there = report_of("there", "s3://box/edges.csv");
    assert!(of(&there, "objects", "reads") >= 3.0, "{there}");
    near(of(&there, "price", "requests"), of(&there, "objects", "reads"));
    let size = sandbox.read("edges.csv").len() as f64;
    assert!(of(&there, "objects", "bytes_received") >= 3.0 * size, "{there}");
    // Disks by requests, and bytes of edges.
    sandbox.write("disks", "machine_hour = 0\ndisk_gb_month = 0\ndisk_million_reads = 1000000\n");
    let line = "run pagerank edges.csv --iterations 2 --cluster local:2 --price disks";
    for route in ["fold", "spill"] {
        sandbox.must(&format!("{line} --route {route} -o ranks.csv --report disks.json"));
        let disks = report(&sandbox, "disks.json");
        let machines = disks["cluster"]["machines"].as_array().unwrap();
        let reads: f64 = machines.iter().map(|it| it["reads"].as_f64().unwrap()).sum();
        assert!(reads > 2.0, "{disks}");
        near(of(&disks, "price", "total"), reads);
        assert!(disks["cluster"]["bytes_per_edge"].as_f64().unwrap() > 1.0, "{disks}");
    }
    // No time of clusters is foreseen, which a plan says.
    let text = sandbox.must("explain pagerank edges.csv --cluster local:2 --price prices");
    assert!(text.contains("price     not foreseen"), "{text}");
}
