//! One graph through every format, pipe, pattern and option: the same answer.

use crate::sandbox::{Sandbox, example};

/// Formats that hold integer ids and weights.
const WEIGHTED: [&str; 11] = [
    "txt", "tsv", "csv", "tsv.gz", "csv.zst", "parquet", "arrow", "u32f32", "u32f64", "u64f32",
    "u64f64",
];

#[test]
fn a_generated_graph_is_the_same_in_every_format() {
    let sandbox = Sandbox::new();
    let ranks = |input: &str| sandbox.must(&format!("run pagerank {input} -o - --iterations 9"));
    let values = |input: &str| sandbox.must(&format!("run spmv {input} -o - --vector random"));
    let spec = "rmat:10,seed=5,weights=255,scramble";
    let (expected_ranks, expected_values) = (ranks(spec), values(spec));
    for format in WEIGHTED {
        let name = format!("graph.{format}");
        sandbox.must(&format!("generate rmat 10 --seed 5 --weights 255 --scramble -o {name}"));
        let input = format!("{name} --vertices 1024");
        assert!(ranks(&input) == expected_ranks, "{format}");
        assert!(values(&input) == expected_values, "{format}");
    }
}

#[test]
fn conversions_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.must("generate web 3_000 --weights unit --degree 5 -o graph.csv");
    let expected = sandbox.must("run spmv graph.csv -o -");
    let mut last = "graph.csv".to_owned();
    for format in WEIGHTED {
        let name = format!("copy.{format}");
        sandbox.must(&format!("convert {last} -o {name}"));
        assert!(sandbox.must(&format!("run spmv {name} -o -")) == expected, "{last} to {name}");
        last = name;
    }
    sandbox.must("convert copy.u64f64 -o bare.u32 --no-weights");
    let bare = sandbox.must("run pagerank bare.u32 -o -");
    assert!(bare == sandbox.must("run pagerank graph.csv -o -"));
}

#[test]
fn names_survive_every_format_that_has_them() {
    let sandbox = Sandbox::new();
    let ranks =
        |input: &str| sandbox.must(&format!("run pagerank {input} --top 50 --iterations 9"));
    let expected = ranks(&example());
    for format in ["tsv", "csv.gz", "parquet", "arrow"] {
        sandbox.must(&format!("convert {} -o names.{format}", example()));
        assert_eq!(ranks(&format!("names.{format}")), expected, "{format}");
    }
    let ended = sandbox.run(&format!("convert {} -o names.u32", example()));
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    assert!(!sandbox.files().contains(&"names.u32".to_owned()));
}

#[test]
fn several_files_and_patterns_are_one_graph() {
    let sandbox = Sandbox::new();
    sandbox.write("whole.txt", "0 1\n1 2\n2 0\n2 1\n");
    sandbox.write("part-1.txt", "0 1\n1 2\n");
    sandbox.write("part-2.csv", "source,target\n2,0\n2,1\n");
    let expected = sandbox.must("run pagerank whole.txt -o -");
    assert_eq!(sandbox.must("run pagerank 'part-*' -o -"), expected);
    assert_eq!(sandbox.must("run pagerank part-1.txt part-2.csv -o -"), expected);
}

#[test]
fn an_id_that_no_sample_is_near_is_found_all_the_same() {
    let sandbox = Sandbox::new();
    for far in [5_000_000, 4_000_000_000_u32] {
        let mut pairs: Vec<[u32; 2]> = (0..2 << 20).map(|edge| [edge % 1000, edge % 999]).collect();
        pairs[1] = [7, far];
        let bytes = |pairs: &[[u32; 2]]| -> Vec<u8> {
            pairs.as_flattened().iter().flat_map(|id| id.to_le_bytes()).collect()
        };
        sandbox.write("first.u32", bytes(&pairs));
        pairs.reverse();
        // The end of a file is always in the sample.
        sandbox.write("last.u32", bytes(&pairs));
        let depths = |name: &str| sandbox.must(&format!("run bfs {name} --source 0 -o -"));
        let expected = depths("last.u32");
        assert_eq!(expected.lines().count(), 1002);
        assert!(depths("first.u32") == expected);
        sandbox.must("ingest first.u32 -o kept");
        assert!(depths("kept") == expected);
        std::fs::remove_dir_all(sandbox.path().join("kept")).unwrap();
    }
}

#[test]
fn standard_input_is_read() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.txt", "0 1\n1 2\n");
    let expected = sandbox.must("run pagerank graph.txt -o -");
    let piped = sandbox.run_with("run pagerank - -o -", b"# a comment\r\n0\t1\r\n1\t2");
    assert_eq!((piped.code, piped.stdout), (Some(0), expected.clone()));
    sandbox.must("convert graph.txt -o graph.tsv.gz");
    let packed = sandbox.run_with("run pagerank - -o -", &sandbox.read("graph.tsv.gz"));
    assert_eq!((packed.code, packed.stdout), (Some(0), expected));
    let generated = sandbox.must("generate rmat 8");
    let piped = sandbox.run_with("run pagerank - --vertices 256 -o -", generated.as_bytes());
    assert_eq!(piped.stdout, sandbox.must("run pagerank rmat:8 -o -"));
}

#[test]
fn options_on_the_input_are_obeyed() {
    let sandbox = Sandbox::new();
    sandbox.write("odd.txt", "w;to;from\n1;20;10\n2;30;20\n");
    let ids = |options: &str| -> String {
        let text = sandbox.must(&format!("run pagerank odd.txt -o - {options}"));
        text.lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned() + " ").collect()
    };
    assert_eq!(ids("--source-column from --target-column to"), "10 20 30 ");
    assert_eq!(
        ids("--source-column 3 --target-column 2 --separator semicolon --header"),
        "10 20 30 "
    );
    assert_eq!(
        ids("--source-column 3 --target-column 2 --ids strings --no-header"),
        "10 20 30 from to "
    );
    sandbox.write("plain.txt", "0 1\n0 1\n1 1\n");
    let degrees = |options: &str| {
        sandbox.must(&format!("info plain.txt {options}"));
        sandbox.must(&format!("run spmv plain.txt -o - {options}"))
    };
    assert_eq!(degrees("--vertices 3"), "vertex,value\n0,0.0\n1,3.0\n2,0.0\n");
    let values = |options: &str| sandbox.must(&format!("run spmv plain.txt -o - {options}"));
    assert_eq!(values("--drop-self-loops"), "vertex,value\n0,0.0\n1,2.0\n");
    assert_eq!(values("--drop-duplicates"), "vertex,value\n0,0.0\n1,2.0\n");
    assert_eq!(values("--undirected"), "vertex,value\n0,2.0\n1,3.0\n");
    sandbox.write("heavy.txt", "0 1 3\n0 1 2\n");
    let heavy =
        |kept: &str| sandbox.must(&format!("run spmv heavy.txt -o - --drop-duplicates={kept}"));
    assert_eq!(heavy("first"), "vertex,value\n0,0.0\n1,3.0\n");
    assert_eq!(heavy("min"), "vertex,value\n0,0.0\n1,2.0\n");
    assert_eq!(heavy("sum"), "vertex,value\n0,0.0\n1,5.0\n");
    // Without weights every edge weighs 1, and so the sum is the number of edges.
    assert_eq!(heavy("sum --no-weights"), "vertex,value\n0,0.0\n1,2.0\n");
    sandbox.write("light.txt", "0 1\n0 1\n0 1\n");
    let light =
        |kept: &str| sandbox.must(&format!("run spmv light.txt -o - --drop-duplicates={kept}"));
    assert_eq!(light("sum"), "vertex,value\n0,0.0\n1,3.0\n");
    assert_eq!(light("first"), "vertex,value\n0,0.0\n1,1.0\n");
    let ranks = |options: &str| sandbox.must(&format!("run pagerank light.txt -o - {options}"));
    assert_eq!(ranks("--drop-duplicates=sum"), ranks("--drop-duplicates"));
}

#[test]
fn every_table_format_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.txt", "0 1\n1 2\n");
    for (name, magic) in [
        ("ranks.csv", b"vertex,rank\n" as &[u8]),
        ("ranks.tsv", b"vertex\trank\n"),
        ("ranks.csv.gz", b"\x1f\x8b"),
        ("ranks.parquet", b"PAR1"),
        ("ranks.arrow", b"ARROW1"),
        ("ranks.npy", b"\x93NUMPY"),
    ] {
        sandbox.must(&format!("run pagerank graph.txt -o {name}"));
        assert!(sandbox.read(name).starts_with(magic), "{name}");
    }
    sandbox.must("run pagerank graph.txt -o ranks --output-format csv");
    assert_eq!(sandbox.read("ranks"), sandbox.read("ranks.csv"));
}
