//! Keys of the role of a container, handed out by a service beside it: of ECS, EKS, `CloudShell`
//! and Greengrass.
//!
//! ```text
//! AWS_CONTAINER_CREDENTIALS_RELATIVE_URI   path at 169.254.170.2
//! AWS_CONTAINER_CREDENTIALS_FULL_URI       address: https, or of this machine and its services
//! AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE   file with a token, read for each request
//! AWS_CONTAINER_AUTHORIZATION_TOKEN        the token itself
//! ```
//! `object_store` does not know the last one, and asks for the role of the instance then; it panics
//! where the file ends with the end of a line (decision 151). Keys are kept while they are good for
//! five minutes more, as those that it asks for itself.
//!
//! Invariant: a token goes over plain `http` to this machine and its services alone. Checked in
//! `may_be_asked`.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use futures_util::StreamExt;
use http::header::AUTHORIZATION;
use http::{HeaderValue, StatusCode, Uri};
use object_store::aws::AwsCredential;
use object_store::client::{HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody};
use object_store::{CredentialProvider, Error, RetryConfig};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::profile;
use crate::variables::is_word;

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";

/// Hosts of the services, which speak plain `http`. The first one has the relative paths.
const SERVICES: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// Time that keys must be good for to be kept.
const EARLY: Duration = Duration::from_mins(5);
/// Time that those that are good for less are kept all the same: requests that are made together
/// share them.
const SHARED: Duration = Duration::from_millis(100);
/// Bytes of an answer at most.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// Address of the service, if variables name one; an error is the variable whose address will not
/// do.
pub(crate) fn address<'a>(
    value_of: impl Fn(&str) -> Option<&'a str>,
) -> Option<Result<Uri, &'static str>> {
    if let Some(path) = value_of(RELATIVE) {
        let address = format!("http://{}{path}", SERVICES[0]).parse::<Uri>();
        let address = address.ok().filter(|_| path.starts_with('/'));
        return Some(address.ok_or(RELATIVE));
    }
    let address = value_of(FULL)?.parse::<Uri>();
    Some(address.ok().filter(may_be_asked).ok_or(FULL))
}

/// Whether a token may be sent to an address.
fn may_be_asked(address: &Uri) -> bool {
    let Some(host) = address.host() else { return false };
    let host = host.trim_matches(['[', ']']);
    let is_near = |ip: IpAddr| {
        ip.is_loopback() || SERVICES.iter().any(|service| service.parse::<IpAddr>() == Ok(ip))
    };
    match address.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => host == "localhost" || host.parse::<IpAddr>().is_ok_and(is_near),
        _ => false,
    }
}

/// The service of a container, and the keys that it handed out last.
pub(crate) struct Container {
    client: HttpClient,
    address: Uri,
    token: Token,
    retries: RetryConfig,
    held: Mutex<Option<Held>>,
}

/// A token by which the service knows who asks.
enum Token {
    None,
    Value(String),
    File(PathBuf),
}

/// Keys, when they expire, and when they were asked for.
struct Held {
    credential: Arc<AwsCredential>,
    expire: Option<SystemTime>,
    asked: Instant,
}

/// An answer with keys.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    access_key_id: String,
    secret_access_key: String,
    token: Option<String>,
    expiration: Option<String>,
}

/// A request without keys, and whether the next one may have some.
struct Failure {
    error: Error,
    may_pass: bool,
}

impl Container {
    /// The service at an address, with the token that variables name.
    pub(crate) fn new<'a>(
        address: Uri,
        value_of: impl Fn(&str) -> Option<&'a str>,
        client: HttpClient,
        retries: RetryConfig,
    ) -> Self {
        let token = match (value_of(TOKEN_FILE), value_of(TOKEN)) {
            (Some(path), _) => Token::File(path.into()),
            (None, Some(token)) => Token::Value(token.to_owned()),
            (None, None) => Token::None,
        };
        Self { client, address, token, retries, held: Mutex::default() }
    }

    /// The header by which the service knows who asks.
    fn authorization(&self) -> object_store::Result<Option<HeaderValue>> {
        let text = match &self.token {
            Token::None => return Ok(None),
            Token::Value(token) => token.clone(),
            Token::File(path) => {
                profile::read(path.clone()).ok_or_else(|| failed("no token file that is one"))?
            }
        };
        let value = Some(text.trim()).filter(|text| is_word(text));
        let value = value.and_then(|text| HeaderValue::from_str(text).ok());
        let mut value = value.ok_or_else(|| failed("no token in the token file"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Asks for keys, as often as retries allow.
    async fn ask(&self) -> object_store::Result<Held> {
        let authorization = self.authorization()?;
        let mut pause = self.retries.backoff.init_backoff;
        let mut left = self.retries.max_retries;
        loop {
            match self.answer(authorization.as_ref()).await {
                Ok(answer) => return Held::of(&answer).ok_or_else(|| failed("no keys in it")),
                Err(failure) if failure.may_pass && left > 0 => {
                    tokio::time::sleep(pause).await;
                    left -= 1;
                    pause = (pause * 2).min(self.retries.backoff.max_backoff);
                }
                Err(failure) => return Err(failure.error),
            }
        }
    }

    /// Makes one request.
    async fn answer(&self, authorization: Option<&HeaderValue>) -> Result<Vec<u8>, Failure> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = self.address.clone();
        if let Some(value) = authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        let answer = self.client.execute(request).await.map_err(Failure::of)?;
        let status = answer.status();
        let (mut body, mut pieces) = (Vec::new(), answer.into_body().bytes_stream());
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(Failure::of)?;
            if body.len() + piece.len() > ANSWER_BYTES_MAX {
                return Err(Failure { error: failed("too long an answer"), may_pass: false });
            }
            body.extend_from_slice(&piece);
        }
        if status.is_success() {
            return Ok(body);
        }
        let may_pass = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        // In the words that errors of `object_store` have for it.
        let text = format!("status code: {status}: {}", String::from_utf8_lossy(&body));
        Err(Failure { error: failed(text), may_pass })
    }
}

impl fmt::Debug for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Container").finish_non_exhaustive()
    }
}

#[async_trait]
impl CredentialProvider for Container {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        // Requests that come meanwhile wait for these keys.
        let mut held = self.held.lock().await;
        if let Some(held) = held.as_ref().filter(|held| held.is_good()) {
            return Ok(Arc::clone(&held.credential));
        }
        let new = self.ask().await?;
        let credential = Arc::clone(&new.credential);
        *held = Some(new);
        Ok(credential)
    }
}

impl Held {
    /// The keys in an answer, if requests can be made with them.
    fn of(answer: &[u8]) -> Option<Self> {
        let found: Answer = serde_json::from_slice(answer).ok()?;
        let token = found.token.filter(|token| !token.is_empty());
        let expire = found.expiration.as_deref().map(DateTime::parse_from_rfc3339).transpose();
        let is_fit = is_word(&found.access_key_id)
            && !found.secret_access_key.is_empty()
            && token.as_deref().is_none_or(is_word);
        let credential = AwsCredential {
            key_id: found.access_key_id,
            secret_key: found.secret_access_key,
            token,
        };
        let expire = expire.ok()?.map(SystemTime::from);
        is_fit.then(|| Self { credential: Arc::new(credential), expire, asked: Instant::now() })
    }

    /// Whether requests are still made with these keys.
    fn is_good(&self) -> bool {
        let Some(expire) = self.expire else { return true };
        let left = expire.duration_since(SystemTime::now()).unwrap_or_default();
        left > EARLY || (!left.is_zero() && self.asked.elapsed() < SHARED)
    }
}

impl Failure {
    /// A request whose answer did not come, or not whole.
    fn of(error: HttpError) -> Self {
        let may_pass = !matches!(error.kind(), HttpErrorKind::Unknown | HttpErrorKind::Decode);
        let error = Error::Generic { store: "container", source: Box::new(error) };
        Self { error, may_pass }
    }
}

fn failed(text: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Generic { store: "container", source: text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_to_this_machine_its_services_and_encrypted_addresses() {
        let of = |name: &'static str, value: &'static str| {
            address(move |asked: &str| (asked == name).then_some(value))
        };
        for near in [
            "http://localhost:1338/latest",
            "http://127.0.0.1/role",
            "http://[::1]:80/role",
            "http://169.254.170.2/v2",
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::23]/v1/credentials",
            "https://far.example/role",
        ] {
            assert_eq!(of(FULL, near), Some(Ok(near.parse::<Uri>().unwrap())), "{near}");
        }
        for far in
            ["http://far.example/", "http://10.0.0.1/", "ftp://localhost/", "localhost", "a b"]
        {
            assert_eq!(of(FULL, far), Some(Err(FULL)), "{far}");
        }
        let service = "http://169.254.170.2/role/x?y=1".parse::<Uri>().unwrap();
        assert_eq!(of(RELATIVE, "/role/x?y=1"), Some(Ok(service)));
        for path in ["role", ".example/role", "@far.example/", "/a b"] {
            assert_eq!(of(RELATIVE, path), Some(Err(RELATIVE)), "{path}");
        }
        assert_eq!(of("AWS_OTHER", "http://localhost/"), None);
    }

    #[test]
    fn keys_are_kept_while_they_are_good_for_a_while() {
        let keys = r#""AccessKeyId":"ASIA","SecretAccessKey":"s/+","Token":"t==""#;
        let held = |rest: &str| Held::of(format!("{{{keys}{rest}}}").as_bytes());
        let whole = held("").unwrap();
        let found = (&*whole.credential.key_id, &*whole.credential.secret_key);
        assert_eq!((found, whole.credential.token.as_deref()), (("ASIA", "s/+"), Some("t==")));
        assert!(whole.is_good());
        let expiring = |time: &str| held(&format!(r#","Expiration":"{time}""#)).unwrap();
        assert!(expiring("2126-01-01T00:00:00Z").is_good());
        assert!(!expiring("2020-01-01T00:00:00Z").is_good());
        assert!(held(r#","Expiration":"tomorrow""#).is_none());
    }

    #[test]
    fn answers_that_no_request_can_be_made_with_hold_no_keys() {
        for answer in [
            "",
            "[]",
            r#"{"AccessKeyId":"ASIA"}"#,
            r#"{"AccessKeyId":"AS IA","SecretAccessKey":"s"}"#,
            r#"{"AccessKeyId":"ASIA","SecretAccessKey":""}"#,
            r#"{"AccessKeyId":"ASIA","SecretAccessKey":"s","Token":"t\n"}"#,
        ] {
            assert!(Held::of(answer.as_bytes()).is_none(), "{answer}");
        }
    }
}
