//! `traverse`: breadth-first search, shortest paths and components beside loops over compressed
//! sparse rows and the crate `graph`.
//!
//! Every run is a whole one on a loaded graph: it takes its columns and leaves an answer for every
//! vertex, which is compared with the plain loop's. A turn has two runs, of which the first does
//! not count: it touches fresh memory, or finds its own out of the caches. Searches begin at the id
//! with the most outgoing edges. Weights are 1 to 255, from a hash of the ends.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use rayon::{ThreadPool, ThreadPoolBuilder};
use welter_algorithms::{Bfs, Sssp, Wcc};
use welter_engine::plan::{self, IndexMode, Layout};
use welter_engine::{Workers, pass, run};
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_progress::Progress;

use crate::Settings;
use crate::baselines::search::{self, Rows, UNREACHED};
use crate::engine::Loaded;
use crate::inputs::Shape;
use crate::measure::{Contender, Samples, interleave};
use crate::report::{Table, digits, ratio};

#[cfg(feature = "graph-crate")]
use crate::baselines::graph_crate::{Peer, WeightedPeer};
#[cfg(feature = "graph-crate")]
use crate::system::Pinned;

/// Measures all graphs of the settings.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        let path = settings.inputs.raw(shape)?;
        tables.extend(bfs(&path, shape, settings)?);
        tables.push(wcc(&path, shape, settings)?);
        tables.push(sssp(&path, shape, settings)?);
    }
    Ok(tables)
}

/// A graph for programs of some layout, and what loading took, in seconds. `Rows` are for graphs
/// that are searched again and again, like the rows of all others here.
fn load(
    path: &Path,
    layout: Layout,
    weighted: bool,
    index: IndexMode,
    workers: &Workers,
) -> Result<(Loaded, f64)> {
    let start = Instant::now();
    let progress = Progress::new();
    let loaded = if weighted {
        Loaded::read_with_weights(path, layout, search::weight, index, workers, &progress)?
    } else {
        let settings = plan::Settings { index, ..plan::Settings::default() };
        Loaded::read_as(path, layout, settings, workers, &progress)?
    };
    Ok((loaded, start.elapsed().as_secs_f64()))
}

/// The first column of an answer, by original id; what is no vertex gets `missing`.
fn by_id<V: Value>(loaded: &Loaded, values: &[V], ids: usize, missing: f64) -> Vec<f64> {
    let numbers: Vec<f64> = match V::columns(values).swap_remove(0).1 {
        ColumnData::I64(values) => values.into_iter().map(|value| value as f64).collect(),
        ColumnData::F32(values) => values.into_iter().map(f64::from).collect(),
        ColumnData::Vertices(values) => {
            let ids = loaded.vertex_ids();
            values.into_iter().map(|vertex| ids[vertex as usize] as f64).collect()
        }
        _ => Vec::new(),
    };
    loaded.by_id(&numbers, ids).into_iter().map(|value| value.unwrap_or(missing)).collect()
}

fn timed<R>(run: impl FnOnce() -> Result<R>) -> Result<Vec<f64>> {
    let start = Instant::now();
    let answer = run()?;
    let seconds = start.elapsed().as_secs_f64();
    drop(answer);
    Ok(vec![seconds])
}

/// The second of two runs.
fn warm<R>(mut run: impl FnMut() -> Result<R>) -> Result<Vec<f64>> {
    timed(&mut run)?;
    timed(run)
}

fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

fn bfs(path: &Path, shape: Shape, settings: &Settings) -> Result<Vec<Table>> {
    eprintln!("{shape}: loading for breadth-first search");
    let ids = 1 << shape.scale;
    let workers = Workers::new(settings.threads_most())?;
    let (loaded, load_s) = load(path, Layout::of::<Bfs>(), false, IndexMode::Rows, &workers)?;
    drop(workers);
    let out = Rows::build(path, ids, false, false)?;
    let incoming = Rows::build(path, ids, true, false)?;
    let source = out.longest();
    let program = Bfs::new(vec![loaded.number_of(source)]);

    let expected = search::queue_bfs(&out, source);
    let expected: Vec<f64> =
        expected.iter().map(|&d| if d == UNREACHED { -1.0 } else { f64::from(d) }).collect();
    let progress = Progress::new();
    let mut levels = String::new();
    let mut samples = Vec::new();
    for &threads in &settings.threads {
        let (workers, pool) = (Workers::new(threads)?, pool(threads)?);
        let outcome = run(&loaded.graph, &program, &workers, &progress)?;
        let found = by_id(&loaded, &outcome.values.whole()?, ids, -1.0);
        ensure!(found == expected, "welter finds other depths than the queue");
        let read: u64 = outcome.levels.iter().map(|level| level.edges).sum();
        levels = format!(
            "welter looked at {:.2} times the edges in {} levels.",
            read as f64 / loaded.graph.edges() as f64,
            outcome.levels.len()
        );
        if outcome.levels.len() < 20 {
            eprintln!("{:?}", outcome.levels);
        }
        let mut contenders = vec![
            Contender::new(WELTER, threads, || {
                warm(|| Ok(run(&loaded.graph, &program, &workers, &progress)?))
            }),
            Contender::new("CSR, both directions", threads, || {
                warm(|| Ok(search::hybrid_bfs(&out, &incoming, source, &pool)))
            }),
        ];
        if threads == 1 {
            contenders.push(Contender::new("CSR, queue", 1, || {
                warm(|| Ok(search::queue_bfs(&out, source)))
            }));
        }
        let what = format!("{shape}, {threads} threads, bfs");
        samples.extend(interleave(&what, contenders, settings.rounds)?);
    }
    let arguments = ["-r".to_owned(), source.to_string()];
    let gap_note = gap("bfs", shape, false, &arguments, settings, &mut samples)?;
    let mut loaded_table = table("Breadth-first search", shape, out.edges(), &samples);
    loaded_table.note(format!(
        "{levels} Loading took welter {load_s:.1} s, with rows of both ends.{gap_note}"
    ));
    drop(loaded);
    let whole = from_raw(path, shape, settings, (&out, &incoming, source))?;
    Ok(vec![loaded_table, whole])
}

/// From the file of pairs to depths, once.
fn from_raw(
    path: &Path,
    shape: Shape,
    settings: &Settings,
    (out, incoming, source): (&Rows, &Rows, u32),
) -> Result<Table> {
    let progress = Progress::new();
    let samples = {
        let threads = settings.threads_most();
        let (workers, pool) = (Workers::new(threads)?, pool(threads)?);
        let mut contenders = vec![Contender::new(WELTER, threads, || {
            timed(|| {
                let layout = Layout::of::<Bfs>();
                let (loaded, _) = load(path, layout, false, IndexMode::Auto, &workers)?;
                let program = Bfs::new(vec![loaded.number_of(source)]);
                Ok(run(&loaded.graph, &program, &workers, &progress)?)
            })
        })];
        #[cfg(feature = "graph-crate")]
        contenders.push(Contender::new("graph 0.3, then CSR", threads, || {
            timed(|| {
                let _pinned = Pinned::to(threads)?;
                let peer = Peer::from_raw(path, false)?;
                Ok((peer, search::hybrid_bfs(out, incoming, source, &pool)))
            })
        }));
        #[cfg(not(feature = "graph-crate"))]
        let _ = (out, incoming, &pool);
        contenders.push(Contender::new("CSR, queue", 1, || {
            timed(|| {
                let out = Rows::build(path, 1 << shape.scale, false, false)?;
                Ok(search::queue_bfs(&out, source))
            })
        }));
        let what = format!("{shape}, {threads} threads, bfs from raw pairs");
        interleave(&what, contenders, settings.rounds.min(2))?
    };
    let what = "Breadth-first search from raw pairs, loading included";
    let mut table = table(what, shape, out.edges(), &samples);
    table.note(
        "`graph` has no breadth-first search: its loader's time, and that of the search on rows of \
         both directions, as it holds.",
    );
    Ok(table)
}

fn wcc(path: &Path, shape: Shape, settings: &Settings) -> Result<Table> {
    eprintln!("{shape}: loading for components");
    let ids = 1 << shape.scale;
    let workers = Workers::new(settings.threads_most())?;
    let (loaded, load_s) =
        load(path, Layout::of_stream::<Wcc>(), false, IndexMode::Auto, &workers)?;
    drop(workers);
    #[cfg(feature = "graph-crate")]
    let peer = Peer::from_raw(path, true)?;
    let out = Rows::build(path, ids, false, false)?;
    let expected: Vec<f64> = search::forest_wcc(&out).into_iter().map(f64::from).collect();
    let progress = Progress::new();
    let mut samples = Vec::new();
    for &threads in &settings.threads {
        let workers = Workers::new(threads)?;
        let values = pass(&loaded.graph, &Wcc, &workers, &progress)?.values;
        let found = by_id(&loaded, &values.whole()?, ids, -1.0);
        // Ids are whole numbers; those that no edge names are no vertices of welter's.
        let same = |(found, label): (&f64, &f64)| *found < 0.0 || (found - label).abs() < 0.5;
        let same = found.iter().zip(&expected).all(same);
        ensure!(same, "welter finds other components than the forest");
        let mut contenders = vec![Contender::new(WELTER, threads, || {
            warm(|| Ok(pass(&loaded.graph, &Wcc, &workers, &progress)?))
        })];
        #[cfg(feature = "graph-crate")]
        contenders.push(Contender::new(PEER, threads, || {
            let _pinned = Pinned::to(threads)?;
            warm(|| Ok(peer.components()))
        }));
        if threads == 1 {
            contenders
                .push(Contender::new("CSR, forest", 1, || warm(|| Ok(search::forest_wcc(&out)))));
        }
        let what = format!("{shape}, {threads} threads, wcc");
        samples.extend(interleave(&what, contenders, settings.rounds)?);
    }
    let gap = gap("cc", shape, false, &[], settings, &mut samples)?;
    let mut table = table("Weakly connected components", shape, out.edges(), &samples);
    table.note(format!("Loading took welter {load_s:.1} s.{gap}"));
    Ok(table)
}

fn sssp(path: &Path, shape: Shape, settings: &Settings) -> Result<Table> {
    eprintln!("{shape}: loading for shortest paths");
    let ids = 1 << shape.scale;
    let workers = Workers::new(settings.threads_most())?;
    let (loaded, load_s) = load(path, Layout::of::<Sssp<f32>>(), true, IndexMode::Rows, &workers)?;
    drop(workers);
    #[cfg(feature = "graph-crate")]
    let peer = WeightedPeer::from_raw(path, |pair| f32::from(search::weight(pair)))?;
    let out = Rows::build(path, ids, false, true)?;
    let source = out.longest();
    let program = Sssp::<f32>::new(vec![loaded.number_of(source)], BUCKET);
    let expected: Vec<f64> = search::heap_sssp(&out, source)
        .into_iter()
        .map(|distance| if distance == u64::MAX { f64::INFINITY } else { distance as f64 })
        .collect();
    let progress = Progress::new();
    let mut samples = Vec::new();
    let mut levels = String::new();
    for &threads in &settings.threads {
        let workers = Workers::new(threads)?;
        let outcome = run(&loaded.graph, &program, &workers, &progress)?;
        let found = by_id(&loaded, &outcome.values.whole()?, ids, f64::INFINITY);
        ensure!(found == expected, "welter finds other distances than the heap");
        let read: u64 = outcome.levels.iter().map(|level| level.edges).sum();
        levels = format!(
            "welter looked at {:.2} times the edges in {} levels.",
            read as f64 / loaded.graph.edges() as f64,
            outcome.levels.len()
        );
        let mut contenders = vec![Contender::new(WELTER, threads, || {
            warm(|| Ok(run(&loaded.graph, &program, &workers, &progress)?))
        })];
        #[cfg(feature = "graph-crate")]
        contenders.push(Contender::new(PEER, threads, || {
            let _pinned = Pinned::to(threads)?;
            warm(|| Ok(peer.distances(source as usize, BUCKET as f32)))
        }));
        if threads == 1 {
            contenders.push(Contender::new("CSR, heap", 1, || {
                warm(|| Ok(search::heap_sssp(&out, source)))
            }));
        }
        let what = format!("{shape}, {threads} threads, sssp");
        samples.extend(interleave(&what, contenders, settings.rounds)?);
    }
    let arguments = ["-r", &source.to_string(), "-d", &BUCKET.to_string()].map(str::to_owned);
    let gap = gap("sssp", shape, true, &arguments, settings, &mut samples)?;
    let mut table = table("Shortest paths, weights 1 to 255", shape, out.edges(), &samples);
    table.note(format!("{levels} Loading took welter {load_s:.1} s.{gap}"));
    Ok(table)
}

/// Adds what the GAP suite takes, where there is one, and says how long it loaded.
fn gap(
    program: &str,
    shape: Shape,
    weighted: bool,
    arguments: &[String],
    settings: &Settings,
    samples: &mut Vec<Samples>,
) -> Result<String> {
    let Some(gap) = &settings.gap else { return Ok(String::new()) };
    let mut note = String::new();
    for &threads in &settings.threads {
        let graph = (&settings.inputs, shape, weighted);
        let trials = gap.run(program, graph, arguments, (threads, settings.rounds))?;
        note = format!(" Reading text and building rows took GAP {:.1} s.", trials.load_s);
        samples.push(trials.samples);
    }
    Ok(note)
}

const WELTER: &str = "welter";
#[cfg(feature = "graph-crate")]
const PEER: &str = "graph 0.3";

/// Width of the buckets of distances, for all who have buckets: half of the mean weight.
const BUCKET: f64 = 64.0;

/// One row a contender, with its time relative to welter's on as many threads.
fn table(what: &str, shape: Shape, edges: usize, samples: &[Samples]) -> Table {
    let columns = ["engine", "threads", "ms", "fastest-slowest", "ns/edge*core", "welter is"];
    let mut table = Table::new(format!("{what}, {shape}: {edges} edges"), &columns);
    for own in samples {
        let (fastest, slowest) = own.range();
        let like = |other: &&Samples| other.name == WELTER && other.threads == own.threads;
        let welter = samples.iter().find(like).map(Samples::median);
        table.row(vec![
            own.name.clone(),
            own.threads.to_string(),
            digits(own.median() * 1e3),
            format!("{}-{}", digits(fastest * 1e3), digits(slowest * 1e3)),
            digits(own.median() * 1e9 * own.threads as f64 / edges as f64),
            ratio(welter.map(|welter| own.median() / welter)),
        ]);
    }
    table
}
