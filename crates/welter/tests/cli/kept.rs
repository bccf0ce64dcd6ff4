//! Graphs that are kept: `ingest`, `check`, and what other commands make of one.

use std::fs;
use std::path::Path;
use std::process::Command;

use welter_store::ChunkBuilder;
use welter_store::chunk::Chunk;

use crate::sandbox::{Sandbox, example};

/// A table as a file, of a run on this input.
fn table(sandbox: &Sandbox, run: &str, input: &str, options: &str) -> Vec<u8> {
    sandbox.must(&format!("run {run} {input} -q -o out.csv {options}"));
    sandbox.read("out.csv")
}

#[test]
fn a_kept_graph_gives_the_same_files() {
    let sandbox = Sandbox::new();
    let input = example();
    let ended = sandbox.run(&format!("ingest {input} -o deb"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("deb: 59,445 vertices, 264,196 edges, "), "{}", ended.stderr);
    for (run, options) in [
        ("pagerank", "--iterations 5"),
        ("pagerank", "--precision f32 --iterations 3 --memory 30MiB"),
        ("pagerank", "--iterations 3 --undirected --drop-duplicates"),
        ("bfs", "--source libc6 --direction in"),
        ("bfs", "--source zzuf --parents --index csr"),
        ("sssp", "--source zzuf --direction both"),
        ("wcc", ""),
        ("wcc", "--method label-propagation"),
        ("scc", ""),
        ("spmv", "--drop-duplicates=sum --drop-self-loops"),
    ] {
        let [kept, read] = ["deb", &input].map(|input| table(&sandbox, run, input, options));
        assert!(kept == read, "{run} {options}");
    }
    assert_eq!(sandbox.files(), ["deb", "out.csv"]);
    let checked = sandbox.must("check deb");
    assert!(checked.starts_with("deb: whole; 264,196 edges, "), "{checked}");
    assert_eq!(sandbox.must("check deb -q"), "");
}

#[test]
fn undirected_and_weighted_graphs_are_kept_as_such() {
    let sandbox = Sandbox::new();
    sandbox.write("road.csv", "from,to,weight\n5,7,2.5\n7,9,1\n9,9,4\n5,7,0.5\n");
    sandbox.must("ingest road.csv --undirected -q -o road");
    for (run, options) in [
        ("sssp", "--source 9"),
        ("sssp", "--source 9 --no-weights"),
        ("spmv", "--vector random --drop-self-loops"),
        ("bfs", "--source 9 --direction in"),
        ("wcc", ""),
    ] {
        let kept = table(&sandbox, run, "road", options);
        let read = table(&sandbox, run, "road.csv", &format!("{options} --undirected"));
        // Ways of reading that contradict each other are no test.
        assert!(kept == read, "{run} {options}");
    }
    let info = |input: &str| {
        let text = sandbox.must(&format!("info {input} -q"));
        let of_file = |line: &&str| !line.starts_with("read as");
        text.lines().skip(1).filter(of_file).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(info("road"), info("road.csv --undirected"));
    sandbox.must("convert road -q -o back.csv");
    let back = String::from_utf8(sandbox.read("back.csv")).unwrap();
    assert_eq!(back, "source,target,weight\n5,7,2.5\n5,7,0.5\n7,9,1\n9,9,4\n");
    let ended = sandbox.run("run pagerank road --directed");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let ended = sandbox.run("run sssp road --source 5 --weight weight");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let ended = sandbox.run("run pagerank road road.csv");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let ended = sandbox.run("run pagerank road --vertices 100");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

#[test]
fn weights_below_zero_are_refused_where_nothing_shorter_may_come() {
    let sandbox = Sandbox::new();
    sandbox.write("debts.csv", "from,to,weight\n1,2,-3\n2,1,1\n");
    sandbox.must("ingest debts.csv -q -o debts");
    let ended = sandbox.run("run sssp debts --source 1");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    assert!(ended.stderr.contains("debts: expected weights that are not negative"));
    assert!(sandbox.must("run spmv debts -q --top 5").contains("-3"));
}

#[test]
fn what_is_wrong_is_said_with_its_code() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.tsv", "1\t2\n2\t3\n");
    sandbox.must("ingest graph.tsv -q -o graph");
    for (line, code, message) in [
        ("ingest graph.tsv -o graph", 73, "error: graph: is there already, and is not replaced"),
        ("ingest graph.tsv -o graph.tsv", 73, "error: graph.tsv: is there already"),
        ("ingest graph.tsv -o no/where", 73, "error: no/where: cannot create it"),
        ("ingest nothing.tsv -o other", 66, "error: nothing.tsv"),
        ("ingest graph.tsv -o other --memory 1KiB", 78, "error: this run needs"),
        ("check other", 66, "error: other: there is no such directory"),
        ("check .", 66, "error: .: no graph is kept here"),
        ("run pagerank graph --memory 1KiB", 78, "error: this run needs"),
        ("run bfs graph --source 9", 65, "error: --source 9: the graph has no vertex of this id"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.starts_with(message), "{line}: {}", ended.stderr);
    }
    assert_eq!(sandbox.files(), ["graph", "graph.tsv"]);
    let mut bytes = sandbox.read("graph/gen-0/edges-0");
    bytes[130] ^= 4;
    sandbox.write("graph/gen-0/edges-0", &bytes);
    for line in ["check graph", "run pagerank graph", "convert graph", "info graph"] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(70), "{line}: {}", ended.stderr);
        let message = "graph/gen-0/edges-0: damaged at offset 0";
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_plan_and_its_least_budget_are_told() {
    let sandbox = Sandbox::new();
    sandbox.must("ingest rmat:16 -q -o graph --threads 2");
    let plan = sandbox.must("explain pagerank graph --precision f32 --threads 2");
    assert!(plan.contains("input     graph, kept\n"), "{plan}");
    assert!(plan.contains("1,048,576 edges\n"), "{plan}");
    assert!(plan.contains(" an iteration at most") && !plan.contains(" bin"), "{plan}");
    let plan = sandbox.must("explain pagerank graph --precision f32 --threads 2 --memory 18MiB");
    assert!(plan.contains("edges on storage"), "{plan}");
}

/// A file system of `kilobytes` KiB, unmounted when it is dropped; `None` where that is not
/// allowed.
pub(crate) struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    pub(crate) fn mount(at: &'a Path, kilobytes: u32) -> Option<Self> {
        let size = format!("size={kilobytes}k");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(at).output();
        mount.is_ok_and(|mount| mount.status.success()).then_some(Self(at))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

#[test]
fn a_full_disk_is_told_before_and_nothing_is_left() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("small");
    fs::create_dir(&at).unwrap();
    let Some(_mounted) = Small::mount(&at, 2048) else {
        assert!(
            !std::env::var("WELTER_REQUIRE")
                .is_ok_and(|all| all.split(',').any(|it| it == "mount")),
            "WELTER_REQUIRE asks for mounts"
        );
        eprintln!("SKIPPED: nobody lets this test mount a small file system");
        return;
    };
    let ended = sandbox.run("ingest rmat:17 -o small/graph");
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    assert!(fs::read_dir(&at).unwrap().next().is_none());
}

#[test]
fn room_for_what_waits_is_asked_for_before_anything_is_read() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("small");
    fs::create_dir(&at).unwrap();
    sandbox.must("generate rmat 16 -q -o graph.tsv");
    sandbox.must("ingest graph.tsv -q -o graph");
    let mut text = sandbox.read("graph.tsv");
    text.extend(b"no edge\n");
    sandbox.write("odd.tsv", text);
    let run = |input: &str, route: &str| {
        let options = "--iterations 2 --threads 2 --scratch small -q -o r.csv";
        let ended = sandbox.run(&format!("run pagerank {input} --route {route} {options}"));
        assert!(fs::read_dir(&at).unwrap().next().is_none());
        (ended.code, ended.stderr)
    };
    let Some(mounted) = Small::mount(&at, 12 << 10) else {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|it| it != "mount"), "WELTER_REQUIRE asks for mounts");
        eprintln!("SKIPPED: nobody lets this test mount a small file system");
        return;
    };
    // Chunks, values and signals fit, updates do not.
    assert_eq!(run("odd.tsv", "ranges").0, Some(65));
    for input in ["graph.tsv", "graph"] {
        assert_eq!(run(input, "ranges"), (Some(0), String::new()));
    }
    for input in ["odd.tsv", "graph.tsv", "graph"] {
        let (code, stderr) = run(input, "spill --no-combine --no-fuse");
        assert!(code == Some(74) && stderr.starts_with("error: this run may need "), "{stderr}");
    }
    let plan =
        sandbox.must("explain pagerank graph --threads 2 --route spill --no-combine --no-fuse");
    assert!(plan.contains("updates that wait"), "{plan}");
    drop(mounted);
    let Some(_mounted) = Small::mount(&at, 1 << 10) else { return };
    let (code, stderr) = run("graph", "ranges");
    assert!(code == Some(74) && stderr.starts_with("error: this run may need "), "{stderr}");
    assert_eq!(sandbox.files(), ["graph", "graph.tsv", "odd.tsv", "r.csv", "small"]);
}

/// Makes the one chunk of a kept graph of some edges, one tile, hold others, as a forger would who
/// sums them too.
fn forge(edges_file: &Path, edges: &[[u32; 2]]) {
    let mut bytes = fs::read(edges_file).unwrap();
    let chunk = Chunk::open(&bytes).unwrap();
    let label = *chunk.label();
    assert_eq!((chunk.tile_count(), chunk.edges()), (1, edges.len() as u64));
    let first = chunk.tiles().next().unwrap().source as u32;
    let key = |[source, target]: &[u32; 2]| (source - first) << label.target_bits | target;
    let (mut builder, mut forged) = (ChunkBuilder::new(false), Vec::new());
    let source = first - label.source_base as u32;
    builder.push(source, &edges.iter().map(key).collect::<Vec<_>>(), &[], &label);
    builder.finish(&label, &mut forged);
    assert_eq!(forged.len(), chunk.bytes());
    bytes[..forged.len()].copy_from_slice(&forged);
    fs::write(edges_file, bytes).unwrap();
}

#[test]
fn forged_edges_to_no_vertex_end_every_run() {
    let sandbox = Sandbox::new();
    sandbox.write("ring.tsv", "0 1\n1 2\n2 0\n");
    let file = sandbox.path().join("kept/gen-0/edges-0");
    for forged in [[[0, 1], [1, 2], [2, 3]], [[0, 1], [1, 2], [3, 0]]] {
        sandbox.must("ingest ring.tsv -o kept -q");
        forge(&file, &[[0, 1], [1, 2], [2, 0]]);
        sandbox.must("check kept");
        forge(&file, &forged);
        assert_eq!(sandbox.run("check kept").code, Some(70));
        for algorithm in [
            "wcc",
            "scc",
            "mcst",
            "pagerank",
            "spmv",
            "bfs --source 0",
            "sssp --source 0",
            "hyperball",
            "conductance",
            "wcc --route ranges",
            "pagerank --route spill",
        ] {
            for cache in ["", "--edge-memory 0"] {
                let ended = sandbox.run(&format!("run {algorithm} kept --top 1 {cache}"));
                assert_eq!(ended.code, Some(70), "{algorithm} {cache}: {}", ended.stderr);
                let names_it = ended.stderr.contains("edges-0: damaged at offset 0: ");
                assert!(names_it, "{algorithm} {cache}: {}", ended.stderr);
            }
        }
        fs::remove_dir_all(sandbox.path().join("kept")).unwrap();
    }
}
