//! Settings of stores in the environment, and stores that obey them.
//!
//! Names are those that the tools of the clouds know: `AWS_ACCESS_KEY_ID`, `AZURE_STORAGE_KEY`,
//! `GOOGLE_APPLICATION_CREDENTIALS` and so on, as `object_store` reads them, or as they are put
//! into its words ([`azure`]). Values are passed on and never shown.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, AwsCredentialProvider};
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::client::HttpConnector;
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::{
    BackoffConfig, ClientOptions, Error, HeaderMap, HeaderValue, ObjectStore, RetryConfig,
};

use crate::azure;
use crate::checksum;
use crate::container::{self, Container};
use crate::error::{ObjectError, ObjectErrorKind};
use crate::http::{CONNECT, Connections};
use crate::identity::Identity;
use crate::location::{Location, Scheme};
use crate::profile::Profile;
use crate::profile::program::KeyProgram;
use crate::variables;

/// Times that a request is made again, unless `AWS_MAX_ATTEMPTS` says otherwise.
const RETRIES: usize = 8;
/// Seconds for which a request may be made again.
const RETRY_SECONDS: u64 = 180;
/// The longest pause before a request is made again.
const PAUSE_SECONDS: u64 = 5;
/// Time that a server may say nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// Beginnings of the names of variables that are looked at.
const PREFIXES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];
/// Variables with the address of a store. Plain requests are made where one begins with `http://`.
const STORES: [&str; 6] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AZURE_ENDPOINT",
    "AZURE_STORAGE_ENDPOINT",
    "GOOGLE_BASE_URL",
];
/// Address of the metadata of an instance of Amazon, as `object_store` names it, and as the tools.
const METADATA: [&str; 2] = ["AWS_METADATA_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT"];

/// Source of the keys of S3.
enum KeySource {
    /// A program that a profile names.
    Program(Arc<KeyProgram>),
    /// Variables that hold keys, or name a role and the token for it; or none are wanted.
    Stated,
    /// The service of a container; an error is the variable whose address will not do.
    Container(Result<Uri, &'static str>),
    /// The metadata of the instance.
    Instance,
}

/// Variables of the environment, and how long a server may say nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    variables: Vec<(String, String)>,
    /// The program that hands out keys of S3, if a profile names one.
    program: Option<Arc<KeyProgram>>,
    silence: Duration,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("silence", &self.silence).finish_non_exhaustive()
    }
}

impl Settings {
    /// Settings of this process, and what files of Amazon's tools say beside them.
    pub fn of_environment() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let mut settings = Self::new(std::env::vars_os().filter_map(text));
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let profile = Profile::beside(&settings.variables, home.as_deref());
        settings.variables.extend(profile.variables);
        Self { program: profile.program.map(Arc::new), ..settings }
    }

    /// Settings as these variables say.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let known = |(name, _): &(String, String)| {
            PREFIXES.iter().any(|it| name.starts_with(it))
                || azure::UNPREFIXED.contains(&name.as_str())
        };
        let mut variables: Vec<(String, String)> = variables.into_iter().filter(known).collect();
        variables.extend(azure::added(&variables));
        let [metadata, of_tools] = METADATA.map(|name| value_of(&variables, name));
        let endpoint = of_tools.filter(|_| metadata.is_none()).map(str::to_owned);
        let endpoint = endpoint.map(|endpoint| endpoint.trim_end_matches('/').to_owned());
        variables.extend(endpoint.map(|endpoint| (METADATA[0].to_owned(), endpoint)));
        for (name, value) in &mut variables {
            if name.ends_with("AUTHORITY_HOST") {
                *value = azure::authority(value);
            }
        }
        Self { variables, program: None, silence: SILENCE }
    }

    /// Settings by which a server may say nothing for so long.
    #[must_use]
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// The store that a location lies in.
    pub(crate) fn connect(&self, location: &Location) -> Result<Arc<dyn ObjectStore>, ObjectError> {
        if !self.connections().has_certificates() {
            let what = "AWS_CA_BUNDLE names no file of certificates that can be read";
            return Err(ObjectError::new(location.root(), ObjectErrorKind::Address, what));
        }
        if let Some(what) = self.unusable(location.scheme) {
            return Err(ObjectError::new(location.root(), ObjectErrorKind::Address, what));
        }
        let store = match location.scheme {
            Scheme::S3 => self.s3(location).map(|store| Arc::new(store) as _),
            Scheme::Azure => self.azure(location).map(|store| Arc::new(store) as _),
            Scheme::Google => self.google(location).map(|store| Arc::new(store) as _),
            Scheme::Web => self.web(location).map(|store| Arc::new(store) as _),
        };
        // The text might repeat a value of the environment.
        store.map_err(|error| {
            let what = contradiction(location.scheme, &error);
            ObjectError::new(location.root(), ObjectErrorKind::Address, what)
        })
    }

    /// Variables that no request can be made with, in words, if there are some.
    fn unusable(&self, scheme: Scheme) -> Option<String> {
        let beginnings: &[&str] = match scheme {
            Scheme::S3 => &["AWS_"],
            Scheme::Azure => &["AZURE_", "IDENTITY_"],
            Scheme::Google => &["GOOGLE_"],
            Scheme::Web => return None,
        };
        let unusable = variables::unusable(&self.variables, beginnings);
        if unusable.is_some() || scheme != Scheme::S3 {
            return unusable;
        }
        match self.key_source() {
            KeySource::Container(Err(name)) => Some(format!(
                "{name} holds no address that keys come from: https, or this machine and the \
                 services of its containers"
            )),
            KeySource::Instance if self.has_no_instance() => Some(
                "the environment does not say who you are (AWS_ACCESS_KEY_ID and so on; \
                 AWS_SKIP_SIGNATURE=true for what is public), and AWS_EC2_METADATA_DISABLED says \
                 that this machine has no role"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Source of the keys of S3, in the order of `object_store`.
    fn key_source(&self) -> KeySource {
        let has = |name: &str| value_of(&self.variables, name).is_some();
        if let Some(program) = &self.program {
            return KeySource::Program(program.clone());
        }
        let has_keys = has("AWS_ACCESS_KEY_ID") || has("AWS_SECRET_ACCESS_KEY");
        let has_role = has("AWS_WEB_IDENTITY_TOKEN_FILE") && has("AWS_ROLE_ARN");
        if has_keys || has_role || has("AWS_SKIP_SIGNATURE") {
            return KeySource::Stated;
        }
        let container = container::address(|name| value_of(&self.variables, name));
        container.map_or(KeySource::Instance, KeySource::Container)
    }

    /// Whether the metadata of the instance are not to be asked.
    fn has_no_instance(&self) -> bool {
        let stated = value_of(&self.variables, "AWS_EC2_METADATA_DISABLED");
        stated.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
    }

    /// The store of a location as it is asked for checksums of whole objects, if they are compared:
    /// of S3, where bytes come unencrypted. Other stores state one unasked, or none.
    pub(crate) fn stating(&self, location: &Location) -> Option<Arc<dyn ObjectStore>> {
        let is_plain = |variable: &(String, String)| {
            is_plain_store(variable) && variable.0.starts_with("AWS_")
        };
        if location.scheme != Scheme::S3 || !self.variables.iter().any(is_plain) {
            return None;
        }
        // Headers of all requests are signed with them.
        let mut headers = HeaderMap::new();
        headers.insert(checksum::MODE, HeaderValue::from_static(checksum::MODE_ENABLED));
        let client = self.client(location).with_default_headers(headers);
        self.s3_by(location, client).ok().map(|store| Arc::new(store) as _)
    }

    /// A bucket of S3.
    pub(crate) fn s3(&self, location: &Location) -> Result<AmazonS3, Error> {
        self.s3_by(location, self.client(location))
    }

    fn s3_by(&self, location: &Location, client: ClientOptions) -> Result<AmazonS3, Error> {
        let builder = AmazonS3Builder::new().with_client_options(client);
        let builder = builder.with_http_connector(self.connections()).with_retry(self.retries());
        let builder = self
            .keyed::<AmazonS3ConfigKey>("AWS_")
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .with_bucket_name(location.bucket())
            // Not all that speak its protocol know how to remove several at once.
            .with_disable_bulk_delete(true);
        let keys: AwsCredentialProvider = match self.key_source() {
            KeySource::Program(program) => return builder.with_credentials(program).build(),
            KeySource::Container(address) => {
                let no_address =
                    |_| Error::Generic { store: "container", source: "address".into() };
                Arc::new(self.container(address.map_err(no_address)?)?)
            }
            KeySource::Stated | KeySource::Instance => {
                builder.clone().build()?.credentials().clone()
            }
        };
        builder.with_credentials(Identity::of(keys)).build()
    }

    /// The service of a container at an address.
    fn container(&self, address: Uri) -> Result<Container, Error> {
        let client = self.connections().connect(&ClientOptions::new().with_allow_http(true))?;
        let retries = self.retries();
        Ok(Container::new(address, |name| value_of(&self.variables, name), client, retries))
    }

    /// A container of Azure.
    pub(crate) fn azure(&self, location: &Location) -> Result<MicrosoftAzure, Error> {
        let builder = MicrosoftAzureBuilder::new().with_client_options(self.client(location));
        let builder = builder.with_http_connector(self.connections()).with_retry(self.retries());
        let builder = self
            .keyed::<AzureConfigKey>("AZURE_")
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .with_url(format!("{}/", location.root()));
        let credentials = builder.clone().build()?.credentials().clone();
        builder.with_credentials(Identity::of(credentials)).build()
    }

    /// A bucket of Google.
    pub(crate) fn google(&self, location: &Location) -> Result<GoogleCloudStorage, Error> {
        let builder = GoogleCloudStorageBuilder::new().with_client_options(self.client(location));
        let builder = builder.with_http_connector(self.connections()).with_retry(self.retries());
        let builder = self
            .keyed::<GoogleConfigKey>("GOOGLE_")
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .with_bucket_name(location.bucket());
        let credentials = builder.clone().build()?.credentials().clone();
        builder.with_credentials(Identity::of(credentials)).build()
    }

    fn web(&self, location: &Location) -> Result<HttpStore, Error> {
        HttpBuilder::new()
            .with_url(format!("{}/", location.root()))
            .with_client_options(self.client(location))
            .with_http_connector(self.connections())
            .with_retry(self.retries())
            .build()
    }

    fn connections(&self) -> Connections {
        let certificates = value_of(&self.variables, "AWS_CA_BUNDLE");
        Connections::new(self.silence, certificates.map(PathBuf::from))
    }

    /// The variables that begin so and that a store knows. One without a value says nothing.
    fn keyed<K: FromStr>(&self, prefix: &str) -> impl Iterator<Item = (K, String)> {
        let is_said =
            move |(name, value): &&(String, String)| name.starts_with(prefix) && !value.is_empty();
        self.variables.iter().filter(is_said).filter_map(|(name, value)| {
            Some((name.to_ascii_lowercase().parse().ok()?, value.clone()))
        })
    }

    /// Whether requests may be plain: to addresses that say so alone; and how long a connection may
    /// take.
    fn client(&self, location: &Location) -> ClientOptions {
        let is_plain = location.root().starts_with("http://");
        let is_plain = is_plain || self.variables.iter().any(is_plain_store);
        ClientOptions::new().with_allow_http(is_plain).with_connect_timeout(CONNECT)
    }

    /// Number of times that requests are made again.
    fn retries(&self) -> RetryConfig {
        let attempts = value_of(&self.variables, "AWS_MAX_ATTEMPTS");
        let attempts = attempts.and_then(|value| value.trim().parse::<usize>().ok());
        RetryConfig {
            backoff: BackoffConfig {
                max_backoff: Duration::from_secs(PAUSE_SECONDS),
                ..BackoffConfig::default()
            },
            max_retries: attempts.map_or(RETRIES, |attempts| attempts.saturating_sub(1)),
            retry_timeout: Duration::from_secs(RETRY_SECONDS),
        }
    }
}

/// The value of a variable, if it has one.
fn value_of<'a>(variables: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = variables.iter().find(|(other, value)| other == name && !value.is_empty());
    found.map(|(_, value)| value.as_str())
}

/// Whether a variable leads to a store that is spoken to without encryption.
fn is_plain_store((name, value): &(String, String)) -> bool {
    STORES.contains(&name.as_str()) && value.starts_with("http://")
}

/// Text of settings that no store can be made with. That of `object_store` might repeat a value.
fn contradiction(scheme: Scheme, error: &Error) -> &'static str {
    let text = error.to_string();
    if scheme == Scheme::Web {
        "no address of a server (international names are written xn--...)"
    } else if text.contains("open service account file") {
        "the file of credentials that GOOGLE_APPLICATION_CREDENTIALS or GOOGLE_SERVICE_ACCOUNT \
         names, or that gcloud left, cannot be read"
    } else if text.contains("decode service account file") {
        "the credentials of Google that the environment names, or that gcloud left, are neither \
         the key of a service account nor those of a user"
    } else {
        "the variables of the environment that say who you are and where the bucket is do not go \
         together, or are incomplete"
    }
}
