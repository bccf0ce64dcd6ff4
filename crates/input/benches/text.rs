//! The cost of reading text, in nanoseconds per edge and core, beside a plain scalar loop.
//!
//! `cargo bench -p welter-input --bench text [EDGES]`. Ids have seven digits. "memory" reads text
//! in memory into a fresh vector, "cache" a piece of it again and again into memory that was used
//! before, "file" a file that the page cache holds into an edge list, or to a temporary file where
//! half of the edges do not fit in memory. "third column" is skipped unless it says "weight".

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use welter_input::{ReadOptions, WeightChoice, fuzzing, read};
use welter_progress::Progress;

const RUNS: usize = 7;

fn main() {
    let edges = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(8_000_000);
    let (none, present) = (WeightChoice::Ignore, WeightChoice::IfPresent);
    for (name, separator, third, end, weight) in [
        ("tab", "\t", Third::None, "\n", &none),
        ("crlf", "\t", Third::None, "\r\n", &none),
        ("csv", ",", Third::None, "\n", &none),
        ("third column, 1 to 255", "\t", Third::Byte, "\n", &none),
        ("weight, 1 to 255", "\t", Third::Byte, "\n", &present),
        ("weight, 0 to 1000, two decimals", ",", Third::Cents, "\n", &present),
        ("weight, 0 to 1, as short as exact", ",", Third::Unit, "\n", &present),
    ] {
        let text = seven_digits(edges, separator, third, end);
        println!("{name}: {edges} edges, {} bytes", text.len());
        let options = ReadOptions { weight: weight.clone(), ..ReadOptions::default() };
        measure(&text, edges, &options);
    }
}

fn measure(text: &[u8], edges: usize, options: &ReadOptions) {
    let parse = |text, rounds| fuzzing::parse_rounds(text, rounds, options) as u64;
    report("scalar loop, memory", edges, 1, || scalar(text));
    report("parse, memory", edges, 1, || parse(text, 1));
    let lines = 20_000.min(edges);
    let slice = memchr::memchr_iter(b'\n', text).nth(lines - 1).map_or(text, |end| &text[..=end]);
    report("parse, cache", edges / lines * lines, 1, || parse(slice, edges / lines));
    let path = std::env::temp_dir().join(format!("welter-bench-text-{}.txt", std::process::id()));
    let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(text));
    written.expect("a file in the temporary directory");
    for threads in [1, 2] {
        let options = ReadOptions { threads, ..options.clone() };
        let inputs = [path.to_string_lossy().into_owned()];
        report(&format!("file, {threads} threads"), edges, threads, || {
            let input = read(&inputs, &options, &Progress::new()).expect("good text");
            input.edges.edges()
        });
        let mut options = options;
        options.limits.memory_bytes_max = Some(8 * edges as u64);
        options.scratch = vec![std::env::temp_dir()];
        let spilled = || read(&inputs, &options, &Progress::new()).expect("good text").edges;
        report(&format!("the same, edges to a file, {threads} threads"), edges, threads, || {
            spilled().edges()
        });
        let stream = spilled();
        report("the same file read back, 1 thread", edges, 1, || {
            let mut sum = 0;
            for part in 0..stream.parts() {
                let read = stream.read(part, &mut |batch| {
                    sum += batch.pairs.len() as u64;
                    true
                });
                read.expect("what was written");
            }
            sum
        });
    }
    std::fs::remove_file(&path).expect("the file that was just written");
}

/// Prints the best and the median of a few runs.
fn report(name: &str, edges: usize, threads: usize, mut work: impl FnMut() -> u64) {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort();
    let per_edge = |time: Duration| time.as_secs_f64() * 1e9 * threads as f64 / edges as f64;
    println!(
        "  {name:<22} {:6.2} ns per edge and core, best of {RUNS} (median {:.2})",
        per_edge(times[0]),
        per_edge(times[RUNS / 2])
    );
}

/// Third column, behind the two ids.
#[derive(Clone, Copy)]
enum Third {
    None,
    Byte,
    Cents,
    Unit,
}

fn seven_digits(edges: usize, separator: &str, third: Third, end: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(edges * 27);
    let mut state = 1u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for _ in 0..edges {
        let [source, target] = [random(), random()].map(|id| 1_000_000 + id % 9_000_000);
        write!(text, "{source}{separator}{target}").expect("memory");
        let weight = random();
        match third {
            Third::None => Ok(()),
            Third::Byte => write!(text, "{separator}{}", 1 + weight % 255),
            Third::Cents => write!(text, "{separator}{:.2}", (weight % 100_000) as f64 / 100.0),
            Third::Unit => write!(text, "{separator}{}", weight as f64 / (1u64 << 31) as f64),
        }
        .expect("memory");
        text.extend_from_slice(end.as_bytes());
    }
    text
}

/// The parser that one writes without thinking: a byte at a time, into a vector that grows.
fn scalar(text: &[u8]) -> u64 {
    let mut pairs: Vec<[u32; 2]> = Vec::new();
    let mut numbers = [0u32; 2];
    let mut place = 0;
    for byte in text {
        match byte {
            b'0'..=b'9' => numbers[place] = numbers[place] * 10 + u32::from(byte - b'0'),
            b'\n' => {
                pairs.push(numbers);
                numbers = [0; 2];
                place = 0;
            }
            b'\r' => {}
            _ => place = 1,
        }
    }
    black_box(&pairs);
    pairs.len() as u64
}
