//! Markdown: relative links lead to files and headings that exist, places that maps of the code
//! name exist, and the README names the two commands.

use super::source::{Finding, Source};
use std::collections::BTreeMap;
use std::path::Path;

/// Commands that a person types on a fresh machine. The README must show both as they are.
const COMMANDS: [&str; 2] =
    ["cargo run --release -- run pagerank examples/debian-depends.tsv.zst", "cargo xtask test"];

/// Pages whose places in the code must exist: the map, and where each mechanism of the papers is.
const MAPS: [&str; 3] = ["ARCHITECTURE.md", GLOSSARY, "docs/papers.md"];

/// The words of the code, each with the file that has it.
const GLOSSARY: &str = "docs/glossary.md";

/// The README's commands that are missing.
pub(super) fn check_commands(sources: &[Source]) -> Vec<Finding> {
    let Some(readme) = sources.iter().find(|source| source.path == "README.md") else {
        let message = "there is no README.md".to_owned();
        return vec![Finding { path: "README.md".to_owned(), line: 0, message }];
    };
    let missing = COMMANDS.iter().filter(|command| !readme.text.contains(**command));
    missing.map(|command| Finding::new(readme, 0, format!("does not show `{command}`"))).collect()
}

/// Relative links of a Markdown file that lead nowhere: to no file, or to no heading of one.
pub(super) fn check(source: &Source, root: &Path) -> Vec<Finding> {
    if !source.is("md") {
        return Vec::new();
    }
    let folder = root.join(Path::new(&source.path).parent().unwrap_or(Path::new("")));
    let mut findings = Vec::new();
    for (number, line) in prose(&source.text) {
        let mut find = |message| findings.push(Finding::new(source, number, message));
        if MAPS.contains(&source.path.as_str()) {
            for place in places(line).filter(|place| !root.join(place).exists()) {
                find(format!("there is no `{place}`"));
            }
        }
        if source.path == GLOSSARY {
            strangers(line, root).for_each(|(word, place)| {
                find(format!("`{word}` does not occur in `{place}`"));
            });
        }
        for link in targets(line).filter(|link| !leads_somewhere(link, source, &folder)) {
            find(format!("the link `{link}` leads nowhere"));
        }
    }
    findings
}

/// The numbered lines of a Markdown text that are not code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The links of a line, `[text](file#anchor)`, without what leaves the repository.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let link = rest.split([')', ' ']).next()?;
        let leaves = link.contains("://") || link.starts_with("mailto:");
        (!leaves && !link.is_empty()).then_some(link)
    })
}

/// Whether the file of a link exists and, where it is Markdown, has the heading that is named.
fn leads_somewhere(link: &str, source: &Source, folder: &Path) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    if anchor.is_empty() {
        return folder.join(file).exists();
    }
    if file.is_empty() {
        return anchors(&source.text).any(|found| found == anchor);
    }
    let text = std::fs::read_to_string(folder.join(file));
    let is_markdown = Path::new(file).extension().is_some_and(|kind| kind == "md");
    text.is_ok_and(|text| !is_markdown || anchors(&text).any(|found| found == anchor))
}

/// The anchors that a viewer gives to the headings of a Markdown text: small letters, digits,
/// hyphens for spaces; a heading that occurred `n` times before gets `-n`.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let mut earlier: BTreeMap<String, usize> = BTreeMap::new();
    prose(text).filter(|(_, line)| line.starts_with('#')).map(move |(_, line)| {
        let title = line.trim_start_matches('#').trim();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let count = earlier.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    })
}

/// Files and folders of the repository that a line names as code.
fn places(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|quoted| ["crates/", "benches/", "python/"].iter().any(|of| quoted.starts_with(of)))
}

/// Words of a row of the glossary, `| word, word | ... | place |`, that its place does not have.
fn strangers<'a>(row: &'a str, root: &Path) -> impl Iterator<Item = (&'a str, &'a str)> {
    let place = places(row).last();
    let text = place.and_then(|place| std::fs::read_to_string(root.join(place)).ok());
    let words =
        row.split('|').nth(1).unwrap_or("").split(',').map(|word| word.trim_matches([' ', '`']));
    let text = text.map(|text| text.to_lowercase().replace(['-', '_'], " "));
    words.filter_map(move |word| {
        let plain = word.to_lowercase().replace(['-', '_'], " ");
        let occurs = text.as_ref().is_none_or(|text| text.contains(&plain));
        (!occurs).then_some((word, place?))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    #[test]
    fn a_dead_link_is_found_with_its_line() {
        let text = "[a](run.rs) [b](https://example.org/x)\n\n[c](gone.md#there)\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let findings = check(&source("src/x.md", text), root);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].to_string(), "src/x.md:3: the link `gone.md#there` leads nowhere");
    }

    #[test]
    fn a_link_to_a_heading_that_is_gone_is_found() {
        let text = "# A `b`, (c)\n## D\n```\n# E\n```\n## D\n\n[1](#a-b-c) [2](#d-1) [3](#e)\n\
            [4](../CONTRIBUTING.md#set-up) [5](../CONTRIBUTING.md#tear-down) [6](Cargo.toml#any)\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found = check(&source("x.md", text), root);
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = ["x.md:8: the link `#e`", "x.md:9: the link `../CONTRIBUTING.md#tear-down`"];
        assert_eq!(lines, expected.map(|found| format!("{found} leads nowhere")));
    }

    #[test]
    fn a_place_of_the_papers_that_is_gone_is_found() {
        let text = "| 1 | x | `crates/model/src/gone.rs` | `crates/model` and `welter` |\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let findings = check(&source("docs/papers.md", text), &root);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(check(&source("docs/other.md", text), &root).is_empty());
    }

    #[test]
    fn a_word_of_the_glossary_that_its_place_has_lost_is_found() {
        let text = "| word | field |\n| fold, `No_Such` | x | `crates/model/src/program.rs` |\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let findings = check(&source(GLOSSARY, text), &root);
        let found: Vec<&str> = findings.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(found, ["`No_Such` does not occur in `crates/model/src/program.rs`"]);
    }

    #[test]
    fn code_is_not_searched_for_links() {
        let text = "```\n[a](gone.md)\n```\n[b](gone.md)\n";
        let findings = check(&source("x.md", text), Path::new(env!("CARGO_MANIFEST_DIR")));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_readme_without_the_commands_is_found() {
        assert_eq!(check_commands(&[source("README.md", "# welter\n")]).len(), 2);
        assert_eq!(check_commands(&[source("README.md", &COMMANDS.join("\n"))]), []);
        assert!(check_commands(&[])[0].message.contains("no README"));
    }
}
