//! Tests that `object_store` has for stores, on our settings and connections: against stores that
//! others wrote, and as many of them as the store in this process can answer.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectStore, ObjectStoreExt, integration};
use welter_testing::bucket::BucketServer;
use welter_testing::emulators::{Emulator, azure, s3};

use crate::location::Location;
use crate::runtime;
use crate::settings::Settings;

fn connect(url: &str, environment: Vec<(String, String)>) -> Arc<dyn ObjectStore> {
    let location = Location::of(format!("{url}/").as_ref()).unwrap().unwrap();
    Settings::new(environment).connect(&location).unwrap()
}

/// Removes what one test leaves, since the next would list it.
async fn clear(store: &Arc<dyn ObjectStore>) {
    let left: Vec<_> = store.list(None).try_collect().await.unwrap();
    let paths = futures_util::stream::iter(left);
    paths.for_each(|it| async move { store.delete(&it.location).await.unwrap() }).await;
}

fn is_as_stores_are(emulator: &Emulator, has_spaces_in_lists: bool) {
    let store = connect(emulator.bucket, emulator.environment.clone());
    runtime::wait(async {
        if has_spaces_in_lists {
            integration::put_get_delete_list(&store).await;
            clear(&store).await;
        }
        integration::get_opts(&store).await;
        clear(&store).await;
        integration::put_opts(&store, true).await;
        clear(&store).await;
        integration::stream_get(&store).await;
        clear(&store).await;
        integration::list_uses_directories_correctly(&store).await;
        clear(&store).await;
        integration::list_with_delimiter(&store).await;
        clear(&store).await;
        integration::rename_and_copy(&store).await;
        clear(&store).await;
        integration::put_get_attributes(&store).await;
    })
    .unwrap();
}

#[test]
fn s3_by_moto_is_as_stores_are() {
    // It takes the signature of a list for wrong whose prefix has a space in it.
    if let Some(emulator) = s3() {
        is_as_stores_are(&emulator, false);
    }
}

#[test]
fn azure_by_azurite_is_as_stores_are() {
    if let Some(emulator) = azure() {
        is_as_stores_are(&emulator, true);
    }
}

#[test]
fn the_store_in_this_process_is_as_stores_are() {
    let server = BucketServer::start().unwrap();
    let store = connect("s3://box", server.environment());
    runtime::wait(async {
        integration::stream_get(&store).await;
        integration::put_opts(&store, true).await;
    })
    .unwrap();
}
