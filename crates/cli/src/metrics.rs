//! Figures of a run on a cluster, for Prometheus to fetch while it lasts (`--metrics ADDRESS`).
//!
//! The process that hosts the run serves those of all machines, by rank: they tell it twice a
//! second what they have done. One request is answered at a time, whatever is asked for.
//!
//! Invariant: no other computer learns of a run unless the user trusts the network. Checked in
//! `Metrics::start`. Tested by `metrics_are_of_each_machine_while_it_runs`.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use welter_cluster::{Activity, Live, Picture};
use welter_progress::FailureKind;

use crate::args::ClusterArgs;
use crate::failure::Failure;

/// Time for a request, and for its answer.
const PATIENCE: Duration = Duration::from_secs(1);

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
        if !address.ip().is_loopback() && !args.insecure_trusted_network {
            let what = format!("--metrics {address}: figures are said to any who ask");
            let hint = "take an address of this computer (127.0.0.1, ::1), or say \
                        --insecure-trusted-network";
            return Err(Failure::new(FailureKind::Budget, what).hint(hint));
        }
        let failed = |error: io::Error| {
            Failure::new(FailureKind::Storage, format!("--metrics {address}: {error}"))
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Acquire) {
                    return;
                }
                // A client that is gone again has asked for nothing.
                let _ = stream.and_then(|stream| answer(stream, &live.look()));
            }
        });
        Ok(Self { address, stop, thread: Some(thread.map_err(failed)?) })
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // Wakes it; where it cannot be reached it ends with the process.
        let is_reached = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_reached) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, picture: &Picture) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut length) = ([0; REQUEST_BYTES], 0);
    while length < REQUEST_BYTES && !request[..length].windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut request[length..])? {
            0 => break,
            more => length += more,
        }
    }
    let text = text(picture);
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{text}",
        text.len()
    )
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
    ("strangers", "Connections that were of no machine", |it| it.strangers as f64),
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
}
