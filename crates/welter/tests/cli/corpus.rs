//! Small files as the programs write them that people take graphs from, each read with nothing but
//! its name.
//!
//! `tests/corpus/corpus.tsv` says of each file (the README beside it has the format of the table)
//! which edges are right, which guess is allowed where a note says so, and with which words the
//! file may be refused. Anything else is wrong; a graph that is not the one in the file and comes
//! without a word is what this test is for. It does not look at the time and the memory that
//! reading takes, nor at files larger than a sample.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{fs, thread};

use welter_testing::bucket::BucketServer;

use crate::csv::{Edge, edges, sorted};
use crate::sandbox::{Ended, root};

/// A row of the table.
struct Case {
    file: String,
    origin: String,
    options: String,
    /// Edges that may be read.
    right: Vec<Vec<Edge>>,
    /// Edges that may be read where a note holds one of the words beside it.
    guesses: Vec<Vec<Edge>>,
    notes: Vec<String>,
    /// Words of which a refusal holds one; none where the file has to be read.
    refused: Vec<String>,
}

/// Outcome of reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Refused,
    Guessed,
    Wrong,
}

#[test]
fn no_file_of_the_corpus_is_read_wrong_without_a_word() {
    none_is_read_wrong(None);
}

/// Formats are read from a bucket as from files, whatever they ask for and in whatever order: of
/// those of plain text, which are many, a tenth.
#[test]
fn no_file_of_the_corpus_is_read_wrong_from_a_bucket() {
    let server = BucketServer::start().unwrap();
    for file in fs::read_dir(folder()).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        server.put(&format!("box/{name}"), fs::read(file.path()).unwrap());
    }
    none_is_read_wrong(Some(&server));
    assert!(server.take_requests().len() > 200);
}

/// Reads all files, here or as objects of a bucket.
fn none_is_read_wrong(bucket: Option<&BucketServer>) {
    let is_text = |file: &str| [".csv", ".tsv", ".txt"].iter().any(|it| file.ends_with(it));
    let is_read =
        |number: usize, file: &str| bucket.is_none() || number.is_multiple_of(10) || !is_text(file);
    let cases: Vec<Case> = cases()
        .into_iter()
        .enumerate()
        .filter_map(|(number, case)| is_read(number, &case.file).then_some(case))
        .collect();
    assert!(cases.len() >= 200);
    let ended = run_all(&cases, bucket);
    let mut report = String::new();
    let mut counts = [0; 4];
    for (case, ended) in cases.iter().zip(&ended) {
        let verdict = case.judge(ended);
        counts[verdict as usize] += 1;
        if verdict == Verdict::Wrong {
            let Ended { code, stdout, stderr } = ended;
            let Case { file, origin, .. } = case;
            writeln!(report, "{file} ({origin}): {code:?}\n{stdout}{stderr}").unwrap();
        }
    }
    let [right, refused, guessed, wrong] = counts;
    println!("| read right | refused rightly | said to be a guess | wrong | all |");
    println!("|--:|--:|--:|--:|--:|");
    println!("| {right} | {refused} | {guessed} | {wrong} | {} |", cases.len());
    assert_eq!(wrong, 0, "{report}");
}

#[test]
fn every_file_of_the_corpus_is_in_the_table_and_small() {
    let mut listed: Vec<_> = cases().into_iter().map(|case| case.file).collect();
    listed.extend(["README.md".to_owned(), "corpus.tsv".to_owned()]);
    listed.sort();
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap());
    let mut found = Vec::new();
    for file in files {
        let name = file.file_name().into_string().unwrap();
        let small = file.metadata().unwrap().len() <= 1024;
        assert!(small || name == "corpus.tsv" || name == "README.md", "{name}");
        found.push(name);
    }
    found.sort();
    assert_eq!(found, listed);
}

fn folder() -> PathBuf {
    root().join("crates/welter/tests/corpus")
}

/// Runs the command on all files, on a few threads.
fn run_all(cases: &[Case], bucket: Option<&BucketServer>) -> Vec<Ended> {
    let part = cases.len().div_ceil(4);
    let run = |cases: &[Case]| cases.iter().map(|case| case.run(bucket)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let parts: Vec<_> =
            cases.chunks(part).map(|cases| scope.spawn(move || run(cases))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

impl Case {
    fn run(&self, bucket: Option<&BucketServer>) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_welter"));
        let place = bucket.map_or("", |_| "s3://box/");
        command.arg("convert").arg(format!("{place}{}", self.file));
        command.args(self.options.split_whitespace());
        command.envs(bucket.map(BucketServer::environment).unwrap_or_default());
        command.args(["-o", "-", "--output-format", "csv"]).env("NO_COLOR", "1");
        Ended::of(command.current_dir(folder()).stdin(Stdio::null()).output().unwrap())
    }

    fn judge(&self, ended: &Ended) -> Verdict {
        // The name of a file may hold the word that is looked for.
        let stderr = ended.stderr.replace(&self.file, "FILE").to_lowercase();
        let says = |words: &[String]| words.iter().any(|word| stderr.contains(word));
        match ended.code {
            Some(0) => {
                let undirected = stderr.contains("each edge stands for both directions");
                let found = sorted(&edges(&ended.stdout, undirected));
                let among =
                    |graphs: &[Vec<Edge>]| graphs.iter().any(|graph| sorted(graph) == found);
                if among(&self.right) {
                    Verdict::Right
                } else if among(&self.guesses) && stderr.contains("note: ") && says(&self.notes) {
                    Verdict::Guessed
                } else {
                    Verdict::Wrong
                }
            }
            Some(2 | 65) if ended.stdout.is_empty() && says(&self.refused) => Verdict::Refused,
            _ => Verdict::Wrong,
        }
    }
}

fn cases() -> Vec<Case> {
    let table = fs::read_to_string(folder().join("corpus.tsv")).unwrap();
    let rows = table.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect());
    rows.map(|row: Vec<String>| {
        let [file, origin, options, right, guesses, notes, refused] = row.try_into().unwrap();
        let words = |text: &str| text.split_terminator('|').map(str::to_lowercase).collect();
        let (notes, refused) = (words(&notes), words(&refused));
        let (right, guesses) = (graphs(&right), graphs(&guesses));
        Case { file, origin, options, right, guesses, notes, refused }
    })
    .collect()
}

/// The graphs that a field of the table lists.
fn graphs(text: &str) -> Vec<Vec<Edge>> {
    let graph =
        |text: &str| text.split_whitespace().filter(|word| *word != "-").map(edge).collect();
    text.split_terminator('|').map(graph).collect()
}

/// `a>b`, `a~b` where there is no direction, `a>b@0.5` with a weight; `%20` for a space.
fn edge(word: &str) -> Edge {
    let (ends, weight) = match word.split_once('@') {
        Some((ends, weight)) => (ends, Some(weight.parse().unwrap())),
        None => (word, None),
    };
    let undirected = ends.contains('~');
    let (source, target) = ends.split_once(['>', '~']).unwrap();
    Edge { ends: [unescaped(source), unescaped(target)], weight, undirected }
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}
