//! Charts of figures, in SVG: a line for each series over evenly spaced ticks, or, where ticks are
//! things, a bar at each. Numbers of the paper are rings, and arrows where it gives a bound.

use std::fmt::Write;

use super::plot::{Claim, Figure, Series, number};

/// Where the plot lies on the picture, in pixels.
const LEFT: f64 = 56.0;
const TOP: f64 = 34.0;
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 240.0;
/// Width of a bar from which on its number stands above it.
const LABELLED: f64 = 26.0;

/// Colours that differ for people who see few colours too, and dark ones.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666", "#8b4513",
    "#6a3d9a", "#000000",
];

/// Places on the picture.
struct Scale {
    /// Value at the upper end.
    most: f64,
    /// Value at the lower end: of powers of two if it is not 0.
    least: f64,
    /// Distance of two ticks.
    gap: f64,
    /// Of bars, how many stand at a tick.
    bars: Option<usize>,
    /// Where each tick has a unit of its own, their values at the upper end.
    units: Option<Vec<f64>>,
}

impl Scale {
    fn of(figure: &Figure) -> Self {
        let values = drawn(figure).flat_map(|series| series.values.iter().copied());
        let claims = drawn(figure).flat_map(marks).map(|(_, claim)| claim.value());
        let all = || values.clone().chain(claims.clone()).filter(|value| value.is_finite());
        let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
        let bars = figure.is_of_things().then_some(drawn(figure).count());
        let gaps = figure.ticks.len().saturating_sub(usize::from(bars.is_none())).max(1);
        let gap = WIDTH / gaps as f64;
        // A figure that grows or shrinks as machines do is a straight line where machines are
        // doubled.
        if bars.is_none() && figure.axis == "machines" && least > 0.0 && most > 15.0 * least {
            let [least, most] = [least.log2().floor().exp2(), most.log2().ceil().exp2()];
            return Self { most, least, gap, bars, units: None };
        }
        let units = figure.has_units().then(|| {
            let at = |tick: usize| drawn(figure).flat_map(move |one| known(one, tick));
            (0..figure.ticks.len()).map(|tick| 1.1 * at(tick).fold(0.0, f64::max)).collect()
        });
        Self { most: ceiling(most), least: 0.0, gap, bars, units }
    }

    /// Values with a line of the grid.
    fn grid(&self) -> Vec<f64> {
        if self.least == 0.0 {
            return (0..=4).map(|part| self.most * f64::from(part) / 4.0).collect();
        }
        let powers = (self.most / self.least).log2().round() as i32;
        (0..=powers).map(|power| self.least * f64::from(power).exp2()).collect()
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

    fn down(&self, tick: usize, value: f64) -> f64 {
        let share = if let Some(units) = &self.units {
            value / units[tick]
        } else if self.least == 0.0 {
            value / self.most
        } else {
            (value / self.least).log2() / (self.most / self.least).log2()
        };
        TOP + HEIGHT * (1.0 - share)
    }
}

/// Numbers at a tick, the paper's among them.
fn known(series: &Series, tick: usize) -> impl Iterator<Item = f64> + '_ {
    let paper = marks(series).filter(move |&(at, _)| at == tick).map(|(_, claim)| claim.value());
    series.values.get(tick).copied().into_iter().chain(paper)
}

/// Series that are in the chart.
fn drawn(figure: &Figure) -> impl Iterator<Item = &Series> + Clone {
    figure.series.iter().filter(|series| series.is_drawn)
}

/// Numbers of the paper that ours are to meet.
fn marks(series: &Series) -> impl Iterator<Item = (usize, Claim)> + Clone + '_ {
    series.claims.iter().copied().filter(|(_, claim)| !matches!(claim, Claim::AtLeast(_)))
}

/// The chart of a figure.
pub fn svg(figure: &Figure) -> String {
    let scale = Scale::of(figure);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"770\" height=\"330\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"770\" height=\"330\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"13\">{}</text>\n",
        escaped(figure.title)
    );
    axes(&mut text, figure, &scale);
    for (place, series) in drawn(figure).enumerate() {
        line(&mut text, series, place, &scale);
    }
    let claims = || drawn(figure).flat_map(marks).map(|(_, claim)| claim);
    let kinds = [(Claim::About(0.0), "the paper"), (Claim::AtMost(0.0), "the paper, at most")];
    let kinds = kinds.into_iter().filter(|(kind, _)| claims().any(|one| one.is_like(*kind)));
    for (row, (kind, name)) in kinds.enumerate() {
        let (x, y) = legend(drawn(figure).count() + row);
        mark(&mut text, kind, [x + 9.0, y - 4.0], "black");
        let _ = writeln!(text, "<text x=\"{:.1}\" y=\"{y:.1}\">{name}</text>", x + 24.0);
    }
    text.push_str("</svg>\n");
    text
}

/// Where a row of the legend begins, and where its letters stand.
fn legend(row: usize) -> (f64, f64) {
    (LEFT + WIDTH + 14.0, TOP + 10.0 + 16.0 * row as f64)
}

/// A number of the paper: a ring, or the tip of an arrow below which it is.
fn mark(text: &mut String, claim: Claim, [x, y]: [f64; 2], colour: &str) {
    let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\"");
    let _ = match claim {
        Claim::AtMost(_) => writeln!(
            text,
            "<path d=\"M{:.1} {:.1}h10l-5 8z\" fill=\"white\" {stroke}/>",
            x - 5.0,
            y - 8.0
        ),
        _ => writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\" fill=\"white\" fill-opacity=\"0.9\"/>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"none\" {stroke}/>"
        ),
    };
}

/// Grid, ticks and their names.
fn axes(text: &mut String, figure: &Figure, scale: &Scale) {
    let lines = if scale.units.is_some() { vec![0.0] } else { scale.grid() };
    for value in lines {
        let (x, y) = (LEFT - 6.0, scale.down(0, value));
        let _ = writeln!(
            text,
            "<path d=\"M{LEFT} {y:.1}h{WIDTH}\" stroke=\"#ddd\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            y + 4.0,
            number(value).trim_end_matches(".0")
        );
    }
    for (tick, name) in figure.ticks.iter().enumerate() {
        label(text, [scale.across(tick), TOP + HEIGHT + 16.0], name);
    }
    label(text, [LEFT + WIDTH / 2.0, TOP + HEIGHT + 36.0], figure.axis);
}

/// Words around a middle.
fn label(text: &mut String, [x, y]: [f64; 2], what: &str) {
    let what = escaped(what);
    let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{what}</text>");
}

/// A bar, by its middle, width, upper end and height.
fn bar(text: &mut String, colour: &str, [middle, width]: [f64; 2], [top, height]: [f64; 2]) {
    let x = middle - width / 2.0;
    let _ = writeln!(
        text,
        "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         fill=\"{colour}\"/>"
    );
}

/// A series, with its name at the right, and what the paper says of it.
fn line(text: &mut String, series: &Series, place: usize, scale: &Scale) {
    let colour = COLOURS[place % COLOURS.len()];
    let dash = if place >= COLOURS.len() { " stroke-dasharray=\"4 3\"" } else { "" };
    let stroke = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash}");
    let finite = || series.values.iter().enumerate().filter(|(_, value)| value.is_finite());
    let (x, y) = legend(place);
    if scale.bars.is_some() {
        for (tick, &value) in finite() {
            let ((middle, width), top) = (scale.of_series(tick, place), scale.down(tick, value));
            bar(text, colour, [middle, width], [top, TOP + HEIGHT - top]);
            if width >= LABELLED {
                // Above a number of the paper that is near, too.
                let paper = marks(series).filter(|&(at, _)| at == tick);
                let paper = paper.map(|(_, claim)| scale.down(tick, claim.value()));
                let near = paper.filter(|ring| (ring - top).abs() < 20.0);
                let above = near.map(|ring| ring.min(top) - 9.0).fold(top - 3.0, f64::min);
                label(text, [middle, above], &number(value));
            }
        }
        bar(text, colour, [x + 9.0, 10.0], [y - 9.0, 10.0]);
    } else {
        let point = |(tick, value): (usize, &f64)| {
            format!("{:.1},{:.1}", scale.across(tick), scale.down(tick, *value))
        };
        let points = finite().map(point).collect::<Vec<String>>().join(" ");
        let _ = writeln!(text, "<polyline points=\"{points}\" {stroke}/>");
        let _ = writeln!(text, "<path d=\"M{x:.1} {:.1}h18\" {stroke}/>", y - 4.0);
    }
    for (tick, claim) in marks(series) {
        let at = [scale.of_series(tick, place).0, scale.down(tick, claim.value())];
        mark(text, claim, at, colour);
    }
    let name = escaped(&series.name);
    let _ = writeln!(text, "<text x=\"{:.1}\" y=\"{y:.1}\">{name}</text>", x + 24.0);
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
        assert!(svg.contains("points=\"56.0,274.0 576.0,34.0\""), "from corner to corner: {svg}");
        assert!(!svg.contains("the paper"));
        let figure = Figure { axis: "algorithm", ..figure };
        let [first, other] = <[Series; 2]>::try_from(figure.series).expect("there are two");
        let first = first.claimed(1, Claim::About(2000.0)).claimed(0, Claim::AtLeast(9999.0));
        let svg = super::svg(&Figure { series: vec![first, other], ..figure });
        assert!(!svg.contains("polyline") && svg.contains("the paper"), "{svg}");
        // The background, and a bar for each of four numbers.
        assert_eq!(svg.matches("<rect").count(), 1 + 4 + 2, "and of two in the legend: {svg}");
        assert_eq!(svg.matches("r=\"5\"").count(), 2, "one of the paper, one that says so: {svg}");
        assert!(!svg.contains("at most"), "{svg}");
    }

    #[test]
    fn each_unit_has_a_scale_of_its_own() {
        let figure = Figure {
            number: "9.3",
            title: "",
            axis: "algorithm",
            ticks: vec!["hours".into(), "TB".into()],
            series: vec![Series::new("PR", vec![11.0, 400.0]).claimed(0, Claim::About(20.0))],
            paper: "",
            notes: "",
        };
        let svg = svg(&figure);
        // Ends are at 22 hours and 440 TB; the number stands above its bar.
        assert!(svg.contains("height=\"120.0\"") && svg.contains("height=\"218.2\""), "{svg}");
        assert!(svg.contains("y=\"151.0\" text-anchor=\"middle\">11.0</text>"), "{svg}");
    }

    #[test]
    fn numbers_that_grow_with_the_machines_are_a_straight_line() {
        let claimed = Series::new("BFS", vec![1.0, 4.0, 16.0]).claimed(2, Claim::AtMost(32.0));
        let figure = Figure {
            number: "7",
            title: "",
            axis: "machines",
            ticks: vec!["1".into(), "4".into(), "16".into()],
            series: vec![claimed, Series::new("in the table", vec![0.0; 3]).not_drawn()],
            paper: "",
            notes: "",
        };
        let svg = svg(&figure);
        // Five powers of two: 32 is the upper end.
        assert!(svg.contains("points=\"56.0,274.0 316.0,178.0 576.0,82.0\""), "{svg}");
        assert!(svg.contains("at most") && !svg.contains("in the table"), "{svg}");
    }
}
