//! One input as a thing to read: a file, a pipe or an object, its layers and its format.
//!
//! The kind of a source is guessed from its first bytes, then from its name ([`layers`]); what the
//! user says about the format wins. Files are opened when they are needed, so a pattern may match
//! more files than a process may hold open; a pipe is opened once and its first bytes are kept. An
//! object of a bucket ([`stored`]) stands wherever a file can.

pub(crate) mod at_once;
mod inputs;
mod layers;
pub(crate) mod stored;
mod witness;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Cursor, Read};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use welter_objects::Location;
use welter_progress::Progress;

use crate::columnar::PathColumns;
use crate::error::InputError;
use crate::format::Format;
use crate::options::Limits;
use crate::reading::FileSummary;
use crate::unpack::{Bytes, Layer, Unpacked};
pub use inputs::{is_pipe, names};
pub use layers::says_format;
use layers::{Layered, PIPE_HEAD_BYTES, Stored};
use stored::{StoredBytes, Whereabouts};
use witness::Stamp;
pub(crate) use witness::{Watched, Witness};

/// Bytes of a file that are looked at to know what it is.
const HEAD_BYTES: u64 = 4 << 10;

/// A file, pipe or object to read edges from.
#[derive(Debug)]
pub struct Source {
    name: String,
    path: PathBuf,
    whereabouts: Whereabouts,
    /// Bytes as stored; `None` for a pipe.
    bytes: Option<u64>,
    pipe: Mutex<Option<File>>,
    /// The first bytes, as stored.
    head: Vec<u8>,
    /// Whether more bytes come behind the first.
    continues: bool,
    layers: Vec<Layer>,
    format: Format,
    /// Stamp of the file when it was opened; `None` for a pipe and an object.
    stamp: Option<Stamp>,
    /// Bytes of the share that is read of it; `None`: all.
    share: Option<Range<u64>>,
}

impl Source {
    /// Opens a file, an object where `path` is its URL, or standard input where it is `-`, and
    /// finds out what it is.
    ///
    /// # Errors
    /// When it is not there, cannot be opened, or is none of the known formats.
    pub fn open(path: impl AsRef<OsStr>, format: Option<Format>) -> Result<Self, InputError> {
        let path = Path::new(path.as_ref());
        if let Some(location) = Location::of(path) {
            return Self::open_object(
                path,
                &location.map_err(|error| InputError::of_object(&error))?,
                format,
            );
        }
        let is_stdin = path == Path::new("-");
        let name = if is_stdin { "<stdin>".to_owned() } else { path.display().to_string() };
        let file = if is_stdin { stdin() } else { File::open(path) };
        let mut file = file.map_err(|error| unopened(&name, error))?;
        let metadata = file.metadata().map_err(|error| InputError::io(&name, "look at", error))?;
        if metadata.is_dir() {
            let what = "is a directory; name the files in it, such as with a pattern".to_owned();
            return Err(InputError::Missing { file: name, what });
        }
        let bytes = (metadata.is_file() && !is_stdin).then_some(metadata.len());
        let mut head = Vec::new();
        let mut take = |bytes: u64, head: &mut Vec<u8>| {
            let taken = (&mut file).take(bytes - head.len() as u64).read_to_end(head);
            taken.map_err(|error| InputError::io(&name, "read", error))?;
            Ok((head.len() as u64) == bytes)
        };
        let mut continues =
            take(if bytes.is_some() { HEAD_BYTES } else { PIPE_HEAD_BYTES }, &mut head)?;
        let kept = head.len();
        if let Some(bytes) = layers::wanted(&head, path) {
            continues = take(bytes.max(kept as u64), &mut head)?;
        }
        let (file, pipe) = match bytes {
            Some(_) => (Some(StoredBytes::File(Arc::new(file))), None),
            None => (None, Some(file)),
        };
        let stored = Stored { head: &head, file: file.as_ref().zip(bytes) };
        let Layered { layers, format } = layers::peel_layers(&name, path, &stored, format)?;
        if bytes.is_some() {
            head.truncate(kept);
        }
        let (path, stamp) = (path.to_owned(), bytes.map(|_| Stamp::of(&metadata)));
        let (whereabouts, pipe) = (Whereabouts::File(path.clone()), Mutex::new(pipe));
        let share = None;
        Ok(Self {
            name,
            path,
            whereabouts,
            bytes,
            pipe,
            head,
            continues,
            layers,
            format,
            stamp,
            share,
        })
    }

    /// Opens an object and finds out what it is.
    fn open_object(
        path: &Path,
        location: &Location,
        format: Option<Format>,
    ) -> Result<Self, InputError> {
        let object = stored::open(location, HEAD_BYTES)?;
        let (name, bytes) = (object.name().to_owned(), object.bytes());
        let file = StoredBytes::Object(object.clone());
        let mut head = object.head().to_vec();
        let kept = head.len();
        if let Some(wanted) = layers::wanted(&head, path) {
            head.clear();
            let onward = file.onward(0..wanted, stored::ahead(&Limits::default()).surely());
            let taken = onward.take(wanted.max(kept as u64)).read_to_end(&mut head);
            taken.map_err(|error| InputError::io(&name, "read", error))?;
        }
        let stored = Stored { head: &head, file: Some((&file, bytes)) };
        let Layered { layers, format } = layers::peel_layers(&name, path, &stored, format)?;
        head.truncate(kept);
        Ok(Self {
            name,
            path: path.to_owned(),
            whereabouts: Whereabouts::Object(object),
            bytes: Some(bytes),
            pipe: Mutex::new(None),
            continues: bytes > head.len() as u64,
            head,
            layers,
            format,
            stamp: None,
            share: None,
        })
    }

    /// Bytes in memory: read as a pipe is. For tests and fuzzing.
    pub(crate) fn held(
        name: &str,
        bytes: &[u8],
        format: impl Into<Option<Format>>,
    ) -> Result<Self, InputError> {
        let rest = File::open("/dev/null").map_err(|error| unopened("/dev/null", error))?;
        let stored = Stored { head: bytes, file: None };
        let Layered { layers, format } =
            layers::peel_layers(name, Path::new(name), &stored, format.into())?;
        Ok(Self {
            name: name.to_owned(),
            path: PathBuf::from(name),
            whereabouts: Whereabouts::File(PathBuf::from(name)),
            bytes: None,
            pipe: Mutex::new(Some(rest)),
            head: bytes.to_vec(),
            continues: false,
            layers,
            format,
            stamp: None,
            share: None,
        })
    }

    /// Where it lies; `-` for standard input. For formats that have files beside each other.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its stored bytes are.
    pub(crate) fn whereabouts(&self) -> &Whereabouts {
        &self.whereabouts
    }

    /// A witness of the file as it was when it was opened; `None` for a pipe.
    pub(crate) fn witness(&self) -> Option<Witness> {
        match &self.whereabouts {
            Whereabouts::Object(object) => Some(Witness::of_object(object)),
            Whereabouts::File(path) => {
                self.stamp.map(|stamp| Witness::new(&self.name, path, stamp))
            }
        }
    }

    /// Gives up waiting for its bytes, where they are those of an object, once a run is cancelled.
    pub(crate) fn stop_with(&self, progress: &Progress) {
        if let Whereabouts::Object(object) = &self.whereabouts {
            let progress = progress.clone();
            object.stop_when(move || progress.cancelled());
        }
    }

    /// Columns that stand in its path, such as `src=1`.
    pub(crate) fn path_columns(&self) -> PathColumns {
        PathColumns::of(&self.path)
    }

    /// The name that errors use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format under the layers.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether its bytes are stored as they are read: neither compressed, nor in an archive, nor
    /// text in another encoding.
    pub fn is_plain(&self) -> bool {
        self.layers.is_empty()
    }

    /// The names of the layers around its bytes, from the outside inwards.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &'static str> {
        self.layers.iter().map(|layer| layer.name())
    }

    /// The summary of how it is read, before it is.
    pub(crate) fn summary(&self) -> FileSummary {
        FileSummary {
            name: self.name.clone(),
            format: Some(self.format),
            layers: self.layers().collect(),
            ..FileSummary::default()
        }
    }

    /// Bytes as stored; `None` for a pipe.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Leaves of it the records that begin at these bytes, where its reader can cut it
    /// (`Reader::can_be_cut`).
    pub(crate) fn limit_to(&mut self, share: Range<u64>) {
        self.share = Some(share);
    }

    /// Bytes at which the records begin that are read of it; `None`: all.
    pub(crate) fn share(&self) -> Option<&Range<u64>> {
        self.share.as_ref()
    }

    /// The first bytes as stored: 4 KiB of a file, 256 KiB of a pipe, less where it is shorter.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The stored bytes, for readers that jump about in them.
    ///
    /// # Errors
    /// When it cannot be opened, is a pipe, or is compressed as a whole.
    pub(crate) fn file(&self) -> Result<StoredBytes, InputError> {
        if self.bytes.is_none() {
            let what = format!("{} cannot be read from a pipe; name a file", self.format);
            return Err(InputError::content(&self.name, what));
        }
        if let Some(layer) = self.layers.first() {
            let what = format!(
                "{} cannot be read compressed as a whole or from an archive ({}); unpack it",
                self.format,
                layer.name()
            );
            return Err(InputError::content(&self.name, what));
        }
        self.reopened()
    }

    fn reopened(&self) -> Result<StoredBytes, InputError> {
        self.whereabouts.open().map_err(|error| unopened(&self.name, error))
    }

    /// The decompressed bytes from the start.
    ///
    /// # Errors
    /// When it cannot be opened, or is a pipe that was read already.
    pub fn unpack(&self, limits: &Limits) -> Result<Unpacked, InputError> {
        let stored: Bytes = if let Some(bytes) = self.bytes {
            let (file, ahead) = (self.reopened()?, stored::ahead(limits));
            match self.layers.first() {
                Some(Layer::Zip(member)) => {
                    let end = member.start.saturating_add(member.packed);
                    Box::new(file.onward(member.start..end, ahead).take(member.packed))
                }
                _ => Box::new(file.onward(0..bytes, ahead).summed()),
            }
        } else {
            let pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
            let again = || InputError::content(&self.name, "a pipe can be read only once");
            Box::new(Cursor::new(self.head.clone()).chain(pipe.ok_or_else(again)?))
        };
        Unpacked::new(&self.name, &self.layers, stored, limits)
    }

    /// The first `bytes_max` decompressed bytes, fewer where the source is a pipe or ends before.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn sample(&self, bytes_max: usize, limits: &Limits) -> Result<Sample, InputError> {
        let mut unpacked = if self.bytes.is_some() {
            self.unpack(limits)?
        } else {
            let head = Box::new(Cursor::new(self.head.clone()));
            Unpacked::new(&self.name, &self.layers, head, limits)?
        };
        let partial = self.bytes.is_none() && self.continues;
        let mut bytes = vec![0; bytes_max];
        let mut filled = 0;
        while filled < bytes_max {
            match unpacked.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                // The compressed sample of a pipe ends in the middle; what came out is good.
                Err(_) if partial && filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(Sample { whole: !partial && filled < bytes_max, stored: unpacked.stored(), bytes })
    }
}

/// The beginning of a source.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Decompressed bytes.
    pub bytes: Vec<u8>,
    /// Whether that is all there is.
    pub whole: bool,
    /// Stored bytes that it took.
    pub stored: u64,
}

/// Standard input as a file of its own.
fn stdin() -> std::io::Result<File> {
    Ok(File::from(std::io::stdin().as_fd().try_clone_to_owned()?))
}

fn unopened(name: &str, error: std::io::Error) -> InputError {
    if error.kind() == std::io::ErrorKind::NotFound {
        return InputError::Missing { file: name.to_owned(), what: "no such file".to_owned() };
    }
    InputError::io(name, "open", error)
}
