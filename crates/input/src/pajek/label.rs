//! The label of a vertex in a line of a Pajek network: a word, or a text in quotes.
//!
//! Programs that put no quotes around names with tabs, and do not say what a quote within quotes
//! is, cannot be told from those that write what drawing needs behind the label. So what follows a
//! label must look like that: numbers, times in brackets, or words that Pajek knows; else the label
//! is one that would be cut short, and is refused.

use std::borrow::Cow;

use crate::text::fields::is_number;
use crate::words::{show, words};

/// Words that may stand right behind a label where there are no coordinates: shapes, and names of
/// parameters.
const DRAWN: &[&str] = &[
    "ellipse", "box", "diamond", "triangle", "cross", "empty", "house", "man", "woman", "shape",
    "s_size", "size", "x_fact", "y_fact", "phi", "r", "q", "ic", "bc", "bw", "lc", "la", "lr",
    "lphi", "fos", "font", "hooks", "url",
];

/// The label in what follows the number of a vertex, white space included.
///
/// # Errors
/// A quote that is not closed; with `whole`, a label of which only a part can be told.
pub(super) fn label(line: &[u8], whole: bool) -> Result<Option<Cow<'_, [u8]>>, String> {
    let blanks = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let (blanks, text) = line.split_at(blanks);
    let (label, rest) = match text.first() {
        Some(quote @ (b'"' | b'\'')) => {
            let end = closing(&text[1..], *quote)
                .ok_or("expected a closing quote before the end of the line")?;
            (unescaped(&text[1..=end], *quote), &text[end + 2..])
        }
        None => return Ok(None),
        Some(_) => {
            let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
            (Cow::Borrowed(&text[..end]), &text[end..])
        }
    };
    let quoted = text.first().filter(|byte| b"\"'".contains(byte));
    // A tab within a line whose fields are separated by spaces belongs to the label.
    let tab = quoted.is_none() && blanks.contains(&b' ') && rest.first() == Some(&b'\t');
    if whole && (tab || !is_drawing(rest, quoted.copied())) {
        return Err(format!(
            "expected a label in quotes, and numbers or words for drawing behind it, found {}",
            show(text)
        ));
    }
    Ok(Some(label))
}

/// The quote that ends a label: the first before white space or the end of the line, better one
/// that no backslash escapes.
fn closing(text: &[u8], quote: u8) -> Option<usize> {
    let ends = |at: &usize| text.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    let bare = |at: &usize| {
        let slashes = text[..*at].iter().rev().take_while(|byte| **byte == b'\\').count();
        slashes % 2 == 0
    };
    let found = || memchr::memchr_iter(quote, text).filter(ends);
    found().find(bare).or_else(|| found().next())
}

/// A label without the backslashes of igraph, which escapes quotes and backslashes where a label
/// has quotes.
fn unescaped(label: &[u8], quote: u8) -> Cow<'_, [u8]> {
    if !label.windows(2).any(|pair| pair == [b'\\', quote]) {
        return Cow::Borrowed(label);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(label.len()), label);
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.first().filter(|next| *first == b'\\' && [b'\\', quote].contains(next));
        plain.push(*escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[1..] } else { after };
    }
    Cow::Owned(plain)
}

/// Whether what follows a label can be about drawing.
fn is_drawing(rest: &[u8], quoted: Option<u8>) -> bool {
    let Some(word) = words(rest).next() else { return true };
    let known = || {
        let word = word.to_ascii_lowercase();
        DRAWN.iter().any(|known| known.as_bytes() == word) || word.starts_with(b"[")
    };
    match quoted {
        None => is_number(word) || known(),
        // A quote too many, or a second text: one of the quotes is a part of the label.
        Some(quote) => {
            word[0] != quote && memchr::memchr_iter(quote, rest).count().is_multiple_of(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_words_or_texts_in_quotes() {
        for (line, expected) in [
            (" Ann 0.5 0.5 box", "Ann"),
            ("\tAnn\t0.5\t0.5", "Ann"),
            (" Ann ellipse x_fact 2", "Ann"),
            (" Ann [1-5]", "Ann"),
            (" O'Hara", "O'Hara"),
            (" \"Ann Lee\" 0 0 ic \"Light Red\"", "Ann Lee"),
            (" 'Ann Lee'\tbox", "Ann Lee"),
            (" \"tab\there\" 0.0 0.0 ellipse", "tab\there"),
            // As NetworkX writes it, and as igraph does.
            (" \"say \"hi\"\" 0.0 0.0 ellipse", "say \"hi\""),
            (r#" "say \"hi\" \\ to" 0 0"#, r#"say "hi" \ to"#),
            (r#" "C:\dir\" 0 0"#, r"C:\dir\"),
        ] {
            let found = label(line.as_bytes(), true).unwrap().unwrap();
            assert_eq!(String::from_utf8_lossy(&found), expected, "{line}");
        }
        assert_eq!(label(b"", true), Ok(None));
    }

    #[test]
    fn labels_that_would_be_cut_short_are_refused_where_they_are_ids() {
        for line in [
            " Ann Lee",
            " Ann Lee 0.5 0.5",
            " tab\there 0.0 0.0 ellipse",
            " tab\t1 0.0 0.0 ellipse",
            " \"say \"hi\" to\" 0 0",
            " \"a\" \"b\" 0 0",
        ] {
            let error = label(line.as_bytes(), true).unwrap_err();
            assert!(error.starts_with("expected a label in quotes"), "{line}: {error}");
            assert!(label(line.as_bytes(), false).is_ok(), "{line}");
        }
        assert!(label(b" \"x", false).is_err());
    }
}
