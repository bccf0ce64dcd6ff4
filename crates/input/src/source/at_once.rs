//! Inputs, opened one after another, or several at a time where they are objects: each takes a
//! request or more, in which a thread waits for most of the time.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use welter_objects::{Cancellation, Location};

use crate::error::InputError;

/// Inputs that are opened at a time.
const AT_ONCE: usize = 32;

/// Finds something out of each: all of it in their order, or the first error in that order.
pub(crate) fn each<T: Send + Sync>(
    names: &[PathBuf],
    look: impl Fn(&PathBuf) -> Result<T, InputError> + Sync,
) -> Result<Vec<T>, InputError> {
    let objects = names.iter().filter(|name| Location::of(name).is_some()).count();
    if objects < 2 {
        return names.iter().map(look).collect();
    }
    let found: Vec<OnceLock<Result<T, InputError>>> =
        names.iter().map(|_| OnceLock::new()).collect();
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        // Calls that were begun before one failed come to an end, the earlier ones among them.
        while !failed.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = names.get(place) else { break };
            let looked = found[place].get_or_init(|| look(name));
            failed.fetch_or(looked.is_err(), Ordering::Relaxed);
        }
    };
    let wanted = Cancellation::here();
    std::thread::scope(|scope| {
        for _ in 1..objects.min(AT_ONCE) {
            // Where the system starts no more threads, those that are there do it all.
            let wanted = wanted.clone();
            let work = move || wanted.during(work);
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    found.into_iter().filter_map(OnceLock::into_inner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_opened_at_the_same_time() {
        let names = ["s3://box/1", "s3://box/2"].map(PathBuf::from);
        let both = std::sync::Barrier::new(2);
        each(&names, |_| {
            both.wait();
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn the_first_error_in_order_is_told() {
        let names: Vec<PathBuf> = (0..100).map(|it| format!("s3://box/{it}").into()).collect();
        let number = |name: &PathBuf| -> usize {
            name.file_name().unwrap().to_str().unwrap().parse().unwrap()
        };
        let found = each(&names, |name| Ok(number(name))).unwrap();
        assert!(found.into_iter().eq(0..100));
        for _ in 0..20 {
            let refused = each(&names, |name| match number(name) {
                it if it < 31 => Ok(it),
                it => Err(InputError::content("it", it.to_string())),
            });
            assert!(refused.unwrap_err().to_string().ends_with(": 31"));
        }
    }
}
