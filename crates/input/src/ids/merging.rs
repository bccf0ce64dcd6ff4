//! Numbers of ids among those of all machines, of which each has some: a sort by ranges.
//!
//! ```text
//! samples   all -> all      ranges with about as many ids each, an owner each
//! counts    machine -> owner
//! ids       machine -> owner   each id once; the owner sorts them, and drops those that come again
//! counts    owner -> all    how many ids are in the ranges before
//! numbers   owner -> machine   of the ids that it sent, in their order;
//!                              and the range itself, where the machine wants all ids
//! ```
//!
//! Ids that are nearly dense are marked instead, a bit each ([`marks`]): owners join the marks of
//! their range of words, which go to all.
//!
//! A machine has its own ids, those of its range, and the numbers of its own at a time.
//!
//! Invariant: the number of an id is its rank among the distinct ids of all machines, so it is what
//! one machine would give it. Tested by `ids_have_their_ranks_among_all`.

use std::ops::Range;

use bytemuck::{cast_slice, pod_collect_to_vec};
use welter_model::ids::IdMap;

use super::finish::too_many;
use super::keys::Keys;
use crate::collect::SLOTS_MAX;
use crate::error::InputError;
use crate::exchange::{Exchange, gather, together, unclear};

/// Ids of a machine that are looked at to cut ranges.
const SAMPLE_IDS: usize = 256;

/// Bytes that an id takes at its owner beside its text and itself: the place where it came from,
/// twice while it is sorted, and its number.
const OWNED_BYTES: u64 = 20;

/// Numbers of the ids of a machine, and perhaps all ids of all machines, as a `K`.
pub(crate) struct Merged<K> {
    /// Number of each id, in the order of the ids.
    pub(crate) numbers: Vec<u32>,
    /// Number of ids that all machines have.
    pub(crate) count: u64,
    /// All ids in order, where they are wanted.
    pub(crate) all: Option<K>,
}

impl<K> Merged<K> {
    fn with(self, map: impl FnOnce(K) -> IdMap) -> Merged<IdMap> {
        let Self { numbers, count, all } = self;
        Merged { numbers, count, all: all.map(map) }
    }
}

/// Ids of a machine, and what it may do with them.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// Members that own a range each: the first ones.
    pub(crate) owners: usize,
    /// Members that want all ids.
    pub(crate) wanted: &'a [bool],
    /// Bytes of memory that it may take.
    pub(crate) allowed_bytes: u64,
    /// Names of the inputs, for errors.
    pub(crate) files: &'a str,
}

/// Numbers sparse integers or names among those of all machines.
///
/// # Errors
/// When there are more than fit, at any machine, and as of [`Exchange::all_to_all`].
pub(crate) fn of(
    own: &IdMap,
    request: Request<'_>,
    exchange: &mut dyn Exchange,
) -> Result<Merged<IdMap>, InputError> {
    match own {
        IdMap::Sparse(own) => Ok(merged(own, request, exchange)?.with(IdMap::Sparse)),
        IdMap::Names(own) => Ok(merged(own, request, exchange)?.with(IdMap::Names)),
        _ => Err(unclear()),
    }
}

fn merged<K: Keys>(
    own: &K,
    request: Request<'_>,
    exchange: &mut dyn Exchange,
) -> Result<Merged<K>, InputError> {
    let ranges = ranges(own, &sampled(own, exchange)?, request.owners);
    let sent = ranges.iter().map(|range| {
        let mut bytes = Vec::new();
        own.encode(range.clone(), &mut bytes);
        bytes
    });
    let sent: Vec<Vec<u8>> = sent.collect();
    let sizes = ranges.iter().zip(&sent).map(|(range, bytes)| {
        [range.len() as u64, bytes.len() as u64].map(u64::to_le_bytes).concat()
    });
    let sizes = together(exchange, Ok(sizes.collect()))?;
    let fits = check_room(&sizes, exchange.me(), request);
    let received = together(exchange, fits.map(|()| sent))?;
    let owned = Owned::of(&received.iter().map(|bytes| list::<K>(bytes)).collect::<Vec<K>>());
    drop(received);
    let counts = gather(exchange, Ok((owned.range.count() as u64).to_le_bytes().to_vec()))?;
    let counts = counts.iter().map(|count| number(count)).collect::<Result<Vec<u64>, _>>()?;
    let count: u64 = counts.iter().sum();
    if count > SLOTS_MAX {
        return Err(too_many(count as usize));
    }
    let before: u64 = counts[..exchange.me()].iter().sum();
    let answers = (0..exchange.members()).map(|to| {
        let mut bytes = Vec::new();
        for place in &owned.places[to] {
            bytes.extend_from_slice(&(place + before as u32).to_le_bytes());
        }
        if request.wanted[to] {
            owned.range.encode(0..owned.range.count(), &mut bytes);
        }
        bytes
    });
    let answers = answers.collect();
    let found = together(exchange, Ok(answers))?;
    let wants = request.wanted[exchange.me()];
    let mut numbers = Vec::with_capacity(own.count());
    let mut all = wants.then(|| K::with_room(count as usize, 0));
    for (range, bytes) in ranges.iter().zip(&found) {
        let length = range.len() * size_of::<u32>();
        let (answers, rest) = bytes.split_at_checked(length).ok_or_else(unclear)?;
        let (answers, _) = answers.as_chunks::<4>();
        numbers.extend(answers.iter().map(|number| u32::from_le_bytes(*number)));
        if let Some(all) = &mut all {
            K::decode(rest, &mut |key| all.add(key));
        }
    }
    Ok(Merged { numbers, count, all })
}

/// A sample of the ids of each machine, and how many these are.
type Samples<K> = Vec<(u64, K)>;

fn sampled<K: Keys>(own: &K, exchange: &mut dyn Exchange) -> Result<Samples<K>, InputError> {
    let count = own.count();
    let mut bytes = (count as u64).to_le_bytes().to_vec();
    let taken = count.min(SAMPLE_IDS);
    for at in (0..taken).map(|place| place * count / taken) {
        own.encode(at..at + 1, &mut bytes);
    }
    let all = gather(exchange, Ok(bytes))?;
    let sample = |bytes: &Vec<u8>| {
        let (count, keys) = bytes.split_at_checked(size_of::<u64>()).ok_or_else(unclear)?;
        Ok((number(count)?, list::<K>(keys)))
    };
    all.iter().map(sample).collect()
}

/// The ids of a machine that fall to each owner, by their places; others than owners have none.
fn ranges<K: Keys>(own: &K, samples: &[(u64, K)], owners: usize) -> Vec<Range<usize>> {
    // Each id of a sample stands for as many as it has of its machine.
    let mut order: Vec<(usize, usize)> = Vec::new();
    for (machine, (_, sample)) in samples.iter().enumerate() {
        order.extend((0..sample.count()).map(|at| (machine, at)));
    }
    let key = |(machine, at): (usize, usize)| samples[machine].1.key(at);
    order.sort_by(|a, b| key(*a).cmp(key(*b)));
    let weight = |machine: usize| samples[machine].0 as f64 / samples[machine].1.count() as f64;
    let total: f64 = samples.iter().map(|(count, _)| *count as f64).sum();
    let (mut passed, mut cuts) = (0.0, Vec::new());
    for place in order {
        if cuts.len() + 1 < owners && passed >= total * (cuts.len() + 1) as f64 / owners as f64 {
            cuts.push(place);
        }
        passed += weight(place.0);
    }
    let mut start = 0;
    let mut found = Vec::new();
    for owner in 0..owners {
        let end = match cuts.get(owner) {
            Some(cut) => start + partition_point(own, start, key(*cut)),
            None => own.count(),
        };
        found.push(start..end);
        start = end;
    }
    found.resize(samples.len(), start..start);
    found
}

/// Number of ids from a place on that are less than this one.
fn partition_point<K: Keys>(own: &K, from: usize, key: &K::Key) -> usize {
    super::runs::partition_point(own.count() - from, |place| own.key(from + place) < key)
}

/// Refuses ids of a range that would take more memory than there is.
fn check_room(sizes: &[Vec<u8>], me: usize, request: Request<'_>) -> Result<(), InputError> {
    let (mut count, mut bytes) = (0_u64, 0_u64);
    for size in sizes {
        let (ids, length) = size.split_at_checked(size_of::<u64>()).ok_or_else(unclear)?;
        count = count.saturating_add(number(ids)?);
        bytes = bytes.saturating_add(number(length)?);
    }
    // As they come, and as lists of which each has them once.
    let needed_bytes = bytes.saturating_mul(3).saturating_add(count.saturating_mul(OWNED_BYTES));
    let allowed_bytes = request.allowed_bytes;
    if me >= request.owners || needed_bytes <= allowed_bytes {
        return Ok(());
    }
    let file = request.files.to_owned();
    Err(InputError::Ids { file, count, needed_bytes, allowed_bytes })
}

/// The ids of a range, at their owner.
struct Owned<K> {
    /// Distinct ids, ascending.
    range: K,
    /// Of the ids of each machine, the places there.
    places: Vec<Vec<u32>>,
}

impl<K: Keys> Owned<K> {
    /// Sorts lists that ascend.
    fn of(lists: &[K]) -> Self {
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(lists.iter().map(K::count).sum());
        for (machine, list) in lists.iter().enumerate() {
            order.extend((0..list.count()).map(|at| (machine as u32, at as u32)));
        }
        let key = |(machine, at): (u32, u32)| lists[machine as usize].key(at as usize);
        // Runs that ascend are merged.
        order.sort_by(|a, b| key(*a).cmp(key(*b)));
        let text_bytes = lists.iter().map(K::text_bytes).max().unwrap_or(0);
        let mut range = K::with_room(lists.iter().map(K::count).max().unwrap_or(0), text_bytes);
        let mut places: Vec<Vec<u32>> = lists.iter().map(|list| vec![0; list.count()]).collect();
        for place in order {
            let (id, last) = (key(place), range.count().checked_sub(1));
            if last.is_none_or(|last| range.key(last) != id) {
                range.add(id);
            }
            places[place.0 as usize][place.1 as usize] = (range.count() - 1) as u32;
        }
        Self { range, places }
    }
}

/// Ids as they were sent.
fn list<K: Keys>(bytes: &[u8]) -> K {
    let mut list = K::default();
    K::decode(bytes, &mut |key| list.add(key));
    list
}

fn number(bytes: &[u8]) -> Result<u64, InputError> {
    let bytes: [u8; 8] = bytes.try_into().map_err(|_| unclear())?;
    Ok(u64::from_le_bytes(bytes))
}

/// Joins the marks of slots of all machines, of which this one has `own` words, and no mark behind
/// them. All have them in the end, in the `words` words that the largest id takes.
pub(crate) fn marks(
    own: &[u64],
    (words, owners): (usize, usize),
    exchange: &mut dyn Exchange,
) -> Result<Vec<u64>, InputError> {
    let range = |owner: usize| {
        let first =
            |owner: usize| (words as u128 * owner.min(owners) as u128 / owners as u128) as usize;
        first(owner)..first(owner + 1)
    };
    let piece = |owner: usize| {
        let Range { start, end } = range(owner);
        let [start, end] = [start, end].map(|word| word.min(own.len()));
        cast_slice::<u64, u8>(&own[start..end]).to_vec()
    };
    let pieces = (0..exchange.members()).map(piece).collect();
    let found = together(exchange, Ok(pieces))?;
    let mut joined = vec![0_u64; range(exchange.me()).len()];
    for piece in found {
        for (word, more) in joined.iter_mut().zip(pod_collect_to_vec::<u8, u64>(&piece)) {
            *word |= more;
        }
    }
    let all = gather(exchange, Ok(cast_slice::<u64, u8>(&joined).to_vec()))?;
    let mut marks = Vec::with_capacity(words);
    for (owner, piece) in all.iter().enumerate() {
        let piece = pod_collect_to_vec::<u8, u64>(piece);
        if piece.len() != range(owner).len() {
            return Err(unclear());
        }
        marks.extend(piece);
    }
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;
    use welter_model::ids::Names;

    use super::*;
    use crate::exchange::Channels;

    /// Does something on as many threads, each a member.
    fn each<T: Send>(members: usize, work: impl Fn(&mut Channels) -> T + Sync) -> Vec<T> {
        let work = &work;
        std::thread::scope(|scope| {
            let threads = Channels::of(members).into_iter();
            let threads: Vec<_> =
                threads.map(|mut member| scope.spawn(move || work(&mut member))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    fn id() -> impl Strategy<Value = u64> {
        prop_oneof![0..40_u64, any::<u64>()]
    }

    proptest! {
        #[test]
        fn ids_have_their_ranks_among_all(
            lists in vec(btree_set(id(), 0..400), 1..6),
            beside in 0..2_usize,
        ) {
            let owners = lists.len();
            let lists: Vec<Vec<u64>> =
                lists.into_iter().map(|list| list.into_iter().collect()).collect();
            let mut all = lists.concat();
            all.sort_unstable();
            all.dedup();
            let members = owners + beside;
            let wanted: Vec<bool> = (0..members).map(|member| member % 2 == 0).collect();
            let request =
                Request { owners, wanted: &wanted, allowed_bytes: u64::MAX, files: "some" };
            let name = |id: &u64| format!("{id:x}");
            let mut named: Vec<String> = all.iter().map(name).collect();
            named.sort_unstable();
            let found = each(members, |member| {
                let me = member.me();
                let own = lists.get(me).cloned().unwrap_or_default();
                let by_number = merged(&own, request, member).unwrap();
                let mut own_names: Vec<String> = own.iter().map(name).collect();
                own_names.sort_unstable();
                let list: Names = own_names.iter().map(|name| &name[..]).collect();
                let by_name = merged(&list, request, member).unwrap();
                (own, by_number, own_names, by_name)
            });
            for (member, (own, merged, own_names, by_name)) in found.iter().enumerate() {
                prop_assert_eq!(merged.count, all.len() as u64);
                prop_assert_eq!(merged.all.as_ref(), wanted[member].then_some(&all));
                for (id, number) in own.iter().zip(&merged.numbers) {
                    prop_assert_eq!(all[*number as usize], *id);
                }
                prop_assert_eq!(own.len(), merged.numbers.len());
                prop_assert_eq!(by_name.all.is_some(), wanted[member]);
                if let Some(names) = &by_name.all {
                    let names: Vec<String> = names.iter().map(str::to_owned).collect();
                    prop_assert_eq!(&names, &named);
                }
                prop_assert_eq!(own_names.len(), by_name.numbers.len());
                for (name, number) in own_names.iter().zip(&by_name.numbers) {
                    prop_assert_eq!(&named[*number as usize], name);
                }
            }
        }

        #[test]
        fn marks_of_all_are_joined(
            lists in vec(btree_set(0..2000_usize, 0..100), 1..6),
            beside in 0..2_usize,
        ) {
            let owners = lists.len();
            let largest = lists.iter().flatten().copied().max().unwrap_or(0);
            let words = largest / 64 + 1;
            let marked = |slots: &mut dyn Iterator<Item = usize>| {
                let mut words = vec![0_u64; words];
                slots.for_each(|slot| words[slot / 64] |= 1 << (slot % 64));
                words
            };
            let expected = marked(&mut lists.iter().flatten().copied());
            let found = each(owners + beside, |member| {
                let own = lists.get(member.me()).cloned().unwrap_or_default();
                let mut own = marked(&mut own.into_iter());
                while own.last() == Some(&0) {
                    own.pop();
                }
                marks(&own, (words, owners), member).unwrap()
            });
            prop_assert!(found.iter().all(|marks| *marks == expected));
        }
    }

    #[test]
    fn owners_have_about_as_many_ids_each() {
        let found = each(4, |member| {
            let me = member.me() as u64;
            // Ids of the first machine are few, and those of others have another density.
            let own: Vec<u64> =
                (0..if me == 0 { 10 } else { 10_000 }).map(|at| at * (1 + me) + me).collect();
            let samples = sampled(&own, member).unwrap();
            ranges(&own, &samples, 4).into_iter().map(|range| range.len()).collect::<Vec<_>>()
        });
        let sum = |owner: usize| found.iter().map(|lengths| lengths[owner]).sum::<usize>();
        for owner in 0..4 {
            let share = sum(owner) as f64 / 30_010.0;
            assert!((0.22..0.28).contains(&share), "{owner}: {share}");
        }
    }

    #[test]
    fn ids_that_do_not_fit_at_their_owner_are_refused_on_all() {
        let wanted = [false; 2];
        let found = each(2, |member| {
            let own: Vec<u64> = (0..1000).map(|at| at * 2 + member.me() as u64).collect();
            let allowed_bytes = if member.me() == 1 { 10_000 } else { u64::MAX };
            let request = Request { owners: 2, wanted: &wanted, allowed_bytes, files: "some" };
            merged(&own, request, member).err().unwrap()
        });
        for error in found {
            assert_eq!(error.kind(), welter_progress::FailureKind::Budget, "{error}");
            assert!(error.to_string().starts_with("some: "), "{error}");
        }
    }
}
