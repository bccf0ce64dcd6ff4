//! Sources and targets that are two kinds of vertices: who says so, and what is stated of each.
//!
//! The word of the user wins over what formats state; of formats, all inputs must state it or none.

use welter_model::two_kinds::Side;

use super::{Collector, DeclaredVertices};
use crate::error::InputError;
use crate::ids::sides::stated_lettered;

impl Collector {
    /// A collector of edges whose sources and targets are two kinds of vertices, or are not; `None`
    /// leaves it to what sources state.
    #[must_use]
    pub fn with_two_kinds(self, two_kinds: Option<bool>) -> Self {
        Self { two_kinds, ..self }
    }

    /// States, before its first part, that sources and targets of the present source are two kinds
    /// of vertices. What the user said wins over it; the answer is whether they are.
    pub fn state_two_kinds(&self) -> bool {
        let mut state = self.lock();
        let source = state.source();
        state.two_kinds.push(source);
        self.two_kinds.unwrap_or(true)
    }

    /// Whether sources and targets of the present source are two kinds of vertices.
    pub fn has_two_kinds(&self) -> bool {
        let state = self.lock();
        self.two_kinds.unwrap_or_else(|| state.two_kinds.contains(&state.source()))
    }

    /// Whether sources and targets of any source are two kinds of vertices.
    pub(crate) fn any_two_kinds(&self) -> bool {
        self.two_kinds.unwrap_or_else(|| !self.lock().two_kinds.is_empty())
    }

    /// States vertices of one of two kinds.
    ///
    /// # Errors
    /// As of [`Collector::state`].
    pub fn state_side(&self, side: Side, stated: DeclaredVertices) -> Result<(), InputError> {
        let stated = stated_lettered(side, stated);
        let mut state = self.hold(self.stated_bytes(&stated)?)?;
        state.largest.see_stated(side, &stated);
        let source = state.source();
        state.sided.push((source, side, stated));
        Ok(())
    }

    /// Refuses sources of which only some state that theirs are two kinds of vertices.
    pub(crate) fn check_kinds(&self) -> Result<(), InputError> {
        let state = self.lock();
        let stating = |source: &usize| state.two_kinds.contains(source);
        let sources = state.parts.iter().map(|placed| placed.source);
        let mut sources = sources.chain(state.spilled.iter().map(|spilled| spilled.source));
        let other = sources.find(|source| !stating(source));
        match (self.two_kinds, state.two_kinds.first(), other) {
            (None, Some(two), Some(one)) => {
                let (two, one) = (&state.files[*two], &state.files[one]);
                let what = format!(
                    "{two} has two kinds of vertices and {one} one; say --bipartite or \
                     --no-bipartite for all"
                );
                Err(InputError::Inputs { what })
            }
            _ => Ok(()),
        }
    }
}
