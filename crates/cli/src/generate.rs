//! `welter generate`: makes a graph and writes it in any of the formats.

use clap::{Args, Subcommand};
use welter_input::generate::Weights;
use welter_input::generate::rmat::RmatOptions;
use welter_input::generate::web::WebOptions;
use welter_model::ids::IdMap;

use crate::args::{EdgeArgs, ResourceArgs, count};
use crate::convert::write;
use crate::failure::Failure;
use crate::load::{Source, stream};
use crate::number_format::{counted, seconds};
use crate::session::Session;
use crate::spec::{Generated, quadrants, weights};

/// A generator and its options.
#[derive(Debug, Subcommand)]
pub(crate) enum Generator {
    /// R-MAT, as in Graph500: skewed degrees, no locality
    Rmat(RmatArgs),
    /// Web-like: most links go to near ids, pages copy the links of others
    Web(WebArgs),
}

/// Options of R-MAT.
#[derive(Debug, Args)]
pub(crate) struct RmatArgs {
    /// Log2 of the number of vertices
    #[arg(value_name = "SCALE")]
    scale: u32,
    /// Edges a vertex
    #[arg(long, value_name = "N", default_value_t = 16)]
    factor: u32,
    /// Renumber the vertices at random, so that ids say nothing about degrees
    #[arg(long)]
    scramble: bool,
    /// Probabilities of the quadrants a, b, c and d
    #[arg(long, value_name = "A,B,C,D", default_value = "0.57,0.19,0.19,0.05")]
    #[arg(value_parser = parse_quadrants)]
    quadrants: Quadrants,
    #[command(flatten)]
    common: CommonArgs,
}

/// Four probabilities; a type of its own, because clap takes a bare array for several values.
#[derive(Clone, Copy, Debug)]
struct Quadrants([f64; 4]);

fn parse_quadrants(text: &str) -> Result<Quadrants, String> {
    quadrants(text).map(Quadrants)
}

/// Options of the web-like graph.
#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// Number of vertices
    #[arg(value_name = "VERTICES", value_parser = count)]
    vertices: u64,
    /// Edges a vertex, on average
    #[arg(long, value_name = "N", default_value_t = 16)]
    degree: u32,
    #[command(flatten)]
    common: CommonArgs,
}

/// Arguments of all generators.
#[derive(Debug, Args)]
struct CommonArgs {
    /// Every seed gives another graph, and the same one everywhere
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Weights: none, unit (floats from 0 to 1), or the largest integer, such as 255
    #[arg(long, value_name = "WEIGHTS", default_value = "none", value_parser = weights)]
    weights: Weights,
    #[command(flatten)]
    output: EdgeArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Does it.
pub(crate) fn generate(generator: Generator) -> Result<(), Failure> {
    let (generated, common) = match generator {
        Generator::Rmat(args) => {
            let CommonArgs { seed, weights, .. } = args.common;
            let RmatArgs { scale, factor, scramble, quadrants: Quadrants(quadrants), .. } = args;
            let options = RmatOptions { scale, factor, quadrants, seed, scramble, weights };
            (Generated::Rmat(options), args.common)
        }
        Generator::Web(args) => {
            let CommonArgs { seed, weights, .. } = args.common;
            let WebArgs { vertices: pages, degree, .. } = args;
            (Generated::Web(WebOptions { pages, degree, seed, weights }), args.common)
        }
    };
    let mut session = Session::start(common.resources)?;
    let edges = stream(&generated)?;
    common.output.promise(&mut session, &Source::Files(Vec::new()), [])?;
    let count = edges.edges();
    let vertices = edges.slots().unwrap_or(0);
    write(session, &*edges, &IdMap::Declared, false, &common.output, |elapsed| {
        format!(
            "{}, {}, {}",
            counted(vertices, "vertex", "vertices"),
            counted(count, "edge", "edges"),
            seconds(elapsed)
        )
    })
}
