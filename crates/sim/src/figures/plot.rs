//! A figure: numbers by series and tick, as a Markdown table and as CSV.
//!
//! Charts are drawn elsewhere ([`super::chart`]).

use std::fmt::Write;

/// A line, or a row, of a figure.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// One number a tick.
    pub values: Vec<f64>,
    /// Number in the text of the paper; empty where it has none.
    pub paper: &'static str,
}

impl Series {
    /// A series of which the paper gives no number.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values, paper: "" }
    }

    /// With what the paper says of it.
    #[must_use]
    pub fn beside(self, paper: &'static str) -> Self {
        Self { paper, ..self }
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
    /// Its number in the paper, or the section.
    pub number: &'static str,
    /// Title, with the unit of the numbers.
    pub title: &'static str,
    /// Name of the ticks.
    pub axis: &'static str,
    /// One a column.
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
    /// When there is none.
    pub fn of(&self, name: &str) -> &Series {
        let found = self.series.iter().find(|series| series.name == name);
        found.unwrap_or_else(|| panic!("figure {} has no series {name}", self.number))
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
                let [name, paper] = [&series.name, series.paper].map(|text| text.replace(',', ";"));
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
    fn a_figure_is_a_table_and_lines() {
        let figure = Figure {
            number: "9.3",
            title: "time",
            axis: "machines",
            ticks: vec!["1".into(), "32".into()],
            series: vec![
                Series::new("BFS", vec![1.0, 1.6612]).beside("1.66"),
                Series::new("<PR>", vec![12.34, 1234.5]),
            ],
            paper: "",
            notes: "",
        };
        let expected = "| machines | 1 | 32 | paper |\n|---|---:|---:|---|\n| BFS | 1 | 1.661 | \
                        1.66 |\n| <PR> | 12.3 | 1234 |  |\n";
        assert_eq!(figure.markdown(), expected);
        assert_eq!(figure.csv().lines().count(), 5);
        assert!(figure.csv().starts_with("series,machines,value,paper\nBFS,1,1,1.66\n"));
        assert_eq!((figure.file("chaos").as_str(), figure.of("BFS").last()), ("chaos-9-3", 1.6612));
    }
}
