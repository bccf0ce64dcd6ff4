//! The seeds of the fuzz targets, and a few thousand changes of each, through the same functions.
//! Where `WELTER_CORPUS` is set, instead the seeds and what fuzzing has kept, as they are: that is
//! how `cargo xtask fuzz --coverage` counts lines. `WELTER_CHANGES=100` makes a hundred times as
//! many changes, of which `WELTER_CHANGES_FROM=7` makes others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use welter_input::fuzzing;

/// A number that the environment says.
fn said(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs a target on its seeds and on copies with bytes changed, cut out and doubled. The changes
/// are the same in every run.
fn replay(name: &str, changes: u32, target: fn(&[u8])) {
    let only_inputs = std::env::var_os("WELTER_CORPUS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let files = |kind: &str| std::fs::read_dir(folder.join(kind).join(name)).into_iter().flatten();
    let mut paths: Vec<_> = files("seeds").map(|entry| entry.unwrap().path()).collect();
    if only_inputs {
        paths.extend(files("corpus").map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    assert!(!paths.is_empty());
    let mut state = said("WELTER_CHANGES_FROM").unwrap_or(1);
    let changes = u64::from(changes) * said("WELTER_CHANGES").unwrap_or(1);
    println!("{name}: {changes} changes of each of {} seeds", paths.len());
    let mut random = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for path in paths {
        let seed = std::fs::read(&path).unwrap();
        target(&seed);
        for _ in 0..if only_inputs { 0 } else { changes } {
            let mut data = seed.clone();
            for _ in 0..=random(4) {
                change(&mut data, &mut random);
            }
            target(&data);
        }
    }
}

fn change(data: &mut Vec<u8>, random: &mut impl FnMut(usize) -> usize) {
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
