//! Figures of a run on a cluster, for Prometheus to fetch while it lasts (`--metrics ADDRESS`).
//!
//! The process that hosts the run serves those of all machines, by rank: they tell it twice a
//! second what they have done. A few requests are answered at a time, whatever is asked for, each
//! on a thread of its own, which is left at the end of the run.
//!
//! Invariant: no other computer learns of a run unless the user trusts the network. Checked in
//! `Metrics::start`. Tested by `metrics_are_of_each_machine_while_it_runs`. Invariant: a client
//! that asks or reads slowly, or never, takes one of a few places for a bounded time, and delays
//! no end of a run. Checked in `Client::remaining`. Tested by
//! `clients_that_say_nothing_have_few_places_and_delay_no_end` and
//! `clients_that_ask_or_read_slowly_are_let_go`.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use welter_cluster::{Activity, Live, Picture};
use welter_progress::FailureKind;

use crate::args::ClusterArgs;
use crate::failure::Failure;

/// Time for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time in which the server is reached at its end.
const WAKING: Duration = Duration::from_secs(1);

/// Clients that are answered at a time.
const CLIENTS_MAX: usize = 4;

/// Bytes of a request that are looked at.
const REQUEST_BYTES: usize = 4096;

/// The server, which ends when it is dropped.
pub(crate) struct Metrics {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the figures of a run, if the options say where, and makes what is shown of it.
pub(crate) fn watch(args: &ClusterArgs) -> Result<(Live, Option<Metrics>), Failure> {
    let live = Live::default();
    let metrics = args.metrics.map(|address| Metrics::start(address, args, live.clone()));
    Ok((live, metrics.transpose()?))
}

impl Metrics {
    fn start(address: SocketAddr, args: &ClusterArgs, live: Live) -> Result<Self, Failure> {
        if !address.ip().is_loopback() && !args.place.insecure_trusted_network {
            let what = format!("--metrics {address}: figures are said to any who ask");
            let hint = "take an address of this computer (127.0.0.1, ::1), or say \
                        --insecure-trusted-network";
            return Err(Failure::usage(what).hint(hint));
        }
        let failed = |error: io::Error| {
            Failure::new(FailureKind::Storage, format!("--metrics {address}: {error}"))
        };
        let served =
            TcpListener::bind(address).and_then(|listener| Self::serve(listener, live, PATIENCE));
        served.map_err(failed)
    }

    /// Answers clients, each within this time.
    fn serve(listener: TcpListener, live: Live, patience: Duration) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = Builder::new().name("metrics".to_owned()).spawn(move || {
            // Each client that is answered has one.
            let places = Arc::new(());
            for stream in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                let Ok(stream) = stream else {
                    // Too many files are open, for how long is not known.
                    sleep(Duration::from_millis(10));
                    continue;
                };
                // The connection of one that finds no place is closed: it may ask again.
                if Arc::strong_count(&places) <= CLIENTS_MAX {
                    let (place, live) = (places.clone(), live.clone());
                    let client = Client { stream, until: Instant::now() + patience };
                    let thread = Builder::new().name("metrics-client".to_owned());
                    let _ = thread.spawn(move || {
                        // A client that is gone again has asked for nothing.
                        let _ = answer(client, &live);
                        drop(place);
                    });
                }
            }
        })?;
        Ok(Self { address, stop, thread: Some(thread) })
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes it; where it cannot be reached it ends with the process.
        let is_reached = TcpStream::connect_timeout(&self.address, WAKING).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_reached) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Connection of a client that must have asked and read by a time.
struct Client {
    stream: TcpStream,
    until: Instant,
}

impl Client {
    /// Time that is left, for the next call of the system.
    fn remaining(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Client {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.remaining()?)?;
        self.stream.read(to)
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.remaining()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(mut client: Client, live: &Live) -> io::Result<()> {
    let (mut request, mut length) = ([0; REQUEST_BYTES], 0);
    while length < REQUEST_BYTES && !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut request[length..])? {
            0 => break,
            more => length += more,
        }
    }
    let text = text(&live.look());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    client.write_all((head + &text).as_bytes())
}

/// A figure of a machine.
type Figure = fn(&Activity) -> f64;

/// Kinds of time.
const KINDS: [(&str, Figure); 5] = [
    ("own", |it| it.times.own as f64 / 1e9),
    ("stolen", |it| it.times.stolen as f64 / 1e9),
    ("copying", |it| it.times.copying as f64 / 1e9),
    ("merging", |it| it.times.merging as f64 / 1e9),
    ("idle", |it| it.times.idle as f64 / 1e9),
];

/// Figures that only grow, with their names and meanings.
const FIGURES: [(&str, &str, Figure); 9] = [
    ("bytes_read", "Bytes read from its disk", |it| it.read_bytes as f64),
    ("bytes_written", "Bytes written to its disk", |it| it.written_bytes as f64),
    ("bytes_sent", "Bytes sent to other machines", |it| it.sent_bytes as f64),
    ("messages_sent", "Messages sent to other machines", |it| it.sent as f64),
    ("chunks_served", "Chunks of edges and updates handed out", |it| it.served as f64),
    ("partitions_helped", "Partitions of others that it streamed", |it| it.helped as f64),
    ("help_accepted", "Proposals of help that it accepted", |it| it.accepted as f64),
    ("help_declined", "Proposals of help that it declined", |it| it.declined as f64),
    ("strangers", "Connections and datagrams that were of no machine", |it| it.strangers as f64),
];

/// The picture in Prometheus' text format.
fn text(picture: &Picture) -> String {
    let Picture { activities, iterations, restarts, suspicions } = picture;
    let mut text = String::new();
    let begin = |text: &mut String, name: &str, what: &str, kind: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP welter_{name} {what}\n# TYPE welter_{name} {kind}");
    };
    for (name, what, number) in [
        ("iterations_total", "Iterations that are done", iterations),
        ("restarts_total", "How often machines were started again", restarts),
        ("suspicions_total", "How often a machine was silent for long", suspicions),
    ] {
        begin(&mut text, name, what, "counter");
        let _ = writeln!(text, "welter_{name} {number}");
    }
    let name = "machine_seconds_total";
    begin(&mut text, name, "Time of a machine, by kinds", "counter");
    for (rank, activity) in activities.iter().enumerate() {
        for (kind, figure) in KINDS {
            let seconds = figure(activity);
            let _ = writeln!(text, "welter_{name}{{machine=\"{rank}\",kind=\"{kind}\"}} {seconds}");
        }
    }
    for (name, what, figure) in FIGURES {
        let name = format!("machine_{name}_total");
        begin(&mut text, &name, what, "counter");
        for (rank, activity) in activities.iter().enumerate() {
            let _ = writeln!(text, "welter_{name}{{machine=\"{rank}\"}} {}", figure(activity));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_a_line_for_each_machine() {
        let activity = Activity { read_bytes: 3 << 20, ..Activity::default() };
        let activities = vec![Activity::default(), activity];
        let text = text(&Picture { activities, iterations: 7, ..Picture::default() });
        assert!(text.contains("\nwelter_iterations_total 7\n"), "{text}");
        assert!(text.contains("\nwelter_machine_bytes_read_total{machine=\"1\"} 3145728\n"));
        assert!(text.contains("{machine=\"0\",kind=\"idle\"} 0\n"), "{text}");
        let lines = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(lines, 3 + 2 * (KINDS.len() + FIGURES.len()));
    }

    const MINUTE: Duration = Duration::from_mins(1);

    /// A server of a run of which nothing is known yet.
    fn served(patience: Duration) -> Metrics {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Metrics::serve(listener, Live::default(), patience).unwrap()
    }

    fn connected(metrics: &Metrics) -> TcpStream {
        let stream = TcpStream::connect(metrics.address).unwrap();
        stream.set_read_timeout(Some(MINUTE)).unwrap();
        stream
    }

    /// All that a client is answered until its connection ends.
    fn fetched(mut stream: TcpStream) -> String {
        let mut text = String::new();
        // A connection without a place may be reset at any time.
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn clients_that_say_nothing_have_few_places_and_delay_no_end() {
        let metrics = served(60 * MINUTE);
        let mut idle: Vec<TcpStream> = (0..CLIENTS_MAX).map(|_| connected(&metrics)).collect();
        assert_eq!(fetched(connected(&metrics)), "", "all places are taken");
        idle.pop();
        let until = Instant::now() + MINUTE;
        while !fetched(connected(&metrics)).contains("\nwelter_iterations_total 0\n") {
            assert!(Instant::now() < until, "a place is free");
            sleep(Duration::from_millis(5));
        }
        let (over, ends) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            drop(metrics);
            over.send(()).unwrap();
        });
        assert!(ends.recv_timeout(MINUTE).is_ok(), "it waits for no client");
        drop(idle);
    }

    #[test]
    fn clients_that_ask_or_read_slowly_are_let_go() {
        let metrics = served(Duration::from_millis(100));
        let mut slow = connected(&metrics);
        // Half of the bytes that are looked at, after which it would be answered.
        let is_let_go = (0..REQUEST_BYTES / 2).any(|_| {
            sleep(Duration::from_millis(5));
            slow.write_all(b"x").is_err()
        });
        assert!(is_let_go);
        // An answer that no client reads is written until it fails.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        let mut client = Client { stream, until: Instant::now() + Duration::from_millis(100) };
        let bytes = vec![0; 1 << 16];
        let mut writes = (0..1000).map(|_| client.write_all(&bytes));
        // The time is that of all calls, and not of each.
        let is_over = |error: io::Error| error.kind() == ErrorKind::TimedOut;
        assert!(writes.any(|written| written.is_err_and(is_over)));
    }
}
