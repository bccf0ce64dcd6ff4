//! `kernel`: what one pass over the edges costs, in welter and in its baselines.
//!
//! All hold the same graph and take turns. Whole iterations of PageRank are measured, and the
//! kernel alone: a sum over incoming edges with as little around it as possible ([`InDegree`], and
//! a bare pull over compressed sparse rows). The first iteration of every turn is not counted,
//! because fresh memory is touched in it.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use rayon::{ThreadPool, ThreadPoolBuilder};
use welter_algorithms::Float as Real;
use welter_engine::{Workers, run};
use welter_progress::Progress;
use welter_store::header::Encoding;

use crate::baselines::csr::{Array, Csr, Pages, Ranking};
use crate::baselines::{cost, csr_pull};
use crate::check::{agree, distance};
use crate::engine::{self, DAMPING, InDegree, Loaded};
use crate::inputs::Shape;
use crate::measure::{Contender, Samples, interleave};
use crate::report::{Table, digits, ratio};
use crate::{Float, Settings};

#[cfg(feature = "graph-crate")]
use crate::baselines::graph_crate::Peer;
#[cfg(feature = "graph-crate")]
use crate::system::Pinned;

/// Iterations of a turn that count.
const ITERATIONS: usize = 2;

/// Iterations after which ranks are compared. The crate `graph` gets more: it takes another way to
/// the same limit, so only near the limit its ranks are comparable.
const CHECKED: usize = 5;
#[cfg(feature = "graph-crate")]
const CHECKED_PEER: usize = 30;

/// Measures all graphs of the settings.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        tables.extend(bench_graph(shape, settings)?);
    }
    Ok(tables)
}

/// The baselines' graphs, which both float types share.
struct Baselines {
    plain: Csr,
    huge: Csr,
    vertices: u64,
    #[cfg(feature = "graph-crate")]
    peer: Peer,
}

impl Baselines {
    fn load(path: &Path, shape: Shape) -> Result<Self> {
        eprintln!("{shape}: loading the baselines");
        // The crate `graph` first: it needs the most memory while it loads.
        #[cfg(feature = "graph-crate")]
        let peer = Peer::from_raw(path, true)?;
        let plain = Csr::build(path, 1 << shape.scale)?;
        Ok(Self {
            vertices: plain.vertices(),
            huge: plain.copied(Pages::Huge)?,
            plain,
            #[cfg(feature = "graph-crate")]
            peer,
        })
    }

    fn csr(&self, pages: Pages) -> &Csr {
        match pages {
            Pages::Plain => &self.plain,
            Pages::Huge => &self.huge,
        }
    }

    fn ranking<F: Real>(&self, pages: Pages) -> Result<Ranking<F>> {
        Ranking::new(self.csr(pages), self.vertices, DAMPING, pages)
    }
}

fn bench_graph(shape: Shape, settings: &Settings) -> Result<Vec<Table>> {
    let path = settings.inputs.raw(shape)?;
    let baselines = Baselines::load(&path, shape)?;
    let mut tables = Vec::new();
    for float in &settings.floats {
        tables.extend(match float {
            Float::F32 => bench_float::<f32>("f32", &path, shape, &baselines, settings)?,
            Float::F64 => bench_float::<f64>("f64", &path, shape, &baselines, settings)?,
        });
    }
    Ok(tables)
}

/// welter's graphs for one float type.
struct Ours {
    packed: Loaded,
    compressed: Loaded,
}

impl Ours {
    fn load<F: Real>(path: &Path, threads: usize) -> Result<Self> {
        let workers = Workers::new(threads)?;
        let progress = Progress::new();
        let load = |encoding| {
            Loaded::read(path, engine::layout::<F>(), Some(encoding), &workers, &progress)
        };
        let ours =
            Self { packed: load(Encoding::Packed)?, compressed: load(Encoding::Compressed)? };
        workers.trim();
        Ok(ours)
    }

    fn named(&self) -> [(&'static str, &Loaded); 2] {
        [("welter packed", &self.packed), ("welter compressed", &self.compressed)]
    }
}

fn bench_float<F: Real>(
    float: &str,
    path: &Path,
    shape: Shape,
    baselines: &Baselines,
    settings: &Settings,
) -> Result<Vec<Table>> {
    let threads_most = settings.threads.iter().copied().max().unwrap_or(1);
    eprintln!("{shape}, {float}: loading welter");
    let ours = Ours::load::<F>(path, threads_most)?;
    let checked = check::<F>(&ours, baselines, float, threads_most)?;
    let mut iterations = Vec::new();
    let mut kernels = Vec::new();
    for &threads in &settings.threads {
        let what = format!("{shape}, {float}, {threads} threads");
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let workers = Workers::new(threads)?;
        let contenders = kernel_contenders::<F>(&ours, baselines, &workers, &pool)?;
        kernels.extend(interleave(&format!("{what}, kernel"), contenders, settings.rounds)?);
        let contenders = iteration_contenders::<F>(&ours, baselines, &workers, &pool, float)?;
        iterations.extend(interleave(&format!("{what}, iteration"), contenders, settings.rounds)?);
    }
    let edges = baselines.plain.edges();
    let title = |what: &str| {
        format!("{what}, {float}, {shape}: {edges} edges, {} vertices", baselines.vertices)
    };
    let mut whole = table(title("PageRank iteration"), edges, &iterations);
    let bytes = ours.named().map(|(name, loaded)| {
        format!("{name} {:.2}", loaded.graph.chunk_bytes() as f64 / edges as f64)
    });
    whole.note(format!("Bytes per edge: {}. {checked}", bytes.join(", ")));
    Ok(vec![table(title("Kernel alone"), edges, &kernels), whole])
}

/// Whether all rank alike, as a sentence.
fn check<F: Real>(
    ours: &Ours,
    baselines: &Baselines,
    float: &str,
    threads: usize,
) -> Result<String> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut reference = baselines.ranking::<f64>(Pages::Huge)?;
    (0..CHECKED).for_each(|_| csr_pull::iterate(&baselines.huge, &mut reference, &pool));
    let wide = reference.wide();
    let most = if float == "f32" { 1e-5 } else { 1e-12 };
    let workers = Workers::new(threads)?;
    let mut worst = 0.0_f64;
    for (name, loaded) in ours.named() {
        ensure!(
            loaded.graph.vertices() == baselines.vertices,
            "{name}: another number of vertices"
        );
        ensure!(loaded.graph.edges() == baselines.plain.edges() as u64, "{name}: edges are lost");
        let ranks = engine::ranks::<F>(&loaded.graph, CHECKED as u64, &workers)?;
        let ranks = loaded.by_id(&ranks, baselines.plain.ids());
        worst = worst.max(agree(name, distance(&wide, &ranks, 1.0), most)?);
        check_degrees::<F>(loaded, &baselines.plain, &workers)?;
    }
    let mut ranking = baselines.ranking::<F>(Pages::Plain)?;
    (0..CHECKED).for_each(|_| cost::iterate(&baselines.plain, &mut ranking));
    let ranks: Vec<_> = ranking.wide().into_iter().map(Some).collect();
    worst = worst.max(agree("COST", distance(&wide, &ranks, 1.0), most)?);
    let ours = format!("Ranks after {CHECKED} iterations agree within {worst:.0e} (L1, relative)");
    #[cfg(feature = "graph-crate")]
    if float == "f32" {
        for _ in CHECKED..CHECKED_PEER {
            csr_pull::iterate(&baselines.huge, &mut reference, &pool);
        }
        let peer = &baselines.peer;
        let ranks = peer.ranks(DAMPING, CHECKED_PEER);
        let ranks: Vec<_> = ranks.into_iter().map(|rank| Some(f64::from(rank))).collect();
        let scale = peer.ids() as f64 / baselines.vertices as f64;
        let distance = agree("graph", distance(&reference.wide(), &ranks, scale), 2e-3)?;
        return Ok(format!("{ours}, `graph` after {CHECKED_PEER} within {distance:.0e}."));
    }
    Ok(ours + ".")
}

/// The kernel's own answer is exact.
fn check_degrees<F: Real>(loaded: &Loaded, csr: &Csr, workers: &Workers) -> Result<()> {
    let outcome = run(&loaded.graph, &InDegree::<F>::new(1), workers, &Progress::new())?;
    let degrees = engine::wide::<InDegree<F>>(&outcome.values.whole()?);
    let degrees = loaded.by_id(&degrees, csr.ids());
    let rows = csr.rows();
    let same = degrees.iter().enumerate().all(|(id, degree)| {
        let exact = rows.row(id).len() as f64;
        (degree.unwrap_or(0.0) - exact).abs() < 0.5
    });
    ensure!(same, "the kernel counts other in-degrees than the rows hold");
    Ok(())
}

fn kernel_contenders<'a, F: Real>(
    ours: &'a Ours,
    baselines: &'a Baselines,
    workers: &'a Workers,
    pool: &'a ThreadPool,
) -> Result<Vec<Contender<'a>>> {
    let threads = workers.threads();
    let mut contenders = Vec::new();
    for (name, loaded) in ours.named() {
        contenders.push(Contender::new(name, threads, move || {
            engine::times(&loaded.graph, InDegree::<F>::new(1 + ITERATIONS as u64), workers)
        }));
    }
    for (name, pages) in PULLS {
        let graph = baselines.csr(pages);
        let mut signals = Array::<F>::zeroed(graph.ids(), pages)?;
        signals.fill(F::of(1.0));
        let mut sums = Array::<F>::zeroed(graph.ids(), pages)?;
        contenders.push(Contender::new(name, threads, move || {
            Ok(timed(|| csr_pull::pull(graph, &signals, &mut sums, pool)))
        }));
    }
    Ok(contenders)
}

fn iteration_contenders<'a, F: Real>(
    ours: &'a Ours,
    baselines: &'a Baselines,
    workers: &'a Workers,
    pool: &'a ThreadPool,
    float: &str,
) -> Result<Vec<Contender<'a>>> {
    let threads = workers.threads();
    let mut contenders = Vec::new();
    for (name, loaded) in ours.named() {
        contenders.push(Contender::new(name, threads, move || {
            let program = engine::pagerank::<F>(&loaded.graph, 1 + ITERATIONS as u64);
            engine::times(&loaded.graph, program, workers)
        }));
    }
    for (name, pages) in PULLS {
        let (graph, mut ranking) = (baselines.csr(pages), baselines.ranking::<F>(pages)?);
        contenders.push(Contender::new(name, threads, move || {
            ranking.restart();
            Ok(timed(|| csr_pull::iterate(graph, &mut ranking, pool)))
        }));
    }
    if threads == 1 {
        let mut ranking = baselines.ranking::<F>(Pages::Plain)?;
        contenders.push(Contender::new(COST, 1, move || {
            ranking.restart();
            Ok(timed(|| cost::iterate(&baselines.plain, &mut ranking)))
        }));
    }
    #[cfg(feature = "graph-crate")]
    if float == "f32" {
        contenders.push(Contender::new(PEER, threads, move || {
            let _pinned = Pinned::to(threads)?;
            Ok(baselines.peer.times(DAMPING, ITERATIONS))
        }));
    }
    #[cfg(not(feature = "graph-crate"))]
    let _ = float;
    Ok(contenders)
}

const PULLS: [(&str, Pages); 2] =
    [("CSR pull", Pages::Plain), ("CSR pull, huge pages", Pages::Huge)];
const COST: &str = "COST";
const PEER: &str = "graph 0.3";

/// Seconds of each of some iterations; the first does not count.
fn timed(mut iterate: impl FnMut()) -> Vec<f64> {
    iterate();
    let mut seconds = Vec::new();
    for _ in 0..ITERATIONS {
        let start = Instant::now();
        iterate();
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds
}

/// One row a contender, with its speed relative to each baseline.
fn table(title: String, edges: usize, samples: &[Samples]) -> Table {
    let baselines: Vec<&str> = [PULLS[0].0, PULLS[1].0, COST, PEER]
        .into_iter()
        .filter(|name| samples.iter().any(|samples| samples.name == *name))
        .collect();
    let versus: Vec<String> = baselines.iter().map(|name| format!("vs {name}")).collect();
    let fixed = ["engine", "threads", "ms", "fastest-slowest", "ns/edge*core", "G edges/s"];
    let columns: Vec<&str> = fixed.into_iter().chain(versus.iter().map(String::as_str)).collect();
    let mut table = Table::new(title, &columns);
    for own in samples {
        let median = own.median();
        let (fastest, slowest) = own.range();
        let ns = median * 1e9 * own.threads as f64 / edges as f64;
        let mut row = vec![
            own.name.clone(),
            own.threads.to_string(),
            digits(median * 1e3),
            format!("{}-{}", digits(fastest * 1e3), digits(slowest * 1e3)),
            digits(ns),
            digits(edges as f64 / median / 1e9),
        ];
        row.extend(baselines.iter().map(|&name| {
            // COST has one thread, whatever it is compared with.
            let fits = |other: &&Samples| {
                other.name == name && (other.threads == own.threads || name == COST)
            };
            ratio(samples.iter().find(fits).map(|other| other.median() / median))
        }));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_the_same_number_of_threads_but_for_cost() {
        let samples = |name: &str, threads, seconds| Samples {
            name: name.to_owned(),
            threads,
            seconds: vec![seconds],
        };
        let all = [
            samples("welter packed", 1, 0.1),
            samples("CSR pull", 1, 0.3),
            samples(COST, 1, 0.5),
            samples("welter packed", 2, 0.05),
            samples("CSR pull", 2, 0.2),
        ];
        let table = table("t".to_owned(), 100_000_000, &all);
        assert_eq!(table.columns[6..], ["vs CSR pull", "vs COST"]);
        assert_eq!(table.rows[0][4..], ["1.00", "1.00", "3.00x", "5.00x"]);
        assert_eq!(table.rows[3][4..], ["1.00", "2.00", "4.00x", "10.0x"]);
    }
}
