//! The algorithms of the designs, and plain loops over the file that their answers are held
//! against: another shape, in f64, without rows, messages and threads.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::baselines::pairs::PairFile;
use crate::check::{agree, distance};
use crate::engine::DAMPING;

/// Length where no path leads, for comparisons, which infinity does not go through.
const UNREACHED: f64 = 1e6;

/// An algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Algorithm {
    Pagerank,
    Sssp,
}

impl Algorithm {
    pub(super) const ALL: [Self; 2] = [Self::Pagerank, Self::Sssp];

    /// Name for commands and of numbers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pagerank => "pagerank",
            Self::Sssp => "sssp",
        }
    }

    /// The answer by id.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn answer(self, path: &Path, source: u32, iterations: usize) -> Result<Vec<f64>> {
        let file = PairFile::open(path)?;
        match self {
            Self::Pagerank => ranks(&file, iterations),
            Self::Sssp => paths(&file, source),
        }
    }

    /// Refuses values, by id where there are some, that are not those of the answer: lengths of
    /// paths are whole numbers, and ranks are sums of `f32`.
    ///
    /// # Errors
    /// When they are not.
    pub(super) fn check(self, who: &str, answer: &[f64], values: &[Option<f64>]) -> Result<()> {
        let finite = |value: f64| if value.is_finite() { value } else { UNREACHED };
        let answer: Vec<f64> = answer.iter().copied().map(finite).collect();
        let values: Vec<Option<f64>> = values.iter().map(|value| value.map(finite)).collect();
        let most = match self {
            Self::Pagerank => 1e-3,
            Self::Sssp => 0.0,
        };
        agree(who, distance(&answer, &values, 1.0), most)?;
        Ok(())
    }
}

/// Edges that leave each id, and how many ids some edge names.
fn degrees(file: &PairFile) -> Result<(Vec<u32>, u64)> {
    let (mut degrees, mut named) = (Vec::new(), Vec::new());
    file.visit(|pairs| {
        for &[source, target] in pairs {
            let ids = source.max(target) as usize + 1;
            if ids > named.len() {
                degrees.resize(ids, 0);
                named.resize(ids, false);
            }
            degrees[source as usize] += 1;
            (named[source as usize], named[target as usize]) = (true, true);
        }
    })?;
    Ok((degrees, named.into_iter().filter(|&is_named| is_named).count() as u64))
}

fn ranks(file: &PairFile, iterations: usize) -> Result<Vec<f64>> {
    let (degrees, vertices) = degrees(file)?;
    let vertices = vertices as f64;
    let mut ranks = vec![1.0 / vertices; degrees.len()];
    for _ in 0..iterations {
        let mut sums = vec![0.0; ranks.len()];
        file.visit(|pairs| {
            for &[source, target] in pairs {
                let share = ranks[source as usize] / f64::from(degrees[source as usize]);
                sums[target as usize] += share;
            }
        })?;
        ranks = sums.iter().map(|sum| (1.0 - DAMPING) / vertices + DAMPING * sum).collect();
    }
    Ok(ranks)
}

fn paths(file: &PairFile, source: u32) -> Result<Vec<f64>> {
    let mut lengths = vec![f64::INFINITY; degrees(file)?.0.len()];
    lengths[source as usize] = 0.0;
    let mut is_settled = false;
    while !is_settled {
        is_settled = true;
        file.visit(|pairs| {
            for &[source, target] in pairs {
                let length = lengths[source as usize] + 1.0;
                if length < lengths[target as usize] {
                    lengths[target as usize] = length;
                    is_settled = false;
                }
            }
        })?;
    }
    Ok(lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_loops_have_known_answers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.u32");
        // Two ways from 0 to 3, and 5 that nothing leads to; no edge names 4.
        let pairs: [[u32; 2]; 5] = [[0, 1], [1, 2], [2, 3], [0, 3], [5, 0]];
        std::fs::write(&path, bytemuck::cast_slice(&pairs)).unwrap();
        let lengths = Algorithm::Sssp.answer(&path, 0, 0).unwrap();
        let expected = [0.0, 1.0, 2.0, 1.0, f64::INFINITY, f64::INFINITY];
        let expected = expected.map(Some);
        Algorithm::Sssp.check("paths", &lengths, &expected).unwrap();
        let off = [Some(0.0), Some(1.0), Some(2.0), Some(2.0), None, None];
        assert!(Algorithm::Sssp.check("paths", &lengths, &off).is_err());
        let ranks = Algorithm::Pagerank.answer(&path, 0, 1).unwrap();
        let (base, share) = (0.03, 0.85 * 0.2);
        let sums = [1.0, 0.5, 1.0, 1.5, 0.0, 0.0];
        let expected = sums.map(|sum| Some(base + share * sum));
        Algorithm::Pagerank.check("ranks", &ranks, &expected).unwrap();
    }
}
