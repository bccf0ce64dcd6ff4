//! Tables of rates.

use std::fmt::Write;

use welter_store::probe::{Latency, Probe, Rate};

use super::measured::Measured;

/// `64 KiB`, `4 MiB`: sizes are powers of two.
pub(super) fn size(bytes: u32) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

/// Megabytes a second, for people.
pub(super) fn megabytes(rate: &Rate) -> String {
    let megabytes = rate.bytes_per_second / 1e6;
    if megabytes < 9.95 { format!("{megabytes:.1}") } else { format!("{megabytes:.0}") }
}

/// Sizes and depths of some rates, each once and ascending.
pub(super) fn axes(rates: &[Rate]) -> (Vec<u32>, Vec<u32>) {
    let [mut sizes, mut depths] =
        [|rate: &Rate| rate.request_bytes, |rate: &Rate| rate.depth].map(|of| {
            let mut all: Vec<u32> = rates.iter().map(of).collect();
            all.sort_unstable();
            all
        });
    sizes.dedup();
    depths.dedup();
    (sizes, depths)
}

/// Rate that one way of asking reached.
pub(super) fn at(rates: &[Rate], bytes: u32, depth: u32) -> Option<&Rate> {
    rates.iter().find(|rate| (rate.request_bytes, rate.depth) == (bytes, depth))
}

/// Rates by size and depth, and what follows from them.
pub(super) fn of(probe: &Probe, latency: Latency) -> String {
    let mut text = String::new();
    for (doing, rates, best) in
        [("reading", &probe.read, probe.best_read()), ("writing", &probe.write, probe.best_write())]
    {
        if rates.is_empty() {
            continue;
        }
        text.push_str(&grid(doing, rates, best));
        text.push('\n');
    }
    text.push_str("*: best, the smallest that is nearly the fastest (95 %)\n");
    for line in findings(probe, latency) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Rates of one direction: a line a size, a column a depth.
fn grid(doing: &str, rates: &[Rate], best: Option<Rate>) -> String {
    let (sizes, depths) = axes(rates);
    let mut text = format!("{doing}, MB/s, by requests at a time\n{:>9}", "request");
    for depth in &depths {
        // Writing to a string cannot fail.
        let _ = write!(text, "{depth:>8} ");
    }
    for bytes in sizes {
        text.truncate(text.trim_end().len());
        let _ = write!(text, "\n{:>9}", size(bytes));
        for depth in &depths {
            let rate = at(rates, bytes, *depth);
            let mark = if rate.is_some() && rate == best.as_ref() { '*' } else { ' ' };
            let _ = write!(text, "{:>8}{mark}", rate.map_or(String::new(), megabytes));
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Conclusions from the rates: the best way of asking, and what limits.
pub(super) fn findings(probe: &Probe, latency: Latency) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, best) in [("reads", probe.best_read()), ("writes", probe.best_write())] {
        let Some(best) = best else { continue };
        lines.push(format!(
            "best {what}: {}, {} at a time: {} MB/s, {:.2} s of a core a GB",
            size(best.request_bytes),
            best.depth,
            megabytes(&best),
            best.processor_seconds(),
        ));
    }
    let [median, late] = [latency.median, latency.late].map(|time| time.as_secs_f64() * 1e3);
    lines.push(format!("first byte: {median:.3} ms, 99 of 100 within {late:.3} ms"));
    for (what, limit) in [("reads", probe.read_limit()), ("writes", probe.write_limit())] {
        let Some(limit) = limit else { continue };
        let (each, most) = (limit.per_second, size(limit.up_to_bytes));
        lines.push(format!("{what} up to {most} are limited by their number: {each:.0} a second"));
    }
    lines
}

/// All targets, a line each.
pub(super) fn side_by_side(all: &[Measured]) -> String {
    let width = all.iter().map(|one| one.name().chars().count()).max().unwrap_or(0).max(6);
    let mut text = format!(
        "\n{:width$}  reads, MB/s  writes, MB/s  first byte, ms  core s a GB read, written\n",
        "side by side"
    );
    for one in all {
        let [read, write] = [one.probe.best_read(), one.probe.best_write()];
        let rate = |best: &Option<Rate>| best.as_ref().map_or(String::new(), megabytes);
        let seconds = |rate: &Rate| format!("{:.2}", rate.processor_seconds());
        let busy = |best: &Option<Rate>| best.as_ref().map_or("-".to_owned(), seconds);
        let name = one.name();
        let width = width.max(12);
        let _ = writeln!(
            text,
            "{name:width$}  {:>11}  {:>12}  {:>14.3}  {}, {}",
            rate(&read),
            rate(&write),
            one.latency.median.as_secs_f64() * 1e3,
            busy(&read),
            busy(&write),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rate(request_bytes: u32, depth: u32, megabytes: f64) -> Rate {
        let bytes_per_second = megabytes * 1e6;
        Rate { request_bytes, depth, bytes_per_second, processor_share: 0.06 }
    }

    #[test]
    fn the_table_marks_the_best() {
        let read =
            vec![rate(65_536, 1, 420.0), rate(65_536, 4, 1_190.0), rate(1 << 20, 1, 1_200.0)];
        let write = vec![rate(4096, 1, 4.0), rate(8192, 1, 8.0), rate(1 << 20, 1, 1_000.0)];
        let latency =
            Latency { median: Duration::from_micros(90), late: Duration::from_micros(300) };
        let expected = "\
reading, MB/s, by requests at a time
  request       1        4
   64 KiB     420     1190*
    1 MiB    1200

writing, MB/s, by requests at a time
  request       1
    4 KiB     4.0
    8 KiB     8.0
    1 MiB    1000*

*: best, the smallest that is nearly the fastest (95 %)
best reads: 64 KiB, 4 at a time: 1190 MB/s, 0.05 s of a core a GB
best writes: 1 MiB, 1 at a time: 1000 MB/s, 0.06 s of a core a GB
first byte: 0.090 ms, 99 of 100 within 0.300 ms
writes up to 8 KiB are limited by their number: 977 a second
";
        assert_eq!(of(&Probe { read, write, direct: true, ..Probe::default() }, latency), expected);
    }
}
