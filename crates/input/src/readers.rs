//! The reader of each format.

use crate::adjacency::Adjacency;
use crate::arrow::Arrow;
use crate::dimacs::Dimacs;
use crate::dot::DOT;
use crate::format::Format;
use crate::gexf::GEXF;
use crate::gml::GML;
use crate::graph6::Graph6;
use crate::graphml::GRAPHML;
use crate::json::JSON;
use crate::ldbc::Ldbc;
use crate::ldbc::properties::LdbcProperties;
use crate::matrix_market::MatrixMarket;
use crate::metis::Metis;
use crate::npy::Npy;
use crate::ntriples::NTriples;
use crate::pajek::PAJEK;
use crate::parquet::Parquet;
use crate::raw::Raw;
use crate::reader::Reader;
use crate::source::Source;
use crate::text::TextReader;
use crate::tgf::TGF;
use crate::tntp::Tntp;
use crate::webgraph::WebGraph;

/// The reader of a format.
pub(crate) fn of(source: &Source) -> &'static dyn Reader {
    match source.format() {
        Format::Text => &TextReader,
        Format::Raw(_) | Format::Graph500 => &Raw,
        Format::Parquet => &Parquet,
        Format::Arrow => &Arrow,
        Format::Gml => &GML,
        Format::GraphMl => &GRAPHML,
        Format::Gexf => &GEXF,
        Format::Pajek => &PAJEK,
        Format::Dot => &DOT,
        Format::Tgf => &TGF,
        Format::Json => &JSON,
        Format::NTriples => &NTriples,
        Format::Graph6 => &Graph6,
        Format::Npy => &Npy,
        Format::WebGraph => &WebGraph,
        Format::MatrixMarket => &MatrixMarket,
        Format::Metis => &Metis,
        Format::Dimacs => &Dimacs,
        Format::Ldbc => &Ldbc,
        Format::LdbcProperties => &LdbcProperties,
        Format::Tntp => &Tntp,
        Format::Adjacency => &Adjacency,
    }
}
