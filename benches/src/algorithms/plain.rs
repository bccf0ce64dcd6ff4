//! COST in a process of its own: plain loops of one thread, from the pairs to a summary.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bytemuck::{Pod, Zeroable};
use clap::Args;

use super::outcome::ContenderLine;
use super::summary::Summary;
use crate::baselines::plain::{self, Adjacency, RowEnds};
use crate::inputs;
use crate::system::Usage;

/// Arguments of one child process.
#[derive(Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    algorithm: String,
    /// Raw pairs; in a file `.u32f32` with weights.
    #[arg(long)]
    input: PathBuf,
    /// Where searches begin.
    #[arg(long)]
    source: u32,
    #[arg(long)]
    iterations: u64,
}

/// Runs it and prints what it took.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let line = measure(arguments)?;
    println!("{}", serde_json::to_string(&line)?);
    Ok(())
}

/// An edge with its weight, as files hold it.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Weighted {
    pair: [u32; 2],
    weight: f32,
}

/// Edges in memory.
struct Edges {
    pairs: Vec<[u32; 2]>,
    weights: Vec<f32>,
    ids: usize,
}

impl Edges {
    fn read(path: &Path) -> Result<Self> {
        let bytes = inputs::bytes(path)?;
        let (pairs, weights): (Vec<[u32; 2]>, Vec<f32>) =
            if path.extension().is_some_and(|extension| extension == "u32f32") {
                let edges = bytes.chunks_exact(size_of::<Weighted>());
                let edges = edges.map(bytemuck::pod_read_unaligned::<Weighted>);
                edges.map(|edge| (edge.pair, edge.weight)).unzip()
            } else {
                (bytemuck::pod_collect_to_vec(&bytes), Vec::new())
            };
        let most = pairs.iter().flatten().max().context("a graph without edges")?;
        Ok(Self { ids: *most as usize + 1, pairs, weights })
    }

    /// Of each id whether an edge names it.
    fn named(&self) -> Vec<bool> {
        let mut named = vec![false; self.ids];
        self.pairs.iter().flatten().for_each(|&id| named[id as usize] = true);
        named
    }

    /// Values of the ids that are vertices.
    fn of_vertices<T>(&self, values: Vec<T>) -> impl Iterator<Item = T> + use<T> {
        values.into_iter().zip(self.named()).filter_map(|(value, named)| named.then_some(value))
    }

    fn rows(&self, way: RowEnds) -> Adjacency {
        Adjacency::new(self.ids, &self.pairs, &self.weights, way)
    }

    fn simple(&self) -> Adjacency {
        Adjacency::simple(self.ids, &self.pairs)
    }
}

/// Reads the edges, loads, runs, and sums up, which is not timed.
fn clocked<G, A>(
    input: &Path,
    load: impl FnOnce(&Edges) -> G,
    run: impl FnOnce(&Edges, &G) -> A,
    sum_up: impl FnOnce(&Edges, A) -> Summary,
) -> Result<ContenderLine> {
    let begun = Instant::now();
    let edges = Edges::read(input)?;
    let graph = load(&edges);
    let load_s = begun.elapsed().as_secs_f64();
    let answer = run(&edges, &graph);
    let run_s = begun.elapsed().as_secs_f64() - load_s;
    let peak_bytes = Usage::now().peak_bytes as f64;
    let summary = sum_up(&edges, answer);
    Ok(ContenderLine { load_s, run_s, peak_bytes, rule: None, summary })
}

fn measure(arguments: &Arguments) -> Result<ContenderLine> {
    let Arguments { source, iterations, ref input, .. } = *arguments;
    let rows = |way| move |edges: &Edges| edges.rows(way);
    let nothing = |_: &Edges| ();
    let groups = |edges: &Edges, labels| Summary::groups(edges.of_vertices(labels).map(u64::from));
    let numbers = |edges: &Edges, values| Summary::numbers(edges.of_vertices(values));
    let mut line = match &*arguments.algorithm {
        "wcc" => clocked(
            input,
            nothing,
            |edges, (): &()| plain::components(edges.ids, &edges.pairs),
            groups,
        ),
        "scc" => clocked(input, rows(RowEnds::Out), |_, out| plain::tarjan(out), groups),
        "cdlp" => {
            clocked(input, rows(RowEnds::Both), |_, both| plain::labels(both, iterations), groups)
        }
        "mcst" => {
            let run =
                |edges: &Edges, (): &()| plain::kruskal(edges.ids, &edges.pairs, &edges.weights);
            clocked(input, nothing, run, |_, forest| {
                Summary::forest(forest.into_iter().map(f64::from))
            })
        }
        "kcore" => {
            let run = |_: &Edges, simple: &Adjacency| plain::cores(simple);
            clocked(input, Edges::simple, run, |edges, cores| {
                numbers(edges, cores.into_iter().map(f64::from).collect())
            })
        }
        "triangles" => clocked(
            input,
            Edges::simple,
            |_, simple| plain::triangles(simple),
            |_, counts| Summary::triangles(counts.into_iter().map(|count| count as f64)),
        ),
        "lcc" => clocked(input, Edges::simple, |_, simple| plain::clustering(simple), numbers),
        "bfs" => clocked(
            input,
            rows(RowEnds::Out),
            |_, out| plain::queue(out, source),
            |_, depths| {
                let reached = depths.into_iter().filter(|&depth| depth != plain::UNREACHED);
                Summary::paths(reached.map(f64::from))
            },
        ),
        "sssp" => {
            let run = |_: &Edges, out: &Adjacency| plain::dijkstra(out, source);
            clocked(input, rows(RowEnds::Out), run, |_, lengths| {
                Summary::paths(lengths.into_iter().filter(|length| length.is_finite()))
            })
        }
        "pagerank" => {
            let load = |edges: &Edges| (edges.rows(RowEnds::In), edges.named());
            let run = |_: &Edges, (incoming, named): &(Adjacency, Vec<bool>)| {
                plain::pagerank(incoming, named, iterations)
            };
            clocked(input, load, run, |_, ranks| Summary::ranks(ranks.into_iter()))
        }
        "mis" => {
            let run = |_: &Edges, both: &Adjacency| plain::greedy_set(both);
            clocked(input, Edges::simple, run, |edges, set| {
                Summary::members(edges.of_vertices(set).filter(|&member| member).count() as f64)
            })
        }
        "spmv" => {
            let run =
                |edges: &Edges, (): &()| plain::product(edges.ids, &edges.pairs, &edges.weights);
            clocked(input, nothing, run, numbers)
        }
        "conductance" => clocked(
            input,
            nothing,
            |edges, (): &()| plain::cut(&edges.pairs),
            |_, [cut, rest, set]| Summary::cut(cut as f64, set as f64, rest as f64),
        ),
        other => bail!("there is no plain loop for {other}"),
    }?;
    line.rule = (arguments.algorithm == "mis").then(|| "another set, by ids".to_owned());
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triangle 0, 1, 2 with a tail to 3, and weights.
    const EDGES: [([u32; 2], f32); 4] =
        [([0, 1], 1.0), ([1, 2], 2.0), ([2, 0], 3.0), ([2, 3], 4.0)];

    fn summary(algorithm: &str) -> Summary {
        let folder = tempfile::tempdir().unwrap();
        let weighted = ["sssp", "mcst", "spmv"].contains(&algorithm);
        let input = folder.path().join(if weighted { "a.u32f32" } else { "a.u32" });
        let mut bytes = Vec::new();
        for (pair, weight) in EDGES {
            bytes.extend_from_slice(bytemuck::bytes_of(&pair));
            bytes.extend_from_slice(if weighted { bytemuck::bytes_of(&weight) } else { &[] });
        }
        std::fs::write(&input, bytes).unwrap();
        let algorithm = algorithm.to_owned();
        measure(&Arguments { algorithm, input, source: 0, iterations: 10 }).unwrap().summary
    }

    #[test]
    fn every_loop_sums_its_answer_up() {
        let expect = |algorithm, numbers: &[(&str, f64)]| {
            let summary = summary(algorithm);
            let numbers = numbers.iter().map(|&(name, number)| (name.to_owned(), number));
            let expected = Summary(numbers.collect());
            assert_eq!(expected.differences(&summary, 0.0), [""; 0], "{algorithm}");
        };
        expect("wcc", &[("groups", 1.0), ("largest", 4.0)]);
        expect("scc", &[("groups", 2.0), ("largest", 3.0)]);
        expect("mcst", &[("edges", 3.0), ("weight", 7.0)]);
        expect("kcore", &[("sum", 7.0), ("largest", 2.0)]);
        expect("triangles", &[("triangles", 1.0)]);
        expect("lcc", &[("sum", 1.0 + 1.0 + 2.0 / 6.0), ("largest", 1.0)]);
        expect("bfs", &[("reached", 4.0), ("sum", 6.0), ("farthest", 3.0)]);
        expect("sssp", &[("reached", 4.0), ("sum", 11.0), ("farthest", 7.0)]);
        expect("spmv", &[("sum", 10.0), ("largest", 4.0)]);
        // 0 and 2 against 1 and 3: all but the edge between 2 and 0 cross.
        expect("conductance", &[("cut", 3.0), ("set", 3.0), ("rest", 5.0)]);
        expect("mis", &[("members", 2.0)]);
    }
}
