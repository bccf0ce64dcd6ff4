//! `welter explain ... --cluster WHERE`: the plan of a machine, before any is started.

use crate::algorithms::algorithm::Algorithm;
use crate::args::{
    CheckpointArgs, Cluster, ClusterArgs, ExplainOptions, PlaceArgs, RunOptions, TableArgs,
};
use crate::cluster::{Job, ProcessRole};
use crate::cluster_options::{check, otherwise, unfit};
use crate::computers::machines_of;
use crate::failure::Failure;
use crate::load::Source;
use crate::session::Session;
use crate::stdout::print;

/// The run that is explained.
fn explained(args: &ExplainOptions, cluster: &Cluster) -> RunOptions {
    let ExplainOptions { price, input, graph, resources, mirror, placing, .. } = args;
    let cluster = Some(cluster.clone());
    RunOptions {
        input: input.clone(),
        graph: *graph,
        output: TableArgs { output: None, output_format: None, top: 0, report: None },
        checkpoint: CheckpointArgs::default(),
        resources: resources.clone(),
        cluster: ClusterArgs {
            place: PlaceArgs { cluster, ..PlaceArgs::default() },
            mirror: *mirror,
            placing: placing.clone(),
            ..ClusterArgs::default()
        },
        price: price.clone(),
    }
}

/// Says the plan of a run on a cluster.
pub(crate) fn explain(
    algorithm: &dyn Algorithm,
    args: &ExplainOptions,
    cluster: &Cluster,
) -> Result<(), Failure> {
    let run = explained(args, cluster);
    let other = otherwise(algorithm, &run);
    let algorithm = other.as_deref().unwrap_or(algorithm);
    check(algorithm, &run)?;
    let machines = machines_of(cluster)?;
    let session = Session::start(run.resources.without_route())?;
    let source = Source::planned(&run.input, &run.resources)?;
    algorithm.check(&run.input.shown())?;
    if !source.lasts() {
        return Err(unfit("each machine reads the input, which a pipe gives once"));
    }
    let tells = matches!(cluster, Cluster::Local(_));
    let place = ProcessRole { rank: None, writes: true, tells, told: None };
    let job = Job::of(algorithm, &run, (&source, machines), (place, &session), None)?;
    let entry = algorithm.entry();
    let (routes, plan) = (job.choice.lines(), job.choice.plan_lines());
    let prices = run.price.read()?;
    let price =
        prices.map_or("", |_| "price     not foreseen: the least time of a cluster is, at best\n");
    print(&format!("algorithm {}\n          {}\n{routes}{plan}{price}", entry.name, entry.kind))
}
