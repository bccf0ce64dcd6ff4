//! The reference against what others computed: only what has been judged may judge.
//!
//! Each test that needs the shared data says loudly when it is missing, and passes.

use welter_testing::graph::Graph;
use welter_testing::reference::{Dangling, Stop, pagerank};
use welter_testing::relative_error;
use welter_testing::samples::{self, Shape, samples};
use welter_testing::validation::{Case, Outcome, cases, lagraph};

#[test]
fn twenty_iterations_on_every_sample() {
    for sample in samples() {
        let answers = sample.answers();
        let graph = sample.load_simple(&answers);
        let expected = answers.floats("pr20").expect("every sample has pr20");
        let found = pagerank(&graph, 0.85, Stop::Iterations(20), Dangling::Spread);
        let error = relative_error(expected, &found);
        println!("{}: pr20 within {error:.1e}", sample.name);
        assert!(error < 1e-11, "{}: {error}", sample.name);
    }
}

#[test]
fn converged_ranks_on_every_sample_that_has_them() {
    for sample in samples() {
        let answers = sample.answers();
        let Some(expected) = answers.floats("pr_converged") else { continue };
        let graph = sample.load_simple(&answers);
        let found = pagerank(&graph, 0.85, Stop::Tolerance(1e-13), Dangling::Spread);
        let error = relative_error(expected, &found);
        println!("{}: pr_converged within {error:.1e}", sample.name);
        assert!(error < 1e-9, "{}: {error}", sample.name);
    }
}

#[test]
fn the_outputs_of_ldbc_and_libgrape() {
    let mut count = 0;
    for Case { name, rows, undirected, outcome, ids, expected, .. } in cases() {
        let Outcome::Ranks { iterations, error_max } = outcome else { continue };
        let graph = Graph::from_ids(&ids, &rows.pairs, None);
        let graph = if undirected { graph.undirected().simple() } else { graph };
        let found = pagerank(&graph, 0.85, Stop::Iterations(iterations), Dangling::Spread);
        let error = relative_error(&expected, &found);
        println!("{name}: within {error:.1e}");
        assert!(error < error_max, "{name}: {error}");
        count += 1;
    }
    // Results of all that have them, or none where the shared data is missing.
    assert!([0, 5].contains(&count), "{count} results");
}

#[test]
fn the_numbers_of_lagraph() {
    let Some(known) = lagraph() else { return };
    for (path, expected) in &known.ranks {
        let rows = samples::read(path, Shape::MatrixMarket);
        let ids: Vec<u64> = (1..=expected.len() as u64).collect();
        let graph = Graph::from_ids(&ids, &rows.pairs, None);
        let found = pagerank(&graph, 0.85, Stop::Tolerance(1e-12), Dangling::Spread);
        let error = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{}: within {error:.1e} absolutely", path.display());
        assert!(error < 5e-5, "{}: {error}", path.display());
    }
}

/// Ranks that `networkx.pagerank` of NetworkX 3.6.1 returned, tolerance and all: they agree to
/// the last digits only when the iteration ends where its own does.
#[test]
fn networkx_with_its_own_stopping_rule() {
    let pairs = [(1, 2), (1, 3), (3, 1), (3, 2), (3, 5), (4, 5), (4, 6), (5, 4), (5, 6), (6, 4)];
    let ids: Vec<u64> = (1..=6).collect();
    let graph = Graph::from_ids(&ids, &pairs, None);
    let expected = [
        0.037_211_973_379_326_39,
        0.053_957_363_787_491_906,
        0.041_505_663_025_778_45,
        0.375_080_798_428_761_35,
        0.205_998_327_873_808_84,
        0.286_245_873_504_833_1,
    ];
    let found = pagerank(&graph, 0.9, Stop::Tolerance(1e-8), Dangling::NetworkX);
    assert!(relative_error(&expected, &found) < 1e-13, "{found:?}");

    let weighted = Graph { weights: Some((1..=10).map(f64::from).collect()), ..graph };
    let expected = [
        0.047_111_885_383_879_1,
        0.064_772_285_421_914_63,
        0.060_873_188_017_425_52,
        0.351_461_826_034_743_46,
        0.193_616_414_812_710_89,
        0.282_164_400_329_326_6,
    ];
    let found = pagerank(&weighted, 0.85, Stop::Tolerance(1e-6), Dangling::NetworkX);
    assert!(relative_error(&expected, &found) < 1e-13, "{found:?}");

    // A multigraph: the weights of parallel edges add up, a loop takes its share.
    let pairs = vec![[0, 1], [0, 1], [0, 2], [1, 1], [1, 2], [3, 0]];
    let weights = Some(vec![1.0, 2.0, 0.5, 4.0, 0.25, 1.5]);
    let multigraph = Graph { weights, ..Graph::new(4, pairs) };
    let expected = [
        0.112_799_017_409_079_05,
        0.715_770_669_747_527_8,
        0.110_457_947_428_305_04,
        0.060_972_365_415_087_91,
    ];
    let found = pagerank(&multigraph, 0.85, Stop::Tolerance(1e-6), Dangling::NetworkX);
    assert!(relative_error(&expected, &found) < 1e-13, "{found:?}");
}
