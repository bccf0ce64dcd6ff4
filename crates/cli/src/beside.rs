//! Files that are read though another one is named: lists of vertices, bits of graphs.
//!
//! Invariant: what a reader opens beside a file is here too, so that no output replaces it and a
//! run that continues notices that it has changed. Tested by `what_is_read_beside_a_file_is_known`.

use std::path::{Path, PathBuf};

use welter_input::ldbc::benchmark::Benchmark;
use welter_input::ldbc::{existing, plain};

/// Extensions of files that are read beside one that is named, compressed or not.
const BESIDE: [&str; 4] = ["e", "v", "graph", "properties"];

/// Files that are read beside one.
pub(crate) fn beside(path: &Path) -> Vec<PathBuf> {
    let plain = plain(path);
    let own = plain.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let others = BESIDE.iter().filter(|other| BESIDE.contains(&own) && **other != own);
    let mut files: Vec<PathBuf> =
        others.filter_map(|other| existing(&plain.with_extension(other)).ok()?).collect();
    if own == "properties" {
        let named = path.to_str().and_then(|name| Benchmark::open(name).ok()?.files().ok());
        files.extend(named.into_iter().flatten().map(PathBuf::from));
        files.retain(|file| file != path);
    }
    files.sort();
    files.dedup();
    files
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Names of what is beside a file of a folder.
    fn names(folder: &Path, name: &str) -> Vec<String> {
        let names: Vec<String> = beside(&folder.join(name))
            .iter()
            .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        names
    }

    #[test]
    fn what_is_read_beside_a_file_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        for name in ["g.e.gz", "g.v.gz", "h.graph", "h.properties", "x.csv", "x.v"] {
            fs::write(place.join(name), "").unwrap();
        }
        assert_eq!(names(place, "g.e.gz"), ["g.v.gz"]);
        assert_eq!(names(place, "h.properties"), ["h.graph"]);
        assert_eq!(names(place, "x.csv"), [""; 0]);
        let says = "graph.far.vertex-file = nodes.txt\ngraph.far.edge-file = links.txt\n\
                    graph.far.directed = true\n";
        fs::write(place.join("far.properties"), says).unwrap();
        fs::write(place.join("nodes.txt"), "1\n2\n").unwrap();
        fs::write(place.join("links.txt"), "1 2\n").unwrap();
        assert_eq!(names(place, "far.properties"), ["links.txt", "nodes.txt"]);
    }
}
