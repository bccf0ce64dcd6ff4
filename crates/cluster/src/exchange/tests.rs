//! Members of one process and a hub: rounds, their ends, and members that are lost.

use std::thread::scope;

use super::hub::Hub;
use super::*;
use crate::credentials::{Credentials, Trust};
use crate::peers::Peers;

const MINUTE: Duration = Duration::from_mins(1);

/// The place of a member.
fn seating(rank: usize, machines: usize, trust: &Trust) -> Seating {
    Seating {
        rank,
        machines,
        first: "127.0.0.1:0".to_owned(),
        port: 0,
        trust: trust.clone(),
        patience: MINUTE,
        apart: true,
    }
}

/// Does something on a thread for each member, and has what comes of it.
fn each<T: Send>(
    members: usize,
    trust: &Trust,
    work: impl Fn(Member) -> T + Sync,
) -> (Hub, Vec<T>) {
    let hub = Hub::open(&seating(0, members, trust), members).unwrap();
    let first = hub.address().to_string();
    let (work, first) = (&work, &first);
    let found = scope(|scope| {
        let one = |rank: usize| {
            let seating = Seating { first: first.clone(), ..seating(rank, members, trust) };
            scope.spawn(move || {
                let met = Member::join(&seating, members, &Progress::new()).unwrap();
                let Met::Member(member) = met else { panic!("all are there") };
                work(*member)
            })
        };
        let threads: Vec<_> = (0..members).map(one).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (hub, found)
}

/// The message of a member to another in a round.
fn message(round: usize, from: usize, to: usize) -> Vec<u8> {
    // Some have no bytes, and some take several frames.
    let length = [0, 7, 3 * PIECE_BYTES + 5][(round + from + 2 * to) % 3];
    (0..length).map(|at| (at * 31 + round + from * 7 + to * 3) as u8).collect()
}

#[test]
fn all_have_what_others_sent() {
    let key = Credentials::fresh().and_then(|text| Credentials::of(&text)).unwrap();
    for trust in [Trust::Loopback, Trust::Key(key)] {
        let (_hub, found) = each(3, &trust, |mut member| {
            let are_right = (0..4).all(|round| {
                let me = member.me();
                let pieces = (0..3).map(|to| message(round, me, to)).collect();
                let found = member.all_to_all(pieces).unwrap();
                (0..3).all(|from| found[from] == message(round, from, me))
            });
            // The hub takes one that goes without a word for lost.
            member.end().unwrap();
            are_right
        });
        assert_eq!(found, [true; 3]);
    }
}

#[test]
fn who_is_lost_ends_the_rounds_of_all() {
    let (_hub, found) = each(3, &Trust::Loopback, |mut member| {
        let me = member.me();
        let first = member.all_to_all(vec![Vec::new(); 3]);
        if me == 1 {
            // It dies, as its connections tell; others may have heard all of the first round.
            for socket in &member.sockets {
                socket.shutdown(Shutdown::Both).unwrap();
            }
            return first.is_ok();
        }
        // The bytes are more than any queue holds.
        let pieces = vec![vec![7; 64 * PIECE_BYTES]; 3];
        let second = first.and_then(|_| member.all_to_all(pieces));
        matches!(second, Err(ClusterError::Parted(_)))
    });
    assert_eq!(found, [true; 3]);
}

#[test]
fn a_member_that_is_silent_is_lost() {
    let (_hub, found) = each(2, &Trust::Loopback, |mut member| {
        if member.me() == 1 {
            // Nothing is said for it any more, as where its input hangs.
            member.pulse.has_ended.store(true, Ordering::Relaxed);
            sleep(2 * BEAT);
            // Frames that came before it was given up are still there.
            let error = loop {
                if let Err(error) = member.next() {
                    break error;
                }
            };
            return matches!(error, ClusterError::Parted(_));
        }
        matches!(member.all_to_all(vec![Vec::new(); 2]), Err(ClusterError::Parted(_)))
    });
    assert_eq!(found, [true; 2]);
}

#[test]
fn all_end_together() {
    let members = 3;
    let hub = Hub::open(&seating(0, members, &Trust::Loopback), members).unwrap();
    let first = hub.address().to_string();
    scope(|scope| {
        for rank in 0..members {
            let seating =
                Seating { first: first.clone(), ..seating(rank, members, &Trust::Loopback) };
            scope.spawn(move || {
                let met = Member::join(&seating, members, &Progress::new()).unwrap();
                let Met::Member(mut member) = met else { panic!("all are there") };
                member.all_to_all(vec![vec![1]; members]).unwrap();
                member.end().unwrap();
            });
        }
    });
    hub.end();
}

#[test]
fn members_that_do_not_come_are_named_to_all() {
    let patience = Duration::from_millis(500);
    let place = Seating { patience, ..seating(0, 2, &Trust::Loopback) };
    let hub = Hub::open(&place, 2).unwrap();
    let place = Seating { first: hub.address().to_string(), ..place };
    let met = Member::join(&place, 2, &Progress::new()).unwrap();
    let Met::Verdict(Some((_, what))) = met else { panic!("one is absent") };
    assert!(what.starts_with("machine 1 has not come"), "{what}");
    assert!(matches!(hub.failed(), Some(ClusterError::Absent { rank: 1, .. })));
}

#[test]
fn one_that_comes_to_a_run_is_told_how_it_has_read() {
    let place = seating(0, 2, &Trust::Loopback);
    for is_shared in [true, false] {
        let (of, progress) = ((Some([7, 9]), 1), Progress::new());
        let peers = if is_shared {
            Peers::of_shares(&place, of, "0 1", &progress)
        } else {
            Peers::new(&place, of, &progress)
        };
        let peers = peers.unwrap();
        let place = Seating { first: peers.address().to_string(), ..place.clone() };
        let met = Member::join(&place, 2, &progress).unwrap();
        let is_told = match met {
            Met::Shares(deal) => is_shared && deal == "0 1",
            met => matches!(met, Met::All) && !is_shared,
        };
        assert!(is_told);
        assert_eq!(peers.strangers(), 0);
    }
}

#[test]
fn who_is_cancelled_waits_for_no_member() {
    let hub = Hub::open(&seating(0, 2, &Trust::Loopback), 2).unwrap();
    let place = Seating { first: hub.address().to_string(), ..seating(0, 2, &Trust::Loopback) };
    let progress = Progress::new();
    progress.cancel();
    let met = Member::join(&place, 2, &progress);
    assert!(matches!(met, Err(ClusterError::Cancelled)));
}

#[test]
fn where_one_machine_reads_all_the_others_do() {
    let hub = Hub::open(&seating(0, 2, &Trust::Loopback), 2).unwrap();
    let place = Seating { first: hub.address().to_string(), ..seating(0, 2, &Trust::Loopback) };
    scope(|scope| {
        let member = scope.spawn(|| Member::join(&place, 2, &Progress::new()).unwrap());
        let joining = |purpose| Joining { digest: 1, contents: 2, rank: 1, nonce: 7, purpose };
        let ways = [Purpose::Down, Purpose::Up].map(|it| connect(&place, &joining(it)).unwrap());
        assert!(matches!(member.join().unwrap(), Met::All));
        drop(ways);
    });
    // So does one that comes later.
    assert!(matches!(Member::join(&place, 2, &Progress::new()).unwrap(), Met::All));
}
