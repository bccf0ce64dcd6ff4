//! A page with charts of what was measured.

use std::fmt::Write;

use welter_store::probe::Rate;

use super::measured::Measured;
use super::table::{at, axes, findings, megabytes, size};
use crate::html::chart::{Axis, Line, Point, chart};
use crate::html::frame::{self, escaped};

/// Log2 of the sizes at both ends of an axis.
const BITS: [u32; 2] = [12, 26];

/// The axis of sizes of requests, each twice the one before.
fn axis() -> Axis {
    let [first, last] = BITS;
    let ticks = (first..=last).step_by(2).map(|bits| (f64::from(bits), size(1 << bits))).collect();
    Axis { label: "bytes of a request", range: BITS.map(f64::from), ticks }
}

/// A line of rates by bytes of a request, in MB/s.
fn line(name: String, rates: impl Iterator<Item = (u32, f64)>) -> Line {
    let point = |(bytes, rate): (u32, f64)| Point {
        at: f64::from(bytes).log2(),
        value: rate,
        text: format!("{name}, {}: {rate:.0} MB/s", size(bytes)),
    };
    Line { points: rates.map(point).collect(), name }
}

/// A line for each number of requests at a time.
fn by_depth(rates: &[Rate]) -> Vec<Line> {
    let of_depth = |depth: u32| {
        let of = rates.iter().filter(|rate| rate.depth == depth);
        let points = of.map(|rate| (rate.request_bytes, rate.bytes_per_second / 1e6));
        line(format!("{depth} at a time"), points)
    };
    axes(rates).1.into_iter().map(of_depth).collect()
}

/// A line for each target: the best of all depths.
fn by_target(all: &[Measured], of: impl Fn(&Measured) -> &[Rate]) -> Vec<Line> {
    let of_target = |measured: &Measured| {
        let rates = of(measured);
        let best = |bytes: u32| {
            let same = rates.iter().filter(|rate| rate.request_bytes == bytes);
            (bytes, same.map(|rate| rate.bytes_per_second / 1e6).fold(0.0, f64::max))
        };
        line(measured.name(), axes(rates).0.into_iter().map(best))
    };
    all.iter().map(of_target).collect()
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
    let cache = measured.cache();
    let mut html = format!("<h2>{}</h2>\n<p>Measured {cache}.</p>\n", escaped(&measured.name()));
    html.push_str("<div class=\"charts\">\n");
    html.push_str(&chart("Reading, MB/s", &axis(), &by_depth(&probe.read)));
    if !probe.write.is_empty() {
        html.push_str(&chart("Writing, MB/s", &axis(), &by_depth(&probe.write)));
    }
    html.push_str("</div>\n<ul>\n");
    for line in findings(probe, measured.latency) {
        let _ = writeln!(html, "<li>{}</li>", escaped(&line));
    }
    html.push_str("</ul>\n<details><summary>All rates</summary>\n");
    let by = "MB/s, by requests at a time";
    html.push_str(&table(&format!("Reading, {by}"), &probe.read, probe.best_read()));
    if !probe.write.is_empty() {
        html.push_str(&table(&format!("Writing, {by}"), &probe.write, probe.best_write()));
    }
    html + "</details>\n"
}

/// The page of all targets.
pub(super) fn page(all: &[Measured]) -> String {
    let mut html =
        "<p>In sequence, by size of the requests and by how many of them are outstanding.</p>\n"
            .to_owned();
    if all.len() > 1 {
        html.push_str("<h2>Side by side</h2>\n<div class=\"charts\">\n");
        let reading = by_target(all, |one| &one.probe.read);
        let writing = by_target(all, |one| &one.probe.write);
        html.push_str(&chart("Reading at best, MB/s", &axis(), &reading));
        html.push_str(&chart("Writing at best, MB/s", &axis(), &writing));
        html.push_str("</div>\n");
    }
    for one in all {
        html.push_str(&section(one));
    }
    frame::page("How fast storage is read and written", &html)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use welter_store::orphans::OrphanedObjects;
    use welter_store::probe::{Latency, Probe};

    use super::*;
    use crate::html::frame::assert_whole;

    fn measured(name: &str) -> Measured {
        let rate = |bits: u32, depth: u32| Rate {
            request_bytes: 1 << bits,
            depth,
            bytes_per_second: f64::from(bits * depth) * 1e6,
            processor_share: 0.1,
        };
        let rates: Vec<Rate> =
            (12..=26).flat_map(|bits| [1, 2, 4].map(|depth| rate(bits, depth))).collect();
        let probe = Probe { read: rates.clone(), write: rates, direct: true, ..Probe::default() };
        let (latency, took) = (Latency::default(), Duration::from_secs(1));
        let (kept, left) = (false, OrphanedObjects::default());
        Measured { directories: vec![name.into()], probe, latency, took, kept, left }
    }

    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let html = page(&[measured("/mnt/<a>&\"b\""), measured("/mnt/c")]);
        assert_whole(&html);
        assert!(html.contains("/mnt/&lt;a&gt;&amp;&quot;b&quot;") && !html.contains("<a>"));
        assert_eq!(html.matches("<svg").count(), 6);
        assert_eq!(html.matches("<polyline").count(), 2 * 2 + 4 * 3);
    }
}
