//! Words that the code has given up for those of the field (docs/glossary.md).

use super::source::{Finding, Source};

/// Identifiers that are retired, and what they are now.
const RETIRED: [(&str, &str); 96] = [
    ("Anew", "Reread"),
    ("Apart", "SkewedBins"),
    ("AsKept", "Reuse"),
    ("BANDS", "GRANULES"),
    ("Bands", "Granules"),
    ("Basis", "StepInput"),
    ("Begun", "OutEdges, ResumedRun"),
    ("Benches", "WorkerState"),
    ("BySlot", "OverInput"),
    ("CHOOSY", "SELECTIVE"),
    ("COMBINES", "COMBINABLE"),
    ("Chosen", "Algorithm"),
    ("Desk", "ColumnIo"),
    ("Desks", "ColumnIo"),
    ("EveryCell", "states"),
    ("ForeignFormat", "Foreign"),
    ("Gathered", "IncomingUpdates, CollectedParts"),
    ("Happened", "FaultCounts"),
    ("Heard", "Event"),
    ("KEEPS", "RETAINS"),
    ("KNOWS_TARGET", "ACCUM_FROM_VALUE"),
    ("KeptNext", "EncodedStep"),
    ("Lasting", "Checkpointable"),
    ("Ledger", "RecordAudit"),
    ("Leftover", "StaleStaging"),
    ("Leftovers", "StaleStaging"),
    ("Link", "ContractedEdge"),
    ("Listener", "SignalReader"),
    ("Look", "EdgeSample"),
    ("Lookups", "AccessPath"),
    ("Lot", "BinGroup"),
    ("Lots", "BinGroups"),
    ("LotsPlan", "BinGroupsPlan"),
    ("Marked", "RankSelectBitmap"),
    ("News", "DirtyBlocks"),
    ("ONE_IS_ENOUGH", "ANY_UPDATE_SUFFICES"),
    ("OwnCores", "PinnedWorkers"),
    ("Pace", "Throughput"),
    ("RELAXES", "ORDER_INDEPENDENT"),
    ("Recipe", "TileWriterConfig"),
    ("Regroup", "GroupByRows"),
    ("Renewed", "VertexTotals"),
    ("Road", "Outgoing"),
    ("RowsPlan", "TrianglesPlan"),
    ("SAYS_ALL", "UPDATES_ARE_COMPLETE"),
    ("Said", "SourceSignals, WordReader"),
    ("Scratch", "DecodeBuffers, TempFiles"),
    ("Segments", "BinPages"),
    ("Shelf", "ChunkSet"),
    ("Shelved", "SpilledSlabs"),
    ("Shelves", "chunk_sets"),
    ("SmallReader", "DocumentReader"),
    ("StoredValues", "StoredColumn"),
    ("Straight", "InputScan"),
    ("Straightness", "InputScanCost"),
    ("Taken", "ResultPlace, JobCost"),
    ("Tally", "FrequencyTable, BoundedCount, IoTotals"),
    ("Teller", "SignalWriter"),
    ("Together", "Parallel"),
    ("Told", "RunDescription"),
    ("UpdateCell", "UpdateKey"),
    ("Wanted", "Cancellation, Projection"),
    ("Way", "OpenConnection, JobSetup"),
    ("Ways", "Directions, Channels"),
    ("Weather", "Conditions"),
    ("Why", "FallbackReason"),
    ("Wishes", "Overrides"),
    ("WithEnds", "BipartiteRoles"),
    ("band_bits", "granule_bits"),
    ("bands", "granules"),
    ("boxes", "buckets"),
    ("distress", "needs_new_epoch"),
    ("gives_up", "should_fall_back"),
    ("heeds", "is_affected_by"),
    ("is_straight", "scans_input"),
    ("kept_step", "encoded_step"),
    ("ledger", "audit"),
    ("looks_up", "uses_index"),
    ("meet", "gather"),
    ("meet_all", "gather_all"),
    ("of_straight", "of_input_scan"),
    ("out_of_step", "is_asynchronous"),
    ("outbox", "bucket"),
    ("outboxes", "buckets"),
    ("own_cores", "pinned"),
    ("recipe", "tile_writer_config"),
    ("regroup", "by_rows"),
    ("renew", "apply_vertices"),
    ("roster", "incarnations"),
    ("shelf", "chunks"),
    ("shelve", "group_chunks_by_stripe"),
    ("shelves", "chunk_sets"),
    ("sift", "filter_edges"),
    ("sift_tile", "filter_tile"),
    ("weather", "conditions"),
    ("wishes", "overrides"),
];

/// Words that pages and comments do without: a sentence names the caller, the worker, the machine
/// or the reader.
const VAGUE: [&str; 5] = ["anybody", "everybody", "nobody", "somebody", "whoever"];

/// Words of the longest of [`PHRASES`].
const PHRASE_WORDS_MAX: usize = 3;

/// Words in a row that pages and comments do without, and what a sentence does instead.
const PHRASES: [(&[&str], &str); 5] = [
    (&["as", "ever"], "say how it is"),
    (&["go", "on", "with"], "something resumes or continues"),
    (&["goes", "on", "with"], "something resumes or continues"),
    (&["so", "many"], "name the number that is meant"),
    (&["what", "there", "is"], "name what is meant"),
];

/// Identifiers in Rust that are retired words, and pages or comments that have a vague one.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    used(sources).chain(vague(sources)).collect()
}

/// Lines of pages, and of comments in Rust, with a vague word; pages of the notebook and of changes
/// stay as they were.
fn vague(sources: &[Source]) -> impl Iterator<Item = Finding> {
    let is_past = |path: &str| path.contains("notebook/") || path.ends_with("CHANGELOG.md");
    let prose = sources
        .iter()
        .filter(move |source| source.is("rs") || source.is("md") && !is_past(&source.path));
    prose.flat_map(|source| {
        // The last words of the line before, since sentences are wrapped.
        let mut last = Vec::new();
        source.numbered().filter_map(move |(line, text)| {
            let before = std::mem::take(&mut last);
            if source.is("rs") && !text.trim_start().starts_with("//") {
                return None;
            }
            let text = text.to_lowercase();
            let words: Vec<&str> = before
                .iter()
                .map(String::as_str)
                .chain(text.split(|c: char| !(c.is_alphanumeric() || c == '_')))
                .filter(|word| !word.is_empty())
                .collect();
            let behind = words.len().saturating_sub(PHRASE_WORDS_MAX - 1);
            last = words[behind..].iter().map(|word| (*word).to_owned()).collect();
            // Words of the line before were looked at with that.
            let is_new = |end: usize| end > before.len();
            let has = |phrase: &[&str]| {
                let mut rows = words.windows(phrase.len()).enumerate();
                rows.any(|(at, row)| row == phrase && is_new(at + phrase.len()))
            };
            let message = if let Some((phrase, instead)) = PHRASES.iter().find(|(row, _)| has(row))
            {
                format!("\"{}\": {instead}", phrase.join(" "))
            } else {
                let word = words[before.len()..].iter().find(|word| VAGUE.contains(word))?;
                format!("\"{word}\": name the one that is meant")
            };
            Some(Finding { path: source.path.clone(), line, message })
        })
    })
}

/// Identifiers in Rust that are retired words, where they are defined or used.
fn used(sources: &[Source]) -> impl Iterator<Item = Finding> {
    // This file has them as data.
    let rust =
        sources.iter().filter(|source| source.is("rs") && !source.path.ends_with("words.rs"));
    rust.flat_map(|source| {
        let code = code(&source.text);
        let lines = code.split('\n').enumerate();
        let found = lines.flat_map(|(index, line)| {
            identifiers(line).filter_map(retired).map(move |(old, new)| {
                let message = format!("`{old}` is a retired word: `{new}` (docs/glossary.md)");
                Finding { path: source.path.clone(), line: index + 1, message }
            })
        });
        found.collect::<Vec<_>>()
    })
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The text without comments to the end of a line and without what is between quotes, both of
/// which are prose. Lines keep their numbers.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let (mut rest, mut is_quoted) = (text, false);
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '\\' if is_quoted => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => {
                is_quoted = !is_quoted;
                1
            }
            // A quote as a character, and a backslash or quote that is one.
            '\'' if !is_quoted && rest.starts_with("'\"'") => 3,
            '\'' if !is_quoted && (rest.starts_with("'\\\\'") || rest.starts_with("'\\\"'")) => 4,
            '/' if !is_quoted && rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            other => {
                if !is_quoted {
                    code.push(other);
                }
                other.len_utf8()
            }
        };
        if is_quoted || next == '"' {
            code.extend(rest[..taken].chars().filter(|c| *c == '\n'));
        }
        rest = &rest[taken..];
    }
    code
}

fn retired(name: &str) -> Option<&'static (&'static str, &'static str)> {
    RETIRED.iter().find(|(old, _)| *old == name)
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    #[test]
    fn retired_words_are_found_where_they_are_identifiers() {
        let text =
            "struct Desk;\n// Desk\nfn f() { gives_up(\"a \\\" Desk\n Desk\", '\"', Desk) }\n";
        let found = check(&[source("crates/x/src/a.rs", text), source("a.md", "struct Desk")]);
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }

    #[test]
    fn vague_words_of_pages_are_found() {
        let found = check(&[
            source("docs/a.md", "A reader.\nNobody knows.\nNo nobodyness.\n"),
            source("docs/notebook/a.md", "nobody"),
            source("crates/x/src/a.rs", "    // nobody\nlet a = \"nobody\";\n"),
        ]);
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 1]);
    }

    #[test]
    fn phrases_are_found_where_sentences_are_wrapped() {
        for (phrase, _) in PHRASES {
            let ([first, rest @ ..], [.., last]) = (phrase, phrase) else { unreachable!() };
            let (whole, rest) = (phrase.join(" "), rest.join(" "));
            let text = format!(
                "// A list: {whole}.\n// Room: {first}\n// {rest}.\nlet a = \"{whole}\";\n\
                 // {last} {first}."
            );
            let found = check(&[source("crates/x/src/a.rs", &text), source("a.md", &rest)]);
            let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
            assert_eq!(lines, [1, 3], "{whole}");
        }
    }

    #[test]
    fn the_longest_phrase_is_known() {
        assert_eq!(
            PHRASES.map(|(phrase, _)| phrase.len()).into_iter().max(),
            Some(PHRASE_WORDS_MAX)
        );
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(RETIRED.is_sorted());
    }
}
