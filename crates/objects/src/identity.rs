//! Credentials that identity services hand out, and the errors of these services.
//!
//! `object_store` asks the services of the clouds, keeps their credentials until shortly before
//! these expire, and words an error of a service as one of the bucket. A service answers 404 where
//! a role is attached to nothing, and no bucket is missing then; so the two are told apart here
//! (decision 151).

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use object_store::{CredentialProvider, Error};

/// No credentials: a service did not hand them out, or could not be asked.
///
/// The error within is no source of this one. Nothing was asked of the bucket, so nothing that
/// holds for a request without an answer holds here.
#[derive(Debug, thiserror::Error)]
#[error("no credentials")]
pub(crate) struct IdentityError {
    found: Error,
}

impl IdentityError {
    /// An error of a store, because a service hands out nothing.
    pub(crate) fn of(found: Error) -> Error {
        Error::Generic { store: "identity", source: Box::new(Self { found }) }
    }

    /// The error of the service.
    pub(crate) fn found(&self) -> &Error {
        &self.found
    }
}

/// Credentials of a provider, whose errors are [`IdentityError`]s.
pub(crate) struct Identity<C>(Arc<dyn CredentialProvider<Credential = C>>);

impl<C> Identity<C> {
    pub(crate) fn of(provider: Arc<dyn CredentialProvider<Credential = C>>) -> Arc<Self> {
        Arc::new(Self(provider))
    }
}

impl<C> fmt::Debug for Identity<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

#[async_trait]
impl<C: Send + Sync + 'static> CredentialProvider for Identity<C> {
    type Credential = C;

    async fn get_credential(&self) -> object_store::Result<Arc<C>> {
        self.0.get_credential().await.map_err(IdentityError::of)
    }
}
