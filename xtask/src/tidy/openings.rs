//! How comments begin: with the noun that they are about.
//!
//! A comment that begins with "What", "The same" or "They" is read twice, and says nothing in a
//! list of items. Many older ones do, so their number is kept for each folder, and may only fall:
//!
//! ```text
//! for each folder:   found <= most        more is a finding
//!                    found >  most - SLACK  less asks for a smaller number here
//! ```

use super::{Finding, Source};

/// Beginnings of comments that are given up.
const RETIRED: [&str; 8] =
    ["The same", "They", "Those", "That of", "These", "What", "Who", "Whoever"];

/// The most comments that begin so, by folder; in all other folders none does.
const MOST: [(&str, usize); 2] = [("crates/cli", 9), ("crates/engine", 1)];

/// How far a number may fall before it must be lowered here, so that work side by side is free.
const SLACK: usize = 20;

/// Folders with more of these comments than they may have, or with many less.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut folders: Vec<&str> = sources.iter().filter_map(folder).collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        let most = MOST.iter().find(|(name, _)| *name == folder).map_or(0, |(_, most)| *most);
        let (found, last) = count(sources, folder);
        let message = if found > most {
            format!("{found} comments begin with {RETIRED:?}, at most {most} may: name the thing")
        } else if found + SLACK <= most {
            format!("only {found} comments begin with {RETIRED:?}: lower {most} in openings.rs")
        } else {
            continue;
        };
        let (path, line) = last.unwrap_or((folder, 0));
        findings.push(Finding { path: path.to_owned(), line, message });
    }
    findings
}

/// How many comments below a folder begin so, and the place of the last one.
fn count<'a>(sources: &'a [Source], in_folder: &str) -> (usize, Option<(&'a str, usize)>) {
    let of = sources.iter().filter(|source| folder(source) == Some(in_folder));
    let places = of.flat_map(|source| begun(source).map(|line| (source.path.as_str(), line)));
    places.fold((0, None), |(count, _), place| (count + 1, Some(place)))
}

/// The lines of a Rust file at which a comment on an item begins so.
fn begun(source: &Source) -> impl Iterator<Item = usize> {
    let mut inside = false;
    source.numbered().filter_map(move |(number, line)| {
        let comment = line.trim_start().strip_prefix("///");
        let begins = comment.is_some_and(|text| !inside && is_retired(text.trim_start()));
        inside = comment.is_some();
        begins.then_some(number)
    })
}

fn is_retired(text: &str) -> bool {
    RETIRED.iter().any(|words| {
        let rest = text.strip_prefix(words);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// The folder that a Rust file counts for: a crate, or what else lies at the root.
fn folder(source: &Source) -> Option<&str> {
    let depth = if source.path.starts_with("crates/") { 2 } else { 1 };
    let (end, _) = source.path.match_indices('/').nth(depth - 1)?;
    source.is("rs").then_some(&source.path[..end])
}

#[cfg(test)]
mod tests {
    use super::super::tests::source;
    use super::*;

    #[test]
    fn comments_are_counted_where_they_begin() {
        let text = "/// What it is.\n/// The same.\nfn a() {}\n/// Whole.\n\n    /// They.\n";
        assert_eq!(begun(&source("crates/x/src/a.rs", text)).collect::<Vec<_>>(), [1, 6]);
    }

    #[test]
    fn a_folder_with_more_than_it_may_have_is_found_at_the_last() {
        let sources = [source("new/a.rs", "/// A name.\n"), source("new/b.rs", "\n/// Who.\n")];
        let findings = check(&sources);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].to_string().starts_with("new/b.rs:2: 1 comments begin"));
    }

    #[test]
    fn a_number_that_is_far_too_large_is_found() {
        for (folder, most) in MOST.into_iter().filter(|(_, most)| *most >= SLACK) {
            let findings = check(&[source(&format!("{folder}/a.rs"), "")]);
            assert!(findings[0].message.contains(&format!("lower {most}")), "{folder}");
        }
    }
}
