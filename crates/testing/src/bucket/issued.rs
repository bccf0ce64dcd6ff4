//! Credentials that identity services hand out, and that a store lets in.
//!
//! | kind | how a request shows it |
//! |---|---|
//! | key of S3 with a token | a signature of version 4, and `x-amz-security-token` |
//! | token of Azure or Google | `Authorization: Bearer TOKEN` |
//! | service account of Google | likewise, with a token that the account signs itself |
//! | key of an account of Azure | `Authorization: SharedKey ACCOUNT:SIGNATURE` |
//! | shared access signature of Azure | parameters of the URL |
//!
//! The last three are no service's: they are let in from the beginning. [`Issued::withdraw`] takes
//! all back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::account;
use super::message::Request;
use super::shared_key;
use super::signature::{Key, REGION, Refusal};
use super::sums::base64;

/// Word that is a part of all secrets, so that texts can be searched for it.
pub const SECRET: &str = "TopSecret";
/// Account of Azure.
pub const ACCOUNT: &str = "me";
/// Key of the account.
const ACCOUNT_KEY: &[u8] = b"TopSecret key of the account: me";
/// A shared access signature, as a user has it in a variable.
pub const SHARED: &str = "sv=2022-11-02&sr=c&sp=racwdl&sig=TopSecret%2Fshared%2B%3D";
/// Its parameters, as requests have them.
const SHARED_PARAMETERS: [(&str, &str); 4] =
    [("sv", "2022-11-02"), ("sr", "c"), ("sp", "racwdl"), ("sig", "TopSecret/shared+=")];

/// Credentials that were handed out. Copies are of the same ones.
#[derive(Clone, Default)]
pub struct Issued(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Number of times that some were handed out.
    count: usize,
    /// Secrets and tokens of keys, by their ids.
    keys: BTreeMap<String, TemporaryKey>,
    tokens: BTreeSet<String>,
    /// Whether all that was handed out before was taken back.
    is_withdrawn: bool,
    /// Names of those that requests were let in with.
    used: BTreeSet<String>,
}

/// A key of S3 that a service hands out.
#[derive(Clone)]
pub struct TemporaryKey {
    /// Name of the key.
    pub id: String,
    /// Secret that requests are signed with.
    pub secret: String,
    /// Token that requests show.
    pub token: String,
}

impl Issued {
    /// Hands out a key of S3.
    pub fn key(&self) -> TemporaryKey {
        let mut state = self.state();
        state.count += 1;
        let count = state.count;
        let key = TemporaryKey {
            id: format!("ASIA{count:016}"),
            secret: format!("{SECRET}/key+{count}"),
            token: format!("{SECRET}/token+{count}=="),
        };
        state.keys.insert(key.id.clone(), key.clone());
        key
    }

    /// Hands out a token of Azure or Google.
    pub fn token(&self) -> String {
        let mut state = self.state();
        state.count += 1;
        let token = format!("ya29.{SECRET}-{}", state.count);
        state.tokens.insert(token.clone());
        token
    }

    /// Takes back all that was handed out, and the credentials that are no service's.
    pub fn withdraw(&self) {
        let mut state = self.state();
        state.tokens.clear();
        state.keys.clear();
        state.is_withdrawn = true;
    }

    /// Number of credentials that requests were let in with since this was asked last.
    pub fn take_used(&self) -> usize {
        std::mem::take(&mut self.state().used).len()
    }

    /// Lets a request in, if it shows credentials.
    pub(super) fn verify(&self, request: &Request) -> Result<(), Refusal> {
        let mut state = self.state();
        let used = state.used_by(request)?;
        state.used.insert(used);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Name of the credentials that a request shows.
    fn used_by(&self, request: &Request) -> Result<String, Refusal> {
        let Some(authorization) = request.header("authorization") else {
            let has = |(name, value): &(&str, &str)| {
                request.query.get(*name).is_some_and(|found| found == value)
            };
            let is_shared = !self.is_withdrawn && SHARED_PARAMETERS.iter().all(has);
            return if is_shared { Ok("shared".to_owned()) } else { Err((403, "AccessDenied")) };
        };
        let (kind, words) = authorization.split_once(' ').unwrap_or((authorization.as_str(), ""));
        match kind {
            "AWS4-HMAC-SHA256" => self.used_by_key(request, words),
            "Bearer" if self.tokens.contains(words) => Ok(words.to_owned()),
            "Bearer" if !self.is_withdrawn && account::is_of_account(words) => {
                Ok("account".to_owned())
            }
            "Bearer" => Err((401, "InvalidAuthenticationInfo")),
            "SharedKey" => {
                let is_signed = shared_key::is_signed(request, ACCOUNT, ACCOUNT_KEY);
                let is_known = is_signed && !self.is_withdrawn;
                is_known.then(|| "key".to_owned()).ok_or((403, "AuthenticationFailed"))
            }
            _ => Err((403, "AccessDenied")),
        }
    }

    /// Id of the key that a request is signed with, if it shows its token too.
    fn used_by_key(&self, request: &Request, words: &str) -> Result<String, Refusal> {
        let id = words.trim_start_matches("Credential=").split('/').next().unwrap_or_default();
        let unknown =
            if self.is_withdrawn { (400, "ExpiredToken") } else { (403, "InvalidAccessKeyId") };
        let key = self.keys.get(id).ok_or(unknown)?;
        let signing = Key { id, secret: &key.secret, region: REGION };
        signing.verify(request, SystemTime::now())?;
        if request.header("x-amz-security-token").as_deref() != Some(&*key.token) {
            return Err((400, "InvalidToken"));
        }
        Ok(id.to_owned())
    }
}

/// Key of the account of Azure, as a user has it in a variable.
pub fn account_key() -> String {
    base64(ACCOUNT_KEY)
}

/// File of a service account of Google, as a user has it.
pub fn account_file() -> String {
    account::account_file()
}
