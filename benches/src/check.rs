//! Comparing answers with each other: what is wrong is not measured.

use anyhow::{Result, ensure};

/// Sum of the differences between ranks by id and those of a reference, relative to the sum of the
/// reference, over the ids that are vertices. `scale` multiplies the ranks first.
pub(crate) fn distance(reference: &[f64], ranks: &[Option<f64>], scale: f64) -> f64 {
    let mut difference = 0.0;
    let mut sum = 0.0;
    for (reference, rank) in reference.iter().zip(ranks) {
        if let Some(rank) = rank {
            difference += (rank * scale - reference).abs();
            sum += reference;
        }
    }
    difference / sum
}

/// Refuses to continue with ranks that are further from the reference than `most`.
pub(crate) fn agree(who: &str, distance: f64, most: f64) -> Result<f64> {
    // Not a number is no answer either.
    ensure!(distance <= most, "{who}: ranks differ by {distance:.2e} (L1), more than {most:.0e}");
    Ok(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_relative_and_skips_what_is_no_vertex() {
        let reference = [0.5, 0.25, 9.0, 0.25];
        let exact = [Some(0.25), Some(0.125), None, Some(0.125)];
        assert!(distance(&reference, &exact, 2.0).abs() < 1e-15);
        let off = [Some(0.5), Some(0.15), None, Some(0.25)];
        assert!((distance(&reference, &off, 1.0) - 0.1).abs() < 1e-12);
        assert!(agree("x", 0.2, 0.1).is_err() && agree("x", f64::NAN, 0.1).is_err());
    }
}
