//! A page with charts: one file, without scripts and without anything from elsewhere.

use std::fmt::Write;

use welter_store::probe::Rate;

use super::chart::{COLOURS, Line, chart};
use super::measured::Measured;
use super::table::{at, axes, findings, megabytes, size};

/// Colours of lines on light and on dark ground.
const LIGHT: [&str; COLOURS] = [
    "#1f6fb4", "#c2410c", "#15803d", "#7c3aed", "#b45309", "#be185d", "#0f766e", "#4d7c0f",
    "#374151",
];
const DARK: [&str; COLOURS] = [
    "#7cb8f2", "#fb923c", "#4ade80", "#c4b5fd", "#fbbf24", "#f9a8d4", "#5eead4", "#bef264",
    "#d1d5db",
];

const STYLE: &str = "\
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b1f24; --soft: #5b6470; \
--grid: #dde2e8; }
body { background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; \
max-width: 1180px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.charts { display: flex; flex-wrap: wrap; gap: 1.5rem; }
figure { margin: 0; flex: 1 1 480px; min-width: 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.grid { stroke: var(--grid); } polyline { fill: none; stroke-width: 2; }
.key { margin: 0; color: var(--soft); } .key span { white-space: nowrap; margin-right: .8rem; }
.key span::before { content: ''; display: inline-block; width: .8em; height: .8em; \
margin-right: .35em; border-radius: 2px; background: var(--c); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .8rem 0; }
caption { text-align: left; font-weight: 600; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); \
font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 500; } .best { font-weight: 700; }
";

/// Text that is safe between tags and in attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

/// The colours as variables, and the classes that have them.
fn colours() -> String {
    let of = |colours: &[&str]| {
        let all = colours.iter().enumerate();
        let all: Vec<String> =
            all.map(|(number, colour)| format!("--c{number}: {colour};")).collect();
        all.concat()
    };
    let mut css = format!(":root {{ {} }}\n", of(&LIGHT));
    css.push_str("@media (prefers-color-scheme: dark) { :root { --ground: #14181d; ");
    css.push_str("--ink: #e6e9ed; --soft: #a3adb9; --grid: #303841; ");
    css.push_str(&of(&DARK));
    css.push_str(" } }\n");
    for number in 0..COLOURS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            css,
            ".l{number} {{ stroke: var(--c{number}); }} .d{number} {{ fill: var(--c{number}); }} \
             .k{number} {{ --c: var(--c{number}); }}"
        );
    }
    css
}

/// A line for each number of requests at a time.
fn by_depth(rates: &[Rate]) -> Vec<Line> {
    let line = |depth: u32| {
        let of = rates.iter().filter(|rate| rate.depth == depth);
        let points = of.map(|rate| (rate.request_bytes, rate.bytes_per_second / 1e6)).collect();
        Line { name: format!("{depth} at a time"), points }
    };
    axes(rates).1.into_iter().map(line).collect()
}

/// A line for each target: the best of all depths.
fn by_target(all: &[Measured], of: impl Fn(&Measured) -> &[Rate]) -> Vec<Line> {
    let line = |measured: &Measured| {
        let rates = of(measured);
        let best = |bytes: u32| {
            let same = rates.iter().filter(|rate| rate.request_bytes == bytes);
            (bytes, same.map(|rate| rate.bytes_per_second / 1e6).fold(0.0, f64::max))
        };
        let points = axes(rates).0.into_iter().map(best).collect();
        Line { name: escaped(&measured.name()), points }
    };
    all.iter().map(line).collect()
}

fn table(caption: &str, rates: &[Rate], best: Option<Rate>) -> String {
    let (sizes, depths) = axes(rates);
    let mut html = format!("<div class=\"scroll\"><table><caption>{caption}</caption>\n<tr><th>");
    html.push_str("request</th>");
    for depth in &depths {
        let _ = write!(html, "<th>{depth}</th>");
    }
    html.push_str("</tr>\n");
    for bytes in sizes {
        let _ = write!(html, "<tr><th>{}</th>", size(bytes));
        for depth in &depths {
            let rate = at(rates, bytes, *depth);
            let class =
                if rate.is_some() && rate == best.as_ref() { " class=\"best\"" } else { "" };
            let _ = write!(html, "<td{class}>{}</td>", rate.map_or(String::new(), megabytes));
        }
        html.push_str("</tr>\n");
    }
    html + "</table></div>\n"
}

/// Findings about one target.
fn section(measured: &Measured) -> String {
    let probe = &measured.probe;
    let cache = if probe.direct { "past the page cache" } else { "through the page cache" };
    let mut html = format!("<h2>{}</h2>\n<p>Measured {cache}.</p>\n", escaped(&measured.name()));
    html.push_str("<div class=\"charts\">\n");
    html.push_str(&chart("Reading, MB/s", &by_depth(&probe.read)));
    html.push_str(&chart("Writing, MB/s", &by_depth(&probe.write)));
    html.push_str("</div>\n<ul>\n");
    for line in findings(probe, measured.latency) {
        let _ = writeln!(html, "<li>{}</li>", escaped(&line));
    }
    html.push_str("</ul>\n<details><summary>All rates</summary>\n");
    let by = "MB/s, by requests at a time";
    html.push_str(&table(&format!("Reading, {by}"), &probe.read, probe.best_read()));
    html.push_str(&table(&format!("Writing, {by}"), &probe.write, probe.best_write()));
    html + "</details>\n"
}

/// The page of all targets.
pub(super) fn page(all: &[Measured]) -> String {
    let title = "How fast storage is read and written";
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>In sequence, by size of the requests and by how many of them are outstanding.</p>\n",
        colours()
    );
    if all.len() > 1 {
        html.push_str("<h2>Side by side</h2>\n<div class=\"charts\">\n");
        let reading = by_target(all, |one| &one.probe.read);
        let writing = by_target(all, |one| &one.probe.write);
        html.push_str(&chart("Reading at best, MB/s", &reading));
        html.push_str(&chart("Writing at best, MB/s", &writing));
        html.push_str("</div>\n");
    }
    for one in all {
        html.push_str(&section(one));
    }
    html + "</body>\n</html>\n"
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use welter_store::probe::{Latency, Probe};

    use super::*;

    fn measured(name: &str) -> Measured {
        let rate = |bits: u32, depth: u32| Rate {
            request_bytes: 1 << bits,
            depth,
            bytes_per_second: f64::from(bits * depth) * 1e6,
            processor_share: 0.1,
        };
        let rates: Vec<Rate> =
            (12..=26).flat_map(|bits| [1, 2, 4].map(|depth| rate(bits, depth))).collect();
        let probe = Probe { read: rates.clone(), write: rates, direct: true };
        let (latency, took) = (Latency::default(), Duration::from_secs(1));
        Measured { directories: vec![name.into()], probe, latency, took, kept: false }
    }

    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let html = page(&[measured("/mnt/<a>&\"b\""), measured("/mnt/c")]);
        for foreign in ["<script", "http:", "https:", "url(", "@import", "<link", "src="] {
            assert!(!html.contains(foreign), "{foreign}");
        }
        assert!(html.contains("/mnt/&lt;a&gt;&amp;&quot;b&quot;") && !html.contains("<a>"));
        assert_eq!(html.matches("<svg").count(), 6);
        assert_eq!(html.matches("<polyline").count(), 2 * 2 + 4 * 3);
        for tag in ["svg", "figure", "table", "div", "p", "ul", "details", "span", "text"] {
            let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
            let opened = html.matches(&format!("{open}>")).count()
                + html.matches(&format!("{open} ")).count();
            assert_eq!(opened, html.matches(&close).count(), "{tag}");
        }
    }
}
