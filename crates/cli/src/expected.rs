//! Expected times of a run beside those that it took.

use std::time::Duration;

use serde::Serialize;
use welter_engine::plan::{Expected, ExpectedCodec, Forecast, Plan, Round, Traffic, human_bytes};
use welter_engine::{Graph, Throughput};
use welter_store::io::VolumeStats;

use crate::failure::Failure;
use crate::number_format;
use crate::session::Session;

/// Throughput of this machine, and the times that are expected then, for people.
pub(crate) fn lines(plan: &Plan, throughput: &Throughput) -> String {
    let Expected { forecast: Forecast { ingest, iteration }, traffic, codec } =
        plan.expected(throughput);
    let about = |seconds: f64| number_format::seconds(Duration::from_secs_f64(seconds));
    let mut lines = Vec::new();
    if ingest.seconds() > 0.0 {
        let took = about(ingest.seconds());
        lines.push(format!("about {took} to bin and sort the edges, once they are read"));
    }
    let took = about(iteration.seconds());
    lines.extend(match plan.round() {
        Round::Iteration => vec![format!("about {took} an iteration at most")],
        Round::OnePass => vec![format!("about {took} for the pass over them")],
        Round::Pass => vec![
            format!("about {took} a pass over all edges, more where many of them change a value"),
            "how many passes there will be, and what later ones read, is not known".to_owned(),
        ],
        Round::Rows => vec![
            format!("about {took} or more each time that edges are read"),
            "how often that is, and how long rows take to meet, is not known; it is most of the run"
                .to_owned(),
        ],
    });
    // Where little is stored the device was not looked at.
    if plan.storage().is_some() && throughput.read < u64::MAX {
        let [read, write] = [throughput.read, throughput.write].map(|rate| rate as f64 / 1e9);
        // A bucket that is read alone is not written to.
        let writes = if throughput.write < u64::MAX {
            format!(", and writes {write:.2}")
        } else {
            String::new()
        };
        let limit = iteration.limit();
        lines.push(format!("the limit is the {limit}; storage reads {read:.2} GB/s{writes}"));
    }
    lines.extend(codec.iter().flat_map(|codec| of_codec(codec, traffic)));
    format!("time      {}", lines.join(&format!("\n{:10}", "")))
}

/// Lines on a codec that is expected to be used, for people.
fn of_codec(codec: &ExpectedCodec, traffic: Traffic) -> [String; 2] {
    let ExpectedCodec { compression, edges, edge_bytes, rates: [compress, decompress], .. } = codec;
    let name = compression.name();
    let Traffic { read, written } = traffic;
    let [read, written] = [read, written].map(human_bytes);
    let takes = match edge_bytes {
        Some(bytes) => format!("{bytes:.2} bytes an edge, as the graph is kept"),
        None => format!(
            "{:.0} % of the bytes of edges, about (of web graphs half that or less)",
            100.0 * edges
        ),
    };
    [
        format!("{name}: {takes}: {read} read an iteration, {written} written"),
        format!(
            "measured here, a core: {name} takes {:.0} MB/s, and gives {:.0}",
            compress / 1e6,
            decompress / 1e6,
        ),
    ]
}

/// Expected and measured figures, for reports.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Compared {
    expected: Figures,
    took: Figures,
}

/// Figures of a run, expected or measured.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    /// To bin and to sort the edges; none for graphs that are kept.
    ingest_seconds: f64,
    /// Of an iteration.
    iteration_seconds: f64,
    /// From storage, an iteration.
    iteration_bytes_read: u64,
    /// To storage, an iteration.
    iteration_bytes_written: u64,
}

impl Compared {
    /// After `iterations`, each of which met all edges.
    ///
    /// # Errors
    /// When storage fails that is looked at.
    pub(crate) fn of(graph: &Graph, iterations: u64, session: &Session) -> Result<Self, Failure> {
        let plan = graph.plan();
        let throughput = plan.throughput.map_or_else(|| session.throughput(plan), Ok)?;
        let Expected { forecast: Forecast { ingest, iteration }, traffic, .. } =
            plan.expected(&throughput);
        let Traffic { read, written } = traffic;
        let phases = session.progress.finished();
        let seconds = |names: [&str; 2]| -> f64 {
            let named = phases.iter().filter(|phase| names.contains(&phase.name));
            named.map(|phase| phase.elapsed.as_secs_f64()).sum()
        };
        let VolumeStats { bytes_read, bytes_written, .. } = session.moved();
        let each = iterations.max(1);
        let is_ingested = phases.iter().any(|phase| phase.name == "partition");
        Ok(Self {
            expected: Figures {
                ingest_seconds: if is_ingested { ingest.seconds() } else { 0.0 },
                iteration_seconds: iteration.seconds(),
                iteration_bytes_read: read,
                iteration_bytes_written: written,
            },
            took: Figures {
                ingest_seconds: seconds(["partition", "sort"]),
                iteration_seconds: seconds(["iterate", "pass"]) / each as f64,
                iteration_bytes_read: bytes_read / each,
                iteration_bytes_written: bytes_written / each,
            },
        })
    }

    /// Ratio of the time that iterations took to the time that was expected. None of programs over
    /// triangles, which have none: how often these read the edges was not foreseen.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let Figures { iteration_seconds: took, .. } = self.took;
        (took > 0.0).then(|| took / self.expected.iteration_seconds)
    }
}
