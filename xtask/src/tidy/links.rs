//! Markdown: relative links lead somewhere, places that docs/papers.md names exist, and the README
//! names the two commands.

use super::{Finding, Source};
use std::path::Path;

/// What a person types on a fresh machine. The README must show both as they are.
const COMMANDS: [&str; 2] =
    ["cargo run --release -- run pagerank examples/debian-depends.tsv.zst", "cargo xtask test"];

/// The table that says where each mechanism of the papers is.
const PAPERS: &str = "docs/papers.md";

/// The README's commands that are missing.
pub(super) fn check_commands(sources: &[Source]) -> Vec<Finding> {
    let Some(readme) = sources.iter().find(|source| source.path == "README.md") else {
        let message = "there is no README.md".to_owned();
        return vec![Finding { path: "README.md".to_owned(), line: 0, message }];
    };
    let missing = COMMANDS.iter().filter(|command| !readme.text.contains(**command));
    missing.map(|command| Finding::new(readme, 0, format!("does not show `{command}`"))).collect()
}

/// Relative links of a Markdown file that lead nowhere.
pub(super) fn check(source: &Source, root: &Path) -> Vec<Finding> {
    if !source.is("md") {
        return Vec::new();
    }
    let folder = root.join(Path::new(&source.path).parent().unwrap_or(Path::new("")));
    let mut findings = Vec::new();
    let mut fenced = false;
    for (number, line) in source.numbered() {
        fenced ^= line.trim_start().starts_with("```");
        if fenced {
            continue;
        }
        if source.path == PAPERS {
            for place in places(line).filter(|place| !root.join(place).exists()) {
                let message = format!("there is no `{place}`");
                findings.push(Finding::new(source, number, message));
            }
        }
        for link in targets(line).filter(|link| !folder.join(link).exists()) {
            findings.push(Finding::new(source, number, format!("the link `{link}` leads nowhere")));
        }
    }
    findings
}

/// The files that a line links to: `[text](file#anchor)`, without what leaves the repository.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let link = rest.split([')', ' ']).next()?;
        let file = link.split('#').next()?;
        let leaves = link.contains("://") || link.starts_with("mailto:");
        (!leaves && !file.is_empty()).then_some(file)
    })
}

/// Files and folders of the repository that a line names as code.
fn places(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|quoted| ["crates/", "benches/", "python/"].iter().any(|of| quoted.starts_with(of)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::source;
    use super::*;

    #[test]
    fn a_dead_link_is_found_with_its_line() {
        let text = "[a](run.rs) [b](https://example.org/x)\n\n[c](gone.md#there) [d](#here)\n";
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let findings = check(&source("src/x.md", text), root);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].to_string(), "src/x.md:3: the link `gone.md` leads nowhere");
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
