//! `welter convert`: reads a graph in one format and writes it in another.

use std::time::Duration;

use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_output::{EdgeFormatOptions, write_edges, write_edges_to};

use crate::args::{ConvertArgs, EdgeArgs};
use crate::failure::{Failure, printable};
use crate::load::{Loaded, Source};
use crate::run::is_stdout;
use crate::session::{Session, promise};
use crate::text::{counted, seconds};

impl EdgeArgs {
    /// The same, as the writers want it.
    pub(crate) fn options(&self) -> EdgeFormatOptions {
        EdgeFormatOptions { format: self.output_format, ..EdgeFormatOptions::default() }
    }
}

/// Does it.
pub(crate) fn convert(args: &ConvertArgs) -> Result<(), Failure> {
    let session = Session::start(args.resources)?;
    let source = Source::of(&args.input)?;
    if !is_stdout(&args.output.output) {
        args.output.options().of(&args.output.output)?;
        promise(&args.output.output, &source)?;
    }
    let options = args.input.options(args.weights.choice(), args.resources.threads);
    let Loaded { edges, ids, notes, .. } = session.load(&source, options)?;
    for note in &notes {
        session.say(&format!("note: {}", printable(note)));
    }
    let count = edges.edges();
    write(session, &*edges, &ids, &args.output, |elapsed| {
        format!("{}, {}", counted(count, "edge", "edges"), seconds(elapsed))
    })
}

/// Writes edges where they are wanted, and says so in one line.
pub(crate) fn write(
    mut session: Session,
    edges: &dyn EdgeStream,
    ids: &IdMap,
    args: &EdgeArgs,
    summary: impl Fn(Duration) -> String,
) -> Result<(), Failure> {
    let threads = session.resources.threads.unwrap_or(0);
    let (path, options) = (&args.output, args.options());
    if is_stdout(path) {
        let mut stdout = std::io::stdout();
        let name = "standard output";
        write_edges_to(edges, ids, &mut stdout, name, &options, threads, &session.progress)
            .map_err(Failure::stream)?;
    } else {
        write_edges(edges, ids, path, &options, threads, &session.progress)?;
    }
    session.end_progress();
    session.say(&summary(session.started.elapsed()));
    Ok(())
}
