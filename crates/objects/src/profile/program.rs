//! Keys of an account that a program hands out: `credential_process` of a profile.
//!
//! The program is run by the shell, as Amazon's own tools run it, and writes one object of JSON.
//! What it hands out is kept until shortly before it expires. welter shows neither its command nor
//! its output, which may hold secrets; messages that the program and the shell write to standard
//! error reach the user, who may have to answer them.
//!
//! Invariant: at most one process of a program runs at a time. Tested by
//! `buckets_and_threads_share_keys_and_failures`.

use std::collections::BTreeMap;
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

/// Time that the program may take: a user may have to confirm what it asks for.
const PATIENCE: Duration = Duration::from_mins(1);
/// Interval at which it is looked whether the program has ended.
const LOOK: Duration = Duration::from_millis(10);
/// Time before they expire at which keys are asked for again, or half of their life if that is
/// less.
const EARLY: Duration = Duration::from_mins(5);
/// Time for which a failure is that of all who ask.
const FAILED: Duration = Duration::from_secs(5);
/// Bytes of its output at most.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// Reason why a program hands out no keys.
#[derive(Clone, Copy, Debug, Error)]
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

/// A program that hands out keys, and what it did last. All of one command share that.
#[derive(Clone, Debug)]
pub(crate) struct KeyProgram {
    command: String,
    held: Arc<Mutex<Held>>,
}

/// Outcome of the last process of a program.
#[derive(Clone, Debug, Default)]
enum Held {
    #[default]
    Nothing,
    Keys(Keys),
    Failure(KeyError, Instant),
}

/// Keys, and when they are asked for again.
#[derive(Clone, Debug)]
struct Keys {
    credential: Arc<AwsCredential>,
    until: Option<SystemTime>,
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
        static PROGRAMS: Mutex<BTreeMap<String, Arc<Mutex<Held>>>> = Mutex::new(BTreeMap::new());
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let held = programs.entry(command.clone()).or_default().clone();
        Self { command, held }
    }

    /// Keys that are good for a while, by the program where none are held.
    fn keys(&self) -> Result<Arc<AwsCredential>, KeyError> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Held::Keys(keys) if keys.until.is_none_or(|until| until > SystemTime::now()) => {
                return Ok(keys.credential.clone());
            }
            Held::Failure(error, at) if at.elapsed() < FAILED => return Err(*error),
            _ => {}
        }
        let found = output(&self.command, PATIENCE).and_then(|output| parsed(&output));
        *held = match &found {
            Ok(keys) => Held::Keys(keys.clone()),
            Err(error) => Held::Failure(*error, Instant::now()),
        };
        Ok(found?.credential)
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
        let program = self.clone();
        let keys = tokio::task::spawn_blocking(move || program.keys()).await?;
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
    let until = |expire: SystemTime| {
        let life = expire.duration_since(SystemTime::now()).unwrap_or_default();
        if life.is_zero() { Err(KeyError::Expired) } else { Ok(expire - EARLY.min(life / 2)) }
    };
    let until = expire.map(until).transpose()?;
    let credential = AwsCredential {
        key_id: found.access_key_id,
        secret_key: found.secret_access_key,
        token: found.session_token.filter(|token| !token.is_empty()),
    };
    Ok(Keys { credential: Arc::new(credential), until })
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

    /// Field of keys that have this life left.
    fn expiration(life: Duration) -> String {
        let then = DateTime::<chrono::Utc>::from(SystemTime::now() + life).to_rfc3339();
        format!(r#","Expiration":"{then}""#)
    }

    #[test]
    fn keys_are_held_until_shortly_before_they_expire() {
        for life in [None, Some(EARLY * 100), Some(EARLY / 2)] {
            let folder = tempfile::tempdir().unwrap();
            let program = program(folder.path(), &life.map(expiration).unwrap_or_default());
            for _ in 0..3 {
                let keys = program.keys().unwrap();
                let found = (keys.key_id.as_str(), keys.secret_key.as_str(), keys.token.as_deref());
                assert_eq!(found, ("AKIA", "s/+", Some("t")));
            }
            assert_eq!(calls(folder.path()), 1, "{life:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        let program = program(folder.path(), &expiration(Duration::from_secs(1)));
        program.keys().unwrap();
        thread::sleep(Duration::from_millis(600));
        // After half of their life, or once they have expired: either way by another process.
        let _ = program.keys();
        assert_eq!(calls(folder.path()), 2);
    }

    #[test]
    fn buckets_and_threads_share_keys_and_failures() {
        let folder = tempfile::tempdir().unwrap();
        let command = program(folder.path(), "").command;
        let fails = format!("echo x >> '{}'; exit 1", folder.path().join("count").display());
        for (command, is_known) in [(command, true), (fails, false)] {
            let before = if is_known { 0 } else { calls(folder.path()) };
            thread::scope(|scope| {
                for _ in 0..8 {
                    let program = KeyProgram::new(command.clone());
                    scope.spawn(move || assert_eq!(program.keys().is_ok(), is_known));
                }
            });
            assert_eq!(calls(folder.path()), before + 1, "{command}");
        }
    }

    #[test]
    fn programs_that_hand_out_nothing_are_named_without_what_they_say() {
        let error = |command: &str| {
            let found = KeyProgram::new(command.to_owned()).keys().unwrap_err().to_string();
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
