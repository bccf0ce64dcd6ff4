//! Charts of figures, in SVG: a line for each series over evenly spaced ticks, or, where ticks are
//! things, a bar at each. Numbers of the paper are rings.

use std::fmt::Write;

use super::plot::{Claim, Figure, Series, number};

/// Where the plot lies on the picture, in pixels.
const LEFT: f64 = 56.0;
const TOP: f64 = 34.0;
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 240.0;

/// Colours that people who see few colours tell apart too, and dark ones.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#8b4513",
    "#6a3d9a", "#000000",
];

/// Places on the picture.
struct Scale {
    /// Value at the upper end.
    most: f64,
    /// Distance of two ticks.
    gap: f64,
    /// Of bars, how many stand at a tick.
    bars: Option<usize>,
}

impl Scale {
    fn of(figure: &Figure) -> Self {
        let values = figure.series.iter().flat_map(|series| series.values.iter().copied());
        let claims = figure.series.iter().flat_map(rings).map(|(_, value)| value);
        let most = values.chain(claims).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let bars = figure.is_of_things().then_some(figure.series.len());
        let gaps = figure.ticks.len().saturating_sub(usize::from(bars.is_none())).max(1);
        Self { most: ceiling(most), gap: WIDTH / gaps as f64, bars }
    }

    /// Middle of a tick.
    fn across(&self, tick: usize) -> f64 {
        LEFT + self.gap * (tick as f64 + if self.bars.is_some() { 0.5 } else { 0.0 })
    }

    /// Middle of what a series has at a tick, and the width of its bar.
    fn of_series(&self, tick: usize, place: usize) -> (f64, f64) {
        let Some(bars) = self.bars else { return (self.across(tick), 0.0) };
        let width = 0.8 * self.gap / bars as f64;
        (self.across(tick) + width * (place as f64 + 0.5 - bars as f64 / 2.0), width)
    }

    fn down(&self, value: f64) -> f64 {
        TOP + HEIGHT * (1.0 - value / self.most)
    }
}

/// Numbers of the paper that ours are to meet.
fn rings(series: &Series) -> impl Iterator<Item = (usize, f64)> + '_ {
    let claims = series.claims.iter().filter(|(_, claim)| !matches!(claim, Claim::AtLeast(_)));
    claims.map(|&(tick, claim)| (tick, claim.value()))
}

/// The chart of a figure.
pub fn svg(figure: &Figure) -> String {
    let scale = Scale::of(figure);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"330\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"660\" height=\"330\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{}</text>\n",
        escaped(figure.title)
    );
    axes(&mut text, figure, &scale);
    for (place, series) in figure.series.iter().enumerate() {
        line(&mut text, series, place, &scale);
    }
    if figure.series.iter().any(|series| rings(series).next().is_some()) {
        let (x, y) = (LEFT + WIDTH + 14.0, TOP + 10.0 + 16.0 * figure.series.len() as f64);
        let _ = writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"none\" stroke=\"black\"/>\
             <text x=\"{:.1}\" y=\"{y:.1}\">the paper</text>",
            x + 5.0,
            y - 4.0,
            x + 16.0
        );
    }
    text.push_str("</svg>\n");
    text
}

/// Grid, ticks and their names.
fn axes(text: &mut String, figure: &Figure, scale: &Scale) {
    for part in 0..=4 {
        let value = scale.most * f64::from(part) / 4.0;
        let (x, y) = (LEFT - 6.0, scale.down(value));
        let _ = writeln!(
            text,
            "<path d=\"M{LEFT} {y:.1}h{WIDTH}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            number(value)
        );
    }
    let mut middle = |x: f64, y: f64, what: &str| {
        let what = escaped(what);
        let _ =
            writeln!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{what}</text>");
    };
    for (tick, name) in figure.ticks.iter().enumerate() {
        middle(scale.across(tick), TOP + HEIGHT + 16.0, name);
    }
    middle(LEFT + WIDTH / 2.0, TOP + HEIGHT + 36.0, figure.axis);
}

/// A series, with its name at the right, and what the paper says of it.
fn line(text: &mut String, series: &Series, place: usize, scale: &Scale) {
    let colour = COLOURS[place % COLOURS.len()];
    let dash = if place >= COLOURS.len() { " stroke-dasharray=\"4 3\"" } else { "" };
    let known = || series.values.iter().enumerate().filter(|(_, value)| value.is_finite());
    if scale.bars.is_some() {
        for (tick, &value) in known() {
            let ((x, width), y) = (scale.of_series(tick, place), scale.down(value));
            let _ = writeln!(
                text,
                "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" \
                 fill=\"{colour}\"/>",
                x - width / 2.0,
                TOP + HEIGHT - y
            );
        }
    } else {
        let point = |(tick, value): (usize, &f64)| {
            format!("{:.1},{:.1}", scale.across(tick), scale.down(*value))
        };
        let _ = writeln!(
            text,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"2\"{dash}/>",
            known().map(point).collect::<Vec<String>>().join(" ")
        );
    }
    for (tick, value) in rings(series) {
        let (x, y) = (scale.of_series(tick, place).0, scale.down(value));
        let _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"white\" fill-opacity=\"0.6\" \
             stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
        LEFT + WIDTH + 14.0,
        TOP + 10.0 + 16.0 * place as f64,
        escaped(&series.name)
    );
}

/// A round number that is not less.
fn ceiling(value: f64) -> f64 {
    let mut step = 0.001;
    while step * 10.0 < value {
        step *= 10.0;
    }
    let round = [1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0, 10.0].map(|times| times * step);
    round.into_iter().find(|round| *round >= value).unwrap_or(10.0 * step)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_line_for_each_series() {
        let figure = Figure {
            number: "6",
            title: "time & more",
            axis: "machines",
            ticks: vec!["1".into(), "32".into()],
            series: vec![
                Series::new("BFS", vec![0.0, 1600.0]),
                Series::new("<PR>", vec![800.0, 1234.5]),
            ],
            paper: "",
            notes: "",
        };
        let svg = svg(&figure);
        assert!(svg.contains("time &amp; more") && svg.contains("&lt;PR&gt;"));
        assert!(svg.contains("1600</text>"), "a round end of the axis: {svg}");
        assert!(svg.contains("points=\"56.0,274.0 476.0,34.0\""), "from corner to corner: {svg}");
        assert!(!svg.contains("the paper"));
        let figure = Figure { axis: "algorithm", ..figure };
        let [first, other] = <[Series; 2]>::try_from(figure.series).expect("there are two");
        let first = first.claimed(1, Claim::About(2000.0)).claimed(0, Claim::AtLeast(9999.0));
        let svg = super::svg(&Figure { series: vec![first, other], ..figure });
        assert!(!svg.contains("polyline") && svg.contains("the paper"), "{svg}");
        // The background, and a bar for each of four numbers.
        assert_eq!(svg.matches("<rect").count(), 5, "{svg}");
        assert_eq!(svg.matches("r=\"5\"").count(), 2, "one of the paper, one that says so: {svg}");
    }
}
