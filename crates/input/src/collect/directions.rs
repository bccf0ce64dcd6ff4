//! Whether edges go both ways: what sources state of it, who must agree.

use super::Collector;
use crate::error::InputError;

impl Collector {
    /// States whether each edge of the present source stands for both directions (`true`), or is an
    /// arc as it is, as also where a format lists both arcs of an edge (`false`).
    pub fn state_undirected(&self, undirected: bool) {
        let mut state = self.lock();
        let source = state.source();
        state.undirected.push((source, undirected));
    }

    /// Statements of sources about it, by the numbers of the sources.
    pub(crate) fn directions(&self) -> Vec<(usize, bool)> {
        self.lock().undirected.clone()
    }

    /// Whether each edge stands for both directions, where sources say so.
    ///
    /// # Errors
    /// [`InputError::Inputs`] when two of them say different things.
    pub fn undirected(&self) -> Result<Option<bool>, InputError> {
        let state = self.lock();
        let stated = state.undirected.iter();
        agreed(stated.map(|(source, undirected)| (&state.files[*source][..], *undirected)))
    }
}

/// The direction that all agree on that say one; an error names two that disagree.
pub(crate) fn agreed<'a>(
    stated: impl Iterator<Item = (&'a str, bool)>,
) -> Result<Option<bool>, InputError> {
    let mut first: Option<(&str, bool)> = None;
    for (file, undirected) in stated {
        match first {
            None => first = Some((file, undirected)),
            Some((other, agreed)) if agreed != undirected => {
                let (undirected, directed) = if agreed { (other, file) } else { (file, other) };
                let what = format!(
                    "{undirected} has undirected edges and {directed} directed ones; \
                     say --directed or --undirected for all"
                );
                return Err(InputError::Inputs { what });
            }
            Some(_) => {}
        }
    }
    Ok(first.map(|(_, undirected)| undirected))
}
