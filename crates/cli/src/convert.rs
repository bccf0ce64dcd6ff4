//! `welter convert`: reads a graph in one format and writes it in another.

use std::time::Duration;

use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_objects::Location;
use welter_output::{EdgeFormat, EdgeFormatOptions, write_edges, write_edges_to};

use crate::args::{ConvertArgs, EdgeArgs};
use crate::failure::{Failure, printable};
use crate::load::Source;
use crate::loaded::Loaded;
use crate::number_format::{counted, seconds};
use crate::promise::Outputs;
use crate::session::Session;
use crate::stdout::{end_stdout, is_stdout, wrote};

/// Bytes of an edge in a file, about.
const EDGE_BYTES: u64 = 8;

impl EdgeArgs {
    /// The options, as the writers want them.
    fn options(&self) -> EdgeFormatOptions {
        EdgeFormatOptions { format: self.output_format, ..EdgeFormatOptions::default() }
    }

    /// Files that are sent to a bucket side by side.
    fn objects(&self) -> Result<u64, Failure> {
        if Location::of(&self.output).is_none() {
            return Ok(0);
        }
        Ok(self.options().files(&self.output)?.len() as u64)
    }

    /// Checks, before any work is done, that all files can be written and replace no input, and
    /// that there is memory for parts of a stated size and number on their way.
    pub(crate) fn promise(
        &self,
        session: &mut Session,
        source: &Source,
        tables: impl IntoIterator<Item = String>,
    ) -> Result<(), Failure> {
        if is_stdout(&self.output) {
            return Ok(());
        }
        let files = self.options().files(&self.output)?;
        let mut outputs = Outputs::of(source).with_tables(tables);
        files.iter().try_for_each(|file| outputs.promise(file))?;
        let objects = self.objects()?;
        if objects == 0 || session.resources.write_requests().is_none() {
            session.sends(&self.output, 0);
            return Ok(());
        }
        session.sends(&self.output, objects);
        session.check_parts()
    }
}

/// Does it.
pub(crate) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    let source = Source::with(&args.input, &args.resources)?;
    args.output.promise(&mut session, &source, args.input.vertex_tables().cloned())?;
    let options = args.input.options(args.weights.choice(), args.resources.threads);
    let idle = session.idle_options((&source, &options), None);
    let Loaded { edges, ids, readings, notes, undirected, .. } = session.load(&source, options)?;
    for note in crate::readings::lines(&readings).iter().chain(&notes).chain(&idle) {
        session.say(&format!("note: {}", printable(note)));
    }
    let count = edges.edges();
    write(session, &*edges, &ids, undirected, &args.output, |elapsed| {
        format!("{}, {}", counted(count, "edge", "edges"), seconds(elapsed))
    })
}

/// Writes edges where they are wanted, and says so in one line.
pub(crate) fn write(
    mut session: Session,
    edges: &dyn EdgeStream,
    ids: &IdMap,
    undirected: bool,
    args: &EdgeArgs,
    summary: impl Fn(Duration) -> String,
) -> Result<(), Failure> {
    let threads = session.resources.threads.unwrap_or(0);
    let (path, objects) = (&args.output, args.objects()?);
    session.look_where_it_sends(Some(edges.edges().saturating_mul(EDGE_BYTES)));
    let free = session.budget().saturating_sub(edges.resident_bytes() + ids.bytes());
    // A format may sort edges in the rest.
    let requests = session.write_requests_within(path, free / 2 / objects.max(1));
    let memory_bytes_max = Some(free.saturating_sub(objects * requests.memory_bytes()));
    let options = EdgeFormatOptions { undirected, memory_bytes_max, requests, ..args.options() };
    let format = if is_stdout(path) {
        let mut stdout = std::io::stdout();
        let name = "standard output";
        write_edges_to(edges, ids, &mut stdout, name, &options, threads, &session.progress)
            .map_err(Failure::stream)?;
        end_stdout()?;
        options.format.unwrap_or(EdgeFormat::Snap)
    } else {
        write_edges(edges, ids, path, &options, threads, &session.progress)?;
        options.of(path)?.1
    };
    session.end_progress();
    let summary = summary(session.started.elapsed());
    session.say(&if is_stdout(path) { summary } else { wrote(path, &summary) });
    if undirected && !format.tells_direction() {
        session.say(&format!(
            "note: each edge stands for both directions, which {format} cannot say; \
             read it with --undirected"
        ));
    }
    Ok(())
}
