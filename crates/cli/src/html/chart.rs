//! Charts of lines, as SVG.
//!
//! Colours are variables of the page, so that a chart is read on light and on dark ground.

use std::fmt::Write;

use super::frame::{COLOURS, escaped, key};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// Points of a line, at most, that have a dot each.
const DOTS_MAX: usize = 64;

/// The axis below a chart.
pub(crate) struct Axis {
    /// Name of its measure.
    pub(crate) label: &'static str,
    /// First and last value of the axis.
    pub(crate) range: [f64; 2],
    /// Places that are marked, and how.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis from the first to the last of these numbers.
    pub(crate) fn counting(label: &'static str, [first, last]: [u64; 2]) -> Self {
        let step = round_up((last - first) as f64 / 6.0).max(1.0) as u64;
        let ticks = (first.next_multiple_of(step)..=last).step_by(step as usize);
        let ticks = ticks.map(|number| (number as f64, number.to_string())).collect();
        Self { label, range: [first as f64, last.max(first + 1) as f64], ticks }
    }

    fn across(&self, place: f64) -> f64 {
        let [first, last] = self.range;
        LEFT + (place - first) / (last - first) * (WIDTH - LEFT - RIGHT)
    }
}

/// A point of a line.
pub(crate) struct Point {
    /// Place along the axis.
    pub(crate) at: f64,
    /// Height.
    pub(crate) value: f64,
    /// Text that a reader sees who points at it.
    pub(crate) text: String,
}

/// A line of a chart.
pub(crate) struct Line {
    /// Name, for the key, if there is any.
    pub(crate) name: String,
    /// Points, from left to right.
    pub(crate) points: Vec<Point>,
}

/// A round number that is not below this one.
fn round_up(most: f64) -> f64 {
    let most = if most > 0.0 { most } else { 1.0 };
    let power = 10_f64.powf(most.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    steps.map(|step| step * power).find(|top| *top >= most).unwrap_or(most)
}

/// A number of an axis whose top is this.
fn label(value: f64, top: f64) -> String {
    let (value, top, unit) = match top {
        1e6.. => (value / 1e6, top / 1e6, " M"),
        1e4.. => (value / 1e3, top / 1e3, " k"),
        _ => (value, top, ""),
    };
    let digits = (1.0 - top.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}{unit}")
}

/// A chart with a line for each series, and their names below.
pub(crate) fn chart(title: &str, axis: &Axis, lines: &[Line]) -> String {
    let all = lines.iter().flat_map(|line| &line.points);
    let top = round_up(all.map(|point| point.value).fold(0.0, f64::max));
    let down = |value: f64| HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM);
    let title = escaped(title);
    let mut svg = format!(
        "<figure>\n<figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{title}\">\n"
    );
    // Writing to a string cannot fail.
    for step in 0..=5 {
        let (value, right) = (top * f64::from(step) / 5.0, WIDTH - RIGHT);
        let y = down(value);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            label(value, top),
        );
    }
    for (place, text) in &axis.ticks {
        let (x, y) = (axis.across(*place), HEIGHT - BOTTOM + 16.0);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{text}</text>");
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 6.0,
        axis.label,
    );
    for (number, line) in lines.iter().enumerate() {
        svg.push_str(&drawn(number % COLOURS, line, axis, down));
    }
    svg.push_str("</svg>\n");
    if lines.iter().any(|line| !line.name.is_empty()) {
        let names = lines.iter().map(|line| &*line.name);
        svg.push_str(&key(names.zip(0..)));
    }
    svg + "</figure>\n"
}

/// A line, and where points are few a dot at each that says what it is when it is pointed at.
fn drawn(colour: usize, line: &Line, axis: &Axis, down: impl Fn(f64) -> f64) -> String {
    let place = |point: &Point| (axis.across(point.at), down(point.value));
    let points: Vec<String> =
        line.points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let mut svg = format!("<polyline class=\"l{colour}\" points=\"{}\"/>\n", points.join(" "));
    for point in line.points.iter().filter(|_| line.points.len() <= DOTS_MAX) {
        let ((x, y), text) = (place(point), escaped(&point.text));
        let _ = writeln!(
            svg,
            "<circle class=\"d{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"><title>{text}\
             </title></circle>"
        );
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tops_are_round_and_hold_everything() {
        for (most, top) in
            [(0.0, 1.0), (0.03, 0.05), (1.0, 1.0), (3.4, 5.0), (960.0, 1000.0), (2400.0, 2500.0)]
        {
            assert!((round_up(most) - top).abs() < 1e-9, "{most}: {}", round_up(most));
        }
        let labels = [(0.02, 0.05), (4.0, 5.0), (2000.0, 2500.0), (2e7, 1e8), (5000.0, 25_000.0)];
        let labels = labels.map(|(value, top)| label(value, top));
        assert_eq!(labels, ["0.020", "4.0", "2000", "20 M", "5 k"]);
    }

    #[test]
    fn all_points_lie_in_the_chart() {
        let points =
            (3..=17).map(|at| Point { at: f64::from(at), value: 123.0, text: "<".to_owned() });
        let line = Line { name: "4".to_owned(), points: points.collect() };
        let svg = chart("reading", &Axis::counting("iteration", [3, 17]), &[line]);
        assert_eq!(svg.matches("<circle").count(), 15);
        for circle in svg.split("cx=\"").skip(1) {
            let x: f64 = circle.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
        assert!(svg.contains(">4</text>") && svg.contains(">16</text>"), "{svg}");
    }

    #[test]
    fn an_axis_of_one_number_has_a_width() {
        let axis = Axis::counting("iteration", [1, 1]);
        assert!(axis.across(1.0).is_finite() && axis.ticks.len() == 1);
    }
}
