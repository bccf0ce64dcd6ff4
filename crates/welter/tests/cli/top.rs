//! First sights of a user: the main job on the shipped example, `info`, `explain`, `algorithms`.

use crate::sandbox::{Sandbox, example};

#[test]
fn the_example_ranks_libc6_first() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run(&format!("run pagerank {} --top 12", example()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    insta::assert_snapshot!("top", ended.stdout);
    let (summary, time) = ended.stderr.trim_end().rsplit_once(", ").unwrap();
    let (note, summary) = summary.rsplit_once('\n').unwrap();
    assert!(note.ends_with("ids are strings; 5 comment lines passed over"), "{note}");
    assert_eq!(summary, "59,445 vertices, 264,196 edges, 69 iterations");
    assert!(time.ends_with(" s"), "{time}");
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn ranks_do_not_depend_on_threads_or_encoding() {
    let sandbox = Sandbox::new();
    let run = |options: &str| {
        sandbox.must(&format!("run pagerank {} -o - --iterations 20 {options}", example()))
    };
    let one = run("--threads 1");
    assert_eq!(one.lines().count(), 59_446);
    assert!(one == run("--threads 3 --encoding compressed --stripe-bits 14"));
}

#[test]
fn info_describes_the_example() {
    let sandbox = Sandbox::new();
    let text = sandbox.must(&format!("info {}", example()));
    let (_, rest) = text.split_once('\n').unwrap();
    insta::assert_snapshot!("info", rest);
}

#[test]
fn info_counts_self_loops_and_duplicates() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.txt", "7 7\n7 9\n7 9\n9 7\n1000000000000 9\n");
    insta::assert_snapshot!("info_small", sandbox.must("info graph.txt"));
    // Without direction 7-9 is one edge, which stands there three times, and 7-7 another.
    insta::assert_snapshot!("info_undirected", sandbox.must("info graph.txt --undirected"));
}

#[test]
fn info_counts_distinct_self_loops_without_direction() {
    let sandbox = Sandbox::new();
    let duplicates = |text: &str| {
        sandbox.write("graph.txt", text);
        let info = sandbox.must("info graph.txt --undirected");
        let row =
            |name| info.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        (row("self-loops"), row("duplicates"))
    };
    let both = |loops: &str, duplicates: &str| (loops.to_owned(), duplicates.to_owned());
    assert_eq!(duplicates("0 0\n0 1\n5000 5000\n"), both("2", "0"));
    let either = "3, whichever end is named first";
    assert_eq!(duplicates("0 0\n0 0\n5000 5000\n1 2\n2 1\n0 0\n"), both("4", either));
}

#[test]
fn explain_says_what_will_be_done() {
    let sandbox = Sandbox::new();
    let fixed = "--threads 2 --memory 4GiB --stripe-bits 18 --block-bits 12";
    let text = sandbox.must(&format!("explain pagerank rmat:20,weights=9 --undirected {fixed}"));
    insta::assert_snapshot!("explain_generated", untimed(&text));
    sandbox.write("links.csv", "from,to,weight\na,b,1.5\nb,c,2\n");
    let text = sandbox.must(&format!("explain spmv links.csv {fixed}"));
    insta::assert_snapshot!("explain_csv", untimed(&text));
    // A figure that cannot be foreseen is said not to be known.
    for algorithm in ["mcst", "triangles", "cdlp"] {
        let text = sandbox.must(&format!("explain {algorithm} rmat:20,weights=9 {fixed}"));
        insta::assert_snapshot!(format!("explain_{algorithm}"), untimed(&text));
    }
    let text = sandbox.must("explain mcst rmat:20,weights=9 --threads 2 --memory 128MiB");
    assert!(text.contains("rewritten edges that are left"), "{text}");
    // On storage the device is looked at, too. Wider stripes, which large caches get, want more.
    let text = sandbox.must("explain pagerank rmat:20 --threads 2 --memory 72MiB --stripe-bits 15");
    assert!(text.contains("the limit is the "), "{text}");
}

/// Text without times, which differ on every machine, busy or not.
fn untimed(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let ends = [
            " to bin and sort",
            " an iteration at most",
            " for the pass over them",
            " a pass over all edges",
            " or more each time",
        ];
        let time = line.split_once("about ").and_then(|(front, rest)| {
            let at = ends.iter().find_map(|end| rest.find(end))?;
            Some(format!("{front}about TIME{}", &rest[at..]))
        });
        lines += &time.unwrap_or_else(|| line.to_owned());
        lines += "\n";
    }
    lines
}

#[test]
fn explain_names_no_figure_of_a_pipe() {
    let ended = Sandbox::new().run("explain pagerank -");
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.stderr, "error: nothing is known of a pipe before it is read; name a file\n");
}

#[test]
fn algorithms_are_listed() {
    insta::assert_snapshot!("algorithms", Sandbox::new().must("algorithms"));
}

#[test]
fn options_of_pagerank_do_what_they_say() {
    let sandbox = Sandbox::new();
    sandbox.write("path.txt", "0 1\n1 2\n");
    let ranks = |options: &str| -> Vec<f64> {
        let text = sandbox.must(&format!("run pagerank path.txt -o - --quiet {options}"));
        text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect()
    };
    let near = |found: &[f64], expected: &[f64]| {
        let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close && found.len() == expected.len(), "{found:?} is not {expected:?}");
    };
    let spread = [0.184_417, 0.341_171, 0.474_412];
    near(&ranks(""), &spread);
    near(&ranks("--tolerance 1e-12"), &spread);
    near(&ranks("--precision f32"), &spread);
    near(&ranks("--damping 0"), &[1.0 / 3.0; 3]);
    near(&ranks("--dangling unnormalized --iterations 5"), &[0.15, 0.2775, 0.385_875]);
    near(&ranks("--dangling drop --iterations 5"), &[0.05, 0.0925, 0.128_625]);
    near(&ranks("--undirected --dangling networkx"), &[0.256_757, 0.486_486, 0.256_757]);
    near(&ranks("--damping 0.5 --iterations 1"), &[0.222_222, 0.388_889, 0.388_889]);
}

#[test]
fn ranks_that_have_not_settled_are_said_to_be_so() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("run pagerank rmat:8 --iterations 2 --tolerance 1e-9");
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("have not settled after 2 iterations"), "{}", ended.stderr);
    let ended = sandbox.run("run pagerank rmat:8 --iterations 2");
    assert!(!ended.stderr.contains("settled"), "{}", ended.stderr);
}

#[test]
fn spmv_multiplies_weights() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.csv", "source,target,weight\n0,1,2.5\n2,1,4\n1,0,-1\n");
    let values = |options: &str| sandbox.must(&format!("run spmv graph.csv -o - {options}"));
    assert_eq!(values(""), "vertex,value\n0,-1.0\n1,6.5\n2,0.0\n");
    assert_eq!(values("--no-weights"), "vertex,value\n0,1.0\n1,2.0\n2,0.0\n");
    assert_eq!(values("--iterations 2"), "vertex,value\n0,-6.5\n1,-2.5\n2,0.0\n");
}
