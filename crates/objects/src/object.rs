//! One object as it was when it was opened.

use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt};

use crate::RANGE_BYTES;
use crate::cancellation::{self, Cancellation};
use crate::checksum::Stated;
use crate::error::{ObjectError, ObjectErrorKind, REPLACED, has_no_range, is_declined};
use crate::location::Location;
use crate::runtime::{self, Stopped};
use crate::tiling::Tiling;
use crate::version::Version;

/// An object of known length. Copies are of one object.
#[derive(Clone)]
pub struct Object(Arc<OpenObject>);

/// An object with what its store said of it.
struct OpenObject {
    store: Arc<dyn ObjectStore>,
    path: Path,
    name: String,
    bytes: u64,
    /// Version of the object, whose entity tag is another as soon as the object is.
    version: Version,
    /// The first bytes.
    head: Bytes,
    /// Says whether it is not to be read any more.
    stopped: OnceLock<Box<Stopped>>,
    /// Checksum that was stated of all of it when it was opened,
    stated: Option<Stated>,
    /// or the store that states it to a request for it.
    stating: Option<Arc<dyn ObjectStore>>,
    /// Ranges that are compared with it, once it was asked for.
    tiling: OnceLock<Option<Tiling>>,
    /// Held by the thread that asks for it.
    asking: Mutex<()>,
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OpenObject { name, bytes, version: Version { tag, .. }, .. } = &*self.0;
        f.debug_struct("Object")
            .field("name", name)
            .field("bytes", bytes)
            .field("tag", tag)
            .finish()
    }
}

impl Object {
    pub(crate) fn open(
        location: &Location,
        store: &Arc<dyn ObjectStore>,
        head_bytes: u64,
    ) -> Result<Self, ObjectError> {
        let opened = Self::open_input(location, store, None, head_bytes)?;
        // It has checksums of its own, or is no more than looked at.
        let _ = opened.0.tiling.set(None);
        Ok(opened)
    }

    /// Opens an object of which `stating` states a checksum, or the answer to the first request.
    pub(crate) fn open_input(
        location: &Location,
        store: &Arc<dyn ObjectStore>,
        stating: Option<&Arc<dyn ObjectStore>>,
        head_bytes: u64,
    ) -> Result<Self, ObjectError> {
        let name = location.to_string();
        if location.is_folder() {
            return Err(ObjectError::new(&name, ObjectErrorKind::Address, "expected an object"));
        }
        let path = location.path()?;
        let opened = head(store, &path, &name, head_bytes.clamp(1, RANGE_BYTES));
        let (bytes, version, head, stated) = cancellation::wait(&name, opened)??;
        Ok(Self(Arc::new(OpenObject {
            store: Arc::clone(store),
            path,
            name,
            bytes,
            version,
            head,
            stopped: OnceLock::new(),
            stated,
            stating: stating.cloned(),
            tiling: OnceLock::new(),
            asking: Mutex::default(),
        })))
    }

    /// Ranges of the object, all of which are compared with what the store states of it; `None`
    /// where it states nothing that ranges can be compared with, or where bytes come encrypted. The
    /// store is asked once, by the first call. It is one tiling for all copies.
    ///
    /// # Errors
    /// When the store cannot be asked, or the object is another one by now.
    pub fn tiling(&self) -> Result<Option<Tiling>, ObjectError> {
        let object = &*self.0;
        if object.tiling.get().is_none() {
            let _one = object.asking.lock().unwrap_or_else(PoisonError::into_inner);
            if object.tiling.get().is_none() {
                let stated = self.stated()?;
                let made =
                    stated.map(|it| Tiling::new(&object.name, object.bytes, it, &object.head));
                let _ = object.tiling.set(made);
            }
        }
        Ok(object.tiling.get().cloned().flatten())
    }

    /// The checksum that the store states of all of the object.
    fn stated(&self) -> Result<Option<Stated>, ObjectError> {
        let Some(stating) = self.0.stating.as_ref().filter(|_| self.0.bytes > 0) else {
            return Ok(self.0.stated);
        };
        let if_match = self.0.version.tag.clone();
        let options = GetOptions { head: true, if_match, ..GetOptions::default() };
        match self.wait(stating.get_opts(&self.0.path, options))? {
            Ok(answer) => Ok(self.checked(answer)?.extensions.get::<Stated>().copied()),
            Err(error) if is_declined(&error) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Ends requests that are waited for as soon as this says that they are not wanted any more. It
    /// holds for all copies, and the first call counts.
    pub fn stop_when(&self, stopped: impl Fn() -> bool + Send + Sync + 'static) {
        // A later reader has less to say than the one that opened it.
        let _ = self.0.stopped.set(Box::new(stopped));
    }

    /// Waits for a request, as long as it is wanted: by who opened the object, and on this thread.
    pub(crate) fn wait<T>(&self, request: impl Future<Output = T>) -> Result<T, ObjectError> {
        let here = Cancellation::here();
        let is_closed = || self.0.stopped.get().is_some_and(|stopped| stopped());
        let stopped = || here.ended() || is_closed();
        let done = runtime::wait_unless(request, &stopped);
        let done = done.map_err(|error| ObjectError::unstarted(self.name(), &error))?;
        let given_up =
            || ObjectError::new(self.name(), ObjectErrorKind::Stopped, "it was given up");
        done.ok_or_else(given_up)
    }

    /// URL of the object.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Size of the object in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Entity tag of the object, where the store has one.
    pub fn tag(&self) -> Option<&str> {
        self.0.version.tag.as_deref()
    }

    /// Version of the object.
    pub(crate) fn version(&self) -> &Version {
        &self.0.version
    }

    /// First bytes of the object, as many as were fetched when it was opened.
    pub fn head(&self) -> &[u8] {
        &self.0.head
    }

    /// Reads some bytes from an offset on, 0 at the end. Each call is a request, but for the first
    /// bytes of the object.
    ///
    /// # Errors
    /// Of the store, as an [`ObjectError`] within.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let end = self.0.bytes.min(offset.saturating_add(buffer.len() as u64));
        let end = end.min(offset.saturating_add(RANGE_BYTES));
        if offset >= end {
            return Ok(0);
        }
        let bytes = self.wait(self.clone().fetch(offset..end))??;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }

    /// Fills a buffer from an offset on.
    ///
    /// # Errors
    /// As [`Object::read_at`], and where the object ends before.
    pub fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            let count = self.read_at(buffer, offset)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[count..];
            offset += count as u64;
        }
        Ok(())
    }

    /// Hands over the bytes of a range inside of the object as they arrive, in order, by one
    /// request.
    ///
    /// # Errors
    /// Of the store; some bytes may have been handed over by then.
    pub fn read_through(
        &self,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ObjectError> {
        if range.end > self.0.bytes {
            let (need, have) = (range.end, self.0.bytes);
            let what = format!("{need} bytes are expected of the object, and it has {have}");
            return Err(ObjectError::new(self.name(), ObjectErrorKind::Store, what));
        }
        self.wait(self.pass(range, take)).and_then(|passed| passed)
    }

    async fn pass(
        &self,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ObjectError> {
        let length = range.end - range.start;
        let mut stream = self.ask(range).await?.into_stream();
        let mut count = 0;
        loop {
            let more = stream.try_next().await.map_err(|error| self.failed(&error))?;
            let Some(more) = more else { break };
            count += more.len() as u64;
            if count > length {
                break;
            }
            take(&more);
        }
        if count == length {
            return Ok(());
        }
        let what = format!("expected {length} bytes from the server, found {count}");
        Err(ObjectError::new(self.name(), ObjectErrorKind::Store, what))
    }

    /// Whether it is still there as it was. Nothing is asked where each read asked already.
    ///
    /// # Errors
    /// When it is another, or the store cannot be asked.
    pub fn check(&self) -> Result<(), ObjectError> {
        if self.0.version.tag.is_some() {
            return Ok(());
        }
        let asked = self.wait(self.0.store.head(&self.0.path))?;
        let found = asked.map_err(|error| self.failed(&error))?;
        if found.size == self.0.bytes { Ok(()) } else { Err(self.changed()) }
    }

    /// The bytes of a range inside of the object.
    pub(crate) async fn fetch(self, range: Range<u64>) -> Result<Bytes, ObjectError> {
        if range.end <= self.0.head.len() as u64 {
            return Ok(self.0.head.slice(range.start as usize..range.end as usize));
        }
        let length = range.end - range.start;
        let answer = self.ask(range).await?;
        self.received(answer, length).await
    }

    /// The answer to a request for a range of this object, as it was when it was opened.
    async fn ask(&self, range: Range<u64>) -> Result<GetResult, ObjectError> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: self.0.version.tag.clone(),
            ..GetOptions::default()
        };
        let answer = self.0.store.get_opts(&self.0.path, options).await;
        self.checked(answer.map_err(|error| self.failed(&error))?)
    }

    /// Refuses an answer of another object, also of a server that does not look at entity tags.
    fn checked(&self, answer: GetResult) -> Result<GetResult, ObjectError> {
        if answer.meta.e_tag != self.0.version.tag || answer.meta.size != self.0.bytes {
            return Err(self.changed());
        }
        Ok(answer)
    }

    /// The body of an answer, which has `length` bytes.
    async fn received(&self, answer: GetResult, length: u64) -> Result<Bytes, ObjectError> {
        received(self.name(), answer, length, ObjectError::of_opened).await
    }

    /// An error of a request after the object was opened.
    fn failed(&self, error: &object_store::Error) -> ObjectError {
        ObjectError::of_opened(self.name(), error)
    }

    fn changed(&self) -> ObjectError {
        ObjectError::new(self.name(), ObjectErrorKind::Changed, REPLACED)
    }
}

/// Size, entity tag and first bytes of an object, and what is stated of all of it, in one
/// request.
async fn head(
    store: &Arc<dyn ObjectStore>,
    path: &Path,
    name: &str,
    bytes: u64,
) -> Result<(u64, Version, Bytes, Option<Stated>), ObjectError> {
    let options = GetOptions { range: Some(GetRange::Bounded(0..bytes)), ..GetOptions::default() };
    match store.get_opts(path, options).await {
        Ok(answer) => {
            let (size, version) = (answer.meta.size, answer.meta.clone().into());
            let stated = answer.extensions.get::<Stated>().copied();
            let head = received(name, answer, bytes.min(size), ObjectError::of).await?;
            Ok((size, version, head, stated))
        }
        // An object without bytes has no range of them.
        Err(first) if has_no_range(&first) => match store.head(path).await {
            Ok(found) if found.size == 0 => Ok((0, found.into(), Bytes::new(), None)),
            _ => Err(ObjectError::of(name, &first)),
        },
        Err(error) => Err(ObjectError::of(name, &error)),
    }
}

/// The body of an answer. Memory is taken as bytes arrive. `failed`: what an error of it is.
async fn received(
    name: &str,
    answer: GetResult,
    length: u64,
    failed: fn(&str, &object_store::Error) -> ObjectError,
) -> Result<Bytes, ObjectError> {
    let mut stream = answer.into_stream();
    let mut body = BytesMut::new();
    let wrong = |count: u64| {
        let what = format!("expected {length} bytes from the server, found {count}");
        ObjectError::new(name, ObjectErrorKind::Store, what)
    };
    while let Some(more) = stream.try_next().await.map_err(|error| failed(name, &error))? {
        let count = (body.len() + more.len()) as u64;
        if count > length {
            return Err(wrong(count));
        }
        if body.is_empty() && count == length {
            return Ok(more);
        }
        body.extend_from_slice(&more);
    }
    match body.len() as u64 {
        count if count == length => Ok(body.freeze()),
        count => Err(wrong(count)),
    }
}
