//! Generations of objects, as Google numbers them in its XML API: each write makes a new one.
//!
//! ```text
//! x-goog-generation            of answers: the number of the object that is there
//! x-goog-if-generation-match   of writes: the number that it must have, 0 for no object
//! generation                   of reads: the number of the object that is wanted
//! ```
//! Of those that were replaced the last one is kept, and no earlier ones.

use super::message::Request;
use super::{Object, State};

impl State {
    /// Whether the object is of the generation that a request states, if it states one.
    pub(super) fn is_of_generation(&self, request: &Request) -> bool {
        let found = self.objects.get(&request.path).map_or(0, |object| object.generation);
        request.if_generation.is_none_or(|wanted| wanted == found)
    }

    /// The object that is read: as it is now, or of the generation that a request states.
    pub(super) fn found(&self, request: &Request) -> Option<&Object> {
        let now = self.objects.get(&request.path);
        let Some(wanted) = request.query.get("generation") else { return now };
        let before = self.replaced.as_ref().filter(|(path, _)| *path == request.path);
        let mut both = now.into_iter().chain(before.map(|(_, object)| object));
        both.find(|object| object.generation.to_string() == *wanted)
    }
}
