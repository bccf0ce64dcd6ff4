//! Runs that outlast the process of their caller: with checkpoints, and resumed.
//!
//! Such a run is kept as the command that would do the same, so `welter resume` resumes a run
//! that was begun here, and the other way round. Invariant: what a run reads is there without the
//! process, so files are read again where a graph holds what it read of them. Checked in
//! `Graph::run_lasting`.

use std::path::Path;

use welter_engine::Checkpoints;
use welter_progress::Progress;

use super::{Answer, Graph, ResourceWords, panics, parsed, usage};
use crate::algorithms::{Algorithm, understood};
use crate::args::RunOptions;
use crate::checkpoint::{self, ResumedRun};
use crate::failure::Failure;
use crate::load::Source;
use crate::promise::table_files;
use crate::run;
use crate::session::Session;

/// Options of reading that are for one run, and said by that.
const OF_RUNS: [&str; 3] = ["--memory=", "--threads=", "--scratch="];

impl Graph {
    /// Runs the algorithm that words name with checkpoints.
    pub(super) fn run_lasting(
        &self,
        words: &[String],
        progress: &Progress,
    ) -> Result<Answer, Failure> {
        let Some(read) = &self.words else {
            let what =
                "what is in memory is not there to resume from: no checkpoints of such a run";
            let hint = "keep the graph with its method save, and open it with welter.open";
            return Err(Failure::usage(what).hint(hint));
        };
        let arguments = command(read, words)?;
        let (algorithm, options) =
            understood(&arguments).map_err(|error| usage::refusal(&error))?;
        let source = Source::with(&options.input, &options.resources)?;
        algorithm.check(&options.input.shown())?;
        let mut session = Session::within(options.resources.clone(), progress)?;
        session.prices = options.price.read()?;
        checkpoint::hold_parts(&options.checkpoint, None, &mut session);
        // A run that is kept continues in the way in which it began.
        let graph = (&options.input, options.graph);
        let other = run::settled(&*algorithm, graph, &source, &session)?;
        let algorithm = other.unwrap_or(algorithm);
        session.checkpoints =
            checkpoint::begin_as(arguments, &options, &*algorithm, &source, &session)?;
        answer((&*algorithm, &options), &source, session, false)
    }
}

/// Resumes the run that is kept in a directory. `words`: what of the machine may be taken.
///
/// # Errors
/// As of `welter resume`.
pub fn resume(directory: &Path, words: &[String], progress: &Progress) -> Result<Answer, Failure> {
    panics::wanted(progress, || {
        let ResourceWords { resources } = parsed(words)?;
        let there = |begun: &Path, path: &Path| match std::env::current_dir() {
            Ok(here) if here == begun => Ok(()),
            _ => {
                let (begun, path) = (begun.display(), path.display());
                let what = format!("the run was begun in {begun}, from where it names {path}");
                Err(Failure::usage(what).hint("go there with os.chdir before"))
            }
        };
        let begun =
            checkpoint::reopened(directory, there, |run| resources.put(&mut run.resources))?;
        let ResumedRun { algorithm, options, checkpoints } = begun;
        let source = Source::with(&options.input, &options.resources)?;
        let mut session = Session::within(options.resources.clone(), progress)?;
        session.prices = options.price.read()?;
        let kept_at = Some(checkpoints.directory());
        checkpoint::hold_parts(&options.checkpoint, kept_at, &mut session);
        session.checkpoints = Some(checkpoint::sent(checkpoints, &session)?);
        answer((&*algorithm, &options), &source, session, true)
    })
}

/// Runs it, and ends its checkpoints.
fn answer(
    (algorithm, options): (&dyn Algorithm, &RunOptions),
    source: &Source,
    mut session: Session,
    resumed: bool,
) -> Result<Answer, Failure> {
    let found = run::find(algorithm, (&options.input, options.graph), source, &session);
    let done = found.and_then(|found| {
        let tables = table_files(checkpoint::tables(algorithm, &options.input));
        Answer::of(found, &session, source.files().into_iter().chain(tables).collect())
    });
    let checkpoints: Option<Checkpoints> = session.checkpoints.take();
    checkpoint::end(checkpoints, resumed, done)
}

/// The words of a command that reads what a graph was read from, as that was, and runs what `run`
/// says.
pub(super) fn command(read: &[String], run: &[String]) -> Result<Vec<String>, Failure> {
    let Some((name, options)) = run.split_first() else {
        return Err(Failure::usage("expected the name of an algorithm"));
    };
    let weighs = super::parsed::<super::RunWords>(run)?.algorithm.split().0.weighs();
    let is_kept = |word: &&String| {
        let of_weights = word.starts_with("--weight=") || *word == "--no-weights";
        let again = options.iter().any(|option| option == *word);
        !OF_RUNS.iter().any(|option| word.starts_with(option)) && (weighs || !of_weights) && !again
    };
    let end = read.iter().position(|word| word == "--").unwrap_or(read.len());
    let (how, inputs) = read.split_at(end);
    let mut words = vec!["run".to_owned(), name.clone()];
    words.extend(how.iter().filter(is_kept).cloned());
    words.extend_from_slice(options);
    words.extend_from_slice(inputs);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_kept_as_the_command_that_does_the_same() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let read = words("--ids=strings --weight=w --memory=1GiB -- a.csv b.csv");
        let run = words("bfs --source=x --threads=2 --checkpoint=kept");
        let expected =
            "run bfs --ids=strings --source=x --threads=2 --checkpoint=kept -- a.csv b.csv";
        assert_eq!(command(&read, &run).unwrap(), words(expected));
        let run = words("sssp --source=x");
        let expected = "run sssp --ids=strings --weight=w --source=x -- a.csv b.csv";
        assert_eq!(command(&read, &run).unwrap(), words(expected));
    }
}
