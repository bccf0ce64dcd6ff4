//! Dictionaries of attributes at the end of a row, as NetworkX writes them: `{'weight': 4}`.

use crate::words::show;

/// The value of `weight` in a dictionary, as it is written; `None` where there is none.
pub(super) fn find(dictionary: &[u8]) -> Option<&[u8]> {
    let mut inner = dictionary.strip_prefix(b"{")?.strip_suffix(b"}")?;
    while !inner.trim_ascii().is_empty() {
        let (key, after) = token(inner);
        let after = after.trim_ascii_start().strip_prefix(b":")?;
        let (value, rest) = token(after);
        if matches!(key, b"'weight'" | b"\"weight\"") {
            return Some(value);
        }
        let rest = rest.trim_ascii_start();
        inner = rest.strip_prefix(b",").unwrap_or(b"");
    }
    None
}

/// The weight in a dictionary.
pub(super) fn weight(field: &[u8]) -> Result<&[u8], String> {
    let missing =
        || format!("expected a weight in a dictionary of attributes, found {}", show(field));
    find(field).ok_or_else(missing)
}

/// A key or a value, and what comes behind it.
fn token(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let (mut quote, mut depth) = (None, 0_u32);
    for (place, byte) in text.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) => quote = Some(open).filter(|open| open != byte),
            (None, b'\'' | b'"') => quote = Some(*byte),
            (None, b'[' | b'(' | b'{') => depth += 1,
            (None, b']' | b')' | b'}') => depth = depth.saturating_sub(1),
            (None, b':' | b',') if depth == 0 => {
                return (text[..place].trim_ascii_end(), &text[place..]);
            }
            _ => {}
        }
    }
    (text.trim_ascii_end(), b"")
}

/// Whether a text that begins with a brace ends with the one that closes it.
pub(super) fn is_whole(text: &[u8]) -> bool {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    let closing = text.iter().position(|byte| {
        match (quote, *byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if open == byte => quote = None,
            (None, b'\'' | b'"') => quote = Some(*byte),
            (None, b'{') => depth += 1,
            (None, b'}') => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    // Quotes that never close are none of a dictionary's.
    closing.is_none_or(|last| last + 1 == text.len()) && text.ends_with(b"}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_is_found_wherever_it_stands() {
        for (text, expected) in [
            ("{'weight': 4}", Some("4")),
            ("{'a': 'x, weight: 1', 'weight': -0.5, 'b': [1, 2]}", Some("-0.5")),
            ("{\"weight\":1e3}", Some("1e3")),
            ("{}", None),
            ("{'color': 'weight'}", None),
            ("{weight}", None),
            ("{'a'", None),
        ] {
            assert_eq!(find(text.as_bytes()), expected.map(str::as_bytes), "{text}");
        }
        assert!(weight(b"{}").unwrap_err().contains("dictionary"));
    }
}
