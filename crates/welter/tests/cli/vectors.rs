//! Attributes of vertices: the vector of a product from a table beside the graph.

use crate::sandbox::Sandbox;

/// A graph with ids far apart: 7 -> 9, twice 9 -> 1000000, 7 -> 1000000.
const GRAPH: &str = "7 9 1\n9 1000000 10\n9 1000000 10\n7 1000000 100\n";

#[test]
fn a_vector_is_read_by_the_ids_of_the_graph() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.txt", GRAPH);
    sandbox.write("x.csv", "id,age,size\n1000000,3,-1\n9,2,0.5\n7,1,4\n");
    let product = |options: &str| sandbox.must(&format!("run spmv graph.txt -o - {options}"));
    let expected = "vertex,value\n7,0.0\n9,1.0\n1000000,140.0\n";
    assert_eq!(product("--vector-from x.csv"), expected);
    assert_eq!(product("--vector-from x.csv --vector-column age --precision f32"), expected);
    let sizes = "vertex,value\n7,0.0\n9,4.0\n1000000,410.0\n";
    assert_eq!(product("--vector-from x.csv --vector-column 3"), sizes);
    // In several files, with rows of others and without one of 7.
    sandbox.write("part-1.txt", "9 2\n");
    sandbox.write("part-2.txt", "1000000 3\n8 5\n");
    let few = "vertex,value\n7,0.0\n9,-0.5\n1000000,-10.0\n";
    assert_eq!(
        product("--vector-from part-1.txt --vector-from part-2.txt --vector-default -0.5"),
        few
    );
    // A whole column of ids that are slots too.
    sandbox.write("ring.txt", "0 1\n1 2\n2 0\n");
    sandbox.write("ring.x", "0 5\n1 6\n2 7\n");
    let turned = "vertex,value\n0,7.0\n1,5.0\n2,6.0\n";
    assert_eq!(sandbox.must("run spmv ring.txt -o - --vector-from ring.x"), turned);
    let vertices = "run spmv ring.txt -o - --vertices 4 --vector-from ring.x --vector-default 1";
    assert_eq!(sandbox.must(vertices), format!("{turned}3,0.0\n"));
}

#[test]
fn names_have_elements_too() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.tsv", "ann\tbob\nbob\tcid\n");
    sandbox.write("x.tsv", "bob\t2\nann\t1\ncid\t9\n");
    let found = sandbox.must("run spmv graph.tsv -o - --vector-from x.tsv");
    assert_eq!(found, "vertex,value\nann,0.0\nbob,1.0\ncid,2.0\n");
}

#[test]
fn a_vector_that_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.txt", GRAPH);
    sandbox.write("twice.txt", "7 1\n9 2\n7 3\n1000000 0\n");
    sandbox.write("short.txt", "7 1\n9 2\n");
    sandbox.write("words.txt", "7 1\n9 many\n1000000 1\n");
    for (options, code, message) in [
        ("--vector-from none.txt", 66, "none.txt: no such file"),
        ("--vector-from twice.txt", 65, "twice.txt: row 3: expected one row for each id"),
        ("--vector-from short.txt", 65, "found none for 1 of them, such as 1000000"),
        ("--vector-from words.txt", 65, "words.txt:2: expected a number"),
        ("--vector-from short.txt --vector-column 3", 65, "short.txt"),
        ("--vector-from short.txt --vector random", 2, "cannot be used with"),
        ("--vector-from short.txt --vector-default much", 2, "expected a number"),
        ("--vector-default 1", 2, "--vector-from"),
    ] {
        let ended = sandbox.run(&format!("run spmv graph.txt {options}"));
        assert_eq!(ended.code, Some(code), "{options}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{options}: {}", ended.stderr);
    }
    let both = sandbox.run_with("run spmv - --vector-from -", b"1 2\n");
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

/// Ranks by the formula, by hand: of the graph above 9 has one way out, 7 two, with weights 1 to
/// 100.
#[test]
fn walks_follow_weights_and_jump_where_they_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.txt", GRAPH);
    sandbox.write("home.csv", "id,often\n7,2\n");
    let ranks = |options: &str| -> Vec<f64> {
        let line = format!("run pagerank graph.txt -o - --iterations 1 {options}");
        let table = sandbox.must(&line);
        table.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    let near = |found: Vec<f64>, expected: [f64; 3]| {
        let pairs = found.iter().zip(expected);
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    };
    // The sink, 1000000, has a third of the rank, which goes everywhere.
    let base = 0.15 / 3.0 + 0.85 / 9.0;
    let (nine, last) = (0.85 / 3.0 / 101.0, 0.85 / 3.0 * (100.0 / 101.0 + 1.0));
    near(ranks("--weighted"), [base, base + nine, base + last]);
    // Jumps, and the rank of a sink, go to 7.
    let home = "--personalization home.csv --personalization-default 0";
    let (seven, third) = (0.15 + 0.85 / 3.0, 0.85 / 3.0);
    near(ranks(home), [seven, third / 2.0, third * 1.5]);
    near(ranks(&format!("{home} --weighted --weight 3")), [seven, nine, last]);
    // Likewise, stated of sinks alone; and where the walk begins at 7, the sink has nothing.
    let sinks = home.replace("personalization", "dangling-weights");
    near(ranks(&sinks), [0.05 + third, 0.05 + third / 2.0, 0.05 + third * 1.5]);
    let start = home.replace("personalization", "initial");
    near(ranks(&start), [0.05, 0.05 + 0.85 / 2.0, 0.05 + 0.85 / 2.0]);
    // The rank of the sink is lost.
    let lost = ranks(&format!("{home} --weighted --dangling drop"));
    near(lost, [0.15, nine, last]);
    for (options, code, message) in [
        ("--weighted --precision f32", 2, "f64 only"),
        ("--weighted --dangling unnormalized", 2, "--dangling unnormalized"),
        ("--weight 3", 2, "--weighted"),
        ("--personalization none.csv", 66, "none.csv"),
        ("--personalization home.csv", 65, "such as 9"),
        ("--personalization zero.csv", 65, "sum to more than 0"),
        ("--dangling-weights zero.csv", 65, "sum to more than 0"),
        ("--initial none.csv", 66, "none.csv"),
        ("--initial-column 3", 2, "--initial"),
        ("--dangling-weights home.csv --dangling drop", 2, "the rank of sinks is lost"),
        ("--dangling-weights - --initial -", 2, "standard input is one of the tables only"),
        ("--initial home.csv --precision f32", 2, "f64 only"),
    ] {
        sandbox.write("zero.csv", "7,0\n9,0\n1000000,0\n");
        let ended = sandbox.run(&format!("run pagerank graph.txt {options}"));
        assert_eq!(ended.code, Some(code), "{options}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{options}: {}", ended.stderr);
    }
    sandbox.write("bad.txt", "1 2 1\n2 3 -1\n");
    let ended = sandbox.run("run pagerank bad.txt --weighted");
    assert_eq!(ended.code, Some(65));
    assert!(ended.stderr.contains("bad.txt:2: expected a weight that is not negative"));
    sandbox.write("plain.txt", "1 2\n2 3\n");
    let ended = sandbox.run("run pagerank plain.txt --weighted");
    assert_eq!(ended.code, Some(65));
    assert!(ended.stderr.contains("no weights to follow edges by"), "{}", ended.stderr);
}
