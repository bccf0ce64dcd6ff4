//! The GAP benchmark suite (Beamer, Asanovic and Patterson, 2015), where a build of it is pointed
//! at with `--gap FOLDER`.
//!
//! Its programs read text, so they are given text, and each runs in a process of its own: it loads
//! once and then does its trials, of which the first does not count, one after the other. That is
//! not in turns with the others here, and the tables say so by its name.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::inputs::{Inputs, Shape};
use crate::measure::Samples;

/// A folder with the programs `bfs`, `cc` and `sssp`.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    folder: PathBuf,
}

/// Times of a program of the suite.
pub(crate) struct Trials {
    /// Seconds of reading text and of building rows.
    pub(crate) load_s: f64,
    pub(crate) samples: Samples,
}

impl Gap {
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Runs a program on a graph, with weights when its text shall have them.
    pub(crate) fn run(
        &self,
        program: &str,
        (inputs, shape, weighted): (&Inputs, Shape, bool),
        arguments: &[String],
        (threads, rounds): (usize, usize),
    ) -> Result<Trials> {
        let file = inputs.gap_text(shape, weighted)?;
        let trials = (rounds + 1).to_string();
        let path = self.folder.join(program);
        eprintln!("{shape}: {}", path.display());
        let output = Command::new(&path)
            .arg("-f")
            .arg(&file)
            .args(["-n", &trials])
            .args(arguments)
            .env("OMP_NUM_THREADS", threads.to_string())
            .output()
            .with_context(|| format!("running {}", path.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{}: {}\n{text}", path.display(), output.status);
        let times = times(&text);
        let of = |name: &'static str| {
            let own = times.iter().filter(move |(what, _)| *what == name);
            own.map(|(_, seconds)| *seconds)
        };
        let mut seconds: Vec<f64> = of("Trial Time").skip(1).collect();
        ensure!(seconds.len() == rounds, "{} did not tell the time of its trials", path.display());
        seconds.sort_by(f64::total_cmp);
        let load_s = of("Read Time").chain(of("Build Time")).sum();
        Ok(Trials { load_s, samples: Samples { name: NAME.to_owned(), threads, seconds } })
    }
}

/// As the tables name it.
const NAME: &str = "GAP, on its own";

/// The lines `Some Time: 0.123` of a program.
fn times(text: &str) -> Vec<(&str, f64)> {
    let time = |line| {
        let (name, seconds): (&str, &str) = str::split_once(line, ':')?;
        Some((name.trim(), seconds.trim().parse().ok()?))
    };
    text.lines().filter_map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_among_other_lines() {
        let text =
            "Read Time:           0.12300\nGraph has 16 nodes\nSource: 5\nTrial Time:  0.5\n";
        let found = times(text);
        assert_eq!(found, [("Read Time", 0.123), ("Source", 5.0), ("Trial Time", 0.5)]);
    }
}
