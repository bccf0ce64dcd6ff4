//! The reader of each format.
//!
//! Formats that a build leaves out, by features of this crate, are known all the same, and refused
//! by their names.

use crate::adjacency::Adjacency;
use crate::dimacs::Dimacs;
use crate::dot::DOT;
use crate::format::Format;
use crate::gml::GML;
use crate::graph6::Graph6;
use crate::json::JSON;
use crate::ldbc::Ldbc;
use crate::ldbc::properties::LdbcProperties;
use crate::matrix_market::MatrixMarket;
use crate::metis::Metis;
use crate::npy::Npy;
use crate::ntriples::NTriples;
use crate::pajek::PAJEK;
use crate::raw::Raw;
use crate::reader::Reader;
use crate::source::Source;
use crate::text::TextReader;
use crate::tgf::TGF;
use crate::tntp::Tntp;

/// The reader of a format.
pub(crate) fn of(source: &Source) -> &'static dyn Reader {
    match source.format() {
        Format::Text => &TextReader,
        Format::Raw(_) | Format::Graph500 => &Raw,
        Format::Parquet | Format::Arrow => columnar(source.format()),
        Format::Gml => &GML,
        Format::GraphMl | Format::Gexf => xml(source.format()),
        Format::Pajek => &PAJEK,
        Format::Dot => &DOT,
        Format::Tgf => &TGF,
        Format::Json => &JSON,
        Format::NTriples => &NTriples,
        Format::Graph6 => &Graph6,
        Format::Npy => &Npy,
        Format::WebGraph => webgraph(),
        Format::MatrixMarket => &MatrixMarket,
        Format::Metis => &Metis,
        Format::Dimacs => &Dimacs,
        Format::Ldbc => &Ldbc,
        Format::LdbcProperties => &LdbcProperties,
        Format::Tntp => &Tntp,
        Format::Adjacency => &Adjacency,
    }
}

#[cfg(feature = "columnar")]
fn columnar(format: Format) -> &'static dyn Reader {
    if format == Format::Arrow { &crate::arrow::Arrow } else { &crate::parquet::Parquet }
}

#[cfg(not(feature = "columnar"))]
fn columnar(_: Format) -> &'static dyn Reader {
    &crate::left_out::LeftOut { feature: "columnar" }
}

#[cfg(feature = "webgraph")]
fn webgraph() -> &'static dyn Reader {
    &crate::webgraph::WebGraph
}

#[cfg(not(feature = "webgraph"))]
fn webgraph() -> &'static dyn Reader {
    &crate::left_out::LeftOut { feature: "webgraph" }
}

#[cfg(feature = "xml")]
fn xml(format: Format) -> &'static dyn Reader {
    if format == Format::Gexf { &crate::gexf::GEXF } else { &crate::graphml::GRAPHML }
}

#[cfg(not(feature = "xml"))]
fn xml(_: Format) -> &'static dyn Reader {
    &crate::left_out::LeftOut { feature: "xml" }
}
