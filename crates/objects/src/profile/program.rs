//! Keys of an account that a program hands out: `credential_process` of a profile.
//!
//! The program is run by the shell, as Amazon's own tools run it, and writes one object of JSON.
//! What it hands out is kept until shortly before it expires. Neither its command nor its output is
//! ever shown: both may hold secrets.
//!
//! Invariant: at most one process of the program runs at a time. Tested by
//! `keys_are_held_until_shortly_before_they_expire`.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use chrono::DateTime;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use serde::Deserialize;
use thiserror::Error;

/// How long the program may take: a user may have to confirm what it asks for.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How long before they expire keys are asked for again.
const EARLY: Duration = Duration::from_mins(5);
/// Bytes of its output at most.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// Why a program hands out no keys.
#[derive(Debug, Error)]
pub(crate) enum KeyError {
    #[error("the program that the profile names for keys (credential_process) cannot be run")]
    Unstarted,
    #[error("the program that the profile names for keys (credential_process) failed{}",
        .0.map_or_else(String::new, |code| format!(" with exit code {code}")))]
    Failed(Option<i32>),
    #[error("the program that the profile names for keys (credential_process) took more than {} s",
        PATIENCE.as_secs())]
    Late,
    #[error(
        "the program that the profile names for keys (credential_process) writes something else \
         than version 1 of an object with AccessKeyId and SecretAccessKey"
    )]
    Output,
    #[error("the keys of the program that the profile names (credential_process) have expired")]
    Expired,
}

/// A program that hands out keys, and those that it did.
#[derive(Debug)]
pub(crate) struct KeyProgram {
    command: String,
    held: Arc<Mutex<Option<Keys>>>,
}

/// Keys, and when they expire.
#[derive(Clone, Debug)]
struct Keys {
    credential: Arc<AwsCredential>,
    expire: Option<SystemTime>,
}

/// The output of a program.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    version: u32,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<String>,
}

impl KeyProgram {
    pub(crate) fn new(command: String) -> Self {
        Self { command, held: Arc::default() }
    }

    /// Keys that are good for a while, by the program where none are held.
    fn keys(command: &str, held: &Mutex<Option<Keys>>) -> Result<Arc<AwsCredential>, KeyError> {
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let later = SystemTime::now() + EARLY;
        let lasts = |keys: &&Keys| keys.expire.is_none_or(|expire| expire > later);
        if let Some(keys) = held.as_ref().filter(lasts) {
            return Ok(keys.credential.clone());
        }
        let keys = parsed(&output(command, PATIENCE)?)?;
        if keys.expire.is_some_and(|expire| expire <= SystemTime::now()) {
            return Err(KeyError::Expired);
        }
        Ok(held.insert(keys).credential.clone())
    }
}

impl PartialEq for KeyProgram {
    fn eq(&self, other: &Self) -> bool {
        self.command == other.command
    }
}

impl Eq for KeyProgram {}

#[async_trait]
impl CredentialProvider for KeyProgram {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let (command, held) = (self.command.clone(), self.held.clone());
        let keys = tokio::task::spawn_blocking(move || Self::keys(&command, &held)).await?;
        keys.map_err(|error| object_store::Error::Generic {
            store: "keys",
            source: Box::new(error),
        })
    }
}

/// Output of a command that succeeds within a time. Its messages go to the user.
fn output(command: &str, patience: Duration) -> Result<Vec<u8>, KeyError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = shell.spawn().map_err(|_| KeyError::Unstarted)?;
    let deadline = Instant::now() + patience;
    let found = written(&mut child, deadline);
    if found.is_err() {
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
    found
}

/// Output of a process that succeeds before the deadline.
fn written(child: &mut Child, deadline: Instant) -> Result<Vec<u8>, KeyError> {
    let pipe = child.stdout.take().ok_or(KeyError::Unstarted)?;
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        let read = pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes);
        // The receiver is gone where the time is over.
        let _ = sender.send(read.map(|_| bytes));
    };
    thread::Builder::new().spawn(read).map_err(|_| KeyError::Unstarted)?;
    let left = || deadline.saturating_duration_since(Instant::now());
    let bytes = receiver.recv_timeout(left()).map_err(|_| KeyError::Late)?;
    let bytes = bytes.map_err(|_| KeyError::Output)?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(bytes),
            Ok(Some(status)) => return Err(KeyError::Failed(status.code())),
            Ok(None) if left().is_zero() => return Err(KeyError::Late),
            Ok(None) => thread::sleep(LOOK),
            Err(_) => return Err(KeyError::Failed(None)),
        }
    }
}

/// The keys in the output of a program.
fn parsed(output: &[u8]) -> Result<Keys, KeyError> {
    let found: Output = serde_json::from_slice(output).map_err(|_| KeyError::Output)?;
    if found.version != 1 || found.access_key_id.is_empty() || found.secret_access_key.is_empty() {
        return Err(KeyError::Output);
    }
    let expire = found.expiration.as_deref().map(DateTime::parse_from_rfc3339).transpose();
    let expire = expire.map_err(|_| KeyError::Output)?.map(SystemTime::from);
    let credential = AwsCredential {
        key_id: found.access_key_id,
        secret_key: found.secret_access_key,
        token: found.session_token.filter(|token| !token.is_empty()),
    };
    Ok(Keys { credential: Arc::new(credential), expire })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// A program that counts its calls in a file and hands out keys that expire then.
    fn program(folder: &Path, expiration: &str) -> KeyProgram {
        let count = folder.join("count").display().to_string();
        let keys = r#""AccessKeyId":"AKIA","SecretAccessKey":"s/+","SessionToken":"t""#;
        let output = format!(r#"{{"Version":1,{keys}{expiration}}}"#);
        KeyProgram::new(format!("echo x >> '{count}'; echo '{output}'"))
    }

    fn calls(folder: &Path) -> usize {
        fs::read_to_string(folder.join("count")).unwrap().lines().count()
    }

    #[test]
    fn keys_are_held_until_shortly_before_they_expire() {
        let far = r#","Expiration":"2999-01-01T00:00:00Z""#.to_owned();
        let soon = SystemTime::now() + EARLY / 2;
        let soon = DateTime::<chrono::Utc>::from(soon).to_rfc3339();
        for (expiration, times) in [(String::new(), 1), (far, 1)]
            .into_iter()
            .chain([(format!(r#","Expiration":"{soon}""#), 3)])
        {
            let folder = tempfile::tempdir().unwrap();
            let program = program(folder.path(), &expiration);
            for _ in 0..3 {
                let keys = KeyProgram::keys(&program.command, &program.held).unwrap();
                let found = (keys.key_id.as_str(), keys.secret_key.as_str(), keys.token.as_deref());
                assert_eq!(found, ("AKIA", "s/+", Some("t")));
            }
            assert_eq!(calls(folder.path()), times, "{expiration}");
        }
    }

    #[test]
    fn programs_that_hand_out_nothing_are_named_without_what_they_say() {
        let error = |command: &str| {
            let found = KeyProgram::keys(command, &Mutex::default()).unwrap_err().to_string();
            assert!(found.contains("credential_process") && !found.contains("secret"), "{found}");
            found
        };
        assert!(error("exit 3 # secret").contains("exit code 3"));
        assert!(error("kill -9 $$").ends_with("failed"));
        for output in ["", "secret", r#"{"Version":1,"AccessKeyId":"secret"}"#] {
            assert!(error(&format!("echo '{output}'")).contains("something else"), "{output}");
        }
        let keys = |version: &str, id: &str, then: &str| {
            let keys = format!(r#""AccessKeyId":"{id}","SecretAccessKey":"secret""#);
            let rest = format!(r#""Version":{version},"Expiration":"{then}""#);
            error(&format!("echo '{{{keys},{rest}}}'"))
        };
        assert!(keys("2", "a", "2999-01-01T00:00:00Z").contains("something else"));
        assert!(keys("1", "", "2999-01-01T00:00:00Z").contains("something else"));
        assert!(keys("1", "a", "tomorrow").contains("something else"));
        assert!(keys("1", "a", "2001-01-01T00:00:00+02:00").contains("expired"));
        assert!(error("head -c 100000 /dev/zero").contains("credential_process"));
    }

    #[test]
    fn a_program_that_never_ends_is_not_waited_for() {
        let patience = Duration::from_millis(200);
        for command in ["exec sleep 1000", "exec >&-; exec sleep 1000", "sleep 3 & echo x"] {
            assert!(matches!(output(command, patience), Err(KeyError::Late)), "{command}");
        }
    }
}
