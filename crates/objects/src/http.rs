//! Requests over HTTP/1.1: what `object_store` sends goes through one client of connections.
//!
//! A client that can more (HTTP/2, cookies, compression) takes long to build, for what is switched
//! off here: of one connection of HTTP/2 all requests would share the speed (decision 089). What an
//! answer that came unencrypted states of a whole object goes along with it ([`Stated`]).
//!
//! Invariants: plain `http://` is spoken only where the options allow it · a redirect is followed
//! only where the request bears no credentials. Checked in `Requests::call` and
//! `redirected`, tested by `redirects_are_followed_without_credentials_only` and
//! `secrets_in_any_header_are_sent_to_no_other_server`.

mod patience;
mod route;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use http::header::{AUTHORIZATION, HOST, LOCATION, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
    HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use patience::Patient;
pub(crate) use patience::is_untrusted;
use route::Route;

use crate::checksum::{self, Stated};
use crate::traffic;

/// Time that a connection may take, where options of a client say nothing else.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// Time that an idle connection is kept. So are as many as had requests in flight.
const IDLE: Duration = Duration::from_secs(90);
/// Redirects that are followed one after another.
const REDIRECTS: usize = 10;
/// Text of the error of a request that is not made, since it would not be encrypted.
pub(crate) const PLAIN: &str = "refused: plain http";
/// Headers, beside that of authorization, with secrets by which identity services know who asks.
const SECRETS: [&str; 2] = ["x-aws-ec2-metadata-token", "x-identity-header"];
/// Bytes a second with which a body that is sent must go out at least.
const SENT_BYTES_A_SECOND: u64 = 64 << 10;

/// Makes a client for each store.
#[derive(Debug)]
pub(crate) struct Connections {
    /// Time that a server may say nothing.
    silence: Duration,
    /// File of certificates that are believed besides those of the system.
    certificates: Option<PathBuf>,
    /// Encryption of all clients, once there is one: certificates are read from many files.
    tls: OnceLock<ClientConfig>,
}

impl Connections {
    pub(crate) fn new(silence: Duration, certificates: Option<PathBuf>) -> Self {
        Self { silence, certificates, tls: OnceLock::new() }
    }

    /// Whether the certificates of the file can be read, if one is named.
    pub(crate) fn has_certificates(&self) -> bool {
        self.certificates.as_deref().is_none_or(|file| tls(Some(file)).is_ok())
    }
}

impl HttpConnector for Connections {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        let is_plain_allowed = allowed.is_some_and(|value| value == "true");
        let tls = if let Some(tls) = self.tls.get() {
            tls.clone()
        } else {
            let made = tls(self.certificates.as_deref())
                .map_err(|source| object_store::Error::Generic { store: "TLS", source })?;
            self.tls.get_or_init(|| made).clone()
        };
        let route = Route::of_environment(tls.clone(), connect_timeout(options));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(route.clone());
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(HttpClient::new(Requests { client, route, silence: self.silence, is_plain_allowed }))
    }
}

/// Time that a connection may take. Services of a machine that say who it is are soon reached, or
/// are not there, and `object_store` states a second for them.
fn connect_timeout(options: &ClientOptions) -> Duration {
    let stated = options.get_config_value(&ClientConfigKey::ConnectTimeout);
    let seconds = stated.and_then(|text| text.strip_suffix('s')?.parse().ok());
    seconds.map_or(CONNECT, Duration::from_secs)
}

/// Encryption as the certificates of this system, and of a file, allow; without any, no server is
/// believed.
fn tls(file: Option<&Path>) -> Result<ClientConfig, Box<dyn Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = file {
        for certificate in CertificateDer::pem_file_iter(file)? {
            roots.add(certificate?)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The client of one store.
#[derive(Debug)]
struct Requests {
    client: Client<HttpsConnector<Route>, HttpRequestBody>,
    route: Route,
    silence: Duration,
    is_plain_allowed: bool,
}

#[async_trait]
impl HttpService for Requests {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut request = request;
        let mut redirects = 0;
        loop {
            if request.uri().scheme_str() != Some("https") && !self.is_plain_allowed {
                return Err(HttpError::new(HttpErrorKind::Unknown, Refused("plain http")));
            }
            let copy = copy(&request);
            let response = self.send(request).await?;
            match redirected(&copy, &response)? {
                Some(_) if redirects == REDIRECTS => {
                    return Err(HttpError::new(HttpErrorKind::Unknown, Refused("redirects")));
                }
                Some(next) => {
                    redirects += 1;
                    request = copy;
                    *request.uri_mut() = next;
                }
                None => return Ok(response),
            }
        }
    }
}

impl Requests {
    /// Sends a request and waits for the head of its answer.
    async fn send(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let sent_bytes = u64::try_from(request.body().content_length()).unwrap_or(u64::MAX);
        let patience = self.silence + Duration::from_secs(sent_bytes / SENT_BYTES_A_SECOND);
        let agent = HeaderValue::from_static(concat!("welter/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().entry(USER_AGENT).or_insert(agent);
        if let Some(credentials) = self.route.plain_proxy_credentials(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, credentials);
        }
        traffic::sends(request.method(), request.uri(), sent_bytes);
        let is_plain = request.uri().scheme_str() == Some("http");
        let asks = request.headers().contains_key(checksum::MODE);
        let answer = tokio::time::timeout(patience, self.client.request(request)).await;
        let answer = answer.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?;
        let (mut head, body) = answer.map_err(patience::connection_error)?.into_parts();
        if asks && head.status == StatusCode::NOT_IMPLEMENTED {
            // A store that does not know the header will not know it the next time either.
            head.status = StatusCode::BAD_REQUEST;
        }
        let by_s3 = asks.then(|| Stated::by_s3(&head.headers)).flatten();
        let stated = by_s3.or_else(|| Stated::by_google(&head.headers));
        if let Some(stated) = stated.filter(|_| is_plain) {
            head.extensions.insert(stated);
        }
        let body = HttpResponseBody::new(Patient::new(body, self.silence));
        Ok(HttpResponse::from_parts(head, body))
    }
}

/// Where an answer leads to, if it is a redirect that may be followed: of a request that only
/// asks, and that bears no credentials, which another server must not see.
fn redirected(request: &HttpRequest, response: &HttpResponse) -> Result<Option<Uri>, HttpError> {
    let leads_elsewhere = matches!(
        response.status(),
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let only_asks = matches!(*request.method(), Method::GET | Method::HEAD);
    let bears = |name: &&str| request.headers().contains_key(*name);
    let bears_credentials =
        request.headers().contains_key(AUTHORIZATION) || SECRETS.iter().any(bears);
    if !leads_elsewhere || !only_asks || bears_credentials {
        return Ok(None);
    }
    let Some(place) = response.headers().get(LOCATION) else { return Ok(None) };
    let broken = || HttpError::new(HttpErrorKind::Decode, Refused("redirect to no address"));
    let place = place.to_str().map_err(|_| broken())?;
    let base = url::Url::parse(&request.uri().to_string()).map_err(|_| broken())?;
    let next = base.join(place).map_err(|_| broken())?;
    next.as_str().parse().map(Some).map_err(|_| broken())
}

/// A request as it was, for the case that it must be made of another server.
fn copy(request: &HttpRequest) -> HttpRequest {
    let mut copy = Request::new(request.body().clone());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy.headers_mut().remove(HOST);
    copy
}

/// A request that is not made, or not further.
#[derive(Debug, thiserror::Error)]
#[error("refused: {0}")]
struct Refused(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_may_take_as_long_as_is_said() {
        for seconds in [1, 10] {
            let timeout = Duration::from_secs(seconds);
            let options = ClientOptions::new().with_connect_timeout(timeout);
            assert_eq!(connect_timeout(&options), timeout);
        }
        let options = ClientOptions::new().with_connect_timeout_disabled();
        assert_eq!(connect_timeout(&options), CONNECT);
    }

    #[test]
    fn secrets_in_any_header_are_sent_to_no_other_server() {
        let mut response = HttpResponse::new(HttpResponseBody::from(String::new()));
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("/there"));
        let next = |header: &'static str| {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = Uri::from_static("http://127.0.0.1:1/here");
            request.headers_mut().insert(header, HeaderValue::from_static("secret"));
            redirected(&request, &response).unwrap().as_ref().map(ToString::to_string)
        };
        assert_eq!(next("metadata").as_deref(), Some("http://127.0.0.1:1/there"));
        for header in ["authorization", SECRETS[0], SECRETS[1]] {
            assert_eq!(next(header), None, "{header}");
        }
    }

    #[test]
    fn certificates_that_cannot_be_read_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(tls(None).is_ok());
        assert!(tls(Some(&folder.path().join("none"))).is_err());
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .unwrap();
        assert!(tls(Some(&file)).is_err());
        std::fs::write(&file, "").unwrap();
        assert!(tls(Some(&file)).is_ok());
    }
}
