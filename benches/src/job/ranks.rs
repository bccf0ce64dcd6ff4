//! Ranks back from the files that the jobs wrote, to be compared.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::algorithms::npy;
use crate::inputs;

/// Ranks by id from a numpy file: an array of f32, one an id, or records of an id (`<u8`) and a
/// rank (`<f4` or `<f8`). Ids that have none get `None`.
pub(crate) fn read(path: &Path) -> Result<Vec<Option<f64>>> {
    let bytes = inputs::bytes(path)?;
    parse(&bytes).with_context(|| format!("the ranks in {}", path.display()))
}

fn parse(bytes: &[u8]) -> Result<Vec<Option<f64>>> {
    let (header, data) = npy::split(bytes)?;
    if !header.contains("vertex") {
        ensure!(header.contains("'<f4'"), "expected f32 ranks");
        let ranks = data.as_chunks::<4>().0.iter();
        return Ok(ranks.map(|&rank| Some(f32::from_le_bytes(rank).into())).collect());
    }
    let mut ranks = Vec::new();
    let mut put = |id: [u8; 8], rank: f64| {
        let id = u64::from_le_bytes(id) as usize;
        ranks.resize(ranks.len().max(id + 1), None);
        ranks[id] = Some(rank);
    };
    if header.contains("'<f4'") {
        for record in data.as_chunks::<12>().0 {
            let (id, rank) = record.split_at(8);
            put(id.try_into()?, f32::from_le_bytes(rank.try_into()?).into());
        }
    } else {
        for record in data.as_chunks::<16>().0 {
            let (id, rank) = record.split_at(8);
            put(id.try_into()?, f64::from_le_bytes(rank.try_into()?));
        }
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn both_shapes_are_read() {
        let flat =
            npy("{'descr': '<f4'}", &[0.5_f32.to_le_bytes(), 0.25_f32.to_le_bytes()].concat());
        assert_eq!(parse(&flat).unwrap(), [Some(0.5), Some(0.25)]);
        let record = [&2_u64.to_le_bytes()[..], &0.5_f64.to_le_bytes()].concat();
        let records = npy("{'descr': [('vertex', '<u8'), ('rank', '<f8')]}", &record);
        assert_eq!(parse(&records).unwrap(), [None, None, Some(0.5)]);
        assert!(parse(b"no").is_err());
    }
}
