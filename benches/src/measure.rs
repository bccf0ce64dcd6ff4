//! Measuring contenders in turn.
//!
//! Machines are noisy: a neighbour wakes up, a clock slows down. So contenders take turns, round by
//! round, each round beginning with another one, and what is reported is the median of all samples.
//! A slow minute then slows all of them.

use anyhow::Result;

/// A contender: a program that is measured.
pub(crate) struct Contender<'a> {
    /// Name, as the table shows it.
    pub(crate) name: String,
    /// Worker threads.
    pub(crate) threads: usize,
    /// One turn: the seconds of each sample that it took.
    pub(crate) turn: Box<dyn FnMut() -> Result<Vec<f64>> + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        threads: usize,
        turn: impl FnMut() -> Result<Vec<f64>> + 'a,
    ) -> Self {
        Self { name: name.into(), threads, turn: Box::new(turn) }
    }
}

/// Samples of one contender.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    pub(crate) name: String,
    pub(crate) threads: usize,
    /// Seconds, ascending.
    pub(crate) seconds: Vec<f64>,
}

impl Samples {
    pub(crate) fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Fastest and slowest sample.
    pub(crate) fn range(&self) -> (f64, f64) {
        let at = |index: Option<&f64>| index.copied().unwrap_or(f64::NAN);
        (at(self.seconds.first()), at(self.seconds.last()))
    }
}

/// Lets contenders take turns for `rounds` rounds. `what` is told on standard error.
pub(crate) fn interleave(
    what: &str,
    mut contenders: Vec<Contender<'_>>,
    rounds: usize,
) -> Result<Vec<Samples>> {
    let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    for round in 0..rounds {
        eprintln!("{what}: round {} of {rounds}", round + 1);
        for turn in 0..contenders.len() {
            let index = (round + turn) % contenders.len();
            seconds[index].extend((contenders[index].turn)()?);
        }
    }
    Ok(contenders
        .into_iter()
        .zip(seconds)
        .map(|(contender, mut seconds)| {
            seconds.sort_by(f64::total_cmp);
            Samples { name: contender.name, threads: contender.threads, seconds }
        })
        .collect())
}

/// The middle of ascending numbers; the mean of the two in the middle where their number is even.
pub(crate) fn median(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    match ascending.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => ascending[middle],
        _ => f64::midpoint(ascending[middle - 1], ascending[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gets_every_round_and_another_begins_each() {
        let order = std::cell::RefCell::new(String::new());
        let contender = |name: char| {
            let order = &order;
            Contender::new(name, 1, move || {
                order.borrow_mut().push(name);
                Ok(vec![f64::from(u32::from(name))])
            })
        };
        let all = vec![contender('a'), contender('b'), contender('c')];
        let samples = interleave("test", all, 3).unwrap();
        assert_eq!(order.into_inner(), "abcbcacab");
        assert!(samples.iter().all(|samples| samples.seconds.len() == 3));
        assert_eq!(samples[1].name, "b");
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!(median(&[]).is_nan());
        assert!((median(&[1.0, 2.0, 9.0]) - 2.0).abs() < 1e-12);
        assert!((median(&[1.0, 2.0, 4.0, 9.0]) - 3.0).abs() < 1e-12);
    }
}
