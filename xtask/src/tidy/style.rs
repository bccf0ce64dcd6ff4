//! Rules on lines and files: width, white space, headers, length, and words that have no place.

use super::source::{Finding, Source};

const LINES_MAX: usize = 500;
const WIDTH_MAX: usize = 100;

/// Files that are made from others, and as long as these say.
const MADE: [&str; 1] = ["python/welter/_algorithms.py"];

/// Words that admit something unfinished or switched off. Split, so that this file may hold them.
const UNFINISHED: [&str; 7] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("todo", "!"),
    concat!("unimplemented", "!"),
    concat!("dbg", "!"),
    concat!("#[", "ignore"),
];

/// Beginnings of paths that exist on one person's machine only.
const PRIVATE_PATHS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

/// Hosts of package registries: where packages come from is a setting of the machine.
const REGISTRIES: [&str; 5] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js"),
    concat!("deb.", "debian.org"),
];

/// All style findings in one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = file(source);
    for (number, line) in source.numbered() {
        findings.extend(of_line(source, line).map(|text| Finding::new(source, number, text)));
    }
    findings
}

fn file(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.is("rs") && !source.text.starts_with("//!") {
        findings.push(Finding::new(source, 1, "a Rust file opens with `//!`: what it is, and why"));
    }
    let lines = source.numbered().count();
    let is_made = MADE.contains(&source.path.as_str());
    if (source.is("rs") || source.is("py")) && lines > LINES_MAX && !is_made {
        let message = format!("{lines} lines; a file holds one idea in at most {LINES_MAX}");
        findings.push(Finding::new(source, 0, message));
    }
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        findings.push(Finding::new(source, lines, "no newline at the end of the file"));
    }
    findings
}

/// Messages on one line.
fn of_line(source: &Source, line: &str) -> impl Iterator<Item = String> {
    let mut messages = Vec::new();
    let width = line.chars().count();
    if (source.is("rs") || source.is("py")) && width > WIDTH_MAX {
        messages.push(format!("{width} characters wide; at most {WIDTH_MAX}"));
    }
    if line.contains('\t') {
        messages.push("a tab".to_owned());
    }
    if line.ends_with([' ', '\r']) {
        messages.push("white space at the end of the line".to_owned());
    }
    let unfinished = UNFINISHED.iter().filter(|word| has_word(line, word));
    messages.extend(unfinished.map(|word| format!("`{word}`: finish it, or say it in an issue")));
    let private = PRIVATE_PATHS.iter().filter(|path| has_word(line, path));
    messages.extend(private.map(|path| format!("`{path}...`: a path of one machine")));
    let registries = REGISTRIES.iter().filter(|host| line.contains(**host));
    messages.extend(registries.map(|host| format!("`{host}`: the host of a package registry")));
    messages.into_iter()
}

/// Whether `word` occurs in `line` and is not the tail or the head of a longer word or path.
fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let open_ended = !word.ends_with(char::is_alphanumeric);
    line.match_indices(word).any(|(at, _)| {
        let after = line[at + word.len()..].chars().next();
        !line[..at].ends_with(part) && (open_ended || !after.is_some_and(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    /// The messages for a Rust file with this text.
    fn messages(text: &str) -> Vec<String> {
        check(&source("a.rs", text)).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_clean_file_has_no_finding() {
        assert_eq!(messages("//! A file.\n\nfn main() {}\n"), Vec::<String>::new());
        // Words inside longer words, and folders of other paths, are innocent.
        let innocent = "//! MASTODON TODOS prefix/work/x shared/home/y\n";
        assert_eq!(messages(innocent), Vec::<String>::new());
    }

    #[test]
    fn every_rule_on_files_finds_its_sample() {
        assert!(messages("fn main() {}\n")[0].contains("opens with"));
        assert!(messages("//! A file.")[0].contains("no newline"));
        let long = format!("//! A file.\n{}", "\n".repeat(LINES_MAX));
        assert!(messages(&long)[0].contains("501 lines"));
        assert_eq!(messages(&long[..long.len() - 1]), Vec::<String>::new());
    }

    #[test]
    fn every_rule_on_lines_finds_its_sample() {
        let sample = |line: &str| messages(&format!("//! A file.\n{line}\n"));
        assert_eq!(sample(&"x".repeat(WIDTH_MAX)), Vec::<String>::new());
        assert!(sample(&"x".repeat(WIDTH_MAX + 1))[0].contains("101 characters"));
        assert!(sample("\tlet x;")[0].contains("tab"));
        assert!(sample("let x; ")[0].contains("white space"));
        assert!(sample("let x;\r")[0].contains("white space"));
        for word in UNFINISHED {
            assert!(sample(&format!("// {word}: x"))[0].contains("finish it"), "{word}");
            assert!(sample(&format!("{word}(x)"))[0].contains("finish it"), "{word}");
        }
        for path in PRIVATE_PATHS {
            assert!(sample(&format!("let x = \"{path}me\";"))[0].contains("one machine"), "{path}");
        }
        for host in REGISTRIES {
            assert!(sample(&format!("// see https://{host}/x"))[0].contains("registry"), "{host}");
        }
    }

    #[test]
    fn findings_carry_the_line() {
        let findings = check(&source("a.md", "one\ntwo \n"));
        assert_eq!(findings[0].to_string(), "a.md:2: white space at the end of the line");
    }
}
