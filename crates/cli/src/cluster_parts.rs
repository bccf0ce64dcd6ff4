//! Results that machines write themselves (`-o DIR/`): a file for each chunk of vertices, so that
//! no process has all of them.
//!
//! ```text
//! DIR/part-00000.csv   the first vertices; parts follow each other as their numbers do
//!    /part-00001.csv   a part is whole, with a header where its format has one
//!    /_SUCCESS         written last: without it the parts of DIR are not all there are
//! ```
//!
//! A part is written by the machine on which its chunk lies. What is said of a result as a whole is
//! made by the host, which looks at chunks one at a time.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use welter_cluster::host::{self, Finished};
use welter_cluster::{
    ClusterError, Host, Live, PartPlace, PartWriter, ResultPlace, Unwritten, Written,
};
use welter_model::edges::StreamError;
use welter_model::table::{Column, Columns, Table, VertexColumn};
use welter_objects::{Location, WriteRequests};
use welter_output::{
    Compression, OutputError, TableFormat, TablePart, extension, write_file, write_table_part,
};
use welter_progress::{FailureKind, Progress};
use welter_protocol::Payload;
use welter_protocol::ids::Bytes;

use crate::algorithms::on_cluster::{Decoder, Finding};
use crate::args::{ResourceArgs, TableArgs};
use crate::argv;
use crate::failure::Failure;
use crate::promise::Outputs;
use crate::stdout::is_directory;

/// Name of the file that is written when all parts have their names.
const DONE: &str = "_SUCCESS";

/// A directory of parts, and their format.
#[derive(Clone, Debug)]
pub(crate) struct PartsAt {
    path: PathBuf,
    form: (Compression, TableFormat),
    /// Requests by which a part is sent to a bucket.
    requests: WriteRequests,
}

/// A job whose result may be written in parts.
pub(crate) trait Parted: Sync {
    /// Where machines write it, if they do.
    fn parts(&self) -> Option<&PartsAt>;

    /// Ids of all vertices.
    fn named(&self) -> &VertexColumn;

    /// Maker of columns of vertices.
    fn decoder(&self) -> Decoder;

    /// Rows of the vertices at these bytes of the result.
    fn rows(&self, offset_bytes: u64, vertices: &[u8]) -> Table<Box<dyn Columns>>;

    /// Words about a result, which is looked at.
    fn finding_of(&self, columns: &dyn Columns, decided: &[Bytes]) -> Result<Finding, Failure>;
}

/// Words about a result that machines write, and its size.
pub(crate) struct Looked {
    /// Words about it.
    pub(crate) finding: Finding,
    /// Rows of all parts.
    pub(crate) rows: u64,
    /// Number of parts.
    pub(crate) parts: usize,
}

impl PartsAt {
    /// The directory that an output is, if it is one.
    pub(crate) fn of(args: &TableArgs) -> Result<Option<Self>, Failure> {
        let path = args.output.as_deref().filter(|path| is_directory(path));
        let Some(path) = path else { return Ok(None) };
        // Its name may say what parts are, as that of a file does.
        let form = match (args.output_format, path.extension()) {
            (None, None) => (Compression::None, TableFormat::Csv),
            (format, _) => TableFormat::of(path, format)?,
        };
        Ok(Some(Self { path: path.to_owned(), form, requests: WriteRequests::default() }))
    }

    /// The directory, with parts that are sent as resources say, if they do.
    pub(crate) fn sent_by(self, resources: &ResourceArgs) -> Self {
        Self { requests: resources.write_requests().unwrap_or(self.requests), ..self }
    }

    /// Refuses a directory where a process writes that is no machine.
    pub(crate) fn refuse(args: &TableArgs) -> Result<(), Failure> {
        let Some(Self { path, .. }) = Self::of(args)? else { return Ok(()) };
        let what =
            format!("{}: machines of a cluster write parts, one process a file", path.display());
        Err(Failure::usage(what).hint("leave the / at its end out, or say --cluster"))
    }

    /// Refuses a directory that cannot be made, or has something in it already.
    pub(crate) fn promise(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        let name = self.path.display();
        if Location::of(&self.path).is_some() {
            return outputs.promise(&self.path.join(DONE));
        }
        match fs::read_dir(&self.path).map(|mut entries| entries.next().is_none()) {
            // A run that is resumed may have died while parts were named.
            Ok(is_empty) if is_empty || argv::is_resumed() => {
                outputs.promise(&self.path.join(DONE))
            }
            Ok(_) => {
                let what = format!("{name}: is not empty");
                Err(Failure::output(what).hint("name a directory that is empty, or not there"))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Without the slash at its end.
                outputs.promise(&self.path.components().collect::<PathBuf>())
            }
            Err(error) => Err(Failure::output(format!("{name}: {error}"))),
        }
    }

    /// Says that all parts are there.
    pub(crate) fn end(&self, rows: u64, parts: usize) -> Result<(), Failure> {
        let text = format!("{}\n", json!({ "parts": parts, "rows": rows }));
        Ok(write_file(&self.path.join(DONE), text.as_bytes())?)
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn part(&self, number: usize) -> PathBuf {
        self.path.join(format!("part-{number:05}.{}", extension(self.form)))
    }
}

/// Writer of the parts of a machine.
pub(crate) struct Parts<'j> {
    job: &'j dyn Parted,
    at: &'j PartsAt,
    progress: Progress,
    /// Parts that have no name yet, in their order.
    written: VecDeque<TablePart>,
}

impl<'j> Parts<'j> {
    /// Writer of the result of a job, if its machines write that.
    pub(crate) fn of(job: &'j dyn Parted) -> Option<Self> {
        let at = job.parts()?;
        Some(Self { job, at, progress: Progress::new(), written: VecDeque::new() })
    }

    fn write_one(
        &self,
        place: PartPlace,
        payload: &Payload,
    ) -> Result<(TablePart, u64), OutputError> {
        let path = self.at.part(place.number);
        if Location::of(&path).is_none() {
            fs::create_dir_all(&self.at.path).map_err(|source| OutputError::Create {
                name: self.at.path.display().to_string(),
                source,
            })?;
        }
        let rows = self.job.rows(place.offset_bytes, payload);
        let count = rows.columns.listed().unwrap_or(rows.vertices.len()) as u64;
        // Machines of one computer write at the same time.
        let (named, by) = (self.job.named(), (self.at.requests, 1));
        let part = write_table_part(&rows, named, &path, self.at.form, by, &self.progress)?;
        Ok((part, count))
    }
}

fn unwritten(error: &OutputError) -> Unwritten {
    (error.kind(), error.to_string())
}

impl PartWriter for Parts<'_> {
    fn write(&mut self, place: PartPlace, payload: &Payload) -> Result<u64, Unwritten> {
        let (part, rows) = self.write_one(place, payload).map_err(|error| unwritten(&error))?;
        self.written.push_back(part);
        Ok(rows)
    }

    fn name(&mut self) -> Result<bool, Unwritten> {
        let Some(part) = self.written.pop_front() else { return Ok(false) };
        part.name().map(|()| true).map_err(|error| {
            self.clear();
            unwritten(&error)
        })
    }

    fn clear(&mut self) {
        self.written.clear();
    }
}

/// Columns of a result that machines have, of which one chunk is here at a time.
struct Fetched<'w, 'h> {
    written: &'w Written<'h>,
    decoder: Decoder,
    /// Rows before each chunk, and all.
    starts: Vec<usize>,
    here: Mutex<Option<(usize, Box<dyn Columns>)>>,
}

impl<'w, 'h> Fetched<'w, 'h> {
    fn new(written: &'w Written<'h>, decoder: Decoder) -> Self {
        let mut starts = vec![0];
        for rows in written.rows() {
            starts.push(starts[starts.len() - 1] + rows as usize);
        }
        Self { written, decoder, starts, here: Mutex::new(None) }
    }

    fn rows(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }
}

impl fmt::Debug for Fetched<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").field("starts", &self.starts).finish_non_exhaustive()
    }
}

impl Columns for Fetched<'_, '_> {
    fn part(&self, rows: Range<usize>) -> Result<Vec<Column>, StreamError> {
        let mut found = self.decoder.columns(&[]).part(0..0)?;
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.starts.partition_point(|start| *start <= rows.start).saturating_sub(1);
        for chunk in first..self.starts.len() - 1 {
            let all = self.starts[chunk]..self.starts[chunk + 1];
            let [from, to] = [rows.start.max(all.start), rows.end.min(all.end)];
            if all.start >= rows.end {
                break;
            }
            if from >= to {
                continue;
            }
            if here.as_ref().is_none_or(|(number, _)| *number != chunk) {
                let payload = self.written.chunk(chunk)?;
                *here = Some((chunk, self.decoder.columns(&payload)));
            }
            let Some((_, columns)) = &*here else { continue };
            let part = columns.part(from - all.start..to - all.start)?;
            for (column, more) in found.iter_mut().zip(part) {
                column.data.append(more.data);
            }
        }
        Ok(found)
    }

    fn listed(&self) -> Option<usize> {
        self.decoder.columns(&[]).listed().map(|_| self.rows())
    }

    fn check(&self, rows: usize) -> Result<(), String> {
        if rows == self.rows() {
            return Ok(());
        }
        Err(format!("results have {} rows, expected {rows}", self.rows()))
    }
}

/// Looks at a result that is written and has no name yet.
fn look(job: &dyn Parted, written: &Written<'_>) -> Result<Looked, Failure> {
    let fetched = Fetched::new(written, job.decoder());
    let finding = job.finding_of(&fetched, written.decided())?;
    Ok(Looked { finding, rows: fetched.rows() as u64, parts: fetched.starts.len() - 1 })
}

/// Runs machines to their end, and takes the result as the job has it.
pub(crate) fn watched(
    host: &mut dyn Host,
    (job, machines): (&dyn Parted, usize),
    (progress, live): (&Progress, &Live),
) -> Result<(Finished, Option<Looked>), Failure> {
    if job.parts().is_none() {
        return Ok((
            host::watched(host, machines, (progress, live), &mut ResultPlace::Here)?,
            None,
        ));
    }
    let (mut looked, mut failed) = (None, None);
    let mut look = |written: &Written<'_>| match look(job, written) {
        Ok(it) => {
            looked = Some(it);
            Ok(())
        }
        Err(failure) => {
            let kind = failure.kind().unwrap_or(FailureKind::Internal);
            let what = failure.message().to_owned();
            failed = Some(failure);
            Err(ClusterError::Declined { rank: 0, kind, what })
        }
    };
    let ended = host::watched(host, machines, (progress, live), &mut ResultPlace::Parts(&mut look));
    match ended {
        Ok(finished) => Ok((finished, looked)),
        Err(error @ ClusterError::Declined { rank: 0, .. }) => Err(failed.unwrap_or(error.into())),
        Err(error) => Err(error.into()),
    }
}
