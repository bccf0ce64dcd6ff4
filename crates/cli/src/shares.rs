//! The input of a run on a cluster, as a process has it: all of it, or the share that a machine has
//! parsed together with the others.
//!
//! ```text
//! machines meet at a hub      each parses its share; all number the ids together   GraphInput
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

use welter_cluster::{ClusterError, DiskRates, Hub, Member, Met, Seating};
use welter_input::{Exchange, InputError, ReadOptions, Role, SharedInput, WeightChoice};
use welter_model::edges::Reading;
use welter_progress::FailureKind;

use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::on_cluster::Beforehand;
use crate::args::{Cluster, RunOptions};
use crate::cluster_codecs::disk_share;
use crate::cluster_options::threads;
use crate::cluster_parts::PartsAt;
use crate::cluster_placement::{KnownDisks, rates_bytes, rates_of};
use crate::failure::Failure;
use crate::load::Source;
use crate::numbered::Numbered;
use crate::session::Session;

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
        let shares = Some(Shares { contents: shared.contents, bytes, disks: KnownDisks::Unknown });
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
}

/// Rates of the disks of the machines of a run, as far as this process knows them.
pub(crate) fn known_disks(
    (args, session): (&RunOptions, &Session),
    machines: usize,
    shares: Option<&Shares>,
) -> KnownDisks {
    if matches!(args.cluster.cluster, Some(Cluster::Local(_))) {
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

/// The share of a member. None where it is not read so, or with less memory than there is, or by
/// fewer machines than are left: each reads all then, which says what is wrong.
pub(crate) fn together(
    (source, wanted): (&Source, &InputReading),
    session: &Session,
    (member, role): (&mut Member, Role),
) -> Result<Option<GraphInput>, Failure> {
    let Source::Files(names) = source else { return Ok(None) };
    let mut options = wanted.options.clone();
    session.limit(source, &mut options);
    let mut over = Over(member);
    let read = welter_input::read_shared(names, &options, &session.progress, &mut over, role);
    welter_engine::trim();
    match read {
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
    let changed = || Failure::content("the input has changed since other machines read it");
    let Source::Files(names) = source else { return Err(changed()) };
    let mut options = wanted.options.clone();
    session.limit(source, &mut options);
    let read = welter_input::read_alone(names, &options, &session.progress, (rank, role))?;
    welter_engine::trim();
    GraphInput::of_share(read.ok_or_else(changed)?, role.shares)
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
    if !may_share(algorithm, args, (source, machines)) {
        return Ok((None, 0));
    }
    let wanted = InputReading::of(algorithm, args, (Some(rank), machines));
    let role = role(algorithm, args, (machines, rank == 0))?;
    let hub = (rank == 0).then(|| Hub::open(seating, machines)).transpose()?;
    let mut seating = seating.clone();
    if let Some(hub) = hub.as_ref().filter(|hub| !hub.address().ip().is_unspecified()) {
        seating.first = hub.address().to_string();
    }
    let met = Member::join(&seating, machines, &session.progress);
    if let Some(error) = hub.as_ref().and_then(Hub::failed) {
        return Err(error.into());
    }
    let input = match met? {
        Met::Member(mut member) => {
            let of = (&mut *member, role);
            let read = together((source, &wanted), session, of)?;
            let own = disk_share(args, machines, session);
            let read = read.and_then(|input| input.with_disks(own, &mut member));
            // All have theirs, or all read everything.
            read.filter(|_| member.end().is_ok())
        }
        Met::Shares => Some(alone((source, &wanted), session, (rank, role))?),
        Met::Verdict(Some((kind, what))) => return Err(Failure::new(kind, what)),
        Met::All | Met::Verdict(None) => None,
    };
    let strangers = hub.as_ref().map_or(0, Hub::strangers);
    if let Some(hub) = hub.filter(|_| input.is_some()) {
        hub.end();
    }
    Ok((input, strangers))
}
