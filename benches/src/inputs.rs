//! The graphs that are measured, as files of unsorted pairs that are made once and kept.
//!
//! Files lie in `bench-data` beside the build (or where `--data` says); `--clean` removes them. The
//! generators are welter's own and give the same edges on every machine.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use welter_input::generate::Weights;
use welter_input::generate::rmat::{Rmat, RmatOptions};
use welter_input::generate::web::{Web, WebOptions};
use welter_model::edges::{EdgeList, EdgeStream};
use welter_model::ids::IdMap;
use welter_model::records::{RawLayout, RawWeight};
use welter_output::{EdgeFormat, EdgeFormatOptions, write_edges, write_edges_to};
use welter_progress::Progress;

use crate::baselines::pairs::PairFile;
use crate::baselines::search::weight;

/// Kind of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// R-MAT with Graph500's parameters: hubs have low ids.
    Rmat,
    /// R-MAT with ids at random.
    RmatScrambled,
    /// Web-like: most links are near, edges are in the order of their sources as crawls are.
    Web,
    /// A square of crossings, each joined to the next ones in both directions, like a road map.
    Grid,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rmat => "R-MAT",
            Self::RmatScrambled => "R-MAT scrambled",
            Self::Web => "web-like",
            Self::Grid => "grid",
        })
    }
}

/// A graph by kind and size: 2^scale ids, 16 edges each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) scale: u32,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.scale)
    }
}

impl Shape {
    /// The edges, made as they are read.
    pub(crate) fn stream(self) -> Result<Box<dyn EdgeStream>> {
        self.stream_with(Weights::None)
    }

    /// Stream of a generated graph with weights.
    pub(crate) fn stream_with(self, weights: Weights) -> Result<Box<dyn EdgeStream>> {
        let Self { kind, scale } = self;
        if !(10..=27).contains(&scale) {
            bail!("scale {scale}: expected 10 to 27");
        }
        Ok(match kind {
            Kind::Rmat | Kind::RmatScrambled => {
                let scramble = kind == Kind::RmatScrambled;
                let options = RmatOptions { scale, scramble, weights, ..RmatOptions::default() };
                Box::new(Rmat::new(&options)?)
            }
            Kind::Grid if weights != Weights::None => bail!("a grid has no weights"),
            Kind::Grid => Box::new(grid(1 << (scale / 2), 1 << scale.div_ceil(2))),
            Kind::Web => {
                let pages = 1 << scale;
                Box::new(Web::new(&WebOptions { pages, weights, ..WebOptions::default() })?)
            }
        })
    }

    /// The generator that makes the edges as a run reads them, as the command knows it.
    pub(crate) fn spec(self) -> Option<String> {
        let Self { kind, scale } = self;
        match kind {
            Kind::Rmat => Some(format!("rmat:{scale}")),
            Kind::RmatScrambled => Some(format!("rmat:{scale},scramble")),
            Kind::Web => Some(format!("web:{}", 1_u64 << scale)),
            Kind::Grid => None,
        }
    }

    fn name(self) -> String {
        let kind = match self.kind {
            Kind::Rmat => "rmat",
            Kind::RmatScrambled => "rmat-scrambled",
            Kind::Web => "web",
            Kind::Grid => "grid",
        };
        format!("{kind}-{}", self.scale)
    }
}

/// Both arcs between each place of a grid and the one to its right and the one below.
fn grid(rows: u32, columns: u32) -> EdgeList {
    let mut list = EdgeList::new(Some(u64::from(rows) * u64::from(columns)), false);
    for row in 0..rows {
        let mut pairs = Vec::new();
        for vertex in row * columns..(row + 1) * columns {
            if vertex + 1 < (row + 1) * columns {
                pairs.extend([[vertex, vertex + 1], [vertex + 1, vertex]]);
            }
            if row + 1 < rows {
                pairs.extend([[vertex, vertex + columns], [vertex + columns, vertex]]);
            }
        }
        list.push(pairs, Vec::new());
    }
    list
}

/// The folder where inputs are kept.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    folder: PathBuf,
}

impl Inputs {
    /// Opens the folder, making it where needed; by default `bench-data` beside `release`.
    pub(crate) fn open(folder: Option<&Path>) -> Result<Self> {
        let folder = match folder {
            Some(folder) => folder.to_owned(),
            None => default_folder()?,
        };
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// Removes the folder and all that is in it.
    pub(crate) fn clean(self) -> Result<()> {
        fs::remove_dir_all(&self.folder)
            .with_context(|| format!("removing {}", self.folder.display()))
    }

    /// A folder in the folder, for files that one benchmark makes and keeps.
    pub(crate) fn subfolder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(folder)
    }

    /// A path in the folder for something that the caller removes.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}-{name}", std::process::id()))
    }

    /// The graph as raw pairs of `u32`. The page cache holds it on return.
    pub(crate) fn raw(&self, shape: Shape) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.u32", shape.name()));
        Self::records(&path, || shape.stream(), RawWeight::None)
    }

    /// File of raw pairs with weights of 1 to 255, as `f32`, which grids do not have.
    pub(crate) fn raw_weighted(&self, shape: Shape) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.u32f32", shape.name()));
        let stream = || shape.stream_with(Weights::Integers { max: 255 });
        Self::records(&path, stream, RawWeight::F32)
    }

    fn records(
        path: &Path,
        stream: impl FnOnce() -> Result<Box<dyn EdgeStream>>,
        weight: RawWeight,
    ) -> Result<PathBuf> {
        if !path.exists() {
            eprintln!("making {}", path.display());
            let format = EdgeFormat::Raw(RawLayout { wide: false, weight });
            let options = EdgeFormatOptions { format: Some(format), ..Default::default() };
            let progress = Progress::new();
            write_edges(&*stream()?, &IdMap::Declared, path, &options, 0, &progress)?;
        }
        warm(path)?;
        Ok(path.to_owned())
    }

    /// The graph as text, `source TAB target` a line, without comments (which not every loader
    /// knows). The page cache holds it on return.
    pub(crate) fn text(&self, shape: Shape) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}.txt", shape.name()));
        self.make(&path, |file| {
            let mut sink = WithoutComments { file, inside: false };
            let options =
                EdgeFormatOptions { format: Some(EdgeFormat::Snap), ..Default::default() };
            let (stream, progress) = (shape.stream()?, Progress::new());
            let ids = IdMap::Declared;
            write_edges_to(&*stream, &ids, &mut sink, "text", &options, 0, &progress)?;
            Ok(())
        })?;
        warm(&path)?;
        Ok(path)
    }

    /// The graph as text for the GAP benchmark suite, which goes by the name's ending; with weights
    /// as a third column when `weighted`.
    pub(crate) fn gap_text(&self, shape: Shape, weighted: bool) -> Result<PathBuf> {
        let ending = if weighted { "wel" } else { "el" };
        let path = self.folder.join(format!("{}.{ending}", shape.name()));
        let raw = self.raw(shape)?;
        self.make(&path, |file| {
            let mut written = Ok(());
            PairFile::open(&raw)?.visit(|pairs| {
                for &[source, target] in pairs {
                    if written.is_ok() {
                        written = if weighted {
                            writeln!(file, "{source} {target} {}", weight([source, target]))
                        } else {
                            writeln!(file, "{source} {target}")
                        };
                    }
                }
            })?;
            Ok(written?)
        })?;
        warm(&path)?;
        Ok(path)
    }

    /// Text of `edges` edges whose ids have seven digits each, uniform: what parsers are held to.
    pub(crate) fn seven_digits(&self, edges: u64) -> Result<PathBuf> {
        let path = self.folder.join(format!("seven-digits-{edges}.txt"));
        self.make(&path, |file| {
            let mut state = 1_u64;
            let mut id = || {
                // Knuth's multiplier; the upper bits are good enough for ids.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1_000_000 + (state >> 33) % 9_000_000
            };
            for _ in 0..edges {
                writeln!(file, "{}\t{}", id(), id())?;
            }
            Ok(())
        })?;
        warm(&path)?;
        Ok(path)
    }

    /// Makes a file that is not there, under a temporary name until it is whole.
    fn make(
        &self,
        path: &Path,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
    ) -> Result<()> {
        if path.exists() {
            return Ok(());
        }
        eprintln!("making {}", path.display());
        let partial = self.scratch("partial");
        let written = File::create(&partial).map_err(anyhow::Error::from).and_then(|file| {
            let mut file = BufWriter::with_capacity(1 << 20, file);
            write(&mut file)?;
            Ok(file.flush()?)
        });
        if let Err(error) = written {
            let _ = fs::remove_file(&partial);
            return Err(error.context(format!("making {}", path.display())));
        }
        fs::rename(&partial, path).with_context(|| format!("making {}", path.display()))
    }
}

/// `target/bench-data`: this program lies in `target/release` or the like.
fn default_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program")?;
    let target = program.ancestors().nth(2).context("this program lies in no build folder")?;
    Ok(target.join("bench-data"))
}

/// Reads a file once, so that the page cache holds it.
fn warm(path: &Path) -> Result<()> {
    let copy = || io::copy(&mut File::open(path)?, &mut io::sink());
    copy().with_context(|| format!("reading {}", path.display())).map(drop)
}

/// Reads a whole file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.with_context(|| format!("reading {}", path.display()))?;
    Ok(bytes)
}

/// Passes on what follows the comment lines at the front.
struct WithoutComments<'a> {
    file: &'a mut BufWriter<File>,
    /// Whether all comments have passed.
    inside: bool,
}

impl Write for WithoutComments<'_> {
    /// Takes it that comments come whole, in the first write, as they do from welter.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !self.inside && rest.first() == Some(&b'#') {
            let end = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
            rest = &rest[end..];
        }
        self.inside |= !rest.is_empty();
        self.file.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
