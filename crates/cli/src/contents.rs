//! A number of the contents of the inputs, by which machines of several computers find out that one
//! has other files than another.
//!
//! ```text
//! contents = edges in their order, weights, ids, tables of vertices
//! ```
//!
//! Edges that a machine has read anyway are all in it. Of those that are read when they are asked
//! for (raw records, generated and kept graphs) it has the first of some parts, so that a machine
//! does not read for this what another one is there to read.
//!
//! Where each machine has parsed a share, there is in its place what all have found in the inputs
//! before they read them (`welter_input::SharedInput::contents`).
//!
//! Invariant: the number does not depend on how a machine cuts the input, which its memory decides.
//! Tested by `contents_are_edges_in_their_order`.

use std::fs::File;
use std::io::Read;

use welter_input::source;
use welter_model::edges::{Batch, EdgeStream};
use welter_model::ids::IdMap;
use welter_objects::Location;
use welter_progress::FailureKind;
use welter_protocol::payload::checksum;

use crate::failure::Failure;

/// Parts of which the first edges are looked at, where not all edges are.
const PARTS: usize = 256;

/// Bytes of a table that are looked at together.
const BLOCK_BYTES: usize = 1 << 20;

/// A number that grows with what is seen.
#[derive(Default)]
struct Contents(u64);

impl Contents {
    fn see(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed.rotate_left(29);
    }

    fn edges(&mut self, batch: Batch<'_>) {
        for (edge, &[source, target]) in batch.pairs.iter().enumerate() {
            self.see(u64::from(source) << 32 | u64::from(target));
            if let Some(weights) = batch.weights {
                self.see(weights[edge].to_bits());
            }
        }
    }

    fn ids(&mut self, ids: &IdMap) {
        match ids {
            IdMap::Names(names) => names.iter().for_each(|name| {
                self.see(checksum(name.as_bytes()));
            }),
            IdMap::Sparse(ids) => ids.iter().for_each(|id| self.see(*id)),
            IdMap::TwoKinds(ids) => (0..ids.len()).for_each(|slot| {
                self.see(checksum(format!("{:?}", ids.get(slot)).as_bytes()));
            }),
            other => self.see(checksum(format!("{other:?}").as_bytes())),
        }
    }

    /// Looks at tables that are files.
    fn tables(&mut self, tables: &[String]) -> Result<(), Failure> {
        let tables: Vec<&String> =
            tables.iter().filter(|name| Location::of(name.as_ref()).is_none()).collect();
        let files = if tables.is_empty() { Vec::new() } else { source::names(&tables)? };
        for name in files {
            let failed =
                |error| Failure::new(FailureKind::Missing, format!("{}: {error}", name.display()));
            self.table(&name).map_err(failed)?;
        }
        Ok(())
    }

    fn table(&mut self, name: &std::path::Path) -> std::io::Result<()> {
        let (mut file, mut block) = (File::open(name)?, vec![0; BLOCK_BYTES]);
        loop {
            let mut filled = 0;
            while filled < BLOCK_BYTES {
                match file.read(&mut block[filled..])? {
                    0 => break,
                    more => filled += more,
                }
            }
            if filled == 0 {
                return Ok(());
            }
            self.see(checksum(&block[..filled]));
        }
    }
}

/// The number of these edges with their ids, and of tables of vertices.
pub(crate) fn of(edges: &dyn EdgeStream, ids: &IdMap, tables: &[String]) -> Result<u64, Failure> {
    let mut contents = Contents::default();
    contents.see(edges.edges());
    contents.ids(ids);
    let parts = edges.parts();
    // A stream that knows how many edges a part has holds them in memory.
    let held = parts == 0 || edges.part_edges(0).is_some();
    let step = if held { 1 } else { parts.div_ceil(PARTS).max(1) };
    for part in (0..parts).step_by(step) {
        let visit = &mut |batch: Batch<'_>| {
            contents.edges(batch);
            held
        };
        edges.read(part, visit).map_err(Failure::read)?;
    }
    contents.tables(tables)?;
    Ok(contents.0)
}

/// The number of tables of vertices alone.
pub(crate) fn of_tables(tables: &[String]) -> Result<u64, Failure> {
    let mut contents = Contents::default();
    contents.tables(tables)?;
    Ok(contents.0)
}

#[cfg(test)]
mod tests {
    use welter_model::edges::EdgeList;
    use welter_model::ids::Names;

    use super::*;

    fn list(pairs: &[[u32; 2]], size: usize, weight: f64) -> EdgeList {
        let mut list = EdgeList::new(Some(9), true);
        for pairs in pairs.chunks(size) {
            list.push(pairs.to_vec(), pairs.iter().map(|_| weight).collect());
        }
        list
    }

    #[test]
    fn contents_are_edges_in_their_order() {
        let number = |pairs: &[[u32; 2]], size, weight, ids: &IdMap| {
            of(&list(pairs, size, weight), ids, &[]).unwrap()
        };
        let (pairs, ids) = ([[0, 1], [1, 2], [2, 3]], IdMap::Declared);
        let expected = number(&pairs, 1, 1.0, &ids);
        assert_eq!(number(&pairs, 2, 1.0, &ids), expected);
        assert_ne!(number(&[[1, 2], [0, 1], [2, 3]], 2, 1.0, &ids), expected);
        assert_ne!(number(&pairs, 2, 1.5, &ids), expected);
        let names = |names: [&str; 3]| IdMap::Names(Names::from_iter(names));
        let named = |ids| number(&pairs, 2, 1.0, &names(ids));
        assert_eq!(named(["a", "b", "c"]), named(["a", "b", "c"]));
        assert_ne!(named(["a", "b", "c"]), named(["a", "b", "d"]));
    }

    #[test]
    fn contents_of_tables_count() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("some.csv");
        let tables = [path.to_string_lossy().into_owned()];
        let number = || {
            let edges = list(&[[0, 1]], 1, 1.0);
            of(&edges, &IdMap::Declared, &tables)
        };
        assert!(number().is_err());
        std::fs::write(&path, "1,2\n").unwrap();
        let before = number().unwrap();
        std::fs::write(&path, "1,3\n").unwrap();
        assert_ne!(number().unwrap(), before);
    }
}
