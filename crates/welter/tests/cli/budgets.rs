//! Budgets that hold: the default in small control groups, the one that a refusal names, and memory
//! that no plan used to count.
//!
//! Every algorithm runs in groups of 64 to 256 MiB without `--memory`, on every kind of input, and
//! ends with an answer or with 78, never killed.

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use welter_testing::bucket::{BucketServer, Fault};

use crate::cgroup::{Group, skipped};
use crate::objects::{as_azure, as_google, command as bucket_command, refused};
use crate::sandbox::{Ended, Sandbox};

/// Every algorithm, with what it needs.
const ALGORITHMS: [&str; 16] = [
    "pagerank --iterations 3",
    "pagerank --weighted --iterations 3",
    "bfs --source 1",
    "sssp --source 1",
    "wcc",
    "scc",
    "mcst",
    "spmv",
    "hyperball --iterations 2",
    "cdlp --iterations 2",
    "kcore",
    "triangles",
    "lcc",
    "mis",
    "conductance",
    "bp --iterations 2",
];

/// One graph in every kind of input.
const INPUTS: [&str; 6] = ["g.u32f32", "g.tsv", "g.tsv.gz", "g.parquet", "g.arrow", "kept"];

/// Ratings, for `als`.
const RATINGS: &str = "als --iterations 1 ratings.tsv";

/// A graph of 2^scale vertices in every kind of input.
fn inputs(scale: u32) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.must(&format!("generate rmat {scale} --weights 255 -q -o g.u32f32"));
    for input in &INPUTS[1..5] {
        sandbox.must(&format!("convert g.u32f32 -q -o {input}"));
    }
    sandbox.must("ingest g.u32f32 -q -o kept");
    let ratings = (0..20_000_u64).fold(String::new(), |mut rows, row| {
        let _ = writeln!(rows, "{}\t{}\t{}", row % 997, 1000 + row * row % 751, row % 5 + 1);
        rows
    });
    sandbox.write("ratings.tsv", ratings);
    sandbox
}

/// Names by the thousand: `edges` rows between `names` of them.
fn names(edges: u64, names: u64) -> String {
    let name = |place: u64| place.wrapping_mul(0x9e37_79b9_7f4a_7c15) % names;
    (0..edges).fold(String::new(), |mut rows, row| {
        let _ = writeln!(rows, "n{:x}\tn{:x}", name(2 * row), name(2 * row + 1));
        rows
    })
}

/// All algorithms in a group of `mib` MiB, each on the next kind of input.
fn all_end_in(mib: u64) {
    let sandbox = inputs(14);
    sandbox.write("names.tsv", names(300_000, 200_000));
    let inputs: Vec<&str> = INPUTS.into_iter().chain(["names.tsv"]).collect();
    let lines = ALGORITHMS.iter().enumerate().map(|(number, algorithm)| {
        // Sources are numbers, and rows of names have no weights.
        let wants = algorithm.contains("--source") || algorithm.contains("weight");
        let kinds = if wants { &INPUTS[..] } else { &inputs[..] };
        format!("{algorithm} {}", kinds[(number + mib as usize) % kinds.len()])
    });
    for line in lines.chain([RATINGS.to_owned()]) {
        let group = match Group::new(mib << 20) {
            Ok(group) => group,
            Err(why) => return skipped(&why),
        };
        let ended = group.run(&sandbox.command(&format!("run {line} -q -o out.csv")));
        assert!(
            matches!(ended.code, Some(0 | 78)),
            "{line} in {mib} MiB: {:?} {}",
            ended.code,
            ended.stderr
        );
    }
}

#[test]
fn all_algorithms_end_in_groups_of_64_mib() {
    all_end_in(64);
}

#[test]
fn all_algorithms_end_in_groups_of_100_mib() {
    all_end_in(100);
}

#[test]
fn all_algorithms_end_in_groups_of_128_mib() {
    all_end_in(128);
}

#[test]
fn all_algorithms_end_in_groups_of_256_mib() {
    all_end_in(256);
}

#[test]
fn graphs_beyond_a_group_end_in_it() {
    let sandbox = inputs(17);
    sandbox.write("names.tsv", names(1_500_000, 1_000_000));
    for (mib, line) in [
        (24, "pagerank --iterations 2 g.u32f32"),
        (24, "wcc g.tsv"),
        (64, "pagerank --iterations 2 g.tsv.gz"),
        (64, "sssp --source 1 g.parquet"),
        (64, "kcore g.arrow"),
        (64, "wcc names.tsv"),
        (100, "pagerank --iterations 2 names.tsv"),
        (64, "spmv kept"),
    ] {
        let group = match Group::new(mib << 20) {
            Ok(group) => group,
            Err(why) => return skipped(&why),
        };
        let ended = group.run(&sandbox.command(&format!("run {line} -q --top 1")));
        assert!(matches!(ended.code, Some(0 | 78)), "{line} in {mib} MiB: {:?}", ended.code);
    }
}

/// The budget that a refusal names.
fn named(stderr: &str) -> &str {
    let (_, rest) = stderr.split_once("--memory ").unwrap_or_else(|| panic!("{stderr}"));
    rest.split_once(" or more").unwrap().0
}

#[test]
fn the_budget_that_a_refusal_names_is_enough() {
    let sandbox = inputs(14);
    sandbox.write("names.tsv", names(60_000, 50_000));
    for input in INPUTS.into_iter().chain(["names.tsv"]) {
        for algorithm in ["wcc", "pagerank --iterations 1", "kcore"] {
            let line = format!("run {algorithm} {input} -q --top 1");
            let refused = sandbox.run(&format!("{line} --memory 1MiB"));
            assert_eq!(refused.code, Some(78), "{line}: {}", refused.stderr);
            let budget = named(&refused.stderr);
            let ended = sandbox.run(&format!("{line} --memory {budget}"));
            assert_eq!(ended.code, Some(0), "{line} with {budget}: {}", ended.stderr);
        }
    }
}

/// The most anonymous memory that a command had, bytes.
fn anonymous_peak(sandbox: &Sandbox, line: &str) -> u64 {
    peak_of(sandbox.command(line), line)
}

fn peak_of(mut command: Command, line: &str) -> u64 {
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let field = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = field.and_then(|field| field.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) << 10);
        thread::sleep(Duration::from_millis(2));
    }
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{line}: {stderr}");
    peak
}

fn keeps(sandbox: &Sandbox, line: &str, mib: u64) {
    let line = format!("run {line} -q --top 1 --memory {mib}MiB");
    let peak = anonymous_peak(sandbox, &line);
    assert!(peak <= mib << 20, "{line}: {} MiB", peak >> 20);
}

#[test]
fn names_keep_their_budget() {
    let sandbox = Sandbox::new();
    sandbox.write("names.tsv", names(1_000_000, 1_000_000));
    keeps(&sandbox, "wcc names.tsv", 48);
    keeps(&sandbox, "pagerank --iterations 2 names.tsv", 80);
}

#[test]
fn every_kind_of_input_keeps_its_budget() {
    let sandbox = inputs(16);
    for input in INPUTS {
        keeps(&sandbox, &format!("pagerank --iterations 2 {input}"), 64);
    }
}

/// A bucket that keeps what it has.
struct Filled {
    sandbox: Sandbox,
    server: BucketServer,
}

impl Filled {
    fn with(inputs: &[&str]) -> Self {
        let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
        sandbox.must("generate rmat 18 --weights 255 -q -o g.u32f32");
        for input in inputs {
            if *input != "g.u32f32" {
                sandbox.must(&format!("convert g.u32f32 -q -o {input}"));
            }
            server.put(&format!("box/{input}"), sandbox.read(input));
        }
        Self { sandbox, server }
    }

    fn keeps(&self, line: &str, budget: &str, bytes: u64) {
        let line = format!("{line} --memory {budget}");
        let peak = peak_of(bucket_command(&self.sandbox, &self.server, &line), &line);
        assert!(peak <= bytes, "{line}: {} KiB", peak >> 10);
    }

    /// A budget that is refused names one that is enough, which is kept.
    fn keeps_what_is_named(&self, line: &str, refused_mib: u64) {
        let tried = format!("{line} --memory {refused_mib}MiB");
        let stderr = refused(&self.sandbox, &self.server, &tried, 78);
        let budget = named(&stderr);
        let mib: f64 = budget.strip_suffix("MiB").unwrap().parse().unwrap();
        self.keeps(line, budget, (mib * f64::from(1 << 20)) as u64);
    }
}

/// Bytes on their way are in the plan: 8 MiB a thread of raw records, and blocks of Parquet files,
/// were not.
#[test]
fn inputs_in_buckets_keep_their_budget() {
    let filled = Filled::with(&INPUTS[..4]);
    for (input, mib) in [("g.u32f32", 16), ("g.tsv", 24), ("g.tsv.gz", 24), ("g.parquet", 32)] {
        let line = format!("run wcc s3://box/{input} --threads 2 -q --top 1");
        filled.keeps(&line, &format!("{mib}MiB"), mib << 20);
    }
    // Stated requests are kept, and less memory than they take is refused.
    for input in ["g.u32f32", "g.tsv", "g.tsv.gz", "g.parquet"] {
        let line = format!("run wcc s3://box/{input} --threads 2 -q --top 1");
        filled.keeps_what_is_named(&format!("{line} --read-size 4MiB --in-flight 6"), 48);
    }
}

/// Requests of other clouds take no more than those of S3.
#[test]
fn inputs_at_other_clouds_keep_their_budget() {
    let Filled { sandbox, server } = Filled::with(&["g.tsv"]);
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    server.put("me/box/g.tsv", sandbox.read("g.tsv"));
    let (google, azure) = (as_google(&server), as_azure(&server));
    for (scheme, variables) in [("gs", &google[..]), ("az", &azure)] {
        let line = format!("run wcc {scheme}://box/g.tsv --threads 2 -q --top 1 --memory 24MiB");
        let mut command = bucket_command(&sandbox, &server, &line);
        command.envs(variables.iter().cloned());
        server.take_requests();
        let peak = peak_of(command, &line);
        assert!(peak <= 24 << 20, "{line}: {} KiB", peak >> 10);
        // All of it came from there.
        let requests = server.take_requests();
        assert!(requests.iter().any(|request| request.path.ends_with("box/g.tsv")), "{line}");
    }
}

/// One batch of two columns of 64-bit ids and a column of strings that is not read, 100 MB.
fn arrow(compression: Option<CompressionType>) -> Vec<u8> {
    let rows = 2_000_000_u64;
    let ids = |step: u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values((0..rows).map(|row| row * step % 65_521)))
    };
    let notes = StringArray::from_iter_values((0..rows).map(|row| format!("note {row:025}")));
    let columns: [(_, ArrayRef); 3] =
        [("source", ids(7)), ("target", ids(11)), ("note", Arc::new(notes))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer =
        FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Arrow batches are decoded by ranges of rows, wherever they lie; where they cannot be, they are
/// refused.
#[test]
fn arrow_files_of_one_batch_keep_their_budget() {
    let sandbox = Sandbox::new();
    sandbox.write("e.arrow", arrow(None));
    keeps(&sandbox, "wcc e.arrow --threads 2", 32);
    let server = BucketServer::start().unwrap();
    server.put("box/e.arrow", sandbox.read("e.arrow"));
    let filled = Filled { sandbox, server };
    filled.keeps("run wcc s3://box/e.arrow --threads 2 -q --top 1", "40MiB", 40 << 20);
    let Filled { sandbox, .. } = filled;
    sandbox.write("packed.arrow", arrow(Some(CompressionType::LZ4_FRAME)));
    keeps(&sandbox, "wcc packed.arrow --threads 2", 300);
    for line in ["packed.arrow --memory 64MiB", "--memory 64MiB - < e.arrow"] {
        let (line, piped) = line.split_once(" < ").map_or((line, None), |(it, of)| (it, Some(of)));
        let mut command = sandbox.command(&format!("run wcc {line}"));
        if let Some(name) = piped {
            command.stdin(fs::File::open(sandbox.path().join(name)).unwrap());
        }
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(78), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("a batch of 2000000 rows takes "), "{}", ended.stderr);
        assert!(ended.stderr.contains("write it with fewer rows a batch"), "{}", ended.stderr);
    }
}

/// Parts of objects on their way there are in the plan, as are requests of a run from there and
/// their connections.
#[test]
fn graphs_in_buckets_keep_their_budget() {
    let filled = Filled::with(&["g.u32f32"]);
    // Parts fill the memory that they may have.
    filled.server.fail(|request| {
        let is_part = request.query.contains_key("partNumber");
        is_part.then_some(Fault::Silent(Duration::from_millis(300)))
    });
    filled.keeps_what_is_named("ingest g.u32f32 -q -o s3://box/graph --threads 2", 64);
    for more in ["", "--read-size 16KiB --in-flight 64", "--read-size 4MiB --in-flight 2"] {
        let line = "run pagerank s3://box/graph --iterations 2 --threads 2 -q --top 1";
        filled.keeps_what_is_named(&format!("{line} {more}"), 1);
    }
    // State of vertices in checkpoints, results of more than a part, and edges on a disk in front,
    // which has them the second time.
    let cached = "--edge-cache part:4MiB --top 1";
    for more in [
        "--checkpoint s3://box/run --checkpoint-every 1 --top 1",
        "-o s3://box/ranks.csv --write-size 4MiB --in-flight 4",
        cached,
        cached,
    ] {
        let line = "run pagerank s3://box/graph --iterations 4 --threads 2 -q";
        filled.keeps_what_is_named(&format!("{line} {more}"), 1);
    }
}

#[test]
fn deep_graphs_keep_their_budget() {
    let sandbox = Sandbox::new();
    let bytes = |vertex: u32| [vertex, vertex + 1].into_iter().flat_map(u32::to_le_bytes);
    sandbox.write("path.u32", (0..400_000_u32).flat_map(bytes).collect::<Vec<u8>>());
    keeps(&sandbox, "bfs --source 0 path.u32", 64);
}

#[test]
fn searches_over_the_input_have_a_way_out() {
    let sandbox = Sandbox::new();
    let side = 300_u32;
    let edges = (0..side * side).flat_map(|at| {
        let right = (at % side + 1 < side).then_some([at, at + 1]);
        let below = (at + side < side * side).then_some([at, at + side]);
        [right, below].into_iter().flatten().flatten().flat_map(u32::to_le_bytes)
    });
    sandbox.write("grid.u32", edges.collect::<Vec<u8>>());
    let line = "bfs grid.u32 --source 0 --undirected";
    for tenths in 60..160 {
        let budget = format!("--memory {}.{}MiB", tenths / 10, tenths % 10);
        let shown = sandbox.run(&format!("explain {line} {budget}"));
        if shown.code != Some(0) || !shown.stdout.contains("scan of the input, a level") {
            assert!(matches!(shown.code, Some(0 | 78)), "{budget}: {}", shown.stderr);
            continue;
        }
        if !shown.stdout.contains("instead   fold") {
            assert!(shown.stdout.contains("passes    one a level, 64 at most"), "{}", shown.stdout);
            let ended = sandbox.run(&format!("run {line} {budget} -q --top 1"));
            assert_eq!(ended.code, Some(78), "{budget}: {}", ended.stderr);
            // A plan from a part of the input may be refused once all of it was read.
            if ended.stderr.contains("more than 64 passes") {
                return;
            }
        }
    }
}

#[test]
fn long_runs_out_of_core_say_so() {
    let sandbox = Sandbox::new();
    let bytes = |vertex: u32| [vertex, vertex + 1].into_iter().flat_map(u32::to_le_bytes);
    sandbox.write("path.u32", (0..400).flat_map(bytes).collect::<Vec<u8>>());
    sandbox.must("ingest path.u32 --undirected -o kept -q");
    // As many iterations as half the path is long.
    let stderr = |options: &str| sandbox.run(&format!("run kcore kept --top 1 {options}")).stderr;
    let note = stderr("--edge-memory 0");
    assert_eq!(note.matches("how many more will follow is not known").count(), 1);
    assert!(
        note.contains("note: 64 iterations took") && note.contains("; with --memory "),
        "{note}"
    );
    for other in ["", "--edge-memory 0 -q"] {
        assert!(!stderr(other).contains("will follow"), "{other}");
    }
    // Few are none that a user would wait for.
    let few = sandbox.run("run pagerank kept --iterations 100 --edge-memory 0 --top 1");
    assert!(!few.stderr.contains("will follow"), "{}", few.stderr);
}

#[test]
fn memory_that_the_system_refuses_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("names.tsv", names(60_000, 50_000));
    let under = |mib: u64, line: &str| {
        let script = format!("ulimit -v {}; exec \"$0\" {line}", mib << 10);
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_welter")]).current_dir(sandbox.path());
        Ended::of(command.env_remove("RUST_BACKTRACE").output().unwrap())
    };
    // Below that the system cannot even load the program.
    let loads = |mib: &u64| under(*mib, "--version").code == Some(0);
    let first = (16..512).step_by(4).find(loads).expect("a limit under which it is loaded");
    let mut refused = 0;
    for mib in (first..first + 64).step_by(4).chain([1 << 12]) {
        let ended = under(mib, "run wcc names.tsv --threads 2 --top 1 -q");
        let (code, stderr) = (ended.code, &ended.stderr);
        assert!(matches!(code, Some(0 | 74 | 78)), "{mib} MiB: {code:?} {stderr}");
        assert_eq!(code != Some(0), stderr.contains("error: "), "{mib} MiB: {code:?} {stderr}");
        refused += u32::from(code != Some(0));
    }
    assert!((1..17).contains(&refused), "{refused} of 17");
}

#[test]
fn threads_beyond_use_are_not_started() {
    let sandbox = inputs(12);
    let shown = sandbox.must("explain pagerank g.u32f32 --threads 1000");
    assert!(shown.contains("threads   16\n"), "{shown}");
    sandbox.must("run pagerank g.tsv --threads 1000 -q --top 1");
}
