//! Sizes and numbers of requests for inputs in buckets, stated or found by a probe, as the store
//! saw them.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use welter_store::probe::{Probe, Rate};
use welter_testing::bucket::{BucketServer, Fault};

use crate::objects::{must, text};
use crate::sandbox::Sandbox;

/// Formats that are read by parts, by one reader, by pages and by messages.
const NAMES: [&str; 5] = ["e.tsv", "e.csv.gz", "e.u32f32", "e.parquet", "e.arrow"];
/// Looks at what an input is have sizes of their own.
const LOOK_BYTES: u64 = 256 << 10;

fn begin(edges: u64) -> (Sandbox, BucketServer) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(edges));
    for name in NAMES {
        if name != "e.tsv" {
            sandbox.must(&format!("convert e.tsv -o {name} -q"));
        }
        server.put(&format!("box/{name}"), sandbox.read(name));
    }
    (sandbox, server)
}

fn bytes(range: &Range<u64>) -> u64 {
    range.end - range.start
}

#[test]
fn sizes_that_are_stated_are_those_of_requests_for_inputs() {
    let (sandbox, server) = begin(700_000);
    let expected = sandbox.must("run wcc e.tsv -q -o -");
    for name in NAMES {
        let all = sandbox.read(name).len() as u64;
        let read = |more: &str| {
            server.take_requests();
            let run = format!("run wcc s3://box/{name} -q -o - --threads 1 --report r.json {more}");
            assert!(must(&sandbox, &server, &run) == expected, "{name} {more}");
            let ranges: Vec<_> = server.take_requests().into_iter().map(|it| it.range).collect();
            let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
            (ranges.into_iter().flatten().collect::<Vec<_>>(), report["input"]["requests"].clone())
        };
        let (usual, figures) = read("");
        assert_eq!(
            (&figures["bytes"], &figures["in_flight"]),
            (&(8 << 20).into(), &4.into()),
            "{name}"
        );
        for (size, stated) in [("32KiB", 32 << 10), ("512KiB", 512 << 10)] {
            let (ranges, figures) = read(&format!("--read-size {size}"));
            let largest = ranges.iter().map(bytes).max().unwrap();
            assert!(largest <= stated.max(LOOK_BYTES), "{name} {size}: {largest}");
            let whole = ranges.iter().filter(|range| bytes(range) == stated).count() as u64;
            assert!(whole >= all / stated / 2, "{name} {size}: {whole} of {ranges:?}");
            let over = ranges.iter().filter(|range| bytes(range) > stated).count();
            assert!(over <= 8, "{name} {size}: {over}");
            // Nothing is fetched twice for that.
            let sum = |ranges: &[Range<u64>]| ranges.iter().map(bytes).sum::<u64>();
            let most = sum(&usual).max(all) + all / 4 + 4 * LOOK_BYTES;
            assert!(sum(&ranges) <= most, "{name} {size}");
            assert_eq!(figures["bytes"], stated, "{name}");
        }
    }
    let explain = "explain wcc s3://box/e.tsv --threads 1 --read-size 16KiB --in-flight 9";
    let plan = must(&sandbox, &server, explain);
    assert!(plan.contains(" 16.0 KiB a request for it at most, 9 at a time a reader"), "{plan}");
    assert!(!sandbox.must("explain wcc e.tsv").contains("a request for it"));
}

#[test]
fn numbers_that_are_stated_are_those_of_requests_for_inputs() {
    let (sandbox, server) = begin(1_400_000);
    for name in NAMES {
        let all = sandbox.read(name).len() as u64;
        for (number, more) in [(1, ""), (12, "--read-size 16KiB")] {
            server.take_most_at_once();
            // Others are begun meanwhile. Requests of a look at the beginning may be given up, and
            // are over at once.
            server.fail(move |request| {
                let is_read = request.range.as_ref().is_some_and(|range| range.start > all * 2 / 5);
                is_read.then_some(Fault::Silent(Duration::from_millis(20)))
            });
            let run = format!("run wcc s3://box/{name} -q --top 1 --threads 1");
            must(&sandbox, &server, &format!("{run} --in-flight {number} {more}"));
            let most = server.take_most_at_once();
            // Raw records are looked at in many places, and Arrow is read at the columns that are
            // wanted: requests for the rest are given up, and the store waits all the same.
            let slack = if ["e.u32f32", "e.arrow"].contains(&name) { number } else { 0 };
            // Pages of a Parquet file come one after another, and these are no larger than a block,
            // of which the usual one holds most of the file.
            let least =
                if name == "e.parquet" { (number - 1).min(1) } else { number - number / 10 };
            assert!((least..=number + slack).contains(&most), "{name} {number} {more}: {most}");
        }
    }
}

#[test]
fn what_a_probe_kept_beside_an_input_decides() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    // The smallest input that rates are looked for.
    let mut pairs = Vec::with_capacity(64 << 20);
    (0..16_u32 << 20).for_each(|end| pairs.extend((end % 997).to_le_bytes()));
    server.put("box/in/small.u32", pairs[..8 << 20].to_vec());
    server.put("box/in/large.u32", pairs);
    let rate = |request_bytes, depth, bytes_per_second| Rate {
        request_bytes,
        depth,
        bytes_per_second,
        processor_share: 0.1,
    };
    let read = vec![rate(256 << 10, 24, 400e6), rate(8 << 20, 4, 100e6)];
    let probe =
        Probe { write: vec![rate(8 << 20, 4, 100e6)], read, direct: true, ..Probe::default() };
    probe.keep_beside(&[sandbox.path().to_owned()]).unwrap();
    // Of the folder above.
    server.put("box/.welter-rates", sandbox.read(".welter-rates"));
    let run = |name: &str, more: &str| {
        server.take_requests();
        let line = format!("run wcc s3://box/in/{name} -q --top 1 --threads 2 --report r.json");
        must(&sandbox, &server, &format!("{line} {more}"));
        let requests = server.take_requests();
        let asked = requests.iter().filter(|it| it.path.ends_with("/.welter-rates")).count();
        let sizes = requests.iter().filter_map(|it| it.range.as_ref()).map(bytes);
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        let figures = report["input"]["requests"].clone();
        // Looks at what an input is have sizes of their own.
        (sizes.filter(|size| figures["bytes"] == *size).count(), asked > 0, figures)
    };
    let (count, asked, figures) = run("large.u32", "");
    assert!(count >= 240 && asked, "{count} {figures}");
    assert_eq!(figures, serde_json::json!({"bytes": 256 << 10, "in_flight": 12, "probed": true}));
    // No rates are looked for where sizes are stated, nor for a small input.
    let (count, asked, figures) = run("large.u32", "--read-size 1MiB");
    assert!(count >= 60 && !asked && figures["probed"] == false, "{count} {figures}");
    let (_, asked, figures) = run("small.u32", "");
    assert!(!asked && figures["probed"] == false, "{figures}");
    let explain = "explain wcc s3://box/in/large.u32 --threads 2";
    let plan = must(&sandbox, &server, explain);
    let words = "256 KiB a request for it at most, 12 at a time a reader, after what the probe";
    assert!(plan.contains(words), "{plan}");
    // Damage is said, and requests are the usual ones.
    let mut damaged = sandbox.read(".welter-rates");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    server.put("box/.welter-rates", damaged);
    let plan = must(&sandbox, &server, explain);
    assert!(plan.contains(" MiB a request for it at most, 4 at a time a reader\n"), "{plan}");
}
