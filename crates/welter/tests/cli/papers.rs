//! The algorithms of the papers' evaluations, as a user runs them.

use serde_json::Value;

use crate::sandbox::Sandbox;

/// The report of a run, after which nothing else is left.
fn report(sandbox: &Sandbox, line: &str) -> Value {
    sandbox.must(&format!("run {line} -q --report report.json"));
    serde_json::from_slice(&sandbox.read("report.json")).unwrap()
}

/// The rows of a table of numbers, without the ids.
fn rows(table: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| line.split(',').skip(1).map(|cell| cell.parse().unwrap()).collect();
    table.lines().skip(1).map(numbers).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 0.05 * expected;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_near), "{found:?}");
}

/// 1 -> 2 -> 3 -> 4.
const PATH: &str = "1,2\n2,3\n3,4\n";

#[test]
fn hyperball_says_who_reaches_whom_and_how_far_that_is() {
    let sandbox = Sandbox::new();
    sandbox.write("path.csv", PATH);
    let run = |options: &str| {
        let registers = if options.contains("--registers") { "" } else { "--registers 256" };
        sandbox.must(&format!("run hyperball path.csv -q -o - {registers} {options}"))
    };
    let into = run("");
    assert!(into.starts_with("vertex,harmonic,closeness,ball\n1,0.0,0.0,1.0\n"), "{into}");
    let last = 1.0 + 1.0 / 2.0 + 1.0 / 3.0;
    near(&rows(&into)[3], &[last, 1.0 / 6.0, 4.0]);
    near(&rows(&run("--direction in"))[0], &[last, 1.0 / 6.0, 4.0]);
    near(&rows(&run("--direction both"))[1], &[2.5, 1.0 / 4.0, 4.0]);
    near(&rows(&run("--iterations 1"))[3], &[1.0, 1.0, 2.0]);
    assert_ne!(run("--seed 2 --registers 16"), run("--seed 3 --registers 16"));
    assert_eq!(run("--threads 1"), run("--threads 3 --memory 1G --edge-memory 0"));
}

#[test]
fn hyperball_reports_the_neighbourhood_function() {
    let sandbox = Sandbox::new();
    sandbox.write("path.csv", PATH);
    let found = |options: &str| {
        let line = format!("hyperball path.csv --registers 256 {options}");
        let found = report(&sandbox, &line)["found"].take();
        let pairs = found["neighbourhood"].as_array().unwrap().iter();
        (pairs.map(|pairs| pairs.as_f64().unwrap()).collect::<Vec<_>>(), found)
    };
    let (pairs, findings) = found("");
    near(&pairs, &[4.0, 7.0, 9.0, 10.0, 10.0]);
    near(&[findings["effective_diameter"].as_f64().unwrap()], &[2.0]);
    // Vertices that no edge leads to are balls too, whether or not they have a row of their own.
    near(&found("--vertices 10").0, &[10.0, 13.0, 15.0, 16.0, 16.0]);
    near(&found("--vertices 5000000000").0[..1], &[5e9]);
    let stderr = sandbox.run("run hyperball path.csv --iterations 2").stderr;
    assert!(stderr.contains("are within 2 edges of each other, and there are more"), "{stderr}");
    let stderr = sandbox.run("run hyperball path.csv").stderr;
    assert!(stderr.contains("pairs of vertices are joined by paths"), "{stderr}");
    assert!(stderr.contains("edges, the effective diameter\n"), "{stderr}");
}

#[test]
fn hyperball_has_no_other_numbers_of_registers() {
    let sandbox = Sandbox::new();
    sandbox.write("path.csv", PATH);
    for options in ["--registers 7", "--iterations 0", "--direction up", "--seed -1"] {
        let ended = sandbox.run(&format!("run hyperball path.csv {options}"));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{options}");
    }
}

/// Two triangles that share an edge, and a tail that goes both ways.
const DIAMOND: &str = "1,2\n2,3\n3,1\n2,4\n4,3\n4,5\n5,4\n";

#[test]
fn communities_are_named_by_their_smallest_label() {
    let sandbox = Sandbox::new();
    sandbox.write("two.csv", "1,2\n2,3\n3,1\n4,5\n5,6\n6,4\n");
    let found = sandbox.must("run cdlp two.csv -q -o -");
    assert_eq!(found, "vertex,community\n1,1\n2,1\n3,1\n4,4\n5,4\n6,4\n");
    let stderr = sandbox.run("run cdlp two.csv").stderr;
    let note = "2 communities, the largest with 3 vertices; the last iteration changed 0 labels";
    assert!(stderr.contains(note), "{stderr}");
    // After one iteration each has the label of its smallest neighbour.
    let found = sandbox.must("run cdlp two.csv -q -o - --iterations 1 --route spill");
    assert!(found.contains("\n1,2\n2,1\n3,1\n"), "{found}");
    let found = report(&sandbox, "cdlp two.csv --vertices 5000000000")["found"].take();
    assert_eq!(found["communities"], 5_000_000_000_u64 - 4);
    assert_eq!(sandbox.run("run cdlp two.csv --iterations 0").code, Some(2));
}

#[test]
fn core_numbers_count_neighbours_once() {
    let sandbox = Sandbox::new();
    sandbox.write("diamond.csv", format!("{DIAMOND}1,1\n"));
    let expected = "vertex,core\n1,2\n2,2\n3,2\n4,2\n5,1\n";
    assert_eq!(sandbox.must("run kcore diamond.csv -q -o -"), expected);
    assert_eq!(sandbox.must("run kcore diamond.csv -q -o - --route spill"), expected);
    assert!(sandbox.run("run kcore diamond.csv").stderr.contains("innermost core is a 2-core"));
    let refused = sandbox.run("run kcore diamond.csv --route ranges");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("take fold or spill"), "{}", refused.stderr);
}

#[test]
fn triangles_have_three_corners() {
    let sandbox = Sandbox::new();
    sandbox.write("diamond.csv", DIAMOND);
    let expected = "vertex,triangles\n1,1\n2,2\n3,2\n4,1\n5,0\n";
    for options in ["", "--threads 1", "--edge-memory 0 --memory 1G", "--drop-duplicates"] {
        let line = format!("run triangles diamond.csv -q -o - {options}");
        assert_eq!(sandbox.must(&line), expected, "{options}");
    }
    assert!(sandbox.run("run triangles diamond.csv").stderr.contains("2 triangles"));
    let refused = sandbox.run("run triangles diamond.csv --checkpoint there");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("nothing to resume from"), "{}", refused.stderr);
}

#[test]
fn clustering_counts_the_ways_that_edges_go() {
    let sandbox = Sandbox::new();
    sandbox.write("diamond.csv", DIAMOND);
    let run = |input: &str, options: &str| {
        rows(&sandbox.must(&format!("run lcc {input} -q -o - {options}"))).concat()
    };
    // 1 has neighbours 2 and 3, joined one way; 4 has 2, 3 and 5, of which 2 and 3 are joined.
    let directed = [1.0 / 2.0, 2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0, 0.0];
    near(&run("diamond.csv", "--directed"), &directed);
    near(&run("diamond.csv", ""), &directed);
    let undirected = directed.map(|share| 2.0 * share);
    near(&run("diamond.csv", "--undirected"), &undirected);
    sandbox.must("ingest diamond.csv -q -o kept");
    near(&run("kept", ""), &directed);
    near(&run("kept", "--undirected"), &undirected);
    sandbox.must("ingest diamond.csv --undirected --drop-duplicates -q -o both");
    near(&run("both", ""), &undirected);
    let found = report(&sandbox, "lcc diamond.csv")["found"]["mean"].as_f64().unwrap();
    near(&[found], &[directed.iter().sum::<f64>() / 5.0]);
}

#[test]
fn mis_finds_a_set_that_the_seed_picks_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox.write("star.csv", "0,1\n2,0\n0,3\n0,0\n");
    let run = |options: &str| sandbox.must(&format!("run mis star.csv -q -o - {options}"));
    let centre = "vertex,in_set\n0,1\n1,0\n2,0\n3,0\n";
    let leaves = "vertex,in_set\n0,0\n1,1\n2,1\n3,1\n";
    let found: Vec<String> = (0..24).map(|seed| run(&format!("--seed {seed}"))).collect();
    assert!(found.iter().all(|set| set == centre || set == leaves), "{found:?}");
    assert!(found.iter().any(|set| set == centre) && found.iter().any(|set| set == leaves));
    for (seed, found) in found.iter().enumerate() {
        let options =
            format!("--seed {seed} --threads 3 --memory 64M --edge-memory 0 --route spill");
        assert_eq!(run(&options), *found, "{seed}");
    }
    // A vertex without edges is in the set, with or without a row.
    let size = |options: &str| {
        let report = report(&sandbox, &format!("mis star.csv {options}"));
        report["found"]["set"].as_u64().unwrap()
    };
    let alone = size("");
    assert_eq!(size("--vertices 10"), alone + 6);
    assert_eq!(size("--vertices 5000000000"), alone + 4_999_999_996);
    let stderr = sandbox.run("run mis star.csv --vertices 10").stderr;
    assert!(stderr.contains(&format!("{} of 10 vertices are in the set", alone + 6)), "{stderr}");
}

/// Two triangles, 1 to 3 and 4 to 6, and a bridge.
const TRIANGLES: &str = "1,2\n2,3\n3,1\n4,5\n5,6\n6,4\n3,4\n";

#[test]
fn conductance_is_of_the_sides_that_a_table_says() {
    let sandbox = Sandbox::new();
    sandbox.write("two.csv", TRIANGLES);
    sandbox.write("sides.csv", "id,group,age\n1,1,40\n2,1,41\n3,1,39\n4,0,70\n5,0,7\n6,0,41\n");
    let found = |options: &str| report(&sandbox, &format!("conductance {options}"))["found"].take();
    let findings = found("two.csv --membership sides.csv");
    let expected = concat!(
        r#"{"conductance":0.14285714285714285,"cut":1,"#,
        r#""vertices":{"rest":3,"set":3},"volume":{"rest":7,"set":7}}"#
    );
    assert_eq!(findings.to_string(), expected);
    let rows = sandbox.must("run conductance two.csv -q -o - --membership sides.csv");
    assert_eq!(rows, "vertex,across,side\n1,0,1\n2,0,1\n3,1,1\n4,1,0\n5,0,0\n6,0,0\n");
    // Vertices above 40 are 2, 4 and 6; none is above 70, so that side has no edges.
    let old = found("two.csv --membership sides.csv --membership-column age --membership-above 40");
    assert_eq!((old["cut"].as_u64(), old["volume"]["set"].as_u64()), (Some(5), Some(7)));
    let none = "two.csv --membership sides.csv --membership-column 3 --membership-above 70";
    let nothing = found(none);
    assert!(nothing["conductance"].is_null() && nothing["vertices"]["set"] == 0, "{nothing}");
    let text = sandbox.run(&format!("run conductance {none}")).stderr;
    assert!(text.contains("no conductance, as a side has no edges"), "{text}");
    let text = sandbox.run("run conductance two.csv --membership sides.csv").stderr;
    let line = "conductance 0.142857: the cut is 1, the volumes 7 (3 vertices) and 7 (3 vertices)";
    assert!(text.contains(line), "{text}");
    // Vertices that are not in the table.
    sandbox.write("few.csv", "1,1\n2,1\n3,1\n");
    assert_eq!(found("two.csv --membership few.csv --membership-default 0").to_string(), expected);
    let ended = sandbox.run("run conductance two.csv --membership few.csv");
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
}

#[test]
fn conductance_is_of_odd_ids_unless_told_otherwise() {
    let sandbox = Sandbox::new();
    sandbox.write("two.csv", TRIANGLES);
    let found = |options: &str| report(&sandbox, &format!("conductance {options}"))["found"].take();
    let cut = |found: &Value| (found["cut"].as_f64(), found["volume"]["set"].as_f64());
    // 3-1, 4-6 stay on their sides.
    let both = found("two.csv");
    assert_eq!((cut(&both), both["vertices"]["set"].as_u64()), ((Some(5.0), Some(7.0)), Some(3)));
    assert_eq!(cut(&found("two.csv --vertices 100 --memory 64M --edge-memory 0")), cut(&both));
    // Ids that are far apart; of names every second one.
    let far: String = TRIANGLES.replace('1', "1000000000001").replace('4', "4000000000004");
    sandbox.write("far.csv", &far);
    assert_eq!(cut(&found("far.csv")), cut(&both));
    let names = found("two.csv --ids strings");
    assert_eq!((cut(&names), names["vertices"]["set"].as_u64()), (cut(&both), Some(3)));
    // 1 -> 2, 3 -> 4, 5 -> 6 leave odd ids, 2 -> 3 and 4 -> 5 come to them, 3 -> 1 does neither.
    assert_eq!(cut(&found("two.csv --direction out")), (Some(3.0), Some(4.0)));
    assert_eq!(cut(&found("two.csv --direction in")), (Some(2.0), Some(3.0)));
    // Weights are added up where that is wanted.
    sandbox.write("heavy.csv", "a,b,weight,v\n1,2,0.5,1\n2,3,2,1\n1,3,4,1\n");
    assert_eq!(cut(&found("heavy.csv")), (Some(2.0), Some(4.0)));
    assert_eq!(cut(&found("heavy.csv --weighted")), (Some(2.5), Some(10.5)));
    assert_eq!(cut(&found("heavy.csv --weighted --weight v")), (Some(2.0), Some(4.0)));
    let many = "two.csv --vertices 5000000000";
    let ended = sandbox.run(&format!("run conductance {many}"));
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    sandbox.write("sides.csv", "1,1\n2,1\n3,1\n");
    let findings = found(&format!("{many} --membership sides.csv --membership-default 0"));
    assert_eq!(
        (cut(&findings), findings["vertices"]["rest"].as_u64()),
        ((Some(1.0), Some(7.0)), Some(4_999_999_997))
    );
    sandbox.write("sides.csv", "1,1\n2,1\n3,1\n1000,1\n");
    let ended = sandbox
        .run(&format!("run conductance {many} --membership sides.csv --membership-default 0"));
    assert_eq!(ended.code, Some(65), "{}", ended.stderr);
    assert!(ended.stderr.contains("sides.csv: row 4: expected the id of a vertex with edges"));
    sandbox.write("minus.csv", "1,2,-1\n");
    for (line, code) in [
        ("two.csv --membership-above 3", 2),
        ("two.csv --weight 3", 2),
        ("two.csv --membership none.csv", 66),
        ("minus.csv --weighted", 65),
        ("two.csv --weighted", 65),
        ("minus.csv", 0),
    ] {
        let ended = sandbox.run(&format!("run conductance {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
    }
}

#[test]
fn bp_is_exact_where_there_are_no_cycles() {
    let sandbox = Sandbox::new();
    sandbox.write("path.csv", PATH);
    sandbox.write("known.csv", "id,good,bad\n1,3,1\n");
    let run = |options: &str| {
        rows(&sandbox.must(&format!("run bp path.csv -q -o - --priors-from known.csv {options}")))
    };
    // The message of 1 loses half of its lean at every step, and none sends it back to 1.
    let exact: [&[f64]; 4] =
        [&[0.75, 0.25], &[0.625, 0.375], &[0.5625, 0.4375], &[0.53125, 0.46875]];
    for iterations in [3, 4, 30] {
        within(&run(&format!("--coupling 0.75 --iterations {iterations}")), &exact, 1e-6);
    }
    let [sure, ..] = &run("--coupling 0.75 --iterations 30 --messages vertex")[..] else {
        panic!()
    };
    assert!(sure[0] > 0.8, "{sure:?}");
    let same = run("--coupling 0.75 --iterations 3 --threads 3 --memory 64M --edge-memory 0");
    assert_eq!(run("--coupling 0.75 --iterations 3"), same);
    // A weight is an exponent of psi.
    sandbox.write("path.csv", "1,2,2\n");
    let lean = 0.36 / (0.36 + 0.16);
    let second = 0.75 * lean + 0.25 * (1.0 - lean);
    within(&run("")[1..], &[&[second, 1.0 - second]], 1e-6);
    // It is known of edges when they settle, and of many vertices how they are expected.
    let outcome =
        report(&sandbox, "bp path.csv --tolerance 1e-6 --iterations 99 --vertices 5000000000");
    assert!(outcome["iterations"].as_u64().unwrap() < 9, "{outcome}");
    let expected = outcome["found"]["expected"][0].as_f64().unwrap();
    assert!((expected - 2.5e9).abs() < 1.0, "{outcome}");
    let plan = sandbox.must("explain bp path.csv");
    assert!(plan.contains("states of edges"), "{plan}");
}

#[test]
fn bp_settles_what_swings_by_damping() {
    let sandbox = Sandbox::new();
    // All of six vertices are neighbours.
    let edges = "1,2\n1,3\n1,4\n1,5\n1,6\n2,3\n2,4\n2,5\n2,6\n3,4\n3,5\n3,6\n4,5\n4,6\n5,6\n";
    sandbox.write("all.csv", edges);
    sandbox.write("known.csv", "1,3,2\n2,3,2\n3,3,2\n4,3,2\n5,3,2\n6,3,2\n");
    let change = |options: &str| {
        let line = format!("bp all.csv --priors-from known.csv --coupling 0.1 {options}");
        report(&sandbox, &line)["found"]["change"].as_f64().unwrap()
    };
    assert!(change("--iterations 60") > 0.5);
    assert!(change("--iterations 60 --damping 0.7") < 1e-6);
}

#[test]
fn bp_spreads_what_is_known() {
    let sandbox = Sandbox::new();
    sandbox.write("path.csv", PATH);
    sandbox.write("known.csv", "id,good,bad\n1,3,1\n");
    let run = |options: &str| {
        rows(&sandbox.must(&format!("run bp path.csv -q -o - --messages vertex {options}")))
    };
    // Nothing is known, so nothing is believed.
    assert!(run("").iter().flatten().all(|belief| (belief - 0.5).abs() < 1e-12));
    // The message of 1 loses half of its lean at every step, and is received one step further an
    // iteration.
    let once = run("--priors-from known.csv --coupling 0.75 --iterations 1");
    near_to(&once, &[&[0.75, 0.25], &[0.625, 0.375], &[0.5, 0.5], &[0.5, 0.5]]);
    let same = run("--priors-from known.csv --potential 9,3,3,9 --iterations 1");
    near_to(&same, &[&[0.75, 0.25], &[0.625, 0.375], &[0.5, 0.5], &[0.5, 0.5]]);
    // Unlike neighbours; more states than are known of take the rest of the table.
    let unlike = run("--priors-from known.csv --coupling 0.25 --iterations 1");
    near_to(&unlike[1..2], &[&[0.375, 0.625]]);
    sandbox.write("three.csv", "2,1,0,0\n");
    let three = run("--states 3 --priors-from three.csv --coupling 0.5 --iterations 1");
    near_to(&three[..3], &[&[0.5, 0.25, 0.25], &[1.0, 0.0, 0.0], &[0.5, 0.25, 0.25]]);
    let options = "--priors-from known.csv --iterations 7";
    assert_eq!(run(options), run(&format!("{options} --threads 3 --memory 64M --edge-memory 0")));
}

#[track_caller]
fn near_to(found: &[Vec<f64>], expected: &[&[f64]]) {
    within(found, expected, 1e-12);
}

#[track_caller]
fn within(found: &[Vec<f64>], expected: &[&[f64]], allowed: f64) {
    let off = found.iter().flatten().zip(expected.iter().copied().flatten());
    let most = off.map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
    assert!(found.len() == expected.len() && most < allowed, "{found:?}, not {expected:?}");
}

#[test]
fn bp_counts_weights_and_says_whether_beliefs_settled() {
    let sandbox = Sandbox::new();
    sandbox.write("edge.csv", "1,2,2\n");
    sandbox.write("twice.csv", "1,2\n2,1\n");
    sandbox.write("known.csv", "1,3,1\n");
    let run = |options: &str| {
        let line = format!("run bp {options} -q -o - --messages vertex --priors-from known.csv");
        rows(&sandbox.must(&line))
    };
    near_to(&run("twice.csv"), &run("edge.csv").iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_ne!(run("edge.csv --no-weights"), run("edge.csv"));
    let line = "bp edge.csv --priors-from known.csv --iterations 1000 --tolerance 1e-9 \
                --messages vertex";
    let outcome = report(&sandbox, line);
    let iterations = outcome["iterations"].as_u64().unwrap();
    assert!((5..1000).contains(&iterations), "{iterations}");
    let found = &outcome["found"];
    assert!(found["change"].as_f64().unwrap() < 1e-9, "{found}");
    let expected =
        |of: &Value| of["expected"][0].as_f64().unwrap() + of["expected"][1].as_f64().unwrap();
    assert!((expected(found) - 2.0).abs() < 1e-9, "{found}");
    let line = "bp edge.csv --vertices 5000000000 --messages vertex";
    let many = report(&sandbox, line)["found"].take();
    assert!((expected(&many) - 5e9).abs() < 1.0, "{many}");
    let text = sandbox.run("run bp edge.csv --priors-from known.csv").stderr;
    assert!(text.contains("expected vertices in each state: "), "{text}");
}

#[test]
fn bp_refuses_what_is_no_probability() {
    let sandbox = Sandbox::new();
    sandbox.write("edge.csv", "1,2,2\n");
    sandbox.write("minus.csv", "1,2,-2\n");
    sandbox.write("none.csv", "1,0,0\n");
    sandbox.write("below.csv", "2,1,-1\n");
    for (line, code, message) in [
        ("edge.csv --coupling 0", 2, "--coupling must lie between 0 and 1"),
        ("edge.csv --coupling 1.5", 2, "expected a number from 0 to 1"),
        ("edge.csv --potential 1,2,3", 2, "2 states take 4 numbers, not 3"),
        ("edge.csv --potential 1,2,3,1", 2, "the same both ways"),
        ("edge.csv --potential 1,0,0,1", 2, "numbers above 0"),
        ("edge.csv --potential 1e20,1e-20,1e-20,1", 2, "--potential: messages of edges take no"),
        ("edge.csv --coupling 1e-50", 2, "--coupling: messages of edges take no"),
        ("edge.csv --coupling 1e-50 --messages vertex", 0, "expected vertices"),
        ("edge.csv --potential 1,x", 2, "expected numbers, found x"),
        ("edge.csv --potential 2,1,1,2 --coupling 0.7", 2, "cannot be used with"),
        ("edge.csv --states 5", 2, "--states"),
        ("edge.csv --iterations 0", 2, "--iterations"),
        ("edge.csv --messages both", 2, "--messages"),
        ("edge.csv --damping 1", 2, "below 1"),
        ("edge.csv --damping=-0.5", 2, "from 0 to 1"),
        ("edge.csv --damping 0.5 --messages vertex", 2, "which --messages vertex does without"),
        ("edge.csv --route spill", 0, "expected vertices"),
        ("edge.csv --memory 1M", 78, "give it --memory"),
        ("edge.csv --priors-from -", 2, "standard input"),
        ("edge.csv --priors-from gone.csv", 66, "gone.csv"),
        ("edge.csv --priors-from none.csv", 65, "not all 0, found others of 1"),
        ("edge.csv --priors-from below.csv", 65, "not negative, and not all 0, found others of 2"),
        ("edge.csv --states 3 --priors-from none.csv", 65, "none.csv"),
        ("minus.csv", 65, "minus.csv"),
    ] {
        let ended = sandbox.run(&format!("run bp {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
}

/// Rank 1: users that like everything 1, 2 and 3 times as much, items that are 1 and 2 worth.
const RATINGS: &str = "user,item,weight\nu1,i1,1\nu1,i2,2\nu2,i1,2\nu2,i2,4\nu3,i1,3\nu3,i2,6\n";

#[test]
fn als_finds_factors_whose_products_are_the_ratings() {
    let sandbox = Sandbox::new();
    sandbox.write("ratings.csv", RATINGS);
    let options = "--factors 4 --lambda 1e-6 --iterations 20";
    let table = sandbox.must(&format!("run als ratings.csv -q -o - {options}"));
    assert!(table.starts_with("vertex,factor_1,factor_2,factor_3,factor_4\ni1,"), "{table}");
    let factors = rows(&table);
    let product = |item: usize, user: usize| -> f64 {
        factors[item].iter().zip(&factors[user]).map(|(x, y)| x * y).sum()
    };
    for (user, item) in [(2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)] {
        let rating = (user - 1) as f64 * (item + 1) as f64;
        assert!((product(item, user) - rating).abs() < 0.01, "{table}");
    }
    let again =
        format!("run als ratings.csv -q -o - {options} --threads 3 --memory 1G --edge-memory 0");
    assert_eq!(sandbox.must(&again), table);
    assert_ne!(sandbox.must(&format!("run als ratings.csv -q -o - {options} --seed 2")), table);
    let outcome = report(&sandbox, &format!("als ratings.csv {options}"));
    let found = &outcome["found"];
    let rmse: Vec<f64> =
        found["rmse"].as_array().unwrap().iter().map(|rmse| rmse.as_f64().unwrap()).collect();
    assert_eq!((rmse.len(), outcome["iterations"].as_u64()), (20, Some(20)));
    assert!(rmse.windows(2).all(|two| two[1] <= two[0] + 1e-6) && rmse[19] < 0.01, "{rmse:?}");
    let counts = ["ratings", "users", "items"].map(|name| found[name].as_u64().unwrap());
    assert_eq!(counts, [6, 3, 2]);
    let text = sandbox.run("run als ratings.csv --iterations 3").stderr;
    assert!(text.contains("after one iteration; 6 ratings of 3 users and 2 items"), "{text}");
}

#[test]
fn als_wants_ratings_from_users_to_items() {
    let sandbox = Sandbox::new();
    sandbox.write("ratings.csv", RATINGS);
    sandbox.write("named.csv", RATINGS.replace("weight", "rating"));
    sandbox.write("path.csv", PATH);
    sandbox.write("same.csv", "1,2,5\n3,1,4\n");
    sandbox.write("loop.csv", "1,2,5\n3,3,4\n3,2,1\n");
    for (line, code, message) in [
        ("path.csv", 65, "als needs ratings"),
        ("ratings.csv --no-weights", 65, "als needs ratings"),
        ("named.csv --header", 0, "6 ratings of 3 users and 2 items"),
        ("named.csv --header --weight rating", 0, "6 ratings of 3 users and 2 items"),
        ("same.csv", 65, "1 rates and is rated"),
        ("loop.csv", 65, "3 rates and is rated"),
        ("loop.csv --drop-self-loops", 0, "2 ratings of 2 users and 1 item"),
        ("ratings.csv --lambda 0", 2, "expected a number above 0"),
        ("ratings.csv --factors 5", 2, "--factors"),
        ("ratings.csv --iterations 0", 2, "--iterations"),
    ] {
        let ended = sandbox.run(&format!("run als {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
    // Of a kept graph it is known which way edges went, unless it was kept both ways.
    sandbox.must("ingest ratings.csv -o one -q");
    sandbox.must("ingest ratings.csv -o both --undirected -q");
    let table = sandbox.must("run als ratings.csv -q -o -");
    assert_eq!(sandbox.must("run als one -q -o -"), table);
    let ended = sandbox.run("run als both");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("was kept with every edge both ways"), "{}", ended.stderr);
}
