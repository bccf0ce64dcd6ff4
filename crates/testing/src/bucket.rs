//! A store of objects in this process, that speaks as much of the protocol of S3 as is used, and
//! makes the faults that stores make.
//!
//! It listens on 127.0.0.1 unless another address is given. Requests are `GET` and `HEAD` with
//! ranges and conditions, lists, `PUT`, uploads in parts (those of Google are alike) and `DELETE`,
//! of paths such as `/bucket/key`, so that it is an ordinary web server as well; blocks and batches
//! of Azure are known too, and generations of Google ([`generations`]). Heads state a checksum to
//! who asks for it ([`StatedSum`]). Signatures of S3 are verified ([`signature`]); who signs none,
//! or is of another cloud, is answered in buckets that are public, or shows what a service handed
//! out ([`IdentityServer`]).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustls::ServerConfig;

mod account;
mod admission;
mod encryption;
mod fault;
mod generations;
mod identity;
mod issued;
mod listening;
mod lists;
mod message;
mod shared_key;
mod signature;
mod sums;
mod time;
mod uploads;

use self::admission::{Admission, KEY};
pub use self::encryption::AUTHORITY;
pub use self::fault::{Fault, Faults};
pub use self::identity::{CLIENT, IdentityServer, PROOF, ROLE, TENANT, user_file};
pub use self::issued::{ACCOUNT, Issued, SECRET, SHARED, TemporaryKey, account_file, account_key};
use self::listening::Stream;
pub use self::message::Request;
use self::message::{Answer, Attributes, GENERATION, decoded};
use self::signature::Refusal;
pub use self::sums::StatedSum;

/// When all objects were written, as heads say.
const DATE: &str = "Thu, 26 Nov 2026 12:00:00 GMT";

/// The server. Its threads end with the process.
pub struct BucketServer {
    address: SocketAddr,
    is_encrypted: bool,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    /// Path and object that were replaced last.
    replaced: Option<(String, Object)>,
    uploads: BTreeMap<String, OpenUpload>,
    /// Blocks of no object, by path and name.
    blocks: BTreeMap<(String, String), Vec<u8>>,
    requests: Vec<Request>,
    /// Connections that clients opened.
    connections: usize,
    /// Requests that [`Fault::Silent`] makes wait now, and the most of them at any time.
    waiting: [usize; 2],
    faults: Option<Box<Faults>>,
    versions: u64,
    /// Whether answers have no entity tags.
    untagged: bool,
    /// Checksum that is stated of each object.
    stated_sum: StatedSum,
    /// When all objects were written, as lists say.
    listed: Option<String>,
    admission: Admission,
    /// Bytes a second of all connections together, and until when what was moved takes.
    link: Option<(u64, Instant)>,
}

#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    tag: String,
    /// Number of this version; no other object has it.
    generation: u64,
    attributes: Attributes,
}

/// An upload that is not complete.
struct OpenUpload {
    path: String,
    attributes: Attributes,
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
        Self::listen(address, None)
    }

    /// Begins to listen for TLS, with a certificate that [`AUTHORITY`] vouches for.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn start_encrypted() -> io::Result<Self> {
        Self::listen(Ipv4Addr::LOCALHOST, Some(encryption::settings()?))
    }

    fn listen(address: Ipv4Addr, tls: Option<Arc<ServerConfig>>) -> io::Result<Self> {
        let is_encrypted = tls.is_some();
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        let address = listening::listen(address, tls, move |connection| {
            lock(&shared).connections += 1;
            serve(connection, &shared)
        })?;
        Ok(Self { address, is_encrypted, state })
    }

    /// URL of the server, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Variables by which programs find it and say who they are.
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_REGION", KEY.region.to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY.id.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", KEY.secret.to_owned()),
            ("AWS_MAX_ATTEMPTS", "4".to_owned()),
            ("NO_PROXY", self.address.ip().to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Answers requests to this bucket from now on, also those without a signature. One that is
    /// there is verified all the same.
    pub fn publish(&self, bucket: &str) {
        lock(&self.state).admission.publish(bucket);
    }

    /// Answers requests with these credentials from now on, and no others.
    pub fn believe(&self, issued: &Issued) {
        lock(&self.state).admission.believe(issued);
    }

    /// Lists say from now on that all objects were written at this time, such as
    /// `2020-01-01T00:00:00.000Z`.
    pub fn all_written_at(&self, time: &str) {
        lock(&self.state).listed = Some(time.to_owned());
    }

    /// Puts an object, of a path such as `bucket/edges/a.csv`.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        lock(&self.state).put(path, bytes.into(), Attributes::new());
    }

    /// Removes an object.
    pub fn remove(&self, path: &str) {
        lock(&self.state).objects.remove(path);
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

    /// Connections that clients opened so far, which are forgotten then.
    pub fn take_connections(&self) -> usize {
        std::mem::take(&mut lock(&self.state).connections)
    }

    /// The most requests that [`Fault::Silent`] made wait at any time, which is forgotten then.
    ///
    /// Others are not counted: one that a client gave up may be answered late on a busy machine.
    pub fn take_most_at_once(&self) -> usize {
        let mut state = lock(&self.state);
        let [now, most] = state.waiting;
        state.waiting[1] = now;
        most
    }

    /// Answers without entity tags from now on.
    pub fn forget_tags(&self) {
        lock(&self.state).untagged = true;
    }

    /// States this checksum of each object from now on.
    pub fn state(&self, sum: StatedSum) {
        lock(&self.state).stated_sum = sum;
    }

    /// Moves this many bytes a second from now on, of bodies of all connections together.
    pub fn slow_down(&self, bytes_per_second: u64) {
        lock(&self.state).link = Some((bytes_per_second, Instant::now()));
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
fn serve(connection: &mut dyn Stream, state: &Mutex<State>) -> io::Result<()> {
    let mut reader = BufReader::new(connection);
    while let Some(mut request) = Request::read(&mut reader)? {
        let admission = lock(state).admission.clone();
        let verified = admission.verify(&request);
        request.signed = verified == Ok(true);
        let fault = {
            let mut state = lock(state);
            state.requests.push(Request { body: Vec::new(), ..request.clone() });
            state.faults.as_mut().and_then(|faults| faults(&request))
        };
        if let Err((status, code)) = verified {
            let is_head = request.method == "HEAD";
            Answer::error(status, code).write(reader.get_mut(), is_head)?;
            continue;
        }
        if let Some(Fault::Silent(time)) = fault {
            lock(state).begin_wait();
            thread::sleep(time);
        }
        let (answer, pause) = {
            let mut state = lock(state);
            let answer = state.answer(&request, fault.as_ref());
            let pause = state.pause(request.body.len() + answer.body.len());
            (answer, pause)
        };
        thread::sleep(pause);
        if let Some(Fault::Late(time)) = fault {
            thread::sleep(time);
        }
        // A client that has its answer may ask again at once.
        if let Some(Fault::Silent(_)) = fault {
            lock(state).waiting[0] -= 1;
        }
        let answer = match fault {
            Some(Fault::Lost) => return Ok(()),
            Some(Fault::DoneBut(status)) => Answer::error(status, "Oops"),
            _ => answer,
        };
        let goes_on = answer.write(reader.get_mut(), request.method == "HEAD")?;
        if let Some(Fault::Stalled(time)) = fault {
            thread::sleep(time);
        }
        if !goes_on {
            return Ok(());
        }
    }
    Ok(())
}

impl State {
    fn begin_wait(&mut self) {
        let [now, most] = &mut self.waiting;
        *now += 1;
        *most = (*most).max(*now);
    }

    fn put(&mut self, path: &str, bytes: Vec<u8>, attributes: Attributes) -> Answer {
        self.versions += 1;
        let generation = self.versions;
        let tag = format!("\"v{generation}\"");
        let object = Object { bytes: Arc::new(bytes), tag: tag.clone(), generation, attributes };
        let before = self.objects.insert(path.to_owned(), object);
        self.replaced = before.map(|object| (path.to_owned(), object));
        let generation = (GENERATION, generation.to_string());
        let headers = vec![("ETag", tag), generation, ("Last-Modified", DATE.to_owned())];
        Answer { status: 200, headers, ..Answer::default() }
    }

    /// Time until these bytes have come over the link, behind those before.
    fn pause(&mut self, bytes: usize) -> Duration {
        let Some((rate, until)) = &mut self.link else { return Duration::ZERO };
        let (now, takes) = (Instant::now(), Duration::from_secs_f64(bytes as f64 / *rate as f64));
        *until = now.max(*until) + takes;
        *until - now
    }

    fn answer(&mut self, request: &Request, fault: Option<&Fault>) -> Answer {
        match fault {
            Some(Fault::Status(status)) => return Answer::error(*status, "Oops"),
            Some(Fault::Refused(status, code)) => return Answer::error(*status, code),
            Some(Fault::Repeated(status)) => return Answer::repeated(*status, request),
            Some(Fault::Inside(code)) => {
                return Answer { status: 200, ..Answer::error(500, code) };
            }
            Some(Fault::Replaced(bytes)) => {
                self.put(&request.path, bytes.clone(), Attributes::new());
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
            "PUT" if let Some(Err((status, code))) = self.source(request) => {
                Answer::error(status, code)
            }
            "PUT" if request.if_none && self.objects.contains_key(&request.path) => {
                Answer::error(412, "PreconditionFailed")
            }
            "PUT" if !self.is_of_version(request) => Answer::error(412, "PreconditionFailed"),
            "PUT" if has("comp") => self.block(request),
            "PUT" => match self.source(request) {
                Some(Ok(found)) => {
                    self.put(&request.path, found.bytes.to_vec(), found.attributes);
                    Answer::text("<CopyObjectResult><ETag>copy</ETag></CopyObjectResult>")
                }
                _ => self.put(&request.path, request.body.clone(), request.attributes()),
            },
            "DELETE" => {
                self.objects.remove(&request.path);
                Answer { status: 204, ..Answer::default() }
            }
            _ => Answer::error(405, "MethodNotAllowed"),
        }
    }

    /// Whether the object is of the version that a request states, if it states one.
    fn is_of_version(&self, request: &Request) -> bool {
        let found = self.objects.get(&request.path);
        let has = |tag: &String| found.is_some_and(|object| object.tag == *tag);
        request.if_match.as_ref().is_none_or(has) && self.is_of_generation(request)
    }

    /// Answers with an object, or a range of it.
    fn read(&self, request: &Request, fault: Option<&Fault>) -> Answer {
        let Some(object) = self.found(request) else { return Answer::error(404, "NoSuchKey") };
        let careless = fault == Some(&Fault::Careless);
        if let Some(refused) = refused(request, object).filter(|_| !careless) {
            return refused;
        }
        let bytes = object.bytes.len() as u64;
        let mut answer = Answer {
            status: 200,
            headers: vec![("Last-Modified", DATE.to_owned())],
            ..Answer::default()
        };
        answer.attributes.clone_from(&object.attributes);
        if !self.untagged {
            answer.headers.push(("ETag", object.tag.clone()));
            answer.headers.push((GENERATION, object.generation.to_string()));
        }
        let mut range = 0..bytes;
        let last = request.last_bytes.map(|count| bytes.saturating_sub(count)..bytes);
        let asked = last.or_else(|| request.range.clone());
        if let Some(asked) = asked.filter(|_| fault != Some(&Fault::Whole)) {
            range = asked.start..asked.end.min(bytes);
            if range.start >= range.end {
                return Answer::error(416, "InvalidRange");
            }
            answer.status = 206;
            let content_range = format!("bytes {}-{}/{bytes}", range.start, range.end - 1);
            answer.headers.push(("Content-Range", content_range));
        }
        answer.body = object.bytes[range.start as usize..range.end as usize].to_vec();
        match fault {
            Some(Fault::Short) => answer.body.truncate(answer.body.len() - 1),
            Some(Fault::Long) => answer.body.push(0),
            Some(Fault::Flipped) => {
                let middle = answer.body.len() / 2;
                answer.body.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 16);
            }
            Some(Fault::Digit) => {
                let middle = answer.body.len() / 2;
                let mut behind = answer.body.iter_mut().skip(middle);
                if let Some(digit) = behind.find(|byte| matches!(byte, b'2'..=b'9')) {
                    *digit ^= 1;
                }
            }
            Some(Fault::Cut | Fault::Stalled(_)) => answer.cut = Some(answer.body.len() / 2),
            _ => {}
        }
        self.stated_sum.state(request, &object.bytes, answer)
    }

    /// The object that a request copies, if it copies one.
    fn source(&self, request: &Request) -> Option<Result<Object, Refusal>> {
        let stated = |cloud: &str| request.header(&format!("x-{cloud}-copy-source"));
        let source = decoded(&stated("amz").or_else(|| stated("goog"))?);
        let found = self.objects.get(source.trim_start_matches('/'));
        Some(found.cloned().ok_or((404, "NoSuchKey")))
    }
}

/// The answer to a request that wants another object than that which is there, or none that is as
/// old. All objects were written at [`DATE`].
fn refused(request: &Request, object: &Object) -> Option<Answer> {
    let is = |tag: &String| *tag == object.tag;
    let header = |name: &str| request.header(name);
    if request.if_match.as_ref().is_some_and(|tag| !is(tag)) {
        return Some(Answer::error(412, "PreconditionFailed"));
    }
    if header("if-none-match").as_ref().is_some_and(is) {
        return Some(Answer { status: 304, ..Answer::default() });
    }
    let order = |name: &str| Some(time::of_header(&header(name)?)?.cmp(&time::of_header(DATE)?));
    if order("if-unmodified-since") == Some(Ordering::Less) {
        return Some(Answer::error(412, "PreconditionFailed"));
    }
    let is_as_old = order("if-modified-since").is_some_and(Ordering::is_ge);
    is_as_old.then(|| Answer { status: 304, ..Answer::default() })
}
