//! The columns of results, from the numpy files that the command writes.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

/// The columns of a numpy file of records, as f64, by name. Integers beyond 2^53 are rounded.
///
/// # Errors
/// When the bytes are no such file, or a column is of none of the types that results have.
pub(crate) fn columns(bytes: &[u8]) -> Result<BTreeMap<String, Vec<f64>>> {
    let (header, data) = split(bytes)?;
    // ('vertex', '<u8'), ('rank', '<f4')
    let quoted: Vec<&str> = header.split("('").skip(1).collect();
    let mut fields = Vec::new();
    for field in quoted {
        let words: Vec<&str> = field.split('\'').collect();
        ensure!(words.len() > 2, "expected a name and a type, found ('{field}");
        fields.push((words[0], words[2]));
    }
    ensure!(!fields.is_empty(), "expected records");
    let width = |(_, kind): &(&str, &str)| kind.chars().last().and_then(|c| c.to_digit(10));
    let widths: Option<Vec<u32>> = fields.iter().map(width).collect();
    let widths = widths.context("expected types such as <u8")?;
    let stride: usize = widths.iter().map(|&width| width as usize).sum();
    ensure!(stride > 0 && data.len().is_multiple_of(stride), "expected whole records");
    let mut offset = 0;
    let mut columns = BTreeMap::new();
    for ((name, kind), width) in fields.into_iter().zip(widths) {
        let range = offset..offset + width as usize;
        let values = data.chunks_exact(stride).map(|record| number(kind, &record[range.clone()]));
        columns.insert(name.to_owned(), values.collect::<Result<_>>()?);
        offset = range.end;
    }
    Ok(columns)
}

fn number(kind: &str, bytes: &[u8]) -> Result<f64> {
    Ok(match kind {
        "<u4" => u32::from_le_bytes(bytes.try_into()?).into(),
        "<u8" => u64::from_le_bytes(bytes.try_into()?) as f64,
        "<i8" => i64::from_le_bytes(bytes.try_into()?) as f64,
        "<f4" => f32::from_le_bytes(bytes.try_into()?).into(),
        "<f8" => f64::from_le_bytes(bytes.try_into()?),
        other => bail!("expected numbers, found {other}"),
    })
}

/// The header of a file and what follows it.
///
/// # Errors
/// When the bytes are no such file.
pub(crate) fn split(bytes: &[u8]) -> Result<(&str, &[u8])> {
    let rest = bytes.strip_prefix(b"\x93NUMPY\x01\x00").context("expected npy, version 1")?;
    let (length, rest) = rest.split_first_chunk::<2>().context("expected a header")?;
    let length = usize::from(u16::from_le_bytes(*length));
    ensure!(length <= rest.len(), "expected a whole header");
    let (header, data) = rest.split_at(length);
    Ok((str::from_utf8(header).context("the header")?, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_by_their_header() {
        let header = "{'descr': [('vertex', '<u8'), ('depth', '<i8'), ('x', '<f4')]}";
        let mut bytes = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..]].concat();
        bytes.extend_from_slice(header.as_bytes());
        for (vertex, depth, x) in [(7_u64, -1_i64, 0.5_f32), (8, 3, 2.0)] {
            bytes.extend_from_slice(&vertex.to_le_bytes());
            bytes.extend_from_slice(&depth.to_le_bytes());
            bytes.extend_from_slice(&x.to_le_bytes());
        }
        let read = columns(&bytes).unwrap();
        assert_eq!(read["depth"], [-1.0, 3.0]);
        assert_eq!((&read["vertex"][..], &read["x"][..]), (&[7.0, 8.0][..], &[0.5, 2.0][..]));
        assert!(columns(&bytes[..bytes.len() - 1]).is_err());
        assert!(columns(b"no").is_err());
    }
}
