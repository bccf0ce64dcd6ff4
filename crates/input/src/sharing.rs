//! Reading by several machines, each of which parses a share of the bytes ([`deal`]) and has its
//! edges, with the numbers that one machine would give their ends.
//!
//! ```text
//! hello    do all have the same inputs and options, and can these be read so?   or each reads all
//! read     each its share, as one machine reads all                             a Collector each
//! facts    of all parts, vertices that are stated, notes     all -> all         one mapping of ids
//! numbers  marks of nearly dense integers; a sort by ranges of others           ids::merging
//! ```
//!
//! A member may have no share, such as a process that writes results, and have all ids.
//!
//! A machine that comes later finds no other to ask: [`read_alone`] reads all shares by itself, a
//! thread each, and keeps one.
//!
//! Not read so are tables of vertices, sources and targets of two kinds, records that are read as
//! they lie, and pipes.
//!
//! Invariant: the edges of all shares, one after the other, are those that [`crate::read`] gives,
//! with the same numbers. Tested by `shares_are_numbered_as_all_are`. Of several errors the first
//! in input order is that of all. Checked in `together`, in the order of shares. Tested by
//! `the_first_error_in_input_order_is_that_of_all`.

mod deal;
mod facts;
mod hello;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use welter_model::edges::{EdgeStream, StreamError};
use welter_model::ids::IdMap;
use welter_progress::{Phase, Progress, Unit};

use self::facts::{Facts, columns_of, summary};
use self::hello::Prepared;
use crate::collect::{CollectedParts, Collector, agreed};
use crate::error::InputError;
use crate::exchange::{Channels, Exchange, gather};
use crate::ids::Finished;
use crate::ids::merging::{self, Request};
use crate::ids::shared::{self, PartFacts, SharedMapping};
use crate::options::ReadOptions;
use crate::reader::{Context, pool};
use crate::readers;
use crate::reading;
use crate::source::Source;

/// Edges of a machine, which has read a share of an input.
pub struct SharedInput {
    /// Its edges, in input order. Their ends are slots of [`SharedIds::Bitmap`], or places of
    /// [`Self::numbers`], or vertices.
    pub edges: Box<dyn EdgeStream>,
    /// Number of the vertex at each place that its edges name, where these are places.
    pub numbers: Option<Vec<u32>>,
    /// Vertices of all machines.
    pub ids: SharedIds,
    /// Edges of all machines.
    pub count: u64,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether each edge stands for both directions: what the user said, else what formats say.
    pub undirected: Option<bool>,
    /// Notes for a person about how files were read, a sentence each.
    pub notes: Vec<String>,
    /// Bytes that each member has read, as they are stored.
    pub bytes: Vec<u64>,
    /// Number of what all machines have found in the inputs before they read them, which is
    /// another one where a copy has other contents, as far as a look at some of it shows.
    pub contents: u64,
}

/// Vertices of edges that are on several machines.
#[derive(Debug)]
pub enum SharedIds {
    /// Slots are ids, and those with edges are marked: a bit each, of all machines.
    Bitmap(Vec<u64>),
    /// All slots are vertices, this many, and lead back to ids so.
    Stated(IdMap, u64),
    /// Vertices are numbered in the order of their ids, which are here where they are wanted.
    Numbered(Option<IdMap>, u64),
}

/// Part of a member of an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    /// Number of shares: members of smaller numbers read the one of their number.
    pub shares: usize,
    /// Whether it wants all ids.
    pub wants_ids: bool,
}

/// Reads a share of inputs, together with others. None, on all of them alike, where these inputs
/// are not read so: each reads all then.
///
/// # Errors
/// The first one in the order of inputs, on all machines; [`InputError::Lost`] when a machine is
/// out of reach, after which each reads all.
pub fn read_shared(
    inputs: &[PathBuf],
    options: &ReadOptions,
    progress: &Progress,
    exchange: &mut dyn Exchange,
    role: Role,
) -> Result<Option<SharedInput>, InputError> {
    let pool = pool(options.thread_count())?;
    let phase = progress.phase("read", Unit::Bytes, None);
    let context = Context { options, progress, phase: &phase, pool: &pool };
    let prepared = Prepared::of(inputs, &context, (exchange.me(), role.shares));
    // Its failure is that of the reader of all, which is asked then.
    let prepared = prepared.unwrap_or_default();
    let digest = prepared.as_ref().map_or(0, |prepared| prepared.digest);
    let words = [digest, u64::from(role.wants_ids)].map(u64::to_le_bytes).concat();
    let hellos = gather(exchange, Ok(words.clone()))?;
    let is_alike = hellos.iter().all(|other| other[..8.min(other.len())] == words[..8]);
    let Some(prepared) = prepared.filter(|_| is_alike && digest != 0) else { return Ok(None) };
    let wanted: Vec<bool> = hellos.iter().map(|hello| hello.get(8) == Some(&1)).collect();
    let context = Context { options: &prepared.options, ..context };
    let member = Sharing { prepared: &prepared, context, role, wanted: &wanted };
    member.read(&phase, exchange)
}

/// Reads all shares of inputs by itself, and has the one of a number, as [`read_shared`] gives it
/// to a member that others exchange bytes with. None where they are not read so.
///
/// # Errors
/// As of [`read_shared`].
pub fn read_alone(
    inputs: &[PathBuf],
    options: &ReadOptions,
    progress: &Progress,
    (number, role): (usize, Role),
) -> Result<Option<SharedInput>, InputError> {
    let mut one = options.clone();
    let shares = role.shares.max(1);
    one.threads = (options.thread_count() / shares).max(1);
    let part = |bytes: Option<u64>| bytes.map(|bytes| bytes / shares as u64);
    one.limits.memory_bytes_max = part(one.limits.memory_bytes_max);
    one.limits.object_bytes_max = part(one.limits.object_bytes_max);
    let read = |mut member: Channels| {
        let wants_ids = role.wants_ids && member.me() == number;
        let role = Role { wants_ids, ..role };
        let read = read_shared(inputs, &one, progress, &mut member, role);
        // Edges of others go at once.
        read.map(|read| read.filter(|_| member.me() == number))
    };
    let read = &read;
    let found: Vec<_> = std::thread::scope(|scope| {
        let members = Channels::of(shares).into_iter();
        let threads: Vec<_> = members.map(|it| scope.spawn(move || read(it))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let ended = || InputError::Lost { what: "its thread has ended".to_owned() };
    let own = found.into_iter().nth(number).ok_or_else(ended)?;
    own.map_err(|_| ended())?
}

/// A member that reads its share.
struct Sharing<'a> {
    prepared: &'a Prepared,
    context: Context<'a>,
    role: Role,
    /// Members that want all ids.
    wanted: &'a [bool],
}

/// Facts of all machines, put together.
struct AllFacts {
    parts: Vec<PartFacts>,
    way: SharedMapping,
    undirected: Option<bool>,
    notes: Vec<String>,
    bytes: Vec<u64>,
}

impl Sharing<'_> {
    fn read(
        &self,
        phase: &Phase,
        exchange: &mut dyn Exchange,
    ) -> Result<Option<SharedInput>, InputError> {
        let (parts, facts) = match self.collect() {
            Ok((parts, facts)) => {
                let facts = Facts { bytes: phase.done(), ..facts };
                (Some(parts), Ok(facts.encode()))
            }
            Err(error) => (None, Err(error)),
        };
        let all = gather(exchange, facts)?;
        let all = all.iter().map(|facts| Facts::decode(facts));
        let all = all.collect::<Result<Vec<Facts>, InputError>>()?;
        let told = match self.told(all) {
            // All machines come to this answer, by the same facts.
            Ok(None) => return Ok(None),
            Ok(Some(told)) => Ok(told),
            Err(error) => Err(error),
        };
        let Some(parts) = parts else { return Ok(None) };
        self.numbered(parts, told, exchange).map(Some)
    }

    /// Reads the share of this member.
    fn collect(&self) -> Result<(CollectedParts, Facts), InputError> {
        let Self { prepared, context, .. } = self;
        let ReadOptions { limits, scratch, two_kinds, .. } = context.options;
        let memory_bytes_max = limits.memory_bytes_max;
        let collector = Collector::with_scratch(memory_bytes_max, scratch, &Progress::new())
            .with_two_kinds(*two_kinds);
        for (source, is_own) in prepared.sources.iter().zip(&prepared.own) {
            collector.begin(source.name());
            if *is_own {
                source.stop_with(context.progress);
                collector.describe(|file| *file = source.summary());
                readers::of(source).read(source, context, &collector)?;
            }
        }
        let mut witnesses = prepared.sources.iter().filter_map(Source::witness);
        witnesses.try_for_each(|witness| witness.check())?;
        let facts = Facts {
            two_kinds: collector.any_two_kinds(),
            directions: collector.directions(),
            notes: collector.notes(),
            columns: collector.readings().iter().map(columns_of).collect(),
            ..Facts::default()
        };
        let mut parts = collector.gathered();
        let stated = std::mem::take(&mut parts.stated);
        let facts = Facts { parts: parts.facts(context.pool), stated, ..facts };
        Ok((parts, facts))
    }

    /// Puts the facts of all members together. None where they are not enough.
    fn told(&self, all: Vec<Facts>) -> Result<Option<AllFacts>, InputError> {
        let Self { prepared, context, .. } = self;
        let files = prepared.files();
        if all.iter().any(|facts| facts.two_kinds) {
            return Ok(None);
        }
        if context.options.source.is_none() || context.options.target.is_none() {
            let columns = |file: usize| {
                all.iter().find_map(|facts| facts.columns.get(file).cloned().flatten())
            };
            let mut readings = Vec::new();
            for (file, name) in files.iter().enumerate() {
                readings.push(summary(name, columns(file)));
                reading::agreed(&readings)?;
            }
        }
        let directions = all.iter().flat_map(|facts| &facts.directions);
        let directions = directions
            .map(|(source, undirected)| (files.get(*source).map_or("", |it| &it[..]), *undirected));
        let undirected = match context.options.undirected {
            None => agreed(directions)?,
            stated => stated,
        };
        let (mut parts, mut stated, mut notes, mut bytes) = (vec![], vec![], vec![], vec![]);
        for facts in all {
            parts.extend(facts.parts);
            stated.extend(facts.stated);
            bytes.push(facts.bytes);
            // Several machines may have read of one file.
            let new = facts.notes.into_iter().filter(|note| !notes.contains(note));
            let new: Vec<String> = new.collect();
            notes.extend(new);
        }
        let allowed = context.options.limits.memory_bytes_max;
        let vertices = context.options.vertices;
        let way = shared::choose(&parts, stated, vertices, (&files[..], allowed))?;
        notes.extend(prepared.note.clone());
        Ok(way.map(|way| AllFacts { parts, way, undirected, notes, bytes }))
    }

    /// Finds the numbers of the ids of a share.
    fn numbered(
        &self,
        parts: CollectedParts,
        told: Result<AllFacts, InputError>,
        exchange: &mut dyn Exchange,
    ) -> Result<SharedInput, InputError> {
        let (me, owners) = (exchange.me(), self.role.shares);
        let mapped = told.and_then(|told| {
            let of = (&told.way, me == 0);
            let mapped = parts.mapped(of, self.context.pool, self.context.progress)?;
            let is_marked = matches!(told.way, SharedMapping::Kept { ids: IdMap::Same, .. });
            let own = if is_marked { Some(marks(&*mapped.edges)?) } else { None };
            Ok((told, mapped, own))
        });
        // In this round others learn of one that has failed until now.
        let (mapped, said) = match mapped {
            Ok(mapped) => (Some(mapped), Ok(Vec::new())),
            Err(error) => (None, Err(error)),
        };
        gather(exchange, said)?;
        let Some((told, Finished { edges, ids, .. }, own)) = mapped else {
            return Err(InputError::Cancelled);
        };
        let max = told.parts.iter().map(|part| part.max).max().unwrap_or(0);
        let files = self.prepared.files().join(", ");
        let (numbers, ids) = match (told.way, own) {
            (SharedMapping::Kept { .. }, Some(own)) => {
                let words = (max / 64 + 1) as usize;
                (None, SharedIds::Bitmap(merging::marks(&own, (words, owners), exchange)?))
            }
            (SharedMapping::Kept { slots, .. }, None) => (None, SharedIds::Stated(ids, slots)),
            (SharedMapping::Integers(_) | SharedMapping::Names(_), _) => {
                let allowed = self.context.options.limits.memory_bytes_max;
                let request = Request {
                    owners,
                    wanted: self.wanted,
                    allowed_bytes: allowed.unwrap_or(u64::MAX),
                    files: &files,
                };
                let merged = merging::of(&ids, request, exchange)?;
                (Some(merged.numbers), SharedIds::Numbered(merged.all, merged.count))
            }
        };
        Ok(SharedInput {
            edges,
            numbers,
            ids,
            count: told.parts.iter().map(|part| part.edges).sum(),
            weighted: told.parts.first().is_some_and(|part| part.weighted),
            undirected: told.undirected,
            notes: told.notes,
            bytes: told.bytes,
            contents: self.prepared.digest,
        })
    }
}

/// The slots that edges name, a bit each.
fn marks(edges: &dyn EdgeStream) -> Result<Vec<u64>, InputError> {
    let mut words: Vec<u64> = Vec::new();
    for part in 0..edges.parts() {
        let read = edges.read(part, &mut |batch| {
            for &slot in batch.pairs.iter().flatten() {
                let word = slot as usize / 64;
                if word >= words.len() {
                    words.resize((word + 1).next_power_of_two(), 0);
                }
                words[word] |= 1 << (slot % 64);
            }
            true
        });
        read.map_err(unread)?;
    }
    let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    words.truncate(used);
    Ok(words)
}

/// The error of a reader that is read again.
fn unread(error: StreamError) -> InputError {
    match error.downcast::<InputError>() {
        Ok(error) => *error,
        Err(error) => InputError::Inputs { what: error.to_string() },
    }
}
