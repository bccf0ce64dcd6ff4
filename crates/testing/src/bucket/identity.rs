//! Services in this process that hand out credentials, as the clouds have them. Each wants to see
//! what only its clients know.
//!
//! | request | service | proof |
//! |---|---|---|
//! | `POST /?Action=AssumeRoleWithWebIdentity` | roles of Amazon for web identities | a token |
//! | `GET /role`, `/task` | containers of Amazon | `Authorization`, or none |
//! | `PUT /latest/api/token`, `GET /latest/meta-data/...` | instances of Amazon | a session |
//! | `POST /TENANT/oauth2/v2.0/token` | applications of Azure | a secret, or a token |
//! | `GET /metadata/identity/oauth2/token` | machines of Azure | a header |
//! | `GET /msi/token` | App Service of Azure | a secret in a header |
//! | `POST /o/oauth2/token` | users of Google | a secret and a token |
//! | `GET /computeMetadata/v1/...` | machines of Google | a header |
//!
//! The server is a proxy as well, which answers for every host: some addresses are no variable's.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::encryption;
use super::issued::Issued;
use super::listening::{Stream, listen};
use super::message::{Answer, Request, decoded};
use super::time;

/// Secret or token that a client shows.
pub const PROOF: &str = "TopSecretProof";
/// Role of Amazon that a web identity takes.
pub const ROLE: &str = "arn:aws:iam::123456789012:role/reader";
/// Tenant of Azure.
pub const TENANT: &str = "11112222-3333-4444-5555-666677778888";
/// Application of Azure, and client of Google.
pub const CLIENT: &str = "99990000-aaaa-bbbb-cccc-ddddeeeeffff";
/// Token of a session with the metadata of an instance.
const SESSION: &str = "TopSecretSession==";
/// Headers of such a session.
const SESSION_HEADER: &str = "x-aws-ec2-metadata-token";
const TTL_HEADER: &str = "x-aws-ec2-metadata-token-ttl-seconds";
/// Path of the token of a machine of Google.
const GOOGLE_TOKEN: &str = "computeMetadata/v1/instance/service-accounts/default/token";
/// Below here an instance has its roles.
const ROLES: &str = "latest/meta-data/iam/security-credentials";

/// The server. Its threads end with the process.
pub struct IdentityServer {
    address: SocketAddr,
    is_encrypted: bool,
    services: Arc<Services>,
}

struct Services {
    issued: Issued,
    state: Mutex<State>,
}

struct State {
    /// Time that credentials last.
    life: Duration,
    /// Requests that are refused still, and the status for it.
    refusals: (usize, u16),
    requests: Vec<String>,
}

/// An answer, or the status and the word of a refusal.
type Outcome = Result<Answer, (u16, &'static str)>;

impl IdentityServer {
    /// Begins to listen on 127.0.0.1. All that it hands out is in `issued`.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn start(issued: &Issued) -> io::Result<Self> {
        Self::listen(issued, false)
    }

    /// As [`IdentityServer::start`], for TLS, with a certificate that the authority of the store
    /// vouches for.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn start_encrypted(issued: &Issued) -> io::Result<Self> {
        Self::listen(issued, true)
    }

    fn listen(issued: &Issued, is_encrypted: bool) -> io::Result<Self> {
        let tls = is_encrypted.then(encryption::settings).transpose()?;
        let life = Duration::from_hours(1);
        let state = State { life, refusals: (0, 0), requests: Vec::new() };
        let services = Arc::new(Services { issued: issued.clone(), state: Mutex::new(state) });
        let shared = Arc::clone(&services);
        let address =
            listen(Ipv4Addr::LOCALHOST, tls, move |connection| serve(connection, &shared))?;
        Ok(Self { address, is_encrypted, services })
    }

    /// URL of the server, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Host and port of the server.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Hands out credentials with this life from now on. Where it is nothing, they have expired
    /// when they come.
    pub fn lasting(&self, life: Duration) {
        self.services.state().life = life;
    }

    /// Refuses the next `times` requests by this status, and repeats each with all that is secret
    /// in it.
    pub fn refuse(&self, times: usize, status: u16) {
        self.services.state().refusals = (times, status);
    }

    /// Methods and targets of the requests so far, such as `GET /role`, which are forgotten then.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.services.state().requests)
    }
}

/// Answers the requests of a connection until it ends.
fn serve(connection: &mut dyn Stream, services: &Services) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(request) = Request::read(&mut reader)? {
        services.note(&request);
        if request.method == "CONNECT" {
            // The client waits for this before it speaks to the host that it names.
            Answer::text("").write(reader.get_mut(), false)?;
            let mut tunnel = encryption::accept(reader.get_mut(), encryption::settings()?)?;
            return serve(&mut tunnel, services);
        }
        services.answer(&request).write(reader.get_mut(), request.method == "HEAD")?;
    }
    Ok(())
}

impl Services {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, request: &Request) {
        self.state().requests.push(format!("{} {}", request.method, request.target));
    }

    fn answer(&self, request: &Request) -> Answer {
        let refusal = {
            let mut state = self.state();
            let (times, status) = state.refusals;
            state.refusals.0 = times.saturating_sub(1);
            (times > 0).then_some(status)
        };
        if let Some(status) = refusal {
            let body = String::from_utf8_lossy(&request.body);
            let text = format!("{} {:?} {body}", request.target, request.headers);
            return Answer { status, ..Answer::text(text) };
        }
        self.outcome(request).unwrap_or_else(|(status, word)| {
            let text =
                json!({"error": word, "error_description": format!("{:?}", request.headers)});
            Answer { status, ..Answer::text(text.to_string()) }
        })
    }

    fn outcome(&self, request: &Request) -> Outcome {
        let header = |name: &str| request.header(name).unwrap_or_default();
        // A proxy is told the host as well.
        let path = request.path.strip_prefix("http://").map(|rest| rest.split_once('/'));
        let path = path.map_or(&*request.path, |rest| rest.map_or("", |(_, path)| path));
        let in_role = path.strip_prefix(ROLES).filter(|_| header(SESSION_HEADER) == SESSION);
        match (&*request.method, path) {
            ("POST", "") => self.web_identity(request),
            ("GET", "role") if header("authorization") == PROOF => Ok(self.role()),
            ("GET", "task") if header("authorization").is_empty() => Ok(self.role()),
            ("PUT", "latest/api/token") if !header(TTL_HEADER).is_empty() => {
                Ok(Answer::text(SESSION))
            }
            ("GET", _) if in_role == Some("/") => Ok(Answer::text("reader")),
            ("GET", _) if in_role == Some("/reader") => Ok(self.role()),
            ("POST", "o/oauth2/token") => self.user(request),
            ("POST", _) if path == format!("{TENANT}/oauth2/v2.0/token") => {
                self.application(request)
            }
            ("GET", "metadata/identity/oauth2/token") if header("metadata") == "true" => {
                self.machine(request)
            }
            ("GET", "msi/token") if header("x-identity-header") == PROOF => self.machine(request),
            ("GET", GOOGLE_TOKEN) if header("metadata-flavor") == "Google" => Ok(self.token()),
            _ => Err((401, "access_denied")),
        }
    }

    fn life(&self) -> Duration {
        self.state().life
    }

    fn expire(&self) -> SystemTime {
        SystemTime::now() + self.life()
    }

    /// A key of S3, as the services of containers and instances give it.
    fn role(&self) -> Answer {
        let key = self.issued.key();
        let text = json!({
            "Code": "Success",
            "AccessKeyId": key.id,
            "SecretAccessKey": key.secret,
            "Token": key.token,
            "Expiration": time::text(self.expire()),
        });
        Answer::text(text.to_string())
    }

    fn web_identity(&self, request: &Request) -> Outcome {
        let is = |name: &str, value: &str| request.query.get(name).is_some_and(|it| it == value);
        if !is("Action", "AssumeRoleWithWebIdentity") || !is("Version", "2011-06-15") {
            return Err((400, "InvalidAction"));
        }
        if !is("RoleArn", ROLE) || !is("WebIdentityToken", PROOF) {
            return Err((403, "AccessDenied"));
        }
        let key = self.issued.key();
        let expire = time::text(self.expire());
        Ok(Answer::text(format!(
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
             <AccessKeyId>{}</AccessKeyId><SecretAccessKey>{}</SecretAccessKey>\
             <SessionToken>{}</SessionToken><Expiration>{expire}</Expiration></Credentials>\
             </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
            key.id, key.secret, key.token,
        )))
    }

    /// A token, as services say it that name the seconds for which it lasts.
    fn token(&self) -> Answer {
        let (token, seconds) = (self.issued.token(), self.life().as_secs());
        let text = json!({"access_token": token, "expires_in": seconds, "token_type": "Bearer"});
        Answer::text(text.to_string())
    }

    fn application(&self, request: &Request) -> Outcome {
        let form = form(request);
        let is = |name: &str, value: &str| form.get(name).is_some_and(|it| it == value);
        let is_known = is("client_id", CLIENT)
            && is("grant_type", "client_credentials")
            && is("scope", "https://storage.azure.com/.default");
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let is_proven = is("client_secret", PROOF)
            || is("client_assertion_type", kind) && is("client_assertion", PROOF);
        if is_known && is_proven { Ok(self.token()) } else { Err((401, "invalid_client")) }
    }

    /// A token, as services say it that name the time at which it expires, in seconds since 1970.
    fn machine(&self, request: &Request) -> Outcome {
        let parameter = |name: &str| request.query.get(name).map(String::as_str);
        let is_known = parameter("resource") == Some("https://storage.azure.com")
            && parameter("api-version") == Some("2019-08-01")
            && parameter("client_id").is_none_or(|client| client == CLIENT);
        if !is_known {
            return Err((400, "invalid_request"));
        }
        let expire = self.expire().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let token = self.issued.token();
        let text = json!({"access_token": token, "expires_on": expire.to_string()});
        Ok(Answer::text(text.to_string()))
    }

    fn user(&self, request: &Request) -> Outcome {
        let form = form(request);
        let is = |name: &str, value: &str| form.get(name).is_some_and(|it| it == value);
        let is_known = is("grant_type", "refresh_token")
            && is("client_id", CLIENT)
            && is("client_secret", PROOF)
            && is("refresh_token", PROOF);
        if is_known { Ok(self.token()) } else { Err((400, "invalid_grant")) }
    }
}

/// Names and values in the body of a request.
fn form(request: &Request) -> BTreeMap<String, String> {
    let body = String::from_utf8_lossy(&request.body).replace('+', " ");
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// File of the credentials of a user of Google, as its tools leave it.
pub fn user_file() -> String {
    json!({
        "type": "authorized_user",
        "client_id": CLIENT,
        "client_secret": PROOF,
        "refresh_token": PROOF,
    })
    .to_string()
}
