//! The first lines of files of KONECT: `% sym unweighted`, and perhaps `% edges vertices vertices`.
//!
//! The first says whether edges are undirected (`sym`), directed (`asym`) or between two kinds of
//! vertices (`bip`), and what their weights mean. What it says is kept to.

/// Statements of the first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Konect {
    pub(super) kind: Kind,
    /// Whether edges have no weights, whatever the third column is.
    pub(super) unweighted: bool,
}

/// Kinds of the ends of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Undirected,
    Directed,
    Bipartite,
}

impl Konect {
    /// The statements of the first line of a file, if it is one of KONECT.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let mut words = crate::head::words(line.strip_prefix(b"%")?);
        let kind = match words.next()? {
            b"sym" => Kind::Undirected,
            b"asym" => Kind::Directed,
            b"bip" => Kind::Bipartite,
            _ => return None,
        };
        let unweighted = match words.next()? {
            b"unweighted" => true,
            b"positive" | b"posweighted" | b"signed" | b"multisigned" | b"weighted"
            | b"multiweighted" | b"dynamic" | b"multiposweighted" => false,
            _ => return None,
        };
        words.next().is_none().then_some(Self { kind, unweighted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_known_by_its_words() {
        let line = |text: &str| Konect::of(text.as_bytes());
        let sym = Konect { kind: Kind::Undirected, unweighted: true };
        assert_eq!(line("% sym unweighted"), Some(sym));
        assert_eq!(line("%\tbip\tweighted").map(|head| head.kind), Some(Kind::Bipartite));
        assert_eq!(line("% asym positive").map(|head| head.unweighted), Some(false));
        for other in ["% sym", "% symmetric unweighted", "sym unweighted", "% sym positive 3", "%"]
        {
            assert_eq!(line(other), None, "{other}");
        }
    }
}
