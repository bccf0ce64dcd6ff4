//! Tables of vertices beside the edges: a row a vertex, so that those without edges exist too,
//! whatever ids are.
//!
//! A table is read as [`attributes`](crate::attributes) are: as an edge list whose source and
//! target are the column of the ids. So every kind of table that holds edges also holds vertices.
//!
//! Invariant: all vertices of the tables are vertices of the graph, and so are the ends of edges
//! that are in none of them; how many these are is said. Tested by
//! `names_without_edges_are_vertices_and_count_in_every_total` and
//! `ends_of_edges_that_no_table_lists_are_vertices_and_counted`.

use std::path::PathBuf;

use welter_model::two_kinds::Side;

use crate::collect::{Collector, DeclaredVertices, Ids, PlacedRun};
use crate::error::InputError;
use crate::format::Format;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reader::Context;
use crate::readers;
use crate::source::{self, Source, Witness, at_once};
use crate::tables::{ColumnRef, Frame, VertexTables};
use crate::text::Dictionary;

impl VertexTables {
    /// Opens the files.
    ///
    /// # Errors
    /// When one cannot be read or is no table.
    pub(crate) fn open(&self) -> Result<Tables<'_>, InputError> {
        if self.is_empty() && self.column.is_some() {
            let what = "a column of vertices is of a table; say --vertices-from FILE";
            return Err(InputError::Options { what: what.to_owned() });
        }
        let open = |name: &PathBuf| {
            let source = Source::open(name, None)?;
            if matches!(source.format(), Format::Text | Format::Parquet | Format::Arrow) {
                return Ok(source);
            }
            let found = source.format();
            let what =
                format!("expected a table of vertices (text, Parquet, Arrow), found {found}");
            Err(InputError::content(source.name(), what))
        };
        let all = |names: &[String]| {
            let names = if names.is_empty() { Vec::new() } else { source::names(names)? };
            at_once::each(&names, open)
        };
        Ok(Tables {
            of: self,
            sides: [
                (Side::Source, all(&self.files)?, &self.frames),
                (Side::Target, all(&self.target_files)?, &self.target_frames),
            ],
        })
    }
}

/// Tables that were opened.
pub(crate) struct Tables<'a> {
    of: &'a VertexTables,
    /// Tables of all vertices, or of sources, and those of targets.
    sides: [(Side, Vec<Source>, &'a [Frame]); 2],
}

impl Tables<'_> {
    /// Whether there are no tables.
    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Bytes of the files as stored; `None` where a pipe is among them.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.sides.iter().flat_map(|(_, files, _)| files).map(Source::bytes).sum()
    }

    /// The files.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.sides.iter().flat_map(|(_, files, _)| files)
    }

    /// Witnesses of the files as they were when they were opened.
    pub(crate) fn witnesses(&self) -> impl Iterator<Item = Witness> {
        self.sides.iter().flat_map(|(_, files, _)| files).filter_map(Source::witness)
    }

    /// Options by which a table is read, where edges are read so.
    fn options(&self, edges: &ReadOptions) -> ReadOptions {
        let id = self.of.column.clone().unwrap_or(ColumnRef::Number(1));
        ReadOptions {
            source: Some(id.clone()),
            target: Some(id),
            weight: WeightChoice::Ignore,
            ids: edges.ids,
            guessed_ids: edges.guessed_ids,
            threads: edges.threads,
            limits: edges.limits,
            ..ReadOptions::default()
        }
    }

    /// Whether a table makes all ids names.
    pub(crate) fn are_names(&self, context: &Context<'_>) -> Result<bool, InputError> {
        let options = &self.options(context.options);
        for source in self.sides.iter().flat_map(|(_, files, _)| files) {
            let context = Context { options, ..*context };
            if readers::of(source).id_kind(source, &context)? == IdKind::Names {
                return Ok(true);
            }
        }
        for frame in self.sides.iter().flat_map(|(_, _, frames)| *frames) {
            if frame.are_names(options)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Refuses tables in memory whose ids are of another type than the ends of `edges`: strings, or
    /// integers.
    pub(crate) fn agree(
        &self,
        context: &Context<'_>,
        (edges, strings): (&str, bool),
    ) -> Result<(), InputError> {
        let options = &self.options(context.options);
        let frames = self.sides.iter().flat_map(|(_, _, frames)| *frames);
        for frame in frames.filter(|frame| frame.rows() > 0) {
            if frame.are_strings(options)? != strings {
                let kind = |strings| if strings { "strings" } else { "integers" };
                let what = format!(
                    "{edges}: ends of edges are {}, and vertices in {} are {}; where they are ids \
                     alike, read both with --ids strings",
                    kind(strings),
                    frame.name,
                    kind(!strings)
                );
                return Err(InputError::Inputs { what });
            }
        }
        Ok(())
    }

    /// States the vertices of all tables, and says how many they are.
    pub(crate) fn state(
        &self,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<u64, InputError> {
        if self.of.of_targets() && !collector.any_two_kinds() {
            let what = "a table of targets is for two kinds of vertices; say --bipartite";
            return Err(InputError::Options { what: what.to_owned() });
        }
        let mut options = self.options(context.options);
        // The other half is for what is made of it.
        let room = options.limits.memory_bytes_max.map(|most| most / 2);
        options.limits.memory_bytes_max = room;
        let context = &Context { options: &options, ..*context };
        let mut count = 0;
        for (side, sources, frames) in &self.sides {
            let mut listed = Listed::default();
            let mut files = Vec::new();
            for source in sources {
                let rows = Collector::new(room);
                rows.begin(source.name());
                readers::of(source).read(source, context, &rows)?;
                files.push(source.name());
                listed.add(source.name(), rows)?;
            }
            for frame in *frames {
                let rows = Collector::new(room);
                frame.collect(context, &rows)?;
                files.push(&frame.name);
                listed.add(&frame.name, rows)?;
            }
            if !files.is_empty() {
                let side = collector.any_two_kinds().then_some(*side);
                collector.begin_vertices(&files.join(", "));
                count += listed.state(side, collector)?;
            }
        }
        Ok(count)
    }
}

/// Note for a person where more are vertices than the tables list.
pub(crate) fn unlisted(listed: u64, vertices: Option<u64>) -> Option<String> {
    let others = vertices?.checked_sub(listed).filter(|others| *others > 0)?;
    let (are, they) =
        if others == 1 { ("vertex is", "it is one") } else { ("vertices are", "they are some") };
    Some(format!("{others} {are} in no table of vertices; edges name them, so {they} all the same"))
}

/// The ids of all tables.
#[derive(Default)]
struct Listed {
    integers: Vec<u64>,
    names: Dictionary,
}

impl Listed {
    /// Takes the ids of a table.
    fn add(&mut self, file: &str, rows: Collector) -> Result<(), InputError> {
        for PlacedRun { part, .. } in rows.gathered().parts {
            match part.ids {
                Ids::Narrow { pairs, .. } => {
                    self.integers.extend(pairs.iter().map(|[id, _]| u64::from(*id)));
                }
                Ids::Wide { pairs, .. } => self.integers.extend(pairs.iter().map(|[id, _]| *id)),
                Ids::Names { names, .. } => {
                    for name in names.iter() {
                        let placed = self.names.place(name.as_bytes());
                        placed.map_err(|what| InputError::content(file, what))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// States them, and says how many they are.
    fn state(mut self, side: Option<Side>, collector: &Collector) -> Result<u64, InputError> {
        self.integers.sort_unstable();
        self.integers.dedup();
        let names = self.names.into_names();
        let count = self.integers.len() + names.len();
        let state = |stated| match side {
            Some(side) => collector.state_side(side, stated),
            None => collector.state(stated),
        };
        if !names.is_empty() {
            state(DeclaredVertices::Names(names))?;
        }
        if !self.integers.is_empty() {
            state(DeclaredVertices::Integers(self.integers))?;
        }
        Ok(count as u64)
    }
}
