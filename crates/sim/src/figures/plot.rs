//! A figure: numbers by series and tick, as a Markdown table and as CSV.
//!
//! Charts are drawn elsewhere ([`super::chart`]).

use std::fmt::Write;

/// A number of the paper's text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// As large as this.
    About(f64),
    /// No larger.
    AtMost(f64),
    /// No smaller.
    AtLeast(f64),
}

impl Claim {
    /// The number itself.
    pub fn value(self) -> f64 {
        let (Self::About(value) | Self::AtMost(value) | Self::AtLeast(value)) = self;
        value
    }

    /// Whether it is of the kind of another one.
    pub(super) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// By which share of it ours is beside it: 0 where a bound is kept.
    fn off(self, ours: f64) -> f64 {
        let off = ours / self.value() - 1.0;
        match self {
            Self::About(_) => off,
            Self::AtMost(_) => off.max(0.0),
            Self::AtLeast(_) => off.min(0.0),
        }
    }
}

/// The share by which ours may be beside the paper's without a reason.
const ALLOWED: f64 = 0.15;

/// A line, or a row, of a figure.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name of the series.
    pub name: String,
    /// Numbers of the series, one a tick.
    pub values: Vec<f64>,
    /// Number in the text of the paper; empty where it has none.
    pub paper: &'static str,
    /// Numbers in the text of the paper by the places of their ticks.
    pub claims: Vec<(usize, Claim)>,
    /// Whether it is drawn, and not in the table alone: another unit than that of the title.
    pub is_drawn: bool,
}

impl Series {
    /// A series of which the paper gives no number.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values, paper: "", claims: Vec::new(), is_drawn: true }
    }

    /// With what the paper says of it.
    #[must_use]
    pub fn beside(self, paper: &'static str) -> Self {
        Self { paper, ..self }
    }

    /// With a number of the paper's at a tick.
    #[must_use]
    pub fn claimed(mut self, tick: usize, claim: Claim) -> Self {
        self.claims.push((tick, claim));
        self
    }

    /// With a number of the paper's at the last tick of all 32 machines, if there is one.
    #[must_use]
    pub(super) fn at_32(self, claim: Option<f64>) -> Self {
        match (self.values.len(), claim) {
            (6, Some(value)) => self.claimed(5, Claim::About(value)),
            _ => self,
        }
    }

    /// In the table alone.
    #[must_use]
    pub(super) fn not_drawn(self) -> Self {
        Self { is_drawn: false, ..self }
    }

    /// The mean of series, tick by tick.
    pub(super) fn mean(series: &[Self]) -> Self {
        let count = series.len() as f64;
        let ticks = series.first().map_or(0, |first| first.values.len());
        let of = |tick| series.iter().map(|one| one.values[tick]).sum::<f64>() / count;
        Self::new("mean", (0..ticks).map(of).collect())
    }

    /// The number at the last tick.
    pub fn last(&self) -> f64 {
        self.values.last().copied().unwrap_or(f64::NAN)
    }
}

/// A figure of the paper, made anew.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Number of the figure in the paper, or the section.
    pub number: &'static str,
    /// Title, with the unit of the numbers.
    pub title: &'static str,
    /// Name of the ticks.
    pub axis: &'static str,
    /// Names of the columns.
    pub ticks: Vec<String>,
    /// The numbers.
    pub series: Vec<Series>,
    /// Claim of the paper.
    pub paper: &'static str,
    /// Where ours differ, and why; what the model does not hold.
    pub notes: &'static str,
}

/// A number with as many places as are of use.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        unknown if unknown.is_nan() => "-".to_owned(),
        least if least >= 100.0 => format!("{value:.0}"),
        least if least >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

impl Figure {
    /// The series of this name.
    ///
    /// # Panics
    /// Name that no series has.
    pub fn of(&self, name: &str) -> &Series {
        let found = self.series.iter().find(|series| series.name == name);
        found.unwrap_or_else(|| panic!("figure {} has no series {name}", self.number))
    }

    /// Number of the paper's numbers that ours are near, and those that they are not.
    pub fn verdict(&self) -> String {
        let all: usize = self.series.iter().map(|series| series.claims.len()).sum();
        if all == 0 {
            return "The text of the paper has no number for this; shapes are compared.".to_owned();
        }
        let far: Vec<(&Series, Vec<String>)> =
            self.series.iter().map(|series| (series, self.far(series))).collect();
        let near = all - far.iter().map(|(_, far)| far.len()).sum::<usize>();
        let within =
            format!("{near} of {all} numbers are within 15 % of the paper's, or within its bound");
        let far = far.into_iter().filter(|(_, far)| !far.is_empty());
        let far: Vec<String> =
            far.map(|(series, far)| format!("{} {}", series.name, far.join(", "))).collect();
        if far.is_empty() { within + "." } else { format!("{within}; not so: {}.", far.join("; ")) }
    }

    /// Numbers of a series that are not near the paper's.
    fn far(&self, series: &Series) -> Vec<String> {
        let far = |&(tick, claim): &(usize, Claim)| {
            let (ours, theirs) = (series.values[tick], number(claim.value()));
            let tick = &self.ticks[tick];
            if ours.is_nan() {
                return Some(format!("({tick}) - for {theirs}"));
            }
            let off = claim.off(ours);
            (off.abs() > ALLOWED)
                .then(|| format!("({tick}) {} for {theirs} ({:+.0} %)", number(ours), 100.0 * off))
        };
        series.claims.iter().filter_map(far).collect()
    }

    /// Whether ticks are things that stand side by side, without a way from one to the next.
    pub(super) fn is_of_things(&self) -> bool {
        ["algorithm", "layout", "checkpoints"].contains(&self.axis)
    }

    /// Whether each tick has a unit of its own.
    pub(super) fn has_units(&self) -> bool {
        self.ticks.iter().any(|tick| tick == "TB")
    }

    /// The name of its files, without an extension: that of a paper, and the number.
    pub fn file(&self, paper: &str) -> String {
        format!("{paper}-{}", self.number.replace('.', "-"))
    }

    /// A table with a row for each series.
    pub fn markdown(&self) -> String {
        let mut text = format!("| {} | {} |", self.axis, self.ticks.join(" | "));
        let says = self.series.iter().any(|series| !series.paper.is_empty());
        text.push_str(if says { " paper |\n|---|" } else { "\n|---|" });
        text.push_str(&"---:|".repeat(self.ticks.len()));
        text.push_str(if says { "---|\n" } else { "\n" });
        for series in &self.series {
            let values: Vec<String> = series.values.iter().map(|&value| number(value)).collect();
            let _ = write!(text, "| {} | {} |", series.name, values.join(" | "));
            if says {
                let _ = write!(text, " {} |", series.paper);
            }
            text.push('\n');
        }
        text
    }

    /// A line for each number.
    pub fn csv(&self) -> String {
        let mut text = format!("series,{},value,paper\n", self.axis.replace(',', ";"));
        for series in &self.series {
            for (tick, value) in self.ticks.iter().zip(&series.values) {
                let [name, tick, paper] =
                    [&*series.name, tick, series.paper].map(|text| text.replace(',', ";"));
                let _ = writeln!(text, "{name},{tick},{value},{paper}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_names_what_is_far_from_the_paper() {
        let mut figure = Figure {
            number: "6",
            title: "time",
            axis: "machines",
            ticks: vec!["1".into(), "32".into()],
            series: vec![Series::new("BFS", vec![1.0, 1.9])],
            paper: "",
            notes: "",
        };
        assert!(figure.verdict().contains("no number"));
        let claims = [Claim::About(2.0), Claim::AtMost(1.5), Claim::AtLeast(1.5)];
        figure.series[0].claims = claims.map(|claim| (1, claim)).into();
        let verdict = figure.verdict();
        assert!(verdict.starts_with("2 of 3 numbers"), "{verdict}");
        assert!(verdict.ends_with("not so: BFS (32) 1.9 for 1.5 (+27 %)."), "{verdict}");
        figure.series[0].claims.remove(1);
        assert!(figure.verdict().ends_with("within its bound."), "{}", figure.verdict());
    }

    #[test]
    fn a_figure_is_a_table_and_lines() {
        let figure = Figure {
            number: "9.3",
            title: "time",
            axis: "machines",
            ticks: vec!["1, all".into(), "32".into()],
            series: vec![
                Series::new("BFS", vec![1.0, 1.6612]).beside("1.66"),
                Series::new("<PR>", vec![12.34, 1234.5]),
            ],
            paper: "",
            notes: "",
        };
        let expected = "| machines | 1, all | 32 | paper |\n|---|---:|---:|---|\n| BFS | 1 | \
                        1.661 | 1.66 |\n| <PR> | 12.3 | 1234 |  |\n";
        assert_eq!(figure.markdown(), expected);
        assert_eq!(figure.csv().lines().count(), 5);
        assert!(figure.csv().starts_with("series,machines,value,paper\nBFS,1; all,1,1.66\n"));
        assert_eq!((figure.file("chaos").as_str(), figure.of("BFS").last()), ("chaos-9-3", 1.6612));
    }
}
