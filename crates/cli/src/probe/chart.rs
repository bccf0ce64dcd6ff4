//! Charts of rates, as SVG.
//!
//! Colours are variables of the page, so that a chart is read on light and on dark ground.

use std::fmt::Write;

use super::table::size;

/// Colours that the page has.
pub(super) const COLOURS: usize = 9;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;
/// Log2 of the sizes at both ends.
const BITS: [f64; 2] = [12.0, 26.0];

/// A line of a chart: a name, and megabytes a second by bytes of a request.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(u32, f64)>,
}

/// Megabytes a second at the top: a round number that is not below the largest.
fn round_up(most: f64) -> f64 {
    let power = 10_f64.powf(most.max(1.0).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter();
    steps.map(|step| step * power).find(|top| *top >= most).unwrap_or(most)
}

fn across(bytes: u32) -> f64 {
    let share = (f64::from(bytes).log2() - BITS[0]) / (BITS[1] - BITS[0]);
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

/// A chart with a line for each series, and their names below.
pub(super) fn chart(title: &str, lines: &[Line]) -> String {
    let all = lines.iter().flat_map(|line| &line.points);
    let top = round_up(all.map(|point| point.1).fold(0.0, f64::max));
    let down = |rate: f64| HEIGHT - BOTTOM - rate / top * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<figure>\n<figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\" aria-label=\"{title}\">\n"
    );
    // Writing to a string cannot fail.
    for step in 0..=5 {
        let (rate, right) = (top * f64::from(step) / 5.0, WIDTH - RIGHT);
        let (y, label) = (down(rate), down(rate) + 4.0);
        let digits = usize::from(top < 10.0);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
             <text x=\"{:.0}\" y=\"{label:.1}\" text-anchor=\"end\">{rate:.digits$}</text>",
            LEFT - 6.0
        );
    }
    for bits in (12..=26).step_by(2) {
        let (x, y) = (across(1 << bits), HEIGHT - BOTTOM + 16.0);
        let label = size(1 << bits);
        let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>");
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">bytes of a request</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 6.0
    );
    for (number, line) in lines.iter().enumerate() {
        svg.push_str(&drawn(number % COLOURS, line, down));
    }
    svg.push_str("</svg>\n<p class=\"key\">");
    for (number, line) in lines.iter().enumerate() {
        let _ = write!(svg, "<span class=\"k{}\">{}</span> ", number % COLOURS, line.name);
    }
    svg + "</p>\n</figure>\n"
}

/// A line, with a dot at each point that says what it is when it is pointed at.
fn drawn(colour: usize, line: &Line, down: impl Fn(f64) -> f64) -> String {
    let places: Vec<(f64, f64)> =
        line.points.iter().map(|(bytes, rate)| (across(*bytes), down(*rate))).collect();
    let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let mut svg = format!("<polyline class=\"l{colour}\" points=\"{}\"/>\n", points.join(" "));
    for ((x, y), (bytes, rate)) in places.iter().zip(&line.points) {
        let said = format!("{}, {}: {rate:.0} MB/s", line.name, size(*bytes));
        let _ = writeln!(
            svg,
            "<circle class=\"d{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"><title>{said}\
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
        for (most, top) in [(0.0, 1.0), (1.0, 1.0), (3.4, 5.0), (960.0, 1000.0), (2400.0, 2500.0)] {
            assert!((round_up(most) - top).abs() < 1e-9, "{most}: {}", round_up(most));
        }
    }

    #[test]
    fn all_points_lie_in_the_chart() {
        let points: Vec<(u32, f64)> = (12..=26).map(|bits| (1 << bits, 123.0)).collect();
        let svg = chart("reading", &[Line { name: "4".to_owned(), points }]);
        assert_eq!(svg.matches("<circle").count(), 15);
        for circle in svg.split("cx=\"").skip(1) {
            let x: f64 = circle.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }
}
