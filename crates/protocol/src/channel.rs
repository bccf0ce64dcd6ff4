//! Exactly-once delivery between two machines within an epoch, over a network that loses, repeats
//! and reorders.
//!
//! ```text
//! sent:      numbers 1, 2, 3, ... in an epoch; kept until acknowledged, sent again after `resend`
//! delivered: { n : n <= received } and `ahead`; what is there already is not delivered again
//! ```
//!
//! **Invariant:** each message of an epoch is handed on at most once, and at last exactly once if
//! both machines stay in the epoch. Not in order: whatever depends on an order has an answer of its
//! own to wait for. A new epoch forgets both ends. Tested by `numbers_are_new_once_in_any_order`
//! and `what_is_not_acknowledged_is_sent_again`; asserted in `Channel::acknowledged`.

use std::collections::VecDeque;

use crate::ack::Ack;
use crate::ids::Time;
use crate::messages::Message;

/// A message that waits to be acknowledged.
#[derive(Debug)]
struct Sent {
    number: u64,
    /// When it was first sent, and last.
    first: Time,
    last: Time,
    message: Message,
}

/// Both directions of the traffic with one peer.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    sent: u64,
    /// In the order of their numbers.
    unacknowledged: VecDeque<Sent>,
    received: Ack,
    owes: bool,
}

impl Channel {
    /// Numbers a message and keeps it until it is acknowledged.
    pub(crate) fn send(&mut self, now: Time, message: Message) -> u64 {
        self.sent += 1;
        let number = self.sent;
        self.unacknowledged.push_back(Sent { number, first: now, last: now, message });
        self.sent
    }

    /// Acknowledgement that goes along with the next message to the peer.
    pub(crate) fn acknowledge(&mut self) -> Ack {
        self.owes = false;
        self.received
    }

    /// Whether the peer waits for an acknowledgement.
    pub(crate) fn owes(&self) -> bool {
        self.owes
    }

    /// The peer has received this much.
    pub(crate) fn acknowledged(&mut self, ack: Ack) {
        assert!(ack.received <= self.sent, "only what was sent is acknowledged");
        while self.unacknowledged.front().is_some_and(|sent| sent.number <= ack.received) {
            self.unacknowledged.pop_front();
        }
        if ack.ahead != 0 {
            self.unacknowledged.retain(|sent| !ack.covers(sent.number));
        }
    }

    /// Whether a message is new. Numbers too far ahead count as lost, and will come again.
    pub(crate) fn is_new(&mut self, number: u64) -> bool {
        self.owes = true;
        if self.received.covers(number) || number > self.received.received + 65 {
            return false;
        }
        if number == self.received.received + 1 {
            let next = self.received.ahead.trailing_ones();
            self.received.received += 1 + u64::from(next);
            self.received.ahead = self.received.ahead.checked_shr(next + 1).unwrap_or(0);
        } else {
            self.received.ahead |= 1 << (number - self.received.received - 2);
        }
        true
    }

    /// Messages sent so long ago that they may be lost, to be sent again now.
    pub(crate) fn overdue(&mut self, now: Time, resend: Time) -> Vec<(u64, Message)> {
        let mut overdue = Vec::new();
        for sent in &mut self.unacknowledged {
            if now >= sent.last + resend {
                sent.last = now;
                overdue.push((sent.number, sent.message.clone()));
            }
        }
        overdue
    }

    /// When the message was first sent that has waited longest to be acknowledged.
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.unacknowledged.front().map(|sent| sent.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn numbers_are_new_once_in_any_order() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut numbers: Vec<u64> = (1..=60).chain(1..=60).collect();
            random.shuffle(&mut numbers);
            let mut channel = Channel::default();
            let mut new: Vec<u64> = numbers.into_iter().filter(|&n| channel.is_new(n)).collect();
            new.sort_unstable();
            assert_eq!(new, (1..=60).collect::<Vec<_>>());
            assert_eq!(channel.acknowledge(), Ack { received: 60, ahead: 0 });
        }
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again() {
        let mut channel = Channel::default();
        for _ in 0..5 {
            channel.send(10, Message::Ping);
        }
        assert!(channel.overdue(14, 5).is_empty());
        channel.acknowledged(Ack { received: 1, ahead: 0b10 });
        let numbers = |channel: &mut Channel, now| -> Vec<u64> {
            channel.overdue(now, 5).into_iter().map(|(number, _)| number).collect()
        };
        assert_eq!(numbers(&mut channel, 15), [2, 3, 5]);
        assert!(numbers(&mut channel, 19).is_empty());
        channel.acknowledged(Ack { received: 5, ahead: 0 });
        assert!(numbers(&mut channel, 99).is_empty());
    }

    #[test]
    fn a_number_far_ahead_is_as_good_as_lost() {
        let mut channel = Channel::default();
        assert!(channel.is_new(65));
        assert!(!channel.is_new(66));
        assert!((1..=64).all(|number| channel.is_new(number)));
        assert!(channel.is_new(66) && channel.received.received == 66);
    }
}
