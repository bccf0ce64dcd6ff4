//! Options of a run on a cluster: which are refused, and which machines follow from them.
//!
//! Invariant: what a cluster cannot do is refused before anything is read, and never left out.
//! Tested by `a_cluster_refuses_what_it_cannot_do`.

use std::num::NonZero;

use welter_cluster::send::{self, Combine, Transport};
use welter_cluster::{BIN_CHUNKS_MAX, Codecs, Settings};
use welter_engine::plan::{FrontierMode, IndexMode, human_bytes};
use welter_objects::Location;
use welter_progress::FailureKind;
use welter_protocol::config::{Copies, Route};
use welter_protocol::steal::Bias;
use welter_store::header::Encoding;

use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::on_cluster::{ClusterProgram, refused};
use crate::args::{
    Cluster, ClusterArgs, CombineArg, MachineRoute, MirrorArg, RouteArg, RunOptions, TransportArg,
};
use crate::choice::FallbackReason;
use crate::cluster_codecs;
use crate::failure::Failure;

/// Sub-ranges of a machine that sends messages, at most: each computation thread has a ring of
/// buckets for each of the cluster.
pub(crate) const SUB_RANGES_MAX: usize = 16;

/// Chunks that a machine streams at a time, at most.
const STREAMS_MAX: usize = 64;

/// Most vertices of a graph whose updates wait on storage.
const VERTICES_MAX: u64 = 1 << 31;

/// Refuses graphs with more vertices than machines take.
pub(crate) fn check_vertices(vertices: u64) -> Result<(), Failure> {
    if vertices <= VERTICES_MAX {
        return Ok(());
    }
    Err(unfit(format!("a cluster takes {VERTICES_MAX} vertices at most, not {vertices}")))
}

/// Refuses options that machines do not have.
pub(crate) fn check(algorithm: &dyn Algorithm, args: &RunOptions) -> Result<(), Failure> {
    if let Some((option, why)) = lacking(algorithm, args) {
        return Err(refused(option, why));
    }
    if algorithm.tables().iter().chain(args.input.vertex_tables()).any(|name| name == "-") {
        return Err(unfit("each machine reads the table, which standard input gives once"));
    }
    let sends = args.resources.route == Some(RouteArg::Send);
    let is_local = matches!(args.cluster.place.cluster, Some(Cluster::Local(_)));
    if args.checkpoint.checkpoint.is_some() {
        let is_ray = matches!(args.cluster.place.cluster, Some(Cluster::Ray(_)));
        check_checkpoint(sends, is_ray)?;
    }
    check_uploads(args)?;
    if let Some(what) = misplaced(args, sends) {
        return Err(unfit(what));
    }
    check_transport(&args.cluster, sends, is_local)?;
    match args.resources.route {
        None | Some(RouteArg::Fold | RouteArg::Spill | RouteArg::Send) => Ok(()),
        Some(_) => Err(unfit("--route: a cluster has the routes fold, spill and send")),
    }
}

/// An option that is stated and that no machine has, and the reason why.
fn lacking(algorithm: &dyn Algorithm, args: &RunOptions) -> Option<(&'static str, &'static str)> {
    let resources = &args.resources;
    let disks = "a machine has its blocks in one directory";
    let cells = "chunks of machines are cut by partitions and cells, not by stripes and blocks";
    let schedules = "machines leave out chunks without active sources, and have no other schedule";
    let sets = "vertex sets of machines are on their disks until they are at work on them";
    let options = [
        ("--checkpoint-disk", disks, !args.checkpoint.checkpoint_disks.is_empty()),
        ("--stripe-bits", cells, resources.stripe_bits.is_some()),
        ("--block-bits", cells, resources.block_bits.is_some()),
        ("--vertices-in-memory", sets, resources.vertices_in_memory),
        ("--frontier", schedules, algorithm.frontier() != FrontierMode::Auto),
        ("--index", schedules, algorithm.index() != IndexMode::Auto),
    ];
    let stated = options.into_iter().find(|(.., is_stated)| *is_stated);
    stated.map(|(option, why, _)| (option, why))
}

/// Words about an option that is stated and is not of the route.
fn misplaced(args: &RunOptions, sends: bool) -> Option<&'static str> {
    let resources = &args.resources;
    let spills = resources.route == Some(RouteArg::Spill);
    let compresses = cluster_codecs::stated(resources) != Codecs::None;
    let packed = "--encoding: machines of --route send have packed edges in memory";
    let alone = "--mirror: machines of --route send keep values at barriers alone";
    let owners = "--placement: machines of --route send have the edges of their vertices";
    let is_placed = args.cluster.placing.placement.is_some();
    let options = [
        ("--edge-memory is of --route send", !sends && resources.edge_memory.is_some()),
        ("--combine is of --route send", !sends && args.cluster.combine.is_some()),
        ("--senders is of --route send", !sends && args.cluster.senders.is_some()),
        ("--no-combine is of --route spill", !spills && resources.no_combine),
        ("--no-fuse is of --route spill", !spills && resources.no_fuse),
        ("--compression: machines of --route send store no chunks", sends && compresses),
        (packed, sends && resources.encoding.is_some()),
        (alone, sends && copies(args) != Copies::NONE),
        (owners, sends && is_placed),
    ];
    options.into_iter().find(|(_, is_misplaced)| *is_misplaced).map(|(what, _)| what)
}

/// Refuses stated parts of objects that take more than half of a stated budget, which they are
/// beside what a machine has in memory until its result is written.
fn check_uploads(args: &RunOptions) -> Result<(), Failure> {
    let is_sent = args.output.output.as_deref().and_then(Location::of).is_some();
    let (stated, memory) = (args.resources.write_requests(), args.resources.memory);
    let Some((requests, memory)) = stated.zip(memory).filter(|_| is_sent) else { return Ok(()) };
    let need = requests.memory_bytes();
    if need <= memory / 2 {
        return Ok(());
    }
    let [need, has] = [need, memory].map(human_bytes);
    let what = format!("--memory {has}: parts on their way to a bucket take {need}");
    let hint = "take smaller ones (--write-size), fewer (--in-flight), or more memory";
    Err(Failure::new(FailureKind::Budget, what).hint(hint))
}

/// Refuses ways of messages that machines do not have.
fn check_transport(args: &ClusterArgs, sends: bool, is_local: bool) -> Result<(), Failure> {
    let has_card = args.dpdk_device.is_some();
    let what = match args.transport {
        Some(_) if !sends => return Err(unfit("--transport is of --route send")),
        Some(TransportArg::Shared) if !is_local => {
            "--transport shared: several computers have no memory in common"
        }
        Some(TransportArg::Dpdk) if cfg!(not(feature = "dpdk")) => {
            let what = "--transport dpdk: this build does not have it";
            let way = "take tcp, udp or shared, or build with `--features dpdk` where \
                       `libdpdk-dev` is installed: docs/dpdk.md";
            return Err(Failure::usage(what).hint(way));
        }
        Some(TransportArg::Dpdk) if !is_local && !has_card => {
            "--transport dpdk: several computers want --dpdk-device, the card between them"
        }
        Some(TransportArg::Dpdk) if is_local && has_card => {
            "--dpdk-device: processes of one computer have memory in place of a card"
        }
        Some(TransportArg::Dpdk) => return Ok(()),
        _ if has_card => "--dpdk-device is of --transport dpdk",
        _ => return Ok(()),
    };
    Err(Failure::usage(what).hint("take tcp or udp"))
}

/// The other way of an algorithm whose first one does not have the route that is forced.
pub(crate) fn otherwise(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
) -> Option<Box<dyn Algorithm>> {
    let sends = args.resources.route == Some(RouteArg::Send);
    sends.then(|| algorithm.otherwise(FallbackReason::Route)).flatten()
}

/// Refuses checkpoints that a cluster does not make.
fn check_checkpoint(sends: bool, is_ray: bool) -> Result<(), Failure> {
    let what = match (sends, is_ray) {
        (true, _) => "machines of --route send keep nothing of an iteration",
        (_, true) => "actors have files of their own, in the directories of Ray",
        _ => return Ok(()),
    };
    Err(unfit(format!("--checkpoint: {what}")))
}

/// Settings of a program on as many machines and vertices, before there is a route.
pub(crate) fn settings(
    args: &RunOptions,
    program: &ClusterProgram,
    (machines, vertices): (usize, u64),
) -> Settings {
    let resources = &args.resources;
    let kept = args.checkpoint.checkpoint.as_deref();
    Settings {
        edges: program.edges,
        carries: program.carries,
        bias: bias(args),
        copies: copies(args),
        encoding: resources.settings(0).encoding.unwrap_or(Encoding::Packed),
        combines: !resources.no_combine,
        streams: machine_threads(args).clamp(1, STREAMS_MAX),
        bin_chunks: BIN_CHUNKS_MAX,
        codecs: cluster_codecs::stated(resources),
        is_copied: kept.and_then(Location::of).is_some(),
        checkpoint_interval: checkpoint_interval(args),
        ..Settings::new(machines, vertices, program.vertex_bytes, Route::Fold)
    }
}

/// Iterations from one checkpoint to the next.
pub(crate) fn checkpoint_interval(args: &RunOptions) -> u32 {
    let every = args.checkpoint.checkpoint_every.map_or(1, NonZero::get);
    u32::try_from(every).unwrap_or(u32::MAX)
}

/// Threads of a machine that computes: as stated, or its share of the cores of this computer.
fn machine_threads(args: &RunOptions) -> usize {
    let here =
        if let Some(Cluster::Local(machines)) = args.cluster.place.cluster { machines } else { 1 };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    args.resources.threads.unwrap_or(cores / here)
}

/// Settings of messages between machines, of which some are on this computer.
pub(crate) fn sending(args: &RunOptions) -> send::Settings {
    let threads = machine_threads(args);
    let transport = match args.cluster.transport {
        None | Some(TransportArg::Tcp) => Transport::Tcp,
        Some(TransportArg::Udp) => Transport::Udp,
        Some(TransportArg::Shared) => Transport::Shared,
        #[cfg(feature = "dpdk")]
        Some(TransportArg::Dpdk) => Transport::Dpdk,
        #[cfg(not(feature = "dpdk"))]
        Some(TransportArg::Dpdk) => unreachable!("it is refused"),
    };
    let combine = match args.cluster.combine {
        None | Some(CombineArg::Auto) => Combine::Auto,
        Some(CombineArg::Always) => Combine::Always,
        Some(CombineArg::Never) => Combine::Never,
    };
    // Each sub-range has two threads.
    let senders = args.cluster.senders.map_or(0, usize::from);
    let sub_ranges = (threads.saturating_sub(senders) / 2).clamp(1, SUB_RANGES_MAX);
    let edge_bytes = args.resources.edge_memory.unwrap_or(u64::MAX);
    send::Settings {
        transport,
        #[cfg(feature = "dpdk")]
        card: args.cluster.dpdk_device.as_ref().map(|device| send::Card {
            device: device.clone(),
            options: words(args.cluster.dpdk_options.as_deref()),
        }),
        sub_ranges,
        senders: senders.min(sub_ranges),
        combine,
        edge_bytes,
        faults: faults(),
        ..send::Settings::default()
    }
}

/// Faults that tests plant: builds that are shipped know of none.
fn faults() -> Option<send::Faults> {
    let text =
        cfg!(debug_assertions).then(|| std::env::var("WELTER_TEST_FAULTS").ok()).flatten()?;
    Some(send::Faults::of(&text).unwrap_or_else(|| panic!("WELTER_TEST_FAULTS={text}")))
}

/// Words of options that DPDK has.
#[cfg(feature = "dpdk")]
fn words(options: Option<&str>) -> Vec<String> {
    options.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

pub(crate) fn unfit(what: impl Into<String>) -> Failure {
    Failure::usage(what.into()).hint("leave --cluster out to run in this process")
}

/// Readiness of machines to be helped.
fn bias(args: &RunOptions) -> Bias {
    let thousandths = |alpha: f64| Bias::Thousandths((alpha * 1000.0).round() as u32);
    args.cluster.steal_bias.map_or(Bias::PAPER, thousandths)
}

/// Blocks that lie on a second machine too.
fn copies(args: &RunOptions) -> Copies {
    match args.cluster.mirror {
        None | Some(MirrorArg::None) => Copies::NONE,
        Some(MirrorArg::Vertices) => Copies::VERTICES,
        Some(MirrorArg::All) => Copies::BOTH,
    }
}

/// Threads that read the input, as stated: else machines that are processes of one computer share
/// its cores.
pub(crate) fn threads(args: &RunOptions, rank: Option<usize>, machines: usize) -> Option<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_local = matches!(args.cluster.place.cluster, Some(Cluster::Local(_)));
    let share = (is_local && rank.is_some()).then_some((cores / machines).max(1));
    args.resources.threads.or(share)
}

/// The route that is stated. `must_wait`: whether the program has no updates that do not wait on
/// storage.
pub(crate) fn stated_route(
    route: Option<RouteArg>,
    must_wait: bool,
) -> Result<Option<MachineRoute>, Failure> {
    match route {
        Some(RouteArg::Fold) if must_wait => {
            let what = "--route fold: rows of triangles travel between machines as updates, which \
                        wait nowhere on this route";
            Err(unfit(what))
        }
        None => Ok(None),
        Some(RouteArg::Send) => Ok(Some(MachineRoute::Send)),
        Some(RouteArg::Fold) => Ok(Some(MachineRoute::Fold)),
        // Others than `spill` are refused before.
        Some(_) => Ok(Some(MachineRoute::Spill)),
    }
}

/// An option that is given and that route `send` does not take, or that says nothing there.
pub(crate) fn not_of_send(args: &RunOptions) -> Option<&'static str> {
    let options = [
        ("--checkpoint", args.checkpoint.checkpoint.is_some()),
        ("--mirror", copies(args) != Copies::NONE),
        ("--steal-bias", args.cluster.steal_bias.is_some()),
        ("--placement", args.cluster.placing.placement.is_some()),
        ("--encoding", args.resources.encoding.is_some()),
        ("--compression", cluster_codecs::stated(&args.resources) != Codecs::None),
    ];
    options.into_iter().find(|(_, is_stated)| *is_stated).map(|(option, _)| option)
}

/// Name of a way of messages.
pub(crate) fn transport_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
        Transport::Shared => "shared",
        #[cfg(feature = "dpdk")]
        Transport::Dpdk => "dpdk",
    }
}
