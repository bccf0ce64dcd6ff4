//! Oracles and graphs that the tests of all crates measure themselves against.
//!
//! Three kinds of oracle, none of which shares code with what it judges: answers that others
//! computed ([`answers`], [`samples`], [`validation`]), answers that mathematics gives
//! ([`closed_form`]), and plain sequential programs of a different shape
//! ([`reference`](mod@reference), [`plain`], and [`interpreter`] for any program, on what
//! [`reading`] makes of the edges). [`strategies`] makes the random graphs that they are compared
//! on, [`patterns`] the lopsided ones that budgets are compared with; [`hashed`] notices what
//! happens to edges that have state, and [`executors`] lists all that must agree. [`seeds`] runs
//! fuzz targets without a fuzzer. [`bucket`] is a store of objects, with its faults.
//!
//! Invariant: only a dev-dependency, or a dependency of the benchmarks. Checked in
//! `layers::check_manifest`. This crate may panic: a test that cannot read its answers has failed.

pub mod answers;
pub mod blind;
pub mod bucket;
pub mod closed_form;
pub mod emulators;
pub mod executors;
mod folder;
pub mod graph;
pub mod hashed;
pub mod interpreter;
pub mod npy;
pub mod patterns;
pub mod plain;
pub mod puzzles;
pub mod reading;
pub mod reference;
pub mod samples;
pub mod seeds;
pub mod strategies;
pub mod validation;

/// The largest `|found - expected| / |expected|`; where `expected` is 0, the largest `|found|`.
/// LDBC Graphalytics accepts up to 1e-4.
///
/// # Panics
/// When the slices are not equally long, or a number is not finite.
pub fn relative_error(expected: &[f64], found: &[f64]) -> f64 {
    assert_eq!(expected.len(), found.len(), "as many numbers as expected");
    let errors = expected.iter().zip(found).map(|(&expected, &found)| {
        assert!(expected.is_finite() && found.is_finite(), "{expected} and {found} are finite");
        let error = (found - expected).abs();
        if expected == 0.0 { error } else { error / expected.abs() }
    });
    errors.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::relative_error;

    #[test]
    fn the_largest_error_counts() {
        assert_eq!(relative_error(&[], &[]).to_bits(), 0.0_f64.to_bits());
        let error = relative_error(&[1.0, -2.0, 0.0], &[1.1, -2.5, 0.01]);
        assert!((error - 0.25).abs() < 1e-12);
    }

    #[test]
    #[should_panic(expected = "finite")]
    fn not_a_number_is_never_close() {
        relative_error(&[1.0], &[f64::NAN]);
    }
}
