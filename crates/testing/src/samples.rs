//! The real graphs in `shared/data/graphs`, read with a parser of the oracle's own.
//!
//! The parser believes its input: it is for these files only, knows the quirks of each from a table
//! and panics on anything else. `welter-input` is what reads files of strangers; its tests hold
//! every row against this parser, which is why the two share no code.

use crate::answers::{Answers, shared_data};
use crate::graph::Graph;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Shape in which the rows of a file are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two ids, and a third column that is not read, after this number of lines without a `#`.
    Pairs(usize),
    /// Two ids and a weight.
    Weighted,
    /// The first line is a header; line `i` after it lists the neighbours of vertex `i`, from 1.
    Metis,
    /// Lines `a FROM TO WEIGHT`, among others.
    Dimacs,
    /// An id and the ids that it has arcs to, as LDBC Graphalytics writes its validation graphs.
    Adjacency,
    /// Matrix Market coordinates: after the lines with `%` the sizes, then `ROW COLUMN [VALUE]`,
    /// an arc from row to column, in both directions where the first line says `symmetric`.
    MatrixMarket,
}

/// A graph of the shared data.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Name of the folder of the graph.
    pub name: &'static str,
    /// Path of the file, compressed as it is.
    pub path: PathBuf,
    /// Shape of the rows of the file.
    pub shape: Shape,
}

const SAMPLES: [(&str, &str, Shape); 20] = [
    ("wiki-Vote", "wiki-Vote.txt.zst", Shape::Pairs(0)),
    ("facebook_combined", "facebook_combined.txt.gz", Shape::Pairs(0)),
    ("p2p-31", "p2p-31.e.zst", Shape::Weighted),
    ("email-Enron", "email-Enron.txt.zst", Shape::Pairs(1)),
    ("ca-AstroPh-cc1", "astro-ph-cc1.jlg", Shape::Pairs(1)),
    ("ca-CondMat-cc1", "ca-condmat-cc1.jlg", Shape::Pairs(1)),
    ("as-caida20071105", "as-caida20071105.jlg", Shape::Pairs(1)),
    ("cit-HepTh", "arxiv-cit-hep-th.jlg", Shape::Pairs(1)),
    ("soc-Slashdot0902", "soc-Slashdot0902.txt.gz", Shape::Pairs(0)),
    ("email-Eu-core", "email-Eu-core.csv.zst", Shape::Weighted),
    ("cnr-2000", "cnr-2000.txt.zst", Shape::Pairs(0)),
    ("polblogs-metis", "polblogs.graph.zst", Shape::Metis),
    ("astro-ph-metis", "astro-ph.graph.zst", Shape::Metis),
    ("power-metis", "power.graph.zst", Shape::Metis),
    ("4elt", "4elt.graph.zst", Shape::Metis),
    ("delaunay_n15", "delaunay_n15.graph.zst", Shape::Metis),
    ("rome99-half", "rome99.gr.zst", Shape::Dimacs),
    ("debian-depends", "debian-bookworm-depends.tsv.zst", Shape::Pairs(0)),
    ("osm-andorra", "osm-andorra.wel.zst", Shape::Weighted),
    ("sbp-5000", "simulated_blockmodel_graph_5000_nodes.tsv.zst", Shape::Weighted),
];

/// All graphs of the shared data, or none where it is missing (which is said loudly).
pub fn samples() -> Vec<Sample> {
    let Some(data) = shared_data() else { return Vec::new() };
    let sample = |(name, file, shape): (&'static str, &str, Shape)| Sample {
        name,
        path: data.join("graphs").join(name).join(file),
        shape,
    };
    SAMPLES.map(sample).to_vec()
}

/// The graph of this name, or `None` where the shared data is missing.
///
/// # Panics
/// When no sample has this name.
pub fn sample(name: &str) -> Option<Sample> {
    assert!(SAMPLES.iter().any(|(known, ..)| *known == name), "no sample `{name}`");
    samples().into_iter().find(|sample| sample.name == name)
}

impl Sample {
    /// The answers that are known about the graph.
    ///
    /// # Panics
    /// When the answers cannot be read.
    pub fn answers(&self) -> Answers {
        Answers::load(self.path.parent().expect("a file is in a folder"))
    }

    /// The graph as its file has it: loops, duplicates and all; one direction of an edge where the
    /// file has one. Slots are the ranks of `answers.ids()`.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn load(&self, answers: &Answers) -> Graph {
        let rows = read(&self.path, self.shape);
        let weights = (!rows.weights.is_empty()).then_some(rows.weights);
        Graph::from_ids(&answers.ids(), &rows.pairs, weights)
    }

    /// The graph that the answers refer to: simple, and with both directions where it is undirected
    /// (D and U in the README of the data).
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn load_simple(&self, answers: &Answers) -> Graph {
        let graph = self.load(answers);
        if answers.directed() { graph.simple() } else { graph.undirected().simple() }
    }
}

/// The rows of a file: ids, and weights if its shape has them.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    /// Ids of source and destination.
    pub pairs: Vec<(u64, u64)>,
    /// As long as `pairs`, or empty.
    pub weights: Vec<f64>,
}

/// Reads a file, compressed (`.gz`, `.jlg`, `.zst`) or not.
///
/// # Panics
/// When it cannot be read.
pub fn read(path: &Path, shape: Shape) -> Rows {
    parse(&text(path), shape)
}

/// Reads a file of answers with one `ID VALUE` a line, ascending by id.
///
/// # Panics
/// When it cannot be read.
pub fn values(path: &Path) -> (Vec<u64>, Vec<f64>) {
    let text = text(path);
    let mut rows: Vec<(u64, f64)> = text
        .lines()
        .map(|line| match line.split_once(' ') {
            Some((id, value)) => (number(id, line) as u64, number(value, line)),
            None => panic!("`{line}` is no answer"),
        })
        .collect();
    rows.sort_by_key(|(id, _)| *id);
    rows.into_iter().unzip()
}

fn text(path: &Path) -> String {
    let name = path.display();
    let file = File::open(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut text = String::new();
    let size = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz" | "jlg") => flate2::read::GzDecoder::new(file).read_to_string(&mut text),
        Some("zst") => zstd::Decoder::new(file).and_then(|mut z| z.read_to_string(&mut text)),
        _ => { file }.read_to_string(&mut text),
    };
    size.unwrap_or_else(|error| panic!("{name}: {error}"));
    text
}

/// Parses the text of a file.
///
/// # Panics
/// When a row is not what the shape says.
pub fn parse(text: &str, shape: Shape) -> Rows {
    let mut rows = Rows::default();
    let symmetric = shape == Shape::MatrixMarket && text.starts_with("%%") && {
        text.lines().next().is_some_and(|line| line.contains("symmetric"))
    };
    let comments = |line: &&str| !line.starts_with(['#', '%']);
    let headers = match shape {
        Shape::Pairs(headers) => headers,
        Shape::Metis | Shape::MatrixMarket => 1,
        Shape::Weighted | Shape::Dimacs | Shape::Adjacency => 0,
    };
    for (index, line) in text.lines().filter(comments).skip(headers).enumerate() {
        let mut fields = line.split([' ', '\t', ',']).filter(|field| !field.is_empty());
        if shape == Shape::Dimacs && fields.next() != Some("a") {
            continue;
        }
        let mut id = || fields.next().map(|field| number(field, line) as u64);
        match shape {
            Shape::Metis => {
                let from = index as u64 + 1;
                rows.pairs.extend(std::iter::from_fn(id).map(|to| (from, to)));
            }
            Shape::Adjacency => {
                let from = id().unwrap_or_else(|| panic!("an empty line {index}"));
                rows.pairs.extend(std::iter::from_fn(id).map(|to| (from, to)));
            }
            _ => {
                let (Some(from), Some(to)) = (id(), id()) else { panic!("`{line}` is no edge") };
                rows.pairs.push((from, to));
                if symmetric && from != to {
                    rows.pairs.push((to, from));
                }
                if matches!(shape, Shape::Weighted | Shape::Dimacs) {
                    rows.weights.push(number(fields.next().unwrap_or_default(), line));
                }
            }
        }
    }
    rows
}

fn number(field: &str, line: &str) -> f64 {
    field.parse().unwrap_or_else(|_| panic!("`{field}` in `{line}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_reads() {
        let pairs = |text, shape| parse(text, shape).pairs;
        assert_eq!(pairs("# c\n1\t2\r\n2\t3\r\n", Shape::Pairs(0)), [(1, 2), (2, 3)]);
        assert_eq!(pairs("9 9\n1,2,7\n", Shape::Pairs(1)), [(1, 2)]);
        assert_eq!(parse("1 2 0.5\n", Shape::Weighted).weights, [0.5]);
        assert_eq!(pairs("3 2\n2 3\n\n1\n", Shape::Metis), [(1, 2), (1, 3), (3, 1)]);
        let dimacs = parse("c x\np sp 2 1\na 2 1 9\n", Shape::Dimacs);
        assert_eq!((dimacs.pairs, dimacs.weights), (vec![(2, 1)], vec![9.0]));
        assert_eq!(pairs("1 2 3\n2\n", Shape::Adjacency), [(1, 2), (1, 3)]);
        let matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n%\n3 3 2\n2 1\n3 3\n";
        assert_eq!(pairs(matrix, Shape::MatrixMarket), [(2, 1), (1, 2), (3, 3)]);
    }

    #[test]
    fn every_sample_is_there_and_has_its_edges() {
        for sample in samples() {
            let answers = sample.answers();
            let simple = sample.load_simple(&answers);
            let (key, arcs_an_edge) =
                if answers.directed() { ("arcs_D", 1) } else { ("edges_U", 2) };
            let edges = answers.json[key].as_u64().unwrap() * arcs_an_edge;
            assert_eq!(simple.pairs.len() as u64, edges, "{}", sample.name);
            assert_eq!(Some(simple.vertices() as u64), answers.json["V"].as_u64());
        }
    }
}
