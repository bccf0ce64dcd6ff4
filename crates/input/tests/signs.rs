//! Negative weights: an error with its place where an algorithm cannot have them, in every format
//! that has weights; weights like others where the algorithm takes them; unread where it has no use
//! for them.

use std::fs;

use welter_input::{InputError, ReadOptions, WeightChoice, read};
use welter_progress::{FailureKind, Progress};

/// Name, content, and what the error must say.
const FILES: [(&str, &str, &str); 16] = [
    ("plain.txt", "1 2 5\n2 3 0\n3 1 -4\n", ":3: expected a weight that is not negative, found"),
    ("many.csv", "a,b,weight\n1,2,1.5\n2,3,-1e-3\n", ":3: expected a weight that is not negative"),
    ("names.tsv", "x\ty\t-0.5\ny\tz\t1\n", ":1: expected a weight that is not negative"),
    ("infinite.txt", "1 2 5\n2 3 -inf\n", ":2: expected a weight that is not negative"),
    (
        "real.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n2 3 -1\n",
        ":4: expected a weight that is not negative",
    ),
    (
        "integer.mtx",
        "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 1\n3 2 -7\n",
        ":4: expected a weight that is not negative, found \"-7\"",
    ),
    (
        "skew.mtx",
        "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 1 1\n",
        "skew-symmetric",
    ),
    ("roads.gr", "p sp 3 2\na 1 2 3\na 2 3 -3\n", ":3: expected a weight that is not negative"),
    ("mesh.metis", "3 2 1\n2 5\n1 5 3 -6\n2 -6\n", ":3: expected a weight that is not negative"),
    (
        "graph.gml",
        "graph [\n node [ id 1 ]\n node [ id 2 ]\n edge [ source 1 target 2 value -2 ]\n]\n",
        ":4: expected a weight that is not negative, found \"-2\"",
    ),
    (
        "graph.graphml",
        "<graphml><key id=\"w\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>\n\
         <graph edgedefault=\"directed\"><node id=\"1\"/><node id=\"2\"/>\n\
         <edge source=\"1\" target=\"2\"><data key=\"w\">-2.5</data></edge></graph></graphml>\n",
        ":3: expected a weight that is not negative",
    ),
    (
        "graph.gexf",
        "<gexf><graph><nodes><node id=\"1\"/><node id=\"2\"/></nodes><edges>\n\
         <edge source=\"1\" target=\"2\" weight=\"-2.5\"/></edges></graph></gexf>\n",
        ":2: expected a weight that is not negative",
    ),
    (
        "graph.net",
        "*Vertices 2\n*Edges\n1 2 -2\n",
        ":3: expected a weight that is not negative, found \"-2\"",
    ),
    ("graph.dot", "graph {\n1 -- 2 [weight=-2]\n}\n", ":2: expected a weight that is not negative"),
    (
        "graph.json",
        "{\"source\": 1, \"target\": 2, \"weight\": 1}\n\
         {\"source\": 2, \"target\": 1, \"weight\": -0.5}\n",
        ":2: expected a weight that is not negative",
    ),
    ("zero.txt", "1 2 5\n2 3 -0.0\n", ""),
];

fn options(non_negative: bool, weight: WeightChoice) -> ReadOptions {
    ReadOptions { non_negative, weight, ..ReadOptions::default() }
}

fn read_file(path: &str, non_negative: bool, weight: WeightChoice) -> Result<bool, InputError> {
    let options = options(non_negative, weight);
    read(&[path.to_owned()], &options, &Progress::new()).map(|input| input.edges.weighted())
}

#[test]
fn every_format_says_where() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, message) in FILES {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(&path, text).unwrap();
        assert!(read_file(&path, false, WeightChoice::IfPresent).unwrap(), "{name}");
        match read_file(&path, true, WeightChoice::IfPresent) {
            Ok(_) => assert_eq!(message, "", "{name} was read"),
            Err(error) => {
                assert_eq!(error.kind(), FailureKind::Input, "{error}");
                assert!(
                    error.to_string().contains(message) && !message.is_empty(),
                    "{name}: {error}"
                );
                assert!(error.to_string().contains(name), "{error}");
            }
        }
    }
}

#[test]
fn infinite_weights_are_refused_where_sums_need_finite_ones() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, message) in [
        ("plain.txt", "1 2 5\n2 3 inf\n", ":2: expected a weight that is finite, found \"inf\""),
        ("names.tsv", "x\ty\t-Infinity\ny\tz\t1\n", ":1: expected a weight that is finite"),
        (
            "real.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n2 3 inf\n",
            ":4: expected a weight that is finite",
        ),
    ] {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(&path, text).unwrap();
        let options = ReadOptions { finite: true, ..options(false, WeightChoice::IfPresent) };
        let error = read(std::slice::from_ref(&path), &options, &Progress::new()).err().unwrap();
        assert_eq!(error.kind(), FailureKind::Input);
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn lines_are_counted_in_large_and_in_packed_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "17 42 3\n".repeat(300_000);
    text.push_str("1 2 -3\n");
    text.push_str(&"17 42 3\n".repeat(1000));
    let plain = folder.path().join("large.txt").to_str().unwrap().to_owned();
    fs::write(&plain, &text).unwrap();
    let packed = folder.path().join("large.txt.zst").to_str().unwrap().to_owned();
    fs::write(&packed, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    for path in [plain, packed] {
        let mut options = options(true, WeightChoice::IfPresent);
        options.limits.ratio_free_bytes = 1 << 40;
        let error = read(&[path], &options, &Progress::new()).err().unwrap();
        assert!(error.to_string().contains(":300001: expected a weight that is not"), "{error}");
    }
}

#[test]
fn records_are_named_by_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let record = |weight: f32| [&[1_u8, 0, 0, 0, 2, 0, 0, 0][..], &weight.to_le_bytes()].concat();
    let path = folder.path().join("edges.u32f32").to_str().unwrap().to_owned();
    fs::write(&path, [record(1.0), record(-1.0)].concat()).unwrap();
    let progress = Progress::new();
    let input =
        read(std::slice::from_ref(&path), &options(false, WeightChoice::IfPresent), &progress);
    assert!(input.is_ok());
    // Raw records are looked at when they are streamed.
    let read = |weight| {
        let input = read(std::slice::from_ref(&path), &options(true, weight), &progress)?;
        let mut parts = 0..input.edges.parts();
        let each = |part| input.edges.read(part, &mut |_| true);
        parts.try_for_each(each).map_err(|error| *error.downcast::<InputError>().unwrap())
    };
    let error = read(WeightChoice::IfPresent).unwrap_err().to_string();
    assert!(error.contains("byte 20: expected a weight that is not negative"), "{error}");
    read(WeightChoice::Ignore).unwrap();
}

#[test]
fn weights_that_nobody_wants_are_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, _) in FILES.iter().take(4) {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(&path, text).unwrap();
        assert!(!read_file(&path, true, WeightChoice::Ignore).unwrap(), "{name}");
    }
}
