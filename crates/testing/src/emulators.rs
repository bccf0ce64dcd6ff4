//! Stores of objects that others wrote, as processes of this machine: moto for S3, azurite for
//! Azure, at pinned versions below `target/tools`.
//!
//! Both verify signatures, and know more of the protocols than the store in this process
//! ([`crate::bucket`]), which in turn makes faults. They take 0.7 GB, so they are installed where
//! `WELTER_REQUIRE` names them (`s3`, `azure`), which then must succeed; else they are used where
//! they are installed, and tests say aloud that they were passed over.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;

use crate::answers::repository;

const MOTO: &str = "5.2.5";
const AZURITE: &str = "3.37.0";
/// Account of Azure, and its key in base 64.
const ACCOUNT: &str = "welter";
const KEY: &str = "dmVyeS1zZWNyZXQtdmVyeS1zZWNyZXQtdmVyeS1zZWNyZXQ=";

/// A store that listens on 127.0.0.1 and ends with this value. It has an empty bucket `box`.
pub struct Emulator {
    process: Child,
    /// Variables by which programs find it and say who they are.
    pub environment: Vec<(String, String)>,
    /// Beginning of the URLs of its bucket, such as `s3://box`.
    pub bucket: &'static str,
    /// Words that must never be shown.
    pub secret: String,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Emulator {
    /// Variables by which programs find the container of Azure, with a shared access signature that
    /// ends in `minutes` minutes in the place of the key.
    ///
    /// # Panics
    /// When Python makes no signature.
    pub fn shared(&self, minutes: i32) -> Vec<(String, String)> {
        let minutes = minutes.to_string();
        let arguments = ["-c", MAKE_SIGNATURE, ACCOUNT, KEY, &minutes];
        let made = Command::new("python3").args(arguments).output();
        let made = made.unwrap_or_else(|error| panic!("python3: {error}"));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let signature = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        let key = format!("AccountName={ACCOUNT};AccountKey={KEY};");
        let shared =
            |value: &str| value.replace(&key, &format!("SharedAccessSignature={signature};"));
        self.environment.iter().map(|(name, value)| (name.clone(), shared(value))).collect()
    }
}

/// S3 by moto, which verifies signatures.
///
/// # Panics
/// When `WELTER_REQUIRE` names `s3` and it cannot be had.
pub fn s3() -> Option<Emulator> {
    static SAID: Once = Once::new();
    had("s3", started_s3(), &SAID)
}

/// Azure by azurite, which verifies signatures.
///
/// # Panics
/// When `WELTER_REQUIRE` names `azure` and it cannot be had.
pub fn azure() -> Option<Emulator> {
    static SAID: Once = Once::new();
    had("azure", started_azure(), &SAID)
}

fn is_required(name: &str) -> bool {
    std::env::var("WELTER_REQUIRE").unwrap_or_default().split(',').any(|what| what == name)
}

fn had(name: &str, started: Result<Emulator, String>, once: &'static Once) -> Option<Emulator> {
    match started {
        Ok(emulator) => Some(emulator),
        Err(why) => {
            assert!(!is_required(name), "WELTER_REQUIRE asks for {name}: {why}");
            // Not `eprintln!`: of a test that passes, that would be swallowed.
            once.call_once(|| {
                let _ = writeln!(std::io::stderr(), "SKIPPED: tests of {name}: {why}");
            });
            None
        }
    }
}

/// A folder of tools that has this file in it once `install` has succeeded.
fn tools(
    (name, version, file): (&str, &str, &str),
    install: impl Fn(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let folder = repository().join(format!("target/tools/{name}-{version}"));
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let done = folder.join("installed");
    if !done.exists() && !is_required(if name == "moto" { "s3" } else { "azure" }) {
        return Err(format!("{name} {version} is installed where WELTER_REQUIRE asks for it"));
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    // Tests of several processes want it at once.
    let lock = File::create(folder.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if !done.exists() {
        install(&folder)?;
        fs::write(&done, "").map_err(failed)?;
    }
    Ok(folder.join(file))
}

fn must(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let ended =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{shown}: {error}"))?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!("{shown}: {}", String::from_utf8_lossy(&ended.stderr).trim()))
}

/// Starts a server, and reads lines of it until one has its address on 127.0.0.1.
fn listening(command: &mut Command) -> Result<(Child, String), String> {
    let shown = format!("{command:?}");
    // Both streams are one, since servers differ in where they say it.
    let (reader, writer) = std::io::pipe().map_err(|error| error.to_string())?;
    let errors = writer.try_clone().map_err(|error| error.to_string())?;
    let process = command.stdin(Stdio::null()).stdout(writer).stderr(errors).spawn();
    let process = process.map_err(|error| format!("{shown}: {error}"))?;
    // The ends of the pipe that the command holds would keep it open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lines = BufReader::new(reader).lines().map_while(Result::ok);
    let mut output = String::new();
    let address = lines.by_ref().find_map(|line| {
        output += &line;
        let (_, behind) = line.split_once("http://127.0.0.1:")?;
        let port: String = behind.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("http://127.0.0.1:{port}"))
    });
    // It continues speaking, and must not wait for who listens.
    std::thread::spawn(move || lines.for_each(drop));
    match address {
        Some(address) => Ok((process, address)),
        None => Err(format!("{shown}: {output}")),
    }
}

fn variables<const N: usize>(all: [(&str, String); N]) -> Vec<(String, String)> {
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

fn started_s3() -> Result<Emulator, String> {
    let python = tools(("moto", MOTO, "bin/python"), |folder| {
        must(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let package = format!("moto[server]=={MOTO}");
        must(Command::new(folder.join("bin/python")).args(pip).arg(package))
    })?;
    let mut server = Command::new(&python);
    server.args(["-c", "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"]);
    // The requests that make the user and the bucket are the last that need no signature.
    server.env("INITIAL_NO_AUTH_ACTION_COUNT", "4");
    let (process, url) = listening(&mut server)?;
    let made = Command::new(&python).args(["-c", MAKE_USER, &url]).output();
    let made = made.map_err(|error| error.to_string())?;
    let keys = String::from_utf8_lossy(&made.stdout).into_owned();
    let mut emulator =
        Emulator { process, environment: Vec::new(), bucket: "s3://box", secret: String::new() };
    let Some((id, secret)) = keys.trim().split_once(' ') else {
        return Err(format!("no user: {}", String::from_utf8_lossy(&made.stderr)));
    };
    secret.clone_into(&mut emulator.secret);
    emulator.environment = variables([
        ("AWS_ENDPOINT_URL", url),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", id.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
    ]);
    Ok(emulator)
}

/// Makes a user who may do all, and a bucket; prints the name and the secret of a key.
const MAKE_USER: &str = r#"
import sys, boto3
kind = dict(endpoint_url=sys.argv[1], region_name="us-east-1",
            aws_access_key_id="none", aws_secret_access_key="none")
iam = boto3.client("iam", **kind)
iam.create_user(UserName="me")
all = '{"Effect": "Allow", "Action": "*", "Resource": "*"}'
allow = '{"Version": "2012-10-17", "Statement": [' + all + ']}'
iam.put_user_policy(UserName="me", PolicyName="all", PolicyDocument=allow)
key = iam.create_access_key(UserName="me")["AccessKey"]
boto3.client("s3", **kind).create_bucket(Bucket="box")
print(key["AccessKeyId"], key["SecretAccessKey"])
"#;

fn started_azure() -> Result<Emulator, String> {
    let program = tools(("azurite", AZURITE, "node_modules/.bin/azurite-blob"), |folder| {
        let npm = ["install", "--silent", "--no-fund", "--no-audit", "--prefix"];
        must(Command::new("npm").args(npm).arg(folder).arg(format!("azurite@{AZURITE}")))
    })?;
    let mut server = Command::new(program);
    server.args(["--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence"]);
    server.args(["--disableTelemetry", "--skipApiVersionCheck"]);
    server.env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"));
    let (process, url) = listening(&mut server)?;
    let endpoint = format!("{url}/{ACCOUNT}");
    let environment = variables([
        (
            "AZURE_STORAGE_CONNECTION_STRING",
            format!("AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint}"),
        ),
        ("NO_PROXY", "127.0.0.1".to_owned()),
    ]);
    let emulator = Emulator { process, environment, bucket: "az://box", secret: KEY.to_owned() };
    must(Command::new("python3").args(["-c", MAKE_CONTAINER, &endpoint, ACCOUNT, KEY]))?;
    Ok(emulator)
}

/// Makes a container, by a signed request.
const MAKE_CONTAINER: &str = r#"
import base64, email.utils, hashlib, hmac, sys, urllib.request
endpoint, account, key = sys.argv[1:]
date, version = email.utils.formatdate(usegmt=True), "2021-12-02"
path = "/" + account + "/" + account + "/box"
text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n{path}\nrestype:container"
signed = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
headers = {"x-ms-date": date, "x-ms-version": version, "Content-Length": "0",
           "Authorization": f"SharedKey {account}:{base64.b64encode(signed).decode()}"}
request = urllib.request.Request(endpoint + "/box?restype=container", method="PUT", headers=headers)
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
"#;

/// Prints a signature by which its holder may do all in a container for some minutes.
const MAKE_SIGNATURE: &str = r#"
import base64, datetime, hashlib, hmac, sys, urllib.parse
account, key, minutes = sys.argv[1:]
now = datetime.datetime.now(datetime.timezone.utc)
begin, end = ((now + datetime.timedelta(minutes=later)).strftime("%Y-%m-%dT%H:%M:%SZ")
              for later in (-60, int(minutes)))
version, rights = "2021-12-02", "racwdl"
text = [rights, begin, end, f"/blob/{account}/box", "", "", "", version, "c"] + [""] * 7
signed = hmac.new(base64.b64decode(key), "\n".join(text).encode(), hashlib.sha256).digest()
print(urllib.parse.urlencode({"sv": version, "sr": "c", "sp": rights, "st": begin, "se": end,
                              "sig": base64.b64encode(signed).decode()}))
"#;
