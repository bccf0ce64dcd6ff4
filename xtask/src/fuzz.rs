//! Fuzzing with libFuzzer on the pinned stable toolchain.
//!
//! cargo-fuzz wants unstable compiler flags; `RUSTC_BOOTSTRAP=1` gives them to a stable compiler,
//! so that what is fuzzed is compiled by the compiler that ships it. Inputs that find new code are
//! kept in `fuzz/corpus/TARGET` (not in git); seeds in `fuzz/seeds/TARGET` are only read. What both
//! cover is counted by [`crate::coverage`].

use crate::coverage::coverage;
use crate::run::{Outcome, command, step};
use crate::tools;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

/// Report of a run of libFuzzer, read from the lines that it prints.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    executions: u64,
    coverage: u64,
    corpus: u64,
}

impl Figures {
    /// Takes over what a line such as `#4096 pulse cov: 301 ft: 922 corp: 57/12Kb` says.
    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |text: &str| {
            text.split(|c: char| !c.is_ascii_digit()).next().and_then(|t| t.parse().ok())
        };
        for pair in words.windows(2) {
            match (pair[0], number(pair[1])) {
                ("cov:", Some(count)) => self.coverage = count,
                ("corp:", Some(count)) => self.corpus = count,
                ("stat::number_of_executed_units:", Some(count)) => self.executions = count,
                _ => {}
            }
        }
    }
}

/// `fuzz [TARGET] [--seconds N]`, `fuzz --coverage [TARGET]`.
pub(crate) fn fuzz(root: &Path, arguments: &[String]) -> Outcome {
    let mut seconds = 60;
    let mut chosen = Vec::new();
    let mut only_count = false;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let value = arguments.next().and_then(|text| text.parse().ok());
            seconds = value.ok_or("--seconds wants a whole number")?;
        } else if argument == "--coverage" {
            only_count = true;
        } else {
            chosen.push(argument.clone());
        }
    }
    let known = targets(&root.join("fuzz/fuzz_targets"))?;
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        return Err(format!("no target `{unknown}`; there are {}", known.join(", ")));
    }
    let chosen = if chosen.is_empty() { known } else { chosen };
    if only_count {
        return coverage(root, &chosen);
    }
    let mut lines = Vec::new();
    for target in chosen {
        step(&format!("fuzz {target}"), || {
            let figures = run(root, &target, seconds)?;
            lines.push(format!(
                "{target}: {} executions, {} edges of code covered, {} inputs kept",
                figures.executions, figures.coverage, figures.corpus
            ));
            Ok(())
        })?;
    }
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

/// The names of all fuzz targets: one file each.
fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Runs one target for `seconds`. A crash is an error; libFuzzer prints where the input is.
fn run(root: &Path, target: &str, seconds: u64) -> Result<Figures, String> {
    let corpus = format!("fuzz/corpus/{target}");
    let seeds = format!("fuzz/seeds/{target}");
    for folder in [&corpus, &seeds] {
        std::fs::create_dir_all(root.join(folder)).map_err(|e| format!("{folder}: {e}"))?;
    }
    let cargo_fuzz = tools::installed(root, &tools::CARGO_FUZZ)?;
    let mut child = command(root, cargo_fuzz)
        .args(["run", target, &corpus, &seeds, "--", "-print_final_stats=1"])
        .arg(format!("-max_total_time={seconds}"))
        .env("RUSTC_BOOTSTRAP", "1")
        .into_inner()
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo-fuzz cannot be run: {error}"))?;
    let mut figures = Figures::default();
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            eprintln!("{line}");
            figures.read(&line);
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(figures),
        Ok(status) => Err(format!("fuzz target {target} ended with {status}")),
        Err(error) => Err(format!("fuzz target {target} was lost: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_what_libfuzzer_prints() {
        let mut figures = Figures::default();
        figures.read("INFO: Running with entropic power schedule (0xFF, 100).");
        figures.read("#4096\tpulse  cov: 301 ft: 922 corp: 57/12Kb lim: 43 exec/s: 2048 rss: 60Mb");
        figures.read("stat::number_of_executed_units: 123456");
        assert_eq!(figures, Figures { executions: 123_456, coverage: 301, corpus: 57 });
    }
}
