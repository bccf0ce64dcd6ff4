//! Integers of two kinds of vertices, put apart: those of targets behind all of sources.

use rayon::prelude::*;
use welter_model::two_kinds::Side;

use super::id_mapping::Described;
use crate::collect::{CollectedParts, DeclaredVertices, EdgeRun, Ids};
use crate::error::InputError;
use crate::temp::blob::Blob;

impl CollectedParts {
    /// Puts all that is of targets behind what is of sources. What is on files is written anew.
    pub(super) fn put_apart(mut self, added: u64) -> Result<Self, InputError> {
        self.parts.par_iter_mut().for_each(|placed| put_behind(&mut placed.part, added));
        let sided = std::mem::take(&mut self.sided).into_iter();
        let stated = sided.map(|(source, side, it)| (source, stated_apart(side, it, added)));
        self.stated.extend(stated);
        if let Some((scratch, parts)) = &mut self.spilled {
            let integers = parts.par_iter_mut().filter(|spilled| !spilled.named());
            integers.try_for_each(|spilled| {
                let mut part = spilled.blob.load(scratch)?;
                put_behind(&mut part, added);
                spilled.blob = Blob::write(scratch, part)?;
                Ok(())
            })?;
        }
        Ok(self)
    }
}

/// Puts integers of targets behind those of sources.
fn put_behind(part: &mut EdgeRun, added: u64) {
    let ids = std::mem::replace(&mut part.ids, Ids::narrow(Vec::new()));
    part.ids = match ids {
        Ids::Narrow { mut pairs, max } if u64::from(max) + added <= u32::MAX.into() => {
            for [_, target] in &mut pairs {
                *target += added as u32;
            }
            Ids::narrow(pairs)
        }
        names @ Ids::Names { .. } => names,
        integers => {
            let mut pairs = integers.into_wide();
            for [_, target] in &mut pairs {
                *target += added;
            }
            Ids::integers(pairs)
        }
    };
}

/// Vertices of one of two kinds that are stated, with ids apart from those of the other.
fn stated_apart(side: Side, stated: DeclaredVertices, added: u64) -> DeclaredVertices {
    match stated {
        DeclaredVertices::Range { first, count } if side == Side::Target => {
            DeclaredVertices::Range { first: first.saturating_add(added), count }
        }
        DeclaredVertices::Integers(mut ids) if side == Side::Target => {
            for id in &mut ids {
                *id += added;
            }
            DeclaredVertices::Integers(ids)
        }
        stated => stated,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sides::Largest;
    use super::*;

    #[test]
    fn integers_of_targets_come_behind_those_of_sources() {
        let mut largest = Largest::default();
        let mut part = EdgeRun { ids: Ids::narrow(vec![[5, 5], [1, u32::MAX]]), weights: None };
        largest.see(&part.ids);
        let added = largest.added().unwrap();
        assert_eq!(added, 6);
        put_behind(&mut part, added);
        assert_eq!(part.ids, Ids::integers(vec![[5, 11], [1, u64::from(u32::MAX) + 6]]));
        largest.see_stated(Side::Source, &DeclaredVertices::Integers(vec![1 << 62]));
        assert!(largest.added().unwrap_err().to_string().contains("--ids strings"));
    }
}
