//! `welter run`: reads a graph, runs an algorithm, writes or shows what it found.

use std::io::Write;
use std::path::Path;

use welter_engine::Checkpoints;
use welter_model::table::{Columns, Table};
use welter_output::{TableFormat, write_table, write_table_to};

use crate::algorithms::Chosen;
use crate::args::{RunOptions, TableArgs};
use crate::checkpoint;
use crate::failure::{Failure, printable};
use crate::levels;
use crate::load::Source;
use crate::report::Report;
use crate::session::{Ready, Session, Wanted, promise};
use crate::text::{counted, seconds};
use crate::top;

/// Does it. `resumed`: the checkpoints that it goes on from.
pub(crate) fn run(
    algorithm: &dyn Chosen,
    args: &RunOptions,
    resumed: Option<Checkpoints>,
) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    let source = Source::of(&args.input)?;
    algorithm.check(&args.input.inputs)?;
    check_outputs(&args.output, &source)?;
    let is_resumed = resumed.is_some();
    session.checkpoints = match resumed {
        Some(checkpoints) => Some(checkpoints),
        None => checkpoint::begin(&args.checkpoint, algorithm, &source)?,
    };
    let done = answer(algorithm, args, &source, &mut session);
    checkpoint::end(session.checkpoints.take(), is_resumed, done)
}

/// Reads the graph, finds the answer, writes or shows it.
fn answer(
    algorithm: &dyn Chosen,
    args: &RunOptions,
    source: &Source,
    session: &mut Session,
) -> Result<(), Failure> {
    let wanted = Wanted::of(algorithm, source, (&args.input, args.graph), &args.resources);
    let ready = session.graph(&wanted)?;
    let answer = algorithm.run(&ready, session)?;
    let Ready { graph, loaded, workers, .. } = ready;
    let report = Report::of(algorithm, &graph, &loaded, &answer, session)?;
    let counts = (graph.all_vertices(), graph.edges());
    let way = match (loaded.undirected, loaded.reversed) {
        (true, _) => " (both ways)",
        (false, true) => " (backwards)",
        (false, false) => "",
    };
    let mut notes = loaded.notes.clone();
    notes.extend(session.checkpoints.iter().flat_map(Checkpoints::notes));
    // The memory of the graph goes before results are read: they may need some of it.
    drop(workers);
    let vertices = graph.into_vertex_column(loaded.ids);
    let table = Table { vertices, columns: answer.columns };

    if let Some(path) = args.output.output.as_deref() {
        write(session, &table, path, args.output.output_format)?;
    }
    session.end_progress();
    if args.output.output.is_none() {
        print(&top::render(&table, answer.top, args.output.top)?)?;
    }
    if let Some(path) = &args.output.report {
        report.write(path, session)?;
    }
    for note in &notes {
        session.say(&format!("note: {}", printable(note)));
    }
    if let Some(note) = &answer.note {
        session.say(&format!("note: {note}"));
    }
    for line in [report.storage_line(), report.checkpoints_line()].into_iter().flatten() {
        session.say(&line);
    }
    if let Some(levels) = answer.levels.filter(|_| args.output.report.is_some()) {
        session.say(&levels::line(&levels, counts.1));
    }
    session.say(&format!(
        "{}, {}{way}, {}, {}",
        counted(counts.0, "vertex", "vertices"),
        counted(counts.1, "edge", "edges"),
        counted(answer.iterations, "iteration", "iterations"),
        seconds(session.started.elapsed()),
    ));
    Ok(())
}

/// Checks everything that will be written before anything is read.
fn check_outputs(args: &TableArgs, source: &Source) -> Result<(), Failure> {
    if let Some(path) = args.output.as_deref().filter(|path| !is_stdout(path)) {
        TableFormat::of(path, args.output_format)?;
        promise(path, source)?;
    }
    if let Some(path) = &args.report {
        if args.output.as_ref() == Some(path) {
            let path = path.display();
            return Err(Failure::usage(format!("{path}: is the output and the report")));
        }
        promise(path, source)?;
    }
    Ok(())
}

fn write(
    session: &Session,
    table: &Table<dyn Columns>,
    path: &Path,
    format: Option<TableFormat>,
) -> Result<(), Failure> {
    let threads = session.resources.threads.unwrap_or(0);
    if !is_stdout(path) {
        return Ok(write_table(table, path, format, threads, &session.progress)?);
    }
    let mut stdout = std::io::stdout();
    let format = format.unwrap_or(TableFormat::Csv);
    write_table_to(table, &mut stdout, "standard output", format, threads, &session.progress)
        .map_err(Failure::stream)
}

/// Whether an output is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::stdout(&error))
}
