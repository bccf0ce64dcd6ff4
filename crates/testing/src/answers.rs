//! Answers that others computed, from the folder `shared/data` beside the repository.

use crate::graph::Graph;
use crate::npy::{self, Array};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The root of the repository.
pub fn repository() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root.pop();
    root
}

/// The folder `shared/data` beside the repository; where it is missing, says so loudly.
///
/// # Panics
/// When it is missing and the environment variable `WELTER_REQUIRE` names `data`.
pub fn shared_data() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    let data = repository().join("../shared/data");
    if data.join("graphs").is_dir() {
        return Some(data);
    }
    let missing = format!("there is no {}", data.display());
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    assert!(required.split(',').all(|what| what != "data"), "{missing}, and it is required");
    // Not `eprintln!`: of a test that passes, that would be swallowed.
    SAID.call_once(|| {
        let _ = writeln!(std::io::stderr(), "SKIPPED: tests on shared data, for {missing}");
    });
    None
}

/// A file of JSON of the shared data, where that is there.
///
/// # Panics
/// When it cannot be read.
pub fn shared_json(file: &str) -> Option<serde_json::Value> {
    Some(json(&shared_data()?.join(file)))
}

fn json(path: &Path) -> serde_json::Value {
    let name = path.display();
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Answers that are known about one graph.
pub struct Answers {
    arrays: BTreeMap<String, Array>,
    /// Counts, settings and samples of the arrays.
    pub json: serde_json::Value,
}

impl Answers {
    /// Reads `answers.npz` and `answers.json` of a folder.
    ///
    /// # Panics
    /// When they cannot be read.
    pub fn load(folder: &Path) -> Self {
        let json = json(&folder.join("answers.json"));
        Self { arrays: npy::read_npz(&folder.join("answers.npz")), json }
    }

    /// The array of floats of this name, if there is one.
    pub fn floats(&self, name: &str) -> Option<&[f64]> {
        match self.arrays.get(name)? {
            Array::Floats(values) => Some(values),
            Array::Integers(_) => None,
        }
    }

    /// The array of integers of this name, if there is one.
    pub fn integers(&self, name: &str) -> Option<&[i64]> {
        match self.arrays.get(name)? {
            Array::Integers(values) => Some(values),
            Array::Floats(_) => None,
        }
    }

    /// The ids of all vertices, ascending; every other array is aligned with them.
    ///
    /// # Panics
    /// Answers without ids.
    pub fn ids(&self) -> Vec<u64> {
        let ids = self.integers("ids").expect("answers.npz has `ids`");
        ids.iter().map(|id| u64::try_from(*id).expect("ids are not negative")).collect()
    }

    /// Whether the source of the graph is directed.
    ///
    /// # Panics
    /// When the answers do not say.
    pub fn directed(&self) -> bool {
        self.json["directed_source_data"].as_bool().expect("answers.json says whether directed")
    }

    /// Whether distances and forests are of weights that follow from the ids of an edge, because
    /// its file has none.
    pub fn derives_weights(&self) -> bool {
        self.json["sssp"]["weights"].as_str().is_some_and(|how| how.contains("derived"))
    }

    /// The graph with the weights of the answers: the file's, or those that follow from its ids.
    pub fn weighted(&self, graph: &Graph) -> Graph {
        let ids = self.ids();
        let weight = |[from, to]: &[u32; 2]| derived_weight(ids[*from as usize], ids[*to as usize]);
        let weights = if self.derives_weights() {
            Some(graph.pairs.iter().map(weight).collect())
        } else {
            graph.weights.clone()
        };
        Graph { weights, ..graph.clone() }
    }
}

/// The weight of an edge between two ids where the file has none.
pub fn derived_weight(from: u64, to: u64) -> f64 {
    let (low, high) = (from.min(to), from.max(to));
    let mixed = low
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(high.wrapping_mul(0xc2b2_ae3d_27d4_eb4f));
    (1 + (mixed >> 40) % 255) as f64
}

/// Whether a value differs from the right one by `error` at most. Only infinity is near infinity,
/// of which an error that is relative to it would accept every value.
pub fn is_near(found: f64, expected: f64, error: f64) -> bool {
    if expected.is_infinite() {
        return found.is_infinite() && found.is_sign_positive() == expected.is_sign_positive();
    }
    (found - expected).abs() <= error
}

/// Number of vertices of each depth, of those that have one.
pub fn by_depth(depths: &[i64]) -> Vec<u64> {
    let mut counts = Vec::new();
    for depth in depths.iter().filter(|depth| **depth >= 0) {
        let depth = *depth as usize;
        counts.resize(counts.len().max(depth + 1), 0);
        counts[depth] += 1;
    }
    counts
}

/// Sizes of the components, the largest first, from the label of each vertex.
pub fn sizes(components: &[u64]) -> Vec<u64> {
    let mut sizes = BTreeMap::new();
    for component in components {
        *sizes.entry(component).or_insert(0) += 1;
    }
    let mut sizes: Vec<u64> = sizes.into_values().collect();
    sizes.sort_unstable_by(|a: &u64, b| b.cmp(a));
    sizes
}
