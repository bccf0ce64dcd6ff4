//! Settings of stores in the environment, and stores that obey them.
//!
//! Names are those that the tools of the clouds know: `AWS_ACCESS_KEY_ID`, `AZURE_STORAGE_KEY`,
//! `GOOGLE_APPLICATION_CREDENTIALS` and so on, as `object_store` reads them. Values are passed on
//! and never shown.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

use crate::error::{ObjectError, ObjectErrorKind};
use crate::http::Connections;
use crate::location::{Location, Scheme};
use crate::profile;

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
        settings.variables.extend(profile::added(&settings.variables, home.as_deref()));
        settings
    }

    /// Settings as these variables say.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let known = |(name, _): &(String, String)| PREFIXES.iter().any(|it| name.starts_with(it));
        Self { variables: variables.into_iter().filter(known).collect(), silence: SILENCE }
    }

    /// Settings by which a server may say nothing for so long.
    #[must_use]
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// The store that a location lies in.
    pub(crate) fn connect(&self, location: &Location) -> Result<Arc<dyn ObjectStore>, ObjectError> {
        let connections = || Connections { silence: self.silence };
        let (bucket, root) = (location.bucket(), format!("{}/", location.root()));
        let client = self.client(location);
        let store: Result<Arc<dyn ObjectStore>, object_store::Error> = match location.scheme {
            Scheme::S3 => {
                let builder = AmazonS3Builder::new().with_client_options(client);
                let builder = builder.with_http_connector(connections());
                let builder = builder.with_retry(self.retries());
                self.keyed::<AmazonS3ConfigKey>("AWS_")
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value))
                    .with_bucket_name(bucket)
                    // Not all that speak its protocol know how to remove several at once.
                    .with_disable_bulk_delete(true)
                    .build()
                    .map(|store| Arc::new(store) as _)
            }
            Scheme::Azure => {
                let builder = MicrosoftAzureBuilder::new().with_client_options(client);
                let builder = builder.with_http_connector(connections());
                let builder = builder.with_retry(self.retries());
                self.keyed::<AzureConfigKey>("AZURE_")
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value))
                    .with_url(root)
                    .build()
                    .map(|store| Arc::new(store) as _)
            }
            Scheme::Google => {
                let builder = GoogleCloudStorageBuilder::new().with_client_options(client);
                let builder = builder.with_http_connector(connections());
                let builder = builder.with_retry(self.retries());
                self.keyed::<GoogleConfigKey>("GOOGLE_")
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value))
                    .with_bucket_name(bucket)
                    .build()
                    .map(|store| Arc::new(store) as _)
            }
            Scheme::Web => HttpBuilder::new()
                .with_url(root)
                .with_client_options(client)
                .with_http_connector(connections())
                .with_retry(self.retries())
                .build()
                .map(|store| Arc::new(store) as _),
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

    /// The variables that begin so and that a store knows.
    fn keyed<K: FromStr>(&self, prefix: &str) -> impl Iterator<Item = (K, String)> {
        self.variables.iter().filter(move |(name, _)| name.starts_with(prefix)).filter_map(
            |(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.clone())),
        )
    }

    /// Whether requests may be plain: to addresses that say so alone.
    fn client(&self, location: &Location) -> ClientOptions {
        let plain = |(name, value): &(String, String)| {
            (name.contains("ENDPOINT") || name.contains("BASE_URL")) && value.starts_with("http://")
        };
        let plain = location.root().starts_with("http://") || self.variables.iter().any(plain);
        ClientOptions::new().with_allow_http(plain)
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
