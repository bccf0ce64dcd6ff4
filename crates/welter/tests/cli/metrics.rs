//! Figures of machines, as Prometheus would fetch them while a run lasts.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Ended, Sandbox};

fn fetched(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    Some(text)
}

/// The figure of a line.
fn figure(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0.0, |number| number.trim().parse().unwrap())
}

/// Figures of a run by this route, once both machines have worked and iterations are done.
fn while_it_runs(sandbox: &Sandbox, route: &str) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let line = "run pagerank rmat:12 --iterations 100000 --tolerance 0 --cluster local:2";
    let line = format!("{line} --route {route} --metrics 127.0.0.1:{port}");
    let command = sandbox.command(&line).spawn().unwrap();
    let id = Pid::from_child(&command);
    let begun = Instant::now();
    let text = loop {
        let text = fetched(port).unwrap_or_default();
        let both = [0, 1].map(|rank| {
            figure(
                &text,
                &format!("welter_machine_seconds_total{{machine=\"{rank}\",kind=\"own\"}}"),
            )
        });
        if both.iter().all(|seconds| *seconds > 0.0)
            && figure(&text, "welter_iterations_total") > 2.0
        {
            break text;
        }
        assert!(begun.elapsed() < Duration::from_mins(2), "{route}: {text}");
        std::thread::sleep(Duration::from_millis(50));
    };
    kill_process(id, Signal::INT).unwrap();
    let ended = Ended::waited(command);
    assert_eq!(ended.code, Some(130), "{route}: {}", ended.stderr);
    text
}

#[test]
fn metrics_are_of_each_machine_while_it_runs() {
    let sandbox = Sandbox::new();
    for route in ["fold", "send"] {
        let text = while_it_runs(&sandbox, route);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(figure(&text, "welter_machine_bytes_sent_total{machine=\"1\"}") > 0.0, "{text}");
    }
    for (address, code) in [("10.0.0.1:80", 2), ("here", 2)] {
        let line = format!("run bfs rmat:5 --source 1 --cluster local:2 --metrics {address}");
        assert_eq!(sandbox.run(&line).code, Some(code), "{address}");
    }
}
