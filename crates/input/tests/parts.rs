//! Files of several parts: what is read must not depend on where a file is cut, on how many threads
//! read it, or on whether it comes compressed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::Path;

use welter_input::{Input, ReadOptions, WeightChoice, read};
use welter_model::edges::Pair;
use welter_progress::Progress;

/// Vertices of a ring, enough that its files have several parts.
const VERTICES: usize = 300_000;

/// The ring in a format: the header, then a line for each vertex and the next two.
fn ring(header: &str, line: impl Fn(&mut String, usize, usize, usize)) -> String {
    let mut text = header.to_owned();
    for vertex in 1..=VERTICES {
        let next = |step: usize| (vertex + step - 1) % VERTICES + 1;
        line(&mut text, vertex, next(1), next(VERTICES - 1));
    }
    text
}

fn load(path: &Path, threads: usize) -> Input {
    let options =
        ReadOptions { weight: WeightChoice::IfPresent, threads, ..ReadOptions::default() };
    read(&[path.to_string_lossy().into_owned()], &options, &Progress::new()).unwrap()
}

fn edges(input: &Input) -> Vec<(Pair, u64)> {
    let mut all = Vec::new();
    for part in 0..input.edges.parts() {
        let mut visit = |batch: welter_model::edges::Batch<'_>| {
            all.extend(batch.pairs.iter().enumerate().map(|(edge, pair)| {
                (*pair, batch.weights.map_or(0, |weights| weights[edge].to_bits()))
            }));
            true
        };
        input.edges.read(part, &mut visit).unwrap();
    }
    all
}

#[test]
fn cuts_change_nothing() {
    let count = VERTICES;
    let formats = [
        (
            "metis",
            ring(&format!("% c\n{count} {count} 1\n"), |text, vertex, next, last| {
                let _ = writeln!(text, "{next} {vertex} {last} {last}");
            }),
        ),
        (
            "mtx",
            ring(
                &format!(
                    "%%MatrixMarket matrix coordinate real general\n{count} {count} {count}\n"
                ),
                |text, vertex, next, _| {
                    let comment = if vertex % 1000 == 0 { "% c\n\n" } else { "" };
                    let _ = writeln!(text, "{comment}{vertex} {next} {vertex}.5");
                },
            ),
        ),
        (
            "gr",
            ring(&format!("c c\np sp {count} {count}\n"), |text, vertex, next, _| {
                let _ = writeln!(text, "a {vertex} {next} {vertex}");
            }),
        ),
        (
            "adj",
            ring("", |text, vertex, next, last| {
                let _ = writeln!(text, "{vertex} {next} {last}");
            }),
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (format, text) in formats {
        let plain = folder.path().join(format!("g.{format}"));
        std::fs::write(&plain, &text).unwrap();
        let packed = folder.path().join(format!("g.{format}.zst"));
        std::fs::write(&packed, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
        let first = load(&plain, 1);
        assert!(first.edges.parts() > 1, "{format}");
        let expected = edges(&first);
        assert!(expected.len() >= VERTICES);
        assert!(expected.iter().enumerate().all(|(edge, (pair, _))| {
            let vertex = edge * VERTICES / expected.len();
            pair[0] as usize % VERTICES == (vertex + usize::from(format == "adj")) % VERTICES
        }));
        for input in [load(&plain, 2), load(&packed, 1), load(&packed, 2)] {
            assert!(edges(&input) == expected, "{format}");
            assert_eq!((&input.ids, input.edges.slots()), (&first.ids, first.edges.slots()));
        }
    }
}
