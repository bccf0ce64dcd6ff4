//! Calls to the system that fail on purpose.
//!
//! A test asks for the Nth call to fail, runs, and asks whether the fault came to pass; for N = 1,
//! 2, 3, ... until it did not, every call of the run has failed once. Without a plan a call costs
//! one look at an `Option`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// A kind of call to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Making a file or a directory.
    Create,
    /// Opening a file that is there.
    Open,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Asking for what was written to be on the device.
    Sync,
    /// Giving a file its name.
    Rename,
    /// Taking the name of a file or a directory away.
    Remove,
}

/// Fault that happens instead of what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails with this number of the system, such as 5 (`EIO`) or 28 (`ENOSPC`).
    Errno(i32),
    /// A read or write moves only a part of what it was asked to.
    Short,
    /// Of what was read, this bit is another one; counted from the first bit of the request, and
    /// modulo the bits that were asked for.
    FlipBit(u64),
    /// The call takes so much longer, as on a device that is slow.
    Slow(Duration),
    /// The process is killed before the call, as by `kill -9`.
    Kill,
}

/// Call that fails, and its fault. Shared by all who make calls.
#[derive(Debug)]
pub struct Faults {
    only: Option<Call>,
    nth: u64,
    lasting: bool,
    fault: Fault,
    seen: AtomicU64,
    fired: AtomicBool,
}

impl Faults {
    /// The `nth` call fails, counted from 1. Only calls that can fail so are counted: reads for
    /// [`Fault::FlipBit`], reads and writes for [`Fault::Short`].
    pub fn nth(nth: u64, fault: Fault) -> Arc<Self> {
        Arc::new(Self::plan(None, nth, fault, false))
    }

    /// The `nth` call of a kind fails.
    pub fn nth_of(call: Call, nth: u64, fault: Fault) -> Arc<Self> {
        Arc::new(Self::plan(Some(call), nth, fault, false))
    }

    /// The `nth` call of a kind fails and all that follow it, as on a disk that is full.
    pub fn from(call: Call, nth: u64, fault: Fault) -> Arc<Self> {
        Arc::new(Self::plan(Some(call), nth, fault, true))
    }

    fn plan(only: Option<Call>, nth: u64, fault: Fault, lasting: bool) -> Self {
        let (seen, fired) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { only, nth, lasting, fault, seen, fired }
    }

    /// The plan for the durable writes of this process, in the words of its environment, for tests
    /// of whole commands: `WELTER_FAULT="kill 7"`, or `"5 7"` for error 5, is what happens to the
    /// seventh call. Only builds for development look.
    pub fn of_process() -> Option<Arc<Self>> {
        static PLAN: OnceLock<Option<Arc<Faults>>> = OnceLock::new();
        PLAN.get_or_init(|| Self::of_words(&stated("WELTER_FAULT")?)).clone()
    }

    /// The plan for the disk of a machine of a cluster, of this rank, likewise:
    /// `WELTER_MACHINE_FAULT="1 kill 7"` is for the machine of rank 1.
    pub fn of_machine(rank: usize) -> Option<Arc<Self>> {
        let words = stated("WELTER_MACHINE_FAULT")?;
        let (of, plan) = words.split_once(' ')?;
        (of == rank.to_string()).then(|| Self::of_words(plan)).flatten()
    }

    fn of_words(words: &str) -> Option<Arc<Self>> {
        let (fault, nth) = words.split_once(' ')?;
        let fault = match fault {
            "kill" => Fault::Kill,
            number => Fault::Errno(number.parse().ok()?),
        };
        Some(Self::nth(nth.parse().ok()?, fault))
    }

    /// Whether a call failed on purpose.
    pub fn fired(&self) -> bool {
        self.fired.load(Ordering::Relaxed)
    }

    /// Calls that were counted.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// The fault that shall happen to a call that is about to be made.
    pub(crate) fn hit(&self, call: Call) -> Option<Fault> {
        let possible = match self.fault {
            Fault::Errno(_) | Fault::Slow(_) | Fault::Kill => true,
            Fault::Short => matches!(call, Call::Read | Call::Write),
            Fault::FlipBit(_) => call == Call::Read,
        };
        if !possible || self.only.is_some_and(|only| only != call) {
            return None;
        }
        let number = self.seen.fetch_add(1, Ordering::Relaxed) + 1;
        let hit = number == self.nth || (self.lasting && number > self.nth);
        if hit {
            self.fired.store(true, Ordering::Relaxed);
            match self.fault {
                Fault::Kill => end_process(),
                Fault::Slow(time) => std::thread::sleep(time),
                _ => {}
            }
        }
        hit.then_some(self.fault)
    }
}

/// Words of the environment, where a build for development looks.
fn stated(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|_| cfg!(debug_assertions))
}

/// Ends this process as a signal would: nothing is unwound or written.
fn end_process() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    // The signal comes before the call returns; this is for systems that think otherwise.
    std::process::abort()
}

/// Fails if a plan says that this call, which moves no bytes, shall fail.
///
/// # Errors
/// Statement of the plan.
pub fn check(faults: Option<&Arc<Faults>>, call: Call) -> Result<(), Errno> {
    match faults.and_then(|faults| faults.hit(call)) {
        Some(Fault::Errno(number)) => Err(Errno::from_raw_os_error(number)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_from_words() {
        let plan = Faults::of_words("kill 7").unwrap();
        assert_eq!((plan.fault, plan.nth), (Fault::Kill, 7));
        assert_eq!(Faults::of_words("5 9").unwrap().fault, Fault::Errno(5));
        assert!(["", "kill", "x 3", "kill x"].iter().all(|it| Faults::of_words(it).is_none()));
    }

    #[test]
    fn the_nth_call_fails_and_no_other() {
        let faults = Faults::nth(3, Fault::Errno(5));
        let calls = [Call::Create, Call::Write, Call::Sync, Call::Read];
        let hits: Vec<bool> = calls.iter().map(|call| faults.hit(*call).is_some()).collect();
        assert_eq!(hits, [false, false, true, false]);
        assert!(faults.fired());
        assert_eq!(faults.seen(), 4);
    }

    #[test]
    fn calls_of_other_kinds_are_not_counted() {
        let faults = Faults::from(Call::Write, 2, Fault::Errno(28));
        let calls = [Call::Write, Call::Read, Call::Write, Call::Write];
        let hits: Vec<bool> = calls.iter().map(|call| faults.hit(*call).is_some()).collect();
        assert_eq!(hits, [false, false, true, true]);
        let faults = Faults::nth(1, Fault::FlipBit(7));
        assert_eq!(faults.hit(Call::Write), None);
        assert!(!faults.fired());
        assert_eq!(faults.hit(Call::Read), Some(Fault::FlipBit(7)));
    }
}
