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

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzure, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorage, GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::{
    BackoffConfig, ClientOptions, Error, HeaderMap, HeaderValue, ObjectStore, RetryConfig,
};

use crate::azure;
use crate::checksum;
use crate::error::{ObjectError, ObjectErrorKind};
use crate::http::{CONNECT, Connections};
use crate::location::{Location, Scheme};
use crate::profile::Profile;
use crate::profile::program::KeyProgram;

/// Times that a request is made again, unless `AWS_MAX_ATTEMPTS` says otherwise.
const RETRIES: usize = 8;
/// How long a request may be made again.
const RETRY_SECONDS: u64 = 180;
/// The longest pause before a request is made again.
const PAUSE_SECONDS: u64 = 5;
/// How long a server may say nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// Beginnings of the names of variables that are looked at.
const PREFIXES: [&str; 3] = ["AWS_", "AZURE_", "GOOGLE_"];

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
        let known = |(name, _): &(String, String)| PREFIXES.iter().any(|it| name.starts_with(it));
        let mut variables: Vec<(String, String)> = variables.into_iter().filter(known).collect();
        variables.extend(azure::added(&variables));
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
        let store = match location.scheme {
            Scheme::S3 => self.s3(location).map(|store| Arc::new(store) as _),
            Scheme::Azure => self.azure(location).map(|store| Arc::new(store) as _),
            Scheme::Google => self.google(location).map(|store| Arc::new(store) as _),
            Scheme::Web => self.web(location).map(|store| Arc::new(store) as _),
        };
        // The text might repeat a value of the environment.
        store.map_err(|_| {
            let what = match location.scheme {
                Scheme::Web => "no address of a server (international names are written xn--...)",
                _ => {
                    "the variables of the environment that say who you are and where the bucket \
                     is do not go together, or are incomplete"
                }
            };
            ObjectError::new(location.root(), ObjectErrorKind::Address, what)
        })
    }

    /// The store of a location as it is asked for checksums of whole objects, if they are compared:
    /// of S3, where bytes come unencrypted. Other stores state one unasked, or none.
    pub(crate) fn stating(&self, location: &Location) -> Option<Arc<dyn ObjectStore>> {
        let is_plain = |(name, value): &(String, String)| {
            name.starts_with("AWS_ENDPOINT") && value.starts_with("http://")
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
        let builder = match &self.program {
            Some(program) => builder.with_credentials(program.clone()),
            None => builder,
        };
        self.keyed::<AmazonS3ConfigKey>("AWS_")
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .with_bucket_name(location.bucket())
            // Not all that speak its protocol know how to remove several at once.
            .with_disable_bulk_delete(true)
            .build()
    }

    /// A container of Azure.
    pub(crate) fn azure(&self, location: &Location) -> Result<MicrosoftAzure, Error> {
        let builder = MicrosoftAzureBuilder::new().with_client_options(self.client(location));
        let builder = builder.with_http_connector(self.connections()).with_retry(self.retries());
        self.keyed::<AzureConfigKey>("AZURE_")
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .with_url(format!("{}/", location.root()))
            .build()
    }

    /// A bucket of Google.
    pub(crate) fn google(&self, location: &Location) -> Result<GoogleCloudStorage, Error> {
        let builder = GoogleCloudStorageBuilder::new().with_client_options(self.client(location));
        let builder = builder.with_http_connector(self.connections()).with_retry(self.retries());
        self.keyed::<GoogleConfigKey>("GOOGLE_")
            .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            .with_bucket_name(location.bucket())
            .build()
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
        let certificates = self.variables.iter().find(|(name, _)| name == "AWS_CA_BUNDLE");
        let certificates = certificates.map(|(_, value)| value).filter(|value| !value.is_empty());
        Connections { silence: self.silence, certificates: certificates.map(PathBuf::from) }
    }

    /// The variables that begin so and that a store knows.
    fn keyed<K: FromStr>(&self, prefix: &str) -> impl Iterator<Item = (K, String)> {
        self.variables.iter().filter(move |(name, _)| name.starts_with(prefix)).filter_map(
            |(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.clone())),
        )
    }

    /// Whether requests may be plain: to addresses that say so alone; and how long a connection may
    /// take.
    fn client(&self, location: &Location) -> ClientOptions {
        let plain = |(name, value): &(String, String)| {
            (name.contains("ENDPOINT") || name.contains("BASE_URL")) && value.starts_with("http://")
        };
        let plain = location.root().starts_with("http://") || self.variables.iter().any(plain);
        ClientOptions::new().with_allow_http(plain).with_connect_timeout(CONNECT)
    }

    /// How often requests are made again.
    fn retries(&self) -> RetryConfig {
        let attempts = self.variables.iter().find(|(name, _)| name == "AWS_MAX_ATTEMPTS");
        let attempts = attempts.and_then(|(_, value)| value.trim().parse::<usize>().ok());
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
