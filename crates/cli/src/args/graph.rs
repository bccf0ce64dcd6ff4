//! Options that say what the input is and how it is read as a graph.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use welter_input::{
    ColumnRef, Comment, Escape, Format, IdKind, Quote, ReadOptions, Separator, VertexTables,
    WeightChoice,
};
use welter_model::edges::{Duplicates, Reading};

use super::values::{count, parsed};

/// Inputs, and how they are read.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Files, directories of files, patterns such as 'part-*.csv', URLs such as
    /// `s3://bucket/edges/*.parquet` (also az, abfs, gs and https), or `-` for standard input; or
    /// one graph that `welter ingest` keeps in a directory; or one generated graph: rmat:SCALE or
    /// web:VERTICES, and options as in `rmat:22,factor=16,seed=1,scramble`
    ///
    /// A directory is its files, and those of folders such as src=1 in it, but none that begin with
    /// a dot or `_`. Formats are guessed from the first bytes and the name. All but Parquet and
    /// WebGraph may be compressed (gzip, zstd, bzip2, xz, LZ4, Snappy; Brotli by its ending .br),
    /// or be the one file of a zip or tar archive; text may be UTF-16 with a mark, XML in the
    /// encoding that it names. Text is rows (SNAP, CSV, TSV). Matrix Market (.mtx), METIS (.graph),
    /// DIMACS (.gr, .col), LDBC Graphalytics (.e with its .v, or .properties), TNTP (.tntp),
    /// adjacency lists (.adj), GML, GraphML, GEXF, Pajek (.net), DOT (.dot, .gv), TGF, JSON
    /// (node-link, adjacency, JGF, Cytoscape), graph6 and sparse6 (.g6, .s6) and WebGraph (name the
    /// .properties) state their vertices, so those without edges exist too, and most state whether
    /// edges are directed. N-Triples (.nt), JSON lines with a source and a target and NumPy arrays
    /// (.npy) are edges alone. Known formats that are not read are named.
    #[arg(value_name = "INPUT", required = true, help_heading = None::<&str>)]
    pub(crate) inputs: Vec<PathBuf>,
    /// text, parquet, arrow, mtx, metis, dimacs, ldbc, properties, tntp, adjacency, gml, graphml,
    /// gexf, pajek, dot, tgf, json, ntriples, graph6, npy, graph500, webgraph, or raw records: u32,
    /// u64, u32f32, u32f64, u64f32, u64f64
    /// [default: guessed]
    #[arg(long, value_name = "FORMAT", value_parser = parsed::<Format>)]
    pub(crate) format: Option<Format>,
    /// Separator of the columns of rows of text: tab, comma, semicolon, pipe, colon, spaces, or
    /// any string, such as :: or \\x01; refused where a format has no such rows [default: guessed]
    #[arg(long, value_name = "SEPARATOR", value_parser = parsed::<Separator>)]
    pub(crate) separator: Option<Separator>,
    /// Quotes around fields of text: none, \" or '; where it is said, a quoted field may go
    /// over lines [default: guessed]
    #[arg(long, value_name = "QUOTE", value_parser = parsed::<Quote>)]
    pub(crate) quote: Option<Quote>,
    /// Form of a quote within quotes in text: doubled or backslash [default: guessed]
    #[arg(long, value_name = "ESCAPE", value_parser = parsed::<Escape>)]
    pub(crate) escape: Option<Escape>,
    /// Beginning of a comment line of text, or none; by default # and % where no row can begin so
    #[arg(long, value_name = "PREFIX", value_parser = parsed::<Comment>)]
    pub(crate) comment: Option<Comment>,
    /// The first row of text names the columns [default: guessed]
    #[arg(long, overrides_with = "no_header")]
    pub(crate) header: bool,
    /// The first row of text is an edge
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Column of the sources, by number (from 1) or name [default: guessed]
    #[arg(long, value_name = "COLUMN", value_parser = parsed::<ColumnRef>)]
    pub(crate) source_column: Option<ColumnRef>,
    /// Column of the targets, by number (from 1) or name [default: guessed]
    #[arg(long, value_name = "COLUMN", value_parser = parsed::<ColumnRef>)]
    pub(crate) target_column: Option<ColumnRef>,
    /// Kind of ids
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub(crate) ids: Ids,
    /// The graph has the vertices 0 to N-1, with or without edges [default: those with edges]
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "vertices_from")]
    pub(crate) vertices: Option<u64>,
    /// Files that list vertices, a row or line each, so that those without edges exist too,
    /// whatever ids are; `-` is standard input. Ends of edges that are in none are vertices as well
    #[arg(long, value_name = "FILE")]
    pub(crate) vertices_from: Vec<String>,
    /// Files that list targets, where these are another kind of vertices than sources (--bipartite)
    #[arg(long, value_name = "FILE")]
    pub(crate) target_vertices_from: Vec<String>,
    /// Column of the ids in those files, by number (from 1) or name [default: 1]
    #[arg(long, value_name = "COLUMN", value_parser = parsed::<ColumnRef>)]
    pub(crate) vertex_column: Option<ColumnRef>,
    /// Sources and targets are two kinds of vertices, such as users and items, which may have the
    /// same ids: results say the side of each, and `source:7` or `target:7` names one where both
    /// have the id [default: what the format says, else no]
    #[arg(long, overrides_with = "no_bipartite")]
    pub(crate) bipartite: bool,
    /// Vertices are of one kind, also where the format says otherwise
    #[arg(long)]
    pub(crate) no_bipartite: bool,
    #[command(flatten)]
    pub(crate) direction: DirectionArgs,
}

/// Whether edges go both ways.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Graph")]
pub(crate) struct DirectionArgs {
    /// Every edge goes both ways [default: what the format says, else no]
    #[arg(long, conflicts_with = "directed")]
    pub(crate) undirected: bool,
    /// Every edge goes one way, also where the format says otherwise
    #[arg(long)]
    pub(crate) directed: bool,
}

/// Kinds of ids.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Ids {
    /// Integers where a sample holds nothing else and each is written as it is printed,
    /// strings otherwise
    Auto,
    /// Integers from 0 to 2^64 - 1, also where they are written as 007, +7 or 7.0
    Integers,
    /// Any strings, even those that look like integers
    #[value(alias = "names")]
    Strings,
}

impl InputArgs {
    /// Whether something is said that only a file can have.
    pub(crate) fn says_of_files(&self) -> bool {
        self.format.is_some()
            || self.separator.is_some()
            || self.quote.is_some()
            || self.escape.is_some()
            || self.comment.is_some()
            || self.header
            || self.no_header
            || self.source_column.is_some()
            || self.target_column.is_some()
    }

    /// The inputs as they are shown.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.inputs.iter().map(|input| input.display().to_string()).collect()
    }

    /// Whether something is said of vertices.
    pub(crate) fn says_of_vertices(&self) -> bool {
        self.vertices.is_some()
            || self.vertex_column.is_some()
            || self.bipartite
            || self.no_bipartite
            || self.vertex_tables().next().is_some()
    }

    /// Files that list vertices.
    pub(crate) fn vertex_tables(&self) -> impl Iterator<Item = &String> {
        self.vertices_from.iter().chain(&self.target_vertices_from)
    }

    /// Whether something is said of ids.
    pub(crate) fn says_of_ids(&self) -> bool {
        !matches!(self.ids, Ids::Auto)
    }

    /// The options, as the readers want them.
    pub(crate) fn options(&self, weight: WeightChoice, threads: Option<usize>) -> ReadOptions {
        let header = match (self.header, self.no_header) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        ReadOptions {
            format: self.format,
            separator: self.separator,
            quote: self.quote,
            escape: self.escape,
            comment: self.comment.clone(),
            header,
            source: self.source_column.clone(),
            target: self.target_column.clone(),
            weight,
            vertices: self.vertices,
            vertex_tables: VertexTables {
                files: self.vertices_from.clone(),
                target_files: self.target_vertices_from.clone(),
                column: self.vertex_column.clone(),
                ..VertexTables::default()
            },
            two_kinds: match (self.bipartite, self.no_bipartite) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            undirected: match (self.direction.undirected, self.direction.directed) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            ids: match self.ids {
                Ids::Auto => IdKind::Auto,
                Ids::Integers => IdKind::Integers,
                Ids::Strings => IdKind::Names,
            },
            threads: threads.unwrap_or(0),
            ..ReadOptions::default()
        }
    }
}

/// Options by which edges make a graph.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Graph")]
pub(crate) struct GraphArgs {
    /// Leave out edges from a vertex to itself
    #[arg(long)]
    pub(crate) drop_self_loops: bool,
    /// Keep one of parallel edges, with the first, the smallest or the sum of their weights; edges
    /// that go opposite ways are two, unless the graph is undirected
    #[arg(
        long,
        value_name = "WEIGHT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "first"
    )]
    pub(crate) drop_duplicates: Option<MergedWeight>,
}

/// The weight of the edge that is kept of parallel ones.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MergedWeight {
    /// The weight of the first one in the input
    First,
    /// The smallest one
    Min,
    /// The sum of all; where there are no weights, the number of edges
    Sum,
}

impl From<GraphArgs> for Reading {
    fn from(args: GraphArgs) -> Self {
        Self {
            drop_self_loops: args.drop_self_loops,
            duplicates: match args.drop_duplicates {
                None => Duplicates::Keep,
                Some(MergedWeight::First) => Duplicates::First,
                Some(MergedWeight::Min) => Duplicates::Minimum,
                Some(MergedWeight::Sum) => Duplicates::Sum,
            },
            // Directions of edges are settled by the options of the input, and by formats.
            ..Self::default()
        }
    }
}

/// Weights of edges.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct WeightArgs {
    /// Column of the weights, by number (from 1) or name [default: the one called weight, else by a
    /// word for it such as cost, distance or rating, else the one further column of numbers]
    ///
    /// One rule holds for text, tables and frames. A column whose name is for something else
    /// (year, timestamp, type, or what ends in _id) is no weight. Where several columns could be
    /// it, names are refused, and without names the first one behind the ends is taken. Of
    /// dictionaries at the end of a row, as NetworkX writes them, the value of weight is.
    #[arg(long, value_name = "COLUMN", value_parser = parsed::<ColumnRef>)]
    pub(crate) weight: Option<ColumnRef>,
    /// Read no weights, also where there are some
    #[arg(long, conflicts_with = "weight")]
    pub(crate) no_weights: bool,
}

impl WeightArgs {
    /// The choice, as the readers want it.
    pub(crate) fn choice(&self) -> WeightChoice {
        match (&self.weight, self.no_weights) {
            (Some(column), _) => WeightChoice::Column(column.clone()),
            (None, true) => WeightChoice::Ignore,
            (None, false) => WeightChoice::IfPresent,
        }
    }
}
