//! Where a search begins, as far as that is known before edges are read.

use welter_input::attributes::Vertices;
use welter_model::ids::IdMap;

/// The slots of sources that were said one by one, as far as they can be known before the edges are
/// read. `slots`: how many there are, if that is known.
pub(super) fn begins(named: &[u64], ids: &IdMap, slots: Option<u64>) -> Vec<u64> {
    let slots = slots.unwrap_or(u64::from(u32::MAX));
    let vertices = Vertices { ids, slots, is_vertex: &|_| true };
    let mut begins: Vec<u64> =
        named.iter().filter_map(|id| vertices.find(&id.to_string()).ok()).map(u64::from).collect();
    begins.sort_unstable();
    begins.dedup();
    begins
}
