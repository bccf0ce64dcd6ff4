//! The first lines of a Matrix Market file: what kind of matrix it is.

use crate::text::allowed_ids::Values;
use crate::words::{show, words};

/// The banner after its first `%`; the second one is sometimes left out.
const BANNER: &[u8] = b"%MatrixMarket";

/// Type of the values of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// No values.
    Pattern,
    /// Integers.
    Integer,
    /// Integers that are not negative, as SciPy writes them.
    Unsigned,
    /// Any numbers.
    Real,
}

/// Relation of an entry to its mirror at the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symmetry {
    /// No relation.
    General,
    /// The mirror is the same.
    Symmetric,
    /// The mirror has the opposite value.
    Skew,
}

/// Whether a file that begins so is surely of this format.
pub(crate) fn begins(head: &[u8]) -> bool {
    let starts = |head: &[u8]| {
        head.get(..BANNER.len()).is_some_and(|start| start.eq_ignore_ascii_case(BANNER))
    };
    starts(head) || head.strip_prefix(b"%").is_some_and(starts)
}

/// Reads the first line.
pub(super) fn parse_banner(line: &[u8]) -> Result<(Field, Symmetry), String> {
    let lower = line.to_ascii_lowercase();
    let mut words = words(&lower);
    let first = words.next().map(|word| word.strip_prefix(b"%%").unwrap_or(&word[1..]));
    if !begins(line) || first != Some(&BANNER[1..].to_ascii_lowercase()) {
        return Err(format!("expected the banner %%MatrixMarket, found {}", show(line)));
    }
    let mut next = |expected: &str| {
        let word = words.next().unwrap_or_default();
        (word, format!("expected {expected} in the banner, found {}", show(word)))
    };
    let (object, wrong) = next("matrix");
    if object != b"matrix" {
        return Err(wrong);
    }
    let (layout, wrong) = next("coordinate");
    match layout {
        b"coordinate" => {}
        b"array" => {
            return Err("expected a coordinate matrix, found a dense array (write it as a sparse \
                        matrix: scipy.io.mmwrite of scipy.sparse.coo_array)"
                .into());
        }
        _ => return Err(wrong),
    }
    let (field, wrong) = next("real, integer, unsigned-integer or pattern");
    let field = match field {
        b"pattern" => Field::Pattern,
        b"integer" => Field::Integer,
        b"unsigned-integer" | b"unsigned" => Field::Unsigned,
        b"real" | b"double" => Field::Real,
        b"complex" => {
            return Err("expected real weights, found a matrix of complex numbers (write their \
                        absolute values, or a pattern)"
                .into());
        }
        _ => return Err(wrong),
    };
    let (symmetry, wrong) = next("general, symmetric or skew-symmetric");
    let symmetry = match symmetry {
        b"general" => Symmetry::General,
        b"symmetric" => Symmetry::Symmetric,
        b"skew-symmetric" if field != Field::Pattern => Symmetry::Skew,
        b"skew-symmetric" => {
            return Err("expected values in a skew-symmetric matrix, found a pattern".into());
        }
        _ => return Err(wrong),
    };
    Ok((field, symmetry))
}

/// The values that a comment states, if it is `%%GraphBLAS type NAME`.
pub(super) fn type_values(line: &[u8], symmetry: Symmetry) -> Result<Option<Values>, String> {
    let mut words = words(line);
    let typed = words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"%%GraphBLAS"))
        && words.next() == Some(b"type");
    if !typed {
        return Ok(None);
    }
    let names: Vec<&[u8]> = words.collect();
    let (values, signed) = match names[..] {
        [b"bool"] => (integers(0.0, 1.0), false),
        [b"int8_t"] => (integers(i8::MIN.into(), i8::MAX.into()), true),
        [b"int16_t"] => (integers(i16::MIN.into(), i16::MAX.into()), true),
        [b"int32_t"] => (integers(i32::MIN.into(), i32::MAX.into()), true),
        [b"int64_t"] => (integers(i64::MIN as f64, i64::MAX as f64), true),
        [b"uint8_t"] => (integers(0.0, u8::MAX.into()), false),
        [b"uint16_t"] => (integers(0.0, u16::MAX.into()), false),
        [b"uint32_t"] => (integers(0.0, u32::MAX.into()), false),
        [b"uint64_t"] => (integers(0.0, u64::MAX as f64), false),
        [b"float" | b"double"] => return Ok(Some(Values::Any)),
        _ => {
            return Err(format!(
                "expected a type of real numbers after type, found {}",
                show(line)
            ));
        }
    };
    if symmetry == Symmetry::Skew && !signed {
        return Err(format!(
            "expected a signed type in a skew-symmetric matrix, found {}",
            show(line)
        ));
    }
    Ok(Some(values))
}

fn integers(least: f64, most: f64) -> Values {
    Values::Integers(least, most)
}
