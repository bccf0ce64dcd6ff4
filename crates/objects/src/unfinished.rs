//! Uploads in parts that have begun and not ended: parts that no reader sees, and that cost money.
//!
//! Invariant: each is completed or given up by one caller alone, who has taken it. Checked in
//! `take`. Tested by `what_is_unfinished_is_given_up_when_a_process_leaves`.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::{Error, MultipartUpload, UploadPart};

use crate::error::{ObjectError, ObjectErrorKind, has_no_upload};
use crate::runtime;

/// Time that a store may take to give an upload up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Unfinished uploads of this process.
static ALL: Mutex<Vec<Arc<Unfinished>>> = Mutex::new(Vec::new());
/// Notified when an upload has ended.
static ENDED: Condvar = Condvar::new();

/// An upload in parts.
#[derive(Debug)]
pub(crate) struct Unfinished {
    name: String,
    /// `None` while another thread ends it.
    upload: Mutex<Option<Box<dyn MultipartUpload>>>,
}

fn all() -> MutexGuard<'static, Vec<Arc<Unfinished>>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Unfinished {
    pub(crate) fn new(name: &str, upload: Box<dyn MultipartUpload>) -> Arc<Self> {
        let new = Arc::new(Self { name: name.to_owned(), upload: Mutex::new(Some(upload)) });
        all().push(Arc::clone(&new));
        new
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn MultipartUpload>>> {
        self.upload.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request that uploads the next part, unless it is being ended.
    pub(crate) fn part(&self, bytes: Bytes) -> Option<UploadPart> {
        Some(self.lock().as_mut()?.put_part(bytes.into()))
    }

    /// Takes it, to end it.
    pub(crate) fn take(&self) -> Option<Box<dyn MultipartUpload>> {
        self.lock().take()
    }

    /// Could not end it.
    pub(crate) fn put_back(&self, upload: Box<dyn MultipartUpload>) {
        *self.lock() = Some(upload);
    }

    /// Has ended it.
    pub(crate) fn ended(&self) {
        all().retain(|other| !std::ptr::eq(Arc::as_ptr(other), self));
        ENDED.notify_all();
    }

    /// Ends it without an object, unless another thread does. `flew`: whether parts were on their
    /// way.
    ///
    /// # Errors
    /// When the request to the store failed.
    pub(crate) fn give_up(&self, flew: bool) -> Result<(), ObjectError> {
        let Some(upload) = self.take() else { return Ok(()) };
        let given_up = runtime::wait(abort(upload, &self.name, flew));
        // It is not tried again, since the caller says so.
        self.ended();
        given_up.unwrap_or_else(|error| Err(ObjectError::unstarted(&self.name, &error)))
    }
}

/// Gives up all that is unfinished, because the process leaves, and waits for so long. Returns the
/// names of objects of which parts may be left.
pub fn give_up_all(patience: Duration) -> Vec<String> {
    let unfinished = all().clone();
    for one in &unfinished {
        let Some(upload) = one.take() else { continue };
        let one = Arc::clone(one);
        // Where no thread can be had, it is named below.
        let _ = runtime::begin(async move {
            if abort(upload, &one.name, true).await.is_ok() {
                one.ended();
            }
        });
    }
    let end = Instant::now() + patience;
    let mut left = all();
    while !left.is_empty() {
        let Some(time) = end.checked_duration_since(Instant::now()) else { break };
        let waited = ENDED.wait_timeout(left, time);
        left = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    left.iter().map(|one| one.name.clone()).collect()
}

/// Asks the store to drop an upload. Where parts were on their way it is asked twice, because one
/// that arrives meanwhile may stay.
async fn abort(
    mut upload: Box<dyn MultipartUpload>,
    name: &str,
    flew: bool,
) -> Result<(), ObjectError> {
    let left = |why: &str| {
        let what = format!("parts that were uploaded could not be removed: {why}");
        ObjectError::new(name, ObjectErrorKind::Store, what)
    };
    for _ in 0..=usize::from(flew) {
        match tokio::time::timeout(PATIENCE, upload.abort()).await {
            Ok(Ok(()) | Err(Error::NotFound { .. })) => {}
            Ok(Err(error)) if has_no_upload(&error) => {}
            Ok(Err(error)) => return Err(left(ObjectError::of_writing(name, &error).what())),
            Err(_) => return Err(left("the server did not answer in time")),
        }
    }
    Ok(())
}
