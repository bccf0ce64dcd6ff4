//! Lines of each parser that the inputs of its fuzz target run: seeds, and what fuzzing kept.
//!
//! The tests that replay seeds are compiled once more with counters in the workspace's own crates,
//! for which this program stands in for the compiler ([`as_compiler`]): so dependencies are not
//! compiled again. They then run each target over its inputs as they are (`WELTER_CORPUS`), and the
//! tools of the toolchain add up. A test harness and not the fuzz target itself, because that one
//! would compile everything for a sanitizer a second time.
//!
//! Lines that need a file (opening, estimates, places of several files) count and cannot be run
//! from bytes, so no parser reaches all of its lines here.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::run::step;

/// Set where this program is called by cargo in the place of the compiler.
const AS_COMPILER: &str = "WELTER_COUNT_LINES";

/// A package, a test of it, and a target with its test where that is of one target.
type Replay = (&'static str, &'static str, Option<(&'static str, &'static str)>);

/// A package and test that replay seeds, and which of its tests that is of one target; the others
/// are called as their targets.
const REPLAYS: [Replay; 5] = [
    ("welter-store", "format", Some(("chunk", "seeds::seeds_and_their_changes"))),
    ("welter-testing", "chunks", Some(("updates", "seeds::seeds_and_their_changes"))),
    ("welter-cluster", "seeds", Some(("frame", "seeds_and_their_changes"))),
    ("welter-transport", "lanes", Some(("bucket", "seeds::seeds_and_their_changes"))),
    ("welter-input", "seeds", None),
];

/// Name of the test that replays a target, where it is one of this package.
fn replay<'a>(of: Option<(&str, &'a str)>, target: &'a str) -> Option<&'a str> {
    let mut others = REPLAYS.iter().filter_map(|replay| replay.2);
    match of {
        Some((only, name)) => (only == target).then_some(name),
        None => others.all(|(other, _)| other != target).then_some(target),
    }
}

/// Compiles with counters, where cargo calls this program in the place of the compiler.
pub(crate) fn as_compiler() -> Option<ExitCode> {
    std::env::var_os(AS_COMPILER)?;
    let mut arguments = std::env::args_os().skip(1);
    let mut compiler = Command::new(arguments.next()?);
    let status = compiler.args(arguments).arg("-Cinstrument-coverage").status().ok()?;
    Some(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a line for each target: of how many lines of its files its inputs run how many.
///
/// # Errors
/// When something cannot be run, or the toolchain lacks its tools.
pub(crate) fn coverage(root: &Path, targets: &[String]) -> Result<(), String> {
    let tools = tools(root)?;
    let mut lines = Vec::new();
    step("coverage of the fuzz targets", || {
        let folder = tempfolder(root)?;
        for (package, test, of) in REPLAYS {
            let program = compiled(root, package, test)?;
            for target in targets {
                let Some(name) = replay(of, target) else { continue };
                let profile = folder.join(format!("{target}.profraw"));
                let mut replay = Command::new(&program);
                replay.args(["--exact", name, "--quiet"]);
                replay.env("WELTER_CORPUS", "1").env("LLVM_PROFILE_FILE", &profile);
                output(replay.current_dir(root.join("crates").join(&package[7..])))?;
                let merged = profile.with_extension("profdata");
                let mut merge = Command::new(tools.join("llvm-profdata"));
                output(merge.args(["merge", "-o"]).args([&merged, &profile]))?;
                let mut report = Command::new(tools.join("llvm-cov"));
                report.args(["report", "-instr-profile"]).args([&merged, &program]);
                let report = output(report.args(sources(root, target)))?;
                let (all, run) = total(&report).ok_or("llvm-cov printed no sum")?;
                lines.push(format!("{target}: {run} of {all} lines, {} %", run * 100 / all.max(1)));
            }
        }
        Ok(())
    })?;
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

/// The folder of the LLVM tools that belong to the compiler.
fn tools(root: &Path) -> Result<PathBuf, String> {
    let mut rustc = Command::new("rustc");
    let libraries = output(rustc.args(["--print", "target-libdir"]).current_dir(root))?;
    let folder = Path::new(libraries.trim()).with_file_name("bin");
    if folder.join("llvm-cov").exists() {
        return Ok(folder);
    }
    Err("the toolchain has no llvm-cov; get it with `rustup component add llvm-tools`".to_owned())
}

/// The folder for counts, made anew.
fn tempfolder(root: &Path) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join("fuzz-coverage");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Compiles a test with counters, and says where it is.
fn compiled(root: &Path, package: &str, test: &str) -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "--no-run", "--message-format=json", "-p", package]);
    cargo.args(["--test", test]).env("RUSTC_WORKSPACE_WRAPPER", this).env(AS_COMPILER, "1");
    let messages = output(cargo.current_dir(root))?;
    let programs = messages.split("\"executable\":\"").skip(1);
    let program = programs.filter_map(|rest| rest.split('"').next()).last();
    program.map(PathBuf::from).ok_or_else(|| format!("cargo named no test {test} of {package}"))
}

/// Where the code of a target lies.
fn sources(root: &Path, target: &str) -> Vec<PathBuf> {
    let input = root.join("crates/input/src");
    let mut places = vec![input.join(format!("{target}.rs")), input.join(target)];
    match target {
        "chunk" => places = vec![root.join("crates/store/src")],
        "updates" => places = vec![root.join("crates/engine/src/kernels/update_chunk.rs")],
        "frame" => {
            let files = ["cluster/src/links/frames.rs", "protocol/src/wire.rs"];
            places = files.map(|name| root.join("crates").join(name)).into();
        }
        "bucket" => {
            let files = ["bucket.rs", "header.rs", "parts.rs", "arrivals.rs", "joined.rs"];
            places = files.map(|name| root.join("crates/transport/src").join(name)).into();
        }
        "gml" | "graphml" | "gexf" | "pajek" | "dot" | "tgf" | "json" => {
            places.extend([input.join("small.rs"), input.join("small")]);
        }
        "guess" => {
            let files = ["source", "beginnings.rs", "format.rs", "foreign.rs"];
            places = files.map(|name| input.join(name)).into();
        }
        "parquet" | "arrow" => places.extend([input.join("columnar.rs"), input.join("columnar")]),
        _ => {}
    }
    places.retain(|place| place.exists());
    places
}

/// Lines, and lines that were run, of the last row of a report.
fn total(report: &str) -> Option<(u64, u64)> {
    let row = report.lines().find(|line| line.starts_with("TOTAL"))?;
    // Regions, functions and lines: how many, how many were missed, and the share.
    let number = |place| row.split_whitespace().nth(place)?.parse::<u64>().ok();
    let (all, missed) = (number(7)?, number(8)?);
    Some((all, all.checked_sub(missed)?))
}

/// Output of a command, or the text of its failure.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let run = command.output().map_err(|error| format!("{program} cannot be run: {error}"))?;
    if run.status.success() {
        return Ok(String::from_utf8_lossy(&run.stdout).into_owned());
    }
    Err(format!("{program} ended with {}\n{}", run.status, String::from_utf8_lossy(&run.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_read_from_a_report() {
        let report = "Filename  Regions\n/a.rs 5 1 80.00% 2 0 100.00% 20 3 85.00% 0 0 -\n\
            TOTAL 50 10 80.00% 4 1 75.00% 200 50 75.00% 0 0 -\n";
        assert_eq!(total(report), Some((200, 150)));
        assert_eq!(total("nothing"), None);
    }
}
