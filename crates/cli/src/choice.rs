//! Which way an algorithm goes that has two: a program that learns in memory as long as that fits,
//! and a fold program on routes that the first one does not have, and in less memory.
//!
//! Invariant: what was taken is told, with the reason: by `explain`, and by the report.

use crate::algorithms::Chosen;
use crate::failure::Failure;
use crate::load::Source;
use crate::session::Session;

/// Why the first way was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It does not have the route that was forced.
    Route,
    /// It does not fit in memory.
    Memory,
}

/// The way that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// What `--method` calls it.
    pub(crate) name: &'static str,
    /// Why it was.
    pub(crate) why: String,
}

impl Taken {
    /// That a user asked for.
    pub(crate) fn said(name: &'static str) -> Self {
        Self { name, why: "as --method says".to_owned() }
    }

    /// The first way, for which nothing is in the way.
    pub(crate) fn first(name: &'static str) -> Self {
        Self { name, why: "it fits in memory, and has the route if one is forced".to_owned() }
    }

    /// The other one, instead of the first.
    pub(crate) fn instead(name: &'static str, first: &'static str, why: Why) -> Self {
        let why = match why {
            Why::Route => format!("{first} does not have the route that is forced"),
            Why::Memory => format!("{first} does not fit in memory"),
        };
        Self { name, why }
    }
}

/// What was done, and with what, if that is not the algorithm in its first way.
pub(crate) type Done<T> = (Option<Box<dyn Chosen>>, T);

/// Does something with an algorithm in its first way, or else in its other one: where a route is
/// forced, and where there is too little memory, if the graph can be read again.
pub(crate) fn attempt<T>(
    algorithm: &dyn Chosen,
    source: &Source,
    session: &Session,
    attempt: impl Fn(&dyn Chosen) -> Result<T, Failure>,
) -> Result<Done<T>, Failure> {
    if session.resources.streams()
        && let Some(other) = algorithm.otherwise(Why::Route)
    {
        let done = attempt(&*other)?;
        return Ok((Some(other), done));
    }
    let failure = match attempt(algorithm) {
        Err(failure) if failure.need().is_some() && source.lasts() => failure,
        done => return Ok((None, done?)),
    };
    let Some(other) = algorithm.otherwise(Why::Memory) else { return Err(failure) };
    match attempt(&*other) {
        // Whoever gives it more shall hear of the way that needs less.
        Err(again) if again.need() > failure.need() => Err(failure),
        done => {
            let done = done?;
            Ok((Some(other), done))
        }
    }
}
