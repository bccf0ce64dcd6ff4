//! The page around its contents.

use std::fmt::Write;

/// Colours that a page has.
pub(crate) const COLOURS: usize = 9;

/// Colours of lines and bars on light and on dark ground.
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
figure { margin: 0; flex: 1 1 480px; min-width: 0; max-width: 640px; }
figcaption { font-weight: 600; }
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
.facts th { text-align: left; } pre, code { overflow-wrap: anywhere; white-space: pre-wrap; }
";

/// Text that is safe between tags and in attributes.
pub(crate) fn escaped(text: &str) -> String {
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

/// Names of the series of a chart, with the colours that they have.
pub(crate) fn key<'a>(names: impl Iterator<Item = (&'a str, usize)>) -> String {
    let name =
        |(name, colour)| format!("<span class=\"k{}\">{}</span> ", colour % COLOURS, escaped(name));
    let names: Vec<String> = names.map(name).collect();
    format!("<p class=\"key\">{}</p>\n", names.concat())
}

/// A page with a title above its contents.
pub(crate) fn page(title: &str, contents: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         {contents}</body>\n</html>\n",
        colours()
    )
}

/// Asserts that a page needs nothing from elsewhere, and that its tags are closed.
#[cfg(test)]
pub(crate) fn assert_whole(html: &str) {
    for foreign in ["<script", "http:", "https:", "url(", "@import", "<link", "src="] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    for tag in ["svg", "figure", "table", "tr", "div", "p", "ul", "details", "span", "text", "pre"]
    {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}
