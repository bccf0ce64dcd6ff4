//! A store of objects in this process, that speaks as much of the protocol of S3 as is used, and
//! makes the faults that stores make.
//!
//! It listens on 127.0.0.1 unless another address is given. Requests are `GET` and `HEAD` with
//! ranges and conditions, lists, `PUT`, uploads in parts (those of Google are alike) and `DELETE`,
//! of paths such as `/bucket/key`, so that it is an ordinary web server as well; blocks and batches
//! of Azure are known too. Whether a request is signed is noted; signatures are not verified.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

mod message;

pub use self::message::Request;
use self::message::{Answer, decoded};

/// Names in one answer to a list: few, so that lists have several.
const LIST_MAX: usize = 3;
/// When all objects were written, as lists say where a test says nothing else: later than now.
const LISTED: &str = "2126-11-26T12:00:00.000Z";
/// And as heads say.
const DATE: &str = "Thu, 26 Nov 2026 12:00:00 GMT";

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
    /// The server does it, says nothing for so long, and then answers.
    Late(Duration),
    /// The server answers 200 with this word for an error, and does nothing.
    Inside(&'static str),
    /// The server does not look at entity tags.
    Careless,
    /// The server does not know ranges.
    Whole,
    /// Another object is put there before.
    Replaced(Vec<u8>),
    /// Another client removes the object before.
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
    uploads: BTreeMap<String, Begun>,
    /// Blocks of no object, by path and name.
    blocks: BTreeMap<(String, String), Vec<u8>>,
    requests: Vec<Request>,
    /// Requests that are not answered yet, and the most of them at any time.
    busy: [usize; 2],
    faults: Option<Box<Faults>>,
    versions: u64,
    /// Whether answers have no entity tags.
    untagged: bool,
    /// When all objects were written, as lists say.
    listed: Option<String>,
}

#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    tag: String,
    mark: Option<String>,
}

/// An upload that is not complete.
struct Begun {
    path: String,
    mark: Option<String>,
    parts: BTreeMap<u32, Vec<u8>>,
}

impl BucketServer {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn start() -> io::Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST)
    }

    /// Begins to listen at an address of this machine, such as that of a namespace's cable.
    ///
    /// # Errors
    /// When the address is not there, or the system gives no port.
    pub fn start_at(address: Ipv4Addr) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
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
            ("NO_PROXY", self.address.ip().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Lists say from now on that all objects were written at this time, such as
    /// `2020-01-01T00:00:00.000Z`.
    pub fn all_written_at(&self, time: &str) {
        lock(&self.state).listed = Some(time.to_owned());
    }

    /// Puts an object, of a path such as `bucket/edges/a.csv`.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        lock(&self.state).put(path, bytes.into(), None);
    }

    /// The bytes of an object, if there is one.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        Some(lock(&self.state).objects.get(path)?.bytes.to_vec())
    }

    /// Paths of all objects, in order.
    pub fn paths(&self) -> Vec<String> {
        lock(&self.state).objects.keys().cloned().collect()
    }

    /// Paths of uploads in parts that were begun and neither finished nor given up.
    pub fn uploads(&self) -> Vec<String> {
        lock(&self.state).uploads.values().map(|upload| upload.path.clone()).collect()
    }

    /// Requests so far, which are forgotten then.
    pub fn take_requests(&self) -> Vec<Request> {
        std::mem::take(&mut lock(&self.state).requests)
    }

    /// The most requests that waited for their answers at any time, which is forgotten then.
    pub fn take_most_at_once(&self) -> usize {
        let mut state = lock(&self.state);
        let [now, most] = state.busy;
        state.busy[1] = now;
        most
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
            let [now, most] = state.busy;
            state.busy = [now + 1, most.max(now + 1)];
            state.requests.push(Request { body: Vec::new(), ..request.clone() });
            state.faults.as_mut().and_then(|faults| faults(&request))
        };
        if let Some(Fault::Silent(time)) = fault {
            thread::sleep(time);
        }
        let answer = lock(state).answer(&request, fault.as_ref());
        if let Some(Fault::Late(time)) = fault {
            thread::sleep(time);
        }
        // A client that has its answer may ask again at once.
        lock(state).busy[0] -= 1;
        if !answer.write(connection, request.method == "HEAD")? {
            return Ok(());
        }
    }
    Ok(())
}

impl State {
    fn put(&mut self, path: &str, bytes: Vec<u8>, mark: Option<&String>) -> Answer {
        self.versions += 1;
        let tag = format!("\"v{}\"", self.versions);
        let object = Object { bytes: Arc::new(bytes), tag: tag.clone(), mark: mark.cloned() };
        self.objects.insert(path.to_owned(), object);
        let headers = vec![("ETag", tag), ("Last-Modified", DATE.to_owned())];
        Answer { status: 200, headers, ..Answer::default() }
    }

    fn answer(&mut self, request: &Request, fault: Option<&Fault>) -> Answer {
        match fault {
            Some(Fault::Status(status)) => return Answer::error(*status, "Oops"),
            Some(Fault::Inside(code)) => {
                return Answer { status: 200, ..Answer::error(500, code) };
            }
            Some(Fault::Replaced(bytes)) => {
                self.put(&request.path, bytes.clone(), None);
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
            "POST" if has("uploads") => self.begin(request),
            "POST" if has("comp") => self.batch(request),
            "POST" | "PUT" | "DELETE" if has("uploadId") => self.upload(request),
            "PUT" if request.if_none && self.objects.contains_key(&request.path) => {
                Answer::error(412, "PreconditionFailed")
            }
            "PUT" if !self.is_of_version(request) => Answer::error(412, "PreconditionFailed"),
            "PUT" if has("comp") => self.block(request),
            "PUT" => self.put(&request.path, request.body.clone(), request.mark.as_ref()),
            "DELETE" => {
                self.objects.remove(&request.path);
                Answer { status: 204, ..Answer::default() }
            }
            _ => Answer::error(405, "MethodNotAllowed"),
        }
    }

    /// Whether the object is of the version that a request states, if it states one.
    fn is_of_version(&self, request: &Request) -> bool {
        let found = self.objects.get(&request.path).map(|object| &object.tag);
        request.if_match.as_ref().is_none_or(|tag| found == Some(tag))
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
            headers: vec![("Last-Modified", DATE.to_owned())],
            ..Answer::default()
        };
        for name in ["x-amz-meta-welter", "x-goog-meta-welter", "x-ms-meta-welter"] {
            answer.headers.extend(object.mark.iter().map(|mark| (name, mark.clone())));
        }
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
        let written = self.listed.as_deref().unwrap_or(LISTED);
        for (key, object) in keys.iter().take(LIST_MAX) {
            let _ = write!(
                text,
                "<Contents><Key>{key}</Key><Size>{}</Size>\
                 <LastModified>{written}</LastModified><ETag>{}</ETag></Contents>",
                object.bytes.len(),
                object.tag.replace('"', "&quot;"),
            );
        }
        if let Some((last, _)) = keys.get(LIST_MAX - 1).filter(|_| keys.len() > LIST_MAX) {
            let _ = write!(text, "<NextContinuationToken>{last}</NextContinuationToken>");
        }
        text += "</ListBucketResult>";
        Answer::text(text)
    }

    /// Begins an upload in parts.
    fn begin(&mut self, request: &Request) -> Answer {
        self.versions += 1;
        let id = format!("upload-{}", self.versions);
        let (path, mark) = (request.path.clone(), request.mark.clone());
        self.uploads.insert(id.clone(), Begun { path, mark, parts: BTreeMap::new() });
        Answer::text(format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
             </InitiateMultipartUploadResult>"
        ))
    }

    /// Takes a part of an upload, finishes it, or gives it up.
    fn upload(&mut self, request: &Request) -> Answer {
        let id = &request.query["uploadId"];
        let Some(upload) = self.uploads.get_mut(id).filter(|it| it.path == request.path) else {
            return Answer::error(404, "NoSuchUpload");
        };
        match &*request.method {
            "PUT" => {
                let number = request.query.get("partNumber").and_then(|it| it.parse().ok());
                upload.parts.insert(number.unwrap_or(0), request.body.clone());
                let tag = ("ETag", "\"part\"".to_owned());
                Answer { status: 200, headers: vec![tag], ..Answer::default() }
            }
            "POST" => {
                let body = String::from_utf8_lossy(&request.body);
                let named = elements(&body, "PartNumber");
                let parts = named.map(|number| upload.parts.get(&number.parse().ok()?));
                let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
                    return Answer::error(400, "InvalidPart");
                };
                let (whole, mark) =
                    (parts.into_iter().flatten().copied().collect(), upload.mark.clone());
                self.uploads.remove(id);
                self.put(&request.path, whole, mark.as_ref());
                Answer::text(
                    "<CompleteMultipartUploadResult><ETag>whole</ETag>\
                     </CompleteMultipartUploadResult>",
                )
            }
            _ => {
                self.uploads.remove(id);
                Answer { status: 204, ..Answer::default() }
            }
        }
    }

    /// Takes a block as Azure does, or makes an object of some.
    fn block(&mut self, request: &Request) -> Answer {
        let path = request.path.clone();
        if let Some(name) = request.query.get("blockid") {
            self.blocks.insert((path, name.clone()), request.body.clone());
            return Answer { status: 201, ..Answer::default() };
        }
        let body = String::from_utf8_lossy(&request.body);
        let named = elements(&body, "Uncommitted");
        let blocks = named.map(|name| self.blocks.get(&(path.clone(), name.to_owned())));
        let Some(blocks) = blocks.collect::<Option<Vec<_>>>() else {
            return Answer::error(400, "InvalidBlockList");
        };
        let whole = blocks.into_iter().flatten().copied().collect();
        self.blocks.retain(|(other, _), _| *other != path);
        self.put(&path, whole, request.mark.as_ref())
    }

    /// Removes the objects of a batch, of which each part is a request of Azure.
    fn batch(&mut self, request: &Request) -> Answer {
        let (body, mut number, mut text) =
            (String::from_utf8_lossy(&request.body), 0, String::new());
        for line in body.lines().filter_map(|line| line.strip_prefix("DELETE /")) {
            let path = decoded(line.split(' ').next().unwrap_or_default());
            let status = if self.objects.remove(&path).is_some() { 202 } else { 404 };
            let _ = write!(
                text,
                "--{BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n\
                 HTTP/1.1 {status} -\r\n\r\n\r\n"
            );
            number += 1;
        }
        let kind = format!("multipart/mixed; boundary={BOUNDARY}");
        let headers = vec![("Content-Type", kind)];
        Answer { status: 202, headers, ..Answer::text(format!("{text}--{BOUNDARY}--\r\n")) }
    }
}

/// Text between the parts of an answer to a batch.
const BOUNDARY: &str = "next";

/// Texts of the elements of a name.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&begin)?;
        let (inner, behind) = behind.split_once(&end)?;
        rest = behind;
        Some(inner)
    })
}
