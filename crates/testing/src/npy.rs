//! Arrays from `.npy` files and `.npz` archives, read with as little code as the format needs.
//!
//! `.npy`: the bytes `\x93NUMPY`, version (2 bytes), length of the header (2 bytes little-endian in
//! version 1, 4 in versions 2 and 3), a Python dictionary with `descr`, `fortran_order` and
//! `shape`, then the numbers. `.npz`: a zip archive of such files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The numbers of an array in the order of the file. Narrow types are widened.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// From `f4` and `f8`.
    Floats(Vec<f64>),
    /// From signed and unsigned integers and booleans. `u8` values must fit.
    Integers(Vec<i64>),
}

/// A `.npy` file with the type and the shape that its header states.
#[derive(Clone, Debug, PartialEq)]
pub struct Npy {
    /// Type as NumPy writes it, such as `<f8`.
    pub descr: String,
    /// Length along each axis.
    pub shape: Vec<usize>,
    /// The numbers.
    pub array: Array,
}

/// Reads the bytes of a `.npy` file.
///
/// # Errors
/// A sentence that says what was expected.
pub fn read(bytes: &[u8]) -> Result<Npy, String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("no NPY magic")?;
    let (header, data) = match *rest {
        [1, _, a, b, ref rest @ ..] => rest.split_at_checked(u16::from_le_bytes([a, b]).into()),
        [2 | 3, _, a, b, c, d, ref rest @ ..] => {
            rest.split_at_checked(u32::from_le_bytes([a, b, c, d]) as usize)
        }
        _ => None,
    }
    .ok_or("a truncated header, or a version other than 1 to 3")?;
    let header = str::from_utf8(header).map_err(|_| "a header that is no text")?;
    if value(header, "fortran_order")?.starts_with("True") {
        return Err("an array in Fortran order".to_owned());
    }
    let descr = value(header, "descr")?.split(['\'', '"']).nth(1).unwrap_or_default().to_owned();
    let inside = value(header, "shape")?.trim_start_matches('(').split(')').next();
    let shape: Vec<usize> = inside
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| text.parse().map_err(|_| format!("`{text}` in the shape")))
        .collect::<Result<_, _>>()?;
    let array = numbers(&descr, data)?;
    let count = match &array {
        Array::Floats(values) => values.len(),
        Array::Integers(values) => values.len(),
    };
    if count != shape.iter().product::<usize>() {
        return Err(format!("{count} numbers in a shape of {shape:?}"));
    }
    Ok(Npy { descr, shape, array })
}

/// Text behind `'key':` in a header.
fn value<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let (_, rest) = header.split_once(&format!("'{key}':")).ok_or(format!("no `{key}`"))?;
    Ok(rest.trim_start())
}

fn numbers(descr: &str, data: &[u8]) -> Result<Array, String> {
    macro_rules! widened {
        ($narrow:ty, $variant:ident) => {{
            let (chunks, rest) = data.as_chunks::<{ size_of::<$narrow>() }>();
            if !rest.is_empty() {
                return Err(format!("{} bytes do not make whole numbers of `{descr}`", data.len()));
            }
            let wide = chunks.iter().map(|chunk| <$narrow>::from_le_bytes(*chunk).try_into());
            let wide: Result<_, _> = wide.collect();
            Array::$variant(wide.map_err(|_| format!("a number of `{descr}` does not fit"))?)
        }};
    }
    Ok(match descr {
        "<f4" => widened!(f32, Floats),
        "<f8" => widened!(f64, Floats),
        "|b1" | "|u1" => widened!(u8, Integers),
        "|i1" => widened!(i8, Integers),
        "<i2" => widened!(i16, Integers),
        "<u2" => widened!(u16, Integers),
        "<i4" => widened!(i32, Integers),
        "<u4" => widened!(u32, Integers),
        "<i8" => widened!(i64, Integers),
        "<u8" => widened!(u64, Integers),
        _ => return Err(format!("the type `{descr}`")),
    })
}

/// Reads all arrays of an `.npz` archive, by name without `.npy`.
///
/// # Panics
/// When it cannot be read: the test that wants it has failed.
pub fn read_npz(path: &Path) -> BTreeMap<String, Array> {
    let name = path.display();
    let file = File::open(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut archive = zip::ZipArchive::new(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut arrays = BTreeMap::new();
    for index in 0..archive.len() {
        let mut bytes = Vec::new();
        let mut entry =
            archive.by_index(index).unwrap_or_else(|error| panic!("{name}: {index}: {error}"));
        entry.read_to_end(&mut bytes).unwrap_or_else(|error| panic!("{name}: {index}: {error}"));
        let key = entry.name().expect("names are text").trim_end_matches(".npy").to_owned();
        let npy = read(&bytes).unwrap_or_else(|error| panic!("{name}: {key}: {error}"));
        arrays.insert(key, npy.array);
    }
    arrays
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn arrays_are_read_and_widened() {
        let found = read(&npy("<i4", "(2,)", &[1, 0, 0, 0, 255, 255, 255, 255])).unwrap();
        assert_eq!((found.shape, found.array), (vec![2], Array::Integers(vec![1, -1])));
        let found = read(&npy("<f8", "(1, 1)", &1.5_f64.to_le_bytes())).unwrap();
        assert_eq!((found.descr.as_str(), found.shape), ("<f8", vec![1, 1]));
        assert_eq!(found.array, Array::Floats(vec![1.5]));
        assert_eq!(read(&npy("<f4", "()", &[0; 4])).unwrap().array, Array::Floats(vec![0.0]));
    }

    #[test]
    fn what_is_no_array_is_refused() {
        assert!(read(b"PK").unwrap_err().contains("magic"));
        assert!(read(b"\x93NUMPY\x01\x00\xff\xff{").unwrap_err().contains("truncated"));
        assert!(read(&npy("<i4", "(3,)", &[0; 8])).unwrap_err().contains("2 numbers"));
        assert!(read(&npy("<i4", "(2,)", &[0; 7])).unwrap_err().contains("whole numbers"));
        assert!(read(&npy("<c16", "(1,)", &[0; 16])).unwrap_err().contains("`<c16`"));
        assert!(read(&npy("<u8", "(1,)", &[255; 8])).unwrap_err().contains("does not fit"));
    }
}
