//! Endpoints on a network in memory that loses, repeats, reorders, changes and merges datagrams, in
//! virtual time; and bugs that are planted to see whether these tests find them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;

use super::*;
use crate::connection::Bug;
use crate::datagrams::Came;

/// Faults, of 1,000 datagrams each.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    lost: u64,
    repeated: u64,
    late: u64,
    changed: u64,
    /// Sends that find no room.
    refused: u64,
}

struct Network {
    faults: Faults,
    random: u64,
    time: Arc<AtomicU64>,
    sent: u64,
    /// By arrival: receiver, sender, bytes.
    under_way: BTreeMap<(Nanos, u64), (usize, usize, Vec<u8>)>,
}

impl Network {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn send(&mut self, to: usize, from: usize, datagram: &[u8]) {
        let copies = 1 + u64::from(self.draw(1000) < self.faults.repeated);
        for _ in 0..copies {
            if self.draw(1000) < self.faults.lost {
                continue;
            }
            let mut bytes = datagram.to_vec();
            if self.draw(1000) < self.faults.changed {
                let bit = self.draw(8 * bytes.len() as u64) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            let late = if self.draw(1000) < self.faults.late { self.draw(3_000_000) } else { 0 };
            let at = self.time.load(Ordering::Relaxed) + 50_000 + late;
            self.sent += 1;
            self.under_way.insert((at, self.sent), (to, from, bytes));
        }
    }
}

/// One machine's access to the network.
struct Access {
    network: Rc<RefCell<Network>>,
    here: usize,
    others: Vec<usize>,
}

impl Datagrams for Access {
    fn send(&mut self, to: usize, image: &[u8], segment_bytes: usize) -> std::io::Result<bool> {
        let mut network = self.network.borrow_mut();
        let refused = network.faults.refused;
        if network.draw(1000) < refused {
            return Ok(false);
        }
        for segment in image.chunks(segment_bytes) {
            network.send(self.others[to], self.here, segment);
        }
        Ok(true)
    }

    /// Merges datagrams of one sender as network cards do: all of one length but the last.
    fn receive(&mut self, into: &mut [u8]) -> std::io::Result<Option<Came>> {
        let mut network = self.network.borrow_mut();
        let now = network.time.load(Ordering::Relaxed);
        let mut came: Option<(usize, Came)> = None;
        loop {
            let due = network.under_way.range(..(now + 1, 0));
            let mut mine = due.filter(|(_, (to, ..))| *to == self.here);
            let Some((&key, (_, from, bytes))) = mine.next() else { break };
            let fits = came.is_none_or(|(sender, came)| {
                sender == *from
                    && came.bytes % came.segment_bytes == 0
                    && bytes.len() <= came.segment_bytes
                    && came.bytes + bytes.len() <= into.len()
            });
            if !fits {
                break;
            }
            let (at, length) = (came.map_or(0, |(_, came)| came.bytes), bytes.len());
            into[at..at + length].copy_from_slice(bytes);
            let segment_bytes = came.map_or(length, |(_, came)| came.segment_bytes);
            came = Some((*from, Came { bytes: at + length, segment_bytes }));
            network.under_way.remove(&key);
            if network.draw(4) == 0 {
                break;
            }
        }
        Ok(came.map(|(_, came)| came))
    }
}

const MACHINES: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Run {
    seed: u64,
    faults: Faults,
    layout: Layout,
    early_max: u64,
    protection: Protection,
    buckets: u64,
    bug: Option<Bug>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            seed: 1,
            faults: Faults::default(),
            layout: Layout { segment_bytes: 176, segments: 3 },
            early_max: 64,
            protection: Protection::Sealed,
            buckets: 60,
            bug: None,
        }
    }
}

/// Messages by receiver: how often each came.
type Folded = Vec<BTreeMap<[u8; 8], u32>>;

/// Each machine sends numbered messages to each other one. An error says how that went wrong.
fn run(run: Run) -> Result<Vec<EndpointCounts>, String> {
    let time = Arc::new(AtomicU64::new(0));
    let network = network(run, &time);
    let mut endpoints: Vec<Endpoint<Access>> =
        (0..MACHINES).map(|here| endpoint(run, &network, &time, here)).collect();
    let mut folded: Folded = vec![BTreeMap::new(); MACHINES];
    let mut lasts = [0; MACHINES];
    let mut sent = [[0_u64; MACHINES - 1]; MACHINES];
    let mut wrong = None;
    for _ in 0..200_000 {
        for here in 0..MACHINES {
            for (to, sent) in sent[here].iter_mut().enumerate() {
                if *sent < run.buckets
                    && let Some(mut bucket) = TxLane::bucket(&mut endpoints[here], to)
                {
                    *sent += 1;
                    let number = *sent;
                    fill(&mut bucket, here, number);
                    bucket.header.last = number == run.buckets;
                    endpoints[here].commit(to, bucket).map_err(|error| error.to_string())?;
                }
            }
            let (folded, lasts) = (&mut folded[here], &mut lasts[here]);
            let mut fold = |arrived: &Arrived<'_>| {
                let before = folded.len();
                for message in arrived.messages::<8>() {
                    *folded.entry(*message).or_default() += 1;
                }
                if (folded.len() - before) as u64 != arrived.header().updates {
                    wrong = Some("a bucket was folded twice, or is not as it was sent".to_owned());
                }
                let is_of_sender = |message: &&[u8; 8]| {
                    u16::from_le_bytes([message[2], message[3]]) == arrived.header().rank
                };
                let of_sender = folded.keys().filter(is_of_sender).count() as u64;
                if arrived.header().last {
                    *lasts += 1;
                    if of_sender != messages_of(run.buckets) {
                        wrong = Some("the last bucket was not the last one".to_owned());
                    }
                }
            };
            RxLane::poll(&mut endpoints[here], &mut fold).map_err(|error| error.to_string())?;
        }
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        time.fetch_add(30_000, Ordering::Relaxed);
        let all_sent = sent.as_flattened().iter().all(|&sent| sent == run.buckets);
        if all_sent && endpoints.iter().all(TxLane::is_idle) {
            break;
        }
    }
    for (here, (folded, lasts)) in folded.iter().zip(lasts).enumerate() {
        check(here, folded, lasts, run.buckets)?;
    }
    Ok(endpoints.iter().map(Endpoint::counts).collect())
}

/// The network of a run, on which nothing is under way.
fn network(run: Run, time: &Arc<AtomicU64>) -> Rc<RefCell<Network>> {
    Rc::new(RefCell::new(Network {
        faults: run.faults,
        random: run.seed,
        time: time.clone(),
        sent: 0,
        under_way: BTreeMap::new(),
    }))
}

/// Fills a bucket of this number with messages of machine `here`.
fn fill(bucket: &mut Bucket, here: usize, number: u64) {
    bucket.clear();
    bucket.header.width = 8;
    bucket.header.updates = 1 + number % 20;
    for message in 0..bucket.header.updates {
        bucket.push(&(number << 32 | (here as u64) << 16 | message).to_le_bytes());
    }
}

/// Compares what a machine has folded with the `buckets` buckets that each other one has sent.
fn check(
    here: usize,
    folded: &BTreeMap<[u8; 8], u32>,
    lasts: usize,
    buckets: u64,
) -> Result<(), String> {
    let expected = (MACHINES as u64 - 1) * messages_of(buckets);
    let messages = folded.values().map(|&times| u64::from(times)).sum::<u64>();
    if folded.len() as u64 == expected && messages == expected && lasts == MACHINES - 1 {
        Ok(())
    } else {
        Err(format!("machine {here} has {messages} messages, not {expected}"))
    }
}

fn messages_of(buckets: u64) -> u64 {
    (1..=buckets).map(|number| 1 + number % 20).sum()
}

fn endpoint(
    run: Run,
    network: &Rc<RefCell<Network>>,
    time: &Arc<AtomicU64>,
    here: usize,
) -> Endpoint<Access> {
    let others: Vec<usize> = (0..MACHINES).filter(|&other| other != here).collect();
    let settings = EndpointSettings {
        here: (here as u16, 0),
        peers: others.iter().map(|&other| (other as u16, 0)).collect(),
        epoch: 7,
        layout: run.layout,
        buckets: 12,
        bounds: Bounds {
            early_max: run.early_max,
            window: 10,
            patience: 5_000_000_000,
            bug: run.bug,
            ..Bounds::default()
        },
        protection: run.protection,
        secret: Secret::new([5; 32]),
        clock: Clock::Set(time.clone()),
    };
    let access = Access { network: network.clone(), here, others };
    Endpoint::new(access, settings)
}

/// All that a network does.
const ROUGH: Faults = Faults { lost: 200, repeated: 100, late: 200, changed: 20, refused: 100 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn each_bucket_is_folded_once_whatever_the_network_does(
        seed in any::<u64>(), lost in prop_oneof![Just(0), Just(10), Just(200)],
        repeated in 0..300_u64, late in 0..500_u64, changed in 0..30_u64, refused in 0..300_u64,
        segments in 1..5_usize, early_max in prop_oneof![Just(0), Just(2), Just(64)],
    ) {
        let faults = Faults { lost, repeated, late, changed, refused };
        let segment_bytes = if segments == 1 { 300 } else { 200 };
        let layout = Layout { segment_bytes, segments };
        let outcome = run(Run { seed, faults, layout, early_max, ..Run::default() });
        prop_assert!(outcome.is_ok(), "{:?}", outcome);
    }
}

#[test]
fn a_good_network_sends_nothing_twice() {
    let counts = run(Run::default()).unwrap();
    for count in counts {
        assert_eq!((count.sent, count.folded), (120, 120));
        let all = [count.resent, count.repeated, count.held, count.forged, count.foreign];
        assert_eq!(all, [0; 5], "{count:?}");
    }
}

#[test]
fn buckets_are_sent_again_held_and_put_together() {
    let counts = run(Run { faults: ROUGH, early_max: 2, ..Run::default() }).unwrap();
    for count in counts {
        let all = [count.resent, count.repeated, count.held, count.in_parts, count.bare];
        assert!(all.iter().all(|&count| count > 0) && count.forged > 0, "{count:?}");
    }
}

#[test]
fn a_flipped_bit_never_reaches_a_fold() {
    let faults = Faults { changed: 300, ..Faults::default() };
    for seed in 0..20 {
        run(Run { seed, faults, ..Run::default() }).unwrap();
    }
}

#[test]
fn planted_bugs_are_found() {
    let bugs = [Bug::NoDedup, Bug::NoResend, Bug::AckBeforeFold, Bug::NoTag, Bug::LastAtOnce];
    for bug in bugs {
        let is_found =
            |seed| run(Run { seed, faults: ROUGH, bug: Some(bug), ..Run::default() }).is_err();
        assert!((0..20).any(is_found), "{bug:?}");
    }
}

/// A bucket of another epoch, as the network may still have one.
fn stale(bug: Option<Bug>) -> (usize, EndpointCounts) {
    let time = Arc::new(AtomicU64::new(0));
    let (faults, under_way) = (Faults::default(), BTreeMap::new());
    let network = Network { faults, random: 1, time: time.clone(), sent: 0, under_way };
    let network = Rc::new(RefCell::new(network));
    let run = Run { protection: Protection::Trusted, bug, ..Run::default() };
    let mut old = endpoint(run, &network, &time, 0);
    old.epoch = 6;
    let mut new = endpoint(run, &network, &time, 1);
    let mut bucket = TxLane::bucket(&mut old, 0).unwrap();
    bucket.clear();
    bucket.header.width = 8;
    bucket.push(&[1; 8]);
    old.commit(0, bucket).unwrap();
    time.store(1_000_000, Ordering::Relaxed);
    let mut messages = 0;
    let mut fold = |arrived: &Arrived<'_>| messages += arrived.messages::<8>().count();
    RxLane::poll(&mut new, &mut fold).unwrap();
    (messages, new.counts())
}

#[test]
fn other_epochs_are_fenced_off() {
    let (messages, counts) = stale(None);
    assert_eq!((messages, counts.foreign), (0, 1));
    assert_eq!(stale(Some(Bug::StaleEpoch)).0, 1);
}

#[test]
fn a_dead_peer_is_reported() {
    let faults = Faults { lost: 1000, ..Faults::default() };
    let error = run(Run { faults, ..Run::default() }).unwrap_err();
    assert!(error.contains("has not answered on lane 0 for 50"), "{error}");
}
