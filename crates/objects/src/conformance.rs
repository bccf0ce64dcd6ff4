//! Tests that `object_store` has for stores, all of them, on our settings and connections: against
//! the store in this process and those that others wrote.
//!
//! Left out everywhere: `get_nonexistent_object`, which is a part of others, and
//! `response_extensions`, which wants a transport of its own to be tested.

use futures_util::{StreamExt, TryStreamExt};
use object_store::list::PaginatedListStore;
use object_store::multipart::MultipartStore;
use object_store::{ObjectStore, ObjectStoreExt, integration};
use welter_testing::bucket::BucketServer;
use welter_testing::emulators::{Emulator, azure, s3};

use crate::location::Location;
use crate::runtime;
use crate::settings::Settings;

/// The location of a bucket, and settings that lead there.
fn at(url: &str, environment: &[(String, String)], more: &[(&str, &str)]) -> (Location, Settings) {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = Settings::new(environment.iter().cloned().chain(more));
    (Location::of(format!("{url}/").as_ref()).unwrap().unwrap(), settings)
}

/// Removes what one test leaves, since the next would list it.
async fn clear(store: &dyn ObjectStore) {
    let left: Vec<_> = store.list(None).try_collect().await.unwrap();
    let paths = futures_util::stream::iter(left);
    paths.for_each(|it| async move { store.delete(&it.location).await.unwrap() }).await;
}

/// Runs the tests but for some. Of two uploads of one object the last one wins, or the first.
fn is_as_stores_are<S>(store: &S, last_wins: bool, left_out: &[&str])
where
    S: ObjectStore + MultipartStore + PaginatedListStore,
{
    let mut count = 0;
    macro_rules! each {
        ($($name:ident($($argument:expr),*);)*) => {$(
            if !left_out.contains(&stringify!($name)) {
                integration::$name($($argument),*).await;
                clear(store).await;
                count += 1;
            }
        )*};
    }
    runtime::wait(async {
        each! {
            put_get_delete_list(store);
            get_opts(store);
            put_opts(store, true);
            stream_get(store);
            list_uses_directories_correctly(store);
            list_with_delimiter(store);
            list_with_offset_exclusivity(store);
            list_paginated(store, store);
            rename_and_copy(store);
            copy_if_not_exists(store);
            copy_rename_nonexistent_object(store);
            put_get_attributes(store);
            multipart(store, store);
            multipart_with_opts(store, store);
            multipart_put_part_out_of_order(store, store);
            multipart_out_of_order(store);
            multipart_race_condition(store, last_wins);
        }
    })
    .unwrap();
    assert_eq!(count, 17 - left_out.len());
}

/// Settings by which S3 copies an object only where none is: by an upload of one part.
const COPIES: [(&str, &str); 1] = [("AWS_COPY_IF_NOT_EXISTS", "multipart")];

#[test]
fn s3_by_moto_is_as_stores_are() {
    let Some(Emulator { bucket, environment, .. }) = &s3() else { return };
    let (location, settings) = at(bucket, environment, &COPIES);
    // It takes the signature of a list for wrong whose prefix has a space in it. It compares and
    // writes without a lock, so that of 50 conditional puts of several writers 49 were seen.
    let left_out = ["put_get_delete_list", "put_opts"];
    is_as_stores_are(&settings.s3(&location).unwrap(), true, &left_out);
}

#[test]
fn azure_by_azurite_is_as_stores_are() {
    let Some(Emulator { bucket, environment, .. }) = &azure() else { return };
    let (location, settings) = at(bucket, environment, &[]);
    // There `object_store` begins uploads without attributes alone.
    is_as_stores_are(&settings.azure(&location).unwrap(), false, &["multipart_with_opts"]);
}

#[test]
fn the_store_in_this_process_is_as_stores_are() {
    let server = BucketServer::start().unwrap();
    let (location, settings) = at("s3://box", &server.environment(), &COPIES);
    is_as_stores_are(&settings.s3(&location).unwrap(), true, &[]);
}

/// Nothing is left out: the store keeps as many generations as the tests ask for. It does not look
/// at tokens, so whether Google would take ours is not tested.
#[test]
fn google_in_this_process_is_as_stores_are() {
    let server = BucketServer::start().unwrap();
    server.publish("box");
    let url = server.url();
    let variables = [("GOOGLE_BASE_URL", &*url), ("GOOGLE_BEARER_TOKEN", "token")];
    let (location, settings) = at("gs://box", &server.environment(), &variables);
    is_as_stores_are(&settings.google(&location).unwrap(), true, &[]);
}
