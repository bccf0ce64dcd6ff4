//! Objects that are written to a store in this process, which makes the faults that stores make.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use welter_objects::{
    Bucket, Location, ObjectError, ObjectErrorKind, Settings, Upload, Version, WriteRequests,
    fault, give_up_all,
};
use welter_testing::bucket::{BucketServer, Fault, Request};

const MIB: usize = 1 << 20;

/// Uploads that are unfinished are those of a process, so one test after another has some.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of which no two parts are alike.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place * 31 + place / MIB * 7 + place / 8191) as u8).collect()
}

fn bucket(server: &BucketServer, root: &str) -> Bucket {
    let location = Location::parse(root).unwrap().unwrap();
    let settings = Settings::new(server.environment()).with_silence(Duration::from_millis(300));
    Bucket::connect(&location, &settings).unwrap()
}

fn upload(server: &BucketServer) -> Upload {
    bucket(server, "s3://box/").upload("out/it", || false).unwrap()
}

/// Writes an object, or the fault that this ends with.
fn written(mut upload: Upload, bytes: &[u8]) -> Result<(), ObjectError> {
    let found = |error: &io::Error| fault(error).unwrap().clone();
    for some in bytes.chunks(700_001) {
        upload.write_all(some).map_err(|error| found(&error))?;
    }
    upload.complete()
}

fn is_part(request: &Request) -> bool {
    request.method == "PUT" && request.query.contains_key("partNumber")
}

fn is_end(request: &Request) -> bool {
    request.method == "POST" && request.query.contains_key("uploadId")
}

fn is_abort(request: &Request) -> bool {
    request.method == "DELETE"
}

fn is_put(request: &Request) -> bool {
    request.method == "PUT" && request.query.is_empty()
}

/// Makes the first `count` requests of a kind fail in this way.
fn fail(server: &BucketServer, is: fn(&Request) -> bool, count: usize, fault: Fault) {
    let seen = AtomicUsize::new(0);
    server.fail(move |request| {
        let fails = is(request) && seen.fetch_add(1, Ordering::Relaxed) < count;
        fails.then(|| fault.clone())
    });
}

#[test]
fn objects_are_what_was_written() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let parts = [(0, 0), (1, 0), (8 * MIB, 0), (8 * MIB + 1, 2), (16 * MIB, 2), (41 * MIB + 5, 6)];
    for (count, expected) in parts {
        let bytes = bytes(count);
        written(upload(&server), &bytes).unwrap();
        assert!(server.get("box/out/it").unwrap() == bytes, "{count}");
        let requests = server.take_requests();
        let sizes: Vec<usize> =
            requests.iter().filter(|it| is_part(it)).map(|it| it.bytes).collect();
        assert_eq!(sizes.len(), expected, "{count}");
        assert!(sizes.iter().filter(|bytes| **bytes != 8 * MIB).count() <= 1, "{sizes:?}");
        assert!(requests.iter().all(|request| request.signed));
        // All else of a small one is one request.
        assert!(expected > 0 || requests.len() == 1, "{requests:?}");
    }
    assert!(server.uploads().is_empty());
}

#[test]
fn nobody_sees_an_object_before_it_is_whole() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    server.put("box/out/it", "old");
    let mut one = upload(&server);
    one.write_all(&bytes(20 * MIB)).unwrap();
    assert_eq!(server.uploads(), ["box/out/it"]);
    assert_eq!(server.get("box/out/it").unwrap(), b"old");
    one.complete().unwrap();
    assert_eq!(server.get("box/out/it").unwrap().len(), 20 * MIB);
    assert!(server.uploads().is_empty());
}

#[test]
fn parts_on_their_way_are_few() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    server.fail(|request| is_part(request).then_some(Fault::Late(Duration::from_millis(150))));
    let stop = Arc::new(AtomicBool::new(false));
    let (seen, ends) = (Arc::clone(&stop), Arc::new(Mutex::new(Vec::new())));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Parts that the store has taken and not answered are on their way.
            while !seen.load(Ordering::Relaxed) {
                let begun = server.take_requests().iter().filter(|it| is_part(it)).count();
                ends.lock().unwrap().push(begun);
                std::thread::sleep(Duration::from_millis(140));
            }
        });
        written(upload(&server), &bytes(90 * MIB)).unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    let most = ends.lock().unwrap().iter().copied().max().unwrap();
    // Four, and where a look falls between two rounds of them, those of both.
    assert!((2..=8).contains(&most), "{most}");
    assert_eq!(server.get("box/out/it").unwrap().len(), 90 * MIB);
}

#[test]
fn parts_are_those_that_are_stated() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    server.fail(|request| is_part(request).then_some(Fault::Silent(Duration::from_millis(700))));
    let content = bytes(70 * MIB);
    for (stated, in_flight, size) in
        [(4 << 10, 3, 5 * MIB), (16 << 20, 2, 16 * MIB), (1 << 30, 1, 64 * MIB)]
    {
        server.take_requests();
        server.take_most_at_once();
        let requests = WriteRequests::new(Some(stated), Some(in_flight));
        written(upload(&server).by(requests), &content).unwrap();
        assert!(server.get("box/out/it").unwrap() == content, "{requests:?}");
        let parts = server.take_requests().into_iter().filter(is_part);
        let mut sizes: Vec<usize> = parts.map(|part| part.bytes).collect();
        sizes.sort_unstable();
        let rest = sizes.remove(0);
        assert!(rest <= size && sizes.iter().all(|bytes| *bytes == size), "{requests:?}");
        assert_eq!(sizes.len() * size + rest, content.len());
        assert_eq!(server.take_most_at_once() as u64, in_flight, "{requests:?}");
    }
    // Up to a part, an object is one request.
    let requests = WriteRequests::new(Some(64 << 20), None);
    written(upload(&server).by(requests), &content[..40 * MIB]).unwrap();
    assert_eq!(server.take_requests().len(), 1);
}

#[test]
fn what_is_given_up_leaves_nothing() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    for count in [0, 1, 8 * MIB + 1, 60 * MIB] {
        let mut dropped = upload(&server);
        dropped.write_all(&bytes(count)).unwrap();
        drop(dropped);
        let mut given_up = upload(&server);
        given_up.write_all(&bytes(count)).unwrap();
        given_up.give_up().unwrap();
        assert!(server.paths().is_empty() && server.uploads().is_empty(), "{count}");
    }
    let mut upload = upload(&server);
    upload.write_all(&bytes(9 * MIB)).unwrap();
    fail(&server, is_abort, usize::MAX, Fault::Status(500));
    let error = upload.give_up().unwrap_err().to_string();
    let message = "s3://box/out/it: parts that were uploaded could not be removed: the server \
                answered 500";
    assert!(error.starts_with(message), "{error}");
    assert_eq!(server.uploads().len(), 1);
}

#[test]
fn faults_that_pass_are_waited_out() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    for (is, count) in
        [(is_put as fn(&Request) -> bool, MIB), (is_part, 17 * MIB), (is_end, 17 * MIB)]
    {
        for fault in [
            Fault::Status(500),
            Fault::Status(503),
            Fault::Status(429),
            Fault::Silent(Duration::from_millis(500)),
            Fault::Late(Duration::from_millis(500)),
        ] {
            let bytes = bytes(count);
            fail(&server, is, 2, fault.clone());
            written(upload(&server), &bytes).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            assert!(server.get("box/out/it").unwrap() == bytes, "{fault:?}");
            assert!(server.uploads().is_empty(), "{fault:?}");
        }
    }
    // An error within an answer that says that all is well.
    fail(&server, is_end, 2, Fault::Inside("InternalError"));
    written(upload(&server), &bytes(9 * MIB)).unwrap();
}

#[test]
fn faults_that_last_are_errors_with_the_name() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    server.put("box/out/it", "old");
    let is_begin: fn(&Request) -> bool = |request| request.query.contains_key("uploads");
    for (is, count) in [
        (is_put as fn(&Request) -> bool, 1),
        (is_begin, 9 * MIB),
        (is_part, 60 * MIB),
        (is_end, 9 * MIB),
    ] {
        for (fault, kind, message) in [
            (Fault::Status(500), ObjectErrorKind::Store, "the server answered 500"),
            (
                Fault::Status(400),
                ObjectErrorKind::Store,
                "the server answered 400 Bad Request Oops",
            ),
            (Fault::Status(404), ObjectErrorKind::Missing, "no such bucket"),
            (
                Fault::Status(403),
                ObjectErrorKind::Denied,
                "access is denied (the server answered 403",
            ),
            (Fault::Status(412), ObjectErrorKind::Store, "the server answered 412"),
        ] {
            fail(&server, is, usize::MAX, fault.clone());
            let error = written(upload(&server), &bytes(count)).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            let error = error.to_string();
            assert!(error.starts_with(&format!("s3://box/out/it: {message}")), "{error}");
            assert!(!error.contains("KEY") && !error.contains("secret"), "{error}");
            assert_eq!(server.get("box/out/it").unwrap(), b"old");
            assert!(server.uploads().is_empty(), "{fault:?} {count}");
        }
    }
    fail(&server, is_end, usize::MAX, Fault::Inside("AccessDenied"));
    let error = written(upload(&server), &bytes(9 * MIB)).unwrap_err();
    assert!(error.what().contains("the server answered otherwise than it should"), "{error}");
    assert!(server.uploads().is_empty());
}

#[test]
fn an_answer_that_is_lost_is_no_failure() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let late = Fault::Late(Duration::from_secs(1));
    for (is, count) in [(is_put as fn(&Request) -> bool, 1000), (is_end, 9 * MIB)] {
        // Of no try the answer arrives.
        fail(&server, is, usize::MAX, late.clone());
        written(upload(&server), &bytes(count)).unwrap();
        assert!(server.get("box/out/it").unwrap() == bytes(count));
        // Another program wrote as many bytes there.
        server.put("box/out/it", bytes(count));
        fail(&server, is, usize::MAX, Fault::Status(500));
        let error = written(upload(&server), &bytes(count)).unwrap_err();
        assert!(error.what().starts_with("the server answered 500"), "{error}");
    }
    // It cannot be asked either.
    server.fail(|request| {
        (is_put(request) || request.method == "HEAD").then_some(Fault::Status(500))
    });
    let error = written(upload(&server), b"new").unwrap_err();
    assert!(error.what().ends_with("; whether it is there all the same could not be asked"));
}

/// Puts an object on a condition.
fn put_if(server: &BucketServer, bytes: &[u8], then: Option<&Version>) -> PutIf {
    upload(server).put_if(bytes, then)
}

type PutIf = Result<Option<Version>, ObjectError>;

#[test]
fn an_answer_to_a_conditional_put_that_is_lost_is_no_failure() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let (late, silent) = (Duration::from_millis(700), Duration::from_millis(500));
    for (fault, count) in [
        (Fault::Late(late), 1),
        (Fault::Late(late), usize::MAX),
        (Fault::Lost, 1),
        (Fault::Lost, usize::MAX),
        (Fault::DoneBut(504), 1),
        (Fault::DoneBut(504), usize::MAX),
        (Fault::Silent(silent), 1),
        (Fault::Status(500), 1),
    ] {
        server.remove("box/out/it");
        let mut version = None;
        for bytes in [b"new", b"two", b"3rd"] {
            fail(&server, is_put, count, fault.clone());
            let now = put_if(&server, bytes, version.as_ref());
            let now = now.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
            assert!(now.is_some(), "{fault:?}");
            assert_eq!(server.get("box/out/it").unwrap(), bytes, "{fault:?}");
            version = now;
        }
        // A request that comes too late changes nothing: its version is not there any more.
        std::thread::sleep(silent);
        server.fail(|_| None);
        let now = put_if(&server, b"4th", version.as_ref()).unwrap();
        assert!(now.is_some() && put_if(&server, b"5th", version.as_ref()).unwrap().is_none());
        assert!(put_if(&server, b"6th", None).unwrap().is_none());
        assert_eq!(server.get("box/out/it").unwrap(), b"4th");
    }
}

#[test]
fn of_two_conditional_puts_whose_answers_are_lost_one_wins() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let late = Fault::Late(Duration::from_millis(700));
    for (fault, wins) in [
        (Fault::Lost, false),
        (Fault::DoneBut(504), false),
        (Fault::Status(500), false),
        (late, true),
    ] {
        // The other one comes between two tries, where there are two.
        let mut puts = 0;
        let first = fault.clone();
        server.fail(move |request| {
            puts += usize::from(is_put(request));
            match puts {
                1 => is_put(request).then(|| first.clone()),
                _ => is_put(request).then(|| Fault::Replaced(b"other".to_vec())),
            }
        });
        server.remove("box/out/it");
        let now = put_if(&server, b"new", None).unwrap();
        assert_eq!(now.is_some(), wins, "{fault:?}");
        let is_there = server.get("box/out/it").unwrap();
        assert_eq!(is_there, if wins { &b"new"[..] } else { b"other" }, "{fault:?}");
    }
}

/// A removal that ends meanwhile says nothing of the condition.
#[test]
fn a_conditional_put_that_meets_a_removal_is_made_again() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let conflict = Fault::Refused(409, "ConditionalRequestConflict");
    fail(&server, is_put, 2, conflict.clone());
    assert!(put_if(&server, b"new", None).unwrap().is_some());
    assert_eq!(server.get("box/out/it").unwrap(), b"new");
    server.remove("box/out/it");
    fail(&server, is_put, usize::MAX, conflict);
    let error = put_if(&server, b"new", None).unwrap_err();
    assert_eq!(error.kind(), ObjectErrorKind::Store, "{error}");
    assert!(error.what().contains("409 Conflict ConditionalRequestConflict"), "{error}");
}

#[test]
fn a_conditional_put_that_nobody_can_vouch_for_is_an_error() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    for (fault, status) in [
        (Fault::Lost, 500),
        (Fault::DoneBut(504), 500),
        (Fault::DoneBut(504), 403),
        (Fault::Late(Duration::from_millis(700)), 500),
    ] {
        server.remove("box/out/it");
        let mut puts = 0;
        let first = fault.clone();
        server.fail(move |request| {
            puts += usize::from(is_put(request));
            match &*request.method {
                "HEAD" => Some(Fault::Status(status)),
                _ => (is_put(request) && puts == 1).then(|| first.clone()),
            }
        });
        let error = put_if(&server, b"new", None).unwrap_err();
        assert_ne!(error.kind(), ObjectErrorKind::Changed, "{error}");
        let message = "; whether it is there all the same could not be asked";
        assert!(error.what().ends_with(message), "{error}");
        // It is there, so no one may take it for another's.
        assert_eq!(server.get("box/out/it").unwrap(), b"new");
    }
    // And one that never came is an error, and not there.
    server.remove("box/out/it");
    fail(&server, is_put, usize::MAX, Fault::Status(500));
    let error = put_if(&server, b"new", None).unwrap_err();
    assert!(error.what().starts_with("the server answered 500"), "{error}");
    assert!(server.paths().is_empty());
}

#[test]
fn an_upload_that_is_not_wanted_any_more_ends_at_once() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopped);
    let upload = bucket(&server, "s3://box/").upload("it", move || asked.load(Ordering::Relaxed));
    fail(&server, is_part, usize::MAX, Fault::Late(Duration::from_hours(1)));
    stopped.store(true, Ordering::Relaxed);
    let error = written(upload.unwrap(), &bytes(90 * MIB)).unwrap_err();
    assert_eq!(error.kind(), ObjectErrorKind::Stopped);
    assert!(server.uploads().is_empty() && server.paths().is_empty());
}

#[test]
fn what_is_unfinished_is_given_up_when_a_process_leaves() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    let mut uploads = [upload(&server), upload(&server)];
    for upload in &mut uploads {
        upload.write_all(&bytes(20 * MIB)).unwrap();
    }
    assert_eq!(server.uploads().len(), 2);
    assert!(give_up_all(Duration::from_secs(20)).is_empty());
    assert!(server.uploads().is_empty());
    for upload in uploads {
        assert_eq!(upload.complete().unwrap_err().kind(), ObjectErrorKind::Stopped);
    }
    let mut upload = upload(&server);
    upload.write_all(&bytes(9 * MIB)).unwrap();
    fail(&server, is_abort, usize::MAX, Fault::Late(Duration::from_hours(1)));
    assert_eq!(give_up_all(Duration::from_millis(10)), ["s3://box/out/it"]);
}

#[test]
fn whether_an_object_can_be_written_is_found_out_before() {
    let _alone = alone();
    let server = BucketServer::start().unwrap();
    upload(&server).probe().unwrap();
    assert!(server.paths().is_empty() && server.uploads().is_empty());
    for (status, kind) in [(403, ObjectErrorKind::Denied), (404, ObjectErrorKind::Missing)] {
        server.fail(move |_| Some(Fault::Status(status)));
        assert_eq!(upload(&server).probe().unwrap_err().kind(), kind);
    }
    let refused = |key: &str| bucket(&server, "s3://box/").upload(key, || false).unwrap_err();
    for key in ["", "folder/", "a//b"] {
        assert_eq!(refused(key).kind(), ObjectErrorKind::Address, "{key}");
    }
    let web = bucket(&server, &server.url()).upload("it", || false).unwrap_err();
    assert_eq!(web.kind(), ObjectErrorKind::Unsupported);
}
