//! URLs of objects: which scheme, which bucket, which key.
//!
//! Keys of buckets are taken as they are written, as the tools of their clouds take them; the path
//! of a web address is decoded, as browsers do.

use std::fmt;
use std::path::Path;

use crate::error::{ObjectError, ObjectErrorKind};

/// Kind of store that a URL leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// S3 of Amazon, or what speaks its protocol.
    S3,
    /// Blob storage of Azure.
    Azure,
    /// Cloud storage of Google.
    Google,
    /// Any web server that sends parts of files.
    Web,
}

/// Beginnings of URLs, and where they lead.
const SCHEMES: [(&str, Scheme); 8] = [
    ("s3", Scheme::S3),
    ("s3a", Scheme::S3),
    ("az", Scheme::Azure),
    ("abfs", Scheme::Azure),
    ("abfss", Scheme::Azure),
    ("gs", Scheme::Google),
    ("http", Scheme::Web),
    ("https", Scheme::Web),
];

/// A URL that was understood. It holds nothing secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Kind of store.
    pub scheme: Scheme,
    /// Scheme and bucket as they were written, such as `s3://bucket`.
    root: String,
    /// Key below the bucket: of an object, the beginning of several (with a `/` at its end), or a
    /// pattern of some.
    pub key: String,
}

impl Location {
    /// The location that a path says, if it is a URL of an object.
    ///
    /// # Errors
    /// A URL that holds a password or a query, or names no bucket.
    pub fn of(path: &Path) -> Option<Result<Self, ObjectError>> {
        Self::parse(path.to_str()?)
    }

    /// As [`Location::of`], of text.
    ///
    /// # Errors
    /// A URL that holds a password or a query, or names no bucket.
    pub fn parse(text: &str) -> Option<Result<Self, ObjectError>> {
        let (word, rest) = text.split_once("://")?;
        let (_, scheme) = SCHEMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word))?;
        Some(Self::checked(*scheme, &word.to_ascii_lowercase(), rest))
    }

    fn checked(scheme: Scheme, word: &str, rest: &str) -> Result<Self, ObjectError> {
        let (authority, key) = rest.split_once('/').unwrap_or((rest, ""));
        let root = |bucket: &str| format!("{word}://{bucket}");
        let refused = |bucket: &str, what: &str| {
            Err(ObjectError::new(&root(bucket), ObjectErrorKind::Address, what))
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        // In a URL of Azure the container stands before the account.
        let may_have_user = scheme == Scheme::Azure;
        if authority.matches('@').count() > usize::from(may_have_user)
            || authority
                .split('@')
                .next()
                .is_some_and(|user| host != authority && user.contains(':'))
        {
            let what = "expected a URL without a user and a password; state who you are in the \
                        environment";
            return refused(host, what);
        }
        if authority.is_empty() {
            return refused("", "expected a bucket, or the name of a server, behind ://");
        }
        if scheme == Scheme::Web && key.contains(['?', '#']) {
            let what = "expected a URL without a query or a fragment; download the file first";
            return refused(authority, what);
        }
        Ok(Self { scheme, root: root(authority), key: key.to_owned() })
    }

    /// Scheme and bucket, such as `s3://bucket`.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Name of the bucket, or of the server.
    pub(crate) fn bucket(&self) -> &str {
        self.root.split_once("://").map_or("", |(_, bucket)| bucket)
    }

    /// The key as the store takes it.
    pub(crate) fn path(&self) -> Result<object_store::path::Path, ObjectError> {
        let path = match self.scheme {
            Scheme::Web => object_store::path::Path::from_url_path(&self.key),
            _ => object_store::path::Path::parse(&self.key),
        };
        path.map_err(|error| ObjectError::of(&self.to_string(), &error.into()))
    }

    /// Another key of the same bucket.
    #[must_use]
    pub fn with_key(&self, key: impl Into<String>) -> Self {
        Self { key: key.into(), ..self.clone() }
    }

    /// Whether two are surely or probably one object, by whatever scheme they are named.
    pub fn is(&self, other: &Self) -> bool {
        let parts = |location: &Self| {
            let bucket = location.bucket();
            let (container, account) = bucket.split_once('@').unwrap_or((bucket, ""));
            let account = account.split('.').next().unwrap_or_default();
            (container.to_owned(), account.to_owned())
        };
        let ((bucket, account), (other_bucket, other_account)) = (parts(self), parts(other));
        // The account of Azure may be that of the environment.
        let same_account =
            account.is_empty() || other_account.is_empty() || account == other_account;
        self.scheme == other.scheme
            && bucket == other_bucket
            && same_account
            && self.key == other.key
    }

    /// Whether it stands for all objects whose keys begin so.
    pub fn is_folder(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.root, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> (Scheme, String) {
        let found = Location::parse(text).unwrap().unwrap();
        assert_eq!(found.to_string(), text);
        (found.scheme, found.key)
    }

    #[test]
    fn urls_are_understood() {
        assert_eq!(key("s3://b/edges/*.parquet"), (Scheme::S3, "edges/*.parquet".into()));
        assert_eq!(key("gs://b/a?b#c%20d"), (Scheme::Google, "a?b#c%20d".into()));
        assert_eq!(key("abfss://box@it.dfs.core.windows.net/a/b").0, Scheme::Azure);
        assert_eq!(key("https://example.org:8080/e.txt.gz"), (Scheme::Web, "e.txt.gz".into()));
        for local in ["s3:/b/k", "edges.txt", "./s3//b", "rmat:10", "ftp://b/k", "memory:x"] {
            assert!(Location::parse(local).is_none(), "{local}");
        }
        assert!(Location::parse("S3A://b/").unwrap().unwrap().is_folder());
        assert!(Location::parse("s3://b").unwrap().unwrap().is_folder());
    }

    #[test]
    fn an_object_is_one_by_whatever_scheme() {
        let is = |one: &str, other: &str| {
            Location::parse(one).unwrap().unwrap().is(&Location::parse(other).unwrap().unwrap())
        };
        assert!(is("s3://b/k", "S3A://b/k"));
        assert!(is("az://c/k", "abfss://c@account.dfs.core.windows.net/k"));
        assert!(is("abfs://c@a.blob.core.windows.net/k", "abfss://c@a.dfs.core.windows.net/k"));
        assert!(!is("abfs://c@a.dfs.core.windows.net/k", "abfs://c@b.dfs.core.windows.net/k"));
        assert!(!is("s3://b/k", "gs://b/k") && !is("s3://b/k", "s3://b/l"));
    }

    #[test]
    fn secrets_in_urls_are_refused_and_not_shown() {
        for text in [
            "s3://AKIA:secret@b/k",
            "https://me:secret@example.org/k",
            "https://secret@example.org/k",
            "az://box:secret@account/k",
            "az://a@secret@account/k",
            "https://example.org/k?sig=secret",
        ] {
            let message = Location::parse(text).unwrap().unwrap_err().to_string();
            assert!(!message.contains("secret"), "{message}");
        }
        assert!(Location::parse("s3:///k").unwrap().is_err());
    }
}
