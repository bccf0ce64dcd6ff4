//! Bars of parts, one below the other, as SVG.

use std::fmt::Write;

use super::frame::{COLOURS, escaped, key};

const WIDTH: f64 = 560.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 220.0;
const ROW: f64 = 24.0;
const BAR: f64 = 15.0;

/// A bar.
pub(crate) struct Bar {
    /// Name to its left.
    pub(crate) name: String,
    /// Parts of the bar, of the length of each series.
    pub(crate) parts: Vec<f64>,
    /// Words to its right.
    pub(crate) text: String,
}

/// Bars with a part for each series (its name and colour), in seconds; the longest has the whole
/// width.
pub(crate) fn bars(title: &str, series: &[(&str, usize)], all: &[Bar]) -> String {
    let length = |bar: &Bar| bar.parts.iter().sum::<f64>();
    let longest = all.iter().map(length).fold(f64::MIN_POSITIVE, f64::max);
    let (title, height) = (escaped(title), ROW * all.len() as f64 + 6.0);
    let mut svg = format!(
        "<figure>\n<figcaption>{title}</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"{title}\">\n"
    );
    // Writing to a string cannot fail.
    for (row, bar) in all.iter().enumerate() {
        let (y, mut x) = (ROW * row as f64 + 4.0, LEFT);
        let name = escaped(&bar.name);
        let base = y + BAR - 3.0;
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{base:.1}\" text-anchor=\"end\">{name}</text>",
            LEFT - 8.0
        );
        for (part, &(label, colour)) in bar.parts.iter().zip(series) {
            let width = part / longest * (WIDTH - LEFT - RIGHT);
            let colour = colour % COLOURS;
            let _ = writeln!(
                svg,
                "<rect class=\"d{colour}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                 height=\"{BAR}\"><title>{name}: {part:.3} s {}</title></rect>",
                escaped(label)
            );
            x += width;
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
            x + 6.0,
            escaped(&bar.text)
        );
    }
    svg.push_str("</svg>\n");
    let names = if series.len() > 1 { key(series.iter().copied()) } else { String::new() };
    svg + &names + "</figure>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_within_the_width() {
        let bar = |parts: [f64; 2]| Bar {
            name: "machine <0>".to_owned(),
            parts: parts.to_vec(),
            text: "1 GiB".to_owned(),
        };
        let svg = bars("Machines", &[("own", 0), ("idle", 8)], &[bar([1.0, 3.0]), bar([0.0, 2.0])]);
        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(svg.contains("machine &lt;0&gt;: 3.000 s idle"), "{svg}");
        let number = |text: &str| text.split('"').next().unwrap().parse::<f64>().unwrap();
        let begins: Vec<f64> = svg
            .split("<rect class=\"d")
            .skip(1)
            .map(|rest| number(rest.split("x=\"").nth(1).unwrap()))
            .collect();
        let widths: Vec<f64> = svg.split(" width=\"").skip(1).map(number).collect();
        let ends = [LEFT + widths[0], begins[1] + widths[1], 2.0 * widths[3]];
        let expected = [begins[1], WIDTH - RIGHT, WIDTH - LEFT - RIGHT];
        assert!(ends.iter().zip(expected).all(|(end, of)| (end - of).abs() < 0.2), "{ends:?}");
        assert!(!bars("None", &[("a", 0)], &[]).contains("NaN"));
    }
}
