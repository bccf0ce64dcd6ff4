//! A bucket: the store that it lies in, and what it holds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use futures_util::{Stream, TryStreamExt, future};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::RANGE_BYTES;
use crate::cancellation;
use crate::error::{ObjectError, ObjectErrorKind};
use crate::location::{Location, Scheme};
use crate::object::Object;
use crate::runtime;
use crate::settings::Settings;
use crate::upload::Upload;
use crate::version::Version;

/// A bucket that requests can be made of. Copies share their connections.
#[derive(Clone)]
pub struct Bucket {
    /// Location of the whole bucket.
    root: Location,
    store: Arc<dyn ObjectStore>,
    settings: Settings,
    /// The store as it states checksums of whole objects, once one is wanted.
    stating: Arc<OnceLock<Option<Arc<dyn ObjectStore>>>>,
}

/// An object as a list of a bucket has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Location of the object.
    pub location: Location,
    /// Size of the object in bytes.
    pub bytes: u64,
    /// Time at which the object was written, by the clock of the store.
    pub modified: SystemTime,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.root.to_string()).finish()
    }
}

impl Bucket {
    /// The bucket of a location, as these settings say. No request is made yet.
    ///
    /// # Errors
    /// Settings that are incomplete or contradict each other.
    pub fn connect(location: &Location, settings: &Settings) -> Result<Self, ObjectError> {
        Ok(Self {
            root: location.with_key(""),
            store: settings.connect(location)?,
            settings: settings.clone(),
            stating: Arc::default(),
        })
    }

    /// The bucket of a location, as the environment says; connections are kept for the next call.
    ///
    /// # Errors
    /// As [`Bucket::connect`].
    pub fn of(location: &Location) -> Result<Self, ObjectError> {
        static KNOWN: Mutex<BTreeMap<String, (Settings, Bucket)>> = Mutex::new(BTreeMap::new());
        let settings = Settings::of_environment();
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(location.root()) {
            // A long process may have changed its environment meanwhile.
            Some((then, bucket)) if *then == settings => Ok(bucket.clone()),
            _ => {
                let bucket = Self::connect(location, &settings)?;
                known.insert(location.root().to_owned(), (settings, bucket.clone()));
                Ok(bucket)
            }
        }
    }

    /// An object, of which `head_bytes` of the first bytes are fetched at once.
    ///
    /// # Errors
    /// When it is not there, or the store does not give it.
    pub fn open(&self, key: &str, head_bytes: u64) -> Result<Object, ObjectError> {
        Object::open(&self.root.with_key(key), &self.store, head_bytes)
    }

    /// As [`Bucket::open`], an object that has no checksums of its own: where it comes unencrypted,
    /// what is read of it can be compared with the checksum that the store states
    /// ([`Object::tiling`]).
    ///
    /// # Errors
    /// As of [`Bucket::open`].
    pub fn open_input(&self, key: &str, head_bytes: u64) -> Result<Object, ObjectError> {
        let stating = self.stating.get_or_init(|| self.settings.stating(&self.root));
        let location = self.root.with_key(key);
        Object::open_input(&location, &self.store, stating.as_ref(), head_bytes)
    }

    /// A small object whole as it is now, and its version. A larger one than this is an error.
    ///
    /// # Errors
    /// As of [`Bucket::open`].
    pub fn load(&self, key: &str, bytes_max: u64) -> Result<(Vec<u8>, Version), ObjectError> {
        let object = self.open(key, bytes_max)?;
        if object.bytes() > bytes_max {
            let what =
                format!("it has {} bytes, and {bytes_max} at most make sense", object.bytes());
            return Err(ObjectError::new(object.name(), ObjectErrorKind::Store, what));
        }
        let mut bytes = object.head().to_vec();
        let rest = bytes.len() as u64..object.bytes();
        for begin in rest.clone().step_by(RANGE_BYTES as usize) {
            let end = rest.end.min(begin + RANGE_BYTES);
            object.read_through(begin..end, &mut |more| bytes.extend_from_slice(more))?;
        }
        Ok((bytes, object.version().clone()))
    }

    /// An object that is to be written, as long as `stopped` does not say that it is not wanted any
    /// more. No request is made yet.
    ///
    /// # Errors
    /// When the name is that of no object, or nothing is written there.
    pub fn upload(
        &self,
        key: &str,
        stopped: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Upload, ObjectError> {
        Upload::new(self.root.with_key(key), &self.store, Box::new(stopped))
    }

    /// Removes an object. One that is not there is removed already.
    ///
    /// # Errors
    /// When the store cannot be asked, or does not let this user remove it.
    pub fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let at = self.root.with_key(key);
        let (name, path) = (at.to_string(), at.path()?);
        let done = runtime::wait(self.store.delete(&path));
        match done.map_err(|error| ObjectError::unstarted(&name, &error))? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(ObjectError::of(&name, &error)),
        }
    }

    /// The objects below a folder: an empty key, or one that ends with `/`. In alphabetical order,
    /// folder by folder, as those of a file system are; empty objects that stand for folders are
    /// left out.
    ///
    /// # Errors
    /// When the store cannot be asked, or does not list what it holds.
    pub fn list(&self, folder: &str) -> Result<Vec<Listed>, ObjectError> {
        let at = self.root.with_key(folder);
        let prefix = self.listable(&at)?.path()?;
        let mut listed = self.listed(&at, self.store.list(Some(&prefix)))?;
        listed.sort_by(|one, two| one.location.key.split('/').cmp(two.location.key.split('/')));
        // Objects in a folder come right behind the object that stands for it.
        let is_above = |one: &Listed, next: Option<&Listed>| {
            let below = next.and_then(|next| next.location.key.strip_prefix(&one.location.key));
            one.bytes == 0 && below.is_some_and(|below| below.starts_with('/'))
        };
        let folders: Vec<bool> = (0..listed.len())
            .map(|place| is_above(&listed[place], listed.get(place + 1)))
            .collect();
        let mut is_folder = folders.into_iter();
        listed.retain(|_| !is_folder.next().unwrap_or(false));
        Ok(listed)
    }

    /// The objects whose keys go on behind `beginning`, of a store that lists them in their order;
    /// of one that does not some may be missing. However many others there are, no more than a page
    /// of them is listed.
    ///
    /// # Errors
    /// As of [`Bucket::list`].
    pub fn list_behind(&self, beginning: &str) -> Result<Vec<Listed>, ObjectError> {
        let at = self.root.with_key(beginning);
        let offset = self.listable(&at)?.path()?;
        let folder = beginning.rsplit_once('/').map_or("", |(folder, _)| folder);
        let prefix = self.root.with_key(folder).path()?;
        let is_near = |meta: &ObjectMeta| {
            let key = meta.location.as_ref();
            future::ready(Ok::<_, object_store::Error>(
                key < beginning || key.starts_with(beginning),
            ))
        };
        let near = self.store.list_with_offset(Some(&prefix), &offset).try_take_while(is_near);
        let mut listed = self.listed(&at, near)?;
        listed.retain(|it| it.location.key.starts_with(beginning));
        Ok(listed)
    }

    /// The location, if what is there can be listed.
    fn listable<'a>(&self, at: &'a Location) -> Result<&'a Location, ObjectError> {
        if self.root.scheme == Scheme::Web {
            let what = "a web server does not say what it holds; name the files";
            return Err(ObjectError::new(&at.to_string(), ObjectErrorKind::Unsupported, what));
        }
        Ok(at)
    }

    /// Objects of a store, as it lists them, about a location.
    fn listed(
        &self,
        at: &Location,
        found: impl Stream<Item = object_store::Result<ObjectMeta>>,
    ) -> Result<Vec<Listed>, ObjectError> {
        let name = at.to_string();
        let found = cancellation::wait(&name, found.try_collect::<Vec<_>>())?;
        let found = found.map_err(|error| ObjectError::of(&name, &error))?;
        let listed = |meta: ObjectMeta| Listed {
            location: self.root.with_key(meta.location.as_ref()),
            bytes: meta.size,
            modified: meta.last_modified.into(),
        };
        Ok(found.into_iter().map(listed).collect())
    }
}
