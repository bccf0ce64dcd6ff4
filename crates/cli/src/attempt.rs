//! An algorithm in its first way, or in its other one where the first has no place.

use crate::algorithms::algorithm::Algorithm;
use crate::choice::FallbackReason;
use crate::failure::Failure;
use crate::load::Source;
use crate::session::Session;

/// Result of a run, with the algorithm that it was done by, if that is not the one that was chosen.
pub(crate) type Done<T> = (Option<Box<dyn Algorithm>>, T);

/// Does something with an algorithm in its first way, or else in its other one: where a route is
/// forced, and where there is too little memory, if the graph can be read again.
pub(crate) fn attempt<T>(
    algorithm: &dyn Algorithm,
    source: &Source,
    session: &Session,
    attempt: impl Fn(&dyn Algorithm) -> Result<T, Failure>,
) -> Result<Done<T>, Failure> {
    if session.resources.streams()
        && let Some(other) = algorithm.otherwise(FallbackReason::Route)
    {
        let done = attempt(&*other)?;
        return Ok((Some(other), done));
    }
    let failure = match attempt(algorithm) {
        Err(failure) if failure.need().is_some() && source.lasts() => failure,
        done => return Ok((None, done?)),
    };
    let Some(other) = algorithm.otherwise(FallbackReason::Memory) else { return Err(failure) };
    match attempt(&*other) {
        // A user who gives it more shall learn of the way that needs less.
        Err(again) if again.need() > failure.need() => Err(failure),
        done => {
            let done = done?;
            Ok((Some(other), done))
        }
    }
}
