//! A store of objects in this process, that speaks as much of the protocol of S3 as is used, and
//! makes the faults that stores make.
//!
//! It listens on 127.0.0.1 alone. Requests are `GET` and `HEAD` with ranges and conditions, lists,
//! `PUT`, uploads in parts and `DELETE`, of paths such as `/bucket/key`, so that it is an ordinary
//! web server as well. Whether a request is signed is noted; signatures are not verified.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Names in one answer to a list: few, so that lists have several.
const LIST_MAX: usize = 3;

/// A request as the server saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method, such as `GET`.
    pub method: String,
    /// Bucket and key, such as `bucket/edges/a.csv`.
    pub path: String,
    /// Parameters behind the `?`.
    pub query: BTreeMap<String, String>,
    /// Range that was asked for: first byte and the one behind the last.
    pub range: Option<Range<u64>>,
    /// Entity tag that the object must have.
    pub if_match: Option<String>,
    /// Whether no object may be there.
    pub if_none: bool,
    /// Whether it was signed.
    pub signed: bool,
    body: Vec<u8>,
}

/// A thing that goes wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server answers with this status.
    Status(u16),
    /// The connection ends after half of the body.
    Cut,
    /// The body has a byte less than the range, and says so.
    Short,
    /// The body has a byte more than the range, and says so.
    Long,
    /// The server says nothing for so long, and then answers.
    Silent(Duration),
    /// The server does not look at entity tags.
    Careless,
    /// The server does not know ranges.
    Whole,
    /// Another object is put there before.
    Replaced(Vec<u8>),
    /// Somebody removes the object before.
    Removed,
    /// The server says that the object is at another URL.
    Moved(String),
}

/// Decides which answer goes wrong.
pub type Faults = dyn FnMut(&Request) -> Option<Fault> + Send;

/// The server. Its threads end with the process.
pub struct BucketServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, BTreeMap<u32, Vec<u8>>>,
    requests: Vec<Request>,
    faults: Option<Box<Faults>>,
    versions: u64,
    /// Whether answers have no entity tags.
    untagged: bool,
}

#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    tag: String,
}

/// An answer before it is written.
#[derive(Default)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Bytes of the body that are written; then the connection ends.
    cut: Option<usize>,
}

impl BucketServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that goes away ends its thread.
                thread::spawn(move || serve(&connection, &shared));
            }
        });
        Ok(Self { address, state })
    }

    /// URL of the server, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Variables by which programs find it and say who they are.
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_REGION", "nowhere-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "WELTERKEY".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "very/secret".to_owned()),
            ("AWS_MAX_ATTEMPTS", "4".to_owned()),
            ("NO_PROXY", "127.0.0.1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Puts an object, of a path such as `bucket/edges/a.csv`.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        lock(&self.state).put(path, bytes.into());
    }

    /// The bytes of an object, if there is one.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        Some(lock(&self.state).objects.get(path)?.bytes.to_vec())
    }

    /// Paths of all objects, in order.
    pub fn paths(&self) -> Vec<String> {
        lock(&self.state).objects.keys().cloned().collect()
    }

    /// Uploads in parts that were begun and neither finished nor given up.
    pub fn uploads(&self) -> usize {
        lock(&self.state).uploads.len()
    }

    /// Requests so far, which are forgotten then.
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut lock(&self.state).requests)
    }

    /// Answers without entity tags from now on.
    pub fn forget_tags(&self) {
        lock(&self.state).untagged = true;
    }

    /// Makes these faults from now on.
    pub fn fail(&self, faults: impl FnMut(&Request) -> Option<Fault> + Send + 'static) {
        lock(&self.state).faults = Some(Box::new(faults));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of a connection until it ends.
fn serve(connection: &TcpStream, state: &Mutex<State>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    while let Some(request) = Request::read(&mut reader)? {
        let fault = {
            let mut state = lock(state);
            state.requests.push(Request { body: Vec::new(), ..request.clone() });
            state.faults.as_mut().and_then(|faults| faults(&request))
        };
        if let Some(Fault::Silent(time)) = fault {
            thread::sleep(time);
        }
        let answer = lock(state).answer(&request, fault.as_ref());
        if !answer.write(connection, request.method == "HEAD")? {
            return Ok(());
        }
    }
    Ok(())
}

impl Request {
    /// Reads a request; `None` at the end.
    fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        let mut request = Self {
            method: method.to_owned(),
            path: decoded(path.trim_start_matches('/')),
            query: query.split('&').filter(|it| !it.is_empty()).map(pair).collect(),
            ..Self::default()
        };
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let value = value.trim();
            match &*name.to_ascii_lowercase() {
                "content-length" => length = value.parse().unwrap_or(0),
                "range" => request.range = range(value),
                "if-match" => request.if_match = Some(value.to_owned()),
                "if-none-match" => request.if_none = value == "*",
                "authorization" => request.signed = value.contains("Credential=WELTERKEY/"),
                _ => {}
            }
        }
        reader.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }
}

impl State {
    fn put(&mut self, path: &str, bytes: Vec<u8>) -> String {
        self.versions += 1;
        let tag = format!("\"v{}\"", self.versions);
        let object = Object { bytes: Arc::new(bytes), tag: tag.clone() };
        self.objects.insert(path.to_owned(), object);
        tag
    }

    fn answer(&mut self, request: &Request, fault: Option<&Fault>) -> Answer {
        match fault {
            Some(Fault::Status(status)) => return Answer::error(*status, "Oops"),
            Some(Fault::Replaced(bytes)) => {
                self.put(&request.path, bytes.clone());
            }
            Some(Fault::Removed) => {
                self.objects.remove(&request.path);
            }
            Some(Fault::Moved(url)) => {
                let headers = vec![("Location", url.clone())];
                return Answer { status: 307, headers, ..Answer::default() };
            }
            _ => {}
        }
        let has = |name: &str| request.query.contains_key(name);
        match &*request.method {
            "GET" if has("list-type") => self.list(request),
            "GET" | "HEAD" => self.read(request, fault),
            "POST" if has("uploads") => {
                self.versions += 1;
                let id = format!("upload-{}", self.versions);
                let text = format!(
                    "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
                     </InitiateMultipartUploadResult>"
                );
                self.uploads.insert(id, BTreeMap::new());
                Answer { status: 200, body: text.into(), ..Answer::default() }
            }
            "POST" | "PUT" | "DELETE" if has("uploadId") => self.upload(request),
            "PUT" if request.if_none && self.objects.contains_key(&request.path) => {
                Answer::error(412, "PreconditionFailed")
            }
            "PUT" => {
                let tag = self.put(&request.path, request.body.clone());
                Answer { status: 200, headers: vec![("ETag", tag)], ..Answer::default() }
            }
            "DELETE" => {
                self.objects.remove(&request.path);
                Answer { status: 204, ..Answer::default() }
            }
            _ => Answer::error(405, "MethodNotAllowed"),
        }
    }

    /// Answers with an object, or a range of it.
    fn read(&self, request: &Request, fault: Option<&Fault>) -> Answer {
        let Some(object) = self.objects.get(&request.path) else {
            return Answer::error(404, "NoSuchKey");
        };
        let careless = fault == Some(&Fault::Careless);
        if !careless && request.if_match.as_ref().is_some_and(|tag| *tag != object.tag) {
            return Answer::error(412, "PreconditionFailed");
        }
        let bytes = object.bytes.len() as u64;
        let mut answer = Answer {
            status: 200,
            headers: vec![("Last-Modified", "Thu, 26 Nov 2026 12:00:00 GMT".to_owned())],
            ..Answer::default()
        };
        if !self.untagged {
            answer.headers.push(("ETag", object.tag.clone()));
        }
        let mut range = 0..bytes;
        if let Some(asked) = request.range.clone().filter(|_| fault != Some(&Fault::Whole)) {
            range = asked.start..asked.end.min(bytes);
            if range.start >= range.end {
                return Answer::error(416, "InvalidRange");
            }
            answer.status = 206;
            let said = format!("bytes {}-{}/{bytes}", range.start, range.end - 1);
            answer.headers.push(("Content-Range", said));
        }
        answer.body = object.bytes[range.start as usize..range.end as usize].to_vec();
        match fault {
            Some(Fault::Short) => answer.body.truncate(answer.body.len() - 1),
            Some(Fault::Long) => answer.body.push(0),
            Some(Fault::Cut) => answer.cut = Some(answer.body.len() / 2),
            _ => {}
        }
        answer
    }

    /// Lists keys of a bucket, a few at a time.
    fn list(&self, request: &Request) -> Answer {
        let parameter = |name: &str| request.query.get(name).map_or("", |value| value);
        let bucket = format!("{}/", request.path.trim_end_matches('/'));
        let (prefix, behind) = (parameter("prefix"), parameter("continuation-token"));
        let keys = self.objects.iter().filter_map(|(path, object)| {
            let key = path.strip_prefix(&bucket)?;
            (key.starts_with(prefix) && key > behind).then_some((key, object))
        });
        let keys: Vec<_> = keys.collect();
        let mut text = "<ListBucketResult>".to_owned();
        for (key, object) in keys.iter().take(LIST_MAX) {
            let _ = write!(
                text,
                "<Contents><Key>{key}</Key><Size>{}</Size>\
                 <LastModified>2026-11-26T12:00:00.000Z</LastModified><ETag>{}</ETag></Contents>",
                object.bytes.len(),
                object.tag.replace('"', "&quot;"),
            );
        }
        if let Some((last, _)) = keys.get(LIST_MAX - 1).filter(|_| keys.len() > LIST_MAX) {
            let _ = write!(text, "<NextContinuationToken>{last}</NextContinuationToken>");
        }
        text += "</ListBucketResult>";
        Answer { status: 200, body: text.into(), ..Answer::default() }
    }

    /// Takes a part of an upload, finishes it, or gives it up.
    fn upload(&mut self, request: &Request) -> Answer {
        let id = &request.query["uploadId"];
        let Some(parts) = self.uploads.get_mut(id) else {
            return Answer::error(404, "NoSuchUpload");
        };
        match &*request.method {
            "PUT" => {
                let number = request.query.get("partNumber").and_then(|it| it.parse().ok());
                parts.insert(number.unwrap_or(0), request.body.clone());
                let tag = ("ETag", "\"part\"".to_owned());
                Answer { status: 200, headers: vec![tag], ..Answer::default() }
            }
            "POST" => {
                let whole = parts.values().flatten().copied().collect();
                self.uploads.remove(id);
                let tag = self.put(&request.path, whole).replace('"', "&quot;");
                let text = format!(
                    "<CompleteMultipartUploadResult><ETag>{tag}</ETag>\
                     </CompleteMultipartUploadResult>"
                );
                Answer { status: 200, body: text.into(), ..Answer::default() }
            }
            _ => {
                self.uploads.remove(id);
                Answer { status: 204, ..Answer::default() }
            }
        }
    }
}

impl Answer {
    /// An error as S3 words it, with what some stores tell of the key that was used.
    fn error(status: u16, code: &str) -> Self {
        let text = format!(
            "<Error><Code>{code}</Code><Message>m</Message>\
             <AWSAccessKeyId>WELTERKEY</AWSAccessKeyId></Error>"
        );
        Self { status, body: text.into(), ..Self::default() }
    }

    /// Writes it; whether the connection goes on.
    fn write(&self, mut to: &TcpStream, is_head: bool) -> io::Result<bool> {
        let mut head = format!("HTTP/1.1 {} -\r\n", self.status);
        if self.status != 204 {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head += "\r\n";
        to.write_all(head.as_bytes())?;
        if !is_head {
            to.write_all(&self.body[..self.cut.unwrap_or(self.body.len())])?;
        }
        Ok(self.cut.is_none())
    }
}

/// Bytes that a header asks for.
fn range(value: &str) -> Option<Range<u64>> {
    let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
    Some(first.parse().ok()?..last.parse::<u64>().ok()? + 1)
}

/// Text without percent signs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
