//! Errors of an object.
//!
//! Texts of stores are not passed on: some repeat whose key was used, or what was signed. What is
//! kept of them is the status, the short word of the store for it, and how often it was tried.

use std::error::Error;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};
use thiserror::Error;

use crate::http::{PLAIN, is_untrusted};
use crate::identity::IdentityError;
use crate::profile::program::KeyError;

/// Text of an object that is another one than when it was opened.
pub(crate) const REPLACED: &str =
    "the object was replaced while it was read; read it again when nothing writes to it";
/// Text of a bucket that is not there.
const NO_BUCKET: &str = "no such bucket";
/// Advice to a user whom no store lets in.
const ADVICE: &str = "set the variables of the environment that say who you are, or \
                      AWS_SKIP_SIGNATURE=true (GOOGLE_..., AZURE_...) for what is public";

/// Reason why an object could not be read, written or listed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{name}: {what}")]
pub struct ObjectError {
    name: String,
    kind: ObjectErrorKind,
    what: String,
}

/// Kind of an [`ObjectError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectErrorKind {
    /// The URL is none, or the environment does not say what it should.
    Address,
    /// The object, or its bucket, does not exist.
    Missing,
    /// The object is another one than when it was opened, or is gone.
    Changed,
    /// The store lets no user, or not this one.
    Denied,
    /// The store cannot do this.
    Unsupported,
    /// The store cannot be reached, or answers otherwise than it should.
    Store,
    /// The caller wants no more of it.
    Stopped,
}

impl ObjectError {
    pub(crate) fn new(name: &str, kind: ObjectErrorKind, what: impl Into<String>) -> Self {
        Self { name: name.to_owned(), kind, what: what.into() }
    }

    /// The error of a process that cannot start threads.
    pub(crate) fn unstarted(name: &str, error: &io::Error) -> Self {
        Self::new(name, ObjectErrorKind::Store, format!("cannot begin a request: {error}"))
    }

    /// Adds what went wrong as well.
    pub(crate) fn and(mut self, what: &str) -> Self {
        self.what = format!("{}; {what}", self.what);
        self
    }

    /// URL of the object, without anything secret.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kind of this failure.
    pub fn kind(&self) -> ObjectErrorKind {
        self.kind
    }

    /// Whether there is no such bucket.
    pub fn is_of_bucket(&self) -> bool {
        self.kind == ObjectErrorKind::Missing && self.what == NO_BUCKET
    }

    /// Text of what went wrong, without the name.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The error of a store about an object.
    pub(crate) fn of(name: &str, error: &object_store::Error) -> Self {
        use object_store::Error as Found;
        let (kind, what) = match error {
            Found::NotFound { .. } if has_no_bucket(error) => {
                (ObjectErrorKind::Missing, NO_BUCKET.to_owned())
            }
            Found::NotFound { .. } => (ObjectErrorKind::Missing, "no such object".to_owned()),
            Found::Precondition { .. } | Found::NotModified { .. } => {
                (ObjectErrorKind::Changed, REPLACED.to_owned())
            }
            Found::AlreadyExists { .. } => {
                (ObjectErrorKind::Changed, "the object is there already".to_owned())
            }
            Found::PermissionDenied { .. } | Found::Unauthenticated { .. } => {
                (ObjectErrorKind::Denied, denied(error))
            }
            Found::InvalidPath { .. } => (
                ObjectErrorKind::Address,
                "a key with empty parts, or with characters that print nothing, will not do".into(),
            ),
            Found::NotSupported { .. } | Found::NotImplemented { .. } => (
                ObjectErrorKind::Unsupported,
                "the server does not send parts of files; download the file first".to_owned(),
            ),
            _ if let Some(refused) = cause::<IdentityError>(error) => {
                (ObjectErrorKind::Denied, unidentified(refused))
            }
            _ if let Some(refused) = cause::<KeyError>(error) => {
                (ObjectErrorKind::Denied, refused.to_string())
            }
            _ if has_status(error, 404) => (ObjectErrorKind::Missing, NO_BUCKET.to_owned()),
            _ if has_status(error, 403) || has_stale_token(error) => {
                (ObjectErrorKind::Denied, denied(error))
            }
            _ => (ObjectErrorKind::Store, described(error)),
        };
        Self::new(name, kind, what)
    }

    /// The error of a store about an object that was there when it was opened. Where a body breaks
    /// off the rest of it is asked for, and the answer to that lies within an error of the body.
    pub(crate) fn of_opened(name: &str, error: &object_store::Error) -> Self {
        if was_not_made(error) {
            return Self::of(name, error);
        }
        if matches!(error, object_store::Error::NotFound { .. }) || has_status(error, 404) {
            let what = "the object was removed while it was read";
            return Self::new(name, ObjectErrorKind::Changed, what);
        }
        if has_status(error, 412) {
            return Self::new(name, ObjectErrorKind::Changed, REPLACED);
        }
        Self::of(name, error)
    }
}

impl ObjectError {
    /// The error of a store about an object that is written.
    pub(crate) fn of_writing(name: &str, error: &object_store::Error) -> Self {
        use object_store::Error as Found;
        match error {
            _ if has_no_upload(error) => {
                let what = "the upload was ended by another program, or by a rule of the bucket";
                Self::new(name, ObjectErrorKind::Store, what)
            }
            Found::NotFound { .. } => Self::new(name, ObjectErrorKind::Missing, NO_BUCKET),
            Found::Precondition { .. }
            | Found::NotModified { .. }
            | Found::AlreadyExists { .. }
            | Found::NotSupported { .. }
            | Found::NotImplemented { .. } => {
                Self::new(name, ObjectErrorKind::Store, described(error))
            }
            _ => Self::of(name, error),
        }
    }
}

/// Whether a store says that it knows no such upload in parts.
pub(crate) fn has_no_upload(error: &object_store::Error) -> bool {
    text(error).contains("<Code>NoSuchUpload</Code>")
}

/// Whether a store says that there is no such bucket, or container.
fn has_no_bucket(error: &object_store::Error) -> bool {
    let text = text(error);
    ["NoSuchBucket", "ContainerNotFound"].iter().any(|it| text.contains(&format!("<Code>{it}</")))
}

/// Whether a request met another one for the same object, so that it should be made again: stores
/// say so where an object is removed while another is put on a condition.
pub(crate) fn is_conflict(error: &object_store::Error) -> bool {
    text(error).contains("<Code>ConditionalRequestConflict</Code>")
}

/// Whether a store says that the token of a request is none of its own, or none any more, for which
/// S3 has 400.
fn has_stale_token(error: &object_store::Error) -> bool {
    let text = text(error);
    ["InvalidToken", "ExpiredToken"].iter().any(|it| text.contains(&format!("<Code>{it}</")))
}

/// Whether a store answered with this status.
fn has_status(error: &object_store::Error, status: u16) -> bool {
    text(error).contains(&format!("status code: {status}"))
}

/// Whether a request was not made, since there were no credentials for it.
pub(crate) fn was_not_made(error: &object_store::Error) -> bool {
    cause::<IdentityError>(error).is_some() || cause::<KeyError>(error).is_some()
}

/// Whether no answer came to a request, which may have arrived all the same.
pub(crate) fn has_no_answer(error: &object_store::Error) -> bool {
    transport(error).is_some() && !text(error).contains("status code: ")
}

/// Whether a store says that it does not do what it was asked for beside an object, which may be
/// there all the same.
pub(crate) fn is_declined(error: &object_store::Error) -> bool {
    use object_store::Error as Found;
    match error {
        Found::NotFound { .. } | Found::Precondition { .. } | Found::NotModified { .. } => false,
        Found::PermissionDenied { .. }
        | Found::Unauthenticated { .. }
        | Found::NotSupported { .. }
        | Found::NotImplemented { .. } => true,
        _ => text(error).contains("status code: 4"),
    }
}

/// The fault of an object that an error of reading or writing carries, if it does, also where a
/// decoder has put it into an error of its own.
pub fn fault(error: &io::Error) -> Option<&ObjectError> {
    let first = error.get_ref()? as &(dyn Error + 'static);
    std::iter::successors(Some(first), |&error| error.source()).find_map(|error| {
        let inner = || error.downcast_ref::<io::Error>().and_then(fault);
        error.downcast_ref().or_else(inner)
    })
}

/// Whether a store says that there is no such range: the object has no bytes, or the server sends
/// only all of it.
pub(crate) fn has_no_range(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotSupported { .. }) || has_status(error, 416)
}

impl From<ObjectError> for io::Error {
    fn from(error: ObjectError) -> Self {
        let kind = match error.kind {
            ObjectErrorKind::Missing => io::ErrorKind::NotFound,
            ObjectErrorKind::Denied => io::ErrorKind::PermissionDenied,
            ObjectErrorKind::Unsupported => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// The text of an error with those below it. It is looked at, and never shown.
fn text(error: &dyn Error) -> String {
    error.to_string()
}

fn denied(error: &(dyn Error + 'static)) -> String {
    format!("access is denied ({}); {ADVICE}", described(error))
}

/// Text of credentials that no service handed out.
fn unidentified(refused: &IdentityError) -> String {
    let found = refused.found();
    let what = if text(found).contains("token file") {
        "the file with the token for the identity service cannot be read, or holds none".to_owned()
    } else {
        described(found).replacen("the server", "the identity service", 1)
    };
    format!("no credentials were handed out ({what}); {ADVICE}")
}

/// Answer of a store, in words of ours.
fn described(error: &(dyn Error + 'static)) -> String {
    let text = text(error);
    let tried = between(&text, ", after ", " retries").and_then(|count| count.parse().ok());
    let tried = match tried {
        None | Some(0_u64) => String::new(),
        Some(1) => ", also when it was asked once more".to_owned(),
        Some(more) => format!(", also when it was asked {more} times more"),
    };
    if let Some((_, status)) = text.split_once("status code: ") {
        let status = status.split([':', '\n', '<']).next().unwrap_or_default().trim();
        let code = between(&text, "<Code>", "</Code>").or_else(|| word_of_json(&text));
        let code = code.filter(|code| is_word(code));
        let code = code.map_or_else(String::new, |code| format!(" {code}"));
        return format!("the server answered {status}{code}{tried}");
    }
    let transport = transport(error);
    let what = match transport.map(HttpError::kind) {
        _ if is_untrusted(error) => {
            "the certificate of the server is not trusted by this system (SSL_CERT_FILE names \
             certificates of one's own)"
        }
        Some(HttpErrorKind::Connect) => "the server cannot be reached",
        Some(HttpErrorKind::Timeout) => "the server did not answer in time",
        Some(HttpErrorKind::Interrupted) => "the connection was cut",
        Some(_) if text.contains(PLAIN) => {
            "the server has a plain http:// address, to which no secret is sent"
        }
        None if text.contains("redirect without LOCATION") => {
            "the bucket lies in another region than is set (AWS_REGION)"
        }
        Some(HttpErrorKind::Decode) | None => "the server answered otherwise than it should",
        Some(_) => "the answer of the server broke off",
    };
    format!("{what}{tried}")
}

/// The error of the connection below an error.
fn transport<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a HttpError> {
    cause(error)
}

/// The error of this type below an error.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |&error| error.source())
        .find_map(|error| error.downcast_ref())
}

fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(behind)?.0)
}

/// The word for an error in an answer of an identity service: `{"error": "invalid_client"}`.
fn word_of_json(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("\"error\"")?;
    let (between, behind) = behind.split_once('"')?;
    let (word, _) = behind.split_once('"')?;
    (between.trim() == ":").then_some(word)
}

/// Whether this is a word as stores have them for errors, and nothing that could be a secret.
fn is_word(code: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    code.len() <= 40 && !code.is_empty() && code.bytes().all(is_of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text and the kind of an error whose text a store or a service has.
    fn error(text: &str, is_of_service: bool) -> (ObjectErrorKind, String) {
        let found = object_store::Error::Generic { store: "S3", source: text.into() };
        let found = if is_of_service { IdentityError::of(found) } else { found };
        let error = ObjectError::of("s3://box/it", &found);
        assert_eq!(has_no_answer(&found) || is_declined(&found), !is_of_service && is_4xx(text));
        assert_eq!(was_not_made(&found), is_of_service);
        (error.kind(), error.what)
    }

    fn is_4xx(text: &str) -> bool {
        text.contains("status code: 4")
    }

    #[test]
    fn a_service_that_hands_out_nothing_is_no_bucket_that_is_missing() {
        let text = "in 1ms, after 2 retries, max - status code: 404 Not Found: <p>secret</p>";
        let (kind, what) = error(text, true);
        assert_eq!(kind, ObjectErrorKind::Denied);
        let begin = "no credentials were handed out (the identity service answered 404 Not Found, \
                     also when it was asked 2 times more); set the variables";
        assert!(what.starts_with(begin), "{what}");
        assert_eq!(error(text, false).0, ObjectErrorKind::Missing);
    }

    #[test]
    fn words_of_services_are_kept_and_texts_are_not() {
        for (answer, word) in [
            (r#"401 Unauthorized: {"error": "invalid_client","error_description":"secret"}"#, true),
            ("400 Bad Request: <Error><Code>ExpiredToken</Code></Error>", true),
            (r#"403 Forbidden: {"error":{"code":"invalid_client"}}"#, false),
            (r#"403 Forbidden: {"error":"invalid client"}"#, false),
            (r#"403 Forbidden: {"error":"#, false),
        ] {
            let (_, what) = error(&format!("status code: {answer}"), true);
            let has_word = what.contains(" invalid_client)") || what.contains(" ExpiredToken)");
            assert!(has_word == word && !what.contains("secret"), "{answer}: {what}");
        }
        let (_, what) = error("Failed to read token file '/secret': denied", true);
        assert!(what.contains("the file with the token") && !what.contains("secret"), "{what}");
        let (_, what) = error("missing field `Credentials`", true);
        assert!(what.contains("the identity service answered otherwise"), "{what}");
    }
}
