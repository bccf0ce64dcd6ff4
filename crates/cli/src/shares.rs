//! The input of a run on a cluster, as a process has it: all of it, the share that a machine has
//! parsed together with the others, or the parts of a kept graph that were dealt to it.
//!
//! ```text
//! machines meet at a hub      each parses its share; all number the ids together   GraphInput
//!                             or each has parts of a graph ([`crate::dealt_parts`])
//! one is lost, or the input
//! is not read so              each parses all                                      none
//! a machine comes later       parses all shares by itself, and keeps its own       GraphInput
//! ```
//!
//! Machines read in shares that are files, of which the algorithm wants no edges beforehand and no
//! parallel ones are merged, and whose run is not kept: machines that resume one may be told
//! nothing of how it was read.
//!
//! Invariant: the machines of a run have all read shares, or have all read everything. Checked in
//! `Door::hear`, by the words of the run.

use std::thread::sleep;
use std::time::Duration;

use welter_cluster::{ClusterError, DiskRates, Hub, Member, Met, Seating};
use welter_engine::kept::KeptParts;
use welter_input::{Exchange, InputError, ReadOptions, Role, SharedInput, WeightChoice, gather};
use welter_model::edges::{EdgeList, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_progress::FailureKind;

use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::on_cluster::Beforehand;
use crate::args::{Cluster, RunOptions};
use crate::cluster_codecs::disk_share;
use crate::cluster_options::threads;
use crate::cluster_parts::PartsAt;
use crate::cluster_placement::{KnownDisks, rates_bytes, rates_of};
use crate::dealt_parts::{Deal, deal, hello};
use crate::failure::Failure;
use crate::kept_parts::wants_weights;
use crate::load::Source;
use crate::numbered::Numbered;
use crate::session::Session;

/// Pause before a machine that comes late asks again.
const PAUSE: Duration = Duration::from_millis(100);

/// Reading of a graph for an algorithm on a cluster.
pub(crate) struct InputReading {
    /// Options of readers.
    pub(crate) options: ReadOptions,
    /// Reading by which edges become a graph.
    pub(crate) reading: Reading,
    /// Whether the program looks at weights that are read.
    pub(crate) weighs: bool,
}

/// A graph as a process has it.
pub(crate) struct GraphInput {
    /// Edges of this process, and vertices of all.
    pub(crate) numbered: Numbered,
    /// Whether each edge stands for both directions: what the user said, else what formats say.
    pub(crate) undirected: bool,
    /// Notes for a person about how it was read.
    pub(crate) notes: Vec<String>,
    /// Facts of the shares, where each machine has one.
    pub(crate) shares: Option<Shares>,
}

/// Facts of the shares that machines have read.
pub(crate) struct Shares {
    /// Number of the contents of the inputs.
    pub(crate) contents: u64,
    /// Bytes that each machine has parsed.
    pub(crate) bytes: Vec<u64>,
    /// Rates of disks, as machines of several computers have told them.
    disks: KnownDisks,
    /// Deal of the shares, in words for a machine that comes later, where its share does not follow
    /// from its rank.
    pub(crate) deal: String,
}

impl InputReading {
    /// Reading by the machine of a rank, if the process is one, of as many.
    pub(crate) fn of(
        algorithm: &dyn Algorithm,
        args: &RunOptions,
        (rank, machines): (Option<usize>, usize),
    ) -> Self {
        let threads = threads(args, rank, machines);
        let mut options = args.input.options(algorithm.weights(), threads);
        let mut reading = Reading::from(args.graph);
        algorithm.read(&mut options, &mut reading);
        // A generator makes weights whether or not a program looks at them.
        let weighs = algorithm.weighs() && options.weight != WeightChoice::Ignore;
        Self { options, reading, weighs }
    }
}

impl GraphInput {
    /// All of a graph.
    pub(crate) fn all(
        source: &Source,
        wanted: InputReading,
        session: &Session,
    ) -> Result<Self, Failure> {
        let loaded = session.load(source, wanted.options)?;
        let numbered = Numbered::of(loaded.edges, loaded.ids)?;
        let (undirected, notes) = (loaded.undirected, loaded.notes);
        Ok(Self { numbered, undirected, notes, shares: None })
    }

    /// The share of a machine, of as many.
    fn of_share(shared: SharedInput, machines: usize) -> Result<Self, Failure> {
        let mut bytes = shared.bytes.clone();
        bytes.truncate(machines);
        let (disks, deal) = (KnownDisks::Unknown, String::new());
        let shares = Some(Shares { contents: shared.contents, bytes, disks, deal });
        let undirected = shared.undirected.unwrap_or(false);
        let notes = shared.notes.clone();
        Ok(Self { numbered: Numbered::of_share(shared)?, undirected, notes, shares })
    }

    /// The share with the rates of the disks of all members, which tell each other theirs; none
    /// where one is lost.
    fn with_disks(mut self, own: Option<DiskRates>, member: &mut Member) -> Option<Self> {
        let all = member.all_to_all(vec![rates_bytes(own); member.members()]).ok()?;
        if let Some(shares) = &mut self.shares {
            shares.disks = KnownDisks::Exchanged(all.iter().map(|bytes| rates_of(bytes)).collect());
        }
        Some(self)
    }

    /// The parts of a graph that a machine was dealt, of as many machines.
    fn of_parts(
        (name, parts): (&str, &KeptParts),
        deal: &Deal,
        options: &ReadOptions,
        (rank, machines, role): (usize, usize, Role),
    ) -> Result<Self, Failure> {
        let list = parts.list();
        if deal.graph != list.number() {
            return Err(changed());
        }
        let weighted = wants_weights(list, options, name)?;
        let own = deal.parts_of(rank);
        let edges: Box<dyn EdgeStream> = if own.is_empty() {
            Box::new(EdgeList::new(Some(list.slots()), weighted))
        } else {
            Box::new(parts.stream(own, weighted)?)
        };
        let ids = match parts.here().next() {
            _ if !role.wants_ids => IdMap::default(),
            Some(_) => parts.ids()?,
            None => {
                let what = "has no part of the graph, and ids are looked up or written there";
                let hint = "take as many machines as there are parts, or copy a part to this one";
                let what = format!("{name}: machine {rank} {what}");
                return Err(Failure::new(FailureKind::Missing, what).hint(hint));
            }
        };
        let (of, all) = ((ids, list.vertices()), (list.edges(), weighted));
        let bytes = vec![0; machines];
        Ok(Self {
            numbered: Numbered::of_parts(edges, of, all),
            undirected: options.undirected.unwrap_or(list.is_undirected()),
            notes: Vec::new(),
            shares: Some(Shares {
                contents: deal.graph,
                bytes,
                disks: KnownDisks::Unknown,
                deal: deal.to_string(),
            }),
        })
    }
}

/// Rates of the disks of the machines of a run, as far as this process knows them.
pub(crate) fn known_disks(
    (args, session): (&RunOptions, &Session),
    machines: usize,
    shares: Option<&Shares>,
) -> KnownDisks {
    if matches!(args.cluster.place.cluster, Some(Cluster::Local(_))) {
        return KnownDisks::Shared(disk_share(args, machines, session));
    }
    shares.map_or(KnownDisks::Unknown, |shares| shares.disks.clone())
}

/// Whether machines read a source in shares for an algorithm, as far as each knows by itself.
pub(crate) fn may_share(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (source, machines): (&Source, usize),
) -> bool {
    let is_kept = args.checkpoint.checkpoint.is_some();
    let is_plain = args.graph.drop_duplicates.is_none() && !is_kept;
    let is_read = matches!(source, Source::Files(_)) && source.lasts();
    machines > 1 && is_plain && is_read && algorithm.beforehand() != Beforehand::Edges
}

/// The part of a process in the reading of as many shares. `writes`: whether it writes results.
pub(crate) fn role(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (shares, writes): (usize, bool),
) -> Result<Role, Failure> {
    let has_lookups = algorithm.beforehand() != Beforehand::Sizes;
    let wants_ids = writes || has_lookups || PartsAt::of(&args.output)?.is_some();
    Ok(Role { shares, wants_ids })
}

/// A member whose bytes travel between processes.
struct Over<'m>(&'m mut Member);

impl Exchange for Over<'_> {
    fn me(&self) -> usize {
        self.0.me()
    }

    fn members(&self) -> usize {
        self.0.members()
    }

    fn all_to_all(&mut self, pieces: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, InputError> {
        self.0.all_to_all(pieces).map_err(|error| match error {
            ClusterError::Cancelled => InputError::Cancelled,
            error => InputError::Lost { what: error.to_string() },
        })
    }
}

/// A round in which each member says the same to all, or has failed: the failure of the first that
/// has is that of all.
pub(crate) fn agreed(
    member: &mut Member,
    own: Result<Vec<u8>, Failure>,
) -> Result<Vec<Vec<u8>>, Failure> {
    let own = own.map_err(|failure| InputError::Elsewhere {
        kind: failure.kind().unwrap_or(FailureKind::Internal),
        what: failure.message().to_owned(),
    });
    Ok(gather(&mut Over(member), own)?)
}

/// The share of a member, of files. None where they are not read so.
pub(crate) fn shared(
    (source, options): (&Source, &ReadOptions),
    session: &Session,
    (member, role): (&mut Member, Role),
) -> Result<Option<SharedInput>, InputError> {
    let Source::Files(names) = source else { return Ok(None) };
    let mut options = options.clone();
    session.limit(source, &mut options);
    let mut over = Over(member);
    let read = welter_input::read_shared(names, &options, &session.progress, &mut over, role);
    welter_engine::trim();
    read
}

/// The share of a member. None where it is not read so, or with less memory than there is, or by
/// fewer machines than are left: each reads all then, which says what is wrong.
pub(crate) fn together(
    (source, wanted): (&Source, &InputReading),
    session: &Session,
    (member, role): (&mut Member, Role),
) -> Result<Option<GraphInput>, Failure> {
    match shared((source, &wanted.options), session, (member, role)) {
        Ok(Some(shared)) => GraphInput::of_share(shared, role.shares).map(Some),
        Ok(None) => Ok(None),
        Err(error) => match error.kind() {
            FailureKind::Budget | FailureKind::Resumable | FailureKind::Internal => Ok(None),
            _ => Err(error.into()),
        },
    }
}

/// The share of a machine that comes when the others have read theirs.
pub(crate) fn alone(
    (source, wanted): (&Source, &InputReading),
    session: &Session,
    (rank, role): (usize, Role),
) -> Result<GraphInput, Failure> {
    let Source::Files(names) = source else { return Err(changed()) };
    let mut options = wanted.options.clone();
    session.limit(source, &mut options);
    let read = welter_input::read_alone(names, &options, &session.progress, (rank, role))?;
    welter_engine::trim();
    GraphInput::of_share(read.ok_or_else(changed)?, role.shares)
}

fn changed() -> Failure {
    Failure::content("the input has changed since other machines read it")
}

/// The deal of a graph whose parts are found by some machines each, once all have said which they
/// have. None where each reads all.
fn dealt(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (name, parts): (&str, &KeptParts),
    mut member: Box<Member>,
) -> Result<Option<Deal>, Failure> {
    let words = match agreed(&mut member, Ok(hello(parts))) {
        Ok(words) => words,
        Err(_) if parts.are_all_here() => return Ok(None),
        Err(failure) => return Err(failure),
    };
    let deal = deal(&words, name);
    let Some(deal) = deal.transpose() else {
        // All others have heard this one by the end of another round, which may fail.
        drop(agreed(&mut member, Ok(Vec::new())));
        return Ok(None);
    };
    member.end()?;
    let reads_all = [
        ("the algorithm", algorithm.beforehand() == Beforehand::Edges),
        ("--drop-duplicates", args.graph.drop_duplicates.is_some()),
        ("--checkpoint", args.checkpoint.checkpoint.is_some()),
    ];
    if let Some((what, _)) = reads_all.iter().find(|(_, reads_all)| *reads_all) {
        let why = "wants all edges on each machine, and each has some parts of the graph";
        return Err(Failure::usage(format!("{name}: {what} {why}"))
            .hint("leave it out, or copy all parts to each machine"));
    }
    deal.map(Some)
}

/// Outcome of coming to the hub. `is_dealt`: whether it must be said how shares were dealt out,
/// which is known a moment after all have them.
fn met(seating: &Seating, session: &Session, is_dealt: bool) -> Result<Met, ClusterError> {
    loop {
        match Member::join(seating, seating.machines, &session.progress) {
            Ok(Met::Shares(deal)) if is_dealt && deal.is_empty() => sleep(PAUSE),
            met => return met,
        }
    }
}

/// The share of a machine of several computers, or none where it is to read all; and how many
/// connections to the first machine were of none until then.
pub(crate) fn of_computers(
    algorithm: &dyn Algorithm,
    args: &RunOptions,
    (source, session): (&Source, &Session),
    seating: &Seating,
) -> Result<(Option<GraphInput>, u64), Failure> {
    let (rank, machines) = (seating.rank, seating.machines);
    let parts = match source {
        Source::Parts(name, parts) if machines > 1 => Some((&**name, &**parts)),
        _ => None,
    };
    if parts.is_none() && !may_share(algorithm, args, (source, machines)) {
        return Ok((None, 0));
    }
    let wanted = InputReading::of(algorithm, args, (Some(rank), machines));
    let role = role(algorithm, args, (machines, rank == 0))?;
    let hub = (rank == 0).then(|| Hub::open(seating, machines)).transpose()?;
    let mut seating = seating.clone();
    if let Some(hub) = hub.as_ref().filter(|hub| !hub.address().ip().is_unspecified()) {
        seating.first = hub.address().to_string();
    }
    let met = met(&seating, session, parts.is_some());
    if let Some(error) = hub.as_ref().and_then(Hub::failed) {
        return Err(error.into());
    }
    let found = match (met?, parts) {
        (Met::Verdict(Some((kind, what))), _) => return Err(Failure::new(kind, what)),
        (Met::All | Met::Verdict(None), _) => None,
        (Met::Member(member), Some((name, parts))) => {
            let of_parts = |deal: Deal| {
                let of = (rank, machines, role);
                GraphInput::of_parts((name, parts), &deal, &wanted.options, of)
            };
            dealt(algorithm, args, (name, parts), member)?.map(of_parts).transpose()?
        }
        (Met::Shares(words), Some((name, parts))) => {
            let of = (rank, machines, role);
            let deal = words.parse::<Deal>().map_err(|()| changed())?;
            Some(GraphInput::of_parts((name, parts), &deal, &wanted.options, of)?)
        }
        (Met::Member(mut member), None) => {
            let of = (&mut *member, role);
            let read = together((source, &wanted), session, of)?;
            let own = disk_share(args, machines, session);
            let read = read.and_then(|input| input.with_disks(own, &mut member));
            // All have theirs, or all read everything.
            read.filter(|_| member.end().is_ok())
        }
        (Met::Shares(words), None) if words.is_empty() => {
            Some(alone((source, &wanted), session, (rank, role))?)
        }
        (Met::Shares(_), None) => return Err(changed()),
    };
    let strangers = hub.as_ref().map_or(0, Hub::strangers);
    if let Some(hub) = hub.filter(|_| found.is_some()) {
        hub.end();
    }
    Ok((found, strangers))
}
