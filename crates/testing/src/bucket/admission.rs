//! Requests that are let in: signed by the key of the server, or any in buckets that are public;
//! or, where services hand out credentials, with these and no others.

use std::collections::BTreeSet;
use std::time::SystemTime;

use super::issued::Issued;
use super::message::Request;
use super::signature::{Key, REGION, Refusal};

/// The key by which requests are signed.
pub(super) const KEY: Key = Key { id: "WELTERKEY", secret: "very/secret", region: REGION };

/// Credentials that a server knows.
#[derive(Clone, Default)]
pub(super) struct Admission {
    /// Buckets that need no signature.
    public: BTreeSet<String>,
    /// Credentials that services hand out, if they do.
    issued: Option<Issued>,
}

impl Admission {
    /// Lets in all requests to a bucket. A signature that is there is verified all the same.
    pub(super) fn publish(&mut self, bucket: &str) {
        self.public.insert(bucket.to_owned());
    }

    /// Lets in requests with credentials that were handed out, and no others.
    pub(super) fn believe(&mut self, issued: &Issued) {
        self.issued = Some(issued.clone());
    }

    /// Whether a request is signed; an error where it is not as its bucket wants it.
    pub(super) fn verify(&self, request: &Request) -> Result<bool, Refusal> {
        if let Some(issued) = &self.issued {
            return issued.verify(request).map(|()| true);
        }
        let is_of_s3 = request.header("authorization").is_some_and(|it| it.starts_with("AWS4-"));
        let bucket = request.path.split('/').next().unwrap_or_default();
        if !is_of_s3 && self.public.contains(bucket) {
            return Ok(false);
        }
        KEY.verify(request, SystemTime::now()).map(|()| true)
    }
}
