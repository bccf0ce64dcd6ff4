//! Faults that the store makes.

use std::time::Duration;

use super::message::Request;

/// A thing that goes wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server answers with this status.
    Status(u16),
    /// The server answers with this status and this word for it.
    Refused(u16, &'static str),
    /// The server answers with this status, and repeats the request with all that is secret in it.
    Repeated(u16),
    /// The connection ends after half of the body.
    Cut,
    /// Half of the body comes and then nothing for so long, after which the connection ends.
    Stalled(Duration),
    /// The body has a byte less than the range, and says so.
    Short,
    /// The body has a byte more than the range, and says so.
    Long,
    /// The server says nothing for so long, and then answers.
    Silent(Duration),
    /// The server does it, says nothing for so long, and then answers.
    Late(Duration),
    /// The server does it, and the connection ends without an answer.
    Lost,
    /// The server does it, and answers with this status, as a proxy before it would.
    DoneBut(u16),
    /// A bit in the middle of the body is another.
    Flipped,
    /// A bit of a digit behind the middle of the body is another, so that it is another digit. No
    /// zero is made, which would be odd in front of others.
    Digit,
    /// The server answers 200 with this word for an error, and does nothing.
    Inside(&'static str),
    /// The server does not look at entity tags.
    Careless,
    /// The server does not know ranges.
    Whole,
    /// Another object is put there before.
    Replaced(Vec<u8>),
    /// Another client removes the object before.
    Removed,
    /// The server says that the object is at another URL.
    Moved(String),
}

/// Decides which answer goes wrong.
pub type Faults = dyn FnMut(&Request) -> Option<Fault> + Send;
