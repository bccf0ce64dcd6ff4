//! Kept graphs that are streamed in each iteration: from a device of a rate, from a bucket behind a
//! link, and with a disk before that bucket.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use welter_sim::figures::{Figure, Series};

use super::bucket::RemoteBucket;
use super::run::{BFS, Graph, Job, PAGERANK, UNCOMPRESSED, WCC};
use super::storage::{Storage, device as storage_of_rate};

const MB: u64 = 1_000_000;
/// Devices of these rates.
const DEVICES: [Storage; 2] =
    [storage_of_rate("200 MB/s", 200 * MB), storage_of_rate("500 MB/s", 500 * MB)];
const RATES: [f64; 2] = [200e6, 500e6];
/// Bytes of an edge as a raw pair, by which X-Stream kept it.
const RAW_BYTES: f64 = 8.0;
const JOBS: [Job; 3] = [PAGERANK, WCC, BFS];
/// Encodings of kept edges. Pairs are how X-Stream keeps them.
const WAYS: [(&str, &[&str]); 4] = [
    ("pairs", &["--encoding", "pairs", "--compression", "none"]),
    ("packed", &["--encoding", "packed", "--compression", "none"]),
    ("compressed", &["--encoding", "compressed", "--compression", "none"]),
    ("zstd", &["--encoding", "compressed", "--compression", "zstd"]),
];
/// Numbers of disks that a graph is kept on.
const DISKS: [usize; 3] = [1, 2, 4];
/// Shares of a graph that the disk before its bucket has room for, percent.
const PINNED: [u64; 5] = [0, 25, 50, 75, 100];

/// Shares of a device's rate that iterations read at, and edges by those of raw pairs.
pub(super) fn device(graph: &Graph) -> Result<Figure> {
    let mut shares = Vec::new();
    let mut gains = Vec::new();
    let mut of_pairs = None;
    for (way, options) in WAYS {
        let mut rows = vec![Vec::new(); JOBS.len()];
        let mut seconds = vec![Vec::new(); JOBS.len()];
        for (storage, rate) in DEVICES.into_iter().zip(RATES) {
            let volumes = graph.mount(storage, 1)?;
            let folder = volumes.folders().next().context("a volume")?.join("graph");
            graph.ingest(&folder.display().to_string(), options)?;
            for (place, job) in JOBS.into_iter().enumerate() {
                let streamed = graph.stream(job, &folder, &volumes)?;
                ensure!(streamed.seconds > 0.0, "{}: no phase that streams", job.name);
                rows[place].push(streamed.bytes / streamed.seconds / rate);
                seconds[place].push(streamed.seconds);
            }
        }
        let named = JOBS.iter().zip(rows);
        shares.extend(named.map(|(job, row)| Series::new(format!("{}, {way}", job.name), row)));
        let pairs = of_pairs.get_or_insert_with(|| seconds.clone());
        let gained = JOBS.iter().zip(seconds).zip(pairs).filter(|_| way != "pairs");
        for ((job, row), pairs) in gained {
            let gained = pairs.iter().zip(row).map(|(pairs, seconds)| pairs / seconds).collect();
            let name = format!("{}, {way}: times as fast as pairs", job.name);
            gains.push(Series::new(name, gained));
        }
    }
    shares.extend(gains);
    Ok(Figure {
        number: "device",
        title: "Kept graphs on one device, share of its rate in iterations",
        axis: "device",
        ticks: DEVICES.map(|storage| storage.name.to_owned()).into(),
        series: shares,
        paper: "Compression gains 12 to 30 % where storage is remote, and nothing beyond 150 MB/s.",
        notes: "The budget is 24 bytes a vertex (64 MiB at least), and no edge is in memory. The \
                last nine rows are the time of iterations on a graph that is kept as raw pairs of \
                8 bytes, over that of the others. A search reads chunks with an active source \
                alone, so its last iterations are short; the throttle of the kernel counts by \
                tenths of a second, and lets more pass where a run is short.",
    })
}

/// `PageRank` of a graph that is kept on several disks.
pub(super) fn disks(graph: &Graph) -> Result<Figure> {
    let mut seconds = Vec::new();
    let mut shares = Vec::new();
    for count in DISKS {
        let volumes = graph.mount(DEVICES[0], count)?;
        let folders: Vec<&Path> = volumes.folders().collect();
        let kept = folders[0].join("graph");
        let others = folders[1..].iter().map(|folder| folder.display().to_string());
        let options: Vec<String> = others.flat_map(|disk| ["--disk".to_owned(), disk]).collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        graph.ingest(&kept.display().to_string(), &[UNCOMPRESSED, &options].concat())?;
        let streamed = graph.stream(PAGERANK, &kept, &volumes)?;
        seconds.push(streamed.seconds / streamed.iterations);
        shares.push(streamed.bytes / streamed.seconds / (RATES[0] * count as f64));
    }
    Ok(Figure {
        number: "disks",
        title: "A graph kept on several disks of 200 MB/s, PageRank",
        axis: "disks",
        ticks: DISKS.map(|count| count.to_string()).into(),
        series: vec![
            Series::new("seconds an iteration", seconds),
            Series::new("share of the rates' sum", shares),
        ],
        paper: "Two local disks as RAID 0 gain about 50 %.",
        notes: "`welter ingest --disk`; no edge is in memory. The budget is that of `device`.",
    })
}

/// `PageRank` of a graph in a bucket behind a link: share of the link.
pub(super) fn link(graph: &Graph) -> Result<Figure> {
    let mut shares = Vec::new();
    let mut heads = Vec::new();
    let mut gains = Vec::new();
    for (_, options) in WAYS {
        let bucket = RemoteBucket::new()?;
        let bits = bucket.bits();
        graph.put(&bucket, "s3://box/graph", options)?;
        let streamed = graph.fetch(&bucket, "s3://box/graph", &[])?;
        // Iterations fetch more than was put, so this is the way from the bucket.
        heads.push(bucket.sent()? as f64 / streamed.bytes);
        shares.push(8.0 * streamed.bytes / streamed.seconds / bits);
        gains.push(streamed.edges / streamed.seconds / (bits / 8.0 / RAW_BYTES));
    }
    Ok(Figure {
        number: "link",
        title: "PageRank of a graph in a bucket behind 1 Gb/s and 5 ms",
        axis: "encoding",
        ticks: WAYS.map(|(way, _)| way.to_owned()).into(),
        series: vec![
            Series::new("bytes of chunks, share of the link", shares),
            Series::new("bytes on the link in all, by those of chunks", heads),
            Series::new("edges by those of raw pairs", gains),
        ],
        paper: "No object store in the paper.",
        notes: "The store lies in a namespace of its own behind a bucket filter of the kernel, and \
                answers 5 ms late. Shares are those of iterations, without heads of packets and \
                of answers.",
    })
}

/// `PageRank` of a graph in a bucket, with a disk before it that has room for a part.
pub(super) fn cache(graph: &Graph) -> Result<Figure> {
    let bucket = RemoteBucket::new()?;
    graph.put(&bucket, "s3://box/graph", UNCOMPRESSED)?;
    let bytes = graph.fetch(&bucket, "s3://box/graph", &[])?.graph_bytes;
    let mut seconds = Vec::new();
    let mut fetched = Vec::new();
    for percent in PINNED {
        let room = (bytes * percent as f64 / 100.0 * 1.05) as u64;
        let cache = format!("{}:{room}", graph.folder("cache").display());
        let options = ["--edge-cache", cache.as_str()];
        let options = if percent == 0 { &[][..] } else { &options[..] };
        // The first run fills it.
        for _ in 0..usize::from(percent > 0) {
            graph.fetch(&bucket, "s3://box/graph", options)?;
        }
        let streamed = graph.fetch(&bucket, "s3://box/graph", options)?;
        seconds.push(streamed.seconds / streamed.iterations);
        fetched.push(streamed.from_bucket / streamed.bytes);
    }
    Ok(Figure {
        number: "cache",
        title: "A disk before a bucket, PageRank, second run",
        axis: "room, % of the graph",
        ticks: PINNED.map(|percent| percent.to_string()).into(),
        series: vec![
            Series::new("seconds an iteration", seconds),
            Series::new("share of bytes from the bucket", fetched),
        ],
        paper: "No object store in the paper.",
        notes: "The bucket lies behind 1 Gb/s and 5 ms; the disk is as fast as it is. Groups that \
                are pinned lie at even distances, so disk and link work side by side.",
    })
}
