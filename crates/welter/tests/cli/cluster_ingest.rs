//! Graphs of which machines of a cluster keep a part each, and runs on them: with as many machines
//! or another number, on one disk or on disks of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cluster_faults::machine as process_of;
use crate::computers::{ended, free_port, machine};
use crate::interrupt::wait_until;
use crate::sandbox::{Ended, Sandbox};

/// Rows of edges with weights, whose sums are exact, between ids that are made of small numbers.
fn rows(id: impl Fn(u64) -> String) -> String {
    let row = |at: u64| {
        let (source, target) = (id(at * at % 499), id(at * 7 % 503));
        format!("{source},{target},{}\n", 1 + at * 5 % 9)
    };
    (0..5000).map(row).collect()
}

fn name(id: u64) -> String {
    format!("n{}", id * 7919 % 10_007)
}

/// A graph by several kinds of ids, each with the id of a vertex.
fn graphs() -> (Sandbox, [[&'static str; 2]; 4]) {
    let sandbox = Sandbox::new();
    sandbox.write("names.csv", format!("from,to,weight\n{}", rows(name)));
    let sparse = |id: u64| (id * 700_000_000_003 % 999_983_000_017).to_string();
    sandbox.write("sparse.csv", rows(sparse));
    sandbox.write("holes.csv", rows(|id| (id * 3 + 5).to_string()));
    let raw = (0..4000_u32).flat_map(|at| (at * at % 499).to_le_bytes());
    sandbox.write("pairs.u32", raw.collect::<Vec<u8>>());
    let inputs = [
        ["names.csv", "n7919"],
        ["sparse.csv", "700000000003"],
        ["holes.csv", "8"],
        ["pairs.u32", "1"],
    ];
    (sandbox, inputs)
}

/// Runs a line in one process on what was ingested, and on the graph in parts as `on` says.
fn compare(sandbox: &Sandbox, line: &str, [input, graph]: [&str; 2], on: &str) {
    let line = |graph: &str| format!("run {} -q -o -", line.replace('G', graph));
    let expected = sandbox.must(&line(input));
    let found = sandbox.must(&format!("{}{on}", line(graph)));
    assert_eq!(found, expected, "{} {on}", line(graph));
}

/// Bytes of the input that machines have parsed, of the last report.
fn parsed(sandbox: &Sandbox) -> Vec<Option<u64>> {
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let machines = report["cluster"]["machines"].as_array().unwrap();
    machines.iter().map(|machine| machine["bytes_parsed"].as_u64()).collect()
}

#[test]
fn a_graph_in_parts_has_the_answers_of_its_input() {
    let (sandbox, inputs) = graphs();
    for (number, [input, source]) in inputs.into_iter().enumerate() {
        let graph = format!("graph-{number}");
        let ended = sandbox.run(&format!("ingest {input} -o {graph} --cluster local:3"));
        assert_eq!((ended.code, &ended.stdout[..]), (Some(0), ""), "{}", ended.stderr);
        let last = ended.stderr.lines().last().unwrap_or_default();
        assert!(last.starts_with(&graph) && last.contains(" in 3 parts, "), "{}", ended.stderr);
        for part in ["part-0", "part-1", "part-2"] {
            assert!(sandbox.path().join(&graph).join(part).join("manifest").is_file());
        }
        let of = [input, &graph];
        let bfs = format!("bfs G --source {source} --parents --direction both");
        let sssp = format!("sssp G --source {source} --direction both");
        // As many machines, fewer, more, and none.
        compare(&sandbox, "wcc G", of, " --cluster local:3");
        compare(&sandbox, &bfs, of, " --cluster local:2 --route fold");
        compare(&sandbox, "cdlp G --iterations 4", of, " --cluster local:4 --route spill");
        compare(&sandbox, "kcore G", of, "");
        compare(&sandbox, "spmv G --drop-self-loops", of, " --cluster local:3 --route send");
        if input != "pairs.u32" {
            compare(&sandbox, &sssp, of, " --cluster local:3");
            compare(&sandbox, "spmv G", of, "");
        }
    }
    // Nothing is parsed.
    sandbox.must("run wcc graph-0 -q -o out.csv --cluster local:3 --report r.json");
    assert_eq!(parsed(&sandbox), [None; 3]);
}

#[test]
fn what_is_stated_of_a_graph_holds_for_its_parts() {
    let (sandbox, _) = graphs();
    for (options, line) in [
        ("--undirected", "spmv G"),
        ("--drop-duplicates=sum", "spmv G"),
        ("--drop-duplicates=min --drop-self-loops --undirected", "kcore G"),
        ("--no-weights", "spmv G"),
        ("--vertices-from all.csv", "wcc G"),
        ("--bipartite", "kcore G"),
    ] {
        sandbox.write("all.csv", "id\nn7919\nalone\n");
        sandbox.must(&format!("ingest names.csv {options} -q -o one"));
        sandbox.must(&format!("ingest names.csv {options} -q -o graph --cluster local:2"));
        compare(&sandbox, line, ["one", "graph"], " --cluster local:2");
        compare(&sandbox, line, ["one", "graph"], "");
        let info = |graph: &str| {
            let text = sandbox.must(&format!("info {graph} -q"));
            text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(info("graph"), info("one"), "{options}");
        let checked = sandbox.must("check graph");
        assert!(checked.starts_with("graph: 2 parts, whole; "), "{checked}");
        sandbox.must("remove one");
        sandbox.must("remove graph");
        assert!(!sandbox.path().join("graph").exists());
    }
    sandbox.must("ingest names.csv --undirected -q -o graph --cluster local:2");
    for line in ["wcc graph --directed", "sssp graph --source n7919 --weight weight"] {
        let ended = sandbox.run(&format!("run {line}"));
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
    }
    sandbox.write("debts.csv", "from,to,weight\n1,2,-3\n2,1,1\n");
    sandbox.must("ingest debts.csv -q -o debts --cluster local:2");
    for on in ["", " --cluster local:2"] {
        let ended = sandbox.run(&format!("run sssp debts --source 1{on}"));
        assert_eq!(ended.code, Some(65), "{on}: {}", ended.stderr);
    }
}

#[test]
fn an_ingest_on_a_cluster_refuses_what_it_cannot_do() {
    let (sandbox, _) = graphs();
    sandbox.must("ingest holes.csv -q -o there");
    sandbox.write("wrong.csv", "1,2\n7,seven\n");
    for (line, code, message) in [
        ("holes.csv -o there --cluster local:2", 73, "error: there: is there already"),
        ("holes.csv -o holes.csv --cluster local:2", 73, "error: holes.csv: is there already"),
        ("holes.csv -o no/where --cluster local:2", 73, "error: no/where: cannot create it"),
        ("holes.csv -o s3://box/graph --cluster local:2", 2, "error: --cluster: machines keep"),
        ("holes.csv -o graph --disk . --cluster local:2", 2, "error: --disk: each machine"),
        ("holes.csv -o graph --cluster ray", 2, "error: --cluster ray: actors"),
        ("- -o graph --cluster local:2", 2, "error: each machine reads the input"),
        ("none.csv -o graph --cluster local:2", 66, "error: none.csv"),
        ("holes.csv -o graph --cluster local:2 --memory 1MiB", 78, "error: "),
        ("wrong.csv --ids integers -o graph --cluster local:2", 65, "error: wrong.csv"),
    ] {
        let ended = sandbox.run(&format!("ingest {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.starts_with(message), "{line}: {}", ended.stderr);
        assert!(!sandbox.path().join("graph").exists(), "{line}");
    }
    sandbox.must("check there");
}

#[test]
fn files_with_names_of_parts_are_an_input() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path().join("rows")).unwrap();
    sandbox.write("rows/part-0", "1,2\n2,3\n");
    sandbox.write("rows/part-1", "7,8\n");
    let expected = sandbox.must("run wcc rows/part-0 rows/part-1 -q -o -");
    assert_eq!(sandbox.must("run wcc rows -q -o -"), expected);
    let ended = sandbox.run("ingest rows -o rows --cluster local:2");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    assert_eq!(sandbox.run("remove rows").code, Some(66));
    assert_eq!(sandbox.read("rows/part-1"), b"7,8\n");
}

#[test]
fn parts_that_are_missing_or_damaged_are_named() {
    let (sandbox, _) = graphs();
    sandbox.must("ingest names.csv -q -o graph --cluster local:2");
    let part = sandbox.path().join("graph/part-1");
    let aside = sandbox.path().join("aside");
    let expect = |code: i32, message: &str| {
        for line in ["run wcc graph", "run wcc graph --cluster local:2"] {
            let ended = sandbox.run(line);
            assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
            assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
        }
    };
    fs::rename(&part, &aside).unwrap();
    expect(66, "graph/part-1/manifest");
    let info = sandbox.must("info graph -q");
    assert!(info.contains("part 0 of 2") && info.contains("edges        5,000"), "{info}");
    let checked = sandbox.must("check graph");
    assert!(checked.starts_with("graph: whole in part 0 of 2; "), "{checked}");
    fs::rename(&aside, &part).unwrap();
    let edges = "graph/part-1/gen-0/edges-0";
    let bytes = sandbox.read(edges);
    let mut wrong = bytes.clone();
    wrong[130] ^= 4;
    sandbox.write(edges, &wrong);
    expect(70, edges);
    let checked = sandbox.run("check graph");
    assert!(checked.code == Some(70) && checked.stderr.contains(edges), "{}", checked.stderr);
    sandbox.write(edges, &bytes);
    let list = sandbox.read("graph/parts");
    sandbox.write("graph/parts", &list[..list.len() - 1]);
    expect(70, "graph/parts");
    sandbox.write("graph/parts", &list);
    sandbox.must("check graph");
    // Results are not written there.
    let ended = sandbox.run("run wcc graph -o graph/out.csv");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
}

#[test]
fn an_ingest_that_is_killed_leaves_no_graph() {
    let (sandbox, _) = graphs();
    let line = "ingest names.csv -q -o graph --cluster local:2";
    let mut nth = 1;
    loop {
        // Each process that makes the call is killed in it.
        let mut command = sandbox.command(line);
        command.env("WELTER_FAULT", format!("kill {nth}"));
        let ended = Ended::waited(command.spawn().unwrap());
        if ended.code == Some(0) {
            break;
        }
        assert_eq!(ended.code, Some(75), "call {nth}: {}", ended.stderr);
        if sandbox.path().join("graph").exists() {
            // All had been said to be there.
            sandbox.must("check graph");
            sandbox.must("remove graph");
        }
        nth += 4;
    }
    assert!(nth > 8, "{nth} calls");
    sandbox.must("check graph");
    // Parts that are left where all are killed are told from a graph, and go.
    fs::remove_file(sandbox.path().join("graph/parts")).unwrap();
    for line in ["run wcc graph", "info graph", "check graph"] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(66), "{line}: {}", ended.stderr);
    }
    let ended = sandbox.run(&line.replace("-q ", ""));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("note: removed graph/part-1"), "{}", ended.stderr);
    compare(&sandbox, "wcc G", ["names.csv", "graph"], " --cluster local:2");
}

/// Processor time that a process has used, in hundredths of a second; none where it has ended,
/// whether or not it is waited for.
fn ticks(process: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // Its name, in brackets, may have blanks.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let [user, system] = [fields[11], fields[12]].map(|field| field.parse::<u64>().unwrap());
    (fields[0] != "Z").then_some(user + system)
}

#[test]
fn machines_end_with_the_command_that_ingests() {
    let sandbox = Sandbox::new();
    // Each machine takes minutes to look at all edges, which are zeros that take no room.
    let input = fs::File::create(sandbox.path().join("zeros.u32")).unwrap();
    input.set_len(1 << 40).unwrap();
    let mut command =
        sandbox.command("ingest zeros.u32 -q -o graph --cluster local:2").spawn().unwrap();
    let mut machines = Vec::new();
    wait_until("reading", || {
        machines = (0..2).filter_map(|rank| process_of(command.id(), rank)).collect();
        let reads = |machine: &Pid| ticks(*machine).is_some_and(|ticks| ticks > 50);
        machines.len() == 2 && machines.iter().all(reads)
    });
    command.kill().unwrap();
    command.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    let is_left = |machine: &Pid| ticks(*machine).is_some();
    while machines.iter().any(is_left) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let left: Vec<Pid> = machines.into_iter().filter(is_left).collect();
    for machine in &left {
        // It may have ended in this moment.
        let _ = kill_process(*machine, Signal::KILL);
    }
    assert!(left.is_empty(), "{left:?} outlive the command");
}

/// The folder of a machine with a disk of its own.
fn folder(sandbox: &Sandbox, rank: usize) -> PathBuf {
    sandbox.path().join(format!("disk-{rank}"))
}

/// Runs a line on machines, each in a folder of its own.
fn apart(sandbox: &Sandbox, line: &str, machines: usize) -> Vec<Ended> {
    let port = free_port();
    let start = |rank: usize| {
        let mut command: Command = machine(sandbox, line, (rank, machines, port));
        command.current_dir(folder(sandbox, rank)).spawn().unwrap()
    };
    ended((0..machines).map(start).collect())
}

fn must_apart(sandbox: &Sandbox, line: &str, machines: usize) {
    for (rank, ended) in apart(sandbox, line, machines).iter().enumerate() {
        assert_eq!(ended.code, Some(0), "{line}, {rank}: {}", ended.stderr);
    }
}

/// Machines with copies of an input, which have kept a part each.
fn with_disks(machines: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    let text = format!("from,to,weight\n{}", rows(name));
    sandbox.write("names.csv", &text);
    for rank in 0..=machines {
        fs::create_dir(folder(&sandbox, rank)).unwrap();
        fs::write(folder(&sandbox, rank).join("names.csv"), &text).unwrap();
    }
    must_apart(&sandbox, "ingest names.csv -o graph -q", machines);
    for rank in 0..machines {
        assert_eq!(
            names(&folder(&sandbox, rank).join("graph")),
            [format!("part-{rank}"), "parts".to_owned()]
        );
        fs::remove_file(folder(&sandbox, rank).join("names.csv")).unwrap();
    }
    sandbox
}

/// Names in a directory, in order.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Holds the result of machines to that of one process.
fn compare_apart(sandbox: &Sandbox, line: &str, machines: usize) {
    // One process sends nothing.
    let alone = line.replace('G', "names.csv").replace(" --route send", "");
    let expected = sandbox.must(&format!("run {alone} -q -o -"));
    let line = format!("run {} -q -o out.csv", line.replace('G', "graph"));
    must_apart(sandbox, &line, machines);
    let found = fs::read(folder(sandbox, 0).join("out.csv")).unwrap();
    assert_eq!(String::from_utf8(found).unwrap(), expected, "{line} on {machines}");
}

/// Copies what lies in a directory into another one.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}

#[test]
fn each_machine_has_its_part_on_its_disk() {
    let sandbox = with_disks(3);
    compare_apart(&sandbox, "wcc G", 3);
    compare_apart(&sandbox, "sssp G --source n7919 --route send", 3);
    compare_apart(&sandbox, "bfs G --source n7919 --direction both --route spill", 3);
    // One machine more has the list alone, and no ids to look up.
    let list = fs::read(folder(&sandbox, 0).join("graph/parts")).unwrap();
    fs::create_dir(folder(&sandbox, 3).join("graph")).unwrap();
    fs::write(folder(&sandbox, 3).join("graph/parts"), list).unwrap();
    compare_apart(&sandbox, "wcc G --method label-propagation", 4);
    // Two have all parts between them.
    let part = |rank: usize| folder(&sandbox, rank).join("graph/part-2");
    copy(&part(2), &part(1));
    compare_apart(&sandbox, "spmv G", 2);
    // All edges are nowhere.
    for ended in apart(&sandbox, "run wcc graph --drop-duplicates -q", 3) {
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    }
    // And then on one machine, which runs alone too.
    copy(&folder(&sandbox, 1).join("graph/part-1"), &folder(&sandbox, 0).join("graph/part-1"));
    copy(&part(2), &part(0));
    compare_apart(&sandbox, "kcore G", 1);
}

#[test]
fn machines_name_a_part_that_none_has() {
    let sandbox = with_disks(2);
    for ended in apart(&sandbox, "ingest names.csv -o graph", 2) {
        assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    }
    fs::rename(folder(&sandbox, 1).join("graph/part-1"), sandbox.path().join("aside")).unwrap();
    for ended in apart(&sandbox, "run wcc graph", 2) {
        assert_eq!(ended.code, Some(66), "{}", ended.stderr);
        assert!(ended.stderr.contains("graph/part-1: no machine has"), "{}", ended.stderr);
    }
    // A graph of another ingest is another graph.
    fs::remove_dir_all(folder(&sandbox, 1).join("graph")).unwrap();
    let mut ingest = sandbox.command("ingest names.csv -o graph -q --cluster local:2");
    let other = Ended::waited(ingest.spawn().unwrap());
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    fs::rename(sandbox.path().join("graph"), folder(&sandbox, 1).join("graph")).unwrap();
    for ended in apart(&sandbox, "run wcc graph", 2) {
        assert_eq!(ended.code, Some(65), "{}", ended.stderr);
        assert!(ended.stderr.contains("machine 1: its input is another"), "{}", ended.stderr);
    }
}

#[test]
fn machines_with_other_options_keep_no_graph() {
    let sandbox = Sandbox::new();
    let port = free_port();
    let start = |rank: usize| {
        fs::create_dir(folder(&sandbox, rank)).unwrap();
        fs::write(folder(&sandbox, rank).join("names.csv"), rows(name)).unwrap();
        let line = ["ingest names.csv -o graph --undirected", "ingest names.csv -o graph"][rank];
        let mut command = machine(&sandbox, line, (rank, 2, port));
        command.current_dir(folder(&sandbox, rank)).spawn().unwrap()
    };
    for (rank, ended) in ended((0..2).map(start).collect()).iter().enumerate() {
        assert_eq!(ended.code, Some(2), "{rank}: {}", ended.stderr);
        let message = "error: machines have kept parts of different graphs\n\
                       hint: state the same options of the input on each machine\n";
        assert!(ended.stderr.contains(message), "{rank}: {}", ended.stderr);
        assert!(!folder(&sandbox, rank).join("graph").exists());
    }
}

#[test]
fn a_machine_that_is_killed_while_it_keeps_its_part_leaves_no_graph() {
    let sandbox = with_disks(2);
    for rank in 0..2 {
        fs::remove_dir_all(folder(&sandbox, rank).join("graph")).unwrap();
        fs::copy(sandbox.path().join("names.csv"), folder(&sandbox, rank).join("names.csv"))
            .unwrap();
    }
    let line = "ingest names.csv -o graph";
    let port = free_port();
    let start = |rank: usize| {
        let mut command = machine(&sandbox, line, (rank, 2, port));
        if rank == 1 {
            command.env("WELTER_FAULT", "kill 9");
        }
        command.current_dir(folder(&sandbox, rank)).spawn().unwrap()
    };
    let both = ended((0..2).map(start).collect());
    assert_eq!(both[0].code, Some(75), "{}", both[0].stderr);
    assert_eq!(both[1].code, None, "{}", both[1].stderr);
    assert!(!folder(&sandbox, 0).join("graph").exists());
    assert!(!folder(&sandbox, 1).join("graph/parts").exists());
    must_apart(&sandbox, line, 2);
    compare_apart(&sandbox, "wcc G", 2);
}
