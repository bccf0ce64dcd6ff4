//! `welter graphalytics`: data sets of the LDBC Graphalytics benchmark, run by their properties and
//! validated by the benchmark's rules.
//!
//! Invariant: an algorithm runs as `welter run` runs it, because what the properties say is put in
//! the words of that command ([`dataset`]). What was not compared with a reference is never said to
//! be right. Tested by `the_examples_are_right` and
//! `what_has_no_reference_is_not_said_to_be_right`.

mod args;
mod dataset;
mod outcome;
mod validate;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use welter_output::TableFormat;
use welter_progress::FailureKind;

pub(crate) use self::args::GraphalyticsArgs;
use self::dataset::{DataSet, Job};
use self::outcome::{Outcome, Validation, heads};
use self::validate::validate;
use crate::argv;
use crate::failure::{Failure, printable};
use crate::load::Source;
use crate::local;
use crate::number_format::counted;
use crate::promise::Outputs;
use crate::report;
use crate::run;
use crate::session::Session;
use crate::stdout::print;

/// Runs and validates data sets.
pub(crate) fn graphalytics(args: &GraphalyticsArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    let sets = dataset::find(args)?;
    check_outputs(args, &sets)?;
    let (mut graphs, mut outcomes) = (Vec::new(), Vec::new());
    for set in &sets {
        session.end_progress();
        print(&heads(set))?;
        let mut reports = Vec::new();
        for job in &set.jobs {
            session.begin_again();
            let outcome = Outcome::of(perform(job, &mut session));
            session.end_progress();
            if let Some(failure) = outcome.interrupted() {
                return Err(failure);
            }
            print(&outcome.line(job))?;
            reports.push(outcome.report(job));
            outcomes.push((job, outcome));
        }
        graphs.push(set.report(&reports));
    }
    if let Some(path) = &args.report {
        let command = argv::shown();
        let version = env!("CARGO_PKG_VERSION");
        let all = json!({ "version": version, "command": command, "graphs": graphs });
        report::write(path, &all)?;
    }
    conclude(&outcomes, &session)
}

/// Says how many outputs are right, and fails where one is not.
fn conclude(outcomes: &[(&Job, Outcome)], session: &Session) -> Result<(), Failure> {
    let count = |is: fn(&Outcome) -> bool| {
        outcomes.iter().filter(|(_, outcome)| is(outcome)).count() as u64
    };
    let right = count(Outcome::is_right);
    let unknown = count(Outcome::is_unvalidated);
    session.say(&format!(
        "{} of {} right, {unknown} not validated",
        right,
        counted(outcomes.len() as u64, "output", "outputs")
    ));
    let mut failures: Vec<Failure> =
        outcomes.iter().filter_map(|(job, outcome)| outcome.failure(job)).collect();
    // That a result is wrong matters more than that a reference is.
    failures.sort_by_key(|failure| failure.kind() != Some(FailureKind::Internal));
    let more = failures.len().saturating_sub(1);
    let Some(first) = failures.into_iter().next() else { return Ok(()) };
    Err(if more > 0 {
        first.and_hint(&format!("{more} more of the outputs are not right, as the table says"))
    } else {
        first
    })
}

/// Checks everything that will be written before anything is read.
fn check_outputs(args: &GraphalyticsArgs, sets: &[DataSet]) -> Result<(), Failure> {
    if let Some(folder) = &args.output {
        local::only(folder, "results are written")?;
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::output(format!("{}: cannot create it: {error}", folder.display()))
        })?;
    }
    let resolved = |folder: &Path| folder.canonicalize().ok();
    let inputs = Source::Files(sets.iter().flat_map(DataSet::inputs).map(PathBuf::from).collect());
    let mut outputs = Outputs::of(&inputs);
    for job in sets.iter().flat_map(|set| &set.jobs) {
        let (Some(output), Some(folder)) = (&job.output, &args.output) else { continue };
        if resolved(folder) == resolved(&job.references) {
            let folder = folder.display();
            let what = format!("{folder}: outputs there would be the references of the next run");
            return Err(Failure::output(what).hint("name another folder with -o"));
        }
        outputs.promise(output)?;
    }
    args.report.iter().try_for_each(|path| outputs.promise(path))
}

/// Runs an algorithm and validates what it found.
fn perform(job: &Job, session: &mut Session) -> Result<Outcome, Failure> {
    let source = Source::with(&job.options.input, &job.options.resources)?;
    job.algorithm.check(&job.options.input.shown())?;
    let found =
        run::find(&*job.algorithm, (&job.options.input, job.options.graph), &source, session)?;
    if let Some(path) = &job.output {
        run::write(session, &found.table, path, Some(TableFormat::Ldbc))?;
    }
    let validation = match &job.reference {
        None => Validation::Absent,
        Some(path) => {
            let (rule, memory) = (job.kind.rule(), session.budget());
            match validate(&found.table, rule, path, memory, &session.progress) {
                Ok(comparison) => Validation::Done(comparison),
                Err(failure) if failure.kind() == Some(FailureKind::Cancelled) => {
                    return Err(failure);
                }
                Err(failure) => Validation::Unfit(failure),
            }
        }
    };
    session.end_progress();
    for note in &found.notes {
        session.say(&format!("note: {}", printable(note)));
    }
    let mut report = serde_json::to_value(found.report.with_phases(session)).unwrap_or_default();
    if let Value::Object(fields) = &mut report {
        // Notes are those of all runs of this command, and told once.
        fields.remove("version");
        fields.remove("command");
    }
    Ok(Outcome::Run {
        vertices: found.vertices,
        edges: found.input_edges,
        load: found.load,
        processing: found.processing,
        validation,
        report,
    })
}
