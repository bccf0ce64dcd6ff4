//! The seeds of the fuzz targets, and a few thousand changes of each, through the same functions.

use welter_input::fuzzing;
use welter_testing::seeds::{Random, Seeds};

/// Runs a target on its seeds and on copies with bytes changed, cut out and doubled.
fn replay(name: &str, changes: usize, target: fn(&[u8])) {
    Seeds { name, more: None, target, change }.replay(|_| changes);
}

fn change(data: &mut Vec<u8>, random: Random<'_>) {
    const TELLING: &[u8] = b"0123456789\t\n\r ,\"#-.;|%\xff[]<>/&=";
    let at = random(data.len());
    let end = (at + random(20)).min(data.len());
    match random(5) {
        0 if at < data.len() => data[at] = random(256) as u8,
        1 if at < data.len() => data[at] = TELLING[random(TELLING.len())],
        2 => data.insert(at, TELLING[random(TELLING.len())]),
        3 => drop(data.drain(at..end)),
        _ => {
            let piece = data[at..end].to_vec();
            let to = random(data.len());
            data.splice(to..to, piece);
        }
    }
}

#[test]
fn text() {
    replay("text", 1500, fuzzing::text);
}

#[test]
fn guess() {
    replay("guess", 300, fuzzing::guess);
}

#[test]
fn unpack() {
    replay("unpack", 150, fuzzing::unpack);
}

#[test]
fn raw() {
    replay("raw", 500, fuzzing::raw);
}

#[test]
fn parquet() {
    replay("parquet", 400, fuzzing::parquet);
}

#[test]
fn arrow() {
    replay("arrow", 400, fuzzing::arrow);
}

#[test]
fn gml() {
    replay("gml", 1500, fuzzing::gml);
}

#[test]
fn graphml() {
    replay("graphml", 1500, fuzzing::graphml);
}

#[test]
fn gexf() {
    replay("gexf", 1500, fuzzing::gexf);
}

#[test]
fn pajek() {
    replay("pajek", 1500, fuzzing::pajek);
}

#[test]
fn dot() {
    replay("dot", 1500, fuzzing::dot);
}

#[test]
fn tgf() {
    replay("tgf", 1500, fuzzing::tgf);
}

#[test]
fn json() {
    replay("json", 1000, fuzzing::json);
}

#[test]
fn ntriples() {
    replay("ntriples", 1000, fuzzing::ntriples);
}

#[test]
fn graph6() {
    replay("graph6", 1000, fuzzing::graph6);
}

#[test]
fn npy() {
    replay("npy", 1000, fuzzing::npy);
}

#[test]
fn webgraph() {
    replay("webgraph", 1500, fuzzing::webgraph);
}

#[test]
fn matrix_market() {
    replay("matrix_market", 800, fuzzing::matrix_market);
}

#[test]
fn metis() {
    replay("metis", 800, fuzzing::metis);
}

#[test]
fn dimacs() {
    replay("dimacs", 800, fuzzing::dimacs);
}

#[test]
fn tntp() {
    replay("tntp", 800, fuzzing::tntp);
}

#[test]
fn adjacency() {
    replay("adjacency", 800, fuzzing::adjacency);
}

#[test]
fn ldbc() {
    replay("ldbc", 800, fuzzing::ldbc);
}

#[test]
fn outputs() {
    replay("outputs", 1500, fuzzing::outputs);
}
