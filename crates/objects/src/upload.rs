//! An object that is written: it is there whole, or not at all.
//!
//! ```text
//! bytes that come   [### part 0 ###][### part 1 ###][### part 2 ###][## part 3 ···
//!                       uploaded        on its way      on its way      being filled
//! ```
//!
//! An object that fits one part is put by one request. More is an upload in parts, which no reader
//! sees until [`Upload::complete`] has been answered; on every other way out it is given up, and
//! the store drops its parts. How large these are, and how many are on their way, say
//! [`WriteRequests`].
//!
//! Invariants: no more than [`WriteRequests::memory_bytes`] are in memory of an object up to
//! 50 GiB, and no more than two parts beyond · each upload carries a mark of its own, so an answer
//! that was lost is no failure where the object is there with that mark. Checked in `send_off` and
//! `settled`. Tested by `parts_on_their_way_are_few`, `parts_are_those_that_are_stated`,
//! `an_answer_that_is_lost_is_no_failure` and
//! `an_answer_to_a_conditional_put_that_is_lost_is_no_failure`.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, ObjectStore, PutMode, PutMultipartOptions, PutOptions,
};
use tokio::task::JoinHandle;

use crate::error::{ObjectError, ObjectErrorKind, has_no_answer, is_conflict, was_not_made};
use crate::location::{Location, Scheme};
use crate::runtime::{self, Stopped};
use crate::unfinished::Unfinished;
use crate::version::Version;
use crate::write_requests::WriteRequests;

/// Bytes of an object that is put on a condition, at most: it is put whole.
const CONDITIONAL_BYTES: usize = 8 << 20;
/// Times that an object is put on a condition at most, where no answer comes, or one that says
/// nothing of the condition.
const CONDITIONAL_PUTS: usize = 3;

/// Name of the metadata of an object by which its writer knows it again. Azure takes letters alone.
const MARK: &str = "welter";

/// An object that is being written. Bytes are added at the end, by calls that wait where too many
/// are on their way.
pub struct Upload {
    store: Arc<dyn ObjectStore>,
    location: Location,
    path: Path,
    name: String,
    mark: String,
    stopped: Box<Stopped>,
    /// The condition on which it is put.
    mode: PutMode,
    requests: WriteRequests,
    /// The part that is being filled.
    filling: Vec<u8>,
    /// Parts before that one.
    parts: usize,
    /// Parts on their way, and the bytes of each.
    flying: VecDeque<(usize, JoinHandle<Result<(), Error>>)>,
    begun: Option<Arc<Unfinished>>,
    bytes: u64,
    /// The first error, after which nothing is sent any more.
    failed: Option<ObjectError>,
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload")
            .field("name", &self.name)
            .field("bytes", &self.bytes)
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl Upload {
    /// An upload of which no request is made yet.
    pub(crate) fn new(
        location: Location,
        store: &Arc<dyn ObjectStore>,
        stopped: Box<Stopped>,
    ) -> Result<Self, ObjectError> {
        let name = location.to_string();
        let refused = |kind, what: &str| Err(ObjectError::new(&name, kind, what));
        if location.scheme == Scheme::Web {
            let what = "nothing is written to a web server; name a bucket or a file";
            return refused(ObjectErrorKind::Unsupported, what);
        }
        if location.is_folder() {
            return refused(ObjectErrorKind::Address, "expected the name of an object, no folder");
        }
        Ok(Self {
            store: Arc::clone(store),
            path: location.path()?,
            location,
            mark: format!("{:016x}", RandomState::new().hash_one(&name)),
            name,
            stopped,
            mode: PutMode::Overwrite,
            requests: WriteRequests::default(),
            filling: Vec::new(),
            parts: 0,
            flying: VecDeque::new(),
            begun: None,
            bytes: 0,
            failed: None,
        })
    }

    /// This upload in parts as `requests` say. It is said before anything is written.
    #[must_use]
    pub fn by(mut self, requests: WriteRequests) -> Self {
        debug_assert_eq!(self.bytes, 0, "parts have one size");
        self.requests = requests;
        self
    }

    /// Puts the object whole, if there is none of its name, or if the one that is there is of this
    /// version. The version that it is now; `None`: it was not put.
    ///
    /// # Errors
    /// Of the store; more than one part is refused.
    pub fn put_if(
        mut self,
        bytes: &[u8],
        then: Option<&Version>,
    ) -> Result<Option<Version>, ObjectError> {
        if bytes.len() > CONDITIONAL_BYTES {
            let what = "an object that is put on a condition must be small";
            return Err(ObjectError::new(&self.name, ObjectErrorKind::Unsupported, what));
        }
        self.mode = then.map_or(PutMode::Create, |then| PutMode::Update(then.into()));
        self.filling.extend_from_slice(bytes);
        self.bytes = bytes.len() as u64;
        match self.put() {
            Ok(version) => Ok(Some(version)),
            Err(error) if error.kind() == ObjectErrorKind::Changed => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// URL of the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks whether the object may be written, by beginning an upload and giving it up. Nothing is
    /// left, but for one byte at Azure, which no reader sees and which goes by itself.
    ///
    /// # Errors
    /// When there is no such bucket, or this user may not write there.
    pub fn probe(mut self) -> Result<(), ObjectError> {
        let begun = self.begun()?;
        if self.location.scheme == Scheme::Azure {
            // There an upload begins with its first part.
            self.filling.push(0);
            self.send_off()?;
            self.land_all()?;
        }
        // Nothing of it takes space.
        let _ = begun.give_up(false);
        Ok(())
    }

    /// Sends what is left, and waits until the store says that all of it is there.
    ///
    /// # Errors
    /// Of the store. The object is what it was then; where the store could not be asked even that,
    /// the error says so.
    pub fn complete(mut self) -> Result<(), ObjectError> {
        self.unfailed()?;
        let done = if self.begun.is_some() { self.complete_parts() } else { self.put().map(drop) };
        done.map_err(|error| match self.end() {
            Ok(()) => error,
            Err(left) => error.and(left.what()),
        })
    }

    /// Drops all that was written.
    ///
    /// # Errors
    /// When the request to the store failed, so that parts may lie there that no reader
    /// sees.
    pub fn give_up(mut self) -> Result<(), ObjectError> {
        self.end()
    }

    fn put(&mut self) -> Result<Version, ObjectError> {
        let mode = self.mode.clone();
        let options = PutOptions { mode, attributes: self.attributes(), ..PutOptions::default() };
        let bytes = Bytes::from(std::mem::take(&mut self.filling));
        // A request that no one answered may arrive yet. On a condition it is made again, so that
        // the one that comes late finds another object than it wants.
        let is_conditional = !matches!(self.mode, PutMode::Overwrite);
        let mut more = if is_conditional { CONDITIONAL_PUTS } else { 1 };
        loop {
            more -= 1;
            let put = self.store.put_opts(&self.path, bytes.clone().into(), options.clone());
            let error = match self.wait(put)? {
                Ok(put) => return Ok(put.into()),
                Err(error) => error,
            };
            match self.settled(&error) {
                Err(_) if more > 0 && (has_no_answer(&error) || is_conflict(&error)) => {}
                settled => return settled,
            }
        }
    }

    fn complete_parts(&mut self) -> Result<(), ObjectError> {
        self.send_off()?;
        self.land_all()?;
        let begun = self.begun()?;
        let Some(mut upload) = begun.take() else { return Err(self.stopped()) };
        let completed = match self.wait(upload.complete()) {
            Ok(Err(error)) => self.settled(&error).map(drop),
            other => other.map(|_| ()),
        };
        match completed {
            Ok(()) => begun.ended(),
            Err(_) => begun.put_back(upload),
        }
        completed
    }

    /// Whether the object is there although the request for it failed: the answer may have been
    /// lost, and another try finds no upload any more.
    fn settled(&self, error: &Error) -> Result<Version, ObjectError> {
        let is_conditional = !matches!(self.mode, PutMode::Overwrite);
        let failed = match error {
            Error::AlreadyExists { .. } | Error::Precondition { .. }
                if is_conditional && !is_conflict(error) =>
            {
                ObjectError::of(&self.name, error)
            }
            error => ObjectError::of_writing(&self.name, error),
        };
        if was_not_made(error) {
            return Err(failed);
        }
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.wait(self.store.get_opts(&self.path, options))? {
            Ok(found) => {
                let mark = found.attributes.get(&Attribute::Metadata(MARK.into()));
                let is_ours = mark.is_some_and(|mark| **mark == *self.mark);
                if is_ours && found.meta.size == self.bytes {
                    Ok(found.meta.into())
                } else {
                    Err(failed)
                }
            }
            Err(Error::NotFound { .. }) => Err(failed),
            Err(Error::PermissionDenied { .. }) if !is_conditional => Err(failed),
            // A condition that does not hold may be that of a second try.
            Err(_) => Err(ObjectError::of_writing(&self.name, error)
                .and("whether it is there all the same could not be asked")),
        }
    }

    /// The upload in parts, which begins with the first call.
    fn begun(&mut self) -> Result<Arc<Unfinished>, ObjectError> {
        if let Some(begun) = &self.begun {
            return Ok(Arc::clone(begun));
        }
        let options = PutMultipartOptions { attributes: self.attributes(), ..Default::default() };
        let upload = self.wait(self.store.put_multipart_opts(&self.path, options))?;
        let upload = upload.map_err(|error| ObjectError::of_writing(&self.name, &error))?;
        let begun = Unfinished::new(&self.name, upload);
        self.begun = Some(Arc::clone(&begun));
        Ok(begun)
    }

    /// Begins to upload the part that was filled.
    fn send_off(&mut self) -> Result<(), ObjectError> {
        let begun = self.begun()?;
        let (bytes, flying_most) = (self.filling.len(), self.requests.flying_bytes());
        while !self.flying.is_empty() && self.flying_bytes() + bytes > flying_most {
            self.land()?;
        }
        let part = Bytes::from(std::mem::take(&mut self.filling));
        let Some(request) = begun.part(part) else { return Err(self.stopped()) };
        let request = runtime::begin(request);
        let request = request.map_err(|error| ObjectError::unstarted(&self.name, &error))?;
        self.flying.push_back((bytes, request));
        self.parts += 1;
        Ok(())
    }

    fn flying_bytes(&self) -> usize {
        self.flying.iter().map(|(bytes, _)| bytes).sum()
    }

    /// Waits for the part that has been on its way for longest.
    fn land(&mut self) -> Result<(), ObjectError> {
        let Some((_, mut part)) = self.flying.pop_front() else { return Ok(()) };
        let landed = self.wait(&mut part).inspect_err(|_| part.abort())?;
        let landed = landed.map_err(|error| {
            ObjectError::unstarted(&self.name, &io::Error::other(error.to_string()))
        })?;
        landed.map_err(|error| ObjectError::of_writing(&self.name, &error))
    }

    fn land_all(&mut self) -> Result<(), ObjectError> {
        while !self.flying.is_empty() {
            self.land()?;
        }
        Ok(())
    }

    /// Waits for a request, unless the object is not wanted any more.
    fn wait<T>(&self, request: impl Future<Output = T>) -> Result<T, ObjectError> {
        match runtime::wait_unless(request, &*self.stopped) {
            Ok(done) => done.ok_or_else(|| self.stopped()),
            Err(error) => Err(ObjectError::unstarted(&self.name, &error)),
        }
    }

    fn attributes(&self) -> Attributes {
        let mark = (Attribute::Metadata(MARK.into()), self.mark.clone());
        Attributes::from_iter([mark])
    }

    fn stopped(&self) -> ObjectError {
        ObjectError::new(&self.name, ObjectErrorKind::Stopped, "it was given up")
    }

    fn unfailed(&self) -> Result<(), ObjectError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn end(&mut self) -> Result<(), ObjectError> {
        let flew = !self.flying.is_empty();
        for (_, part) in self.flying.drain(..) {
            part.abort();
            // It has ended by then, or never begun.
            let _ = runtime::wait(part);
        }
        self.begun.take().map_or(Ok(()), |begun| begun.give_up(flew))
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unfailed()?;
        let most = self.requests.bytes_of(self.parts);
        if self.filling.len() == most && !bytes.is_empty() {
            // More comes, so that this is not all.
            self.send_off().inspect_err(|error| self.failed = Some(error.clone()))?;
            self.filling.reserve_exact(self.requests.bytes_of(self.parts));
        }
        let count = bytes.len().min(self.requests.bytes_of(self.parts) - self.filling.len());
        self.filling.extend_from_slice(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Callers that can say that it failed call `give_up`.
        let _ = self.end();
    }
}
