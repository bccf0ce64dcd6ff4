//! `welter run`: reads a graph, runs an algorithm, writes or shows what it found.

use std::path::Path;
use std::time::{Duration, Instant};

use welter_engine::{Checkpoints, IterationStats};
use welter_model::table::{Columns, Table, VertexColumn};
use welter_model::with_sides::WithSides;
use welter_objects::{Location, WriteRequests};
use welter_output::{TableFormat, write_table, write_table_to};

use crate::actors;
use crate::algorithms::algorithm::{Algorithm, Answer};
use crate::args::{Cluster, GraphArgs, InputArgs, RunOptions, TableArgs};
use crate::attempt::attempt;
use crate::checkpoint;
use crate::cluster::ClusterOutcome;
use crate::cluster_directory::Directory;
use crate::cluster_options;
use crate::cluster_parts::PartsAt;
use crate::cluster_report;
use crate::computers::{self, RunHooks};
use crate::failure::{Failure, printable};
use crate::finite;
use crate::levels;
use crate::load::Source;
use crate::local_machines;
use crate::number_format::{counted, seconds};
use crate::preview::{self, Top};
use crate::promise::Outputs;
use crate::readings;
use crate::report::{self, Report};
use crate::session::{LoadedGraph, Session};
use crate::stdout::{end_stdout, is_stdout, print, wrote};

/// Does it. `resumed`: the checkpoints that it continues from.
pub(crate) fn run(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    resumed: Option<Checkpoints>,
) -> Result<(), Failure> {
    if let Some(cluster) = &args.cluster.place.cluster {
        return on_cluster(algorithm, args, cluster);
    }
    PartsAt::refuse(&args.output)?;
    let mut session = Session::start(args.resources.clone())?;
    session.prices = args.price.read()?;
    let source = Source::with(&args.input, &args.resources)?;
    algorithm.check(&args.input.shown())?;
    let outputs = Outputs::of(&source).with_tables(checkpoint::tables(algorithm, &args.input));
    let outputs = outputs.with_checkpoint(args.checkpoint.checkpoint.as_ref());
    check_outputs(&args.output, outputs)?;
    hold_parts(&args.output, &mut session);
    let kept_at = resumed.as_ref().map(Checkpoints::directory);
    checkpoint::hold_parts(&args.checkpoint, kept_at, &mut session);
    let is_resumed = resumed.is_some();
    // A run that is kept continues in the way in which it began.
    let other = if args.checkpoint.checkpoint.is_some() && !is_resumed {
        settled(algorithm, (&args.input, args.graph), &source, &session)?
    } else {
        None
    };
    let algorithm = other.as_deref().unwrap_or(algorithm);
    session.checkpoints = match resumed {
        Some(checkpoints) => Some(checkpoint::sent(checkpoints, &session)?),
        None => checkpoint::begin(args, algorithm, &source, &session)?,
    };
    let done = answer(algorithm, args, &source, &mut session);
    checkpoint::end(session.checkpoints.take(), is_resumed, done)
}

/// Does it on a cluster, or is a machine of one.
fn on_cluster(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    cluster: &Cluster,
) -> Result<(), Failure> {
    let other = cluster_options::otherwise(algorithm, args);
    let algorithm = other.as_deref().unwrap_or(algorithm);
    cluster_options::check(algorithm, args)?;
    algorithm.check(&args.input.shown())?;
    let ends = RunHooks { begin, show: show_found };
    let machines = match cluster {
        Cluster::Local(machines) => *machines,
        Cluster::Ray(address) => return actors::run(algorithm, args, address.as_deref(), ends),
        _ => return computers::take_part(algorithm, args, cluster, ends),
    };
    if let Some(seat) = &args.cluster.place.cluster_machine {
        return local_machines::be(algorithm, args, (machines, seat));
    }
    let (session, source) = begin(args)?;
    let directory = Directory::of(algorithm, args, (&source, machines), &session)?;
    let of = (&source, machines, directory.path());
    let found = local_machines::run(algorithm, args, of, &session);
    directory.end(found.and_then(|found| show_found(algorithm, args, session, &found)))
}

/// Begins a run on a cluster, with what will be written promised.
fn begin(args: &RunOptions) -> Result<(Session, Source), Failure> {
    let mut session = Session::start(args.resources.without_route())?;
    session.prices = args.price.read()?;
    let source = Source::with(&args.input, &args.resources)?;
    let mut outputs = Outputs::of(&source);
    match PartsAt::of(&args.output)? {
        None => {
            check_outputs(&args.output, outputs)?;
            hold_parts(&args.output, &mut session);
        }
        Some(parts) => {
            parts.promise(&mut outputs)?;
            args.output.report.iter().try_for_each(|path| outputs.promise(path))?;
        }
    }
    Ok((session, source))
}

/// Writes or shows what a cluster has found.
fn show_found(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    mut session: Session,
    found: &ClusterOutcome,
) -> Result<(), Failure> {
    let vertices = found.table.vertices.vertices();
    let parts = PartsAt::of(&args.output)?.zip(found.written);
    if let Some((at, (rows, parts))) = &parts {
        session.end_progress();
        at.end(*rows, *parts)?;
    } else {
        show(&mut session, &found.table, (args, found.top))?;
    }
    let took = session.started.elapsed();
    if let Some(path) = args.output.report.as_deref() {
        let figures = (vertices, found.edges, took.as_secs_f64());
        let report =
            cluster_report::Report::of(algorithm, &found.machines, &found.finding, figures)
                .with_costs(&session, &found.machines);
        report::write_run(path, &report)?;
    }
    for note in &found.notes {
        session.say(&format!("note: {}", printable(note)));
    }
    for line in cluster_report::lines(&found.machines) {
        session.say(&line);
    }
    session.say(&format!(
        "{}, {}, {}, {} on {}",
        counted(vertices, "vertex", "vertices"),
        counted(found.edges, "edge", "edges"),
        counted(found.finding.iterations, "iteration", "iterations"),
        seconds(session.started.elapsed()),
        counted(found.machines.activities.len() as u64, "machine", "machines"),
    ));
    if let Some(price) = found.machines.price(&session) {
        session.say(&price.line());
    }
    if let Some((at, (rows, parts))) = parts {
        let (rows, parts) = (counted(rows, "row", "rows"), counted(parts as u64, "part", "parts"));
        session.say(&wrote(at.path(), &format!("{rows} in {parts}")));
        return Ok(());
    }
    let rows = found.table.columns.listed().map_or(vertices, |rows| rows as u64);
    say_written(&session, args, rows);
    Ok(())
}

/// Writes a result, or shows its top.
fn show(
    session: &mut Session,
    table: &Table<Box<dyn Columns>>,
    (args, top): (&RunOptions, Top),
) -> Result<(), Failure> {
    if let Some(path) = args.output.output.as_deref() {
        write(session, table, path, args.output.output_format)?;
    }
    session.end_progress();
    // A report there is in the place of the table.
    let is_taken = args.output.report.as_deref().is_some_and(is_stdout);
    if args.output.output.is_none() && !is_taken {
        print(&preview::render(table, top, args.output.top)?)?;
    }
    Ok(())
}

/// Says where a result of `rows` rows was written.
fn say_written(session: &Session, args: &RunOptions, rows: u64) {
    if let Some(path) = args.output.output.as_deref().filter(|path| !is_stdout(path)) {
        session.say(&wrote(path, &counted(rows, "row", "rows")));
    }
}

/// The other way of an algorithm, where the first one cannot be gone, as far as is known before
/// anything is read.
pub(crate) fn settled(
    algorithm: &dyn Algorithm,
    graph: (&InputArgs, GraphArgs),
    source: &Source,
    session: &Session,
) -> Result<Option<Box<dyn Algorithm>>, Failure> {
    let (other, _) = attempt(algorithm, source, session, |algorithm| {
        session.forecast(&algorithm.wanted(source, graph, &session.resources))
    })?;
    Ok(other)
}

/// Result of an algorithm on a graph, which is gone, and the report.
pub(crate) struct RunResult {
    /// The result of every vertex.
    pub(crate) table: Table<Box<dyn Columns>>,
    /// Report of what was planned and done, without the phases.
    pub(crate) report: Report,
    /// Number of vertices.
    pub(crate) vertices: u64,
    /// Edges of the input.
    pub(crate) input_edges: u64,
    /// From the first look at the input until the graph could be run on.
    pub(crate) load: Duration,
    /// From then on until the result was there.
    pub(crate) processing: Duration,
    /// Notes for a person about how the graph was read.
    pub(crate) notes: Vec<String>,
    /// Note for a person about the result.
    pub(crate) note: Option<String>,
    /// Part of the table that is shown as its top.
    pub(crate) top: Top,
    /// Edges as they are stored, and which way they go.
    edges: (u64, &'static str),
    iterations: u64,
    levels: Option<Vec<IterationStats>>,
}

/// Reads the graph and runs the algorithm.
pub(crate) fn find(
    algorithm: &dyn Algorithm,
    graph: (&InputArgs, GraphArgs),
    source: &Source,
    session: &Session,
) -> Result<RunResult, Failure> {
    let begun = Instant::now();
    let (other, ready) = attempt(algorithm, source, session, |algorithm| {
        session.graph(&algorithm.wanted(source, graph, &session.resources))
    })?;
    let algorithm = other.as_deref().unwrap_or(algorithm);
    let options = algorithm.wanted(source, graph, &session.resources).options;
    if let Some(checkpoints) = &session.checkpoints {
        checkpoint::laid_out(checkpoints, ready.graph.used().plan())?;
    }
    let loaded_at = Instant::now();
    let answer = algorithm.run(&ready, session)?;
    let processing = session.ended().saturating_duration_since(loaded_at);
    let LoadedGraph { graph, loaded, workers, .. } = ready;
    let report = Report::of(algorithm, graph.used(), &loaded, &answer, session)?.cached(source);
    let idle = session.idle_options((source, &options), Some(graph.used().plan()));
    let (vertices, edges) = (graph.all_vertices(), graph.edges());
    let way = match (loaded.undirected, loaded.reversed) {
        (true, _) => " (both ways)",
        (false, true) => " (backwards)",
        (false, false) => "",
    };
    // The memory of the graph goes before results are read: they may need some of it.
    drop(workers);
    let ids = graph.into_vertex_column(loaded.ids);
    let sides = if let VertexColumn::TwoKinds(ids) = &ids { Some(ids.sources()) } else { None };
    let Answer { columns, iterations, note, levels, top, .. } = answer;
    // Without numbers of the user's all are finite.
    if algorithm.weighs() || !algorithm.tables().is_empty() {
        finite::check(&columns, &ids, top)?;
    }
    let columns: Box<dyn Columns> = match sides {
        Some(sources) => Box::new(WithSides::new(columns, sources)),
        None => columns,
    };
    Ok(RunResult {
        table: Table { vertices: ids, columns },
        report,
        vertices,
        input_edges: loaded.edges,
        load: loaded_at - begun,
        processing,
        notes: readings::lines(&loaded.readings)
            .into_iter()
            .chain(loaded.notes)
            .chain(idle)
            .collect(),
        note,
        edges: (edges, way),
        iterations,
        levels,
        top,
    })
}

/// Finds the answer, writes or shows it.
fn answer(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    source: &Source,
    session: &mut Session,
) -> Result<(), Failure> {
    let found = find(algorithm, (&args.input, args.graph), source, session)?;
    show(session, &found.table, (args, found.top))?;
    if let Some(path) = &args.output.report {
        found.report.write(path, session)?;
    }
    for line in lines(&found, session, args.output.report.is_some()) {
        session.say(&line);
    }
    let rows = found.table.columns.listed().map_or(found.vertices, |rows| rows as u64);
    say_written(session, args, rows);
    Ok(())
}

/// Lines about what was done; of the iterations of programs with a frontier too, if `levels`.
pub(crate) fn lines(found: &RunResult, session: &Session, levels: bool) -> Vec<String> {
    let (edges, way) = found.edges;
    let kept = session.checkpoints.iter().flat_map(Checkpoints::notes);
    let notes = found.notes.iter().cloned().chain(kept);
    let mut lines: Vec<String> = notes.map(|note| format!("note: {}", printable(&note))).collect();
    lines.extend(found.note.iter().map(|note| format!("note: {note}")));
    let report = &found.report;
    lines.extend(
        [
            report.storage_line(),
            report.cache_line(),
            report.checkpoints_line(),
            report.price(session).map(|price| price.line()),
        ]
        .into_iter()
        .flatten(),
    );
    let levels = found.levels.as_ref().filter(|_| levels);
    lines.extend(levels.map(|all| levels::line(all, edges)));
    lines.push(format!(
        "{}, {}{way}, {}, {}",
        counted(found.vertices, "vertex", "vertices"),
        counted(edges, "edge", "edges"),
        counted(found.iterations, "iteration", "iterations"),
        seconds(session.started.elapsed()),
    ));
    lines
}

/// Counts the memory of parts of a result, and of the report behind it, on their way to buckets.
fn hold_parts(args: &TableArgs, session: &mut Session) {
    let in_bucket = |path: &&Path| Location::of(path).is_some();
    let result = args.output.as_deref().filter(in_bucket);
    match (result, args.report.as_deref().filter(in_bucket)) {
        (Some(path), _) => session.sends(path, 1),
        (None, Some(_)) => session.holds(WriteRequests::default().memory_bytes()),
        (None, None) => {}
    }
}

/// Checks everything that will be written before anything is read.
fn check_outputs(args: &TableArgs, mut outputs: Outputs) -> Result<(), Failure> {
    if let Some(path) = args.output.as_deref().filter(|path| !is_stdout(path)) {
        TableFormat::of(path, args.output_format)?;
        outputs.promise(path)?;
    }
    match args.report.as_deref() {
        Some(report) if !is_stdout(report) => outputs.promise(report)?,
        Some(_) if args.output.as_deref().is_some_and(is_stdout) => {
            let what = "--report -: results go to standard output already";
            return Err(Failure::usage(what).hint("name a file for one of them"));
        }
        _ => {}
    }
    Ok(())
}

/// Writes a result.
pub(crate) fn write(
    session: &Session,
    table: &Table<dyn Columns>,
    path: &Path,
    format: Option<TableFormat>,
) -> Result<(), Failure> {
    let threads = session.resources.threads.unwrap_or(0);
    if !is_stdout(path) {
        let requests = session.write_requests(path);
        return Ok(write_table(table, path, format, requests, threads, &session.progress)?);
    }
    let mut stdout = std::io::stdout();
    let format = format.unwrap_or(TableFormat::Csv);
    write_table_to(table, &mut stdout, "standard output", format, threads, &session.progress)
        .map_err(Failure::stream)?;
    end_stdout()
}
