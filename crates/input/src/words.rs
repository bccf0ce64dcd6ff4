//! Words of an input: taken from a line, and as a message shows them.

/// Words of a line, separated by spaces and tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Text from an input as a message shows it: quoted, escaped and cut.
pub(crate) fn show(text: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN_MAX)]).into_owned();
    let mut shown: String = lossy.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() && lossy.chars().count() > SHOWN_MAX {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_escaped() {
        assert_eq!(show(b"a\"\r\xff"), "\"a\\\"\\r\u{fffd}\"");
        assert!(show(&[b'x'; 5000]).chars().count() < 50);
    }
}
