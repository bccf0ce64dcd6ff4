//! The report of a run as a page: its figures as tables and charts, for people.
//!
//! It is made of the report as JSON, of one process or of a cluster, so that it says nothing that
//! the JSON does not. What a report does not have has no section.

use std::time::Duration;

use serde_json::Value;
use welter_engine::plan::human_bytes;

use crate::html::bars::{Bar, bars};
use crate::html::chart::{Axis, Line, Point, chart};
use crate::html::frame::{self, escaped};
use crate::number_format::{grouped, seconds};
use crate::price::money;

/// Kinds of time of a machine, of Figure 16 of Chaos: keys in the JSON, in their order here.
const KEYS: [&str; 5] = ["own", "stolen", "copying", "merging", "idle"];

/// Names and colours of these kinds.
const KINDS: [(&str, usize); 5] =
    [("own work", 0), ("stolen work", 1), ("copying", 2), ("merging", 3), ("idle", 8)];

/// The page of a report.
pub(crate) fn page(report: &Value) -> String {
    let sections = [facts(report), phases(report), iterations(report), machines(report)];
    let rest = [expected(report), planned(report), notes(report), whole(report)];
    let title = format!("{} of {}", text(&report["algorithm"]), inputs(report));
    let contents: String = sections.into_iter().chain(rest).flatten().collect();
    frame::page(&title, &contents)
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Names of the inputs, or the words of the command where the report has none.
fn inputs(report: &Value) -> String {
    let files = report["input"]["files"].as_array();
    let names: Vec<String> = files.into_iter().flatten().map(|file| text(&file["name"])).collect();
    match names.as_slice() {
        [] => report["command"].get(3).map_or_else(|| "a graph".to_owned(), text),
        [first] => first.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    }
}

fn took(value: &Value) -> Option<String> {
    Some(seconds(Duration::try_from_secs_f64(value.as_f64()?).ok()?))
}

fn count(value: &Value) -> Option<String> {
    value.as_u64().map(grouped)
}

fn bytes(value: &Value) -> Option<String> {
    value.as_u64().map(human_bytes)
}

/// A table of two columns, of what is known.
fn table(rows: impl IntoIterator<Item = (&'static str, Option<String>)>) -> String {
    let known = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let row = |(name, value): (&str, String)| {
        format!("<tr><th>{name}</th><td>{}</td></tr>\n", escaped(&value))
    };
    let rows: Vec<String> = known.map(row).collect();
    format!("<div class=\"scroll\"><table class=\"facts\">\n{}</table></div>\n", rows.concat())
}

/// The money of a run, and of when prices are.
fn price(price: &Value) -> Option<String> {
    let (total, currency) = (price["total"].as_f64()?, price["currency"].as_str()?);
    Some(format!("{} {currency}, by prices of {}", money(total), price["date"].as_str()?))
}

/// The longest time for which a machine that was lost or silent held the run up.
fn held_up(cluster: &Value) -> Option<String> {
    let both = |it: &Value| Some(it["unnoticed_seconds"].as_f64()? + it["seconds"].as_f64()?);
    let all = cluster["recoveries"].as_array()?.iter().filter_map(both);
    Some(seconds(Duration::try_from_secs_f64(all.reduce(f64::max)?).ok()?))
}

/// The command, and what it comes to.
fn facts(report: &Value) -> Option<String> {
    let words: Vec<String> = report["command"].as_array()?.iter().map(text).collect();
    let (graph, plan, cluster) = (&report["graph"], &report["plan"], &report["cluster"]);
    let either =
        |name: &str| if report[name].is_u64() { count(&report[name]) } else { count(&graph[name]) };
    let route = [plan, cluster].iter().find_map(|of| of["route"].as_str()).map(str::to_owned);
    let machines = cluster["machines"].as_array().map(|all| grouped(all.len() as u64));
    let each = |of: &Value| of["bytes_per_edge"].as_f64().map(|bytes| format!("{bytes:.2}"));
    let (storage, objects) = (&report["storage"], &report["objects"]);
    let facts = table([
        ("vertices", either("vertices")),
        ("edges", either("edges")),
        ("iterations", count(&report["iterations"])),
        ("time", took(&report["seconds"])),
        ("route", route),
        ("machines", machines),
        ("held up by a machine that was lost or silent, at most", held_up(cluster)),
        ("threads", count(&plan["threads"])),
        ("memory that was planned", bytes(&plan["memory_bytes"])),
        ("memory that was resident at most", bytes(&report["resident_bytes_max"])),
        ("budget of memory", bytes(&plan["budget_bytes"])),
        ("bytes an edge", each(graph)),
        ("bytes an edge of the input", each(&report["input"])),
        ("edges on storage", bytes(&storage["bytes_on_storage"])),
        ("read from storage", bytes(&storage["bytes_read"])),
        ("written to storage", bytes(&storage["bytes_written"])),
        ("bytes moved an edge and iteration", each(storage).or_else(|| each(cluster))),
        ("limit", storage["limit"].as_str().map(str::to_owned)),
        ("requests that read from stores", count(&objects["reads"])),
        ("requests that wrote to stores", count(&objects["writes"])),
        ("received from stores", bytes(&objects["bytes_received"])),
        ("sent to stores", bytes(&objects["bytes_sent"])),
        ("price", price(&report["price"])),
    ]);
    Some(format!("<p><code>{}</code></p>\n{facts}", escaped(&words.join(" "))))
}

/// Time and bytes of phases.
fn phases(report: &Value) -> Option<String> {
    let bar = |phase: &Value| {
        let (done, moved) = (count(&phase["done"])?, phase["bytes"].as_u64()?);
        let moved = if moved > 0 { format!(", {}", human_bytes(moved)) } else { String::new() };
        Some(Bar {
            name: text(&phase["name"]),
            parts: vec![phase["seconds"].as_f64()?],
            text: format!("{}, {done} {}{moved}", took(&phase["seconds"])?, text(&phase["unit"])),
        })
    };
    let all: Vec<Bar> = report["phases"].as_array()?.iter().filter_map(bar).collect();
    (!all.is_empty())
        .then(|| format!("<h2>Phases</h2>\n{}", bars("Seconds", &[("seconds", 0)], &all)))
}

/// A chart of a number of each entry of iterations; entries of several show their mean.
fn by_iteration(title: &str, entries: &[Value], of: &str, scale: f64) -> String {
    let mut last = 0;
    let point = |entry: &Value| {
        let (count, at) = match entry["iteration"].as_u64() {
            Some(at) => (1, at),
            None => (entry["iterations"].as_u64()?.max(1), last + entry["iterations"].as_u64()?),
        };
        last = at;
        let value = entry[of].as_f64()? * scale / count as f64;
        Some(Point { at: at as f64, value, text: format!("iteration {at}: {value:.4}") })
    };
    let points: Vec<Point> = entries.iter().filter_map(point).collect();
    let Some((first, last)) = points.first().zip(points.last()) else { return String::new() };
    let axis = Axis::counting("iteration", [first.at as u64, last.at as u64]);
    chart(title, &axis, &[Line { name: String::new(), points }])
}

/// Machines that have a line of their own in a chart, at most.
const LINES_MAX: usize = 8;

/// Kinds of bytes that machines move: keys in the JSON, and titles.
const MOVED: [(&str, &str); 3] = [
    ("bytes_read", "Megabytes an iteration from disks"),
    ("bytes_written", "Megabytes an iteration to disks"),
    ("bytes_sent", "Megabytes an iteration to other machines"),
];

/// Charts of the bytes of iterations with a line for each machine; none of many machines, whose
/// figures the JSON has.
fn moved(report: &Value) -> String {
    let machines = report["cluster"]["machines"].as_array();
    let machines = machines.map(Vec::as_slice).unwrap_or_default();
    let of = |machine: &Value| machine["iteration_bytes"].as_array().cloned().unwrap_or_default();
    let all: Vec<Vec<Value>> = machines.iter().map(of).collect();
    let last = |entries: &Vec<Value>| entries.last()?["iteration"].as_u64();
    let last = all.iter().filter_map(last).max();
    let Some(last) = last.filter(|last| *last > 0 && machines.len() <= LINES_MAX) else {
        return String::new();
    };
    let axis = Axis::counting("iteration", [1, last]);
    let chart_of = |(key, title): (&str, &str)| {
        let point = |entry: &Value| {
            let (at, count) = (entry["iteration"].as_u64()?, entry["iterations"].as_u64()?);
            let value = entry[key].as_f64()? * 1e-6 / count.max(1) as f64;
            let text = format!("iteration {at}: {value:.4}");
            (at > 0).then_some(Point { at: at as f64, value, text })
        };
        let line = |(rank, entries): (usize, &Vec<Value>)| Line {
            name: format!("machine {rank}"),
            points: entries.iter().filter_map(point).collect(),
        };
        let lines: Vec<Line> = all.iter().enumerate().map(line).collect();
        chart(title, &axis, &lines)
    };
    MOVED.map(chart_of).concat()
}

/// Time, bytes and active vertices of iterations.
fn iterations(report: &Value) -> Option<String> {
    let times = [report, &report["cluster"]].iter().find_map(|of| of["iteration_times"].as_array());
    let mut charts = String::new();
    if let Some(times) = times.filter(|all| all.len() > 1) {
        let title = match times[0]["iteration"].as_u64() {
            Some(0) => "Seconds an iteration; 0 is the beginning, with ingest",
            _ => "Seconds an iteration",
        };
        charts.push_str(&by_iteration(title, times, "seconds", 1.0));
        if times.iter().any(|entry| entry["bytes"].as_u64() > Some(0)) {
            charts.push_str(&by_iteration("Megabytes an iteration", times, "bytes", 1e-6));
        }
    }
    if let Some(levels) = report["levels"].as_array().filter(|all| all.len() > 1) {
        charts.push_str(&by_iteration("Active vertices", levels, "active", 1.0));
        charts.push_str(&by_iteration("Edges that were met", levels, "edges", 1.0));
    }
    charts.push_str(&moved(report));
    (!charts.is_empty())
        .then(|| format!("<h2>Iterations</h2>\n<div class=\"charts\">\n{charts}</div>\n"))
}

/// Time of each machine of a cluster, and what it moved.
fn machines(report: &Value) -> Option<String> {
    let all = report["cluster"]["machines"].as_array()?;
    let bar = |(rank, machine): (usize, &Value)| {
        let part = |key: &str| machine["seconds"][key].as_f64().unwrap_or(0.0);
        let sent = bytes(&machine["bytes_sent"]).unwrap_or_default();
        let parts = KEYS.map(part).to_vec();
        Bar { name: format!("machine {rank}"), parts, text: format!("{sent} sent") }
    };
    let times: Vec<Bar> = all.iter().enumerate().map(bar).collect();
    let heads =
        ["read", "written", "sent", "messages", "chunks served", "partitions helped", "memory"];
    let table = by_machine(all, heads, |machine| {
        let moved = ["bytes_read", "bytes_written", "bytes_sent", "resident_bytes_max"];
        let [read, written, sent, memory] = moved.map(|key| bytes(&machine[key]));
        let counts = ["messages_sent", "chunks_served", "partitions_helped"];
        let [messages, chunks, partitions] = counts.map(|key| count(&machine[key]));
        [read, written, sent, messages, chunks, partitions, memory]
    });
    Some(format!("<h2>Machines</h2>\n{}{table}", bars("Seconds", &KINDS, &times)))
}

/// A table of cells of each machine, by rank; those that are not known are empty.
fn by_machine<const CELLS: usize>(
    all: &[Value],
    heads: [&str; CELLS],
    cells: impl Fn(&Value) -> [Option<String>; CELLS],
) -> String {
    let heads = heads.map(|head| format!("<th>{head}</th>")).concat();
    let row = |(rank, machine): (usize, &Value)| {
        let cells = cells(machine).map(|cell| format!("<td>{}</td>", cell.unwrap_or_default()));
        format!("<tr><th>{rank}</th>{}</tr>\n", cells.concat())
    };
    let rows: Vec<String> = all.iter().enumerate().map(row).collect();
    let rows = rows.concat();
    format!(
        "<div class=\"scroll\"><table>\n<tr><th>machine</th>{heads}</tr>\n{rows}</table></div>\n"
    )
}

/// Memory, disk and network that were planned for each machine of a cluster, beside the outcome.
fn planned(report: &Value) -> Option<String> {
    let all = report["cluster"]["machines"].as_array()?;
    if !all.iter().any(|machine| machine["plan"].is_object()) {
        return None;
    }
    let heads = [
        "memory planned",
        "resident at most",
        "disk planned",
        "written in all",
        "sent an iteration, planned",
        "sent an iteration",
    ];
    let table = by_machine(all, heads, |machine| {
        let plan = &machine["plan"];
        let figures = [
            &plan["memory_bytes"],
            &machine["resident_bytes_max"],
            &plan["disk_bytes"],
            &machine["bytes_written"],
            &plan["iteration_bytes_sent"],
            &machine["iteration_bytes_sent"],
        ];
        figures.map(bytes)
    });
    Some(format!("<h2>Plan and outcome</h2>\n{table}"))
}

/// Times that were expected, beside those that were measured.
fn expected(report: &Value) -> Option<String> {
    let [expected, measured] = ["expected", "took"].map(|of| &report["times"][of]);
    expected.as_object()?;
    let row = |name: &str, key: &str, shown: fn(&Value) -> Option<String>| {
        let cell = |of: &Value| shown(&of[key]).unwrap_or_default();
        format!("<tr><th>{name}</th><td>{}</td><td>{}</td></tr>\n", cell(expected), cell(measured))
    };
    Some(format!(
        "<h2>Plan and outcome</h2>\n<div class=\"scroll\"><table class=\"facts\">\n\
         <tr><th></th><th>expected</th><th>measured</th></tr>\n{}{}{}{}</table></div>\n",
        row("edges binned and sorted", "ingest_seconds", took),
        row("an iteration", "iteration_seconds", took),
        row("read an iteration", "iteration_bytes_read", bytes),
        row("written an iteration", "iteration_bytes_written", bytes),
    ))
}

/// Notes for a person.
fn notes(report: &Value) -> Option<String> {
    let of_input = report["input"]["notes"].as_array().into_iter().flatten();
    let notes = of_input.chain([&report["note"]]).filter_map(Value::as_str);
    let notes: Vec<String> = notes.map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
    (!notes.is_empty()).then(|| format!("<h2>Notes</h2>\n<ul>\n{}</ul>\n", notes.concat()))
}

/// The report as it is.
fn whole(report: &Value) -> Option<String> {
    let json = serde_json::to_string_pretty(report).ok()?;
    Some(format!(
        "<details><summary>All figures, as JSON</summary><pre>{}</pre></details>\n",
        escaped(&json)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::html::frame::assert_whole;

    #[test]
    fn a_run_of_one_process_has_phases_iterations_and_a_plan() {
        let entry = |seconds: f64| json!({"iterations": 1, "seconds": seconds, "bytes": 1000});
        let phase = json!({"name": "read", "unit": "edges", "done": 7, "bytes": 0, "seconds": 0.5});
        let both = json!({"ingest_seconds": 1.0, "iteration_seconds": 0.1});
        let html = page(&json!({
            "command": ["welter", "run", "pagerank", "<a>&.csv"],
            "algorithm": "pagerank",
            "input": {"files": [{"name": "<a>&.csv"}], "notes": ["2 loops < 3"]},
            "graph": {"vertices": 12345, "edges": 7, "bytes_per_edge": 2.5},
            "plan": {"route": "fold", "threads": 2, "memory_bytes": 1 << 20},
            "times": {"expected": both.clone(), "took": both},
            "phases": [phase.clone(), phase],
            "iteration_times": [entry(0.1), entry(0.3), entry(0.2)],
            "iterations": 3, "seconds": 1.25, "note": null,
        }));
        assert_whole(&html);
        assert!(html.contains("<title>pagerank of &lt;a&gt;&amp;.csv</title>"), "{html}");
        for part in ["12,345", "1.00 MiB", "2 loops &lt; 3", "Plan and outcome", "Phases"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!((html.matches("<polyline").count(), html.matches("<rect").count()), (2, 2));
        assert!(!html.contains("<h2>Machines"));
    }

    #[test]
    fn a_run_on_machines_has_their_times() {
        let machine = json!({
            "plan": {"memory_bytes": 3 << 20, "iteration_bytes_sent": 5120},
            "resident_bytes_max": 2 << 20,
            "seconds": {"own": 1.0, "idle": 3.0},
            "bytes_sent": 2048, "iteration_bytes_sent": 1024,
            "iteration_bytes": [
                {"iteration": 0, "iterations": 1, "bytes_sent": 9},
                {"iteration": 1, "iterations": 1, "bytes_read": 5, "bytes_sent": 7_000_000},
                {"iteration": 3, "iterations": 2, "bytes_read": 6, "bytes_sent": 5_000_000},
            ],
        });
        let html = page(&json!({
            "command": ["welter", "run", "bfs", "g.mtx"],
            "algorithm": "bfs", "vertices": 3, "edges": 2, "iterations": 2, "seconds": 4.0,
            "cluster": {
                "route": "spill",
                "machines": [machine.clone(), machine],
                "recoveries": [
                    {"rank": 0, "unnoticed_seconds": 0.5, "seconds": 0.25},
                    {"rank": 1, "unnoticed_seconds": 1.5, "seconds": 0.75},
                ],
                "iteration_times": [
                    {"iteration": 0, "seconds": 1.0},
                    {"iteration": 1, "seconds": 2.0},
                ],
            },
        }));
        assert_whole(&html);
        assert!(html.contains("<title>bfs of g.mtx</title>") && html.contains("machine 1"));
        assert!(html.contains("machine 0: 3.000 s idle") && html.contains("2.00 KiB"), "{html}");
        assert!(html.contains("<h2>Plan and outcome"), "{html}");
        assert!(html.contains("or silent, at most</th><td>2.25 s</td>"), "{html}");
        // Seconds have a line, and bytes to others one of each machine; the beginning has no point.
        let titles = ["from disks", "to disks", "to other machines"];
        assert!(titles.iter().all(|title| html.contains(&format!("an iteration {title}"))));
        let point = |text: &str| html.matches(&format!("<title>{text}</title>")).count();
        assert_eq!([point("iteration 1: 7.0000"), point("iteration 3: 2.5000")], [2, 2], "{html}");
        assert_eq!(point("iteration 0: 0.0000"), 0, "{html}");
        // Memory and bytes an iteration, each as planned and as it was; no disk is known.
        let cells = ["3.00 MiB", "2.00 MiB", "", "", "5.00 KiB", "1.00 KiB"];
        let cells = cells.map(|cell| format!("<td>{cell}</td>")).concat();
        for rank in 0..2 {
            assert!(html.contains(&format!("<tr><th>{rank}</th>{cells}</tr>")), "{html}");
        }
    }

    #[test]
    fn a_report_of_nothing_is_a_page() {
        assert_whole(&page(&json!({})));
    }
}
