//! The connection descriptor of a pair of lanes: numbers, acknowledgements, re-sends. Pure: time is
//! handed in, and buckets are things that it keeps until the peer has them.
//!
//! ```text
//! sent:      numbers 1, 2, 3, ... of an epoch, at most `window` of them not acknowledged
//! received:  { n : n <= received } and `ahead`, 64 beyond the next one
//! resend:    after srtt + 4 var (RFC 6298), doubled each time; at once when three later ones came
//! ```
//!
//! One thread owns a connection, so that neither a lock nor a collision is on it, for which the
//! paper's threads delay buckets (V-B); how far ahead a bucket may be and still be folded at once
//! is a setting all the same ([`Bounds::early_max`]).
//!
//! **Invariant:** a number is admitted once, and a bucket is kept until its number is
//! acknowledged. Tested by `numbers_are_admitted_once` and `buckets_are_kept_until_acknowledged`.
//! **Invariant:** an acknowledgement of what was not sent changes nothing. Checked in
//! `Connection::hear`.

use std::collections::VecDeque;

use crate::header::Ack;

/// Nanoseconds since some beginning.
pub type Nanos = u64;

/// Settings of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Buckets under way, 65 at most.
    pub window: usize,
    /// Buckets that come before an acknowledgement is sent of its own accord.
    pub ack_every: u32,
    /// Time without a bucket after which it is sent anyway.
    pub ack_quiet: Nanos,
    /// Least time until a bucket is sent again.
    pub resend_min: Nanos,
    /// Most time until then.
    pub resend_max: Nanos,
    /// Time without an answer after which a peer counts as dead.
    pub patience: Nanos,
    /// A bucket that is further ahead than this waits for those before it; 0 folds in order.
    pub early_max: u64,
    #[cfg(test)]
    pub(crate) bug: Option<Bug>,
}

/// Bugs that the tests plant to see whether they can find them.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Numbers that came already are admitted again.
    NoDedup,
    /// Lost buckets are not sent again.
    NoResend,
    /// A number counts as received before its tag was looked at, or room for it found.
    AckBeforeFold,
    /// Tags are not looked at.
    NoTag,
    /// Buckets of other epochs are taken.
    StaleEpoch,
    /// A last bucket is folded before those that were sent before it.
    LastAtOnce,
}

impl Default for Bounds {
    fn default() -> Self {
        const MICROS: Nanos = 1000;
        Self {
            window: 48,
            ack_every: 16,
            ack_quiet: 20 * MICROS,
            resend_min: 2000 * MICROS,
            resend_max: 500_000 * MICROS,
            patience: 10_000_000 * MICROS,
            early_max: Ack::REACH,
            #[cfg(test)]
            bug: None,
        }
    }
}

impl Bounds {
    /// Settings for rings of that many buckets at the other end: half of one is acknowledged at the
    /// latest, so that the other half can be filled meanwhile.
    ///
    /// ```
    /// use welter_transport::Bounds;
    ///
    /// assert_eq!([1, 8, 64].map(|buckets| Bounds::of_rings(buckets).ack_every), [1, 4, 16]);
    /// ```
    pub fn of_rings(buckets: usize) -> Self {
        let usual = Self::default();
        let half = u32::try_from(buckets / 2).unwrap_or(u32::MAX);
        Self { ack_every: half.clamp(1, usual.ack_every), ..usual }
    }

    #[cfg(test)]
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

/// Whether a number that came is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// A number that has not come before.
    New,
    /// The packet came before: its acknowledgement may be lost.
    Repeated,
    /// The packet is beyond any window.
    TooFar,
}

struct Sent<T> {
    number: u64,
    first: Nanos,
    last: Nanos,
    /// Number of times that it was sent.
    times: u32,
    /// Nothing once the peer has it, while others before it are missing.
    item: Option<T>,
}

/// Both directions between a lane and its peer.
pub struct Connection<T> {
    bounds: Bounds,
    sent: u64,
    unacknowledged: VecDeque<Sent<T>>,
    /// The highest number that the peer has.
    highest: u64,
    round_trips: RoundTrips,
    /// Time before which no bucket is sent again.
    look_at: Nanos,
    last_received: Nanos,
    received: Ack,
    owed: u32,
    owed_since: Nanos,
}

impl<T> Connection<T> {
    /// A connection of a new epoch.
    pub fn new(bounds: Bounds) -> Self {
        let window = bounds.window.clamp(1, Ack::REACH as usize);
        Self {
            bounds: Bounds { window, ..bounds },
            sent: 0,
            unacknowledged: VecDeque::with_capacity(window),
            highest: 0,
            round_trips: RoundTrips::new(bounds.resend_min, bounds.resend_max),
            look_at: 0,
            last_received: 0,
            received: Ack::default(),
            owed: 0,
            owed_since: 0,
        }
    }

    /// Whether another bucket may be under way.
    pub fn is_open(&self) -> bool {
        self.unacknowledged
            .front()
            .is_none_or(|oldest| self.sent + 1 < oldest.number + self.bounds.window as u64)
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.unacknowledged.is_empty()
    }

    /// Number that the next bucket gets.
    pub fn next_number(&self) -> u64 {
        self.sent + 1
    }

    /// Keeps the next bucket. `went` says whether the lower layer took it; if not, it is due now.
    pub fn keep(&mut self, now: Nanos, item: T, went: bool) {
        self.sent += 1;
        let times = u32::from(went);
        let sent = Sent { number: self.sent, first: now, last: now, times, item: Some(item) };
        self.unacknowledged.push_back(sent);
        self.look_at = if went { self.look_at } else { 0 };
    }

    /// The peer has received this much. Buckets that it has are freed.
    pub fn hear(&mut self, now: Nanos, ack: Ack, free: &mut impl FnMut(T)) {
        self.last_received = self.last_received.max(now);
        if ack.received > self.sent || self.unacknowledged.is_empty() {
            return;
        }
        let mut newest = None;
        for sent in &mut self.unacknowledged {
            if sent.item.is_some() && ack.covers(sent.number) {
                // A round trip is measured only where it is certain which one is answered.
                newest = (sent.times == 1).then_some(sent.last).or(newest);
                self.highest = self.highest.max(sent.number);
                self.look_at = if ack.ahead == 0 { self.look_at } else { 0 };
                sent.item.take().map(&mut *free);
            }
        }
        while self.unacknowledged.front().is_some_and(|sent| sent.item.is_none()) {
            self.unacknowledged.pop_front();
        }
        if let Some(last) = newest {
            self.round_trips.measured(now.saturating_sub(last));
        }
    }

    /// The next bucket that is to be sent again, if it is time. `resent` says that it was.
    pub fn due(&mut self, now: Nanos) -> Option<(usize, &mut T)> {
        #[cfg(test)]
        if self.bounds.has(Bug::NoResend) {
            return None;
        }
        if now < self.look_at {
            return None;
        }
        let (highest, trips) = (self.highest, &self.round_trips);
        let is_due = |sent: &Sent<T>| {
            let passed = now.saturating_sub(sent.last);
            let is_overtaken = sent.times == 1 && sent.number + 3 <= highest;
            sent.item.is_some()
                && (sent.times == 0
                    || passed >= trips.resend(sent.times)
                    || (is_overtaken && passed >= trips.smooth))
        };
        let Some(index) = self.unacknowledged.iter().position(is_due) else {
            self.look_at = now + self.bounds.resend_min / 4;
            return None;
        };
        self.unacknowledged[index].item.as_mut().map(|item| (index, item))
    }

    /// The bucket that `due` named was sent.
    pub fn resent(&mut self, index: usize, now: Nanos) {
        let sent = &mut self.unacknowledged[index];
        sent.last = now;
        sent.times += 1;
    }

    /// Time for which the peer has not answered, if that is longer than a peer may.
    pub fn silence(&self, now: Nanos) -> Option<Nanos> {
        let oldest = self.unacknowledged.front()?;
        let silence = now.saturating_sub(oldest.first.max(self.last_received));
        (silence > self.bounds.patience).then_some(silence)
    }

    /// Whether a bucket of this number is to be looked at.
    pub fn admit(&self, number: u64) -> Admission {
        #[cfg(test)]
        if self.bounds.has(Bug::NoDedup) && self.received.covers(number) {
            return Admission::New;
        }
        if self.received.covers(number) {
            Admission::Repeated
        } else if number > self.received.received + Ack::REACH {
            Admission::TooFar
        } else {
            Admission::New
        }
    }

    /// The bucket of this number is whole, and folded or kept for later.
    pub fn take(&mut self, now: Nanos, number: u64) {
        self.owe(now);
        let received = &mut self.received;
        if received.covers(number) || number > received.received + Ack::REACH {
            return;
        }
        if number == received.received + 1 {
            let next = received.ahead.trailing_ones();
            received.received += 1 + u64::from(next);
            received.ahead = received.ahead.checked_shr(next + 1).unwrap_or(0);
        } else {
            received.ahead |= 1 << (number - received.received - 2);
        }
    }

    /// The peer waits for an acknowledgement.
    pub fn owe(&mut self, now: Nanos) {
        self.owed += 1;
        self.owed_since = now;
    }

    /// Numbers that have come.
    pub fn received(&self) -> Ack {
        self.received
    }

    /// Whether an acknowledgement is to be sent alone.
    pub fn owes(&self, now: Nanos) -> bool {
        self.owed >= self.bounds.ack_every
            || (self.owed > 0 && now >= self.owed_since + self.bounds.ack_quiet)
    }

    /// Acknowledgement that goes along with the next bucket.
    pub fn acknowledge(&mut self) -> Ack {
        self.owed = 0;
        self.received
    }
}

/// Time between a bucket and its acknowledgement.
struct RoundTrips {
    smooth: Nanos,
    deviation: Nanos,
    min: Nanos,
    max: Nanos,
}

impl RoundTrips {
    fn new(min: Nanos, max: Nanos) -> Self {
        Self { smooth: min, deviation: min / 2, min, max }
    }

    fn measured(&mut self, passed: Nanos) {
        let off = passed.abs_diff(self.smooth);
        self.deviation = (3 * self.deviation + off) / 4;
        self.smooth = (7 * self.smooth + passed) / 8;
    }

    /// Time after which a bucket that was sent so often is sent again.
    fn resend(&self, times: u32) -> Nanos {
        let once = (self.smooth + 4 * self.deviation).clamp(self.min, self.max);
        once.saturating_mul(1 << (times - 1).min(8)).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_admitted_once(numbers in proptest::collection::vec(1..130_u64, 0..400)) {
            let mut connection: Connection<()> = Connection::new(Bounds::default());
            let mut taken = std::collections::BTreeSet::new();
            for number in numbers {
                if connection.admit(number) == Admission::New {
                    prop_assert!(taken.insert(number));
                    connection.take(0, number);
                }
                let ack = connection.received();
                prop_assert!((1..200).all(|n| ack.covers(n) == taken.contains(&n)));
            }
        }

        #[test]
        fn buckets_are_kept_until_acknowledged(
            acks in proptest::collection::vec((0..60_u64, any::<u64>()), 0..40),
        ) {
            let mut connection = Connection::new(Bounds { window: 40, ..Bounds::default() });
            while connection.is_open() {
                connection.keep(0, connection.next_number(), true);
            }
            let mut freed = Vec::new();
            let mut covered = std::collections::BTreeSet::new();
            for (received, ahead) in acks {
                let ack = Ack { received, ahead };
                if received <= 40 {
                    covered.extend((1..=40).filter(|&number| ack.covers(number)));
                }
                connection.hear(1, ack, &mut |number| freed.push(number));
            }
            freed.sort_unstable();
            prop_assert!(freed.iter().eq(covered.iter()));
            let mut again = Vec::new();
            while let Some((index, &mut number)) = connection.due(1_000_000_000) {
                again.push(number);
                connection.resent(index, 1_000_000_000);
            }
            prop_assert!(again.into_iter().eq((1..=40).filter(|n| !covered.contains(n))));
        }
    }

    #[test]
    fn resends_back_off_and_overtaken_ones_are_sent_at_once() {
        let bounds = Bounds { resend_min: 100, resend_max: 1000, ..Bounds::default() };
        let mut connection = Connection::new(bounds);
        (0..6).for_each(|item| connection.keep(0, item, true));
        connection.hear(80, Ack { received: 0, ahead: 0b1110 }, &mut |_| ());
        let due = |connection: &mut Connection<u32>, now| {
            let found = connection.due(now).map(|(index, item)| (index, *item));
            found.inspect(|&(index, _)| connection.resent(index, now)).map(|(_, item)| item)
        };
        assert_eq!(due(&mut connection, 120), Some(0));
        assert_eq!(due(&mut connection, 120), Some(1));
        assert_eq!(due(&mut connection, 120), None);
        let times: Vec<Nanos> =
            (120..20_000).filter(|&now| due(&mut connection, now) == Some(0)).collect();
        let gaps: Vec<Nanos> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.windows(2).all(|pair| pair[0] <= pair[1] + 25) && gaps.len() > 5, "{gaps:?}");
        assert!(*gaps.last().unwrap() >= 1000);
    }

    #[test]
    fn a_peer_that_does_not_answer_is_noticed() {
        let bounds = Bounds { patience: 50, ..Bounds::default() };
        let mut connection = Connection::new(bounds);
        assert_eq!(connection.silence(1000), None);
        connection.keep(1000, (), true);
        assert_eq!(connection.silence(1050), None);
        assert_eq!(connection.silence(1051), Some(51));
        connection.hear(1051, Ack::default(), &mut |()| ());
        assert_eq!(connection.silence(1100), None);
    }

    #[test]
    fn acknowledgements_wait_for_company() {
        let mut connection: Connection<()> =
            Connection::new(Bounds { ack_every: 3, ack_quiet: 10, ..Bounds::default() });
        connection.take(0, 1);
        assert!(!connection.owes(9) && connection.owes(10));
        connection.take(9, 2);
        assert!(!connection.owes(10));
        connection.take(9, 4);
        assert!(connection.owes(10));
        assert_eq!(connection.acknowledge(), Ack { received: 2, ahead: 1 });
        assert!(!connection.owes(1000));
    }
}
