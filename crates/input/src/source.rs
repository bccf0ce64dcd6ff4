//! One input as a thing to read: a file or a pipe, its compression and its format.
//!
//! What a source is, is guessed from its first bytes, then from its name; what the user says about
//! the format wins. Files are opened when they are needed, so a pattern may match more files than a
//! process may hold open; a pipe is opened once and its first bytes are kept.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::InputError;
use crate::format::{self, Format};
use crate::options::Limits;
use crate::unpack::Unpacked;

/// Bytes of a file that are looked at to know what it is.
const HEAD_BYTES: u64 = 4 << 10;
/// Bytes of a pipe that are looked at, and kept as its sample.
const PIPE_HEAD_BYTES: u64 = 256 << 10;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// It is not.
    #[default]
    None,
    /// gzip, of one or more members.
    Gzip,
    /// zstd, of one or more frames.
    Zstd,
}

/// A file or pipe to read edges from.
#[derive(Debug)]
pub struct Source {
    name: String,
    path: PathBuf,
    /// Bytes as stored; `None` for a pipe.
    bytes: Option<u64>,
    pipe: Mutex<Option<File>>,
    /// The first bytes, as stored.
    head: Vec<u8>,
    compression: Compression,
    format: Format,
}

impl Source {
    /// Opens a file, or standard input where `name` is `-`, and finds out what it is.
    ///
    /// # Errors
    /// When it is not there, cannot be opened, or is none of the known formats.
    pub fn open(name: &str, format: Option<Format>) -> Result<Self, InputError> {
        let file = if name == "-" { stdin() } else { File::open(name) };
        let mut file = file.map_err(|error| unopened(name, error))?;
        let metadata = file.metadata().map_err(|error| InputError::io(name, "look at", error))?;
        if metadata.is_dir() {
            let what = "is a directory; name the files in it, such as with a pattern".to_owned();
            return Err(InputError::Missing { file: name.to_owned(), what });
        }
        let bytes = (metadata.is_file() && name != "-").then_some(metadata.len());
        let head_bytes = if bytes.is_some() { HEAD_BYTES } else { PIPE_HEAD_BYTES };
        let mut head = Vec::new();
        let mut take = |bytes, head: &mut Vec<u8>| {
            let taken = (&mut file).take(bytes).read_to_end(head);
            taken.map_err(|error| InputError::io(name, "read", error))
        };
        take(head_bytes, &mut head)?;
        let compression = Compression::of(&head);
        let kept = head.len();
        if bytes.is_some() && compression != Compression::None {
            // A block of zstd says nothing before all of it is there.
            take(PIPE_HEAD_BYTES, &mut head)?;
        }
        let begin = begin(name, compression, &head);
        head.truncate(kept);
        let known = match format {
            None => Format::guess(name, &begin, by_name(name))?,
            said => said,
        };
        let format = match known {
            Some(format) => format,
            None if memchr::memchr(0, &begin).is_some() => {
                let what = "expected a known format, found binary data; say which format";
                return Err(InputError::content(name, what));
            }
            None => Format::Text,
        };
        Ok(Self {
            name: if name == "-" { "<stdin>".to_owned() } else { name.to_owned() },
            path: PathBuf::from(name),
            bytes,
            pipe: Mutex::new(bytes.is_none().then_some(file)),
            head,
            compression,
            format,
        })
    }

    /// Bytes in memory, uncompressed: read as a pipe is. For tests and fuzzing.
    pub(crate) fn held(name: &str, bytes: &[u8], format: Format) -> Result<Self, InputError> {
        let rest = File::open("/dev/null").map_err(|error| unopened("/dev/null", error))?;
        Ok(Self {
            name: name.to_owned(),
            path: PathBuf::from(name),
            bytes: None,
            pipe: Mutex::new(Some(rest)),
            head: bytes.to_vec(),
            compression: Compression::of(bytes),
            format,
        })
    }

    /// Where it lies; `-` for standard input. For formats that have files beside each other.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name that errors use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, under its compression.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How it is compressed.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Bytes as stored; `None` for a pipe.
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The first bytes as stored: 4 KiB of a file, 256 KiB of a pipe, less where it is shorter.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The file, for readers that jump about in it.
    ///
    /// # Errors
    /// When it cannot be opened, is a pipe, or is compressed as a whole.
    pub fn file(&self) -> Result<File, InputError> {
        if self.bytes.is_none() {
            let what = format!("{} cannot be read from a pipe; name a file", self.format);
            return Err(InputError::content(&self.name, what));
        }
        if self.compression != Compression::None {
            let what = format!("{} cannot be read compressed as a whole; unpack it", self.format);
            return Err(InputError::content(&self.name, what));
        }
        File::open(&self.path).map_err(|error| unopened(&self.name, error))
    }

    /// The decompressed bytes from the start.
    ///
    /// # Errors
    /// When it cannot be opened, or is a pipe that was read already.
    pub fn unpack(&self, limits: &Limits) -> Result<Unpacked, InputError> {
        let (head, rest): (&[u8], File) = if self.bytes.is_some() {
            (&[], File::open(&self.path).map_err(|error| unopened(&self.name, error))?)
        } else {
            let pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
            let again = || InputError::content(&self.name, "a pipe can be read only once");
            (&self.head, pipe.ok_or_else(again)?)
        };
        let stored = std::io::Cursor::new(head.to_vec()).chain(rest);
        Unpacked::new(&self.name, self.compression, Box::new(stored), limits)
    }

    /// The first `bytes_max` decompressed bytes, fewer where the source is a pipe or ends before.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn sample(&self, bytes_max: usize, limits: &Limits) -> Result<Sample, InputError> {
        let mut unpacked = if self.bytes.is_some() {
            self.unpack(limits)?
        } else {
            let head = Box::new(std::io::Cursor::new(self.head.clone()));
            Unpacked::new(&self.name, self.compression, head, limits)?
        };
        let partial = self.bytes.is_none() && self.head.len() as u64 == PIPE_HEAD_BYTES;
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

impl Compression {
    /// Known by its magic bytes.
    fn of(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, 0x08, ..] => Self::Gzip,
            // A skippable frame may come before the first of zstd.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// The first bytes of a file, decompressed as far as its first stored bytes reach. Damage is for
/// the reader to find.
fn begin(name: &str, compression: Compression, head: &[u8]) -> Vec<u8> {
    let mut begin = vec![0; format::HEAD_BYTES];
    let mut filled = 0;
    let stored = Box::new(std::io::Cursor::new(head.to_vec()));
    if let Ok(mut unpacked) = Unpacked::new(name, compression, stored, &Limits::default()) {
        while let Ok(count @ 1..) = unpacked.read(&mut begin[filled..]) {
            filled += count;
        }
    }
    begin.truncate(filled);
    begin
}

/// The format by the extension, under that of a compression.
fn by_name(name: &str) -> Option<Format> {
    let mut path = Path::new(name);
    let extension = |path: &Path| path.extension()?.to_str().map(str::to_ascii_lowercase);
    if matches!(extension(path).as_deref(), Some("gz" | "zst" | "zstd")) {
        path = Path::new(path.file_stem()?);
    }
    Format::by_extension(&extension(path)?)
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

/// The files that inputs name: each is a path, `-`, or a pattern with `*`, `?` or `[...]` that
/// matches files. A path that exists is never taken for a pattern.
///
/// # Errors
/// When a pattern matches no file, or is none.
pub fn names(inputs: &[String]) -> Result<Vec<String>, InputError> {
    let mut names = Vec::new();
    for input in inputs {
        names.extend(expand(input)?);
    }
    if names.is_empty() {
        return Err(InputError::Options { what: "expected at least one input".to_owned() });
    }
    Ok(names)
}

/// Whether what has this name can be read only once, so that looking at it takes from it.
pub fn is_pipe(name: &str) -> bool {
    let other = |metadata: std::fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    name == "-" || std::fs::metadata(name).is_ok_and(other)
}

/// The files that an input names, patterns in alphabetical order.
fn expand(input: &str) -> Result<Vec<String>, InputError> {
    if !input.contains(['*', '?', '[']) || Path::new(input).exists() {
        return Ok(vec![input.to_owned()]);
    }
    let paths = glob::glob(input).map_err(|error| InputError::Options {
        what: format!("{input}: not a pattern: {error}"),
    })?;
    let mut names = Vec::new();
    for path in paths {
        let path = path.map_err(|error| {
            let file = error.path().display().to_string();
            InputError::io(&file, "list", error.into())
        })?;
        if !path.is_dir() {
            names.push(path.to_string_lossy().into_owned());
        }
    }
    if names.is_empty() {
        let what = "no file matches this pattern".to_owned();
        return Err(InputError::Missing { file: input.to_owned(), what });
    }
    Ok(names)
}
