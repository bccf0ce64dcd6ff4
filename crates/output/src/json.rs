//! Values of JSON, appended to lines.

use crate::text;

/// No value.
pub(crate) const NULL: &[u8] = b"null";

/// Text before each value of an object with these keys: `{"first":` and `,"second":`.
pub(crate) fn keys<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Vec<u8>> {
    let key = |(number, name)| {
        let mut text = vec![if number == 0 { b'{' } else { b',' }];
        string(&mut text, name);
        text.push(b':');
        text
    };
    names.enumerate().map(key).collect()
}

/// Appends a string.
pub(crate) fn string(line: &mut Vec<u8>, value: &str) {
    // Writing a string to memory cannot fail.
    let _ = serde_json::to_writer(line, value);
}

/// Appends a float; no value where it is no number, or infinite.
pub(crate) fn float(line: &mut Vec<u8>, value: impl zmij::Float + Into<f64> + Copy) {
    if value.into().is_finite() {
        text::float(line, value);
    } else {
        line.extend_from_slice(NULL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back() {
        let mut line = Vec::new();
        for (key, value) in keys(["a\"b", "c"].into_iter()).iter().zip([0.1 + 0.2, f64::INFINITY]) {
            line.extend_from_slice(key);
            float(&mut line, value);
        }
        line.push(b'}');
        let text = String::from_utf8(line).unwrap();
        assert_eq!(text, "{\"a\\\"b\":0.30000000000000004,\"c\":null}");
        let mut text = Vec::new();
        string(&mut text, "l\u{e4}\n\u{1}");
        assert_eq!(serde_json::from_slice::<String>(&text).unwrap(), "l\u{e4}\n\u{1}");
    }
}
