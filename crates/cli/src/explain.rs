//! `welter explain`: the plan of a run and the memory that it will take, before anything runs.

use std::fmt::Write;

use welter_engine::plan::human_bytes;
use welter_input::IdKind;

use crate::algorithms::Algorithm;
use crate::args::{ExplainOptions, GraphArgs, InputArgs};
use crate::attempt::attempt;
use crate::choice::MethodUsed;
use crate::cluster_explain;
use crate::expected;
use crate::failure::Failure;
use crate::kept_parts;
use crate::load::{self, Source};
use crate::price_forecast::PriceForecast;
use crate::session::{Forecast, InputRequests, Session};
use crate::stdout::print;

/// Does it.
pub(crate) fn explain(algorithm: &dyn Algorithm, args: &ExplainOptions) -> Result<(), Failure> {
    if let Some(cluster) = &args.cluster {
        return cluster_explain::explain(algorithm, args, cluster);
    }
    let mut session = Session::start(args.resources.clone())?;
    session.prices = args.price.read()?;
    let source = Source::planned(&args.input, &args.resources)?;
    print(&explained(algorithm, (&args.input, args.graph), &source, &session)?)
}

/// The text.
pub(crate) fn explained(
    algorithm: &dyn Algorithm,
    graph: (&InputArgs, GraphArgs),
    source: &Source,
    session: &Session,
) -> Result<String, Failure> {
    let wanted = |algorithm: &dyn Algorithm| algorithm.wanted(source, graph, &session.resources);
    let (other, forecast) =
        attempt(algorithm, source, session, |algorithm| session.forecast(&wanted(algorithm)))?;
    let algorithm = other.as_deref().unwrap_or(algorithm);
    let wanted = wanted(algorithm);
    let mut forecast = forecast.ok_or_else(|| {
        Failure::usage("nothing is known of a pipe before it is read; name a file")
    })?;
    if !matches!(source, Source::Kept(..)) && session.look(&forecast.plan)? {
        forecast = session.forecast(&wanted)?.unwrap_or(forecast);
    }
    let plan = &forecast.plan;
    let price = session.prices.as_ref().map(|prices| PriceForecast {
        prices,
        plan,
        input: forecast.traffic,
        iterations: algorithm.stated_iterations(),
        pinned_share: source.pinned_share(),
    });
    let mut text = describe(algorithm, source, &forecast, wanted.reading.reversed);
    if plan.scans_input() {
        text.extend(price.map(|price| price.of_scan()));
        return Ok(text);
    }
    let throughput = match source {
        Source::Kept(_, kept) => session.throughput_of(plan, kept)?,
        Source::Files(_) | Source::Parts(..) | Source::Generator(..) | Source::InMemoryEdges(_) => {
            session.throughput(plan)?
        }
    };
    text += &expected::lines(plan, &throughput);
    text += "\n";
    text.extend(price.map(|price| price.of_run(&throughput)));
    Ok(text)
}

fn describe(
    algorithm: &dyn Algorithm,
    source: &Source,
    forecast: &Forecast,
    reversed: bool,
) -> String {
    let Forecast { plan, estimate, .. } = forecast;
    let entry = algorithm.entry();
    let input = match source {
        Source::Files(names) => load::shown(names),
        Source::Generator(spec, _) => format!("{spec}, generated"),
        Source::Kept(directory, _) => format!("{directory}, kept"),
        Source::Parts(directory, parts) => {
            format!("{directory}, kept in {}", kept_parts::count(parts.list()))
        }
        Source::InMemoryEdges(held) => format!("{}, in memory", held.name()),
    };
    let ids = match estimate.ids {
        IdKind::Names => "strings",
        IdKind::Integers => "integers",
        IdKind::Auto => "not known",
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "algorithm {}", entry.name);
    let _ = writeln!(text, "          {}", entry.kind);
    if let Some(MethodUsed { name, why }) = algorithm.taken() {
        let _ = writeln!(text, "method    {name}: {why}");
    }
    let _ = writeln!(text, "input     {input}");
    let direction = match (estimate.undirected, reversed) {
        (Some(true), _) => ", edges undirected",
        (_, true) => ", edges read backwards",
        (_, false) => "",
    };
    let _ = writeln!(text, "          ids are {ids}{direction}");
    text += &describe_reading(source, forecast);
    let _ = writeln!(text, "{plan}");
    if !estimate.exact {
        let _ = writeln!(text, "estimated the number of edges, from a sample of the input");
    }
    if estimate.slots.is_none() {
        let what = match estimate.slots_seen {
            Some(_) => "the number of vertices, from some of the ids; a run counts them",
            None => "the number of vertices: one for 8 edges is assumed; a run counts them",
        };
        let label = if estimate.exact { "estimated" } else { "" };
        let _ = writeln!(text, "{label:<10}{what}");
    }
    text
}

/// Lines on how the input is read.
fn describe_reading(source: &Source, forecast: &Forecast) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    if let Some(InputRequests { bytes, in_flight, probed }) = forecast.requests {
        let size = human_bytes(bytes);
        let why = if probed { ", after what the probe found" } else { "" };
        let times = format!("{in_flight} at a time a reader{why}");
        let _ = writeln!(text, "          {size} a request for it at most, {times}");
    }
    if let Some(traffic) = forecast.traffic {
        let _ = writeln!(text, "          {traffic}");
    }
    let pinned = 100.0 * source.pinned_share();
    if pinned > 0.0 {
        let what = "of its edges have a place on the disk in front";
        let _ = writeln!(text, "          {pinned:.0} % {what}");
    }
    text
}
