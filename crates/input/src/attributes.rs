//! Attributes of vertices: a second table, keyed by the ids of the graph.
//!
//! A row is an id and a value. That is read as an edge list whose source and target are the same
//! column and whose weight is the value, so every kind of table that holds edges also holds
//! attributes, and what is wrong with a file is said in the same words. [`listed`] reads ids alone,
//! such as those of sources.
//!
//! Invariant: a value goes to the vertex whose id its row names, or nowhere and is counted; no
//! vertex gets a value that was not stated. Tested by
//! `values_go_to_the_vertices_that_their_rows_name` and
//! `ids_that_are_no_vertices_are_counted_or_refused`.

#[cfg(test)]
mod tests;

use rayon::prelude::*;
use welter_model::ids::IdMap;
use welter_model::table::Id;
use welter_model::two_kinds::{Side, TwoKinds};
use welter_progress::{Progress, Unit};

use crate::collect::{Collector, EdgeRun, Ids};
use crate::error::InputError;
use crate::format::Format;
use crate::layout::Separator;
use crate::options::{IdKind, Limits, ReadOptions, WeightChoice};
use crate::reader::{self, Context};
use crate::readers;
use crate::source::{self, Source};
use crate::tables::{ColumnRef, Frame};
use crate::text::fields::parse_id;

/// Options by which a table of attributes is read. The default takes ids from the first column and
/// values from the second, and wants one for every vertex.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeOptions {
    /// Format; `None` guesses it. Text, Parquet and Arrow are read.
    pub format: Option<Format>,
    /// Separator of the columns of text; `None` guesses it.
    pub separator: Option<Separator>,
    /// Whether the first row of text is a header; `None` guesses it.
    pub header: Option<bool>,
    /// Column of the ids; `None` is the first.
    pub id: Option<ColumnRef>,
    /// Column of the values; `None` is the second.
    pub value: Option<ColumnRef>,
    /// The value of vertices that have no row; `None` makes that an error.
    pub missing: Option<f64>,
    /// Whether a row whose id is no vertex is an error, rather than counted and passed over.
    pub refuse_foreign: bool,
    /// Whether a row of one of many vertices that share a state is an error, rather than passed
    /// over: they have no edges, so most programs need nothing of them.
    pub refuse_shared: bool,
    /// Threads; 0 stands for one a core.
    pub threads: usize,
    /// Limits of what a hostile or broken table may cost.
    pub limits: Limits,
}

/// The vertices that attributes are for.
#[derive(Clone, Copy)]
pub struct Vertices<'a> {
    /// Ids by slot.
    pub ids: &'a IdMap,
    /// Number of slots.
    pub slots: u64,
    /// Slots that are vertices; asked only where `ids` does not say that all are.
    pub is_vertex: &'a (dyn Fn(u32) -> bool + Sync),
}

/// A column of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Attributes {
    /// A value a slot; 0 for slots that are no vertices.
    pub values: Vec<f64>,
    /// Rows of the table.
    pub rows: u64,
    /// Vertices without a row.
    pub missing: u64,
    /// Rows whose id is no vertex.
    pub foreign: u64,
}

/// Where a table of vertices is.
#[derive(Clone, Copy, Debug)]
pub enum Table<'a> {
    /// In files: paths, patterns, or `-` for standard input.
    Files(&'a [String]),
    /// In memory of the caller.
    Frame(&'a Frame),
}

/// Stands for an id that is no vertex.
const FOREIGN: u32 = u32::MAX;

/// Stands for an id that two vertices have.
const AMBIGUOUS: u32 = u32::MAX - 1;

/// Said of such an id.
const EITHER: &str = "a source and a target have this id; say which with source: or target: before \
                      it";

/// Said of an id without a state of its own.
const SHARED: &str = "expected the id of a vertex with edges: of more than 2^32 vertices those \
                      without are not told apart here";

/// Reads one value for each vertex from a table.
///
/// # Errors
/// See [`InputError`]. Also when an id has two rows, and, unless `options` let that pass, when a
/// vertex has none or an id is no vertex.
pub fn attributes(
    table: Table<'_>,
    vertices: &Vertices<'_>,
    options: &AttributeOptions,
    progress: &Progress,
) -> Result<Attributes, InputError> {
    let value = options.value.clone().unwrap_or(ColumnRef::Number(2));
    let rows = read_rows(table, vertices, options, WeightChoice::Column(value), progress)?;
    let mut values = vec![options.missing.unwrap_or(0.0); vertices.slots as usize];
    let mut seen = vec![0_u64; values.len().div_ceil(64)];
    let (mut count, mut foreign) = (0, 0);
    for row @ Row { file, number, slot, value, .. } in rows.iter() {
        count += 1;
        if slot == AMBIGUOUS {
            return Err(wrong_row(file, number, EITHER));
        }
        if slot == FOREIGN {
            foreign += 1;
            if options.refuse_foreign {
                return Err(row.is_foreign());
            }
            continue;
        }
        if vertices.is_shared(slot) {
            if options.refuse_shared {
                return Err(wrong_row(file, number, SHARED));
            }
            continue;
        }
        let (word, bit) = (slot as usize / 64, 1 << (slot % 64));
        if seen[word] & bit != 0 {
            let what = format!("expected one row for each id, found {} again", vertices.show(slot));
            return Err(wrong_row(file, number, what));
        }
        seen[word] |= bit;
        values[slot as usize] = value;
    }
    let unseen = |slot: &u32| seen[*slot as usize / 64] >> (slot % 64) & 1 == 0;
    let wants = |slot: &u32| vertices.has(*slot) && !vertices.is_shared(*slot);
    let mut without = (0..vertices.slots as u32).filter(|slot| unseen(slot) && wants(slot));
    let first = without.next();
    let missing = without.count() as u64 + u64::from(first.is_some());
    if let Some(slot) = first.filter(|_| options.missing.is_none()) {
        let what = format!(
            "expected a value for each vertex, found none for {missing} of them, such as {}; \
             give a value for those",
            vertices.show(slot)
        );
        return Err(InputError::content(&rows.files.join(", "), what));
    }
    if options.missing.is_some() && !vertices.ids.all_present() {
        for slot in (0..vertices.slots as u32).filter(|slot| !vertices.has(*slot)) {
            values[slot as usize] = 0.0;
        }
    }
    Ok(Attributes { values, rows: count, missing, foreign })
}

/// Reads the slots of the vertices that a table lists, in their order; one may come more than once.
/// The column of values is not looked at.
///
/// # Errors
/// See [`InputError`]. Also when an id is no vertex.
pub fn listed(
    table: Table<'_>,
    vertices: &Vertices<'_>,
    options: &AttributeOptions,
    progress: &Progress,
) -> Result<Vec<u32>, InputError> {
    let rows = read_rows(table, vertices, options, WeightChoice::Ignore, progress)?;
    let slot = |row: Row<'_>| match row.slot {
        AMBIGUOUS => Err(wrong_row(row.file, row.number, EITHER)),
        FOREIGN => Err(row.is_foreign()),
        slot if vertices.is_shared(slot) => Err(wrong_row(row.file, row.number, SHARED)),
        slot => Ok(slot),
    };
    rows.iter().map(slot).collect()
}

fn wrong_row(file: &str, row: u64, what: impl Into<String>) -> InputError {
    InputError::Row { file: file.to_owned(), row, what: what.into() }
}

impl Vertices<'_> {
    /// Whether a slot stands for many vertices, which share a state and so cannot have attributes
    /// that matter.
    fn is_shared(&self, slot: u32) -> bool {
        matches!(self.ids, IdMap::NonCompact(ids) if slot as usize == ids.named().len())
    }

    /// Whether a slot is a vertex.
    fn has(&self, slot: u32) -> bool {
        u64::from(slot) < self.slots && (self.ids.all_present() || (self.is_vertex)(slot))
    }

    /// The slot of the vertex with this id.
    ///
    /// # Errors
    /// What is wrong with the id: there is no such vertex, or it has no slot of its own.
    pub fn find(&self, id: &str) -> Result<u32, &'static str> {
        if let IdMap::TwoKinds(ids) = self.ids {
            return of_two_kinds(ids, id);
        }
        let slot = match (self.ids, parse_id(id.as_bytes())) {
            (IdMap::Names(_), _) => self.of_name(id),
            (_, Ok(id)) => self.of_integer(id),
            (_, Err(_)) => FOREIGN,
        };
        match slot {
            FOREIGN => Err("the graph has no vertex of this id"),
            slot if self.is_shared(slot) => Err(SHARED),
            slot => Ok(slot),
        }
    }

    /// The slot of an integer id.
    fn of_integer(&self, id: u64) -> u32 {
        let slot = match self.ids {
            IdMap::Same | IdMap::Declared => Some(id),
            IdMap::Offset(first) => id.checked_sub(*first),
            IdMap::Sparse(ids) => ids.binary_search(&id).ok().map(|slot| slot as u64),
            // Without a slot of its own it is one of the others.
            IdMap::NonCompact(ids) if ids.all().contains(&id) => {
                Some(ids.slot(id).unwrap_or(ids.named().len() as u64))
            }
            IdMap::NonCompact(_) | IdMap::Names(_) | IdMap::TwoKinds(_) => None,
        };
        self.checked(slot)
    }

    /// The slot of a name.
    fn of_name(&self, name: &str) -> u32 {
        if let IdMap::TwoKinds(ids) = self.ids {
            return match of_two_kinds(ids, name) {
                Ok(slot) => slot,
                Err(EITHER) => AMBIGUOUS,
                Err(_) => FOREIGN,
            };
        }
        let IdMap::Names(names) = self.ids else { return FOREIGN };
        let (mut low, mut high) = (0, names.len());
        while low < high {
            let middle = low.midpoint(high);
            if names.get(middle) < name {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.checked((low < names.len() && names.get(low) == name).then_some(low as u64))
    }

    fn checked(&self, slot: Option<u64>) -> u32 {
        let slot = slot.and_then(|slot| u32::try_from(slot).ok()).filter(|slot| self.has(*slot));
        slot.unwrap_or(FOREIGN)
    }

    /// The id of a slot, for messages.
    fn show(&self, slot: u32) -> String {
        match self.ids {
            IdMap::Same | IdMap::Declared => slot.to_string(),
            IdMap::Offset(first) => (first + u64::from(slot)).to_string(),
            IdMap::Sparse(ids) => ids[slot as usize].to_string(),
            IdMap::Names(names) => format!("{:?}", names.get(slot as usize)),
            IdMap::TwoKinds(ids) => match ids.get(slot as usize) {
                Id::Name(name) => format!("{:?}", format!("{}:{name}", ids.side(slot.into()))),
                id => format!("{}:{}", ids.side(slot.into()), id.integer().unwrap_or_default()),
            },
            IdMap::NonCompact(ids) => match ids.named().get(slot as usize) {
                Some(id) => id.to_string(),
                None => format!("one of {} without edges", ids.others()),
            },
        }
    }
}

/// The slot of an id of one of two kinds, with `source:` or `target:` before it where both have
/// it.
fn of_two_kinds(ids: &TwoKinds, id: &str) -> Result<u32, &'static str> {
    let mut found = [Side::Source, Side::Target].map(|side| ids.find(side, id)).to_vec();
    if let Some((side, rest)) = id.split_once(':')
        && let Ok(side) = side.parse()
    {
        found.push(ids.find(side, rest));
    }
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (None, _) => Err("the graph has no vertex of this id"),
        (Some(slot), None) => Ok(slot as u32),
        (Some(_), Some(_)) => Err(EITHER),
    }
}

/// Rows of all tables, in order.
struct Rows {
    files: Vec<String>,
    parts: Vec<RowPart>,
}

/// Run of rows of one table.
struct RowPart {
    source: usize,
    slots: Vec<u32>,
    /// Empty where none are read.
    values: Vec<f64>,
    /// The first id that is no vertex, if there is one.
    foreign: Option<String>,
}

/// A row.
struct Row<'a> {
    file: &'a str,
    /// In its file, counted from 1.
    number: u64,
    slot: u32,
    value: f64,
    /// The first id of its part that is no vertex.
    foreign: Option<&'a str>,
}

impl Row<'_> {
    /// Refuses the first row whose id is no vertex.
    fn is_foreign(&self) -> InputError {
        let id = self.foreign.unwrap_or("another");
        let what = format!("expected the id of a vertex, found {id}, which the graph has not");
        wrong_row(self.file, self.number, what)
    }
}

impl Rows {
    fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut before = vec![0; self.files.len()];
        self.parts.iter().flat_map(move |part| {
            let first = before[part.source] + 1;
            before[part.source] += part.slots.len() as u64;
            (first..).zip(&part.slots).enumerate().map(|(place, (number, slot))| Row {
                file: &self.files[part.source],
                number,
                slot: *slot,
                value: part.values.get(place).copied().unwrap_or(0.0),
                foreign: part.foreign.as_deref(),
            })
        })
    }
}

/// Reads tables and finds the slots of their ids.
fn read_rows(
    table: Table<'_>,
    vertices: &Vertices<'_>,
    options: &AttributeOptions,
    weight: WeightChoice,
    progress: &Progress,
) -> Result<Rows, InputError> {
    let id = options.id.clone().unwrap_or(ColumnRef::Number(1));
    let options = ReadOptions {
        format: options.format,
        separator: options.separator,
        header: options.header,
        source: Some(id.clone()),
        target: Some(id),
        weight,
        ids: match vertices.ids {
            // The side may stand before an integer.
            IdMap::Names(_) | IdMap::TwoKinds(_) => IdKind::Names,
            _ => IdKind::Integers,
        },
        guessed_ids: true,
        threads: options.threads,
        limits: options.limits,
        ..ReadOptions::default()
    };
    let pool = reader::pool(options.thread_count())?;
    let collector = Collector::new(options.limits.memory_bytes_max);
    match table {
        Table::Files(inputs) => {
            let two_kinds = matches!(vertices.ids, IdMap::TwoKinds(_));
            read_files((inputs, two_kinds), (&options, &pool), &collector, progress)?;
        }
        Table::Frame(table) => {
            let phase = progress.phase("attributes", Unit::Edges, None);
            let context = Context { options: &options, progress, phase: &phase, pool: &pool };
            table.collect(&context, &collector)?;
        }
    }
    let gathered = collector.gathered();
    let found =
        |EdgeRun { ids, weights }: EdgeRun| (slots(vertices, ids), weights.unwrap_or_default());
    let parts = gathered.parts.into_iter().map(|placed| {
        let ((slots, foreign), values) = pool.install(|| found(placed.part));
        RowPart { source: placed.source, slots, values, foreign }
    });
    Ok(Rows { parts: parts.collect(), files: gathered.files })
}

/// Hands the rows of files over.
fn read_files(
    (inputs, two_kinds): (&[String], bool),
    (options, pool): (&ReadOptions, &rayon::ThreadPool),
    collector: &Collector,
    progress: &Progress,
) -> Result<(), InputError> {
    let sources = crate::opening::open(&source::names(inputs)?, options)?;
    let bytes = sources.iter().map(Source::bytes).sum::<Option<u64>>();
    let phase = progress.phase("attributes", Unit::Bytes, bytes);
    let context = Context { options, progress, phase: &phase, pool };
    // In a list of vertices of two kinds, `source:7` above integers is no header.
    let bare = &ReadOptions { header: options.header.or(Some(false)), ..options.clone() };
    for source in &sources {
        if !matches!(source.format(), Format::Text | Format::Parquet | Format::Arrow) {
            let what =
                format!("expected a table (text, Parquet, Arrow), found {}", source.format());
            return Err(InputError::content(source.name(), what));
        }
        let listed = options.weight == WeightChoice::Ignore && source.format() == Format::Text;
        let options = if two_kinds && listed { bare } else { options };
        collector.begin(source.name());
        readers::of(source).read(source, &Context { options, ..context }, collector)?;
    }
    Ok(())
}

/// The slots of the ids of a part, and the first id that has none.
fn slots(vertices: &Vertices<'_>, ids: Ids) -> (Vec<u32>, Option<String>) {
    let foreign = |slots: &[u32]| slots.iter().position(|slot| *slot == FOREIGN);
    match ids {
        Ids::Narrow { pairs, .. } => {
            let slots: Vec<u32> =
                pairs.par_iter().map(|[id, _]| vertices.of_integer((*id).into())).collect();
            let first = foreign(&slots).map(|row| pairs[row][0].to_string());
            (slots, first)
        }
        Ids::Wide { pairs, .. } => {
            let slots: Vec<u32> =
                pairs.par_iter().map(|[id, _]| vertices.of_integer(*id)).collect();
            let first = foreign(&slots).map(|row| pairs[row][0].to_string());
            (slots, first)
        }
        Ids::Names { names, pairs } => {
            let known: Vec<u32> = names.iter().map(|name| vertices.of_name(name)).collect();
            let slots: Vec<u32> = pairs.iter().map(|[place, _]| known[*place as usize]).collect();
            let name = |row: usize| format!("{:?}", names.get(pairs[row][0] as usize));
            let first = foreign(&slots).map(name);
            (slots, first)
        }
    }
}
