//! Words that the code has given up for those of the field (docs/glossary.md).

use super::{Finding, Source};

/// Identifiers that are retired, and what they are now.
const RETIRED: [(&str, &str); 48] = [
    ("Anew", "Reread"),
    ("Apart", "SkewedBins"),
    ("AsKept", "Reuse"),
    ("BANDS", "GRANULES"),
    ("Basis", "StepInput"),
    ("BySlot", "OverInput"),
    ("CHOOSY", "SELECTIVE"),
    ("COMBINES", "COMBINABLE"),
    ("Desk", "ColumnIo"),
    ("Happened", "FaultCounts"),
    ("KNOWS_TARGET", "ACCUM_FROM_VALUE"),
    ("Lasting", "Checkpointable"),
    ("Leftovers", "StaleStaging"),
    ("Link", "ContractedEdge"),
    ("Listener", "SignalReader"),
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
    ("Regular", "UniformLines"),
    ("Renewed", "VertexTotals"),
    ("Road", "Outgoing"),
    ("SAYS_ALL", "UPDATES_ARE_COMPLETE"),
    ("Shelved", "SpilledSlabs"),
    ("SmallReader", "DocumentReader"),
    ("StoredValues", "StoredColumn"),
    ("Straight", "InputScan"),
    ("Straightness", "InputScanCost"),
    ("Teller", "SignalWriter"),
    ("Wishes", "Overrides"),
    ("WithEnds", "BipartiteRoles"),
    ("distress", "needs_new_epoch"),
    ("gives_up", "should_fall_back"),
    ("heeds", "is_affected_by"),
    ("is_straight", "scans_input"),
    ("meet", "gather"),
    ("meet_all", "gather_all"),
    ("of_straight", "of_input_scan"),
    ("renew", "apply_vertices"),
    ("sift", "filter_edges"),
    ("sift_tile", "filter_tile"),
];

/// Definitions in Rust that bear a retired word.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    // This file has them as data.
    let rust =
        sources.iter().filter(|source| source.is("rs") && !source.path.ends_with("words.rs"));
    rust.flat_map(|source| {
        source.numbered().filter_map(|(line, text)| {
            let (old, new) = defined(text).and_then(retired)?;
            let message = format!("`{old}` is a retired word: `{new}` (docs/glossary.md)");
            Some(Finding { path: source.path.clone(), line, message })
        })
    })
    .collect()
}

/// The name that a line of Rust defines.
fn defined(line: &str) -> Option<&str> {
    const KINDS: [&str; 6] = ["struct", "enum", "trait", "type", "const", "fn"];
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let code = !line.trim_start().starts_with("//");
    words.find(|word| code && KINDS.contains(word))?;
    words.find(|word| !word.is_empty())
}

fn retired(name: &str) -> Option<&'static (&'static str, &'static str)> {
    RETIRED.iter().find(|(old, _)| *old == name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::source;
    use super::*;

    #[test]
    fn definitions_with_retired_words_are_found() {
        let text = "struct Desk;\n// struct Desk\npub(crate) fn gives_up() {}\nfn f(Desk: u8) {}\n";
        let found = check(&[source("crates/x/src/a.rs", text), source("a.md", "struct Desk")]);
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 3]);
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(RETIRED.is_sorted());
    }
}
