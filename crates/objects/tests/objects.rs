//! Objects of a store in this process, which makes the faults that stores make.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use welter_objects::{
    Ahead, Blocks, Bucket, Location, Object, ObjectError, ObjectErrorKind, ReadRequests, Settings,
    fault,
};
use welter_testing::bucket::{BucketServer, Fault, Request};

/// Bytes of which no two neighbourhoods are alike.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn settings(server: &BucketServer) -> Settings {
    Settings::new(server.environment()).with_silence(Duration::from_millis(300))
}

fn bucket(server: &BucketServer) -> Bucket {
    let location = Location::parse("s3://box/").unwrap().unwrap();
    Bucket::connect(&location, &settings(server)).unwrap()
}

/// An object of these bytes, opened.
fn opened(server: &BucketServer, bytes: &[u8]) -> Object {
    server.put("box/it", bytes);
    bucket(server).open("it", 4 << 10).unwrap()
}

/// Makes the first `count` reads of objects fail in this way.
fn fail_first(server: &BucketServer, count: usize, fault: Fault) {
    let seen = AtomicUsize::new(0);
    server.fail(move |request| {
        let is_read = request.method == "GET" && request.range.is_some();
        (is_read && seen.fetch_add(1, Ordering::Relaxed) < count).then(|| fault.clone())
    });
}

fn whole(object: &Object, memory_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    object.reader(0..object.bytes(), Ahead::within(memory_bytes)).read_to_end(&mut read)?;
    Ok(read)
}

/// The fault that reading an object ends with.
fn refused(object: &Object) -> ObjectError {
    let error = whole(object, 4 << 20).unwrap_err();
    fault(&error).unwrap_or_else(|| panic!("{error:?}")).clone()
}

#[test]
fn bytes_are_those_of_the_object_however_they_are_read() {
    let server = BucketServer::start().unwrap();
    let expected = bytes(11_000_000);
    let object = opened(&server, &expected);
    assert_eq!((object.bytes(), object.name()), (11_000_000, "s3://box/it"));
    assert_eq!(object.head(), &expected[..4 << 10]);
    for memory in [0, 4 << 20, 64 << 20] {
        assert!(whole(&object, memory).unwrap() == expected, "{memory}");
    }
    let blocks = Blocks::new(&object, 0, 1, ReadRequests::default());
    for (start, end) in [(0, 8), (4_194_300, 4_194_310), (10_999_992, 11_000_000), (5, 11_000_000)]
    {
        let read = blocks.read(start..end).unwrap();
        assert!(read == expected[start as usize..end as usize], "{start}..{end}");
        let mut buffer = vec![0; (end - start) as usize];
        object.read_exact_at(&mut buffer, start).unwrap();
        assert!(buffer == expected[start as usize..end as usize], "{start}..{end}");
    }
    assert!(blocks.read(10_999_999..11_000_001).is_err());
    assert_eq!(object.read_at(&mut [0; 8], 11_000_000).unwrap(), 0);
    assert!(server.take_requests().iter().all(|request| request.signed));
}

#[test]
fn a_reader_goes_anywhere_and_past_what_it_asked_for() {
    let server = BucketServer::start().unwrap();
    let expected = bytes(3_000_000);
    let object = opened(&server, &expected);
    let mut reader = object.reader(0..100_000, Ahead::within(1 << 20).surely());
    let mut buffer = vec![0; 50_000];
    for start in [0, 50_000, 60_000, 90_000, 2_950_000, 10, 1_000_000, 1_050_000] {
        reader.go_to(start);
        reader.read_exact(&mut buffer).unwrap();
        assert!(buffer == expected[start as usize..start as usize + 50_000], "{start}");
        assert_eq!(reader.position(), start + 50_000);
    }
}

#[test]
fn a_look_at_the_beginning_fetches_little() {
    let server = BucketServer::start().unwrap();
    let object = opened(&server, &bytes(20_000_000));
    server.take_requests();
    let mut reader = object.reader(0..object.bytes(), Ahead::within(64 << 20));
    reader.read_exact(&mut vec![0; 100_000]).unwrap();
    drop(reader);
    let asked: u64 = server
        .take_requests()
        .iter()
        .map(|Request { range, .. }| range.clone().unwrap())
        .map(|range| range.end - range.start)
        .sum();
    assert!(asked <= 3 << 20, "{asked}");
}

#[test]
fn stated_requests_are_those_of_readers_and_blocks() {
    let server = BucketServer::start().unwrap();
    let expected = bytes(3_000_000);
    let object = opened(&server, &expected);
    let seen = |read: &mut dyn FnMut() -> Vec<u8>| {
        server.take_most_at_once();
        server.take_requests();
        assert!(read() == expected);
        let ranges = server.take_requests().into_iter().filter_map(|request| request.range);
        let bytes: Vec<u64> = ranges.map(|range| range.end - range.start).collect();
        (bytes.len(), bytes.into_iter().max().unwrap(), server.take_most_at_once())
    };
    server.fail(|_| Some(Fault::Silent(Duration::from_millis(100))));
    for (bytes, in_flight) in [(64 << 10, 9), (256 << 10, 1), (1 << 20, 2)] {
        let stated = ReadRequests { bytes: Some(bytes), in_flight: Some(in_flight) };
        let count = (expected.len() as u64).div_ceil(bytes) as usize;
        let ahead = Ahead::in_memory(0, stated).surely();
        let by_reader = seen(&mut || {
            let mut all = Vec::new();
            object.reader(0..object.bytes(), ahead).read_to_end(&mut all).unwrap();
            all
        });
        assert_eq!(by_reader, (count, bytes, in_flight as usize), "{stated:?}");
        let blocks = Blocks::new(&object, 0, 1, stated);
        let by_blocks = seen(&mut || blocks.read(0..object.bytes()).unwrap().to_vec());
        assert_eq!(by_blocks, (count, bytes, in_flight as usize), "{stated:?}");
    }
    // Of the two one may be left out, which follows from the memory then.
    let of = |bytes, in_flight, memory| {
        let ahead = Ahead::in_memory(memory, ReadRequests { bytes, in_flight });
        (ahead.range_bytes(), ahead.ranges())
    };
    assert_eq!(of(None, None, 1 << 30), (8 << 20, 4));
    assert_eq!(of(None, None, 0), (64 << 10, 4));
    assert_eq!(of(Some(4096), None, 0), (4096, 1));
    assert_eq!(of(Some(4096), None, 1 << 20), (4096, 4));
    assert_eq!(of(Some(64 << 20), None, 256 << 20), (64 << 20, 2));
    assert_eq!(of(None, Some(256), 0), (64 << 10, 256));
    assert_eq!(of(None, Some(1), 1 << 30), (8 << 20, 1));
}

#[test]
fn connections_are_used_again() {
    let server = BucketServer::start().unwrap();
    let object = opened(&server, &bytes(3_000_000));
    server.take_connections();
    server.take_requests();
    let stated = ReadRequests { bytes: Some(16 << 10), in_flight: Some(4) };
    let mut reader = object.reader(0..object.bytes(), Ahead::in_memory(0, stated).surely());
    assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), 3_000_000);
    let (requests, connections) = (server.take_requests().len(), server.take_connections());
    // A request that begins before the one before has left its connection takes one more.
    assert!(requests > 150 && connections <= 16, "{connections} for {requests}");
}

#[test]
fn blocks_are_asked_for_once() {
    let server = BucketServer::start().unwrap();
    let object = opened(&server, &bytes(5_000_000));
    server.take_requests();
    let blocks = Blocks::new(&object, 1 << 30, 2, ReadRequests::default());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let blocks = blocks.clone();
            scope.spawn(move || {
                for at in (thread * 1000..5_000_000).step_by(50_021) {
                    blocks.read(at..(at + 8).min(5_000_000)).unwrap();
                }
            });
        }
    });
    assert_eq!(server.take_requests().len(), 2);
}

#[test]
fn an_object_without_bytes_and_none_at_all() {
    let server = BucketServer::start().unwrap();
    let object = opened(&server, b"");
    assert_eq!((object.bytes(), whole(&object, 0).unwrap().len()), (0, 0));
    let missing = bucket(&server).open("none", 4096).unwrap_err();
    assert_eq!(missing.to_string(), "s3://box/none: no such object");
    assert_eq!(missing.kind(), ObjectErrorKind::Missing);
}

#[test]
fn lists_are_whole_and_in_the_order_of_folders() {
    let server = BucketServer::start().unwrap();
    for key in ["a/b/2", "a/b-c/1", "a/b/1", "a/z", "a/e/", "a/e/1", "ab", "a/y=1/x"] {
        server.put(&format!("box/{key}"), if key.ends_with('/') { "" } else { "1 2\n" });
    }
    let keys = |folder: &str| -> Vec<String> {
        let listed = bucket(&server).list(folder).unwrap();
        listed.into_iter().map(|found| found.location.key).collect()
    };
    assert_eq!(keys("a/"), ["a/b/1", "a/b/2", "a/b-c/1", "a/e/1", "a/y=1/x", "a/z"]);
    assert_eq!(keys("").len(), 7);
    assert_eq!(keys("none/").len(), 0);
    let behind = |beginning: &str| -> Vec<String> {
        server.take_requests();
        let listed = bucket(&server).list_behind(beginning).unwrap();
        listed.into_iter().map(|found| found.location.key).collect()
    };
    assert_eq!(behind("a/b"), ["a/b-c/1", "a/b/1", "a/b/2"]);
    assert_eq!(behind("a/b-"), ["a/b-c/1"]);
    // Others take no more than the page behind, of three names.
    assert_eq!(behind("A-"), [""; 0]);
    assert_eq!(server.take_requests().len(), 1);
    assert_eq!(behind("a").len(), 8);
    assert_eq!(behind("zz"), [""; 0]);
}

#[test]
fn faults_that_pass_are_waited_out() {
    let server = BucketServer::start().unwrap();
    let expected = bytes(3_000_000);
    let object = opened(&server, &expected);
    for fault in [
        Fault::Status(500),
        Fault::Status(503),
        Fault::Status(429),
        Fault::Cut,
        Fault::Stalled(Duration::from_secs(2)),
        Fault::Silent(Duration::from_millis(700)),
    ] {
        fail_first(&server, 2, fault.clone());
        assert!(whole(&object, 0).unwrap() == expected, "{fault:?}");
    }
}

#[test]
fn faults_that_last_are_errors_with_the_name() {
    let server = BucketServer::start().unwrap();
    let object = opened(&server, &bytes(100_000));
    for (fault, message) in [
        (Fault::Status(500), "the server answered 500 Internal Server Error Oops, also when"),
        (Fault::Status(400), "the server answered 400 Bad Request Oops"),
        (Fault::Status(301), "the bucket lies in another region than is set (AWS_REGION)"),
        (Fault::Cut, "the connection was cut"),
        (Fault::Stalled(Duration::from_secs(2)), "the server did not answer in time"),
        (Fault::Silent(Duration::from_secs(2)), "the server did not answer in time"),
        (Fault::Status(403), "access is denied (the server answered 403 Forbidden"),
    ] {
        fail_first(&server, usize::MAX, fault.clone());
        let error = refused(&object).to_string();
        assert!(error.starts_with(&format!("s3://box/it: {message}")), "{fault:?}: {error}");
        assert!(!error.contains("KEY") && !error.contains("secret"), "{error}");
    }
    assert_eq!(fault_kind(&server, &object, Fault::Status(403)), ObjectErrorKind::Denied);
    // A request is made as often as `AWS_MAX_ATTEMPTS` says.
    server.take_requests();
    fault_kind(&server, &object, Fault::Status(500));
    assert_eq!(server.take_requests().len(), 4);
    let missing = Fault::Refused(404, "NoSuchBucket");
    server.fail(move |_| Some(missing.clone()));
    let error = bucket(&server).open("it", 4096).unwrap_err();
    assert_eq!(error.to_string(), "s3://box/it: no such bucket");
    assert!(error.is_of_bucket() && error.kind() == ObjectErrorKind::Missing);
}

fn fault_kind(server: &BucketServer, object: &Object, fault: Fault) -> ObjectErrorKind {
    fail_first(server, usize::MAX, fault);
    refused(object).kind()
}

#[test]
fn a_reader_that_is_not_wanted_any_more_ends_at_once() {
    let server = BucketServer::start().unwrap();
    let location = Location::parse("s3://box/").unwrap().unwrap();
    let patient = Settings::new(server.environment()).with_silence(Duration::from_hours(1));
    server.put("box/it", bytes(100_000));
    let object = Bucket::connect(&location, &patient).unwrap().open("it", 4096).unwrap();
    fail_first(&server, usize::MAX, Fault::Silent(Duration::from_hours(1)));
    object.stop_when(|| true);
    assert_eq!(refused(&object).kind(), ObjectErrorKind::Stopped);
    let error = Blocks::new(&object, 0, 1, ReadRequests::default()).read(5000..6000).unwrap_err();
    assert_eq!(fault(&error).unwrap().kind(), ObjectErrorKind::Stopped);
    let error = object.read_at(&mut [0; 8], 5000).unwrap_err();
    assert_eq!(fault(&error).unwrap().kind(), ObjectErrorKind::Stopped);
}

#[test]
fn bodies_that_are_cut_or_too_long_are_errors() {
    let server = BucketServer::start().unwrap();
    let object = opened(&server, &bytes(100_000));
    for fault in [Fault::Short, Fault::Long] {
        fail_first(&server, usize::MAX, fault.clone());
        let error = refused(&object).to_string();
        assert!(error.contains("expected 100000 bytes from the server, found"), "{error}");
    }
}

#[test]
fn an_object_that_is_replaced_between_two_reads_is_an_error() {
    let server = BucketServer::start().unwrap();
    for other in [bytes(100_000), bytes(99_999)] {
        let object = opened(&server, &bytes(100_000));
        server.put("box/it", other.clone());
        let error = refused(&object);
        assert_eq!(error.kind(), ObjectErrorKind::Changed);
        assert!(error.what().contains("was replaced while it was read"), "{error}");
        // And where the server does not look at entity tags.
        server.fail(|_| Some(Fault::Careless));
        assert_eq!(refused(&object).kind(), ObjectErrorKind::Changed);
        server.fail(|_| None);
    }
    let object = opened(&server, &bytes(100_000));
    assert_eq!(fault_kind(&server, &object, Fault::Removed), ObjectErrorKind::Changed);
}

/// The rest of a body that breaks off is asked for, which finds out what happened meanwhile.
#[test]
fn an_object_that_changes_while_a_body_breaks_off_is_an_error() {
    let server = BucketServer::start().unwrap();
    let ways: [fn(&Object) -> ObjectError; 2] =
        [refused, |object: &Object| object.read_through(5000..90_000, &mut |_| {}).unwrap_err()];
    for way in ways {
        for (fault, message) in [
            (Fault::Replaced(bytes(100_000)), "the object was replaced while it was read"),
            (Fault::Removed, "the object was removed while it was read"),
        ] {
            server.fail(|_| None);
            let object = opened(&server, &bytes(100_000));
            let mut reads = 0;
            server.fail(move |_| {
                reads += 1;
                Some(if reads == 1 { Fault::Cut } else { fault.clone() })
            });
            let error = way(&object);
            assert_eq!(error.kind(), ObjectErrorKind::Changed, "{error}");
            assert!(error.what().starts_with(message), "{error}");
        }
    }
}

#[test]
fn web_servers_are_read_with_and_without_entity_tags() {
    let server = BucketServer::start().unwrap();
    let expected = bytes(2_000_000);
    server.put("box/a b.txt", expected.clone());
    server.publish("box");
    let open = || {
        let location = Location::parse(&format!("{}/box/a%20b.txt", server.url())).unwrap();
        let location = location.unwrap();
        let bucket = Bucket::connect(&location, &settings(&server)).unwrap();
        (bucket.open(&location.key, 4096), bucket.list("box/"))
    };
    let (object, listed) = open();
    let object = object.unwrap();
    assert!(whole(&object, 0).unwrap() == expected && object.tag().is_some());
    assert_eq!(listed.unwrap_err().kind(), ObjectErrorKind::Unsupported);
    assert!(server.take_requests().iter().all(|request| !request.signed));
    server.forget_tags();
    let object = open().0.unwrap();
    assert!(whole(&object, 0).unwrap() == expected && object.tag().is_none());
    object.check().unwrap();
    server.put("box/a b.txt", "shorter");
    assert_eq!(object.check().unwrap_err().kind(), ObjectErrorKind::Changed);
    server.fail(|_| Some(Fault::Whole));
    let error = open().0.unwrap_err();
    assert!(error.what().contains("does not send parts of files"), "{error}");
}

#[test]
fn redirects_are_followed_without_credentials_only() {
    let (server, other) = (BucketServer::start().unwrap(), BucketServer::start().unwrap());
    let expected = bytes(100_000);
    other.put("elsewhere/it", expected.clone());
    server.publish("box");
    other.publish("elsewhere");
    let target = format!("{}/elsewhere/it", other.url());
    server.fail(move |_| Some(Fault::Moved(target.clone())));
    let location = Location::parse(&format!("{}/box/it", server.url())).unwrap().unwrap();
    let web = Bucket::connect(&location, &settings(&server)).unwrap();
    assert!(whole(&web.open(&location.key, 4096).unwrap(), 0).unwrap() == expected);
    other.take_requests();
    let error = bucket(&server).open("it", 4096).unwrap_err();
    assert!(error.what().contains("307"), "{error}");
    assert!(other.take_requests().is_empty(), "another server saw a signed request");
    // Round and round.
    let target = format!("{}/box/it", server.url());
    server.fail(move |_| Some(Fault::Moved(target.clone())));
    assert_eq!(web.open(&location.key, 4096).unwrap_err().kind(), ObjectErrorKind::Store);
}

#[test]
fn servers_that_are_not_there_are_errors() {
    // Nothing listens where something did.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let variables = [
        ("AWS_ENDPOINT_URL", format!("http://{gone}")),
        ("AWS_ACCESS_KEY_ID", "WELTERKEY".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "very/secret".to_owned()),
        ("AWS_MAX_ATTEMPTS", "2".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    let location = Location::parse("s3://box/it").unwrap().unwrap();
    let bucket = Bucket::connect(&location, &Settings::new(variables)).unwrap();
    let error = bucket.open("it", 1).unwrap_err().to_string();
    assert!(error.starts_with("s3://box/it: the server cannot be reached"), "{error}");
}

#[test]
fn what_is_public_is_read_without_a_signature() {
    let server = BucketServer::start().unwrap();
    server.put("box/it", "1 2\n");
    let mut variables = server.environment();
    variables.retain(|(name, _)| !name.contains("KEY"));
    variables.push(("AWS_SKIP_SIGNATURE".into(), "true".into()));
    let location = Location::parse("s3://box/it").unwrap().unwrap();
    let bucket = Bucket::connect(&location, &Settings::new(variables)).unwrap();
    let error = bucket.open("it", 16).unwrap_err();
    assert_eq!(error.kind(), ObjectErrorKind::Denied);
    assert!(error.what().contains("403 Forbidden AccessDenied"), "{error}");
    server.publish("box");
    assert_eq!(bucket.open("it", 16).unwrap().head(), b"1 2\n");
    assert!(server.take_requests().iter().all(|request| !request.signed));
}

#[test]
fn signatures_of_other_keys_are_refused_with_the_word_of_the_store() {
    let server = BucketServer::start().unwrap();
    server.put("box/it", "1 2\n");
    let location = Location::parse("s3://box/it").unwrap().unwrap();
    for (name, kind, message) in [
        ("AWS_SECRET_ACCESS_KEY", ObjectErrorKind::Denied, "403 Forbidden SignatureDoesNotMatch"),
        ("AWS_ACCESS_KEY_ID", ObjectErrorKind::Denied, "403 Forbidden InvalidAccessKeyId"),
        ("AWS_REGION", ObjectErrorKind::Store, "400 Bad Request AuthorizationHeaderMalformed"),
    ] {
        let mut variables = server.environment();
        variables.retain(|(other, _)| other != name);
        variables.push((name.into(), "other".into()));
        let bucket = Bucket::connect(&location, &Settings::new(variables)).unwrap();
        let read = bucket.open("it", 16).unwrap_err();
        let put = bucket.upload("it", || false).unwrap().complete().unwrap_err();
        for error in [read, put] {
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.what().contains(message), "{error}");
        }
    }
    assert!(server.take_requests().iter().all(|request| !request.signed));
    assert_eq!(server.get("box/it").unwrap(), b"1 2\n");
}

#[test]
fn credentials_are_never_shown() {
    let server = BucketServer::start().unwrap();
    let settings = settings(&server);
    let object = opened(&server, b"1 2\n");
    let shown = format!("{settings:?} {:?} {object:?}", bucket(&server));
    assert!(!shown.contains("secret") && !shown.contains("WELTERKEY"), "{shown}");
    // Settings that do not go together repeat no value either.
    let odd = [("AWS_SKIP_SIGNATURE".to_owned(), "very/secret".to_owned())];
    let location = Location::parse("s3://box/it").unwrap().unwrap();
    let error = Bucket::connect(&location, &Settings::new(odd)).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    let shared = Arc::new(object);
    assert_eq!(shared.tag(), Some("\"v1\""));
}
