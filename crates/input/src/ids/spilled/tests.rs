//! Edges on files get the slots that edges in memory get, and the same errors.

use proptest::collection::vec;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use welter_model::edges::Pair;

use super::*;
use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids};
use welter_progress::FailureKind;

/// Sources with what they state and their edges.
type Sources<I> = Vec<(Option<DeclaredVertices>, Vec<[I; 2]>)>;

/// Each edge with the bits of its weight, the number of slots, and the ids.
type Outcome = Result<(Vec<(Pair, u64)>, Option<u64>, IdMap), (FailureKind, String)>;

/// Reads sources in parts of a few edges. Half of `memory_bytes_max` is less than the edges take.
fn outcome<I>(
    sources: &Sources<I>,
    ids: &dyn Fn(&[[I; 2]]) -> Ids,
    vertices: Option<u64>,
    memory_bytes_max: Option<u64>,
) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let collector =
        Collector::with_scratch(memory_bytes_max, &[folder.path().to_owned()], &Progress::new());
    let finished = sources.iter().enumerate().try_for_each(|(number, (stated, pairs))| {
        collector.begin(&format!("f{number}"));
        stated.iter().try_for_each(|stated| collector.state(stated.clone()))?;
        // Parts come in any order.
        pairs.chunks(70).enumerate().rev().try_for_each(|(number, pairs)| {
            let weights = (0..pairs.len()).map(|edge| edge as f64 / 3.0).collect();
            collector.push(number as u64, EdgeRun { ids: ids(pairs), weights: Some(weights) })
        })
    });
    collector.name(&[17, 1 << 40]);
    let finished = finished.and_then(|()| collector.finish(vertices, &pool, &Progress::new()));
    let Finished { edges, ids, scratch_bytes } =
        finished.map_err(|error| (error.kind(), error.to_string()))?;
    assert_eq!(scratch_bytes > 0, memory_bytes_max.is_some());
    let mut all = Vec::new();
    for part in 0..edges.parts() {
        let read = edges.read(part, &mut |batch| {
            let weights = batch.weights.unwrap().iter().map(|weight| weight.to_bits());
            all.extend(batch.pairs.iter().copied().zip(weights));
            true
        });
        read.unwrap();
    }
    Ok((all, edges.slots(), ids))
}

fn id() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..40_u64,
        1_000_000..1_000_300_u64,
        (1_u64 << 40)..(1 << 40) + 300,
        any::<u64>(),
        Just(u64::MAX),
    ]
}

fn stated() -> impl Strategy<Value = Option<DeclaredVertices>> {
    prop_oneof![
        4 => Just(None),
        1 => (0..9_u64, prop_oneof![0..500_u64, Just(1 << 63)])
            .prop_map(|(first, count)| Some(DeclaredVertices::Range { first, count })),
        1 => vec(id(), 0..60).prop_map(|ids| Some(DeclaredVertices::Integers(ids))),
    ]
}

/// Distinct ids are few, so that they fit, and edges are many.
const EDGES: usize = 3000;
const BYTES: u64 = 40_000;

fn integers() -> impl Strategy<Value = Sources<u64>> {
    // Below a bound, ids may be dense or within what is stated.
    let bounds = prop_oneof![Just(u64::MAX), Just(300), Just(3000), Just(1 << 20)];
    (vec((stated(), vec([id(), id()], 1..300)), 1..4), bounds).prop_map(|(sources, bound)| {
        let source = |(stated, pairs): (Option<DeclaredVertices>, Vec<[u64; 2]>)| {
            let pairs = pairs.into_iter().map(|pair| pair.map(|id| id % bound + 1));
            let pairs: Vec<_> = pairs.collect();
            (stated, pairs.into_iter().cycle().take(EDGES).collect())
        };
        sources
            .into_iter()
            .map(|(stated, pairs)| {
                let pairs = pairs.into_iter().map(|pair| pair.map(|id| id.min(u64::MAX - 1)));
                source((stated, pairs.collect()))
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn integers_get_the_same_slots(
        sources in integers(),
        vertices in proptest::option::weighted(0.3, prop_oneof![1..5000_u64, Just(u64::MAX)]),
    ) {
        let ids = |pairs: &[[u64; 2]]| Ids::integers(pairs.to_vec());
        let expected = outcome(&sources, &ids, vertices, None);
        prop_assert_eq!(outcome(&sources, &ids, vertices, Some(BYTES)), expected);
    }

    #[test]
    fn names_get_the_same_slots(
        pool in vec("\\PC{0,9}|[ab]{0,12}", 1..150),
        places in vec([any::<u16>(), any::<u16>()], 1..200),
        alone in proptest::option::of(vec("\\PC{0,9}", 0..20)),
    ) {
        let place = |place: u16| usize::from(place) % pool.len();
        let pairs = places.into_iter().map(|pair| pair.map(place)).cycle().take(EDGES).collect();
        let names = |names: Vec<String>| names.iter().map(|name| &name[..]).collect();
        let alone = alone.map(|alone| DeclaredVertices::Names(names(alone)));
        let sources = vec![(alone, pairs)];
        let ids = |pairs: &[[usize; 2]]| {
            let mut names = Names::new();
            let mut known = std::collections::BTreeMap::new();
            let pairs = pairs.iter().map(|pair| {
                pair.map(|place| {
                    *known.entry(&pool[place]).or_insert_with(|| {
                        names.push(&pool[place]);
                        names.len() as u32 - 1
                    })
                })
            });
            let pairs = pairs.collect();
            Ids::Names { names, pairs }
        };
        let expected = outcome(&sources, &ids, None, None);
        prop_assert_eq!(outcome(&sources, &ids, None, Some(BYTES)), expected);
    }
}

#[test]
fn damage_is_noticed_while_ids_are_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let scratch = TempFiles::make(&[folder.path().to_owned()]).unwrap();
    let pairs = vec![[1, 1 << 50]; 500];
    let part = EdgeRun { ids: Ids::integers(pairs), weights: None };
    let blob = Blob::write(&scratch, part).unwrap();
    scratch.files().next().unwrap().set_len(100).unwrap();
    let mapping = Mapping {
        files: &["f".to_owned()],
        scratch,
        parts: vec![Spilled { source: 0, number: 0, blob }],
        allowed_bytes: 1 << 20,
        pool: &pool,
        progress: &Progress::new(),
    };
    let error = mapping.finish(IdMapping::Integers(Vec::new())).err().unwrap();
    assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
}
