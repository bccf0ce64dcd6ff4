//! Acknowledgements: which messages a sender has received.

/// Numbers of the messages that a sender has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// All up to this number.
    pub received: u64,
    /// Bit `i`: also number `received + 2 + i`.
    pub ahead: u64,
}

impl Ack {
    pub(crate) fn covers(self, number: u64) -> bool {
        let over = number.checked_sub(self.received + 2);
        number <= self.received || over.is_some_and(|bit| bit < 64 && self.ahead >> bit & 1 == 1)
    }
}
