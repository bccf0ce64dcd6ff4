//! Options that commands share, as clap reads them.

mod checkpoint;
mod cluster;
mod graph;
mod resources;
mod values;

use std::path::{Path, PathBuf};

use clap::Args;
use welter_output::TableFormat;

use crate::failure::Failure;
use crate::price::Prices;

pub(crate) use self::checkpoint::{CheckpointArgs, ResumeArgs};
pub(crate) use self::cluster::{
    Cluster, ClusterArgs, CombineArg, MACHINES_MAX, MachineRoute, MirrorArg, PlaceArgs,
    PlacementArg, PlacementArgs, Seat, SeatReading, TransportArg,
};
pub(crate) use self::graph::{DirectionArgs, GraphArgs, InputArgs, WeightArgs};
pub(crate) use self::resources::{IoArg, ResourceArgs, RouteArg};
pub(crate) use self::values::{
    EdgeCacheAt, above_zero, bytes, count, finite, not_negative, parsed, share,
};

/// Arguments of `run` beside the options of the algorithm.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    #[command(flatten)]
    pub(crate) output: TableArgs,
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) price: PriceArgs,
}

impl RunOptions {
    /// Paths that options name, beside those of inputs and of checkpoints.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let Self { output, resources, cluster: ClusterArgs { place, .. }, price, .. } = self;
        let machines =
            if let Some(Cluster::Static(list)) = &place.cluster { Some(list) } else { None };
        let paths = [
            output.output.as_ref(),
            output.report.as_ref(),
            price.price.as_ref(),
            machines,
            place.credentials.as_ref(),
        ];
        let caches = resources.edge_cache.iter().map(|cache| &cache.directory);
        let paths = paths.into_iter().flatten().chain(caches);
        paths.chain(&resources.scratch).map(PathBuf::as_path)
    }
}

/// A table of prices.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PriceArgs {
    /// Say the money that it takes, by the prices of this file: docs/object-stores.md
    #[arg(long, value_name = "FILE", help_heading = "Resources", hide_short_help = true)]
    price: Option<PathBuf>,
}

impl PriceArgs {
    /// The prices, if a file was named.
    pub(crate) fn read(&self) -> Result<Option<Prices>, Failure> {
        self.price.as_deref().map(Prices::read).transpose()
    }
}

/// Destination of results.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct TableArgs {
    /// Write the result of every vertex here, or to an object such as `s3://bucket/ranks.parquet`;
    /// `-` for standard output. Without it, the top is shown
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// csv, tsv, jsonl, parquet, arrow, npy or ldbc (a line `vertex value` each, as in LDBC
    /// Graphalytics) [default: what the name of the file ends with]
    #[arg(long, value_name = "FORMAT", requires = "output", value_parser = parsed::<TableFormat>)]
    pub(crate) output_format: Option<TableFormat>,
    /// Number of vertices that are shown
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "output")]
    pub(crate) top: usize,
    /// Write a report here, as JSON or a page (.html): the plan, time and bytes of phases
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

/// Arguments of `explain` beside the options of the algorithm.
#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    #[command(flatten)]
    pub(crate) price: PriceArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
    /// The plan of a machine of a cluster
    #[arg(long, value_name = "WHERE", help_heading = "Cluster", hide_short_help = true)]
    #[arg(value_parser = parsed::<Cluster>)]
    pub(crate) cluster: Option<Cluster>,
    /// Blocks that lie on a second machine too
    #[arg(long, value_name = "BLOCKS", help_heading = "Cluster", hide_short_help = true)]
    #[arg(requires = "cluster")]
    pub(crate) mirror: Option<MirrorArg>,
    #[command(flatten)]
    pub(crate) placing: PlacementArgs,
}

/// Arguments of `info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
}

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) weights: WeightArgs,
    #[command(flatten)]
    pub(crate) output: EdgeArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
}

/// Destination of edges.
#[derive(Debug, Args)]
#[command(next_help_heading = "Edges")]
pub(crate) struct EdgeArgs {
    /// Write the edges here; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// snap, tsv, csv, jsonl, parquet, arrow, mtx, dimacs, metis, adjacency, ldbc, graph500, or raw
    /// records: u32, u64, u32f32, u32f64, u64f32, u64f64 [default: what the name of the file ends
    /// with; snap on standard output]
    ///
    /// mtx (Matrix Market), dimacs (.gr) and metis number vertices from 1: ids that begin with 0
    /// are shifted, sparse ids and names are refused. metis holds undirected graphs only, or
    /// directed ones in which every edge has one back. ldbc (Graphalytics) writes NAME.v and NAME.e
    /// beside NAME.properties.
    #[arg(long, value_name = "FORMAT", value_parser = parsed::<welter_output::EdgeFormat>)]
    pub(crate) output_format: Option<welter_output::EdgeFormat>,
}
