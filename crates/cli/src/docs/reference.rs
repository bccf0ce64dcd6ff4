//! `docs/cli.md`: every command with its options, of which those that commands share are described
//! once.
//!
//! ```text
//! shared    an option that two commands or more describe in equal words, under its heading
//! own       every other option, under its command
//! ```
//! A command names the groups of shared options that it takes, and what it does not take of them.
//! `explain` has the options of `run`, so its commands are one section that says the difference.
//!
//! Invariant: of the options of one name in a group only those words are shared that most commands
//! use, so a name in a group stands for one description. Tested by
//! `every_option_is_described_under_its_command_or_once_for_all`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use super::commands::all;
use super::places::PLACES;

/// The group of options whose heading differs from command to command.
const SEVERAL: &str = "Options of several algorithms";

/// The words of commands that have a section together.
const EXPLAIN: [&str; 2] = ["welter", "explain"];

/// An option or argument, as the page describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    heading: String,
    /// Name of the option or argument: `--threads`, or `<INPUT>`.
    name: String,
    /// An item of a list.
    text: String,
}

/// A command with the words that lead to it, and its options in the order of the help.
struct Section {
    words: Vec<String>,
    command: Command,
    entries: Vec<Entry>,
}

impl Section {
    fn title(&self) -> String {
        self.words.join(" ")
    }

    fn is_explained(&self) -> bool {
        self.words.len() == 3 && self.words[..2] == EXPLAIN
    }

    /// The names of its options that `other` does not have.
    fn lacking(&self, other: &Self) -> Vec<String> {
        let has = |entry: &&Entry| !other.entries.iter().any(|found| found.name == entry.name);
        self.entries.iter().filter(has).map(|entry| quoted(&entry.name)).collect()
    }
}

/// Groups of shared options: heading and entries, in the order of the help.
type Groups = Vec<(String, Vec<Entry>)>;

/// The text of the page.
pub(super) fn page() -> String {
    let sections = sections();
    let groups = shared(&sections);
    let mut text = String::from(
        "# The command line\n\nMade by `cargo run -- markdown > docs/cli.md`; a test compares it \
         with the command. `welter COMMAND --help` prints what stands here of a command and of \
         the options that it shares.\n",
    );
    for section in sections.iter().filter(|section| !section.is_explained()) {
        text.push_str(&of_command(section, &sections, &groups));
    }
    text.push_str(PLACES);
    text.push_str("\n## Options that commands share\n");
    for (heading, entries) in &groups {
        let items = list(entries.iter().map(|entry| entry.text.clone()));
        // Writing to a string cannot fail.
        let _ = write!(text, "\n### {heading}\n{items}");
    }
    text.push_str(&list(groups.iter().map(|(heading, _)| target(heading))));
    text
}

/// Where the name of a group in brackets leads.
fn target(heading: &str) -> String {
    format!("[{heading}]: #{}", heading.to_lowercase().replace(' ', "-"))
}

/// All commands that the page shows.
fn sections() -> Vec<Section> {
    let made = |(words, command)| Section { entries: entries(&command), words, command };
    let mut sections: Vec<Section> = all().into_iter().map(made).collect();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for section in sections.iter().filter(|section| !section.is_explained()) {
        let mut headings: Vec<&String> = section.entries.iter().map(|e| &e.heading).collect();
        headings.sort();
        headings.dedup();
        for heading in headings {
            *uses.entry(heading.clone()).or_default() += 1;
        }
    }
    for entry in sections.iter_mut().flat_map(|section| &mut section.entries) {
        if uses.get(&entry.heading).is_none_or(|&uses| uses < 2) {
            SEVERAL.clone_into(&mut entry.heading);
        }
    }
    sections
}

/// The section of a command.
fn of_command(section: &Section, sections: &[Section], groups: &Groups) -> String {
    let command = &section.command;
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let mut text = format!("\n## {}\n{}\n{}\n", section.title(), about(command), quoted(usage));
    if section.words == EXPLAIN {
        text.push_str(&differences(sections));
    } else {
        let commands = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        text.push_str(&list(commands.map(|sub| item(&section.words, sub))));
    }
    let is_shared = |entry: &&Entry| groups.iter().any(|(_, entries)| entries.contains(entry));
    let (common, own): (Vec<&Entry>, Vec<&Entry>) = section.entries.iter().partition(is_shared);
    text.push_str(&list(own.iter().map(|entry| entry.text.clone())));
    text.push_str(&links(&common, &own, groups));
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        text.push_str(&fenced(&after.to_string()));
    }
    text
}

/// Purpose of a command: a sentence, and a formula or more in lines of its own.
fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    let about = about.unwrap_or_default();
    let (first, rest) = about.split_once("\n\n").unwrap_or((&about, ""));
    let rest = if rest.is_empty() { String::new() } else { fenced(rest) };
    format!("\n{}\n{rest}", prose(first))
}

/// Lines that are shown as they are.
fn fenced(text: &str) -> String {
    format!("\n```text\n{}\n```\n", text.trim_end())
}

/// A command below another one, as an item with a link to its section.
fn item(words: &[String], sub: &Command) -> String {
    let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
    let anchor = format!("{}-{}", words.join("-"), sub.get_name());
    format!("- [`{}`](#{anchor}): {}", sub.get_name(), prose(&about))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { String::new() } else { format!("\n{}\n", items.join("\n")) }
}

/// Groups of shared options that a command takes, and the options that it leaves out of them.
fn links(common: &[&Entry], own: &[&Entry], groups: &Groups) -> String {
    let mut taken = Vec::new();
    for (heading, entries) in groups {
        let (has, lacks): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| common.contains(entry));
        let lacks = lacks.iter().filter(|entry| own.iter().all(|own| own.name != entry.name));
        let lacks: Vec<String> = lacks.map(|entry| quoted(&entry.name)).collect();
        let named: Vec<String> = has.iter().map(|entry| quoted(&entry.name)).collect();
        let link = format!("[{heading}]");
        match (named.is_empty(), lacks.is_empty()) {
            (true, _) => {}
            (false, true) => taken.push(link),
            (false, false) if lacks.len() < named.len() => {
                taken.push(format!("{link} without {}", lacks.join(" ")));
            }
            (false, false) => taken.push(format!("of {link} {}", named.join(" "))),
        }
    }
    if taken.is_empty() { String::new() } else { format!("\nShared: {}.\n", taken.join("; ")) }
}

/// Differences of the commands of `explain` from those of `run`: a sentence for each.
fn differences(sections: &[Section]) -> String {
    let mut by_difference: BTreeMap<(Vec<String>, Vec<String>), Vec<String>> = BTreeMap::new();
    for section in sections.iter().filter(|section| section.is_explained()) {
        let algorithm = &section.words[2];
        let is_run = |found: &&Section| found.words == ["welter", "run", algorithm.as_str()];
        if let Some(run) = sections.iter().find(is_run) {
            let difference = (run.lacking(section), section.lacking(run));
            by_difference.entry(difference).or_default().push(algorithm.clone());
        }
    }
    let is_one = by_difference.len() == 1;
    let sentences = by_difference.into_iter().map(|((without, with), algorithms)| {
        let which = if is_one { "Any algorithm".to_owned() } else { algorithms.join(", ") };
        let mut text = format!("{which}, with its options of `welter run`");
        for (word, names) in [("without", without), ("and", with)] {
            if !names.is_empty() {
                let _ = write!(text, " {word} {}", names.join(" "));
            }
        }
        format!("\n{text}.\n")
    });
    sentences.collect()
}

/// The options that several commands share, by heading.
fn shared(sections: &[Section]) -> Groups {
    let mut groups: Groups = Vec::new();
    let mut counted: Vec<&Section> =
        sections.iter().filter(|section| !section.is_explained()).collect();
    counted.sort_by_key(|section| Reverse(section.entries.len()));
    let uses =
        |entry: &Entry| counted.iter().filter(|section| section.entries.contains(entry)).count();
    for entry in counted.iter().flat_map(|section| &section.entries) {
        let count = uses(entry);
        if count < 2 {
            continue;
        }
        let at = groups.iter().position(|(heading, _)| *heading == entry.heading);
        let at = at.unwrap_or_else(|| {
            groups.push((entry.heading.clone(), Vec::new()));
            groups.len() - 1
        });
        let group = &mut groups[at].1;
        match group.iter_mut().find(|found| found.name == entry.name) {
            None => group.push(entry.clone()),
            Some(found) if uses(found) < count => *found = entry.clone(),
            Some(_) => {}
        }
    }
    groups
}

/// The options and arguments of a command that its help shows.
fn entries(command: &Command) -> Vec<Entry> {
    let shown = command.get_arguments().filter(|arg| {
        !arg.is_hide_set()
            && !arg.is_hide_long_help_set()
            && !matches!(
                arg.get_action(),
                ArgAction::Help | ArgAction::HelpLong | ArgAction::HelpShort | ArgAction::Version
            )
    });
    shown.map(entry).collect()
}

fn entry(arg: &Arg) -> Entry {
    let value = value(arg);
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let name = long.clone().or(short.clone()).unwrap_or_else(|| value.clone());
    let heading = match arg.get_help_heading() {
        Some(heading) => heading,
        None if arg.is_positional() => "Arguments",
        None => "Options",
    };
    let words: Vec<String> = short.into_iter().chain(long).collect();
    let separator = if words.is_empty() || value.is_empty() { "" } else { " " };
    let called = quoted(&format!("{}{separator}{value}", words.join(", ")));
    let mut text = format!("- {called}: {}", help(arg));
    if !arg.is_hide_possible_values_set() && arg.get_action().takes_values() {
        for possible in arg.get_possible_values().iter().filter(|value| !value.is_hide_set()) {
            let help = possible.get_help().map(ToString::to_string).unwrap_or_default();
            let help = if help.is_empty() { help } else { format!(": {}", prose(&help)) };
            let _ = write!(text, "\n  - {}{help}", quoted(possible.get_name()));
        }
    }
    Entry { heading: heading.to_owned(), name, text }
}

/// Placeholder for the value of an option: `<FILE>`, `<INPUT>...`, or nothing.
fn value(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let many = arg.is_positional() && matches!(arg.get_action(), ArgAction::Append);
    format!("{}{}", names.join(" "), if many { "..." } else { "" })
}

/// The help of an option in one line a paragraph, with its default.
fn help(arg: &Arg) -> String {
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let paragraphs: Vec<String> = help.split("\n\n").map(prose).collect();
    let mut text = paragraphs.join("\n\n  ");
    if !arg.is_hide_default_value_set() && arg.get_action().takes_values() {
        let values: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
        if !values.is_empty() {
            let _ = write!(text, " [default: {}]", values.join(" "));
        }
    }
    text
}

/// Text as code.
fn quoted(text: &str) -> String {
    format!("`{text}`")
}

/// Text on one line, with what Markdown would take for its own outside of code escaped.
fn prose(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    let mut is_code = false;
    for c in line.chars() {
        is_code ^= c == '`';
        if !is_code && matches!(c, '*' | '<' | '\\' | '_') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the page from the heading of a section to the next.
    fn section<'a>(page: &'a str, heading: &str) -> &'a str {
        let from = page.find(&format!("\n{heading}\n")).unwrap() + 1;
        let rest = &page[from..];
        let to = rest[3..].find("\n## ").map_or(rest.len(), |at| at + 3);
        &rest[..to]
    }

    #[test]
    fn every_option_is_described_under_its_command_or_once_for_all() {
        let (page, sections) = (page(), sections());
        for found in sections.iter().filter(|section| !section.is_explained()) {
            let text = section(&page, &format!("## {}", found.title()));
            for entry in &found.entries {
                let item = format!("\n{}\n", entry.text);
                let is_once = page.matches(&item).count() == 1;
                let is_linked = text.contains(&format!("[{}]", entry.heading));
                let leads = is_once && is_linked && page.contains(&target(&entry.heading));
                assert!(text.contains(&item) || leads, "{}: {}", found.title(), entry.name);
            }
        }
    }

    #[test]
    fn the_page_is_short() {
        assert!(page().len() <= 50_000, "{} bytes", page().len());
    }
}
