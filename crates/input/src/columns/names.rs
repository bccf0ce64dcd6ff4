//! Names of columns that tell what they hold.
//!
//! Names are compared without case, and without what an exporter adds: `:START_ID(Body-ID)` is
//! `start_id`, `weight:float` is `weight`.

/// Pairs of words, source and target, that tell as names of columns, and as parts of them beside
/// what both have in common: `from` and `to` tell in `from_user,to_user`, too.
const PAIRS: &[(&str, &str)] = &[
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("source", "sink"),
    ("src", "dst"),
    ("src", "dest"),
    ("src", "tgt"),
    ("src", "target"),
    ("from", "to"),
    ("start", "end"),
    ("subject", "object"),
    ("head", "tail"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("departure", "arrival"),
    ("departure", "destination"),
    ("orig", "dest"),
    ("caller", "callee"),
    ("follower", "followee"),
    ("follower", "followed"),
    ("follower", "following"),
    ("citing", "cited"),
    ("parent", "child"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("payer", "payee"),
    ("donor", "recipient"),
    ("lender", "borrower"),
    ("upstream", "downstream"),
    ("referrer", "referred"),
    ("buyer", "seller"),
    ("rater", "ratee"),
    ("trustor", "trustee"),
    ("initiator", "receiver"),
    ("influencer", "influenced"),
    ("predecessor", "successor"),
    ("ancestor", "descendant"),
    ("employee", "manager"),
    ("mentor", "mentee"),
    ("importer", "exporter"),
    ("exporter", "importer"),
    ("user", "item"),
    ("user", "movie"),
    ("user", "product"),
    ("user", "artist"),
    ("user", "book"),
    ("user", "group"),
    ("user", "friend"),
    ("user", "follower"),
    ("customer", "product"),
    ("reviewer", "product"),
    ("author", "paper"),
    ("author", "coauthor"),
    ("person", "friend"),
    ("person", "knows"),
    ("actor", "movie"),
    ("package", "dependency"),
    ("package", "depends"),
    ("module", "import"),
    ("drug", "target"),
    ("tf", "gene"),
    ("regulator", "target"),
    ("left", "right"),
    ("first", "second"),
    ("tail", "head"),
    ("node", "neighbor"),
    ("node", "neighbour"),
    ("vertex", "neighbor"),
    ("page", "link"),
    ("outv", "inv"),
    ("u", "v"),
    ("i", "j"),
    ("s", "t"),
];

/// Endings that number two columns of one thing: `protein1 protein2`, `node_a,node_b`.
const NUMBERS: &[(&str, &str)] =
    &[("1", "2"), ("0", "1"), ("a", "b"), ("x", "y"), ("i", "j"), ("u", "v"), ("one", "two")];

/// Pairs that are surely no two vertices, wherever they stand.
const SURE: &[(&str, &str)] = &[
    ("source", "target"),
    ("source", "destination"),
    ("src", "dst"),
    ("src", "dest"),
    ("from", "to"),
    ("source_id", "target_id"),
    ("from_id", "to_id"),
    ("fromnodeid", "tonodeid"),
    ("start_id", "end_id"),
    ("caller", "callee"),
    ("subject", "object"),
];

/// Words for the weight of an edge.
pub(crate) const WEIGHTS: &[&str] = &[
    "w",
    "wt",
    "wgt",
    "edge_weight",
    "edgeweight",
    "cost",
    "costs",
    "distance",
    "dist",
    "length",
    "len",
    "capacity",
    "cap",
    "value",
    "val",
    "values",
    "rating",
    "ratings",
    "stars",
    "score",
    "combined_score",
    "count",
    "counts",
    "cnt",
    "n",
    "freq",
    "frequency",
    "amount",
    "strength",
    "similarity",
    "sim",
    "correlation",
    "corr",
    "probability",
    "prob",
    "confidence",
    "affinity",
    "duration",
    "minutes",
    "seconds",
    "hours",
    "travel_time",
    "free_flow_time",
    "traveltime",
    "latency",
    "delay",
    "bandwidth",
    "flow",
    "volume",
    "km",
    "miles",
    "meters",
    "metres",
    "price",
    "interactions",
    "messages",
    "multiplicity",
    "importance",
    "coefficient",
    "data",
    "trips",
    "passengers",
    "number",
    "total",
    "sum",
    "size",
    "intensity",
    "overlap",
    "shared",
    "times",
];

/// Words for what is no weight, also where it is a number.
const ATTRIBUTES: &[&str] = &[
    "id",
    "index",
    "idx",
    "row",
    "rowid",
    "row_id",
    "key",
    "no",
    "nr",
    "label",
    "type",
    "kind",
    "class",
    "category",
    "group",
    "cluster",
    "community",
    "relation",
    "relationship",
    "predicate",
    "property",
    "rel",
    "rtype",
    "etype",
    "edge_type",
    "year",
    "month",
    "day",
    "date",
    "datetime",
    "time",
    "timestamp",
    "ts",
    "epoch",
    "since",
    "created",
    "created_at",
    "updated",
    "updated_at",
    "start_time",
    "end_time",
    "begin",
    "lat",
    "lon",
    "lng",
    "latitude",
    "longitude",
    "zip",
    "postcode",
    "directed",
    "color",
    "colour",
    "name",
    "title",
    "partition",
    "part",
    "fold",
    "layer",
    "version",
    "position",
    "rank",
    "line",
    "page",
    "oneway",
    "lanes",
];

/// A name without case, marks around it and the type that an exporter adds.
pub(crate) fn plain(name: &str) -> String {
    let name = name
        .trim()
        .trim_start_matches('\u{feff}')
        .trim_start_matches(['#', '%', ' ', '~', ':', '@', '$', '"']);
    let name = name.split(['(', ':']).next().unwrap_or_default();
    let name = name.trim().replace([' ', '-', '.'], "_").to_ascii_lowercase();
    name.trim_matches('_').to_owned()
}

/// Whether a column has this name.
pub(crate) fn is_called(name: &str, word: &str) -> bool {
    plain(name) == word
}

/// Whether a name is a word for a weight.
pub(crate) fn is_weight(name: &str) -> bool {
    let name = plain(name);
    let ends = ["_weight", "_cost", "_distance", "_score", "_count", "_km", "_capacity", "_length"];
    WEIGHTS.contains(&&name[..])
        || ends.iter().any(|end| name.ends_with(end))
        || name.strip_prefix("n_").is_some_and(|rest| !rest.is_empty())
        || name.strip_prefix("num_").is_some_and(|rest| !rest.is_empty())
}

/// Whether a name is one for something that is neither an end nor a weight.
pub(crate) fn is_attribute(name: &str) -> bool {
    let name = plain(name);
    let ends =
        ["_id", "_type", "_time", "_date", "_at", "_label", "_name", "_year", "_index", "id"];
    let mut words = name.split('_');
    ATTRIBUTES.contains(&&name[..])
        || words.any(|word| matches!(word, "id" | "ids" | "identifier"))
        || ends[..ends.len() - 1].iter().any(|end| name.ends_with(end))
        || (name.len() > 2 && name.ends_with("id") && name.starts_with("edge"))
}

/// Whether two names say that columns hold things of the same sort, such as `order_id` and
/// `product_id`.
pub(super) fn are_of_one_sort(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    let last = |name: &str| name.rsplit_once('_').map(|(_, last)| last.to_owned());
    one != other && last(&one).is_some() && last(&one) == last(&other)
}

/// Whether the first name is one for something that is said of the vertices in a column of the
/// second: `degree` beside `id`.
pub(super) fn describes(what: &str, whom: &str) -> bool {
    let (what, whom) = (plain(what), plain(whom));
    let vertices = ["id", "node", "node_id", "nodeid", "vertex", "vertex_id", "name", "label"];
    let more = ["degree", "indegree", "outdegree", "pagerank", "age", "betweenness", "closeness"];
    let is_attribute =
        ATTRIBUTES.contains(&&what[..]) || is_weight(&what) || more.contains(&&what[..]);
    vertices.contains(&&whom[..]) && is_attribute && what != "id"
}

/// Whether a column of this name numbers rows rather than being an end.
pub(crate) fn is_index(name: &str) -> bool {
    let index = [
        "",
        "id",
        "index",
        "idx",
        "row",
        "rowid",
        "row_id",
        "rownames",
        "row_number",
        "no",
        "nr",
        "edge",
        "edge_id",
        "edgeid",
        "eid",
        "link_id",
        "relationship_id",
        "rel_id",
        "level_0",
        "key",
        "fid",
        "ogc_fid",
        "objectid",
        "unnamed__0",
    ];
    // As pandas names an index that has no name, in CSV and in Parquet.
    let pandas = ["Unnamed", "__index_level_"];
    index.contains(&&plain(name)[..]) || pandas.iter().any(|index| name.starts_with(index))
}

/// Whether two names tell the source from the target.
pub(super) fn are_ends(source: &str, target: &str) -> bool {
    let (source, target) = (plain(source), plain(target));
    if source.is_empty() || source == target || is_of_time_or_kind(&source) {
        return false;
    }
    PAIRS.contains(&(&source[..], &target[..]))
        || differ(&source, &target, PAIRS, false)
        || differ(&source, &target, NUMBERS, true)
}

/// Whether a name, such as `start_time`, is surely that of no end.
fn is_of_time_or_kind(name: &str) -> bool {
    let words = [
        "time", "date", "year", "at", "type", "label", "kind", "lat", "lon", "lng", "x", "y",
        "port",
    ];
    words.iter().any(|word| name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_')))
}

/// Whether two names are alike but for the words of a pair; at their ends alone, if `last`.
fn differ(source: &str, target: &str, pairs: &[(&str, &str)], last: bool) -> bool {
    pairs.iter().any(|(from, to)| {
        let stem = |name: &str, word: &str, before: bool| {
            let rest = if before { name.strip_prefix(word) } else { name.strip_suffix(word) }?;
            // A single letter is a word of its own only behind a mark or a longer stem.
            let apart = rest.starts_with('_') || rest.ends_with('_');
            let stem = rest.trim_matches('_');
            let long = if last { stem.len() > 1 || apart } else { word.len() > 1 || apart };
            (!stem.is_empty() && long).then(|| stem.to_owned())
        };
        let alike = |before: bool| {
            let (one, other) = (stem(source, from, before), stem(target, to, before));
            one.is_some() && one == other
        };
        alike(false) || (!last && alike(true))
    })
}

/// Whether names such as these are surely a header and not a row.
pub(crate) fn are_surely(names: &[&str]) -> bool {
    let plain: Vec<String> = names.iter().map(|name| plain(name)).collect();
    let has = |word: &str| plain.iter().any(|name| name == word);
    has("weight") || SURE.iter().any(|(from, to)| has(from) && has(to))
}

/// Whether a name is surely that of an end.
pub(crate) fn is_surely_end(name: &str) -> bool {
    let name = plain(name);
    SURE.iter().any(|(from, to)| name == *from || name == *to)
}

/// The first pair of columns, in their order, whose names tell source from target.
pub(crate) fn ends(names: &[&str]) -> Option<[usize; 2]> {
    let sure = SURE.iter().find_map(|(from, to)| {
        let place = |word: &str| names.iter().position(|name| plain(name) == word);
        Some([place(from)?, place(to)?])
    });
    let likely = || {
        let pairs =
            (0..names.len()).flat_map(|one| (0..names.len()).map(move |other| [one, other]));
        pairs
            .filter(|[one, other]| one != other && are_ends(names[*one], names[*other]))
            .min_by_key(|[one, other]| {
                let text = plain(names[*one]).ends_with("name");
                (text, one > other, *one.max(other))
            })
    };
    sure.or_else(likely)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_tell_whole_and_in_part() {
        for (source, target) in [
            ("Source", "Target"),
            (":START_ID(Body-ID)", ":END_ID(Body-ID)"),
            ("caller", "callee"),
            ("protein1", "protein2"),
            ("node_a", "node_b"),
            ("from_user", "to_user"),
            ("user_from", "user_to"),
            ("FromNodeId", "ToNodeId"),
            ("id_1", "id_2"),
            ("src_ip", "dst_ip"),
            ("start_station", "end_station"),
            ("Gene A", "Gene B"),
            ("ORIGIN", "DEST"),
            ("u", "v"),
            ("author 1", "author 2"),
        ] {
            assert!(are_ends(source, target), "{source} {target}");
            assert_eq!(ends(&["x", source, "y", target]), Some([1, 3]), "{source} {target}");
        }
        for (one, other) in [
            ("a", "b"),
            ("ann", "bob"),
            ("1", "2"),
            ("x", "x"),
            ("toto", "fromto"),
            ("ta", "tb"),
            ("", "2"),
        ] {
            assert!(!are_ends(one, other), "{one} {other}");
        }
    }

    #[test]
    fn weights_and_attributes_are_known_by_words() {
        assert!(
            ["cost", "Weight:float", "w", "edge_weight", "n_trips", "trip_count"]
                .iter()
                .all(|name| is_weight(name) || is_called(name, "weight"))
        );
        assert!(
            ["year", "edge_type", "created_at", "station_id"].iter().all(|name| is_attribute(name))
        );
        assert!(!is_weight("year") && !is_attribute("cost") && !is_attribute("paid"));
        assert!(is_attribute("BioGRID ID Interactor A") && !is_attribute("idle"));
        assert!(are_of_one_sort("a.name", "b.name") && are_of_one_sort("order_id", "product_id"));
        assert!(!are_of_one_sort("id", "name") && !are_of_one_sort("personId:ID", "name"));
        assert!(
            describes("degree", "id") && describes("Group", "Node") && describes("size", "name")
        );
        assert!(!describes("parent_id", "id") && !describes("neighbor", "node"));
        assert!(is_index("Unnamed: 0") && is_index("") && !is_index("u"));
        assert!(is_index("__index_level_0__") && !is_index("level"));
        assert!(
            are_surely(&["a", "weight"]) && are_surely(&["src", "dst"]) && !are_surely(&["u", "v"])
        );
    }
}
