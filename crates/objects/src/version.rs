//! Version of an object: so that the object is replaced only if it is that one still.

use object_store::{ObjectMeta, PutResult, UpdateVersion};

/// A version of an object, in the words of its store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Entity tag of the object, where the store has such.
    pub tag: Option<String>,
    /// Number of the version, where the store counts.
    pub number: Option<String>,
}

impl From<PutResult> for Version {
    fn from(put: PutResult) -> Self {
        Self { tag: put.e_tag, number: put.version }
    }
}

impl From<ObjectMeta> for Version {
    fn from(found: ObjectMeta) -> Self {
        Self { tag: found.e_tag, number: found.version }
    }
}

impl From<&Version> for UpdateVersion {
    fn from(version: &Version) -> Self {
        Self { e_tag: version.tag.clone(), version: version.number.clone() }
    }
}
