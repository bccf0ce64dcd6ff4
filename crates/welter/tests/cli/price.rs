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
    // Ranks may settle before.
    let all = " for a run of 200 iterations at most, once the edges are there";
    assert!(price[2].ends_with(all), "{text}");
    assert_eq!(price[3].trim(), "by prices of 2026-11", "{text}");
    assert_eq!(price.len(), 4, "{text}");
    assert!(!sandbox.must("explain pagerank rmat:18 --edge-memory 0").contains("price"));
}

/// The number before a word in the line that ends so.
fn sum(text: &str, word: &str, end: &str) -> f64 {
    let line = text.lines().find(|line| line.ends_with(end));
    let line = line.unwrap_or_else(|| panic!("{end}: {text}"));
    let number = line.split(word).next().and_then(|front| front.split_whitespace().last());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{word}: {text}"))
}

/// Requests that an iteration pays for, of which one costs one.
fn requests_of_an_iteration(text: &str) -> f64 {
    let line = text.lines().find(|line| line.ends_with(") an iteration"));
    let (_, requests) = line.and_then(|line| line.rsplit_once("requests ")).unwrap();
    requests.split(')').next().unwrap().parse().unwrap()
}

#[test]
fn a_run_of_stated_iterations_costs_what_all_of_them_do() {
    let sandbox = Sandbox::new();
    sandbox.write("prices", TABLE);
    let explain = |job: &str| sandbox.must(&format!("explain {job} --price prices"));
    for (job, iterations) in [
        ("pagerank rmat:14 --iterations 10", 10.0),
        ("pagerank rmat:14 --iterations 10 --edge-memory 0", 10.0),
        ("spmv rmat:14 --iterations 3", 3.0),
        ("bp rmat:14 --iterations 7", 7.0),
    ] {
        let text = explain(job);
        let all = format!(" for a run of {iterations} iterations, once the edges are there");
        let of = |end: &str| sum(&text, " EUR ", end);
        let expected = of(") to bin and sort the edges") + iterations * of(") an iteration");
        let found = of(&all);
        assert!((found - expected).abs() < 0.01 * expected, "{found} {expected}: {text}");
    }
    for (job, end) in [
        ("cdlp rmat:12", "for a run of 10 iterations at most, once the edges are there\n"),
        ("hyperball rmat:12 --iterations 2", "for a run of 2 iterations at most, once"),
        ("wcc rmat:12 --route fold", "for a run of 1 iteration, once the edges are there\n"),
        ("sssp rmat:12 --source 0", "how many of these a run takes, and so its price, is not"),
        ("triangles rmat:12", ") each time that edges are read\n"),
    ] {
        let text = explain(job);
        assert!(text.contains(end) && text.contains("by prices of 2026-11\n"), "{job}: {text}");
    }
}

#[test]
fn reading_of_an_input_is_said_and_paid_where_it_comes_from_a_bucket() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("prices", TABLE);
    sandbox.must("generate rmat 12 -q -o edges.u32");
    sandbox.must("generate rmat 12 -q -o edges.csv");
    for name in ["edges.u32", "edges.csv"] {
        server.put(&format!("box/{name}"), sandbox.read(name));
    }
    let explain = |job: &str| must(&sandbox, &server, &format!("explain {job} --price prices"));
    let has_line = |text: &str, end: &str| text.lines().any(|line| line.trim().ends_with(end));
    let unknown = "3600.00 EUR an hour; how long it takes to read the input is not foreseen";
    // Raw records are read where they lie: for the vertices, and for the program.
    let here = explain("wcc edges.u32");
    assert!(has_line(&here, "about 1.00 MiB of it are read, in 2 passes"), "{here}");
    assert!(has_line(&here, unknown) && !here.contains("of requests for the input"), "{here}");
    let there = explain("wcc s3://box/edges.u32");
    let twice = "about 1.00 MiB of it are read, in 2 passes, by 2 requests or more";
    assert!(has_line(&there, twice), "{there}");
    assert!(has_line(&there, unknown) && there.contains("by prices of 2026-11\n"), "{there}");
    assert!(has_line(&there, "2 EUR of requests for the input, at least"), "{there}");
    // A graph is made in one pass, and text is parsed once, whatever follows.
    let made = explain("pagerank s3://box/edges.u32 --iterations 2");
    assert!(has_line(&made, "about 512 KiB of it are read, by 1 request or more"), "{made}");
    let all = sum(&made, " EUR ", " for a run of 2 iterations, once the edges are there");
    assert!((1.0..2.0).contains(&all), "{made}");
    let text = explain("wcc s3://box/edges.csv");
    assert!(has_line(&text, " of it are read, by 1 request or more"), "{text}");
    // Nothing is read of what is generated.
    assert!(!explain("wcc rmat:12").contains("of it are read"));
}

#[test]
fn edges_on_a_disk_in_front_of_a_bucket_cost_no_requests() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("prices", format!("{TABLE}machine_hour = 0\n"));
    must(&sandbox, &server, "ingest rmat:16 -q -o s3://box/graph");
    let job = "pagerank s3://box/graph --iterations 3 --edge-memory 0 --read-size 64KiB";
    let explain =
        |more: &str| must(&sandbox, &server, &format!("explain {job} --price prices {more}"));
    let [none, part, all] = ["", "--edge-cache part:600KiB", "--edge-cache all:64MiB"].map(explain);
    let [without, some, nothing] = [&none, &part, &all].map(|text| requests_of_an_iteration(text));
    assert!(without > 5.0 && (1.0..without).contains(&some), "{none}\n{part}");
    assert!(nothing < 1e-9, "{all}");
    assert!(all.contains("100 % of its edges have a place on the disk in front\n"), "{all}");
    assert!(part.contains(" % of its edges have a place") && !none.contains("have a place"));
    // All of them are asked for once.
    let run =
        |text: &str| sum(text, " EUR ", " for a run of 3 iterations, once the edges are there");
    assert!(run(&all) >= without && run(&all) < run(&part) && run(&part) < run(&none), "{all}");
    // And a run pays for requests that were made.
    let paid = || {
        let run = format!("run {job} --edge-cache disk:64MiB -q -o r.csv --price prices");
        must(&sandbox, &server, &format!("{run} --report r.json"));
        let report = report(&sandbox, "r.json");
        let of = |part: &str, name: &str| report[part][name].as_f64().unwrap();
        assert!((of("price", "requests") - of("objects", "reads")).abs() < 1e-6, "{report}");
        of("objects", "reads")
    };
    let (first, second) = (paid(), paid());
    assert!(second < first && second < without, "{first} {second}");
}

#[test]
fn tables_that_cannot_be_read_end_the_run_before_it_begins() {
    let sandbox = Sandbox::new();
    sandbox.write("wrong", "machine_hour = 1\nmachine_day = 2\n");
    for (table, code, message) in [
        ("wrong", 65, "error: wrong:2: no price is called \"machine_day\""),
        ("nowhere", 66, "error: nowhere: cannot read it"),
    ] {
        for command in ["run", "explain"] {
            let ended = sandbox.run(&format!("{command} pagerank rmat:10 --price {table}"));
            assert_eq!(ended.code, Some(code), "{}", ended.stderr);
            assert!(ended.stderr.starts_with(message), "{}", ended.stderr);
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
