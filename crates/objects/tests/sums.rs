//! Inputs of a store in this process, compared with the checksums that it states of them.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::io::Read;
use std::time::Duration;

use welter_objects::{
    Ahead, Blocks, Bucket, Location, Object, ObjectErrorKind, ReadRequests, Settings, fault,
};
use welter_testing::bucket::{BucketServer, Fault, StatedSum};

/// Checksums that are compared.
const COMPARED: [StatedSum; 4] =
    [StatedSum::Nvme, StatedSum::Castagnoli, StatedSum::Plain, StatedSum::Google];
/// Checksums that cannot be compared, or are none.
const PASSED_OVER: [StatedSum; 5] = [
    StatedSum::Composite,
    StatedSum::None,
    StatedSum::Refused(400),
    StatedSum::Refused(403),
    StatedSum::Refused(501),
];

fn bytes() -> Vec<u8> {
    (0..700_000_u32).map(|it| (it * 7 + it / 251) as u8).collect()
}

fn opened(server: &BucketServer, key: &str) -> Object {
    let location = Location::parse("s3://box/").unwrap().unwrap();
    let settings = Settings::new(server.environment()).with_silence(Duration::from_secs(5));
    Bucket::connect(&location, &settings).unwrap().open_input(key, 4 << 10).unwrap()
}

fn begin() -> (BucketServer, Vec<u8>) {
    let (server, bytes) = (BucketServer::start().unwrap(), bytes());
    server.put("box/it", bytes.clone());
    (server, bytes)
}

/// Flips a bit of each range that begins at this byte.
fn flip(server: &BucketServer, start: u64) {
    server.fail(move |request| {
        let is_hit = request.range.as_ref().is_some_and(|range| range.start == start);
        is_hit.then_some(Fault::Flipped)
    });
}

/// Reads an object in order, by ranges of 256 KiB.
fn in_order(object: &Object) -> std::io::Result<Vec<u8>> {
    let requests = ReadRequests { bytes: Some(256 << 10), in_flight: Some(2) };
    let mut read = Vec::new();
    let ahead = Ahead::in_memory(0, requests).surely();
    object.reader(0..object.bytes(), ahead).summed().read_to_end(&mut read)?;
    Ok(read)
}

#[test]
fn a_bit_that_flips_on_its_way_is_found_at_the_end() {
    let (server, expected) = begin();
    for stated in COMPARED {
        server.state(stated);
        server.fail(|_| None);
        assert!(in_order(&opened(&server, "it")).unwrap() == expected, "{stated:?}");
        for start in [256 << 10, 512 << 10] {
            let object = opened(&server, "it");
            flip(&server, start);
            let error = in_order(&object).unwrap_err();
            let found = fault(&error).unwrap();
            assert_eq!((found.kind(), found.name()), (ObjectErrorKind::Store, "s3://box/it"));
            assert!(found.what().starts_with("bits flipped on their way"), "{stated:?}: {found}");
            server.fail(|_| None);
            // Another reading asks anew.
            assert!(in_order(&object).unwrap() == expected, "{stated:?}");
        }
    }
}

#[test]
fn what_states_no_checksum_of_all_bytes_is_believed() {
    let (server, expected) = begin();
    for stated in PASSED_OVER {
        server.state(stated);
        let object = opened(&server, "it");
        server.take_requests();
        flip(&server, 256 << 10);
        assert!(in_order(&object).unwrap() != expected, "{stated:?}");
        server.fail(|_| None);
        assert!(in_order(&object).unwrap() == expected, "{stated:?}");
        // It is asked once, also where it refuses.
        let heads = server.take_requests().iter().filter(|it| it.method == "HEAD").count();
        assert_eq!(heads, 1, "{stated:?}");
    }
}

#[test]
fn ranges_of_several_threads_are_one_object() {
    let (server, bytes) = begin();
    let object = opened(&server, "it");
    server.take_requests();
    let noted = |range: std::ops::Range<usize>, bytes: &[u8]| {
        let mut sum = object.tiling().unwrap().unwrap().range(range.start as u64);
        sum.add(&bytes[range]);
        sum.note()
    };
    std::thread::scope(|scope| {
        for number in 0..7 {
            let (noted, bytes) = (&noted, &bytes);
            scope.spawn(move || noted(number * 100_000..(number + 1) * 100_000, bytes).unwrap());
        }
    });
    let tiling = object.tiling().unwrap().unwrap();
    tiling.finish().unwrap();
    assert_eq!(server.take_requests().len(), 1, "one request for all threads");
    // Another pass.
    noted(200_000..300_000, &bytes).unwrap();
    let mut wrong = bytes.clone();
    wrong[250_000] ^= 1;
    let error = noted(200_000..300_000, &wrong).unwrap_err();
    assert!(error.what().contains("bytes 200000 to 300000"), "{error}");
}

#[test]
fn what_is_read_in_blocks_or_is_no_input_asks_for_no_checksum() {
    let (server, expected) = begin();
    let object = opened(&server, "it");
    server.take_requests();
    let read = Blocks::new(&object, 0, 1, ReadRequests::default()).read(0..object.bytes());
    assert!(read.unwrap() == expected);
    let location = Location::parse("s3://box/").unwrap().unwrap();
    let bucket = Bucket::connect(&location, &Settings::new(server.environment())).unwrap();
    let kept = bucket.open("it", 4 << 10).unwrap();
    assert!(in_order(&kept).unwrap() == expected);
    assert!(kept.tiling().unwrap().is_none());
    assert!(server.take_requests().iter().all(|it| it.method == "GET"));
}

#[test]
fn an_object_that_is_replaced_before_its_checksum_is_asked_for_is_another() {
    let (server, _) = begin();
    let object = opened(&server, "it");
    server.put("box/it", bytes());
    let error = object.tiling().unwrap_err();
    assert_eq!(error.kind(), ObjectErrorKind::Changed);
    let object = opened(&server, "it");
    server.remove("box/it");
    assert_eq!(object.tiling().unwrap_err().kind(), ObjectErrorKind::Changed);
    server.put("box/empty", "");
    assert!(opened(&server, "empty").tiling().unwrap().is_none());
}
