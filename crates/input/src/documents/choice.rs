//! The choice of the attribute of edges that is the weight, once all of a graph was read.
//!
//! Invariant: where no attribute is taken for the weight, those that may be meant are reported, and
//! two that are as likely are refused. Tested by `weights_are_known_by_the_words_of_columns`.

use super::Document;
use super::weights::{Attribute, Kind, Weights};
use crate::error::InputError;
use crate::options::WeightChoice;

impl Document<'_> {
    /// The attribute that is the weight.
    pub(super) fn take_weights(&mut self) -> Result<Option<Weights>, InputError> {
        let count = self.edges.len();
        let stated = match &self.options.weight {
            WeightChoice::Column(name) => Some(name),
            _ => None,
        };
        if let tied @ [_, _, ..] = &self.attributes.tied()[..] {
            let what = format!(
                "expected one attribute of edges that can be the weight, found {} (--weight NAME \
                 says which it is, --no-weights that there is none)",
                listed(tied)
            );
            return Err(InputError::content(self.file, what));
        }
        let Some(best) = self.attributes.present() else {
            return match stated {
                Some(name) if count > 0 => {
                    let what = format!("expected an edge with the attribute {name}");
                    Err(self.wrong(self.line_of(0), what))
                }
                Some(name) => Ok(Some(Weights::none(name.to_string()))),
                None => {
                    self.note_unread();
                    Ok(None)
                }
            };
        };
        let Attribute { name, kind, numbers, bad, beyond, .. } = best;
        let wrong = |(line, what): &(u64, String)| self.wrong(*line, what.clone());
        if let Some(beyond) = beyond {
            return Err(wrong(beyond));
        }
        let default = self.rules.default_weight.filter(|_| *kind == Kind::Weight && bad.is_none());
        if *numbers < count && default.is_none() {
            let first = (0..count).find(|edge| best.get(*edge).is_nan()).unwrap_or(0);
            let what = "expected an edge with a weight, as others have one; leave weights out \
                        (--no-weights), or give each edge one";
            return Err(bad.as_ref().map_or_else(|| self.wrong(self.line_of(first), what), wrong));
        }
        let (name, missing) = (name.clone(), count - numbers);
        if let Some(default) = default.filter(|_| missing > 0) {
            self.note(format!(
                "edges without a weight: {missing}, which have {default}, as the format says"
            ));
        }
        Ok(Some(self.attributes.take(name, default)))
    }

    /// Reports numbers that may be meant as weights, and of weights that are no numbers.
    fn note_unread(&mut self) {
        if let Some(name) = self.attributes.unnumbered() {
            let what = format!("{name:?} of edges holds no numbers, and is not read as the weight");
            self.note(what);
        }
        if let unread @ [first, ..] = &self.attributes.unread()[..] {
            let what = format!(
                "edges have numbers that are not read: {} (--weight {first} makes them weights)",
                listed(unread)
            );
            self.note(what);
        }
    }
}

/// Names as a message shows them.
fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    shown.join(", ")
}
