//! Objects at Google and at Azure, in a store of this process that makes the faults that stores
//! make. Those of S3, which are more, are in `objects` and `uploads`. The store does not look at
//! who asks it.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails as a test does")]

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use welter_objects::{
    Ahead, Bucket, Location, Object, ObjectError, ObjectErrorKind, Settings, Upload, Version, fault,
};
use welter_testing::bucket::{BucketServer, Fault, Request};

const MIB: usize = 1 << 20;
const KEY: &str = "out/it";

/// A bucket of a cloud: how its URLs begin, and the path of the object in the store.
struct Cloud {
    root: &'static str,
    path: &'static str,
}

const CLOUDS: [Cloud; 2] = [
    Cloud { root: "gs://box/", path: "box/out/it" },
    Cloud { root: "az://box/", path: "me/box/out/it" },
];

/// Does something at each of them, with a store of its own.
fn at_each(test: impl Fn(&BucketServer, &Cloud)) {
    for cloud in &CLOUDS {
        let server = BucketServer::start().unwrap();
        for name in ["box", "me"] {
            server.publish(name);
        }
        test(&server, cloud);
    }
}

fn bucket(server: &BucketServer, cloud: &Cloud) -> Bucket {
    let more = [
        ("GOOGLE_BASE_URL", server.url()),
        ("GOOGLE_BEARER_TOKEN", "token".to_owned()),
        ("AZURE_STORAGE_ENDPOINT", format!("{}/me", server.url())),
        ("AZURE_STORAGE_ACCOUNT_NAME", "me".to_owned()),
        ("AZURE_SKIP_SIGNATURE", "true".to_owned()),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value));
    let settings = Settings::new(server.environment().into_iter().chain(more));
    let location = Location::parse(cloud.root).unwrap().unwrap();
    Bucket::connect(&location, &settings.with_silence(Duration::from_millis(300))).unwrap()
}

fn upload(server: &BucketServer, cloud: &Cloud) -> Upload {
    bucket(server, cloud).upload(KEY, || false).unwrap()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place * 31 + place / 8191) as u8).collect()
}

/// An object of these bytes, opened.
fn opened(server: &BucketServer, cloud: &Cloud, bytes: &[u8]) -> Object {
    server.fail(|_| None);
    server.put(cloud.path, bytes);
    bucket(server, cloud).open(KEY, 4096).unwrap()
}

fn whole(object: &Object) -> Result<Vec<u8>, ObjectError> {
    let mut read = Vec::new();
    let mut reader = object.reader(0..object.bytes(), Ahead::within(0));
    match reader.read_to_end(&mut read) {
        Ok(_) => Ok(read),
        Err(error) => Err(fault(&error).unwrap().clone()),
    }
}

/// Writes an object, or the fault that this ends with.
fn written(mut upload: Upload, bytes: &[u8]) -> Result<(), ObjectError> {
    let found = |error: &io::Error| fault(error).unwrap().clone();
    upload.write_all(bytes).map_err(|error| found(&error))?;
    upload.complete()
}

fn is_read(request: &Request) -> bool {
    request.method == "GET" && request.range.is_some()
}

fn is_put(request: &Request) -> bool {
    request.method == "PUT" && request.query.is_empty()
}

/// Whether it makes an object of its parts: an upload of Google, or blocks of Azure.
fn is_end(request: &Request) -> bool {
    let is_list = request.query.get("comp").is_some_and(|what| what == "blocklist");
    is_list || request.method == "POST" && request.query.contains_key("uploadId")
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
fn faults_that_pass_are_waited_out() {
    at_each(|server, cloud| {
        let expected = bytes(300_000);
        let object = opened(server, cloud, &expected);
        for fault in [
            Fault::Status(500),
            Fault::Status(503),
            Fault::Status(429),
            Fault::Cut,
            Fault::Stalled(Duration::from_secs(2)),
            Fault::Silent(Duration::from_millis(700)),
        ] {
            fail(server, is_read, 2, fault.clone());
            assert!(whole(&object).unwrap() == expected, "{}: {fault:?}", cloud.root);
        }
        for (is, count) in [(is_put as fn(&Request) -> bool, MIB), (is_end, 9 * MIB)] {
            // A put that arrives late has been made again by then.
            for fault in [Fault::Silent(Duration::from_millis(700)), Fault::Status(500)] {
                let bytes = bytes(count);
                fail(server, is, 2, fault.clone());
                let done = written(upload(server, cloud), &bytes);
                done.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
                assert!(server.get(cloud.path).unwrap() == bytes, "{}: {fault:?}", cloud.root);
            }
        }
    });
}

#[test]
fn faults_that_last_are_errors_with_the_name() {
    at_each(|server, cloud| {
        let object = opened(server, cloud, &bytes(100_000));
        for (fault, message) in [
            (Fault::Status(500), "the server answered 500 Internal Server Error"),
            (Fault::Status(403), "access is denied (the server answered 403 Forbidden"),
            (Fault::Cut, "the connection was cut"),
            (Fault::Stalled(Duration::from_secs(2)), "the server did not answer in time"),
            (Fault::Silent(Duration::from_secs(2)), "the server did not answer in time"),
            (Fault::Short, "expected "),
            (Fault::Long, "expected "),
        ] {
            fail(server, is_read, usize::MAX, fault.clone());
            let error = whole(&object).unwrap_err().to_string();
            let expected = format!("{}{KEY}: {message}", cloud.root);
            assert!(error.starts_with(&expected), "{fault:?}: {error}");
        }
        for status in [500, 403] {
            fail(server, is_put, usize::MAX, Fault::Status(status));
            let error = written(upload(server, cloud), b"new").unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}{KEY}: ", cloud.root)), "{error}");
            assert!(error.contains(&format!("the server answered {status}")), "{error}");
        }
        assert!(server.get(cloud.path).unwrap() == bytes(100_000));
    });
}

#[test]
fn an_object_that_changes_between_two_reads_is_an_error() {
    at_each(|server, cloud| {
        for (fault, message) in [
            (Fault::Replaced(bytes(100_000)), "the object was replaced while it was read"),
            (Fault::Removed, "the object was removed while it was read"),
        ] {
            for first in [fault.clone(), Fault::Cut] {
                let object = opened(server, cloud, &bytes(100_000));
                let (fault, mut reads) = (fault.clone(), 0);
                server.fail(move |_| {
                    reads += 1;
                    Some(if reads == 1 { first.clone() } else { fault.clone() })
                });
                let error = whole(&object).unwrap_err();
                assert_eq!(error.kind(), ObjectErrorKind::Changed, "{error}");
                assert!(error.what().starts_with(message), "{error}");
            }
        }
    });
}

#[test]
fn an_answer_that_is_lost_is_no_failure() {
    at_each(|server, cloud| {
        for (is, count) in [(is_put as fn(&Request) -> bool, 1000), (is_end, 9 * MIB)] {
            // Of no try the answer arrives.
            for fault in [Fault::Lost, Fault::Late(Duration::from_millis(700))] {
                server.remove(cloud.path);
                fail(server, is, usize::MAX, fault.clone());
                let done = written(upload(server, cloud), &bytes(count));
                done.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
                assert!(server.get(cloud.path).unwrap() == bytes(count), "{fault:?}");
            }
            // Another program wrote as many bytes there.
            server.put(cloud.path, bytes(count));
            fail(server, is, usize::MAX, Fault::Status(500));
            let error = written(upload(server, cloud), &bytes(count)).unwrap_err();
            assert!(error.what().starts_with("the server answered 500"), "{error}");
        }
    });
}

type PutIf = Result<Option<Version>, ObjectError>;

/// Puts an object on a condition.
fn put_if((server, cloud): (&BucketServer, &Cloud), bytes: &[u8], then: Option<&Version>) -> PutIf {
    upload(server, cloud).put_if(bytes, then)
}

#[test]
fn of_two_writers_one_wins_whatever_answers_are_lost() {
    at_each(|server, cloud| {
        let at = (server, cloud);
        for (fault, count) in
            [(Fault::Lost, 1), (Fault::Lost, usize::MAX), (Fault::DoneBut(504), usize::MAX)]
        {
            server.remove(cloud.path);
            let mut version = None;
            for bytes in [b"new", b"two"] {
                fail(server, is_put, count, fault.clone());
                let now = put_if(at, bytes, version.as_ref());
                let now = now.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
                assert!(now.is_some(), "{}: {fault:?}", cloud.root);
                assert_eq!(server.get(cloud.path).unwrap(), bytes, "{fault:?}");
                version = now;
            }
            server.fail(|_| None);
            assert!(put_if(at, b"3rd", version.as_ref()).unwrap().is_some());
            // That version is not there any more.
            assert!(put_if(at, b"4th", version.as_ref()).unwrap().is_none());
            assert!(put_if(at, b"5th", None).unwrap().is_none());
            assert_eq!(server.get(cloud.path).unwrap(), b"3rd");
        }
        // Another one comes before.
        server.remove(cloud.path);
        fail(server, is_put, usize::MAX, Fault::Replaced(b"other".to_vec()));
        assert!(put_if(at, b"new", None).unwrap().is_none());
        assert_eq!(server.get(cloud.path).unwrap(), b"other");
    });
}
