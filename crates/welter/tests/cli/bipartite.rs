//! Two kinds of vertices: ratings, matrices that are not square, and ids that both kinds have.

use crate::sandbox::Sandbox;

/// Users 1 to 3 rate items 1 to 3, as rows of text and as a matrix.
const RATINGS: &str = "1\t1\t5\n1\t2\t3\n2\t1\t4\n2\t3\t1\n3\t2\t5\n";

/// The table that a run prints.
fn table(sandbox: &Sandbox, line: &str) -> String {
    sandbox.must(&format!("run {line} -q -o -"))
}

fn ratings() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("u.data", RATINGS);
    // This graph with ids that differ, in the same order: users, then items.
    let apart = |row: &str| {
        let fields: Vec<u64> = row.split('\t').map(|field| field.parse().unwrap()).collect();
        format!("{}\t{}\t{}\n", fields[0], fields[1] + 100, fields[2])
    };
    sandbox.write("apart.tsv", RATINGS.lines().map(apart).collect::<String>());
    let matrix = RATINGS.replace('\t', " ");
    let head = "%%MatrixMarket matrix coordinate integer general\n";
    sandbox.write("r.mtx", format!("{head}4 3 5\n{matrix}"));
    sandbox
}

/// Values of a table by row, without the ids and sides.
fn values(text: &str, columns: &[&str]) -> Vec<String> {
    let titles: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let places: Vec<usize> =
        columns.iter().map(|name| titles.iter().position(|title| title == name).unwrap()).collect();
    let row = |row: &str| {
        let fields: Vec<&str> = row.split(',').collect();
        places.iter().map(|place| fields[*place]).collect::<Vec<_>>().join(",")
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn als_takes_users_and_items_of_the_same_ids() {
    let sandbox = ratings();
    let ended = sandbox.run("run als u.data --factors 4");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    assert!(ended.stderr.contains("--bipartite"), "{}", ended.stderr);
    let ended = sandbox.run("run als u.data --factors 4 --bipartite -o -");
    assert!(ended.stderr.contains("5 ratings of 3 users and 3 items"), "{}", ended.stderr);
    let factors = ["factor_1", "factor_2", "factor_3", "factor_4"];
    let titles = ended.stdout.lines().next().unwrap().to_owned();
    let factors: Vec<&str> = if titles.contains("factor_1") {
        factors.to_vec()
    } else {
        titles.split(',').skip(2).collect()
    };
    let expected = table(&sandbox, "als apart.tsv --factors 4");
    assert_eq!(values(&ended.stdout, &factors), values(&expected, &factors));
    assert_eq!(
        values(&ended.stdout, &["vertex", "side"])[..4].join(" "),
        "1,source 2,source 3,source 1,target"
    );
    // A row without entries is a user without ratings.
    let ended = sandbox.run("run als r.mtx --factors 4 -o -");
    assert!(ended.stderr.contains("4 rows and 3 columns are two kinds"), "{}", ended.stderr);
    assert_eq!(values(&ended.stdout, &["vertex", "side"])[3..5].join(" "), "4,source 1,target");
    let top = sandbox.must("run als u.data --factors 4 --bipartite --top 3 -q");
    assert!(top.contains("side") && top.contains("target"), "{top}");
}

#[test]
fn overlapping_ids_give_what_ids_apart_give() {
    let sandbox = ratings();
    sandbox.write(
        "named.csv",
        "user,item,weight\nann,ann,5\nann,bob,3\nbob,ann,4\nbob,cy,1\ncy,bob,5\n",
    );
    let far = |row: &str| {
        let fields: Vec<u64> = row.split('\t').map(|field| field.parse().unwrap()).collect();
        let [user, item] = [fields[0], fields[1]].map(|id| id * 7_000_000_001);
        format!("{user}\t{item}\t{}\n", fields[2])
    };
    sandbox.write("far.tsv", RATINGS.lines().map(far).collect::<String>());
    for (algorithm, columns) in [
        ("pagerank IN", vec!["rank"]),
        ("bfs IN --direction both --source SOURCE", vec!["depth"]),
        ("kcore IN", vec!["core"]),
        ("pagerank IN --undirected", vec!["rank"]),
        ("hyperball IN", vec![]),
    ] {
        let run = |input: &str, source: &str| {
            let line = algorithm.replace("IN", input).replace("SOURCE", source);
            let text = table(&sandbox, &line);
            let all: Vec<String> =
                text.lines().next().unwrap().split(',').map(str::to_owned).collect();
            let own =
                all.iter().map(String::as_str).filter(|name| !["vertex", "side"].contains(name));
            let columns = if columns.is_empty() { own.collect() } else { columns.clone() };
            values(&text, &columns)
        };
        let expected = run("apart.tsv", "1");
        for (input, source) in [
            ("u.data --bipartite", "source:1"),
            ("u.data --bipartite --ids strings", "source:1"),
            ("named.csv --bipartite", "source:ann"),
            ("far.tsv --bipartite", "source:7000000001"),
            ("u.data --bipartite --memory 64M --edge-memory 0", "source:1"),
        ] {
            assert_eq!(run(input, source), expected, "{algorithm} {input}");
        }
        sandbox.must("ingest u.data --bipartite -q -o kept");
        sandbox.must("ingest named.csv --bipartite -q -o named");
        assert_eq!(run("kept", "source:1"), expected, "{algorithm} kept");
        assert_eq!(run("named", "source:ann"), expected, "{algorithm} kept, of names");
        std::fs::remove_dir_all(sandbox.path().join("kept")).unwrap();
        std::fs::remove_dir_all(sandbox.path().join("named")).unwrap();
    }
}

#[test]
fn results_say_the_side_of_each_vertex_that_they_name() {
    let sandbox = ratings();
    let tree =
        table(&sandbox, "bfs u.data --bipartite --source source:1 --direction both --parents");
    assert_eq!(
        tree,
        "vertex,side,depth,parent,parent_side\n1,source,0,1,source\n2,source,2,1,target\n\
         3,source,2,2,target\n1,target,1,1,source\n2,target,1,1,source\n3,target,3,2,source\n"
    );
    // An id that only one side has needs no word before it.
    sandbox.write("one.tsv", "1\t5\n2\t5\n5\t9\n");
    let depths = table(&sandbox, "bfs one.tsv --bipartite --source 2");
    assert!(depths.contains("2,source,0\n") && depths.contains("5,target,1\n"), "{depths}");
    let ended = sandbox.run("run bfs one.tsv --bipartite --source 5");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    assert!(ended.stderr.contains("source: or target:"), "{}", ended.stderr);
    sandbox.write("sources.txt", "source:5\n1\n");
    let depths = table(&sandbox, "bfs one.tsv --bipartite --sources-from sources.txt");
    assert!(depths.contains("1,source,0\n") && depths.contains("5,source,0\n"), "{depths}");
    let groups = sandbox.must("run wcc one.tsv --bipartite --top 3 -q");
    assert!(groups.contains("component_side"), "{groups}");
    let list = table(&sandbox, "mcst u.data --bipartite");
    assert!(list.starts_with("source,source_side,target,target_side,weight\n"), "{list}");
    let info = sandbox.must("info one.tsv --bipartite -q");
    assert!(info.contains("3 of sources, 2 of targets"), "{info}");
}

#[test]
fn results_and_edges_of_two_kinds_are_written_and_read_again() {
    let sandbox = ratings();
    for name in ["r.csv", "r.parquet", "r.arrow", "r.npy"] {
        sandbox.must(&format!("run pagerank u.data --bipartite -q -o {name}"));
        assert!(!sandbox.read(name).is_empty());
    }
    let ended = sandbox.run("run pagerank u.data --bipartite -q -o r.ldbc");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    let ranks = table(&sandbox, "pagerank u.data --bipartite");
    for name in ["e.csv", "e.parquet", "e.arrow"] {
        sandbox.must(&format!("convert u.data --bipartite -q -o {name}"));
        assert_eq!(table(&sandbox, &format!("pagerank {name} --bipartite")), ranks, "{name}");
    }
    let ended = sandbox.run("convert u.data --bipartite -q -o e.graph");
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    assert!(ended.stderr.contains("two kinds of vertices"), "{}", ended.stderr);
    // Raw records are collected, and not streamed.
    sandbox.must("convert u.data --no-weights -q -o e.u32");
    assert_eq!(table(&sandbox, "pagerank e.u32 --bipartite"), ranks);
}

#[test]
fn vertices_of_each_kind_are_listed_for_themselves() {
    let sandbox = ratings();
    sandbox.write("users.csv", "id,name\n1,a\n2,b\n3,c\n9,d\n");
    sandbox.write("items.txt", "1\n2\n3\n4\n");
    let line = "bfs u.data --bipartite --source source:1 --vertices-from users.csv \
                --target-vertices-from items.txt";
    let text = table(&sandbox, line);
    assert!(text.contains("9,source,-1\n") && text.contains("4,target,-1\n"), "{text}");
    assert_eq!(text.lines().count(), 9, "{text}");
    for (line, code, message) in [
        ("u.data --bipartite --vertices 9", 2, "--target-vertices-from"),
        ("rmat:4 --bipartite", 2, "--bipartite"),
        ("r.mtx --no-bipartite", 65, "expected a square matrix"),
    ] {
        let ended = sandbox.run(&format!("run wcc {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}
