//! Parts come back from their files as they were, or not at all.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use welter_progress::FailureKind;

fn scratch() -> TempFiles {
    // Where folders of tests are; the file has no name.
    TempFiles::make(&[std::env::temp_dir(), PathBuf::from(".")]).unwrap()
}

fn part(ids: Ids, weights: Option<Vec<f64>>) -> EdgeRun {
    EdgeRun { ids, weights }
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(-0.0),
        Just(f64::INFINITY),
        (0..300_u16).prop_map(f64::from),
        any::<f32>().prop_map(f64::from),
        any::<f64>(),
    ]
    .prop_filter("readers let no NaN through", |weight| !weight.is_nan())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn parts_come_back_as_they_were(
        pairs in vec([any::<u64>(), any::<u64>()], 1..200),
        shift in 0..64_u32,
        // More than one block, the last one of any length.
        times in prop_oneof![Just(1_usize), 100..400_usize],
        weights in proptest::option::of(vec(weight(), 200)),
    ) {
        let pairs: Vec<_> = pairs.iter().map(|pair| pair.map(|id| id >> shift)).collect();
        let pairs = pairs.repeat(times);
        let weights = weights.map(|weights| {
            weights.into_iter().cycle().take(pairs.len()).collect::<Vec<_>>()
        });
        let bits = |part: &EdgeRun| {
            let weights = part.weights.iter().flatten();
            weights.map(|weight| weight.to_bits()).collect::<Vec<_>>()
        };
        let scratch = scratch();
        let expected = part(Ids::integers(pairs.clone()), weights.clone());
        let max = pairs.iter().flatten().max().copied().unwrap_or(0);
        for ids in [Ids::integers(pairs.clone()), Ids::Wide { pairs: pairs.clone(), max }] {
            let mut blob = Blob::write(&scratch, part(ids, weights.clone())).unwrap();
            let sums = 4 * blob.blocks() as u64;
            prop_assert!(blob.resident_bytes() < 256 + sums, "{}", blob.resident_bytes());
            let back = blob.load(&scratch).unwrap();
            prop_assert_eq!(&back.ids, &expected.ids);
            prop_assert_eq!(bits(&back), bits(&expected));
            let min = pairs.iter().flatten().min().copied().unwrap_or(0);
            prop_assert_eq!((blob.min, blob.max), (min, max));
            let slot = |id: u64| (id % 1000) as u32;
            blob.replace(&scratch, &mut Buffer::default(), &slot).unwrap();
            let slots = blob.load(&scratch).unwrap();
            prop_assert_eq!(bits(&slots), bits(&expected));
            let Ids::Narrow { pairs: mapped, .. } = slots.ids else {
                return Err(TestCaseError::fail("slots are narrow"));
            };
            prop_assert!(mapped.iter().zip(&pairs).all(|(new, old)| *new == old.map(slot)));
        }
    }
}

#[test]
fn names_come_back_as_they_were() {
    let names: Names = ["ü", "", "a b"].into_iter().collect();
    let ids = Ids::Names { names, pairs: [[0, 1], [2, 0]].repeat(BLOCK_EDGES) };
    let expected = part(ids, Some([0.5, 3.0].repeat(BLOCK_EDGES)));
    let scratch = scratch();
    let blob = Blob::write(&scratch, expected.clone()).unwrap();
    assert_eq!(blob.load(&scratch).unwrap(), expected);
}

#[test]
fn any_bit_that_changed_is_noticed() {
    let scratch = scratch();
    let names: Names = ["one", "two"].into_iter().collect();
    let ids = Ids::Names { names, pairs: [[0, 1], [1, 0]].repeat(20) };
    let blob = Blob::write(&scratch, part(ids, Some(vec![0.25; 40]))).unwrap();
    let file = scratch.files().next().unwrap();
    let bytes = file.metadata().unwrap().len();
    assert!(bytes > 40 * 12);
    for at in 0..bytes {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1 << (at % 8)], at).unwrap();
        let error = blob.load(&scratch).unwrap_err();
        assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
        assert!(error.to_string().contains("checksum"), "{error}");
        file.write_all_at(&byte, at).unwrap();
    }
    blob.load(&scratch).unwrap();
    file.set_len(bytes - 1).unwrap();
    let error = blob.load(&scratch).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
    assert!(error.to_string().contains("found the end of the file"), "{error}");
}
