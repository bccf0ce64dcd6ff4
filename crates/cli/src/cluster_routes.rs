//! Choice of the route of a cluster: `send` where each machine has room for states and updates,
//! else `fold`, else `spill`.
//!
//! ```text
//! stated   --route: kept, or refused
//! told     processes of one computer have the route of the command that starts them
//! free     by program, options and memory, and by time where disk and network are known
//! ```
//!
//! Several computers have memory, cores and disks of their own, and nothing tells all of them what
//! one has chosen. So they choose by what all are given: options, graph and number of machines.
//! Without `--memory` that is not enough for `send`, and no time is foreseen there.
//!
//! Invariant: machines of one run take one route. Checked in `Hello::refusal`, by the words of the
//! run, of which the route is one. A choice changes no answer. Tested by
//! `the_route_that_is_chosen_changes_no_answer`.

use std::fmt::Write;

use welter_cluster::send::{self, Transport};
use welter_cluster::{Rates, Settings};
use welter_engine::Machine;
use welter_engine::plan::{Device, human_bytes};
use welter_model::ids::IdMap;
use welter_protocol::config::Route;
use welter_protocol::placement::Placement;

use crate::args::{Cluster, MachineRoute, RunOptions};
use crate::cluster_forecast::{MachineForecast, Speeds};
use crate::cluster_options::{SUB_RANGES_MAX, not_of_send, stated_route, unfit};
use crate::cluster_placement::{self, PlacementChoice};
use crate::cluster_plan::{MachinePlan, PlanFigures, Premises, refusal};
use crate::failure::Failure;
use crate::session::Session;

/// Factor by which another route must be foreseen to be faster to be taken before a preferred one:
/// forecasts of bytes are within this factor of what becomes of them.
const SURELY: f64 = 3.0;

/// Route of a run, with its plan.
#[derive(Clone, Debug)]
pub(crate) struct RouteChoice {
    /// The route.
    pub(crate) route: MachineRoute,
    /// Settings of the cluster.
    pub(crate) settings: Settings,
    /// Footprint of machines, as far as that is known.
    pub(crate) plan: Option<MachinePlan>,
    /// Reason for it, in words.
    pub(crate) reason: String,
    /// Place of chunks, where machines store some.
    pub(crate) placement: Option<PlacementChoice>,
    speeds: Speeds,
    /// Bytes of a machine for which it was chosen, where memory was looked at.
    memory_bytes: Option<u64>,
    /// All routes, in words, where this process says them.
    routes: Vec<String>,
}

impl RouteChoice {
    /// A route with its plan, the bytes of memory that it was planned for, and why it is taken.
    /// Chunks have no placement yet.
    fn new(
        premises: &Premises<'_>,
        (route, plan, memory_bytes): (MachineRoute, Option<MachinePlan>, Option<u64>),
        reason: String,
    ) -> Self {
        Self {
            route,
            settings: Settings { route: protocol(route), ..premises.settings },
            plan,
            reason,
            placement: None,
            speeds: Speeds::default(),
            memory_bytes,
            routes: Vec::new(),
        }
    }

    /// The choice, as a machine is told it.
    pub(crate) fn told(&self) -> String {
        format!("{}:{}", self.route.name(), self.memory_bytes.unwrap_or(0))
    }

    /// The choice for a person.
    pub(crate) fn lines(&self) -> String {
        let mut text = format!("route     {}: {}\n", self.route.name(), self.reason);
        for route in &self.routes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "          {route}");
        }
        if let Some(placement) = &self.placement {
            let _ = writeln!(text, "placement {}: {}", placement.name(), placement.reason);
        }
        text
    }

    /// Forecasts of all machines, by rank, where they have a plan.
    fn forecasts(&self) -> Vec<MachineForecast> {
        let Some(plan) = &self.plan else { return Vec::new() };
        self.speeds.forecast(plan.footprint(), plan.work(), self.placement.as_ref())
    }

    /// Figures of the plan of each machine, where they have one.
    pub(crate) fn figures(&self) -> Vec<PlanFigures> {
        let figures = |plan: &MachinePlan| -> Vec<PlanFigures> {
            self.forecasts().iter().map(|forecast| plan.figures(forecast)).collect()
        };
        self.plan.as_ref().map_or_else(Vec::new, figures)
    }

    /// The plan of machines for a person, with the time that is foreseen.
    pub(crate) fn plan_lines(&self) -> String {
        match &self.plan {
            Some(plan) => plan.lines() + &self.speeds.lines(&self.forecasts()),
            None => "memory    not foreseen: rows of triangles are as many as the graph has\n\
                     time      not foreseen, likewise\n"
                .to_owned(),
        }
    }

    /// Chooses where chunks lie, and notes by which speeds times are foreseen.
    fn place(&mut self, premises: &Premises<'_>, args: &RunOptions) -> Result<(), Failure> {
        let (machines, disks) = (premises.settings.machines, premises.disks);
        let stated = args.cluster.placing.network.map(|rate| rate as f64);
        let is_local = matches!(args.cluster.place.cluster, Some(Cluster::Local(_)));
        // The network of one computer is what a byte costs its cores.
        let sending = self.plan.as_ref().and_then(|plan| plan.sending.as_ref());
        let transport = sending.map_or(Transport::Tcp, |sending| sending.transport);
        let network = stated.or(is_local.then(|| transport.bytes_per_second()));
        let sharing = if is_local { machines } else { 1 };
        self.speeds = Speeds { disks: disks.clone(), network, machines, sharing };
        if self.route == MachineRoute::Send {
            return Ok(());
        }
        let how = args.cluster.placing.placement.as_ref();
        let footprint = self.plan.as_ref().map(MachinePlan::footprint);
        let placement = cluster_placement::choose(how, machines, (disks, stated), footprint)?;
        if placement.placement == Placement::Owner {
            self.plan = self.plan.take().map(MachinePlan::with_owners);
        }
        self.placement = Some(placement);
        Ok(())
    }
}

/// The route of a run. `tells`: whether other machines are told it, and `told`: the one that this
/// machine was told, with bytes of memory for which it was chosen. `written`: ids of the result,
/// and vertices that are in memory at a time, where this process writes it.
pub(crate) fn choose(
    premises: &Premises<'_>,
    (args, session): (&RunOptions, &Session),
    (tells, told): (bool, Option<(MachineRoute, u64)>),
    written: (&IdMap, Option<u64>),
) -> Result<RouteChoice, Failure> {
    let (program, memory) = (premises.program, args.resources.memory);
    let stated = stated_route(args.resources.route, program.carries)?;
    if program.widths.is_none() && memory.is_some() && stated == Some(MachineRoute::Spill) {
        return Err(unfit("--memory: rows of triangles are not bounded by it on route spill"));
    }
    let limits = || Limits::of(premises, (args, session), tells);
    let mut choice = match (stated, told) {
        (_, Some((route, memory_bytes))) => {
            // A route that is stated is bounded by a budget that is stated alone.
            let chosen_for = stated.is_none().then_some(memory_bytes);
            let chosen_for = chosen_for.filter(|bytes| *bytes > 0);
            fixed(premises, stated.unwrap_or(route), [memory, chosen_for])?
        }
        (Some(route), None) => {
            let candidates = limits().candidates(premises);
            let line = |it: &Candidate| it.line(it.refused_for(route));
            let routes = candidates.iter().map(line).collect();
            RouteChoice { routes, ..fixed(premises, route, [memory, None])? }
        }
        (None, None) => limits().free(premises)?,
    };
    choice.place(premises, args)?;
    if let Some(plan) = choice.plan.take() {
        let sent = program.sent.as_ref().ok().map(|(_, widths)| *widths);
        let widths = if plan.sending.is_some() { sent } else { program.widths };
        let plan = plan.with_writing(widths, written, memory)?;
        choice.settings = plan.settings;
        choice.plan = Some(plan);
    }
    Ok(choice)
}

/// The plan of a route in a budget.
fn planned(
    premises: &Premises<'_>,
    route: MachineRoute,
    (budget, is_sure): (Option<u64>, bool),
) -> Result<Option<MachinePlan>, u64> {
    if route == MachineRoute::Send {
        return premises.messages(budget, is_sure);
    }
    premises.chunks(protocol(route), budget)
}

/// The route of the protocol; machines that send have none, and settings of `fold`.
fn protocol(route: MachineRoute) -> Route {
    match route {
        MachineRoute::Send | MachineRoute::Fold => Route::Fold,
        MachineRoute::Spill => Route::Spill,
    }
}

/// A route that is stated or told, in a budget that is stated, or in memory for which it was chosen
/// elsewhere.
fn fixed(
    premises: &Premises<'_>,
    route: MachineRoute,
    [stated, chosen_for]: [Option<u64>; 2],
) -> Result<RouteChoice, Failure> {
    let budget = if route == MachineRoute::Send { stated.or(chosen_for) } else { stated };
    let plan = match planned(premises, route, (budget, false)) {
        // A machine may hold more of the input than the command that chose.
        Err(_) if stated.is_none() => planned(premises, route, (None, false)),
        plan => plan,
    };
    let plan = plan.map_err(|need| refusal(stated.unwrap_or(need), need))?;
    Ok(RouteChoice::new(premises, (route, plan, budget), "it is stated".to_owned()))
}

/// Bounds within which routes are planned.
struct Limits {
    /// Bytes of a machine, as stated.
    stated: Option<u64>,
    /// Bytes of a machine that sends.
    sending: Option<u64>,
    /// Sub-ranges of a machine that sends, by which its memory is reckoned.
    sub_ranges: usize,
    /// An option that `send` does not take.
    option: Option<&'static str>,
    /// Whether checkpoints are kept, which are of one route.
    is_kept: bool,
    /// Disk that machines of one computer share, and their number, where that is known.
    disk: Option<(Device, usize)>,
    /// Bytes a second of a machine's network, where they are stated.
    network: Option<f64>,
}

impl Limits {
    fn of(premises: &Premises<'_>, (args, session): (&RunOptions, &Session), tells: bool) -> Self {
        let (machines, stated) = (premises.settings.machines, args.resources.memory);
        // Machines that are told share the memory of this computer.
        let free = || args.resources.settings(0).budget(&Machine::detect());
        let share = || free() / machines as u64;
        let is_kept = args.checkpoint.checkpoint.is_some();
        let device = if tells && !is_kept { session.device() } else { None };
        Self {
            stated,
            sending: stated.or_else(|| tells.then(share)),
            sub_ranges: if tells { premises.sending.sub_ranges } else { SUB_RANGES_MAX },
            option: not_of_send(args),
            is_kept,
            disk: device.map(|device| (device, machines)),
            network: args.cluster.placing.network.map(|rate| rate as f64),
        }
    }

    /// The route that is best, where none is stated.
    fn free(&self, premises: &Premises<'_>) -> Result<RouteChoice, Failure> {
        let candidates = self.candidates(premises);
        let Some(best) = best(&candidates) else {
            let least = candidates.iter().filter_map(|it| it.least).min().unwrap_or(u64::MAX);
            return Err(refusal(self.stated.unwrap_or(least), least));
        };
        let route = candidates[best].route;
        let budget = if route == MachineRoute::Send { self.sending } else { self.stated };
        // With the sub-ranges of this machine, which are no more than were reckoned with.
        let plan = planned(premises, route, (budget, false));
        let plan = plan.map_err(|need| refusal(self.stated.unwrap_or(need), need))?;
        let why_not = |at: usize| candidates[at].refused_by(&candidates[best]);
        let routes = candidates.iter().enumerate();
        let routes = routes.map(|(at, it)| it.line((at != best).then(|| why_not(at)))).collect();
        let before = (0..best).map(|at| format!("not {}: {}", candidates[at].name(), why_not(at)));
        let before: Vec<String> = before.collect();
        let has_room = "each machine has room for states and updates".to_owned();
        let reason = if before.is_empty() { has_room } else { before.join("; ") };
        Ok(RouteChoice { routes, ..RouteChoice::new(premises, (route, plan, budget), reason) })
    }

    fn candidates(&self, premises: &Premises<'_>) -> Vec<Candidate> {
        let sending = send::Settings { sub_ranges: self.sub_ranges, ..premises.sending.clone() };
        let premises = Premises { sending, ..*premises };
        MachineRoute::ALL.map(|route| self.candidate(&premises, route)).into()
    }

    fn candidate(&self, premises: &Premises<'_>, route: MachineRoute) -> Candidate {
        let budget = if route == MachineRoute::Send { self.sending } else { self.stated };
        let (plan, need) = match planned(premises, route, (budget, true)) {
            Ok(plan) => (plan, None),
            Err(need) => (None, Some(need)),
        };
        let lacking = self.lacking(premises, route);
        let least = need.filter(|_| lacking.is_none());
        let is_over = |(need, budget): (u64, u64)| {
            let [need, budget] = [need, budget].map(human_bytes);
            format!("a machine takes {need} of memory at least, and has {budget}")
        };
        let seconds = plan.as_ref().and_then(|plan| self.seconds(route, plan));
        let why_not = lacking.or_else(|| least.zip(budget).map(is_over));
        Candidate { route, plan, least, seconds, why_not }
    }

    /// Reason why a route cannot be taken, whatever memory there is.
    fn lacking(&self, premises: &Premises<'_>, route: MachineRoute) -> Option<String> {
        let program = premises.program;
        match route {
            MachineRoute::Send => {
                let why_not = match &program.sent {
                    Ok((kernel, _)) => send::Job::check(kernel).err(),
                    Err(why) => Some(*why),
                };
                if let Some(why) = why_not {
                    return Some(why.to_owned());
                }
                let option = self.option.map(|option| format!("it does not take {option}"));
                let unknown = "what memory each machine has is not known: --memory says it";
                option.or_else(|| self.sending.is_none().then(|| unknown.to_owned()))
            }
            MachineRoute::Fold if program.carries => {
                Some("rows of triangles wait on storage".to_owned())
            }
            MachineRoute::Spill if program.widths.is_none() && self.stated.is_some() => {
                Some("rows of triangles are bounded by no budget there".to_owned())
            }
            MachineRoute::Spill if self.is_kept && !program.carries => {
                Some("checkpoints are of `fold`, however much memory a run has".to_owned())
            }
            MachineRoute::Fold | MachineRoute::Spill => None,
        }
    }

    /// Seconds of an iteration over all edges, where disk and network are known: that of one
    /// computer by what messages cost its cores.
    fn seconds(&self, route: MachineRoute, plan: &MachinePlan) -> Option<f64> {
        let (device, machines) = self.disk?;
        let share = |rate: u64| rate as f64 / machines as f64;
        let sending = plan.sending.as_ref().filter(|_| route == MachineRoute::Send);
        let transport = sending.map_or(Transport::Tcp, |sending| sending.transport);
        let (read, write) = (share(device.read), share(device.write));
        let network = self.network.unwrap_or_else(|| transport.bytes_per_second());
        let rates = Rates { read, write, network };
        Some(plan.footprint().iteration_seconds(&rates))
    }
}

/// A route that may be taken.
struct Candidate {
    route: MachineRoute,
    /// The plan, where it fits and memory of the program is foreseen.
    plan: Option<MachinePlan>,
    /// The least budget with which it could be taken, where it lacks nothing else.
    least: Option<u64>,
    /// Seconds of an iteration, where these are foreseen.
    seconds: Option<f64>,
    /// Reason why it cannot be taken.
    why_not: Option<String>,
}

impl Candidate {
    fn name(&self) -> &'static str {
        self.route.name()
    }

    fn is_surely_faster(&self, other: &Self) -> bool {
        let both = self.seconds.zip(other.seconds);
        both.is_some_and(|(own, others)| SURELY * own < others)
    }

    /// Reason why it was not taken where another one was.
    fn refused_by(&self, taken: &Self) -> String {
        let name = taken.name();
        match &self.why_not {
            Some(why) => why.clone(),
            None if taken.is_surely_faster(self) => format!("{name} is surely faster"),
            None => format!("{name} comes first"),
        }
    }

    /// Reason why it was not taken where a route is stated, if it is another one.
    fn refused_for(&self, stated: MachineRoute) -> Option<String> {
        (self.route != stated).then(|| format!("--route {} is stated", stated.name()))
    }

    /// The route in words, with the reason why it was not taken, if it was not.
    fn line(&self, why_not: Option<String>) -> String {
        let figures = self.plan.as_ref().map(|plan| {
            let footprint = plan.footprint();
            let [memory, disk, network] =
                [footprint.memory_bytes(), footprint.moved_bytes(), footprint.sent_bytes]
                    .map(human_bytes);
            let time = self.seconds.map(|it| format!(", in {:.1} ms", 1e3 * it));
            format!(
                "{memory} of memory a machine; {disk} from and to its disk and {network} to \
                 others in an iteration{}",
                time.unwrap_or_default()
            )
        });
        let why_not = why_not.map(|why| format!("not taken: {why}"));
        let parts: Vec<String> = figures.into_iter().chain(why_not).collect();
        let parts = if parts.is_empty() { "taken".to_owned() } else { parts.join("; ") };
        format!("{}: {parts}", self.name())
    }
}

/// Place of the candidate that is taken: the first one that can be, or a later one that is surely
/// faster.
fn best(candidates: &[Candidate]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (at, candidate) in candidates.iter().enumerate() {
        let is_better = best.is_none_or(|best| candidate.is_surely_faster(&candidates[best]));
        if candidate.why_not.is_none() && is_better {
            best = Some(at);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(of: [(Option<f64>, bool); 3]) -> Vec<Candidate> {
        let candidate = |(route, (seconds, fits)): (MachineRoute, (Option<f64>, bool))| {
            let why_not = (!fits).then(|| "it has no room".to_owned());
            Candidate { route, plan: None, least: None, seconds, why_not }
        };
        MachineRoute::ALL.into_iter().zip(of).map(candidate).collect()
    }

    #[test]
    fn routes_are_taken_in_their_order_or_by_time_where_that_is_sure() {
        let taken = |of| best(&candidates(of)).map(|at| MachineRoute::ALL[at].name());
        let none = (None, true);
        assert_eq!(taken([none, none, none]), Some("send"));
        assert_eq!(taken([(None, false), none, none]), Some("fold"));
        assert_eq!(taken([(None, false), (None, false), none]), Some("spill"));
        assert_eq!(taken([(None, false); 3]), None);
        let within = |seconds| (Some(seconds), true);
        assert_eq!(taken([within(2.0), within(1.0), within(1.0)]), Some("send"), "not surely");
        assert_eq!(taken([within(4.0), within(1.0), within(0.5)]), Some("fold"));
        assert_eq!(taken([within(4.0), (Some(1.0), false), within(0.5)]), Some("spill"));
        assert_eq!(taken([within(4.0), none, none]), Some("send"), "others are not known");
    }

    #[test]
    fn a_route_that_is_not_taken_says_why() {
        let routes = candidates([(None, false), (None, true), (None, true)]);
        let line = |at: usize| routes[at].line(Some(routes[at].refused_by(&routes[1])));
        assert_eq!(line(0), "send: not taken: it has no room");
        assert_eq!(line(2), "spill: not taken: fold comes first");
        let fast = candidates([(Some(9.0), true), (Some(1.0), true), (None, true)]);
        assert_eq!(fast[0].refused_by(&fast[1]), "fold is surely faster");
        let stated = routes[2].refused_for(MachineRoute::Fold);
        assert_eq!(stated.as_deref(), Some("--route fold is stated"));
        assert_eq!(routes[1].refused_for(MachineRoute::Fold), None);
    }
}
