//! Files that people were let down by, each a sample of a kind: the same form, with what is right.
//!
//! The tests are named by what the files are; their inputs are made here or lie in `tests/cases`.

mod formats;
mod graphs;
mod guesses;
mod late;
mod tables;
mod text;

use std::fs;

use crate::csv::{self, Edge};
use crate::sandbox::{Ended, Sandbox, root};

/// A sandbox with one file.
fn with(name: &str, bytes: impl AsRef<[u8]>) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(name, bytes);
    sandbox
}

/// A file of `tests/cases`.
fn kept(name: &str) -> Vec<u8> {
    fs::read(root().join("crates/welter/tests/cases").join(name)).unwrap()
}

/// The components that `welter run wcc` finds: `a b | c`.
fn components(sandbox: &Sandbox, input: &str) -> String {
    csv::groups(&sandbox.must(&format!("run wcc {input} -q -o -")))
}

/// The edges that `welter convert` writes, `a>b@0.5 c>d@1`; `~` where they have no direction.
fn converted(sandbox: &Sandbox, input: &str) -> String {
    let ended = sandbox.run(&format!("convert {input} -o - --output-format csv"));
    assert_eq!(ended.code, Some(0), "{input}\n{}", ended.stderr);
    let undirected = ended.stderr.contains("each edge stands for both directions");
    let shown = |edge: &Edge| {
        let weight = edge.weight.map(|weight| format!("@{weight}")).unwrap_or_default();
        let [source, target] = &edge.ends;
        format!("{source}{}{target}{weight}", if undirected { "~" } else { ">" })
    };
    let edges = csv::edges(&ended.stdout, undirected);
    edges.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// Runs a command that must fail with this code and say each of these words.
fn refused(sandbox: &Sandbox, line: &str, code: i32, words: &[&str]) -> Ended {
    let ended = sandbox.run(line);
    assert_eq!(ended.code, Some(code), "welter {line}\n{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "welter {line}\n{}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "welter {line}\n{}and not {word}", ended.stderr);
    }
    ended
}
