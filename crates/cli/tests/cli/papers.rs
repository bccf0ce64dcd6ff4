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
    assert_eq!(run("--threads 1"), run("--threads 3 --memory 1G --cache 0"));
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
    let (pairs, said) = found("");
    near(&pairs, &[4.0, 7.0, 9.0, 10.0, 10.0]);
    near(&[said["effective_diameter"].as_f64().unwrap()], &[2.0]);
    // Vertices that no edge leads to are balls too, whether or not they have a row of their own.
    near(&found("--vertices 10").0, &[10.0, 13.0, 15.0, 16.0, 16.0]);
    near(&found("--vertices 5000000000").0[..1], &[5e9]);
    let said = sandbox.run("run hyperball path.csv --iterations 2").stderr;
    assert!(said.contains("are within 2 edges of each other, and there are more"), "{said}");
    let said = sandbox.run("run hyperball path.csv").stderr;
    assert!(said.contains("pairs of vertices are joined by paths"), "{said}");
    assert!(said.contains("edges, the effective diameter\n"), "{said}");
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
