//! `welter ingest --cluster`: machines read an input together, and each keeps its part of the graph
//! on a disk of its own, for later runs.
//!
//! ```text
//! begin     what ingests left that did not end goes; nothing else is in the way   all -> all
//! read      a share each, with the numbers of all ids ([`crate::shares`])
//! keep      a kept graph of the share: edges and weights, degrees, all ids         all -> all
//! publish   the list of all parts, beside them                                     all -> all
//! ```
//! Each line ends with a round in which all say that they are well, or the first failure is that of
//! all. With processes of one computer the command is a member too, which keeps no part.
//!
//! **Invariant:** no machine writes the list before all have said that their parts are on their
//! devices, so an ingest that is killed leaves no graph. Checked in `together`. Tested by
//! `an_ingest_that_is_killed_leaves_no_graph`. **Invariant:** a machine of a command outlives it by
//! a few seconds at most. Checked in `end_with_host`. Tested by
//! `machines_end_with_the_command_that_ingests`.

use std::path::Path;
use std::sync::Arc;

use welter_cluster::{Host, Hub, Member, Merged, Met, OwnEdges, Processes, Seating, Trust};
use welter_engine::Machine;
use welter_engine::kept::{self, KeepOptions, PartDraft, PartEntry, PartsList, StaleStaging};
use welter_engine::plan::human_bytes;
use welter_input::{Role, SharedInput, source as sources};
use welter_model::edges::{EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::stream_wrapper::StreamWrapper;
use welter_objects::Location;
use welter_progress::{FailureKind, Progress};

use crate::args::{Cluster, MachineRoute, ResourceArgs, Seat, SeatReading};
use crate::cluster_options::unfit;
use crate::computers;
use crate::contents;
use crate::directions::Directions;
use crate::failure::{Failure, printable};
use crate::ingest::{IngestArgs, is_there, request, say_left};
use crate::interrupt;
use crate::kept_parts;
use crate::load::Source;
use crate::loaded::Loaded;
use crate::local_machines::{end_with_host, machine, seating};
use crate::number_format::{counted, seconds};
use crate::numbered::Numbered;
use crate::say;
use crate::session::Session;
use crate::shares::{agreed, shared};

/// Words that name an ingest: of the program, and of the command.
const NAMES: usize = 2;

/// Result of an ingest.
struct Ingested {
    list: PartsList,
    stale: StaleStaging,
    notes: Vec<String>,
}

/// Place of a member: its rank, if it keeps a part, among as many machines.
#[derive(Clone, Copy)]
struct Place {
    rank: Option<usize>,
    machines: usize,
    /// Whether machines are computers, whose copies of an input may differ.
    is_apart: bool,
}

/// Reads a graph into parts on the disks of machines.
pub(crate) fn ingest(args: &IngestArgs, cluster: &Cluster) -> Result<(), Failure> {
    check(args)?;
    match (cluster, &args.place.cluster_machine) {
        (Cluster::Ray(_), _) => {
            let what = "--cluster ray: actors have files of their own, which go with them";
            Err(Failure::usage(what).hint("take local:N, static:FILE or env"))
        }
        (Cluster::Local(machines), Some(seat)) => be(args, (*machines, seat)),
        (Cluster::Local(machines), None) => host(args, *machines),
        _ => take_part(args, &computers::seating(&args.place, cluster)?),
    }
}

/// Refuses options that machines do not have.
fn check(args: &IngestArgs) -> Result<(), Failure> {
    if Location::of(&args.output).is_some() {
        let what = "--cluster: machines keep a graph on disks of their own, and not in a bucket";
        return Err(Failure::usage(what).hint("name a directory, or leave --cluster out"));
    }
    if args.disks.are_stated() {
        return Err(unfit("--disk: each machine keeps its part in one directory"));
    }
    if args.input.vertex_tables().any(|name| name == "-") {
        return Err(unfit("each machine reads the table, which standard input gives once"));
    }
    Ok(())
}

/// Starts machines, of which it is the hub, and says what they have kept.
fn host(args: &IngestArgs, machines: usize) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    refuse_to_replace(args)?;
    let stale = kept::clear_left_parts(&args.output);
    let all = machines + 1;
    let hub = Hub::open(&seating(machines, machines, 0), all)?;
    let port = hub.address().port();
    let words = format!("{}:0:{}", MachineRoute::Fold.name(), SeatReading::Joint(port));
    let command = move |rank: usize, directory: &Path, above: u32| {
        machine((rank, above), (&words, NAMES), directory)
    };
    let scratch = session.resources.scratch().into_iter().next().unwrap_or_default();
    let host = Processes::new(machines, &scratch, Box::new(command));
    let mut host = host.cancelled_with(&session.progress);
    let place = Place { rank: None, machines, is_apart: false };
    let done = (|| {
        host.begin()?;
        let seat = seating(machines, machines, port);
        let met = Member::join_while(&seat, all, &session.progress, &mut || host.are_begun())?;
        let Met::Member(member) = met else { return Err(lost("a machine has ended")) };
        together(args, *member, (place, Ok(&session)))
    })();
    let done = done.inspect_err(|_| {
        // Machines are of no use any more.
        (0..machines).for_each(|rank| host.stop(rank));
        kept::clear_left_parts(&args.output);
    })?;
    hub.end();
    say_kept(args, &mut session, Ingested { stale, ..done }, None);
    Ok(())
}

fn lost(what: &str) -> Failure {
    let what = format!("{what}, so nothing is kept");
    Failure::new(FailureKind::Resumable, what).hint("ingest it again")
}

/// Is a machine of a command, which hears of what goes wrong.
fn be(args: &IngestArgs, (machines, seat): (usize, &Seat)) -> Result<(), Failure> {
    let SeatReading::Joint(port) = seat.reading else {
        return Err(Failure::bug("machines that ingest have a hub"));
    };
    let resources = args.resources.without_route();
    let budget = resources.settings(0).budget(&Machine::detect()) / machines as u64;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let resources = ResourceArgs {
        memory: resources.memory.or(Some(budget)),
        threads: resources.threads.or(Some((cores / machines).max(1))),
        ..resources
    };
    let progress = Progress::new();
    let session = end_with_host(&progress).and_then(|()| Session::within(resources, &progress));
    let place = seating(seat.rank, machines, port);
    if let Ok(Met::Member(member)) = Member::join(&place, place.machines, &progress) {
        let place = Place { rank: Some(seat.rank), machines, is_apart: false };
        let session = session.as_ref().map_err(again);
        // The command says it.
        drop(together(args, *member, (place, session)));
    }
    Ok(())
}

/// The failure, for others.
fn again(failure: &Failure) -> Failure {
    failure.saying(failure.message())
}

/// Is a machine of several computers.
fn take_part(args: &IngestArgs, seat: &Seating) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    if matches!(seat.trust, Trust::Network) {
        say::line(format_args!(
            "warning: machines prove nothing to each other, and what they say can be read"
        ));
    }
    let (rank, machines) = (seat.rank, seat.machines);
    let hub = (rank == 0).then(|| Hub::open(seat, machines)).transpose()?;
    let mut seat = seat.clone();
    if let Some(hub) = hub.as_ref().filter(|hub| !hub.address().ip().is_unspecified()) {
        seat.first = hub.address().to_string();
    }
    let met = Member::join(&seat, machines, &session.progress);
    if let Some(error) = hub.as_ref().and_then(Hub::failed) {
        return Err(error.into());
    }
    let member = match met? {
        Met::Member(member) => member,
        Met::Verdict(Some((kind, what))) => return Err(Failure::new(kind, what)),
        _ => return Err(lost("the other machines have begun without this one")),
    };
    let place = Place { rank: Some(rank), machines, is_apart: true };
    let done = together(args, *member, (place, Ok(&session)))?;
    if let Some(hub) = hub {
        hub.end();
    }
    say_kept(args, &mut session, done, (rank > 0).then_some(rank));
    Ok(())
}

/// Says what was kept: all of it, or the part of one machine.
fn say_kept(args: &IngestArgs, session: &mut Session, done: Ingested, part: Option<usize>) {
    let Ingested { list, stale, notes } = done;
    session.end_progress();
    for note in notes {
        session.say(&format!("note: {}", printable(&note)));
    }
    say_left(session, stale);
    let name = printable(&args.output.display().to_string());
    if let Some(entry) = part.and_then(|part| list.parts().get(part)) {
        let (part, all) = (part.unwrap_or(0), kept_parts::count(&list));
        let (edges, bytes) = (counted(entry.edges, "edge", "edges"), human_bytes(entry.bytes));
        session.say(&format!("{name}: part {part} of {all}, {edges}, {bytes}"));
        return;
    }
    session.say(&format!(
        "{name}: {}, {}{}, {} in {}, {}",
        counted(list.vertices(), "vertex", "vertices"),
        counted(list.edges(), "edge", "edges"),
        if list.is_undirected() { " (both ways)" } else { "" },
        human_bytes(list.bytes()),
        kept_parts::count(&list),
        seconds(session.started.elapsed()),
    ));
}

/// A round in which a member tells the others what it has done, or why it has failed; what all have
/// told comes back.
fn round<T>(
    member: &mut Member,
    done: Result<T, Failure>,
    tell: impl FnOnce(&T) -> Vec<u8>,
) -> Result<(T, Vec<Vec<u8>>), Failure> {
    let (done, told) = match done {
        Ok(done) => {
            let told = tell(&done);
            (Some(done), Ok(told))
        }
        Err(failure) => (None, Err(failure)),
    };
    match (agreed(member, told), done) {
        (Ok(all), Some(done)) => Ok((done, all)),
        (found, _) => {
            // All have heard of it by the end of another round, which may fail.
            drop(agreed(member, Ok(Vec::new())));
            Err(found.err().unwrap_or_else(|| Failure::bug("a failure is that of all")))
        }
    }
}

/// Does the work of a member, together with the others.
fn together(
    args: &IngestArgs,
    mut member: Member,
    (place, session): (Place, Result<&Session, Failure>),
) -> Result<Ingested, Failure> {
    let begun = session.and_then(|session| Ok((session, begin(args, place)?)));
    let tell = |begun: &Beginning| vec![u8::from(begun.can_share)];
    let ((session, begun), all) = round(&mut member, begun, |(_, begun)| tell(begun))?;
    let Beginning { source, mut draft, mut stale, .. } = begun;
    let is_shared = all.iter().all(|said| said[..] == [1]);
    let input = Input { args, source: &source, session, place };
    let kept = input.read(&mut member, is_shared).and_then(|own| input.keep(own, draft.as_mut()));
    let ((_, notes), all) = round(&mut member, kept, |(words, _)| words.clone())?;
    let list = listed(&all[..place.machines]).inspect_err(|_| {
        // All come to this answer, and have heard all others by the end of another round.
        drop(agreed(&mut member, Ok(Vec::new())));
    })?;
    let published = draft.as_mut().map(|draft| draft.publish(&list)).transpose();
    let (strays, _) = round(&mut member, published.map_err(Failure::from), |_| Vec::new())?;
    let strays = strays.unwrap_or_default();
    stale.removed.extend(strays.removed);
    stale.left.extend(strays.left);
    // This machine has heard that all have the list; one that has lost the others in that round has
    // not, and drops its part.
    if let Some(draft) = draft {
        draft.end();
    }
    drop(member.end());
    Ok(Ingested { list, stale, notes })
}

/// The list of what all machines have kept.
fn listed(words: &[Vec<u8>]) -> Result<PartsList, Failure> {
    let (mut entries, mut first) = (Vec::new(), None);
    for (rank, words) in words.iter().enumerate() {
        let unclear = || Failure::bug("machines say what they have kept");
        let (contents, entry) = words.split_first_chunk::<8>().ok_or_else(unclear)?;
        if *first.get_or_insert(*contents) != *contents {
            let what = "its copy of the input has other contents than that of machine 0";
            return Err(Failure::content(format!("machine {rank}: {what}")));
        }
        entries.push(PartEntry::decode(entry).ok_or_else(unclear)?);
    }
    PartsList::of(entries).ok_or_else(|| {
        Failure::usage("machines have kept parts of different graphs")
            .hint("state the same options of the input on each machine")
    })
}

/// Begin of an ingest on a machine.
struct Beginning {
    source: Source,
    draft: Option<PartDraft>,
    stale: StaleStaging,
    /// Whether it may read a share together with others.
    can_share: bool,
}

/// Refuses a directory in which there is a graph, or anything else.
fn refuse_to_replace(args: &IngestArgs) -> Result<(), Failure> {
    kept::refuse_to_replace_parts(&args.output).map_err(|_| is_there(&args.output))
}

fn begin(args: &IngestArgs, place: Place) -> Result<Beginning, Failure> {
    let source = Source::with(&args.input, &args.resources)?;
    let files = if let Source::Files(names) = &source { &names[..] } else { &[] };
    if files.iter().any(sources::is_pipe) {
        return Err(unfit("each machine reads the input, which a pipe gives once"));
    }
    let can_share = !files.is_empty() && source.lasts() && args.graph.drop_duplicates.is_none();
    refuse_to_replace(args)?;
    let draft = |rank| PartDraft::begin(&args.output, (rank, place.machines));
    let (draft, stale) = place.rank.map(draft).transpose()?.unzip();
    if let Some(draft) = &draft {
        interrupt::will_write(&draft.path());
    }
    Ok(Beginning { source, draft, stale: stale.unwrap_or_default(), can_share })
}

/// The input of an ingest, as a member reads it.
struct Input<'a> {
    args: &'a IngestArgs,
    source: &'a Source,
    session: &'a Session,
    place: Place,
}

/// Edges that a machine keeps, with what all machines know of them.
struct OwnPart {
    edges: PartEdges,
    ids: IdMap,
    undirected: bool,
    notes: Vec<String>,
    /// Number of the contents of the input.
    contents: u64,
}

impl Input<'_> {
    /// Reads a share together with others, or all. None of a member that keeps no part.
    fn read(&self, member: &mut Member, is_shared: bool) -> Result<Option<OwnPart>, Failure> {
        let Self { args, source, session, place } = *self;
        let options = args.input.options(args.weights.choice(), session.resources.threads);
        if is_shared {
            let role = Role { shares: place.machines, wants_ids: place.rank.is_some() };
            if let Some(shared) = shared((source, &options), session, (member, role))? {
                let own = place.rank.map(|_| OwnPart::of_share(shared));
                return own.transpose();
            }
        }
        let Some(rank) = place.rank else { return Ok(None) };
        let Loaded { edges, ids, undirected, notes, .. } = session.load(source, options)?;
        let Numbered { edges: all, ids, vertices, .. } = Numbered::of(edges, ids)?;
        let tables: Vec<String> = args.input.vertex_tables().cloned().collect();
        let look = || contents::of(&*all, &ids, &tables);
        let contents = if place.is_apart { look()? } else { 0 };
        let reading = Directions::Stated.of(Reading::from(args.graph), undirected);
        let edges: Arc<dyn EdgeStream> = match Merged::new(&all, (reading, true), place.machines) {
            Some(merged) => Arc::new(merged),
            None => all,
        };
        let weighted = edges.weighted();
        let own = OwnEdges::new(edges, (rank, place.machines)).map_err(Failure::read)?;
        let slots = match &ids {
            IdMap::NonCompact(ids) => ids.named().len() as u64 + u64::from(ids.others() > 0),
            _ => vertices,
        };
        let edges = PartEdges { edges: Arc::new(own), numbers_bytes: 0, slots, weighted };
        Ok(Some(OwnPart { edges, ids, undirected, notes, contents }))
    }

    /// Keeps a part, and says in words which it is, and notes for a person.
    fn keep(
        &self,
        own: Option<OwnPart>,
        draft: Option<&mut PartDraft>,
    ) -> Result<(Vec<u8>, Vec<String>), Failure> {
        let Self { args, source, session, .. } = *self;
        let Some((own, draft)) = own.zip(draft) else { return Ok((Vec::new(), Vec::new())) };
        let OwnPart { edges, ids, undirected, notes, contents } = own;
        let read = args.input.options(args.weights.choice(), session.resources.threads);
        let wanted = request(source, read, args.graph);
        let options = KeepOptions { directory: draft.path(), ..KeepOptions::default() };
        draft.make_again()?;
        session.keep_edges(&wanted, &options, (Box::new(edges), &ids), undirected)?;
        let entry = draft.entry()?.encode();
        Ok(([&contents.to_le_bytes()[..], &entry[..]].concat(), notes))
    }
}

impl OwnPart {
    /// The share that a machine has parsed.
    fn of_share(shared: SharedInput) -> Result<Self, Failure> {
        let (undirected, notes) = (shared.undirected.unwrap_or(false), shared.notes.clone());
        let (weighted, contents) = (shared.weighted, shared.contents);
        let numbers_bytes = size_of_val(shared.numbers.as_deref().unwrap_or_default()) as u64;
        let Numbered { edges, ids, vertices, .. } = Numbered::of_own(shared)?;
        let edges = PartEdges { edges, numbers_bytes, slots: vertices, weighted };
        Ok(Self { edges, ids, undirected, notes, contents })
    }
}

/// The edges of a machine, of a graph with as many slots.
struct PartEdges {
    edges: Arc<dyn EdgeStream>,
    /// Bytes of the list of numbers by which its edges are numbered.
    numbers_bytes: u64,
    slots: u64,
    /// Whether edges of the graph have weights, also where this machine has none of them.
    weighted: bool,
}

impl StreamWrapper for PartEdges {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn wrapped_weighted(&self) -> bool {
        self.weighted
    }

    fn wrapped_slots(&self) -> Option<u64> {
        Some(self.slots)
    }

    fn wrapped_bytes(&self) -> u64 {
        self.edges.as_ref().resident_bytes() + self.numbers_bytes
    }
}

#[cfg(test)]
mod tests {
    use welter_input::SharedIds;
    use welter_model::edges::EdgeList;

    use super::*;

    #[test]
    fn numbers_of_a_share_are_in_its_plan() {
        let (list, ids) = (vec![[2, 0], [0, 1]], IdMap::Sparse(vec![3, 5, 8, 13, 21]));
        let shared = SharedInput {
            edges: Box::new(EdgeList::from_pairs(list)),
            numbers: Some(vec![4, 1, 3]),
            ids: SharedIds::Numbered(Some(ids), 5),
            count: 9,
            weighted: false,
            undirected: None,
            notes: Vec::new(),
            bytes: vec![1, 2],
            contents: 7,
        };
        let own = OwnPart::of_share(shared).unwrap();
        assert_eq!((own.edges.edges(), own.edges.slots()), (2, Some(5)));
        // Two edges of 8 bytes, and three numbers of 4.
        assert_eq!(own.edges.resident_bytes(), 2 * 8 + 3 * 4);
    }
}
