//! Tilings of random bytes, with and without a wrong bit.

use proptest::prelude::*;

use super::*;

const ALL: [Algorithm; 3] = [Algorithm::Crc64Nvme, Algorithm::Crc32c, Algorithm::Crc32];

/// A tiling of an object of these bytes, of which some of the first were seen.
fn tiling(bytes: &[u8], algorithm: Algorithm, head: usize) -> Tiling {
    let stated = Stated { algorithm, sum: algorithm.of(bytes) };
    Tiling::new("s3://box/it", bytes.len() as u64, stated, &bytes[..head])
}

/// The sum of a range, added in pieces of some bytes.
fn sum(tiling: &Tiling, bytes: &[u8], range: Range<usize>, piece: usize) -> RangeSum {
    let mut sum = tiling.range(range.start as u64);
    bytes[range.clone()].chunks(piece).for_each(|piece| sum.add(piece));
    assert_eq!(sum.end(), range.end as u64);
    sum
}

/// Ranges between these places of an object.
fn between(bytes: usize, cuts: &[prop::sample::Index]) -> Vec<Range<usize>> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes + 1)).collect();
    places.extend([0, bytes]);
    places.sort_unstable();
    places.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Bytes, cuts, an order, and the length of what was seen first.
type Case = (Vec<u8>, Vec<prop::sample::Index>, Vec<u64>, prop::sample::Index);

fn cases() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(any::<u8>(), 1..400),
        prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        prop::collection::vec(any::<u64>(), 16),
        any::<prop::sample::Index>(),
    )
}

/// Ranges of a case in its order.
fn ordered((bytes, cuts, order, _): &Case) -> Vec<Range<usize>> {
    let ranges = between(bytes.len(), cuts).into_iter();
    let mut keyed: Vec<_> = ranges.zip(order.iter().cycle()).collect();
    keyed.sort_by_key(|(range, key)| (**key, range.start));
    keyed.into_iter().map(|(range, _)| range).collect()
}

proptest! {
    #[test]
    fn ranges_in_any_order_are_the_object(case in cases(), piece in 1_usize..50) {
        let (ranges, bytes) = (ordered(&case), &case.0);
        for algorithm in ALL {
            let tiling = tiling(bytes, algorithm, case.3.index(bytes.len()));
            prop_assert!(tiling.finish().is_err());
            // Also when they come twice, and when one that overlaps came before.
            sum(&tiling, bytes, 0..bytes.len() / 2, piece).note().unwrap();
            for range in ranges.iter().chain(&ranges) {
                sum(&tiling, bytes, range.clone(), piece).note().unwrap();
            }
            tiling.finish().unwrap();
            tiling.anew().finish().unwrap_err();
        }
    }

    #[test]
    fn a_wrong_bit_of_any_range_is_found(
        case in cases(),
        place in any::<prop::sample::Index>(),
        bit in 0_u32..8,
        is_second in any::<bool>(),
    ) {
        let (ranges, bytes) = (ordered(&case), &case.0);
        let mut wrong = bytes.clone();
        wrong[place.index(bytes.len())] ^= 1 << bit;
        for algorithm in ALL {
            let tiling = tiling(bytes, algorithm, case.3.index(bytes.len()));
            if is_second {
                for range in &ranges {
                    sum(&tiling, bytes, range.clone(), 64).note().unwrap();
                }
            }
            let noted = |range: &Range<usize>| sum(&tiling, &wrong, range.clone(), 64).note();
            let error = ranges.iter().find_map(|range| noted(range).err()).unwrap();
            prop_assert_eq!(error.kind(), ObjectErrorKind::Store);
            prop_assert!(error.to_string().starts_with("s3://box/it: bits flipped"), "{}", error);
        }
    }

    #[test]
    fn a_wrong_bit_of_what_was_seen_before_is_found(
        case in cases(),
        place in any::<prop::sample::Index>(),
        seen in any::<prop::sample::Index>(),
    ) {
        let (ranges, bytes) = (ordered(&case), &case.0);
        let seen = seen.index(bytes.len()) + 1;
        let mut wrong = bytes.clone();
        wrong[place.index(seen)] ^= 4;
        let of = |head: usize| tiling(bytes, Algorithm::Crc64Nvme, head);
        let first = of(case.3.index(bytes.len()));
        sum(&first, &wrong, 0..seen, 64).note_prefix();
        // A range that begins elsewhere is no prefix.
        sum(&first, &wrong, 1..bytes.len(), 64).note_prefix();
        let mut noted = ranges.iter().map(|range| sum(&first, bytes, range.clone(), 64).note());
        prop_assert!(noted.any(|noted| noted.is_err()));
        let second = of(0);
        sum(&second, bytes, 0..seen, 64).note_prefix();
        for range in &ranges {
            sum(&second, bytes, range.clone(), 64).note().unwrap();
        }
        second.finish().unwrap();
    }
}

#[test]
fn what_is_missing_is_noticed_at_the_end() {
    let bytes: Vec<u8> = (0..100).collect();
    let tiling = tiling(&bytes, Algorithm::Crc32c, 4);
    sum(&tiling, &bytes, 0..60, 7).note().unwrap();
    sum(&tiling, &bytes, 61..100, 7).note().unwrap();
    let error = tiling.finish().unwrap_err().to_string();
    assert!(error.contains("of its 100 bytes 99 were read once"), "{error}");
    sum(&tiling, &bytes, 60..61, 7).note().unwrap();
    tiling.finish().unwrap();
}

#[test]
fn many_ranges_become_few() {
    let bytes: Vec<u8> = (0..5 * RANGES_MAX / 2).map(|it| (it * 7 + it / 251) as u8).collect();
    let tiling = tiling(&bytes, Algorithm::Crc32c, RANGES_MAX);
    // Apart at first, and then side by side.
    for start in (0..bytes.len()).step_by(4).chain((2..bytes.len()).step_by(4)) {
        let end = bytes.len().min(start + 2);
        sum(&tiling, &bytes, start..end, 2).note().unwrap();
        assert!(lock(&tiling.noted).ranges.len() <= RANGES_MAX);
    }
    tiling.finish().unwrap();
}
