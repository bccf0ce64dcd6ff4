//! The project's own tasks, run as `cargo xtask TASK`.
//!
//! A fresh machine needs nothing but Rust and Python: tools that a task uses are installed by the
//! task, pinned, below the target folder. Every command is printed before it runs and timed
//! afterwards, so that a log of CI reads as a recipe. The first failure ends a task with code 1.

mod coverage;
mod dpdk;
mod faults;
mod fuzz;
mod powercuts;
mod run;
mod tidy;
mod tools;

use run::{Outcome, cargo, command, step};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  test [ARGS]       every test there is; ARGS go to `cargo test`
  check             formatting, clippy, links in the docs, cargo-deny and tidy; with --all
                    clippy without what may be left out, too
  tidy              the rules of the house that no other tool knows
  bench [ARGS]      the benchmarks; `cargo xtask bench --help` lists them, but for `messages`,
                    which measures lanes beside the designs that BlitzG compares with
  sim [ARGS]        the simulator of the cluster's protocol; `cargo xtask sim --help` lists ARGS
  campaign [ARGS]   before a release: the simulator's 100,000 seeds with the least shares of paths
                    and faults, then a search for all planted bugs; ARGS as of `sim`
  experiment chaos [ARGS]
                    the figures of Chaos by the scale model; `--help` lists ARGS
  experiment blitzg [ARGS]
                    the figures of BlitzG, of what was measured; `--measure` does so first (root;
                    with `--figure 8` of memory alone, which needs no root)
  profiles [ARGS]   records times of kernels, updates and active sources of the ten algorithms of
                    Chaos, which its figures are made of; `--help` lists ARGS
  forecast [ARGS]   seconds of an iteration on stated machines by the scale model, which benchmarks
                    of real ones have beside their figures; `--help` lists ARGS
  experiment cloud [ARGS]
                    the figures of X-Stream in the cloud, on devices that are slowed down (root)
  powercuts         kills runs and cuts their power at every call, on ext4 and XFS (root)
  faults [--kills N]
                    machines killed, paused, cut off, slowed down, by their scenarios (root)
  ray [--short]     the Python package on a cluster of Ray, which it installs; with --short what
                    continuous integration has of it
  spark [--short]   the same on Spark, which it installs; Java (17 or 21) must be there
  fuzz [TARGET] [--seconds N]
                    fuzzes one target, or all of them, from fuzz/seeds for N seconds each (60)
  fuzz --coverage [TARGET]
                    lines of the parsers that seeds, and what fuzzing has kept, run
";

fn main() -> ExitCode {
    if let Some(code) = coverage::as_compiler() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("", arguments.as_slice()),
    };
    let outcome = match (task, rest) {
        ("test", _) => test(rest),
        ("check", []) => check(false),
        ("check", [all]) if all == "--all" => check(true),
        ("tidy", []) => step("tidy", || tidy_repository(&root())),
        ("bench", _) => bench(rest),
        ("sim", _) => step("sim", || simulator(rest)),
        ("campaign", _) => campaign(rest),
        ("experiment", [paper, arguments @ ..]) if paper == "chaos" => step("experiment", || {
            let package = ["run", "--package", "welter-sim", "--bin", "welter-figures", "--"];
            cargo(&root()).args(package).args(arguments).finish()
        }),
        ("experiment", [paper, arguments @ ..]) if paper == "blitzg" => blitzg(arguments),
        ("profiles", _) => step("profiles", || profiles(rest)),
        ("forecast", _) => step("forecast", || {
            let binary = ["run", "--package", "welter-sim", "--bin", "welter-figures", "--"];
            cargo(&root()).args(binary).arg("forecast").args(rest).finish()
        }),
        ("experiment", [paper, arguments @ ..]) if paper == "cloud" => {
            let arguments = [&["cloud".to_owned()], arguments].concat();
            bench(&arguments)
        }
        ("ray" | "spark", []) => step(task, || on_host(task, false)),
        ("ray" | "spark", [short]) if short == "--short" => step(task, || on_host(task, true)),
        ("powercuts", []) => powercuts::powercuts(&root()),
        ("faults", _) => faults::faults(&root(), rest),
        ("fuzz", _) => fuzz::fuzz(&root(), rest),
        ("help" | "-h" | "--help", _) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask {task}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The simulator. Its profile for development is optimised, and keeps what checks arithmetic.
fn simulator(arguments: &[String]) -> Outcome {
    let package = ["run", "--package", "welter-sim", "--bin", "welter-sim", "--"];
    let commit = commit(&root());
    let commit = if arguments.is_empty() { vec![] } else { vec!["--commit", &commit] };
    cargo(&root()).args(package).args(arguments).args(commit).finish()
}

/// All that the simulator must show before a release. Bugs are looked for though a seed failed.
fn campaign(arguments: &[String]) -> Outcome {
    let all = [&["--campaign".to_owned()], arguments].concat();
    let seeds = step("seeds", || simulator(&all));
    let bugs = step("planted bugs", || simulator(&["--planted", "1000"].map(str::to_owned)));
    seeds.and(bugs)
}

/// Profiles of the algorithms, by the profile of cargo that is measured with.
fn profiles(arguments: &[String]) -> Outcome {
    let root = root();
    let binary = ["run", "--profile", "dist", "--package", "welter-sim", "--bin", "welter-figures"];
    let profiles = cargo(&root).args(binary).args(["--", "profiles", "--date", &today()]);
    profiles.args(arguments).finish()
}

/// Tests of the Python package on a host of machines, which `python/tests/run.py` installs.
fn on_host(host: &str, is_short: bool) -> Outcome {
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_else(|_| "none".to_owned());
    // With the feature nothing is compiled again that `cargo xtask test` has compiled.
    let package = ["test", "--workspace", "--test", "package"];
    let tests = cargo(&root()).args(package).args(dpdk::feature()?).env("WELTER_HOSTS", host);
    let tests = tests.env("WELTER_REQUIRE", &format!("{required},{host}"));
    if is_short { tests.env("WELTER_SHORT", "1").finish() } else { tests.finish() }
}

/// The day, as `date` says it.
fn today() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
    let output = output.ok().filter(|output| output.status.success());
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    text.map_or_else(|| "on an unknown day".to_owned(), |text| text.trim().to_owned())
}

/// The commit that is checked out, and whether something was changed since.
fn commit(root: &Path) -> String {
    let output = std::process::Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
        .current_dir(root)
        .output();
    let output = output.ok().filter(|output| output.status.success());
    let text = output.and_then(|output| String::from_utf8(output.stdout).ok());
    text.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// The root of the repository: the folder above this package.
fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Unit, integration and doc tests of the workspace, those of lanes over DPDK among them where the
/// library is and all are run, then the tests of the Python scripts.
fn test(arguments: &[String]) -> Outcome {
    let root = root();
    let of_one_package = arguments.iter().any(|a| a == "-p" || a.starts_with("--package"));
    let scope: &[&str] = if of_one_package { &[] } else { &["--workspace"] };
    step("tests", || {
        let feature: &[&str] = if arguments.is_empty() { dpdk::feature()? } else { &[] };
        cargo(&root).arg("test").args(scope).args(feature).args(arguments).finish()
    })?;
    step("tests of the example scripts", || {
        command(&root, "python3").arg("examples/test_make_debian_depends.py").finish()
    })
}

/// All checks that are no tests.
fn check(all: bool) -> Outcome {
    let root = root();
    step("formatting", || cargo(&root).args(["fmt", "--all", "--check"]).finish())?;
    step("clippy", || {
        let lint = ["clippy", "--workspace", "--all-targets"];
        cargo(&root).args(lint).args(dpdk::feature()?).args(["--", "-D", "warnings"]).finish()
    })?;
    if all {
        step("clippy without what may be left out", || {
            let lint = ["clippy", "--package", "welter", "--package", "welter-cli"];
            let without = ["--no-default-features", "--", "-D", "warnings"];
            cargo(&root).args(lint).args(without).finish()
        })?;
    }
    step("documentation", || {
        let all = ["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"];
        // Links to private items are for those who read the source, where they do lead somewhere.
        let flags = "-D warnings -A rustdoc::private_intra_doc_links";
        cargo(&root).args(all).env("RUSTDOCFLAGS", flags).finish()
    })?;
    step("bans, licences and sources of dependencies", || {
        let deny = tools::installed(&root, &tools::CARGO_DENY)?;
        let what = ["--workspace", "check", "bans", "licenses", "sources"];
        command(&root, deny).args(what).finish()
    })?;
    step("advisories on dependencies", || advisories(&root))?;
    step("tidy", || tidy_repository(&root))
}

/// Known holes in dependencies. Their list is on the network, and a machine without one passes over
/// them aloud; `WELTER_REQUIRE=advisories` makes a failure of that.
fn advisories(root: &Path) -> Outcome {
    let deny = tools::installed(root, &tools::CARGO_DENY)?;
    if let Err(missing) = command(root, &deny).args(["fetch", "db"]).finish() {
        println!("SKIPPED: the database of advisories cannot be had: {missing}");
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        let is_required = required.split(',').any(|name| name == "advisories");
        return if is_required { Err("WELTER_REQUIRE asks for advisories".into()) } else { Ok(()) };
    }
    let what = ["--workspace", "check", "--disable-fetch", "advisories"];
    command(root, deny).args(what).finish()
}

/// The benchmarks are a package of their own; their arguments are its business.
fn bench(arguments: &[String]) -> Outcome {
    if arguments.first().is_some_and(|name| name == "messages") {
        // Of one small crate, so that it needs no other one.
        let bench = ["bench", "--profile", "dist", "--package", "welter-transport"];
        return step("bench", || {
            let bench = cargo(&root()).args(bench).args(dpdk::feature()?);
            bench.args(["--bench", "messages"]).finish()
        });
    }
    let names = |bench: &str| arguments.iter().any(|argument| argument == bench);
    let package = ["run", "--profile", "dist", "--package", "welter-bench"];
    // Memory is compared with that of the command, whose allocator is the system's.
    let system: &[&str] = if names("designs") {
        &["--no-default-features", "--features", "graph-crate"]
    } else {
        &[]
    };
    if ["outofcore", "algorithms", "cloud", "designs"].into_iter().any(names) {
        // Benchmarks measure the command itself, and look for it where this package lies.
        let command = ["build", "--profile", "dist", "--package", "welter"];
        step("the command", || cargo(&root()).args(command).finish())?;
    }
    step("bench", || cargo(&root()).args(package).args(system).arg("--").args(arguments).finish())
}

/// Numbers that the figures of `BlitzG` are made of.
const MEASURED: &str = "docs/experiments/blitzg/measured.csv";

/// The figures of `BlitzG`, of numbers that are measured first where that is asked for.
fn blitzg(arguments: &[String]) -> Outcome {
    let root = root();
    let of_figures = arguments.iter().skip_while(|argument| *argument != "--figure").nth(1);
    let are_wanted =
        |test: &dyn Fn(&str) -> bool| of_figures.is_none_or(|it| it.split(',').any(test));
    let is_measured = arguments.iter().any(|argument| argument == "--measure");
    if is_measured && are_wanted(&|figure| figure == "8") {
        let numbers = ["designs".to_owned(), "--numbers".to_owned(), MEASURED.to_owned()];
        bench(&numbers)?;
    }
    if is_measured && are_wanted(&|figure| figure != "8") {
        let file = root.join(MEASURED);
        let command = ["build", "--profile", "dist", "--package", "welter"];
        step("the command", || cargo(&root).args(command).finish())?;
        let bench = ["bench", "--profile", "dist", "--package", "welter-transport"];
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let welter = target.join("dist/welter");
        for name in ["messages", "links"] {
            step(name, || {
                let bench = cargo(&root).args(bench).args(dpdk::feature()?);
                let bench = bench.args(["--bench", name, "--", "--numbers"]).arg(&file);
                bench.arg("--command").arg(&welter).finish()
            })?;
        }
    }
    let figures = ["run", "--package", "welter-sim", "--bin", "welter-figures", "--", "blitzg"];
    step("figures", || {
        cargo(&root).args(figures).arg("--measured").arg(MEASURED).args(arguments).finish()
    })
}

fn tidy_repository(root: &Path) -> Outcome {
    let findings = tidy::check(root).map_err(|error| format!("cannot read the tree: {error}"))?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(format!("{} untidy places", findings.len())) }
}
