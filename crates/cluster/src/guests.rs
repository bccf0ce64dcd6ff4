//! Connections at a listener whose other side has not said yet who it is: a bounded number.
//!
//! A scan of ports makes connections and says nothing on them. Each ends by its deadline
//! ([`crate::links::stream`]), and before that where the next one has no place: a machine says at
//! once who it is, so the oldest connection that has not is closed for the next. A young one is
//! not, or machines that all come at the same time would close each other's.
//!
//! **Invariant:** a connection that says nothing keeps no other one out for longer than a moment,
//! and places and threads are bounded. Checked in `Guests::enter`. Tested by
//! `the_oldest_guest_makes_room_for_the_next` and `guests_that_do_not_leave_are_bounded`.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time that a guest has in any case.
const MOMENT: Duration = Duration::from_millis(500);

/// Places of a listener.
pub(crate) struct Guests {
    max: usize,
    moment: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    came: u64,
    /// Guests, also those that were closed, whose threads have not ended.
    inside: usize,
    /// Connections that have a place, by the order in which they came, and when that was.
    open: BTreeMap<u64, (TcpStream, Instant)>,
}

/// Place of a guest, which ends with this.
pub(crate) struct Place {
    guests: Arc<Guests>,
    number: u64,
}

impl Guests {
    /// Guests with this number of places.
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, moment: MOMENT, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection, for which the oldest one is closed where none is free. None where
    /// that one has just come, or those that were closed have not left yet.
    pub(crate) fn enter(self: &Arc<Self>, stream: &TcpStream) -> Option<Place> {
        let stream = stream.try_clone().ok()?;
        let mut state = self.lock();
        if state.inside >= 2 * self.max {
            return None;
        }
        if state.open.len() >= self.max {
            let oldest = state.open.first_entry()?;
            let (_, since) = oldest.get();
            if since.elapsed() < self.moment {
                return None;
            }
            // It may be broken already.
            let _ = oldest.remove().0.shutdown(Shutdown::Both);
        }
        state.came += 1;
        state.inside += 1;
        let number = state.came;
        state.open.insert(number, (stream, Instant::now()));
        Some(Place { guests: self.clone(), number })
    }
}

impl Place {
    /// Makes room, now that the other side has said who it is. False where its connection was
    /// closed before.
    pub(crate) fn leave(&self) -> bool {
        self.guests.lock().open.remove(&self.number).is_some()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
        self.guests.lock().inside -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    /// Two places, which are kept for this time in any case.
    fn two(moment: Duration) -> Arc<Guests> {
        Arc::new(Guests { max: 2, moment, state: Mutex::default() })
    }

    /// Both ends of connections.
    fn connections<const N: usize>() -> [(TcpStream, TcpStream); N] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        [(); N].map(|()| {
            let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (one, listener.accept().unwrap().0)
        })
    }

    #[test]
    fn the_oldest_guest_makes_room_for_the_next() {
        let guests = two(Duration::ZERO);
        let [(mut first, one), (_second, two), (_third, three)] = connections();
        let places = [&one, &two, &three].map(|stream| guests.enter(stream).unwrap());
        assert_eq!(first.read(&mut [0]).unwrap(), 0, "its connection has ended");
        assert_eq!(places.map(|place| place.leave()), [false, true, true]);
    }

    #[test]
    fn guests_that_do_not_leave_are_bounded() {
        let [(_, one), (_, other)] = connections();
        let guests = two(Duration::ZERO);
        let mut places: Vec<Place> = (0..4).map(|_| guests.enter(&one).unwrap()).collect();
        assert!(guests.enter(&other).is_none(), "two that were closed have not left");
        places.remove(0);
        assert!(guests.enter(&other).is_some());
        // Young ones keep their places until they have left.
        let guests = two(Duration::MAX);
        let places = [&one, &one].map(|stream| guests.enter(stream).unwrap());
        assert!(guests.enter(&other).is_none());
        assert!(places[0].leave() && guests.enter(&other).is_some());
    }
}
