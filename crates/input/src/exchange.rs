//! Exchange of bytes by machines that read shares of an input together: in rounds, in which each
//! has something for every other one.
//!
//! ```text
//! member i  ── pieces[j] ──>  member j      a round: all pieces of all members, none of the next
//! ```
//!
//! The way between the members is the caller's. Here is one within a process, [`Channels`], by
//! which a machine that is alone reads as all of them would have.
//!
//! Invariant: all members take part in the same rounds, also where one of them fails, of which all
//! learn in the next round. Checked in `together`. Tested by `all_learn_of_the_first_failure`.

use std::sync::mpsc::{Receiver, Sender, channel};

use welter_progress::FailureKind;

use crate::error::InputError;

/// Members that exchange bytes.
pub trait Exchange {
    /// Number of this member, counted from 0.
    fn me(&self) -> usize;

    /// Number of members.
    fn members(&self) -> usize;

    /// Hands the piece of each place to the member of that number, and waits for what all others
    /// have for this one, by their numbers. Its own piece comes back to it.
    ///
    /// # Errors
    /// [`InputError::Lost`] when a member is out of reach, and [`InputError::Cancelled`].
    fn all_to_all(&mut self, pieces: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, InputError>;
}

/// Last byte of a piece of a member that has not failed; else it is one of the place of a kind.
const WELL: u8 = u8::MAX;

/// A round in which each member has pieces for all, or has failed. The failure of the first member
/// that has is that of all.
pub(crate) fn together(
    exchange: &mut dyn Exchange,
    own: Result<Vec<Vec<u8>>, InputError>,
) -> Result<Vec<Vec<u8>>, InputError> {
    let (me, members) = (exchange.me(), exchange.members());
    let (pieces, mut failed) = match own {
        Ok(mut pieces) => {
            pieces.resize_with(members, Vec::new);
            for piece in &mut pieces {
                piece.push(WELL);
            }
            (pieces, None)
        }
        Err(error) => (vec![words_of(&error); members], Some(error)),
    };
    let mut found = exchange.all_to_all(pieces)?;
    for (member, piece) in found.iter_mut().enumerate() {
        match piece.pop() {
            Some(WELL) => {}
            _ if member == me && failed.is_some() => {
                return Err(failed.take().unwrap_or(InputError::Cancelled));
            }
            Some(kind) => {
                let kind = FailureKind::ALL.get(usize::from(kind)).copied();
                let what = String::from_utf8_lossy(piece).into_owned();
                return Err(InputError::Elsewhere {
                    kind: kind.unwrap_or(FailureKind::Internal),
                    what,
                });
            }
            None => return Err(unclear()),
        }
    }
    Ok(found)
}

/// A round in which each member says the same to all, or has failed. What each has said comes back,
/// by their numbers.
///
/// # Errors
/// The failure of the first member that has failed, on all; [`InputError::Lost`] when one is out of
/// reach, and [`InputError::Cancelled`].
pub fn gather(
    exchange: &mut dyn Exchange,
    own: Result<Vec<u8>, InputError>,
) -> Result<Vec<Vec<u8>>, InputError> {
    let members = exchange.members();
    together(exchange, own.map(|own| vec![own; members]))
}

/// A failure, as others are told it.
fn words_of(error: &InputError) -> Vec<u8> {
    let kind = FailureKind::ALL.iter().position(|kind| *kind == error.kind());
    let mut words = error.to_string().into_bytes();
    words.push(kind.unwrap_or(0) as u8);
    words
}

/// The error about a piece that makes no sense.
pub(crate) fn unclear() -> InputError {
    InputError::Lost { what: "what it said makes no sense".to_owned() }
}

/// A member whose others are threads of this process.
#[derive(Debug)]
pub struct Channels {
    me: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

impl Channels {
    /// As many members, for a thread each.
    pub fn of(members: usize) -> Vec<Self> {
        let mut all: Vec<Self> =
            (0..members).map(|me| Self { me, to: Vec::new(), from: Vec::new() }).collect();
        for from in 0..members {
            for to in 0..members {
                let (sender, receiver) = channel();
                // In the order of their numbers on both sides.
                all[from].to.push(sender);
                all[to].from.push(receiver);
            }
        }
        all
    }
}

impl Exchange for Channels {
    fn me(&self) -> usize {
        self.me
    }

    fn members(&self) -> usize {
        self.to.len()
    }

    fn all_to_all(&mut self, pieces: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, InputError> {
        let lost = || InputError::Lost { what: "its thread has ended".to_owned() };
        for (to, piece) in self.to.iter().zip(pieces) {
            to.send(piece).map_err(|_| lost())?;
        }
        self.from.iter().map(|from| from.recv().map_err(|_| lost())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_learn_of_the_first_failure() {
        let members = Channels::of(4);
        let found: Vec<_> = std::thread::scope(|scope| {
            let work = |mut member: Channels| {
                let me = member.me();
                let own = match me {
                    1 | 3 => Err(InputError::content(&format!("f{me}"), "is odd")),
                    _ => Ok(b"fine".to_vec()),
                };
                gather(&mut member, own).unwrap_err()
            };
            let threads: Vec<_> =
                members.into_iter().map(|member| scope.spawn(move || work(member))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for error in found {
            assert_eq!((error.kind(), &error.to_string()[..]), (FailureKind::Input, "f1: is odd"));
        }
    }

    #[test]
    fn a_round_brings_each_piece_to_its_member() {
        let members = Channels::of(3);
        std::thread::scope(|scope| {
            for mut member in members {
                scope.spawn(move || {
                    let me = member.me() as u8;
                    for round in 0..3 {
                        let pieces = (0..3).map(|to| vec![round, me, to]).collect();
                        let found = together(&mut member, Ok(pieces)).unwrap();
                        let expected: Vec<_> = (0..3).map(|from| vec![round, from, me]).collect();
                        assert_eq!(found, expected);
                    }
                });
            }
        });
    }

    #[test]
    fn a_member_that_is_gone_is_lost() {
        let mut members = Channels::of(2);
        drop(members.pop());
        let error = gather(&mut members[0], Ok(Vec::new())).unwrap_err();
        assert!(matches!(error, InputError::Lost { .. }), "{error}");
    }
}
