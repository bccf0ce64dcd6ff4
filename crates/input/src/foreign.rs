//! Files that are known by how they begin and are not read: each with its name and the way out.
//!
//! Such files are named before anything is guessed, because whatever no reader knows would else be
//! taken for rows of text: a table of accounts or a picture would become a graph of its words.
//!
//! Invariant: a beginning stands here only if rows of edges cannot begin so. Tested by
//! `rows_of_edges_are_not_refused`.

use crate::error::InputError;
use crate::text::fields::is_number;
use crate::words::words;

/// A format that is not read.
struct Foreign {
    name: &'static str,
    begins: fn(&[u8]) -> bool,
    /// Advice: the way to a format that is read.
    way: &'static str,
}

const CSV: &str = "export its edges as CSV or Parquet";
const GRAPHML: &str = "export the graph as GraphML, or its edges as CSV";
const PANDAS: &str = "load it and write its edges as Parquet or CSV";
const SCIPY: &str = "load it and write the matrix with scipy.io.mmwrite, which is Matrix Market";

/// Formats that are known and not read. The first one that fits is taken.
const FOREIGN: &[Foreign] = &[
    // Graphs.
    Foreign { name: "a graph of LEDA", begins: |head| line(head) == b"LEDA.GRAPH", way: GRAPHML },
    Foreign { name: "UCINET's DL", begins: is_dl, way: "save it as Pajek or as a list of edges" },
    Foreign { name: "GDF (GUESS)", begins: |head| begins(head, "nodedef>"), way: GRAPHML },
    Foreign { name: "VNA (NetDraw)", begins: |head| begins(head, "*node data"), way: GRAPHML },
    Foreign {
        name: "graph-tool's own format",
        begins: |head| head.starts_with("⛾ gt".as_bytes()),
        way: "save it as GraphML: graph.save(\"graph.graphml\")",
    },
    Foreign {
        name: "a binary graph of NetworKit",
        begins: |head| head.starts_with(b"nkbg"),
        way: "write it as METIS or as a list of edges: networkit.graphio.writeGraph",
    },
    Foreign {
        name: "an adjacency graph of Ligra",
        begins: |head| line(head).ends_with(b"AdjacencyGraph"),
        way: "write its edges as rows of source and target (SNAP)",
    },
    Foreign {
        name: "a binary graph of Galois",
        begins: is_galois,
        way: "write its edges as rows of text: graph-convert --gr2edgelist",
    },
    Foreign { name: "a network of SteinLib", begins: |head| begins(head, "33d32945"), way: CSV },
    Foreign { name: "TSPLIB", begins: is_tsplib, way: CSV },
    Foreign { name: "a set of graphs of gSpan", begins: is_gspan, way: CSV },
    Foreign {
        name: "DGS (GraphStream)",
        begins: |head| matches!(line(head), b"DGS003" | b"DGS004"),
        way: GRAPHML,
    },
    Foreign {
        name: "LEMON's LGF",
        begins: |head| matches!(line(head), b"@nodes" | b"@red_nodes" | b"@arcs" | b"@edges"),
        way: "write its arcs as CSV",
    },
    Foreign {
        name: "Graphviz's plain output",
        begins: is_plain,
        way: "take the DOT file that it was made from",
    },
    Foreign {
        name: "an assembly graph (GFA)",
        begins: |head| head.starts_with(b"H\tVN:Z:"),
        way: "write its links (L) as rows of source and target",
    },
    Foreign { name: "a Rutherford-Boeing matrix", begins: is_boeing, way: SCIPY },
    Foreign {
        name: "a multiline adjacency list of NetworkX",
        begins: is_multiline,
        way: "write its edges: networkx.write_edgelist or write_weighted_edgelist",
    },
    // Statements.
    Foreign { name: "Turtle or TriG (RDF)", begins: is_turtle, way: N_TRIPLES },
    Foreign {
        name: "RDF/XML",
        begins: |head| holds(head, "<rdf:rdf") && head.starts_with(b"<"),
        way: N_TRIPLES,
    },
    Foreign { name: "a dump of SQL", begins: is_sql, way: CSV },
    Foreign { name: "a script of Cypher", begins: is_cypher, way: CSV },
    // Documents.
    Foreign {
        name: "HTML",
        begins: |head| {
            ["<!doctype html", "<html", "<head", "<body", "<table"]
                .iter()
                .any(|start| begins(head, start))
        },
        way: "download the file itself and not the page about it",
    },
    Foreign { name: "XML of another kind than GraphML or GEXF", begins: is_xml, way: GRAPHML },
    Foreign {
        name: "YAML",
        begins: |head| begins(head, "%yaml") || line(head) == b"---",
        way: CSV,
    },
    Foreign { name: "PDF", begins: |head| head.starts_with(b"%PDF-"), way: CSV },
    Foreign {
        name: "a pointer of Git LFS in the place of the file",
        begins: |head| head.starts_with(b"version https://git-lfs.github.com/spec/"),
        way: "fetch the file itself: git lfs pull",
    },
    Foreign {
        name: "a pointer of git-annex in the place of the file",
        begins: |head| head.starts_with(b"/annex/objects/"),
        way: "fetch the file itself: git annex get",
    },
    // Tables and archives.
    Foreign {
        name: "an Excel workbook (xlsx)",
        begins: |head| {
            let name = zipped(head);
            name == b"[Content_Types].xml"
                || [&b"xl/"[..], b"_rels/", b"docProps/"]
                    .iter()
                    .any(|folder| name.starts_with(folder))
        },
        way: "save the sheet of edges as CSV",
    },
    Foreign {
        name: "an OpenDocument file (such as ods)",
        begins: |head| zipped(head) == b"mimetype" && holds(head, "opendocument"),
        way: "save the sheet of edges as CSV",
    },
    Foreign {
        name: "an Excel workbook (xls)",
        begins: |head| head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]),
        way: "save the sheet of edges as CSV",
    },
    Foreign {
        name: "an archive of NumPy or SciPy (npz)",
        begins: |head| zipped(head).ends_with(b".npy"),
        way: "load it and write the edges with numpy.save, or the matrix with scipy.io.mmwrite",
    },
    Foreign {
        name: "an archive of PyTorch",
        begins: |head| zipped(head).ends_with(b"/data.pkl"),
        way: "load it and write edge_index with numpy.save",
    },
    Foreign {
        name: "an SQLite database",
        begins: |head| head.starts_with(b"SQLite format 3\0"),
        way: "export the table of edges: sqlite3 -csv FILE 'SELECT source, target FROM edges'",
    },
    Foreign {
        name: "a DuckDB database",
        begins: |head| head.get(8..12) == Some(b"DUCK"),
        way: "export the table of edges: COPY edges TO 'edges.parquet'",
    },
    Foreign { name: "HDF5", begins: |head| head.starts_with(b"\x89HDF\r\n\x1a\n"), way: PANDAS },
    Foreign {
        name: "a MATLAB file (mat)",
        begins: |head| head.starts_with(b"MATLAB "),
        way: SCIPY,
    },
    Foreign { name: "a Python pickle", begins: is_pickle, way: PANDAS },
    Foreign {
        name: "R data",
        begins: |head| {
            [&b"RDX2\n"[..], b"RDX3\n", b"RDA2\n", b"RDA3\n", b"X\n\0\0\0\x02", b"X\n\0\0\0\x03"]
                .iter()
                .any(|magic| head.starts_with(magic))
        },
        way: "write its edges with write.csv or arrow::write_parquet",
    },
    Foreign { name: "Avro", begins: |head| head.starts_with(b"Obj\x01"), way: PANDAS },
    Foreign { name: "ORC", begins: |head| head.starts_with(b"ORC\x08"), way: PANDAS },
];

const N_TRIPLES: &str = "convert it to N-Triples: rapper -o ntriples, riot --output=nt";

/// Refuses a file that is of a known format which is not read. `head`: its first bytes,
/// decompressed.
pub(crate) fn check(file: &str, head: &[u8]) -> Result<(), InputError> {
    let head = bare(head);
    match FOREIGN.iter().find(|foreign| (foreign.begins)(head)) {
        None => Ok(()),
        Some(Foreign { name, way, .. }) => {
            let what = format!("expected a format that is read, found {name} ({way})");
            Err(InputError::content(file, what))
        }
    }
}

/// The text behind a byte order mark and white space.
pub(crate) fn bare(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()
}

/// The first line.
fn line(head: &[u8]) -> &[u8] {
    head.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii()
}

/// Whether a file begins so, in any case.
pub(crate) fn begins(head: &[u8], start: &str) -> bool {
    head.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// Whether this stands anywhere; in lower case.
fn holds(head: &[u8], text: &str) -> bool {
    memchr::memmem::find(&head.to_ascii_lowercase(), text.as_bytes()).is_some()
}

/// The name of the first file of a zip archive; empty where it is none.
fn zipped(head: &[u8]) -> &[u8] {
    let Some(length) = head.get(26..28).filter(|_| head.starts_with(b"PK\x03\x04")) else {
        return b"";
    };
    let length = usize::from(length[0]) | usize::from(length[1]) << 8;
    head.get(30..30 + length).unwrap_or_default()
}

/// `dl n=5 format=edgelist1`
fn is_dl(head: &[u8]) -> bool {
    let Some(rest) = head.get(2..).filter(|_| begins(head, "dl")) else { return false };
    let text = rest.trim_ascii_start().to_ascii_lowercase();
    let starts = [&b"n="[..], b"n =", b"nr=", b"nr =", b"nc=", b"nc =", b"format"];
    text.len() < rest.len() && starts.iter().any(|start| text.starts_with(start))
}

/// A version and the size of weights, as words of 64 bits.
fn is_galois(head: &[u8]) -> bool {
    let word = |at: usize| {
        let bytes = head.get(at..at + 8)?;
        bytes.try_into().ok().map(u64::from_le_bytes)
    };
    // Nodes, edges, and where the edges of the first node end.
    let (Some(version), Some(weight)) = (word(0), word(8)) else { return false };
    let sizes = word(16).zip(word(24)).zip(word(32));
    matches!((version, weight), (1 | 2, 0 | 4 | 8))
        && sizes.is_some_and(|((nodes, edges), first)| nodes > 0 && first <= edges && edges > 0)
}

/// A node with its degree on a line, then as many lines with a neighbour and its attributes each.
fn is_multiline(head: &[u8]) -> bool {
    let lines = head.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let mut lines = lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let separates = |byte: u8| matches!(byte, b' ' | b'\t' | b',' | b';' | b'|');
    let degree = |line: &[u8]| {
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (node, degree) = line.split_at(line.len() - digits);
        let apart = node.len() > 1 && node.last().is_some_and(|last| separates(*last));
        std::str::from_utf8(degree).ok().filter(|_| apart)?.parse::<u64>().ok()
    };
    let neighbour = |line: &[u8]| {
        let brace = memchr::memchr(b'{', line).filter(|brace| *brace > 1);
        line.ends_with(b"}") && brace.is_some_and(|brace| separates(line[brace - 1]))
    };
    let (mut left, mut found) = (0, false);
    let all = lines.by_ref().filter(|line| !line.starts_with(b"#")).all(|line| {
        if left == 0 {
            return degree(line).map(|degree| left = degree).is_some();
        }
        left -= 1;
        found = true;
        neighbour(line)
    });
    all && found
}

fn is_tsplib(head: &[u8]) -> bool {
    begins(head, "name")
        && holds(head, "\ntype")
        && (holds(head, "\ndimension") || holds(head, "edge_weight_type"))
}

/// Graphs one after the other: `t # 0`, then vertices with labels (`v 0 a`), then edges.
fn is_gspan(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let title = lines.next().unwrap_or_default();
    let title = title.strip_prefix(b"#").unwrap_or(title).trim_ascii_start();
    let numbers = |line: &[u8], count: usize| {
        words(line).skip(1).take(count).filter(|word| word.iter().all(u8::is_ascii_digit)).count()
            == count
    };
    let titled = title == b"t" || title.starts_with(b"t ");
    let vertex = |line: &[u8]| line.starts_with(b"v ") && numbers(line, 1);
    let edge = |line: &[u8]| line.starts_with(b"e ") && numbers(line, 2);
    let first = lines.next().unwrap_or_default();
    titled && vertex(first) && lines.find(|line| !vertex(line)).is_some_and(edge)
}

/// `graph 1 0.75 1.5`, then `node a 0.3 1.2 ...`
fn is_plain(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let numbers = words(first).skip(1).filter(|word| is_number(word)).count();
    begins(first, "graph ")
        && words(first).count() == 4
        && numbers == 3
        && lines.next().is_some_and(|line| line.starts_with(b"node "))
}

/// The third line begins with the kind of the matrix, such as `RUA`, and its sizes.
fn is_boeing(head: &[u8]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n');
    let Some(kind) = lines.nth(2) else { return false };
    let mut words = words(kind);
    let of = |letters: &[u8], letter: u8| letters.contains(&letter.to_ascii_uppercase());
    let known = matches!(words.next(), Some(&[values, shape, form])
        if of(b"RCPIQ", values) && of(b"SUHZR", shape) && of(b"AE", form));
    known && words.take(3).filter(|word| word.iter().all(u8::is_ascii_digit)).count() == 3
}

fn is_turtle(head: &[u8]) -> bool {
    let first = first_statement(head, b"#");
    ["@prefix ", "@base ", "prefix ", "base <"].iter().any(|start| begins(first, start))
        && memchr::memchr(b'<', line(first)).is_some()
}

fn is_sql(head: &[u8]) -> bool {
    if begins(head, "-- ") && (holds(line(head), "dump") || holds(line(head), "sql")) {
        return true;
    }
    let first = first_statement(head, b"--");
    ["create table ", "insert into ", "pragma foreign_keys", "begin transaction;", "drop table "]
        .iter()
        .any(|start| begins(first, start))
}

fn is_cypher(head: &[u8]) -> bool {
    let first = first_statement(head, b"//");
    ["create (", "merge (", "match (", "create constraint "]
        .iter()
        .any(|start| begins(first, start))
}

fn is_xml(head: &[u8]) -> bool {
    let first = head.get(1).copied().unwrap_or_default();
    let names = first.is_ascii_alphabetic() && holds(line(head), "xmlns");
    let tag = head[head.len().min(1)..].iter().position(|byte| !byte.is_ascii_alphabetic());
    let closed = |length: usize| {
        let name = &head[1..=length];
        let end =
            head.get(length + 1).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'>');
        length > 0 && end && memchr::memmem::find(head, &[b"</", name].concat()).is_some()
    };
    let element = names || tag.is_some_and(closed);
    begins(head, "<?xml") || begins(head, "<!doctype") || (head.starts_with(b"<") && element)
}

/// From protocol 2 on, and then what an object begins with.
fn is_pickle(head: &[u8]) -> bool {
    matches!(head, [0x80, 2 | 3, b'}' | b']' | b'(' | b'c' | b'X' | b'q' | b')' | b'K', ..])
        || matches!(head, [0x80, 4 | 5, 0x95, ..])
}

/// The text behind lines that are comments or blank.
fn first_statement<'a>(mut head: &'a [u8], comment: &[u8]) -> &'a [u8] {
    loop {
        head = head.trim_ascii_start();
        if !head.starts_with(comment) {
            return head;
        }
        let end = memchr::memchr(b'\n', head).unwrap_or(head.len());
        head = &head[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use welter_progress::FailureKind;

    fn refused(head: &[u8]) -> Option<String> {
        check("f", head).err().map(|error| {
            assert_eq!(error.kind(), FailureKind::Input);
            error.to_string()
        })
    }

    #[test]
    fn each_is_named_with_a_way_out() {
        let galois: Vec<u8> = [1_u64, 4, 3, 2, 1].iter().flat_map(|w| w.to_le_bytes()).collect();
        let zip = |name: &str, data: &str| {
            let mut head = b"PK\x03\x04".to_vec();
            head.resize(26, 0);
            head.extend((name.len() as u16).to_le_bytes());
            head.extend([0, 0]);
            [head, name.into(), data.into()].concat()
        };
        let boeing = format!("{:72}key\n 5 1 1 3\nRUA            3 3 5\n", "title");
        let texts: [(Vec<u8>, &str); 46] = [
            ("t # 0\nv 0 a\nv 1 b\ne 0 1 x\n".into(), "gSpan"),
            ("t 2 1\nv 0 0 1\nv 1 0 1\ne 0 1\n".into(), "gSpan"),
            ("# t 1\nv 0 1\nv 1 2\ne 0 1 3\n".into(), "gSpan"),
            ("DGS004\nnull 0 0\nan a\n".into(), "GraphStream"),
            ("@nodes\nlabel\n1\n".into(), "LEMON"),
            ("graph 1 0.75 1.5\nnode a 0.3 1.2\n".into(), "DOT file"),
            ("H\tVN:Z:1.0\nS\t1\tACGT\n".into(), "GFA"),
            ("<edges>\n<edge from=\"1\" to=\"2\"/></edges>".into(), "XML"),
            ("LEDA.GRAPH\nstring\nint\n".into(), "LEDA"),
            ("\u{feff}\n LEDA.GRAPH \r\n".into(), "LEDA"),
            ("DL n=5\nformat = edgelist1\n".into(), "UCINET"),
            ("dl\nN = 5, format".into(), "UCINET"),
            ("nodedef>name VARCHAR,label VARCHAR\n".into(), "GDF"),
            ("*Node data\nid age\n".into(), "VNA"),
            ("⛾ gt\u{1}".into(), "graph-tool"),
            ("nkbg003".into(), "NetworKit"),
            ("AdjacencyGraph\n3\n2\n".into(), "Ligra"),
            ("WeightedAdjacencyGraph\n3\n".into(), "Ligra"),
            (galois, "Galois"),
            ("33D32945 STP File, STP Format Version 1.0\n".into(), "SteinLib"),
            ("NAME: berlin52\nTYPE: TSP\nDIMENSION: 52\n".into(), "TSPLIB"),
            (boeing.into(), "Boeing"),
            ("# export.py\n#\na 2\nb {}\nc {'w': 1}\nb 0\nc 0\n".into(), "multiline"),
            ("New York,0\nRome,1\nNew York,{}\n".into(), "multiline"),
            ("version https://git-lfs.github.com/spec/v1\noid sha256:4d\n".into(), "git lfs pull"),
            ("/annex/objects/SHA256E-s4--4d.csv\n".into(), "git annex get"),
            ("# words\n@prefix ex: <http://e.x/> .\n".into(), "Turtle"),
            ("PREFIX ex: <http://e.x/>\n".into(), "Turtle"),
            ("<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"x\">".into(), "RDF/XML"),
            ("-- MySQL dump 10.13\n--\n".into(), "SQL"),
            ("-- a\n\nCREATE TABLE edges (a int);\n".into(), "SQL"),
            ("CREATE (a:Person {name: 'x'})\n".into(), "Cypher"),
            ("<!DOCTYPE html>\n<html>".into(), "HTML"),
            ("<table border=\"1\">\n".into(), "HTML"),
            ("<?xml version=\"1.0\"?><kml/>".into(), "XML"),
            ("<graph label=\"x\" xmlns=\"http://www.cs.rpi.edu/XGMML\">".into(), "XML"),
            ("---\nnodes:\n- a\n".into(), "YAML"),
            ("%PDF-1.7\n".into(), "PDF"),
            (zip("[Content_Types].xml", ""), "xlsx"),
            (zip("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), "OpenDocument"),
            (zip("indices.npy", ""), "npz"),
            ("SQLite format 3\0".into(), "sqlite3 -csv"),
            (b"\x89HDF\r\n\x1a\n".into(), "HDF5"),
            ("MATLAB 5.0 MAT-file, Platform".into(), "mmwrite"),
            (b"\x80\x04\x95\x1a\0".into(), "pickle"),
            (b"RDX3\nX\n".into(), "R data"),
        ];
        for (head, message) in texts {
            let text = String::from_utf8_lossy(&head).into_owned();
            let error = refused(&head).unwrap_or_else(|| panic!("{text:?} must be refused"));
            assert!(error.starts_with("f: expected a format that is read, found "), "{error}");
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }

    #[test]
    fn rows_of_edges_are_not_refused() {
        for head in [
            "1 2\n",
            "",
            "# c\n1\t2\n",
            "% sym\n1 2\n",
            "name,type\na,b\n",
            "dl n\ndb m\n",
            "create,match\n",
            "<a> <b>\n",
            "x\ny\nRUA 1 2\n",
            "--- 1\n",
            "base prefix\n",
            "R data\n",
            "p q\n",
            "ORC a\n",
            "-- b\n",
            "name target\ntype x\n",
            "version https://a\n",
            // Edges, and lists of neighbours.
            "a b {}\nb c {}\n",
            "1 2\n2 3\n",
            "1 0\n2 0\n3 0\n",
            "a 1\nb {}\nc d e\n",
        ] {
            assert_eq!(refused(head.as_bytes()), None, "{head:?}");
        }
        let pairs: Vec<u8> = [1_u64, 2, 3, 4, 5].iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(refused(&pairs), None);
    }
}
