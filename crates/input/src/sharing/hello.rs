//! A look at the inputs before a share is read: which share that is, and a number by which all
//! machines see whether they have come to one answer.

use std::path::PathBuf;

use super::deal::{Dealt, share};
use crate::error::InputError;
use crate::format::Format;
use crate::opening::{open, with_id_kind};
use crate::options::{Limits, ReadOptions};
use crate::reader::Context;
use crate::readers;
use crate::source::Source;
use crate::source::stored::Whereabouts;

/// Places of a file that are looked at, to tell copies apart.
const LOOKS: u64 = 64;

/// Bytes that are looked at there. Small files are looked at as a whole.
const LOOK_BYTES: usize = 4 << 10;

/// Inputs that are opened, and the share of a member.
pub(super) struct Prepared {
    /// All inputs; those that are cut are limited to the share.
    pub(super) sources: Vec<Source>,
    /// Inputs that the member reads.
    pub(super) own: Vec<bool>,
    /// Options, with the kind of ids settled.
    pub(super) options: ReadOptions,
    /// Note for a person about that kind.
    pub(super) note: Option<String>,
    /// Number of inputs, options and shares: not 0.
    pub(super) digest: u64,
}

impl Prepared {
    /// Opens inputs and deals them out. None where they are not read in shares.
    pub(super) fn of(
        inputs: &[PathBuf],
        context: &Context<'_>,
        (me, shares): (usize, usize),
    ) -> Result<Option<Self>, InputError> {
        let options = context.options;
        if !options.vertex_tables.is_empty() || options.two_kinds == Some(true) {
            return Ok(None);
        }
        let mut sources = open(inputs, options)?;
        let lies = |it: &Source| matches!(it.format(), Format::Raw(_) | Format::Graph500);
        if sources.iter().all(lies) || sources.iter().any(|source| source.bytes().is_none()) {
            return Ok(None);
        }
        let tables = options.vertex_tables.open()?;
        let (options, note) = with_id_kind(&sources, &tables, context)?;
        let settled = Context { options: &options, ..*context };
        let mut dealt = Vec::new();
        for source in &sources {
            let is_cut = readers::of(source).can_be_cut(source, &settled)?;
            dealt.push(Dealt { bytes: source.bytes().unwrap_or(0), is_cut });
        }
        let mut digest = Digest::new();
        digest.add(format!("{} {shares} {dealt:?}", env!("CARGO_PKG_VERSION")).as_bytes());
        digest.add(words(&options).as_bytes());
        for source in &sources {
            digest.add(format!("{} {:?}", source.name(), source.format()).as_bytes());
            look(source, &mut digest)?;
        }
        let mut own = vec![false; sources.len()];
        if me < shares {
            for (input, range) in share(&dealt, (me, shares)) {
                own[input] = true;
                if let Some(range) = range {
                    sources[input].limit_to(range);
                }
            }
        }
        let digest = digest.0.max(1);
        Ok(Some(Self { sources, own, options, note, digest }))
    }

    /// Names of all inputs.
    pub(super) fn files(&self) -> Vec<String> {
        self.sources.iter().map(|source| source.name().to_owned()).collect()
    }
}

/// Options that say what is read, and not with which means.
fn words(options: &ReadOptions) -> String {
    let what = ReadOptions {
        threads: 0,
        limits: Limits::default(),
        scratch: Vec::new(),
        ..options.clone()
    };
    format!("{what:?}")
}

/// Looks at some places of a file that this machine has, and at the first bytes of an object.
fn look(source: &Source, digest: &mut Digest) -> Result<(), InputError> {
    digest.add(source.head());
    let (Whereabouts::File(_), Some(bytes)) = (source.whereabouts(), source.bytes()) else {
        return Ok(());
    };
    let unread = |error| InputError::io(source.name(), "read", error);
    let file = source.whereabouts().open().map_err(unread)?;
    let mut buffer = vec![0; LOOK_BYTES];
    for place in 0..LOOKS.min(bytes.div_ceil(LOOK_BYTES as u64)) {
        let last = bytes.saturating_sub(LOOK_BYTES as u64);
        let at = (u128::from(last) * u128::from(place) / u128::from(LOOKS - 1)) as u64;
        let at = if bytes <= LOOKS * LOOK_BYTES as u64 { place * LOOK_BYTES as u64 } else { at };
        let mut filled = 0;
        while filled < buffer.len() {
            match file.read_at(&mut buffer[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unread(error)),
            }
        }
        digest.add(&buffer[..filled]);
    }
    Ok(())
}

/// A number of bytes (FNV-1a), the same on all machines.
struct Digest(u64);

impl Digest {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        // With their length, so that no two lists of texts are one.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
