//! The commands that pages are about.

use clap::Command;

use crate::commandline::command;

/// All commands that are not hidden, each with the words that lead to it.
pub(super) fn all() -> Vec<(Vec<String>, Command)> {
    fn walk(command: &Command, path: &[String], out: &mut Vec<(Vec<String>, Command)>) {
        let mut words = path.to_vec();
        words.push(command.get_name().to_owned());
        let shown = command.clone().bin_name(words.join(" ")).display_name(words.join("-"));
        out.push((words.clone(), shown));
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            walk(sub, &words, out);
        }
    }
    let mut command = command();
    command.build();
    let mut out = Vec::new();
    walk(&command, &[], &mut out);
    out
}
