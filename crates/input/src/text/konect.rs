//! The first lines of files of KONECT: `% sym unweighted`, and perhaps `% edges vertices vertices`.
//!
//! The first says whether edges are undirected (`sym`), directed (`asym`) or between two kinds of
//! vertices (`bip`), and what their weights mean. What it says is kept to. Many files lack the
//! second word; such a line is taken for KONECT's, and a note says so, as of two kinds of vertices
//! always. A second word that KONECT does not have is left, and a note says that.

/// Statements of the first lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Konect {
    pub(super) kind: Option<Kind>,
    /// Whether edges have no weights, whatever the third column is.
    pub(super) unweighted: bool,
    /// Whether both words are KONECT's.
    has_both: bool,
    /// Note for a person about that.
    pub(super) note: Option<String>,
}

/// Kinds of the ends of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Undirected,
    Directed,
    Bipartite,
}

/// KONECT's words for kinds of weights.
const WEIGHTS: &[&str] = &[
    "unweighted",
    "positive",
    "posweighted",
    "signed",
    "multisigned",
    "weighted",
    "multiweighted",
    "multiposweighted",
    "dynamic",
];

impl Konect {
    /// Statements of the first lines of a text, if one of them is KONECT's. Behind the first one
    /// only both words are.
    pub(super) fn of(text: &[u8]) -> Self {
        let lines = text.split(|byte| *byte == b'\n').map_while(|line| line.strip_prefix(b"%"));
        let mut found = lines.map(Self::of_line);
        let first = found.next().unwrap_or_default();
        if first != Self::default() {
            return first;
        }
        found.find(|later| later.has_both).unwrap_or_default()
    }

    /// Statements of a line behind its first character.
    fn of_line(line: &[u8]) -> Self {
        let words: Vec<String> = crate::words::words(line)
            .take(4)
            .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (kind, means) = match words.first() {
            Some(&"sym") => (Kind::Undirected, "edges are undirected (--directed: they are not)"),
            Some(&"asym") => (Kind::Directed, "edges are directed (--undirected: they are not)"),
            Some(&"bip") => (Kind::Bipartite, ""),
            _ => return Self::default(),
        };
        let line = || words.join(" ");
        match words[1..] {
            [weight] if WEIGHTS.contains(&weight) => {
                let (kind, unweighted) = (Some(kind), weight == "unweighted");
                Self { kind, unweighted, has_both: true, note: None }
            }
            [] => {
                let note =
                    format!("the first line, \"% {}\", is taken for KONECT's: {means}", line());
                // Two kinds of vertices are always reported.
                let note = (kind != Kind::Bipartite).then_some(note);
                Self { kind: Some(kind), note, ..Self::default() }
            }
            // More words are prose.
            [_] | [_, _] => {
                let note = format!(
                    "the first line, \"% {}\", begins as KONECT's do, but goes on in other words, \
                     and nothing is taken from it (say --undirected and --bipartite yourself)",
                    line()
                );
                Self { note: Some(note), ..Self::default() }
            }
            _ => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_known_by_its_words() {
        let of = |text: &str| Konect::of(text.as_bytes());
        let sym =
            Konect { kind: Some(Kind::Undirected), unweighted: true, has_both: true, note: None };
        assert_eq!(of("% sym unweighted\r\n1 2"), sym);
        assert_eq!(of("%Sym\tUnweighted"), sym);
        assert_eq!(of("% made by hand\n% sym unweighted\n1 2\n"), sym);
        assert_eq!(of("% made by hand\n% sym\n1 2\n"), Konect::default());
        assert_eq!(of("% made by hand\n% bip\n1 2\n"), Konect::default());
        assert_eq!(of("%\tbip\tweighted").kind, Some(Kind::Bipartite));
        let asym = of("% asym positive");
        assert_eq!((asym.kind, asym.unweighted), (Some(Kind::Directed), false));
        for other in ["% symmetric unweighted", "sym unweighted", "%", "", "% bip of a long text"] {
            assert_eq!(of(other), Konect::default(), "{other}");
        }
    }

    #[test]
    fn a_word_alone_is_taken_and_said_and_other_words_are_left_and_said() {
        for (text, kind, word) in [
            ("%sym\r\n% 3 2 2\n", Kind::Undirected, "undirected"),
            ("% asym \n1 2\n", Kind::Directed, "directed"),
        ] {
            let found = Konect::of(text.as_bytes());
            assert_eq!((found.kind, found.unweighted), (Some(kind), false));
            assert!(found.note.is_some_and(|note| note.contains(word)), "{text}");
        }
        assert_eq!(Konect::of(b"% bip").kind, Some(Kind::Bipartite));
        for text in ["% bip ratings", "% sym positive 3"] {
            let found = Konect::of(text.as_bytes());
            assert_eq!(found.kind, None);
            assert!(found.note.is_some_and(|note| note.contains("--bipartite")), "{text}");
        }
    }
}
