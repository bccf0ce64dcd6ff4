//! The kind of a source, from its first bytes and its name: the layers around its bytes, and the
//! format under them.
//!
//! ```text
//! edges.csv.tar.gz:  1f 8b ─► gzip, then a header with its checksum ─► tar, then its file's name
//!                    and first bytes ─► text, in UTF-16 by its mark
//! ```
//!
//! Layers are peeled as long as first bytes show one. Brotli has no magic bytes and is known by its
//! ending alone. Damage is for the reader to find, but what is surely an archive or a compression
//! that is not read is named here.

use std::io::Cursor;
use std::path::Path;

use encoding_rs::UTF_8;

use crate::beginnings;
use crate::error::InputError;
use crate::foreign;
use crate::format::Format;
use crate::options::Limits;
use crate::source::stored::StoredBytes;
use crate::unpack::{Layer, Unpacked, encoding, tar, zip};

/// Bytes of a pipe that are looked at, and kept as its sample.
pub(super) const PIPE_HEAD_BYTES: u64 = 256 << 10;
/// Bytes of a pipe whose compression gives nothing before a block of 900 kB is there.
const BLOCK_HEAD_BYTES: u64 = 1200 << 10;

/// Layers of compression and archives around a file: more are a mistake or an attack.
const LAYERS_MAX: usize = 4;

/// Beginnings of compressed bytes and archives.
const MAGIC: &[(&[u8], Layer)] = &[
    (&[0x1f, 0x8b, 0x08], Layer::Gzip),
    (&[0x28, 0xb5, 0x2f, 0xfd], Layer::Zstd),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], Layer::Xz),
    (&[0x04, 0x22, 0x4d, 0x18], Layer::Lz4),
    (&[0xff, 0x06, 0, 0, b's', b'N', b'a', b'P', b'p', b'Y'], Layer::Snappy),
];

/// Bytes behind `BZh` and a digit: a block, or the end of nothing.
const BZIP2_BLOCKS: [&[u8]; 2] =
    [&[0x31, 0x41, 0x59, 0x26, 0x53, 0x59], &[0x17, 0x72, 0x45, 0x38, 0x50, 0x90]];

/// Endings under which the name of a format is looked for.
pub(crate) const PACKED: &[&str] =
    &["gz", "zst", "zstd", "bz2", "xz", "lz4", "sz", "snappy", "br", "zip", "tar"];

/// Endings that stand for two.
const TARRED: &[&str] = &["tgz", "tbz", "tbz2", "txz", "tzst"];

/// Archives and compressions that are not read: how they begin, and what they are.
const REFUSED: &[(&[u8], &str, &str)] = &[
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it: `7z x`"),
    (b"Rar!\x1a\x07", "a RAR archive", "unpack it: `unrar x`"),
    (b"LZIP", "lzip data", "unpack it: `lzip -d`"),
    (b"\x89LZO\0\r\n\x1a\n", "LZO data", "unpack it: `lzop -d`"),
    (b"\x02\x21\x4c\x18", "LZ4 data of the old kind", "unpack it: `lz4 -d`"),
    (b"\x1f\x9d\x90", "data of compress (.Z)", "unpack it: `gzip -d`"),
    (b"\x5d\0\0\x80\0\xff\xff\xff\xff", "LZMA data", "unpack it: `xz -d`"),
    (b"PK\x05\x06", "a zip archive that holds nothing", "look where it came from"),
];

/// Facts of a source that a look at its beginning shows.
pub(super) struct Layered {
    pub(super) layers: Vec<Layer>,
    pub(super) format: Format,
}

/// Bytes that are stored.
pub(super) struct Stored<'a> {
    pub(super) head: &'a [u8],
    /// The whole, and how many bytes it has; `None` for a pipe.
    pub(super) file: Option<(&'a StoredBytes, u64)>,
}

/// Number of the first bytes that are looked at, where they are packed: nothing is known of a block
/// before all of it is there.
pub(super) fn wanted(head: &[u8], path: &Path) -> Option<u64> {
    match packing(head, &name_of(path))? {
        Layer::Bzip2 => Some(BLOCK_HEAD_BYTES),
        _ => Some(PIPE_HEAD_BYTES),
    }
}

/// Finds out what a source is. `stated`: what the user says it is.
pub(super) fn peel_layers(
    shown: &str,
    path: &Path,
    stored: &Stored<'_>,
    stated: Option<Format>,
) -> Result<Layered, InputError> {
    let mut peeled = Peeled { shown, layers: Vec::new(), name: name_of(path), begin: Vec::new() };
    let bytes = stored.head;
    peeled.begin = bytes[..bytes.len().min(beginnings::HEAD_BYTES)].to_vec();
    let mut bytes = bytes.to_vec();
    while let Some(layer) = packing(&peeled.begin, &peeled.name) {
        peeled.peel(layer, stored, &mut bytes)?;
        if peeled.layers.len() > LAYERS_MAX {
            let what = format!("expected at most {LAYERS_MAX} archives inside one another");
            return Err(InputError::content(shown, what));
        }
    }
    peeled.refuse(stated)?;
    let known = |peeled: &Peeled<'_>| match stated {
        None => beginnings::guess(shown, &peeled.begin, by_name(&peeled.name)),
        stated => Ok(stated),
    };
    let first = known(&peeled)?;
    if first.is_none_or(Format::is_text) {
        peeled.decode(first, &bytes);
    }
    let format = match known(&peeled)? {
        Some(format) if stated.is_some() || !format.is_text() => format,
        format => peeled.text(format.unwrap_or(Format::Text))?,
    };
    // The reader of rows knows such lines itself.
    let read_otherwise = format.is_text() && format != Format::Text;
    if read_otherwise && encoding::has_returns(&peeled.begin) {
        peeled.layers.push(Layer::Returns);
    }
    Ok(Layered { layers: peeled.layers, format })
}

/// A source while its layers are found.
struct Peeled<'a> {
    shown: &'a str,
    layers: Vec<Layer>,
    /// The name of what is inside, in lower case.
    name: String,
    /// The first bytes of what is inside.
    begin: Vec<u8>,
}

impl Peeled<'_> {
    /// Takes a layer off. `bytes`: the first stored bytes under all layers.
    fn peel(
        &mut self,
        mut layer: Layer,
        stored: &Stored<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), InputError> {
        let stem = stem(&self.name).to_owned();
        self.name = match &mut layer {
            Layer::Tar => tar::name(&self.begin).unwrap_or(stem),
            Layer::Zip(member) => {
                foreign::check(self.shown, &self.begin)?;
                let name;
                (*member, name) = self.member(stored)?;
                // The bytes that are looked at are the data of the one file.
                *bytes = vec![0; member.packed.min(PIPE_HEAD_BYTES) as usize];
                if let Some((file, _)) = stored.file {
                    let read = file.read_exact_at(bytes, member.start);
                    read.map_err(|error| InputError::io(self.shown, "read", error))?;
                }
                name
            }
            _ => stem,
        };
        self.name.make_ascii_lowercase();
        self.layers.push(layer);
        self.begin = begin(self.shown, &self.layers, bytes);
        Ok(())
    }

    /// The one file of a zip archive.
    fn member(&self, stored: &Stored<'_>) -> Result<(zip::Member, String), InputError> {
        let Some((file, bytes)) = stored.file.filter(|_| self.layers.is_empty()) else {
            let what = "a zip archive says at its end what it holds, and cannot be read from a \
                        pipe or from another archive; name the file, or unpack it (`unzip -p`)";
            return Err(InputError::content(self.shown, what));
        };
        zip::only(file, bytes).map_err(|error| {
            if error.raw_os_error().is_some() || welter_objects::fault(&error).is_some() {
                return InputError::io(self.shown, "read", error);
            }
            if error.kind() == std::io::ErrorKind::UnexpectedEof {
                return InputError::content(self.shown, "the zip archive is cut off");
            }
            InputError::content(self.shown, error.to_string())
        })
    }

    /// Refuses what is packed in a way that is not read.
    fn refuse(&self, stated: Option<Format>) -> Result<(), InputError> {
        let begins = |(magic, ..): &&(&[u8], _, _)| self.begin.starts_with(magic);
        match REFUSED.iter().find(begins).filter(|_| stated.is_none()) {
            Some((_, what, way)) => {
                let what = format!("expected edges, found {what}, which is not read ({way})");
                Err(InputError::content(self.shown, what))
            }
            None => Ok(()),
        }
    }

    /// Takes off the encoding of text.
    fn decode(&mut self, format: Option<Format>, bytes: &[u8]) {
        // A mark before rows costs nothing where their reader passes over it.
        let rows = format.is_none_or(|format| format == Format::Text);
        let other = encoding::of(&self.begin).filter(|found| !(rows && *found == UTF_8));
        if let Some(encoding) = other {
            self.layers.push(Layer::Encoded(encoding));
            self.begin = begin(self.shown, &self.layers, bytes);
        }
    }

    /// A format of text, unless this is none.
    fn text(&self, format: Format) -> Result<Format, InputError> {
        if memchr::memchr(0, &self.begin).is_none() {
            return Ok(format);
        }
        let what = match encoding::unmarked(&self.begin) {
            Some(encoding) => format!(
                "expected a known format, found what looks like {encoding} without a mark; convert \
                 it: `iconv -f {encoding} -t UTF-8`"
            ),
            None => "expected a known format, found binary data; say which format".to_owned(),
        };
        Err(InputError::content(self.shown, what))
    }
}

/// The layer that first bytes, or else a name, show.
fn packing(head: &[u8], name: &str) -> Option<Layer> {
    if let Some((_, layer)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(*layer);
    }
    match head {
        // A skippable frame may come before the first of zstd.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Layer::Zstd),
        [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
            if BZIP2_BLOCKS.iter().any(|block| rest.starts_with(block)) =>
        {
            Some(Layer::Bzip2)
        }
        _ if head.starts_with(zip::MAGIC) => Some(Layer::Zip(zip::Member::default())),
        _ if tar::begins(head) => Some(Layer::Tar),
        _ if extension(name) == Some("br") => Some(Layer::Brotli),
        _ => None,
    }
}

/// The first bytes of what is inside, as far as the first stored bytes reach.
fn begin(shown: &str, layers: &[Layer], bytes: &[u8]) -> Vec<u8> {
    let mut begin = vec![0; beginnings::HEAD_BYTES];
    let mut filled = 0;
    let stored = Box::new(Cursor::new(bytes.to_vec()));
    if let Ok(mut unpacked) = Unpacked::new(shown, layers, stored, &Limits::default()) {
        while let Ok(count @ 1..) = unpacked.read(&mut begin[filled..]) {
            filled += count;
        }
    }
    begin.truncate(filled);
    begin
}

/// The last part of a path, in lower case.
fn name_of(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    name.unwrap_or_default()
}

/// Whether the ending of a path says that it is a file of edges: that of a format, or of what
/// packs one.
pub fn says_format(path: &Path) -> bool {
    let name = name_of(path);
    let packs = |ending| PACKED.contains(&ending) || TARRED.contains(&ending);
    by_name(&name).is_some() || extension(&name).is_some_and(packs)
}

/// The format by the ending, under those of compressions and archives.
fn by_name(name: &str) -> Option<Format> {
    let mut name = name;
    while extension(name).is_some_and(|ending| PACKED.contains(&ending)) {
        name = stem(name);
    }
    Format::by_extension(extension(name)?)
}

/// A name without its last ending; `e.tgz` stands for `e.tar.gz`.
fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if PACKED.contains(&ending) || TARRED.contains(&ending) => stem,
        _ => name,
    }
}

fn extension(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    (!stem.is_empty()).then_some(ending)
}
